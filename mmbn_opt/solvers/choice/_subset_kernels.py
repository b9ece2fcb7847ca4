"""Compiled parts of the search over node subsets; imported only when it runs, so that numba loads late.

Sets of nodes are bits of a uint64. Columns of a node are sorted by cost; ``masks[k]`` are the parents of column k.
"""

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray, IntArray, kernel

__all__ = ["close", "expand", "lower_bounds", "pattern_costs"]

MaskArray = NDArray[np.uint64]
_ONE = np.uint64(1)
_NONE = np.uint64(0)


@kernel(nogil=True)
def _cheapest(node: int, available: np.uint64, offsets: IntArray, masks: MaskArray) -> int:
    """First column of `node` whose parents are all available; -1 when there is none."""
    for k in range(offsets[node], offsets[node + 1]):
        if masks[k] & ~available == _NONE:
            return k
    return -1


@kernel(nogil=True)
def pattern_costs(members: IntArray, n_nodes: int, offsets: IntArray, masks: MaskArray, cost: FloatArray) -> FloatArray:
    """Least cost of placing the rest of `members` one by one, by the members already placed (bit b: ``members[b]``).

    All other nodes count as placed, which makes it a lower bound of what the rest of the members cost in any order.
    """
    size = members.size
    outside = _NONE
    for node in range(n_nodes):
        outside |= _ONE << np.uint64(node)
    for b in range(size):
        outside &= ~(_ONE << np.uint64(members[b]))
    least = np.full(1 << size, np.inf)
    full = (1 << size) - 1
    least[full] = 0.0
    for placed in range(full - 1, -1, -1):
        available = outside
        for b in range(size):
            if placed >> b & 1:
                available |= _ONE << np.uint64(members[b])
        best = np.inf
        for b in range(size):
            if placed >> b & 1:
                continue
            k = _cheapest(members[b], available, offsets, masks)
            if k < 0:
                continue
            value = cost[k] + least[placed | 1 << b]
            if k == offsets[members[b]]:
                best = value  # its best column of all: nothing is lost by placing it first
                break
            best = min(best, value)
        least[placed] = best
    return least


@kernel(nogil=True)
def _bound(
    mask: np.uint64, members: IntArray, group_start: IntArray, table: FloatArray, table_start: IntArray
) -> float:
    total = 0.0
    for g in range(group_start.size - 1):
        index = 0
        for b in range(group_start[g], group_start[g + 1]):
            if mask >> np.uint64(members[b]) & _ONE:
                index |= 1 << (b - group_start[g])
        total += table[table_start[g] + index]
    return total


@kernel(nogil=True)
def lower_bounds(
    states: MaskArray, members: IntArray, group_start: IntArray, table: FloatArray, table_start: IntArray
) -> FloatArray:
    """Lower bound of what the nodes missing from each state cost."""
    bounds = np.empty(states.size)
    for s in range(states.size):
        bounds[s] = _bound(states[s], members, group_start, table, table_start)
    return bounds


@kernel(nogil=True)
def close(
    mask: np.uint64, spent: float, n_nodes: int, offsets: IntArray, masks: MaskArray, cost: FloatArray
) -> tuple[np.uint64, float]:
    """Place every node that can have its best column of all: an optimal order of the rest may begin with it."""
    moved = True
    while moved:
        moved = False
        for node in range(n_nodes):
            bit = _ONE << np.uint64(node)
            first = offsets[node]
            if mask & bit == _NONE and masks[first] & ~mask == _NONE:
                mask |= bit
                spent += cost[first]
                moved = True
    return mask, spent


@kernel(nogil=True)
def expand(
    states: MaskArray,
    spent: FloatArray,
    n_nodes: int,
    offsets: IntArray,
    masks: MaskArray,
    cost: FloatArray,
    members: IntArray,
    group_start: IntArray,
    table: FloatArray,
    table_start: IntArray,
    cutoff: float,
    children: MaskArray,
    child_spent: FloatArray,
    came_from: MaskArray,
) -> tuple[int, float]:
    """Place one more node in every way; children whose bound reaches `cutoff` are dropped.

    Returns
    -------
    count, dropped
        Number of children written, and the least bound among those dropped.
    """
    count = 0
    dropped = np.inf
    for s in range(states.size):
        mask = states[s]
        for node in range(n_nodes):
            bit = _ONE << np.uint64(node)
            if mask & bit != _NONE:
                continue
            k = _cheapest(node, mask, offsets, masks)
            if k < 0:
                continue
            child, value = close(mask | bit, spent[s] + cost[k], n_nodes, offsets, masks, cost)
            bound = value + _bound(child, members, group_start, table, table_start)
            if bound >= cutoff:
                dropped = min(dropped, bound)
                continue
            children[count] = child
            child_spent[count] = value
            came_from[count] = mask
            count += 1
    return count, dropped
