"""Compiled lookup of margin tables: entries from codes, a block of samples at a time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

__all__ = ["find_rows"]


@kernel(nogil=True)
def find_rows(
    first_row: int,
    members: NDArray[np.int32],
    strides: NDArray[np.int32],
    k: int,
    codes: NDArray[np.unsignedinteger[Any]],
    start: int,
    size: int,
    rows: NDArray[np.int32],
) -> None:
    """Write into `rows` ``first_row + sum_w strides[k, w] codes[members[k, w], m]`` for `size` samples m from `start`.

    Parameters are parts of an `EntryLookup`. They come one by one, since compiled code is slow to hand over many
    arrays, and the first two features are added together: most columns have no more.

    Examples
    --------
    Entries of a column of two features, of which the second has three states and varies fastest:

    >>> members, strides = np.array([[0, 1]], dtype=np.int32), np.array([[3, 1]], dtype=np.int32)
    >>> codes = np.array([[0, 1, 1], [2, 0, 1]], dtype=np.uint8)
    >>> rows = np.zeros(3, dtype=np.int32)
    >>> find_rows(10, members, strides, 0, codes, 0, 3, rows)
    >>> rows.tolist()
    [12, 13, 14]
    """
    stride, other_stride = strides[k, 0], strides[k, 1]
    # Slices, so that compilers see that nothing is out of bounds, and vectorise.
    out = rows[:size]
    states = codes[members[k, 0], start : start + size]
    others = codes[members[k, 1], start : start + size]
    top = np.int32(first_row)
    for i in range(len(out)):
        out[i] = np.int32(top + np.int32(stride * np.int32(states[i])) + np.int32(other_stride * np.int32(others[i])))
    for w in range(2, members.shape[1]):
        stride = strides[k, w]
        if stride > 0:
            states = codes[members[k, w], start : start + size]
            for i in range(len(out)):
                out[i] += np.int32(stride * np.int32(states[i]))
