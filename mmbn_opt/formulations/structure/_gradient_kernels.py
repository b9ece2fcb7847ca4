"""Compiled supergradients of the groups of the margin sum: by counting, or sample by sample."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

from ..._arrays import FloatArray
from ...scores.lookup import add_states, find_rows
from ...scores.margins import EntryLookup
from .node_sets import NodeSets

IntArray = NDArray[np.int32]

BLOCK = 4096
"""Samples whose codes, weights and entries stay in the second cache while all columns are looked up."""


@kernel(nogil=True)
def number_kinds(
    labels: IntArray, rival: IntArray, n_classes: int, number: IntArray, kinds: IntArray, seen: IntArray
) -> int:
    """Number the pairs of true class and nearest rival (for binary tables rival is -1) in the order in which they come.

    `number` gets that of every sample, `kinds` the pairs as ``label (n_classes + 1) + rival + 1``; `seen`, -1 for each
    of these, is scratch space and -1 again on return. Returns how many kinds there are.
    """
    count = 0
    for a in range(len(labels)):
        pair = labels[a] * (n_classes + 1) + rival[a] + 1
        if seen[pair] < 0:
            seen[pair] = count
            kinds[count] = pair
            count += 1
        number[a] = seen[pair]
    for q in range(count):
        seen[kinds[q]] = -1
    return count


@kernel(nogil=True)
def count_cells(
    sets: NodeSets,
    lookup: EntryLookup,
    s: int,
    weight: FloatArray,
    number: IntArray,
    first: int,
    last: int,
    rows: IntArray,
    counts: FloatArray,
) -> None:
    """Add the weights of samples ``first`` to ``last - 1`` to `counts`, by kind and cell of set `s`."""
    cells = np.int32(sets.cells[s])
    for start in range(first, last, BLOCK):
        size = min(BLOCK, last - start)
        kind = number[start - first : start - first + size]
        for i in range(size):
            rows[i] = cells * kind[i]
        add_states(sets.members[s], sets.strides[s], lookup.codes, start, size, rows)
        share = weight[start : start + size]
        for i in range(size):
            counts[rows[i]] += share[i]


@kernel(nogil=True)
def counted_sum(
    table: FloatArray,
    lookup: EntryLookup,
    k: int,
    cells: int,
    kinds: IntArray,
    n_kinds: int,
    counts: FloatArray,
    digits: IntArray,
) -> float:
    """Sum over kinds and cells of counts times what column `k` has there for the true class, less that of the rival."""
    n_classes = table.shape[1]
    total = 0.0
    for q in range(n_kinds):
        label = kinds[q] // (n_classes + 1)
        rival = kinds[q] % (n_classes + 1) - 1
        digits[:] = 0
        row = lookup.first_row[k]
        for cell in range(cells):
            count = counts[q * cells + cell]
            if count != 0.0:
                entry = table[row, label]
                if rival >= 0:
                    entry -= table[row, rival]
                total += count * entry
            # The next cell: the last feature moves on, those before it where it has come round.
            for w in range(lookup.members.shape[1] - 1, -1, -1):
                stride = lookup.strides[k, w]
                if stride == 0:
                    continue
                digits[w] += 1
                row += stride
                if digits[w] < lookup.states[lookup.members[k, w]]:
                    break
                row -= stride * digits[w]
                digits[w] = 0
    return total


@kernel(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def looked_up_sum(
    table: FloatArray,
    lookup: EntryLookup,
    k: int,
    labels: IntArray,
    rival: IntArray,
    weight: FloatArray,
    binary: bool,
    first: int,
    last: int,
    rows: IntArray,
) -> float:
    """Sum over samples ``first`` to ``last - 1`` of n_m times what column `k` has for the true class, less the rival's."""
    total = 0.0
    for start in range(first, last, BLOCK):
        size = min(BLOCK, last - start)
        find_rows(lookup, k, start, size, rows)
        if binary:
            for i in range(size):
                total += weight[start + i] * table[rows[i], labels[start + i]]
        else:
            for i in range(size):
                row = rows[i]
                total += weight[start + i] * (table[row, labels[start + i]] - table[row, rival[start + i]])
    return total


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
    wanted_sets: NDArray[np.intp],
    gradients: FloatArray,
) -> None:
    """For the columns k of some sets: ``gradients[i, k]``, the sum of n_m times the log ratio over samples of a group.

    The samples are those below gamma alone; group i has ``ends[i]`` to ``ends[i + 1] - 1``. The ratio is that of
    ``theta_k`` at the true class to ``theta_k`` at the nearest rival (for `binary` tables the entry of the true class,
    and the rival is -1). Where a group has more samples than a set has cells, the samples of each cell are counted, for
    all columns of the set at once; the weight of a cell then multiplies its entry, which is the same sum.
    """
    n_classes = table.shape[1]
    most = 0
    for i in range(len(ends) - 1):
        most = max(most, ends[i + 1] - ends[i])
    number = np.empty(most, dtype=np.int32)
    kinds = np.empty(n_classes * (n_classes + 1), dtype=np.int32)
    seen = np.full(n_classes * (n_classes + 1), -1, dtype=np.int32)
    digits = np.empty(lookup.members.shape[1], dtype=np.int32)
    rows = np.empty(BLOCK, dtype=np.int32)
    counts = np.empty(most)
    for i in range(len(ends) - 1):
        first, last = ends[i], ends[i + 1]
        n_kinds = number_kinds(labels[first:last], rival[first:last], n_classes, number, kinds, seen)
        for s in wanted_sets:
            cells = sets.cells[s]
            counted = cells * n_kinds <= last - first
            if counted:
                counts[: cells * n_kinds] = 0.0
                count_cells(sets, lookup, s, weight, number, first, last, rows, counts)
            for at in range(sets.start[s], sets.start[s + 1]):
                k = sets.columns[at]
                if counted:
                    gradients[i, k] = counted_sum(table, lookup, k, cells, kinds, n_kinds, counts, digits)
                else:
                    gradients[i, k] = looked_up_sum(
                        table, lookup, k, labels, rival, weight, binary, first, last, rows
                    )  # fmt: skip
