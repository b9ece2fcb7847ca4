"""Contingency counts by joint code and one bincount."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.data import DiscreteDataset
from mmbn_opt.exceptions import SizeLimitError

__all__ = ["contingency", "joint_codes"]

MAX_TABLE_CELLS = 50_000_000


def joint_codes(data: DiscreteDataset, nodes: Sequence[int]) -> NDArray[np.int64]:
    """Mixed-radix code of the given nodes in every row, shape (n_samples,); the last node varies fastest.

    Node ``n_features`` is the class.
    """
    code = np.zeros(data.n_samples, dtype=np.int64)
    for node in nodes:
        values = data.target_codes if node == data.n_features else data.codes[:, node]
        code *= data.cardinalities[node]
        code += values
    return code


def contingency(data: DiscreteDataset, nodes: Sequence[int]) -> NDArray[np.float64]:
    """Weighted counts over the joint states of `nodes`, one axis a node.

    Raises
    ------
    SizeLimitError
        When the table would have more than 50 million cells.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"]], ["no", "yes", "yes"])
    >>> contingency(data, [0, 1]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    shape = tuple(data.cardinalities[node] for node in nodes)
    cells = prod(shape)
    if cells > MAX_TABLE_CELLS:
        names = [(*data.feature_names, data.class_name)[node] for node in nodes]
        raise SizeLimitError(
            f"A table over {names} would have {cells:,} cells; the limit is {MAX_TABLE_CELLS:,}. Use fewer parents."
        )
    counts = np.bincount(joint_codes(data, nodes), weights=data.sample_weight, minlength=cells)
    return np.asarray(counts, dtype=np.float64).reshape(shape)
