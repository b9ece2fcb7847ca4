"""Compiled inner loops of the local search: what a node may choose, and what that is worth by margin tables.

The latter get the fields of an `EntryLookup` one by one: taking a tuple apart costs a call as much as a small table's
work.
"""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, CodeArray, FloatArray, Int32Array, kernel
from mmbn_opt.heuristics.rivals import NOT_A_RIVAL, rival_score
from mmbn_opt.scores.lookup import find_rows

TILE = 256
"""Samples whose entries are looked up at a time: few, since most columns are given up early."""


@kernel(nogil=True)
def acyclic_columns(
    has_parent: BoolArray, choice: NDArray[np.intp], node: int, first: int, last: int
) -> NDArray[np.intp]:
    """Columns `first` to ``last - 1``, of `node`, that have no parent which descends from it, the others as chosen."""
    n_nodes = len(choice)
    below = np.zeros(n_nodes, dtype=np.bool_)
    stack = np.empty(n_nodes, dtype=np.intp)
    stack[0] = node
    height = 1
    while height > 0:
        height -= 1
        above = stack[height]
        for child in range(n_nodes):
            if not below[child] and has_parent[choice[child], above]:
                below[child] = True
                stack[height] = child
                height += 1
    found = np.empty(last - first, dtype=np.intp)
    count = 0
    for column in range(first, last):
        fits = True
        for v in range(n_nodes):
            if below[v] and has_parent[column, v]:
                fits = False
                break
        if fits:
            found[count] = column
            count += 1
    return found[:count]


@kernel(nogil=True)
def best_replacement(
    table: FloatArray,
    first_row: Int32Array,
    members: Int32Array,
    strides: Int32Array,
    states: Int32Array,
    codes: CodeArray,
    labels: Int32Array,
    weight: FloatArray,
    gamma: FloatArray,
    binary: bool,
    scores: FloatArray,
    old_column: int,
    columns: NDArray[np.intp],
    begin: FloatArray,
    cutoff: float,
    rest: FloatArray,
) -> tuple[int, float, int]:
    """Column of `columns` that gives the least loss in place of `old_column`; (-1, cutoff) when none is below `cutoff`.

    Third comes how many samples were looked at, over all columns. The loss is
    ``sum_m n_m (gamma_m - min(gamma_m, margin_m))`` on top of what `begin` says of each column; a column is given up
    once its partial sum reaches the best, which is soon where costly samples come first. `rest`, (n_samples,
    n_classes), is scratch space: scores without the old column. After `table` come the fields of an `EntryLookup`.
    """
    n_samples, n_classes = scores.shape
    own = np.empty(n_samples)
    rows = np.empty(TILE, dtype=np.int32)
    for start in range(0, n_samples, TILE):
        size = min(TILE, n_samples - start)
        find_rows(first_row[old_column], members, strides, old_column, codes, start, size, rows)
        for i in range(size):
            m, row = start + i, rows[i]
            label = labels[m]
            own[m] = scores[m, label] - table[row, label]
            if not binary:
                for c in range(n_classes):
                    rest[m, c] = scores[m, c] - table[row, c]
                rest[m, label] = NOT_A_RIVAL
    best_column, best_loss = -1, cutoff
    looked = n_samples
    for j in range(len(columns)):
        column, loss = columns[j], begin[j]
        seen = n_samples
        start = 0
        while start < n_samples and loss < best_loss:
            size = min(TILE, n_samples - start)
            find_rows(first_row[column], members, strides, column, codes, start, size, rows)
            for i in range(size):
                m, row = start + i, rows[i]
                margin = own[m] + table[row, labels[m]]
                if not binary:
                    margin -= rival_score(rest[m], table[row])
                if margin < gamma[m]:
                    loss += weight[m] * (gamma[m] - margin)
                    if loss >= best_loss:
                        seen = m + 1
                        break
            start += size
        looked += seen
        if loss < best_loss:
            best_column, best_loss = column, loss
    return best_column, best_loss, looked


@kernel(nogil=True)
def add_column(
    table: FloatArray,
    first_row: Int32Array,
    members: Int32Array,
    strides: Int32Array,
    states: Int32Array,
    codes: CodeArray,
    column: int,
    scores: FloatArray,
    sign: float,
) -> None:
    """Add `sign` times what a column scores: one row of `scores` a sample."""
    n_samples, n_classes = scores.shape
    rows = np.empty(TILE, dtype=np.int32)
    for start in range(0, n_samples, TILE):
        size = min(TILE, n_samples - start)
        find_rows(first_row[column], members, strides, column, codes, start, size, rows)
        for i in range(size):
            for c in range(n_classes):
                scores[start + i, c] += sign * table[rows[i], c]


@kernel(nogil=True)
def score_choice(
    table: FloatArray,
    first_row: Int32Array,
    members: Int32Array,
    strides: Int32Array,
    states: Int32Array,
    codes: CodeArray,
    choice: NDArray[np.intp],
    scores: FloatArray,
) -> None:
    """What all columns of a choice score, summed up in their order, of some samples at a time: they stay in a cache.

    Four columns at once; entry 0, of zeros, stands for those that there are not.
    """
    n_samples, n_classes = scores.shape
    rows = np.zeros((4, TILE), dtype=np.int32)
    for start in range(0, n_samples, TILE):
        size = min(TILE, n_samples - start)
        scores[start : start + size] = 0.0
        for first in range(0, len(choice), 4):
            for j in range(4):
                if first + j < len(choice):
                    k = choice[first + j]
                    find_rows(first_row[k], members, strides, k, codes, start, size, rows[j])
                else:
                    rows[j] = 0
            for i in range(size):
                out, a, b, c, d = (
                    scores[start + i],
                    table[rows[0, i]],
                    table[rows[1, i]],
                    table[rows[2, i]],
                    table[rows[3, i]],
                )
                for each in range(n_classes):
                    out[each] = out[each] + a[each] + b[each] + c[each] + d[each]


@kernel(nogil=True)
def sample_losses(
    labels: Int32Array, weight: FloatArray, gamma: FloatArray, binary: bool, scores: FloatArray
) -> FloatArray:
    """Loss ``n_m (gamma_m - min(gamma_m, margin_m))`` of every sample, shape (n_samples,)."""
    n_samples, n_classes = scores.shape
    losses = np.zeros(n_samples)
    for m in range(n_samples):
        label = labels[m]
        margin = scores[m, label]
        if not binary:
            rival = -np.inf
            for c in range(n_classes):
                if c != label and scores[m, c] > rival:
                    rival = scores[m, c]
            margin -= rival
        if margin < gamma[m]:
            losses[m] = weight[m] * (gamma[m] - margin)
    return losses
