"""Compiled values of the cut-off margin sum, straight from the tables, and where its pieces lie."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import CodeArray, FloatArray, Int32Array, kernel

from ...heuristics.rivals import NOT_A_RIVAL, greatest
from ...scores.lookup import find_rows
from ...scores.margins import EntryLookup

TILE = 256
"""Samples worked on at a time, so that their scores stay in the first cache."""

AT_ONCE = 8
"""Columns that are looked up together; `add_long_rows` and `add_short_rows` spell them out, or half of them."""

SHORT = 8
"""Classes below which a tile has a row of scores a class: loops over samples are longer than those over classes."""


@kernel(nogil=True)
def scores_of_tile(binary: bool, n_classes: int) -> FloatArray:
    """Scores of a tile: a row a class where these are few (one, of the true class, for `binary` tables)."""
    if binary:
        return np.empty((1, TILE))
    return np.empty((n_classes, TILE)) if n_classes < SHORT else np.empty((TILE, n_classes))


@kernel(nogil=True)
def find_entries(
    lookup: EntryLookup, labels: Int32Array, binary: bool, k: int, start: int, size: int, rows: Int32Array
) -> None:
    """Where in the flat table a tile's entries of column `k` begin; for `binary` tables those of the true class."""
    find_rows(lookup.first_row[k], lookup.members, lookup.strides, k, lookup.codes, start, size, rows)
    if binary:
        out, own = rows[:size], labels[start : start + size]
        for i in range(len(out)):
            out[i] = np.int32(out[i] + own[i])


@kernel(nogil=True)
def add_short_rows(table: FloatArray, rows: Int32Array, x: FloatArray, size: int, scores: FloatArray) -> None:
    """Four columns, with a row of scores a class. Unsigned places need no look at whether they count from the end."""
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    r0, r1, r2, r3 = rows[0, :size], rows[1, :size], rows[2, :size], rows[3, :size]
    for each in range(len(scores)):
        out, c = scores[each, :size], np.uint32(each)
        for i in range(len(out)):
            total = out[i] + x0 * table[np.uint32(r0[i]) + c] + x1 * table[np.uint32(r1[i]) + c]
            out[i] = total + x2 * table[np.uint32(r2[i]) + c] + x3 * table[np.uint32(r3[i]) + c]


@kernel(nogil=True)
def add_long_rows(
    table: FloatArray, rows: Int32Array, x: FloatArray, four: bool, size: int, scores: FloatArray
) -> None:
    """Eight columns or four, with a row of scores a sample: what they go into is fetched and written once."""
    x0, x1, x2, x3, x4, x5, x6, x7 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    n = scores.shape[1]
    for i in range(size):
        out = scores[i]
        t0, t1 = table[rows[0, i] : rows[0, i] + n], table[rows[1, i] : rows[1, i] + n]
        t2, t3 = table[rows[2, i] : rows[2, i] + n], table[rows[3, i] : rows[3, i] + n]
        if four:
            for c in range(n):
                out[c] = out[c] + x0 * t0[c] + x1 * t1[c] + x2 * t2[c] + x3 * t3[c]
            continue
        t4, t5 = table[rows[4, i] : rows[4, i] + n], table[rows[5, i] : rows[5, i] + n]
        t6, t7 = table[rows[6, i] : rows[6, i] + n], table[rows[7, i] : rows[7, i] + n]
        for c in range(n):
            total = out[c] + x0 * t0[c] + x1 * t1[c] + x2 * t2[c] + x3 * t3[c]
            out[c] = total + x4 * t4[c] + x5 * t5[c] + x6 * t6[c] + x7 * t7[c]


@kernel(nogil=True)
def add_columns(
    table: FloatArray,
    lookup: EntryLookup,
    labels: Int32Array,
    binary: bool,
    columns: NDArray[np.intp],
    x: FloatArray,
    sign: float,
    start: int,
    size: int,
    scores: FloatArray,
    rows: Int32Array,
) -> None:
    """Add ``sign x_k`` times the entries of `columns` to the scores of the `size` samples from `start` on.

    `table` is flat, and `lookup` one of places in it; `scores` is that of `scores_of_tile`, `rows` (AT_ONCE, TILE)
    scratch space. Columns are added in their order, however many are worked on together.
    """
    across, shares = len(scores) < SHORT, np.empty(AT_ONCE)
    at_once = 4 if across else AT_ONCE
    for first in range(0, len(columns), at_once):
        some = min(at_once, len(columns) - first)
        for j in range(some):
            shares[j] = sign * x[columns[first + j]]
            find_entries(lookup, labels, binary, columns[first + j], start, size, rows[j])
        for j in range(some, at_once):  # none of entry 0
            shares[j] = 0.0
            rows[j, :size] = 0
        if across:
            add_short_rows(table, rows, shares, size, scores)
        else:
            add_long_rows(table, rows, shares, some <= 4, size, scores)


