"""Compiled losses of a mixture of columns with one node's share given to a single one of them."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

from ..._arrays import FloatArray
from ._margin_kernels import TILE

IntArray = NDArray[np.int32]

_NOT_A_RIVAL = -1e300


@kernel(nogil=True, fastmath={"nnan", "nsz", "reassoc"})
def _nearest_rival(rest: FloatArray, entries: FloatArray) -> float:
    """``max_c rest[c] + entries[c]``, in a form that compilers vectorise."""
    nearest = _NOT_A_RIVAL
    for c in range(len(rest)):
        value = rest[c] + entries[c]
        if value > nearest:
            nearest = value
    return nearest


@kernel(nogil=True)
def exchange_pass(
    table: FloatArray,
    first_row: IntArray,
    place: NDArray[np.unsignedinteger],
    labels: IntArray,
    weight: FloatArray,
    gamma: float,
    binary: bool,
    columns: NDArray[np.intp],
    starts: NDArray[np.intp],
    x: FloatArray,
    loss: FloatArray,
    first: int,
    last: int,
) -> None:
    """``loss[j]``: what samples ``first`` to ``last - 1`` lose at `x` with the node of ``columns[j]`` at that column.

    `columns` are those with x > 0, node i's from ``starts[i]`` to ``starts[i + 1] - 1``; nodes with a single one are
    left out, their `loss` stays 0. Tables as in `_margin_kernels.margin_pass`.
    """
    n_classes = table.shape[1]
    width = 1 if binary else n_classes
    scores = np.empty((TILE, width))
    rest = np.empty((TILE, width))
    own = np.empty(TILE)
    loss[:] = 0.0
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        scores[:] = 0.0
        for k in columns:
            value = x[k]
            top = first_row[k]
            for i in range(size):
                row = top + place[k, start + i]
                if binary:
                    scores[i, 0] += value * table[row, labels[start + i]]
                else:
                    for c in range(n_classes):
                        scores[i, c] += value * table[row, c]
        for node in range(len(starts) - 1):
            if starts[node + 1] - starts[node] < 2:
                continue
            rest[:size] = scores[:size]
            for j in range(starts[node], starts[node + 1]):
                k = columns[j]
                value = x[k]
                top = first_row[k]
                for i in range(size):
                    row = top + place[k, start + i]
                    if binary:
                        rest[i, 0] -= value * table[row, labels[start + i]]
                    else:
                        for c in range(n_classes):
                            rest[i, c] -= value * table[row, c]
            for i in range(size):
                label = labels[start + i]
                if binary:
                    own[i] = rest[i, 0]
                else:
                    own[i] = rest[i, label]
                    rest[i, label] = _NOT_A_RIVAL
            for j in range(starts[node], starts[node + 1]):
                k = columns[j]
                top = first_row[k]
                total = 0.0
                for i in range(size):
                    m = start + i
                    row = top + place[k, m]
                    margin = own[i] + table[row, labels[m]]
                    if not binary:
                        margin -= _nearest_rival(rest[i], table[row])
                    if margin < gamma:
                        total += weight[m] * (gamma - margin)
                loss[j] += total
