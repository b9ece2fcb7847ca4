"""Compiled joint probabilities of very many rows; imported only for these, so that numba loads late."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray, kernel

__all__ = ["add_factors"]

_BLOCK = 1024


@kernel(nogil=True)
def add_factors(
    codes: NDArray[np.integer[Any]],
    members: IntArray,
    card: IntArray,
    tables: FloatArray,
    ends: IntArray,
    out: FloatArray,
) -> None:
    """Fill `out` with the sum of the factors, in their order, for every row and class.

    Parameters
    ----------
    codes : integer array (n_rows, n_features)
        -1 where missing.
    members : int64 array (n_factors, width)
        Features of each factor, the node last, then -1.
    card : int64 array (n_nodes,)
    tables : float64 array (n_cells, n_classes)
        Cells of all factors, one after another; the last one of each is for a missing node.
    ends : int64 array (n_factors,)
        Where the cells of each factor end.
    out : float64 array (n_rows, n_classes)
    """
    cells = np.empty(_BLOCK, dtype=np.int64)
    n_classes = tables.shape[1]
    for start in range(0, len(codes), _BLOCK):
        size = min(_BLOCK, len(codes) - start)
        out[start : start + size] = 0.0
        begin = 0
        for f in range(len(ends)):
            cells[:size] = 0
            last = -1
            for w in range(members.shape[1]):
                v = members[f, w]
                if v < 0:
                    break
                last = v
                for i in range(size):
                    cells[i] = cells[i] * card[v] + codes[start + i, v]
            if last >= 0:
                for i in range(size):
                    if codes[start + i, last] < 0:
                        cells[i] = ends[f] - begin - 1
            for i in range(size):
                cell = begin + cells[i]
                for c in range(n_classes):
                    out[start + i, c] += tables[cell, c]
            begin = ends[f]
