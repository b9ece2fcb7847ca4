"""Compiled lookup of margin tables: entries from codes, a block of samples at a time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel
from mmbn_opt.scores.margins import EntryLookup

__all__ = ["add_states", "find_rows"]


@kernel(nogil=True)
def add_states(
    members: NDArray[np.int32],
    strides: NDArray[np.int32],
    codes: NDArray[np.unsignedinteger[Any]],
    start: int,
    size: int,
    rows: NDArray[np.int32],
) -> None:
    """Add to `rows` the strides times the codes of some features, for the `size` samples from `start` on."""
    for w in range(len(members)):
        stride = strides[w]
        if stride > 0:
            states = codes[members[w], start : start + size]
            for i in range(size):
                rows[i] += np.int32(stride * np.int32(states[i]))


@kernel(nogil=True)
def find_rows(lookup: EntryLookup, k: int, start: int, size: int, rows: NDArray[np.int32]) -> None:
    """Write into `rows` which entries of column `k` the `size` samples from `start` on see.

    Examples
    --------
    Entries of a column of two features, of which the second has three states and varies fastest:

    >>> two = np.array([[0, 1]], dtype=np.int32)
    >>> codes = np.array([[0, 1, 1], [2, 0, 1]], dtype=np.uint8)
    >>> strides, states = np.array([[3, 1]], dtype=np.int32), np.array([2, 3], dtype=np.int32)
    >>> lookup = EntryLookup(np.array([10], dtype=np.int32), two, strides, states, codes)
    >>> rows = np.zeros(3, dtype=np.int32)
    >>> find_rows(lookup, 0, 0, 3, rows)
    >>> rows.tolist(), lookup.entries(0).tolist()
    ([12, 13, 14], [12, 13, 14])
    """
    rows[:size] = lookup.first_row[k]
    add_states(lookup.members[k], lookup.strides[k], lookup.codes, start, size, rows)
