"""Columns of the margin tables by the features that their entries follow from."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scores.margins import EntryLookup

__all__ = ["NodeSets"]


class NodeSets(NamedTuple):
    """Sets of features, and the columns whose entries depend on the features of a set and on nothing else.

    A feature with another one as its parent, the other with the first, and the class with both look up three tables by
    the same two codes: what is counted for the set once serves them all. Compiled code takes this as it is.

    Parameters
    ----------
    members : int32 array (n_sets, width)
        Features of every set, ascending; 0 in the places left over.
    strides : int32 array (n_sets, width)
        By which the cells of a set are numbered, the last feature fastest; 0 where there is no feature.
    cells : int64 array (n_sets,)
        Joint states of a set.
    start : int64 array (n_sets + 1,)
        Where the columns of a set begin in `columns`.
    columns : int64 array (n_varying,)
    """

    members: NDArray[np.int32]
    strides: NDArray[np.int32]
    cells: NDArray[np.int64]
    start: NDArray[np.int64]
    columns: NDArray[np.int64]

    @classmethod
    def of(cls, lookup: EntryLookup) -> "NodeSets":
        """The sets of the columns that are not the same for every class.

        Examples
        --------
        >>> from mmbn_opt import DiscreteDataset, SoftMarginStructure
        >>> data = DiscreteDataset.from_arrays([["a", "u"], ["b", "v"]] * 3, [0, 1] * 3)
        >>> sets = NodeSets.of(SoftMarginStructure(data).tables.lookup)
        >>> sets.cells.tolist(), np.diff(sets.start).tolist()  # of none, the first, both, the second
        ([1, 2, 4, 2], [1, 2, 3, 2])
        """
        varying = np.flatnonzero(lookup.first_row)
        features = np.where(lookup.strides[varying] > 0, lookup.members[varying], -1)
        rows, which = np.unique(features, axis=0, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        start = np.searchsorted(which.ravel()[order], np.arange(len(rows) + 1))
        sizes = np.where(rows >= 0, lookup.states[rows.clip(min=0)], 1).astype(np.int64)
        after = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1]
        strides = np.where(rows >= 0, np.column_stack([after[:, 1:], np.ones(len(rows), dtype=np.int64)]), 0)
        return cls(
            rows.clip(min=0).astype(np.int32), strides.astype(np.int32), after[:, 0], start, varying[order]
        )  # fmt: skip
