"""Compiled losses of a mixture of columns with one node's share given to a single one of them."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, Int32Array, kernel

from ...heuristics.rivals import NOT_A_RIVAL, rival_score
from ...scores.margins import EntryLookup
from ._margin_kernels import AT_ONCE, SHORT, TILE, add_columns, find_entries, scores_of_tile, split_off


@kernel(nogil=True, fastmath={"nnan", "nsz"})
def subtract_rivals(table: FloatArray, rest: FloatArray, rows: Int32Array, size: int, margin: FloatArray) -> None:
    """Margins of a tile: less the best of what the rivals score with a column whose entries begin at `rows`."""
    if len(rest) >= SHORT:
        n_classes = rest.shape[1]
        for i in range(size):
            margin[i] -= rival_score(rest[i], table[rows[i] : rows[i] + n_classes])
        return
    best = np.full(size, NOT_A_RIVAL)
    places = rows[:size]
    for each in range(len(rest)):
        row, place = rest[each, :size], np.uint32(each)
        for i in range(len(row)):
            best[i] = max(best[i], row[i] + table[np.uint32(places[i]) + place])
    for i in range(size):
        margin[i] -= best[i]


@kernel(nogil=True)
def exchange_pass(
    table: FloatArray,
    n_classes: int,
    lookup: EntryLookup,
    labels: Int32Array,
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
    own, margin = np.empty(TILE), np.empty(TILE)
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
            for j in range(starts[node], starts[node + 1]):
                seen = rows[0]
                find_entries(lookup, labels, binary, columns[j], start, size, seen)
                for i in range(size):
                    at = seen[i] if binary else seen[i] + labels[start + i]
                    margin[i] = own[i] + table[np.uint32(at)]
                if not binary:
                    subtract_rivals(table, rest, seen, size, margin)
                total = 0.0
                for i in range(size):
                    m = start + i
                    if margin[i] < gamma[m]:
                        total += weight[m] * (gamma[m] - margin[i])
                loss[j] += total
