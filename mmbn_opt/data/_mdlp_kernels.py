"""Compiled scan and recursion of the MDL partitioning; imported only when a column is cut, so that numba loads late."""

import math

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

__all__ = ["mdl_splits"]

TIE_BITS = 1e-12
"""Entropies (bits a row) closer than this are equal: rounding may not decide between two cuts."""


TABLE_SHARE = 8
"""Whole weights are looked up where their sum is at most this many times the rows: logarithms take most of the time."""


@kernel(nogil=True)
def _table_of(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """k log2 k for k = 0, 1, ..., the sum of the weights; empty where they are no whole numbers, or too large."""
    total = 0.0
    for weight in weights:
        if weight != math.floor(weight):
            return np.empty(0)
        total += weight
    if total > TABLE_SHARE * weights.size:
        return np.empty(0)
    table = np.zeros(int(total) + 1)
    for k in range(1, table.size):
        table[k] = k * math.log2(k)
    return table


@kernel(nogil=True)
def _bits(
    weight: NDArray[np.float64],
    rows: NDArray[np.int64],
    without: NDArray[np.float64],
    fewer: NDArray[np.int64],
    table: NDArray[np.float64],
) -> float:
    """W Ent(S) = W log2 W - sum_c w_c log2 w_c, over the classes that have rows; w = weight - without."""
    total = 0.0
    inner = 0.0
    for c in range(weight.size):
        if rows[c] > fewer[c]:
            w = weight[c] - without[c]
            total += w
            inner += table[int(w)] if table.size else w * math.log2(w)
    if total <= 0.0:
        return 0.0
    return (table[int(total)] if table.size else total * math.log2(total)) - inner


@kernel(nogil=True)
def mdl_splits(
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    ends: NDArray[np.int64],
    boundary: NDArray[np.bool_],
    n_classes: int,
) -> NDArray[np.int64]:
    """Groups after which the recursion of Fayyad & Irani (1993) cuts, in increasing order.

    Parameters
    ----------
    codes : int64 array, shape (n,)
        Class codes of the rows, sorted by value.
    weights : float64 array, shape (n,)
        Positive weights of the same rows.
    ends : int64 array, shape (g,)
        Row after the last one of each group of equal values.
    boundary : bool array, shape (g - 1,)
        Whether the gap after a group is a boundary point.
    n_classes : int

    Returns
    -------
    int64 array
        Indices of groups; the cut lies between that group and the next.
    """
    n_groups = ends.size
    cuts = np.empty(max(n_groups - 1, 0), np.int64)
    n_cuts = 0
    # Each split takes one part off the stack and puts two on it, so it never holds more parts than there are groups.
    stack = np.empty((max(n_groups, 1), 2), np.int64)
    depth = 0
    if n_groups > 1:
        stack[0, 0] = 0
        stack[0, 1] = n_groups
        depth = 1
    weight = np.empty(n_classes)
    rows = np.empty(n_classes, np.int64)
    left_weight = np.empty(n_classes)
    left_rows = np.empty(n_classes, np.int64)
    none, no_rows = np.zeros(n_classes), np.zeros(n_classes, np.int64)
    table = _table_of(weights)
    while depth > 0:
        depth -= 1
        low, high = stack[depth, 0], stack[depth, 1]
        first = ends[low - 1] if low > 0 else 0

        weight[:] = 0.0
        rows[:] = 0
        for i in range(first, ends[high - 1]):
            weight[codes[i]] += weights[i]
            rows[codes[i]] += 1
        total = weight.sum()
        # The code length of a cut is log2(W - 1): without a second row's weight there is nothing to encode.
        if total <= 1.0:
            continue
        parent = _bits(weight, rows, none, no_rows, table)

        best_group = -1
        best = math.inf
        best_left = best_right = 0.0
        best_left_classes = best_right_classes = 0
        left_weight[:] = 0.0
        left_rows[:] = 0
        i = first
        for group in range(low, high - 1):
            while i < ends[group]:
                left_weight[codes[i]] += weights[i]
                left_rows[codes[i]] += 1
                i += 1
            if not boundary[group]:
                continue
            left = _bits(left_weight, left_rows, none, no_rows, table)
            right = _bits(weight, rows, left_weight, left_rows, table)
            if left + right < best - TIE_BITS * total:
                best = left + right
                best_group = group
                best_left, best_right = left, right
                best_left_classes = int(np.sum(left_rows > 0))
                best_right_classes = int(np.sum(rows > left_rows))
        if best_group < 0:
            continue

        # Ent and Gain are these bits divided by W; the halves' own weights turn their bits into entropies.
        left_total = 0.0
        for j in range(first, ends[best_group]):
            left_total += weights[j]
        right_total = total - left_total
        classes = int(np.sum(rows > 0))
        delta = (
            classes * math.log2(3.0)
            + math.log1p(-2.0 * 3.0 ** (-classes)) / math.log(2.0)
            - classes * parent / total
            + best_left_classes * best_left / left_total
            + best_right_classes * best_right / right_total
        )
        if parent - best > math.log2(max(total - 1.0, 1.0)) + delta + TIE_BITS * total:
            cuts[n_cuts] = best_group
            n_cuts += 1
            stack[depth, 0], stack[depth, 1] = low, best_group + 1
            stack[depth + 1, 0], stack[depth + 1, 1] = best_group + 1, high
            depth += 2
    return np.sort(cuts[:n_cuts])
