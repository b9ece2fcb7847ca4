"""Sums over rows of what a network says of each, a block at a time where the rows lie in a file."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.block_passes import block_sums
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.mapped import MappedDataset
from mmbn_opt.networks.posterior import MANY_ROWS

__all__ = ["RowNumbers", "RowScore", "ScoresRows", "cut_off", "margins_of", "of_rows", "summed"]

_BLOCK_ROWS = MANY_ROWS
"""Rows whose joint probabilities are in memory at a time."""

RowScore = Callable[[FloatArray, NDArray[np.integer[Any]], slice], FloatArray]
"""Log-joints (n_rows, n_classes), which may be overwritten, classes, and which rows they are; a number a row."""


class ScoresRows(Protocol):
    """A classifier of coded rows: `BayesianNetwork`, `LogLinearClassifier`."""

    def encode(self, X: Any) -> NDArray[np.integer[Any]]:
        """Codes of the features."""

    def log_joint(self, codes: NDArray[np.integer[Any]]) -> FloatArray:
        """Of every row and class."""


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
    if isinstance(data, MappedDataset):
        network.encode(data)  # which refuses other columns and states
        return float(block_sums(data, partial(_sum_of_block, network=network, score=score))[0])
    return float(data.sample_weight @ of_rows(network, data, score))


def of_rows(network: ScoresRows, data: DiscreteDataset, score: RowScore) -> FloatArray:
    """The score of each row, shape (n_samples,); the joint probabilities of some at a time are in memory."""
    codes, found = network.encode(data), np.empty(data.n_samples)
    for start in range(0, data.n_samples, _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        found[rows] = score(network.log_joint(codes[rows]), data.target_codes[rows], rows)
    return found


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


class RowNumbers(NamedTuple):
    """A number of each row, said as one for all, one for each class, or row by row: for rows that come in blocks.

    Parameters
    ----------
    values : float64 array (1,), (n_classes,) or (n_samples,)
    how : {"all", "class", "row"}

    Examples
    --------
    >>> RowNumbers(np.array([4.0, 1.0]), "class").of(np.array([1, 0, 1]), slice(10, 13)).tolist()
    [1.0, 4.0, 1.0]
    """

    values: FloatArray
    how: Literal["all", "class", "row"]

    def of(self, labels: NDArray[np.integer[Any]], rows: slice | NDArray[np.intp]) -> float | FloatArray:
        """Of some rows, of these classes; one number where it is that of all."""
        if self.how == "all":
            return float(self.values[0])
        found: FloatArray = self.values[labels] if self.how == "class" else self.values[rows]
        return found


def cut_off(
    margins: FloatArray,
    labels: NDArray[np.integer[Any]],
    rows: slice,
    gamma: float | FloatArray | RowNumbers,
    margin_weight: float | FloatArray | RowNumbers,
) -> FloatArray:
    """``v_m min(margin_m, gamma_m)`` of some rows.

    Examples
    --------
    >>> labels, rows = np.array([0, 1]), slice(2, 4)
    >>> cut_off(np.array([1.0, 3.0]), labels, rows, np.array([9.0, 9.0, 2.0, 2.0]), 0.5).tolist()
    [0.5, 1.0]
    """
    most, share = _of_rows(gamma, labels, rows), _of_rows(margin_weight, labels, rows)
    found: FloatArray = share * np.minimum(margins, most)
    return found


def _of_rows(
    value: float | FloatArray | RowNumbers, labels: NDArray[np.integer[Any]], rows: slice
) -> float | FloatArray:
    if isinstance(value, RowNumbers):
        return value.of(labels, rows)
    return value[rows] if isinstance(value, np.ndarray) else value
