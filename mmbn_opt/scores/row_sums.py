"""Sums over rows of what a network says of each, a block at a time where the rows lie in a file."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.block_passes import block_sums
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.mapped import MappedDataset

__all__ = ["RowScore", "ScoresRows", "cut_off", "margins_of", "summed"]

RowScore = Callable[[FloatArray, NDArray[np.integer[Any]], slice], FloatArray]
"""Log-joints (n_rows, n_classes), which may be overwritten, classes, and which rows they are; a number a row."""


class ScoresRows(Protocol):
    """A classifier of coded rows: `BayesianNetwork`, `LogLinearClassifier`."""

    def encode(self, X: Any) -> NDArray[np.integer[Any]]: ...

    def log_joint(self, codes: NDArray[np.integer[Any]]) -> FloatArray: ...


def summed(network: ScoresRows, data: DiscreteDataset, score: RowScore) -> float:
    """The weighted sum of a score of each row, a function of a module or a `partial` of one.

    Examples
    --------
    >>> from mmbn_opt import BayesianNetwork, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"], ["b"]], ["x", "x", "y"])
    >>> network = BayesianNetwork.fit(naive_bayes(data), data)
    >>> summed(network, data, lambda joint, labels, rows: (joint.argmax(axis=1) == labels).astype(float))
    2.0
    """
    codes = network.encode(data)
    if isinstance(data, MappedDataset):
        return float(block_sums(data, partial(_sum_of_block, network=network, score=score))[0])
    joint = network.log_joint(codes)
    return float(data.sample_weight @ score(joint, data.target_codes, slice(0, data.n_samples)))


def _sum_of_block(
    columns: NDArray[np.unsignedinteger[Any]], start: int, *, network: ScoresRows, score: RowScore
) -> list[FloatArray]:
    joint, labels = network.log_joint(columns[:-1].T), columns[-1].astype(np.intp)
    return [np.asarray(score(joint, labels, slice(start, start + len(labels))).sum())]


def margins_of(joint: FloatArray, labels: NDArray[np.integer[Any]]) -> FloatArray:
    """Of the own class over the best rival; `joint` is overwritten."""
    rows = np.arange(len(labels))
    own = joint[rows, labels]
    joint[rows, labels] = -np.inf
    margins: FloatArray = own - joint.max(axis=1)
    return margins


def cut_off(
    margins: FloatArray, rows: slice, gamma: float | FloatArray, margin_weight: float | FloatArray
) -> FloatArray:
    """``v_m min(margin_m, gamma_m)`` of some rows, for a gamma and a v of all, or one a row.

    Examples
    --------
    >>> cut_off(np.array([1.0, 3.0]), slice(2, 4), np.array([9.0, 9.0, 2.0, 2.0]), 0.5).tolist()
    [0.5, 1.0]
    """
    most, share = (value[rows] if isinstance(value, np.ndarray) else value for value in (gamma, margin_weight))
    found: FloatArray = share * np.minimum(margins, most)
    return found
