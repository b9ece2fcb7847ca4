"""Compiled supergradients of the groups of the margin sum: by counting cells, or sample by sample."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import CodeArray, FloatArray, Int32Array, kernel

from ...scores.lookup import find_rows
from .node_blocks import WIDTH, NodeBlocks, NodeBundles
from .node_sets import NodeSets

BLOCK = 4096
"""Samples whose cells are looked up at a time: they stay in the first cache."""

FEW = 48
"""Samples up to which each is looked up by itself: what is prepared for many costs more."""


@kernel(nogil=True, fastmath={"contract", "nsz"})
def add_cells(
    bundles: NodeBundles, s: int, cells: int, n_classes: int, kind: int, counts: FloatArray, sums: FloatArray
) -> None:
    """Add what the samples of one kind, so many in each cell of set `s`, give each column: ``sums[bundle, j]``."""
    label, rival = kind // (n_classes + 1), kind % (n_classes + 1) - 1
    for b in range(bundles.of_set[s], bundles.of_set[s + 1]):
        values = bundles.values[bundles.start[b] : bundles.start[b + 1]]
        own = values[label * cells * WIDTH : (label + 1) * cells * WIDTH]
        t0 = t1 = t2 = t3 = 0.0
        if rival < 0:
            for cell in range(cells):
                count, at = counts[cell], cell * WIDTH
                t0 += count * own[at]
                t1 += count * own[at + 1]
                t2 += count * own[at + 2]
                t3 += count * own[at + 3]
        else:
            other = values[rival * cells * WIDTH : (rival + 1) * cells * WIDTH]
            for cell in range(cells):
                count, at = counts[cell], cell * WIDTH
                t0 += count * (own[at] - other[at])
                t1 += count * (own[at + 1] - other[at + 1])
                t2 += count * (own[at + 2] - other[at + 2])
                t3 += count * (own[at + 3] - other[at + 3])
        sums[b, 0] += t0
        sums[b, 1] += t1
        sums[b, 2] += t2
        sums[b, 3] += t3


@kernel(nogil=True)
def cells_inside(blocks: NodeBlocks, b: int, place: int, seen: Int32Array) -> None:
    """The cell of the set at `place` in which each cell of block `b` lies."""
    for cell in range(blocks.cells[b]):
        left, at = cell, 0
        for w in range(blocks.members.shape[1]):
            stride = blocks.strides[b, w]
            if stride > 0:
                at += blocks.inside[place, w] * (left // stride)
                left %= stride
        seen[cell] = at


@kernel(nogil=True)
def count_up(
    bundles: NodeBundles,
    blocks: NodeBlocks,
    sets: NodeSets,
    b: int,
    n_classes: int,
    codes: CodeArray,
    weight: FloatArray,
    ends: NDArray[np.intp],
    number: Int32Array,
    kinds: Int32Array,
    kind_ends: NDArray[np.intp],
    counted: NDArray[np.bool_],
    rows: Int32Array,
    counts: FloatArray,
    gradients: FloatArray,
) -> None:
    """The columns of block `b` of `margin_gradients` for the groups that are counted: by kind and cell, then summed up.

    `counts` are zeros, and zeros again on return.
    """
    n_groups, i, n_cells = len(ends) - 1, 0, blocks.cells[b]
    first, last = blocks.of_block[b], blocks.of_block[b + 1]
    seen = np.empty((last - first, n_cells), dtype=np.int32)
    most = np.int64(1)
    for place in range(first, last):
        cells_inside(blocks, b, place, seen[place - first])
        most = max(most, sets.cells[blocks.sets[place]])
    of_set = np.empty(most)
    sums = np.zeros((len(bundles.columns), WIDTH))
    for start in range(0, ends[n_groups], BLOCK):
        stop = min(start + BLOCK, ends[n_groups])
        find_rows(0, blocks.members, blocks.strides, b, codes, start, stop - start, rows)
        while True:
            if counted[i]:
                for a in range(max(start, ends[i]), min(stop, ends[i + 1])):
                    counts[np.uint32(np.int32(n_cells) * number[a] + rows[a - start])] += weight[a]
                if ends[i + 1] <= stop:
                    for place in range(first, last):
                        s, inside = blocks.sets[place], seen[place - first]
                        cells = sets.cells[s]
                        for q in range(kind_ends[i], kind_ends[i + 1]):
                            own = counts[(q - kind_ends[i]) * n_cells : (q - kind_ends[i] + 1) * n_cells]
                            of_set[:cells] = 0.0
                            for cell in range(n_cells):
                                of_set[np.uint32(inside[cell])] += own[cell]
                            add_cells(bundles, s, cells, n_classes, kinds[q], of_set, sums)
                        hand_over(bundles, s, sums, i, gradients)
                    counts[: n_cells * (kind_ends[i + 1] - kind_ends[i])] = 0.0
            if ends[i + 1] > stop or i == n_groups - 1:
                break
            i += 1


@kernel(nogil=True)
def hand_over(bundles: NodeBundles, s: int, sums: FloatArray, i: int, gradients: FloatArray) -> None:
    """The sums of the columns of set `s` to the gradient of group `i`; zeros stay behind."""
    for b in range(bundles.of_set[s], bundles.of_set[s + 1]):
        for j in range(WIDTH):
            if bundles.columns[b, j] >= 0:
                gradients[i, bundles.columns[b, j]] += sums[b, j]
            sums[b, j] = 0.0


# Without "reassoc", by which compilers would gather from four samples at a time, slower than one after the other, and
# without "contract": `few_gradients` has the same digits.
@kernel(nogil=True, fastmath={"nsz"})
def look_up(
    bundles: NodeBundles,
    sets: NodeSets,
    s: int,
    codes: CodeArray,
    labels: Int32Array,
    weight: FloatArray,
    rival: Int32Array,
    binary: bool,
    ends: NDArray[np.intp],
    counted: NDArray[np.bool_],
    rows: Int32Array,
    sums: FloatArray,
    gradients: FloatArray,
) -> None:
    """The columns of set `s` of `margin_gradients` for the groups that are not counted, sample by sample."""
    n_groups, step, n_samples = len(ends) - 1, np.uint64(WIDTH * sets.cells[s]), ends[len(ends) - 1]
    width, values = np.uint64(WIDTH), bundles.values
    for b in range(bundles.of_set[s], bundles.of_set[s + 1]):
        base = np.uint64(bundles.start[b])
        sums[:] = 0.0
        i = 0
        for start in range(0, n_samples, BLOCK):
            stop = min(start + BLOCK, n_samples)
            if n_samples > BLOCK or b == bundles.of_set[s]:
                find_rows(0, sets.members, sets.strides, s, codes, start, stop - start, rows)
            while True:
                if not counted[i]:
                    # On from where the last block of samples left the group's sum: no digit depends on their ends.
                    t0, t1, t2, t3 = sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3]
                    if binary:
                        for a in range(np.uint64(max(start, ends[i])), np.uint64(min(stop, ends[i + 1]))):
                            n = weight[a]
                            at = base + np.uint64(labels[a]) * step + width * np.uint64(rows[a - np.uint64(start)])
                            t0 += n * values[at]
                            t1 += n * values[at + np.uint64(1)]
                            t2 += n * values[at + np.uint64(2)]
                            t3 += n * values[at + np.uint64(3)]
                    else:
                        for a in range(np.uint64(max(start, ends[i])), np.uint64(min(stop, ends[i + 1]))):
                            n, cell = weight[a], base + width * np.uint64(rows[a - np.uint64(start)])
                            at, to = cell + np.uint64(labels[a]) * step, cell + np.uint64(rival[a]) * step
                            t0 += n * (values[at] - values[to])
                            t1 += n * (values[at + np.uint64(1)] - values[to + np.uint64(1)])
                            t2 += n * (values[at + np.uint64(2)] - values[to + np.uint64(2)])
                            t3 += n * (values[at + np.uint64(3)] - values[to + np.uint64(3)])
                    sums[i, 0] = t0
                    sums[i, 1] = t1
                    sums[i, 2] = t2
                    sums[i, 3] = t3
                if ends[i + 1] > stop or i == n_groups - 1:
                    break
                i += 1
        for j in range(WIDTH):
            k = bundles.columns[b, j]
            if k >= 0:
                for i in range(n_groups):
                    if not counted[i]:
                        gradients[i, k] = sums[i, j]


@kernel(nogil=True)
def margin_gradients(
    values: FloatArray,
    start: NDArray[np.int64],
    columns: NDArray[np.int64],
    of_set: NDArray[np.int64],
    members: Int32Array,
    strides: Int32Array,
    cells: NDArray[np.int64],
    of_block: NDArray[np.int64],
    block_sets: NDArray[np.int64],
    inside: Int32Array,
    set_members: Int32Array,
    set_strides: Int32Array,
    set_cells: NDArray[np.int64],
    set_start: NDArray[np.int64],
    set_columns: NDArray[np.int64],
    n_classes: int,
    codes: CodeArray,
    labels: Int32Array,
    weight: FloatArray,
    rival: Int32Array,
    binary: bool,
    ends: NDArray[np.intp],
    number: Int32Array,
    kinds: Int32Array,
    kind_ends: NDArray[np.intp],
    first_block: int,
    last_block: int,
    gradients: FloatArray,
) -> None:
    """For the columns k of blocks ``first_block`` to ``last_block - 1``: ``gradients[i, k]``.

    That is the sum of n_m times the log ratio over group i, of the samples below gamma alone, which are ``ends[i]`` to
    ``ends[i + 1] - 1``. The ratio is that of ``theta_k`` at the true class to ``theta_k`` at the nearest rival (for
    `binary` tables the entry of the true class, and the rival is -1). Where a group has many samples beside the cells
    of a block, those of each cell are counted, for all columns of all its sets at once; the weight of a cell then
    multiplies its entries, which is the same sum. Elsewhere a sample's cell is looked up for the columns of a set at
    once.

    `number`, `kinds` and `kind_ends` are those of `_active_kernels.number_kinds`. First come the fields of
    `NodeBundles`, `NodeBlocks` and `NodeSets`, one by one: taking tuples apart costs a call as much as the work of a
    small table.
    """
    bundles = NodeBundles(values, start, columns, of_set)
    blocks = NodeBlocks(members, strides, cells, of_block, block_sets, inside)
    sets = NodeSets(set_members, set_strides, set_cells, set_start, set_columns)
    n_groups = len(ends) - 1
    rows = np.empty(BLOCK, dtype=np.int32)
    counted = np.empty(n_groups, dtype=np.bool_)
    counts = np.zeros(len(labels))
    sums = np.empty((n_groups, WIDTH))
    for b in range(first_block, last_block):
        n_sets, sums_up = blocks.of_block[b + 1] - blocks.of_block[b], np.int64(0)
        for place in range(blocks.of_block[b], blocks.of_block[b + 1]):
            sums_up += blocks.cells[b] + sets.cells[blocks.sets[place]]
        some_counted, all_counted = False, True
        for i in range(n_groups):
            # A count of all sets at once takes as long as one of them looked up, and then its cells are summed up.
            n_kinds = kind_ends[i + 1] - kind_ends[i]
            size = ends[i + 1] - ends[i]
            counted[i] = size > FEW and sums_up * n_kinds < (n_sets - 1) * size
            some_counted |= counted[i]
            all_counted &= counted[i]
        if some_counted:
            count_up(
                bundles, blocks, sets, b, n_classes, codes, weight, ends, number, kinds, kind_ends, counted, rows,
                counts, gradients,
            )  # fmt: skip
        if all_counted:
            continue
        for place in range(blocks.of_block[b], blocks.of_block[b + 1]):
            look_up(
                bundles, sets, blocks.sets[place], codes, labels, weight, rival, binary, ends, counted, rows, sums,
                gradients,
            )  # fmt: skip


@kernel(nogil=True, fastmath={"nsz"})
def few_gradients(
    table: FloatArray,
    first_row: Int32Array,
    members: Int32Array,
    strides: Int32Array,
    columns: NDArray[np.intp],
    codes: CodeArray,
    labels: Int32Array,
    weight: FloatArray,
    rival: Int32Array,
    binary: bool,
    ends: NDArray[np.intp],
    gradients: FloatArray,
) -> None:
    """The same for all `columns`, of few samples: each entry is looked up in the flat table, and nothing prepared.

    To the last digit, so that a group's row does not depend on the groups that were asked for beside it.
    """
    width = members.shape[1]
    for k in columns:
        for i in range(len(ends) - 1):
            total = 0.0
            for a in range(ends[i], ends[i + 1]):
                place = first_row[k]
                for w in range(width):
                    place += strides[k, w] * np.int32(codes[members[k, w], a])
                entry = table[np.uint32(place + labels[a])]
                total += weight[a] * (entry if binary else entry - table[np.uint32(place + rival[a])])
            gradients[i, k] = total
