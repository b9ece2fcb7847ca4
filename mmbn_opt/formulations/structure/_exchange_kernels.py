"""Compiled losses of a mixture of columns with one node's share given to a single one of them."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

from ..._arrays import FloatArray
from ...heuristics.rivals import NOT_A_RIVAL, rival_score
from ...scores.lookup import find_rows
from ...scores.margins import EntryLookup
from ._margin_kernels import AT_ONCE, TILE, add_columns

IntArray = NDArray[np.int32]


@kernel(nogil=True)
def exchange_pass(
    table: FloatArray,
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
    n_classes = table.shape[1]
    width = 1 if binary else n_classes
    scores = np.empty((TILE, width))
    rest = np.empty((TILE, width))
    own = np.empty(TILE)
    rows = np.empty((AT_ONCE, TILE), dtype=np.int32)
    seen = np.empty(TILE, dtype=np.int32)
    loss[:] = 0.0
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        scores[:] = 0.0
        add_columns(table, lookup, labels, binary, columns, x, 1.0, start, size, scores, rows)
        for node in range(len(starts) - 1):
            if starts[node + 1] - starts[node] < 2:
                continue
            rest[:size] = scores[:size]
            its = columns[starts[node] : starts[node + 1]]
            add_columns(table, lookup, labels, binary, its, x, -1.0, start, size, rest, rows)
            for i in range(size):
                label = labels[start + i]
                if binary:
                    own[i] = rest[i, 0]
                else:
                    own[i] = rest[i, label]
                    rest[i, label] = NOT_A_RIVAL
            for j in range(starts[node], starts[node + 1]):
                k = columns[j]
                find_rows(lookup.first_row[k], lookup.members, lookup.strides, k, lookup.codes, start, size, seen)
                total = 0.0
                for i in range(size):
                    m = start + i
                    row = seen[i]
                    margin = own[i] + table[row, labels[m]]
                    if not binary:
                        margin -= rival_score(rest[i], table[row])
                    if margin < gamma[m]:
                        total += weight[m] * (gamma[m] - margin)
                loss[j] += total
