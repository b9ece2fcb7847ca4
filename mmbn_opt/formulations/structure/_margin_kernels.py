"""Compiled value and group cuts of the cut-off margin sum, straight from the index tables."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

from ..._arrays import FloatArray

IntArray = NDArray[np.int32]

TILE = 256
"""Samples worked on at a time, so that their scores stay in the first cache."""


@kernel(nogil=True)
def add_columns(
    table: FloatArray,
    first_row: IntArray,
    place: NDArray[np.unsignedinteger],
    labels: IntArray,
    binary: bool,
    columns: NDArray[np.intp],
    x: FloatArray,
    sign: float,
    start: int,
    size: int,
    scores: FloatArray,
) -> None:
    """Add ``sign x_k`` times the entries of `columns` to the scores of the `size` samples from `start` on.

    `scores` has a column a class; for `binary` tables one, for the true class alone. See `margin_pass`.
    """
    n_classes = table.shape[1]
    for k in columns:
        value = sign * x[k]
        top = first_row[k]
        for i in range(size):
            row = top + place[k, start + i]
            if binary:
                scores[i, 0] += value * table[row, labels[start + i]]
            else:
                for c in range(n_classes):
                    scores[i, c] += value * table[row, c]


@kernel(nogil=True)
def margin_pass(
    table: FloatArray,
    first_row: IntArray,
    place: NDArray[np.unsignedinteger],
    labels: IntArray,
    weight: FloatArray,
    gamma: FloatArray,
    binary: bool,
    group: IntArray,
    columns: NDArray[np.intp],
    x: FloatArray,
    loss: FloatArray,
    intercept: FloatArray,
    active: IntArray,
    rival: IntArray,
    first: int,
    last: int,
) -> int:
    """Loss of every group at `x`, and the samples below gamma with their nearest rivals; returns how many they are.

    Samples ``first`` to ``last - 1`` alone; what is found stands in `active` and `rival` from ``first`` on. Sample m
    finds its entry of column k in row ``first_row[k] + place[k, m]`` of `table`.

    ``margin_m = min_c sum_k x_k (log theta_k[true class] - log theta_k[c])``, for `binary` tables the sum of the
    entries of the true class alone; loss_g = sum n_m (gamma_m - margin_m)_+. Samples must be in the order of their
    groups. A loss's tangent is ``intercept_g - gradient_g . y``.
    """
    n_classes = table.shape[1]
    scores = np.empty((TILE, 1 if binary else n_classes))
    loss[:] = 0.0
    intercept[:] = 0.0
    n_active = 0
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        scores[:] = 0.0
        add_columns(table, first_row, place, labels, binary, columns, x, 1.0, start, size, scores)
        for i in range(size):
            m = start + i
            nearest = -1
            margin = scores[i, 0]
            if not binary:
                label = labels[m]
                best = -np.inf
                for c in range(n_classes):
                    if c != label and scores[i, c] > best:
                        best = scores[i, c]
                        nearest = c
                margin = scores[i, label] - best
            if margin < gamma[m]:
                loss[group[m]] += weight[m] * (gamma[m] - margin)
                intercept[group[m]] += weight[m] * gamma[m]
                active[first + n_active] = m
                rival[first + n_active] = nearest
                n_active += 1
    return n_active


@kernel(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def margin_gradients(
    table: FloatArray,
    first_row: IntArray,
    place: NDArray[np.unsignedinteger],
    labels: IntArray,
    weight: FloatArray,
    active: IntArray,
    rival: IntArray,
    binary: bool,
    groups: NDArray[np.intp],
    ends: NDArray[np.intp],
    varying: NDArray[np.intp],
    gradients: FloatArray,
) -> None:
    """For each k of `varying`: ``gradients[i, k]``, the sum of n_m times the log ratio over the active m of a group.

    The group is g = ``groups[i]``; its active m are ``active[ends[g]]`` to ``active[ends[g + 1] - 1]``. The ratio is
    that of ``theta_k`` at the true class to ``theta_k`` at the nearest rival (for `binary` tables the entry of the true
    class). `labels` and `weight` are those of the active samples.
    """
    for k in varying:
        top = first_row[k]
        for i in range(len(groups)):
            g = groups[i]
            total = 0.0
            if binary:
                for a in range(ends[g], ends[g + 1]):
                    total += weight[a] * table[top + place[k, active[a]], labels[a]]
            else:
                for a in range(ends[g], ends[g + 1]):
                    row = top + place[k, active[a]]
                    total += weight[a] * (table[row, labels[a]] - table[row, rival[a]])
            gradients[i, k] = total