@kernel(nogil=True)
def split_off(labels: Int32Array, binary: bool, start: int, size: int, scores: FloatArray, own: FloatArray) -> None:
    """Take the true class's scores out of `scores`, into `own`; what they leave is `NOT_A_RIVAL`."""
    across = len(scores) < SHORT
    for i in range(size):
        label = labels[start + i]
        if binary:
            own[i] = scores[0, i]
        elif across:
            own[i] = scores[label, i]
            scores[label, i] = NOT_A_RIVAL
        else:
            own[i] = scores[i, label]
            scores[i, label] = NOT_A_RIVAL


@kernel(nogil=True, fastmath={"nnan", "nsz"})
def subtract_best(scores: FloatArray, size: int, margin: FloatArray) -> None:
    """Turn what the true classes score into margins: less the best of the rivals' `scores`."""
    if len(scores) >= SHORT:
        for i in range(size):
            margin[i] -= greatest(scores[i])
        return
    best = np.full(size, NOT_A_RIVAL)
    for c in range(len(scores)):
        row = scores[c, :size]
        for i in range(len(row)):
            best[i] = max(best[i], row[i])
    for i in range(size):
        margin[i] -= best[i]


@kernel(nogil=True)
def nearest_rival(scores: FloatArray, i: int) -> int:
    """The first of the best rivals of sample `i` of a tile."""
    across = len(scores) < SHORT
    nearest, best = -1, -np.inf
    for c in range(len(scores) if across else scores.shape[1]):
        score = scores[c, i] if across else scores[i, c]
        if score > best:
            nearest, best = c, score
    return nearest


@kernel(nogil=True)
def margin_pass(
    table: FloatArray,
    n_classes: int,
    first_row: Int32Array,
    members: Int32Array,
    strides: Int32Array,
    states: Int32Array,
    codes: CodeArray,
    labels: Int32Array,
    weight: FloatArray,
    gamma: FloatArray,
    binary: bool,
    group: Int32Array,
    columns: NDArray[np.intp],
    x: FloatArray,
    loss: FloatArray,
    intercept: FloatArray,
    active: Int32Array,
    rival: Int32Array,
    first: int,
    last: int,
) -> int:
    """Loss of every group at `x`, and the samples below gamma with their nearest rivals; returns how many they are.

    Samples ``first`` to ``last - 1`` alone; what is found stands in `active` and `rival` from ``first`` on. `table` is
    flat, and what follows `n_classes` are the fields of an `EntryLookup` of places in it: taking a tuple apart costs a
    call as much as the work of a small table.

    ``margin_m = min_c sum_k x_k (log theta_k[true class] - log theta_k[c])``, for `binary` tables the sum of the
    entries of the true class alone; loss_g = sum n_m (gamma_m - margin_m)_+. Samples must be in the order of their
    groups. A loss's tangent is ``intercept_g - gradient_g . y``.
    """
    lookup = EntryLookup(first_row, members, strides, states, codes)
    scores = scores_of_tile(binary, n_classes)
    rows = np.empty((AT_ONCE, TILE), dtype=np.int32)
    margin = np.empty(TILE)
    loss[:] = 0.0
    intercept[:] = 0.0
    n_active = 0
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        scores[:] = 0.0
        add_columns(table, lookup, labels, binary, columns, x, 1.0, start, size, scores, rows)
        split_off(labels, binary, start, size, scores, margin)
        if not binary:
            subtract_best(scores, size, margin)
        for i in range(size):
            m = start + i
            if margin[i] < gamma[m]:
                loss[group[m]] += weight[m] * (gamma[m] - margin[i])
                intercept[group[m]] += weight[m] * gamma[m]
                active[first + n_active] = m
                rival[first + n_active] = -1 if binary else nearest_rival(scores, i)
                n_active += 1
    return n_active
