"""Compiled supergradients of the groups of the margin sum: by counting cells, or sample by sample."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

from ..._arrays import FloatArray
from ...scores.lookup import find_rows
from ...scores.margins import EntryLookup
from .node_sets import NodeSets

IntArray = NDArray[np.int32]

BLOCK = 4096
"""Samples whose entries are looked up at a time: they stay in the first cache."""

CELLS_A_SAMPLE = 1
"""Cells that a set may have for each sample of a group: with more, counting is no faster than looking up."""


@kernel(nogil=True)
def number_kinds(
    labels: IntArray,
    rival: IntArray,
    n_classes: int,
    ends: NDArray[np.intp],
    number: IntArray,
    kinds: IntArray,
    kind_ends: NDArray[np.intp],
) -> None:
    """Number the pairs of true class and nearest rival (-1 where it doesn't matter) in each group, as they come.

    `number` gets that of every sample, `kinds` from ``kind_ends[i]`` on the pairs of group i as
    ``label (n_classes + 1) + rival + 1``.
    """
    seen = np.full(n_classes * (n_classes + 1), -1, dtype=np.int32)
    kind_ends[0] = 0
    for i in range(len(ends) - 1):
        count, begin = 0, kind_ends[i]
        for a in range(ends[i], ends[i + 1]):
            pair = labels[a] * (n_classes + 1) + rival[a] + 1
            if seen[pair] < 0:
                seen[pair] = count
                kinds[begin + count] = pair
                count += 1
            number[a] = seen[pair]
        for q in range(count):
            seen[kinds[begin + q]] = -1
        kind_ends[i + 1] = begin + count


@kernel(nogil=True)
def cell_entries(sets: NodeSets, lookup: EntryLookup, s: int, entries: IntArray) -> None:
    """For each column of set `s`, in order, the entry that it looks up in each cell of the set."""
    cells, begin = sets.cells[s], sets.start[s]
    for at in range(begin, sets.start[s + 1]):
        k, base = sets.columns[at], (at - begin) * cells
        for cell in range(cells):
            row, left = lookup.first_row[k], cell
            for w in range(sets.members.shape[1]):
                stride = sets.strides[s, w]
                if stride > 0:
                    row += lookup.strides[k, w] * (left // stride)
                    left %= stride
            entries[base + cell] = row


@kernel(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def count_up(
    table: FloatArray,
    lookup: EntryLookup,
    sets: NodeSets,
    s: int,
    weight: FloatArray,
    ends: NDArray[np.intp],
    number: IntArray,
    kinds: IntArray,
    kind_ends: NDArray[np.intp],
    counted: NDArray[np.bool_],
    rows: IntArray,
    counts: FloatArray,
    gradients: FloatArray,
) -> None:
    """The columns of set `s` of `margin_gradients` for the groups that are counted: by kind and cell, then summed up.

    `counts` are zeros, and zeros again on return.
    """
    n_groups, n_classes, i = len(ends) - 1, table.shape[1], 0
    cells, begin = np.int32(sets.cells[s]), sets.start[s]
    n_columns = sets.start[s + 1] - begin
    entries = np.empty(cells * n_columns, dtype=np.int32)
    cell_entries(sets, lookup, s, entries)
    for start in range(0, ends[n_groups], BLOCK):
        stop = min(start + BLOCK, ends[n_groups])
        find_rows(0, sets.members, sets.strides, s, lookup.codes, start, stop - start, rows)
        while True:
            if counted[i]:
                for a in range(max(start, ends[i]), min(stop, ends[i + 1])):
                    counts[np.uint32(cells * number[a] + rows[a - start])] += weight[a]
                if ends[i + 1] <= stop:
                    for j in range(n_columns):
                        base, total = j * cells, 0.0
                        for q in range(kind_ends[i], kind_ends[i + 1]):
                            label, rival = kinds[q] // (n_classes + 1), kinds[q] % (n_classes + 1) - 1
                            at = (q - kind_ends[i]) * cells
                            if rival < 0:
                                for cell in range(cells):
                                    total += counts[at + cell] * table[entries[base + cell], label]
                            else:
                                for cell in range(cells):
                                    row = entries[base + cell]
                                    total += counts[at + cell] * (table[row, label] - table[row, rival])
                        gradients[i, sets.columns[begin + j]] = total
                    counts[: cells * (kind_ends[i + 1] - kind_ends[i])] = 0.0
            if ends[i + 1] > stop or i == n_groups - 1:
                break
            i += 1


@kernel(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def look_up(
    table: FloatArray,
    lookup: EntryLookup,
    k: int,
    labels: IntArray,
    weight: FloatArray,
    rival: IntArray,
    binary: bool,
    ends: NDArray[np.intp],
    counted: NDArray[np.bool_],
    rows: IntArray,
    gradients: FloatArray,
) -> None:
    """Column `k` of `margin_gradients` for the groups that are not counted, sample by sample."""
    n_groups, i = len(ends) - 1, 0
    for start in range(0, ends[n_groups], BLOCK):
        stop = min(start + BLOCK, ends[n_groups])
        find_rows(lookup.first_row[k], lookup.members, lookup.strides, k, lookup.codes, start, stop - start, rows)
        while True:
            if not counted[i]:
                total = 0.0
                if binary:
                    for a in range(max(start, ends[i]), min(stop, ends[i + 1])):
                        total += weight[a] * table[rows[a - start], labels[a]]
                else:
                    for a in range(max(start, ends[i]), min(stop, ends[i + 1])):
                        row = rows[a - start]
                        total += weight[a] * (table[row, labels[a]] - table[row, rival[a]])
                gradients[i, k] += total
            if ends[i + 1] > stop or i == n_groups - 1:
                break
            i += 1


@kernel(nogil=True)
def margin_gradients(
    table: FloatArray,
    lookup: EntryLookup,
    sets: NodeSets,
    labels: IntArray,
    weight: FloatArray,
    rival: IntArray,
    binary: bool,
    ends: NDArray[np.intp],
    number: IntArray,
    kinds: IntArray,
    kind_ends: NDArray[np.intp],
    wanted_sets: NDArray[np.intp],
    gradients: FloatArray,
) -> None:
    """For the columns k of some sets: ``gradients[i, k]``, the sum of n_m times the log ratio over samples of a group.

    The samples are those below gamma alone; group i has ``ends[i]`` to ``ends[i + 1] - 1``. The ratio is that of
    ``theta_k`` at the true class to ``theta_k`` at the nearest rival (for `binary` tables the entry of the true class,
    and the rival is -1). Where a group has more samples than a set has cells, the samples of each cell are counted, for
    all columns of the set at once; the weight of a cell then multiplies its entry, which is the same sum. `number`,
    `kinds` and `kind_ends` are those of `number_kinds`.
    """
    n_groups = len(ends) - 1
    rows = np.empty(BLOCK, dtype=np.int32)
    counted = np.empty(n_groups, dtype=np.bool_)
    counts = np.zeros(CELLS_A_SAMPLE * len(labels))
    for s in wanted_sets:
        cells, begin = sets.cells[s], sets.start[s]
        n_columns = sets.start[s + 1] - begin
        some_counted, all_counted = False, True
        for i in range(n_groups):
            n_kinds = kind_ends[i + 1] - kind_ends[i]
            counted[i] = cells * n_kinds <= CELLS_A_SAMPLE * (ends[i + 1] - ends[i])
            some_counted |= counted[i]
            all_counted &= counted[i]
        if some_counted:
            count_up(
                table, lookup, sets, s, weight, ends, number, kinds, kind_ends, counted, rows, counts, gradients
            )  # fmt: skip
        if all_counted:
            continue
        for j in range(n_columns):
            k = sets.columns[begin + j]
            look_up(table, lookup, k, labels, weight, rival, binary, ends, counted, rows, gradients)
