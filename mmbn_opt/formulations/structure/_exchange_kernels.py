"""Compiled losses of a mixture of columns with one node's share given to a single one of them."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

from ..._arrays import FloatArray
from ...heuristics.rivals import NOT_A_RIVAL
from ...scores.margins import EntryLookup
from ._margin_kernels import AT_ONCE, SHORT, TILE, add_columns, find_entries, scores_of_tile, split_off

IntArray = NDArray[np.int32]


@kernel(nogil=True, fastmath={"nnan", "nsz"})
def subtract_rivals(table: FloatArray, rest: FloatArray, rows: IntArray, size: int, margins: FloatArray) -> None:
    """Margins of a tile with each of four columns: less the best of what the rivals score with it.

    A column's entries begin at its row of `rows`.
    """
    r0, r1, r2, r3 = rows[0, :size], rows[1, :size], rows[2, :size], rows[3, :size]
    if len(rest) >= SHORT:
        n = rest.shape[1]
        for i in range(size):
            others = rest[i]
            t0, t1 = table[r0[i] : r0[i] + n], table[r1[i] : r1[i] + n]
            t2, t3 = table[r2[i] : r2[i] + n], table[r3[i] : r3[i] + n]
            b0 = b1 = b2 = b3 = NOT_A_RIVAL
            for c in range(n):
                other = others[c]
                v0, v1, v2, v3 = other + t0[c], other + t1[c], other + t2[c], other + t3[c]
                if v0 > b0:
                    b0 = v0
                if v1 > b1:
                    b1 = v1
                if v2 > b2:
                    b2 = v2
                if v3 > b3:
                    b3 = v3
            margins[0, i] -= b0
            margins[1, i] -= b1
            margins[2, i] -= b2
            margins[3, i] -= b3
        return
    best = np.empty(size)
    for j in range(4):
        places = rows[j, :size]
        best[:] = NOT_A_RIVAL
        for each in range(len(rest)):
            row, place = rest[each, :size], np.uint32(each)
            for i in range(len(row)):
                best[i] = max(best[i], row[i] + table[np.uint32(places[i]) + place])
        for i in range(size):
            margins[j, i] -= best[i]


@kernel(nogil=True)
def exchange_pass(
    table: FloatArray,
    n_classes: int,
    lookup: EntryLookup,
    labels: IntArray,
    weight: FloatArray,
    gamma: FloatArray,
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
    scores, rest = scores_of_tile(binary, n_classes), scores_of_tile(binary, n_classes)
    own, margins = np.empty(TILE), np.empty((4, TILE))
    rows = np.empty((AT_ONCE, TILE), dtype=np.int32)
    loss[:] = 0.0
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        scores[:] = 0.0
        add_columns(table, lookup, labels, binary, columns, x, 1.0, start, size, scores, rows)
        for node in range(len(starts) - 1):
            if starts[node + 1] - starts[node] < 2:
                continue
            rest[:] = scores
            its = columns[starts[node] : starts[node + 1]]
            add_columns(table, lookup, labels, binary, its, x, -1.0, start, size, rest, rows)
            split_off(labels, binary, start, size, rest, own)
            for begin in range(0, len(its), 4):
                some = min(4, len(its) - begin)
                for j in range(some):
                    find_entries(lookup, labels, binary, its[begin + j], start, size, rows[j])
                    for i in range(size):
                        at = rows[j, i] if binary else rows[j, i] + labels[start + i]
                        margins[j, i] = own[i] + table[np.uint32(at)]
                if not binary:
                    for j in range(some, 4):
                        rows[j, :size] = 0
                    subtract_rivals(table, rest, rows, size, margins)
                for j in range(some):
                    total = 0.0
                    for i in range(size):
                        m = start + i
                        if margins[j, i] < gamma[m]:
                            total += weight[m] * (gamma[m] - margins[j, i])
                    loss[starts[node] + begin + j] += total
