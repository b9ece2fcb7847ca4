"""Compiled values of the cut-off margin sum, straight from the tables, and where its pieces lie."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

from ..._arrays import FloatArray
from ...scores.lookup import find_rows
from ...scores.margins import EntryLookup

IntArray = NDArray[np.int32]

TILE = 256
"""Samples worked on at a time, so that their scores stay in the first cache."""

AT_ONCE = 4
"""Columns that are added together: as many as `add_columns` spells out."""


@kernel(nogil=True)
def add_columns(
    table: FloatArray,
    lookup: EntryLookup,
    labels: IntArray,
    binary: bool,
    columns: NDArray[np.intp],
    x: FloatArray,
    sign: float,
    start: int,
    size: int,
    scores: FloatArray,
    rows: IntArray,
) -> None:
    """Add ``sign x_k`` times the entries of `columns` to the scores of the `size` samples from `start` on.

    `scores` has a column a class; for `binary` tables one, for the true class alone. `rows` is scratch space. See
    `margin_pass`.
    """
    n_classes, count = table.shape[1], len(columns)
    for first in range(0, count, AT_ONCE):
        some = min(AT_ONCE, count - first)
        for j in range(some):
            k = columns[first + j]
            find_rows(lookup.first_row[k], lookup.members, lookup.strides, k, lookup.codes, start, size, rows[j])
        if some < AT_ONCE:
            for j in range(some):
                value = sign * x[columns[first + j]]
                if binary:
                    for i in range(size):
                        scores[i, 0] += value * table[rows[j, i], labels[start + i]]
                else:
                    for i in range(size):
                        row = rows[j, i]
                        for c in range(n_classes):
                            scores[i, c] += value * table[row, c]
            continue
        # The same sums in the same order, but what they go into is fetched and written once.
        x0, x1 = sign * x[columns[first]], sign * x[columns[first + 1]]
        x2, x3 = sign * x[columns[first + 2]], sign * x[columns[first + 3]]
        if binary:
            for i in range(size):
                c = labels[start + i]
                total = scores[i, 0] + x0 * table[rows[0, i], c] + x1 * table[rows[1, i], c]
                scores[i, 0] = total + x2 * table[rows[2, i], c] + x3 * table[rows[3, i], c]
        else:
            for i in range(size):
                r0, r1, r2, r3 = rows[0, i], rows[1, i], rows[2, i], rows[3, i]
                for c in range(n_classes):
                    total = scores[i, c] + x0 * table[r0, c] + x1 * table[r1, c]
                    scores[i, c] = total + x2 * table[r2, c] + x3 * table[r3, c]


@kernel(nogil=True)
def margin_pass(
    table: FloatArray,
    lookup: EntryLookup,
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

    Samples ``first`` to ``last - 1`` alone; what is found stands in `active` and `rival` from ``first`` on.

    ``margin_m = min_c sum_k x_k (log theta_k[true class] - log theta_k[c])``, for `binary` tables the sum of the
    entries of the true class alone; loss_g = sum n_m (gamma_m - margin_m)_+. Samples must be in the order of their
    groups. A loss's tangent is ``intercept_g - gradient_g . y``.
    """
    n_classes = table.shape[1]
    scores = np.empty((TILE, 1 if binary else n_classes))
    rows = np.empty((AT_ONCE, TILE), dtype=np.int32)
    loss[:] = 0.0
    intercept[:] = 0.0
    n_active = 0
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        scores[:] = 0.0
        add_columns(table, lookup, labels, binary, columns, x, 1.0, start, size, scores, rows)
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
