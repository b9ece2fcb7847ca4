"""Greedy elimination on sets of neighbours as bits: what a rule costs each node, and the order that follows."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, FloatArray, IntArray, kernel

__all__ = ["BY_FILL", "BY_TABLE", "BY_WEIGHT", "Bits", "eliminate", "joined"]

Bits = NDArray[np.uint64]
"""A row a node, 64 possible neighbours a word."""

BY_FILL, BY_WEIGHT, BY_TABLE = 0, 1, 2


@kernel(nogil=True)
def joined(scope_ptr: IntArray, scope: IntArray, enters: BoolArray, inside: BoolArray) -> Bits:
    """Neighbours: the nodes `inside` that share a family which `enters`.

    Parameters
    ----------
    scope_ptr, scope : int64 arrays
        Family of each node.
    enters, inside : bool arrays (n_nodes,)
    """
    n = inside.size
    bits = np.zeros((n, (n + 63) // 64), np.uint64)
    for node in range(n):
        if not enters[node]:
            continue
        for i in range(scope_ptr[node], scope_ptr[node + 1]):
            for j in range(scope_ptr[node], scope_ptr[node + 1]):
                a, b = scope[i], scope[j]
                if a != b and inside[a] and inside[b]:
                    bits[a, b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    return bits


@kernel(nogil=True)
def _members(row: Bits, found: IntArray) -> int:
    """Write the numbers of the bits that are set; returns how many there are."""
    n = 0
    for word in range(row.size):
        rest = row[word]
        place = word * 64
        while rest:
            if rest & np.uint64(0xFF) == 0:  # eight at a time
                rest >>= np.uint64(8)
                place += 8
                continue
            if rest & np.uint64(1):
                found[n] = place
                n += 1
            rest >>= np.uint64(1)
            place += 1
    return n


@kernel(nogil=True)
def _ones(word: np.uint64) -> int:
    """Number of bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel(nogil=True)
def _cost(bits: Bits, node: int, rule: int, weight: FloatArray, around: IntArray, shared: IntArray) -> float:
    """What the rule says of eliminating a node: twice the edges that are added, twice their weight, or the table."""
    n = _members(bits[node], around)
    cost: float = 0.0
    if rule == BY_TABLE:
        cost += weight[node]
        for k in range(n):
            cost += weight[around[k]]
        return cost
    total = 0.0
    for k in range(n):
        total += weight[around[k]]
    both = np.empty(bits.shape[1], np.uint64)
    for k in range(n):
        u = around[k]
        known = 0
        for word in range(both.size):
            both[word] = bits[u, word] & bits[node, word]
            known += _ones(both[word])
        if rule == BY_FILL:
            cost += n - 1 - known
        elif known < n - 1:  # where all are joined nothing is added, whatever rounding says
            rest = total - weight[u]
            for j in range(_members(both, shared)):
                rest -= weight[shared[j]]
            cost += weight[u] * rest
    return cost


@kernel(nogil=True)
def eliminate(
    bits: Bits, open_: BoolArray, rule: int, weight: FloatArray, order: IntArray, ends: IntArray, around: IntArray
) -> int:
    """Eliminate the `open_` nodes one by one, the cheapest first, ties to the lower number; `bits` is what is left.

    Parameters
    ----------
    order, ends : int64 arrays (n_nodes,)
        The nodes, and where each one's neighbours end in `around`.
    around : int64 array
        Their neighbours at that moment.

    Returns
    -------
    int
        Nodes that were eliminated; -1 where `around` has no room for their neighbours.
    """
    n = open_.size
    cost = np.full(n, np.inf)
    near, shared, hold = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    touched = np.zeros(bits.shape[1], np.uint64)
    for v in range(n):
        if open_[v]:
            cost[v] = _cost(bits, v, rule, weight, near, shared)
    left, done, at = open_.sum(), 0, 0
    while left > 0:
        node = -1
        for v in range(n):
            if open_[v] and (node < 0 or cost[v] < cost[node]):
                node = v
        count = _members(bits[node], hold)
        if at + count > around.size:
            return -1
        around[at : at + count] = hold[:count]
        at += count
        order[done], ends[done] = node, at
        done += 1
        left -= 1
        open_[node] = False
        word, bit = node >> 6, np.uint64(1) << np.uint64(node & 63)
        touched[:] = bits[node]
        for k in range(count):
            u = hold[k]
            bits[u, word] &= ~bit
            own, mine = u >> 6, np.uint64(1) << np.uint64(u & 63)
            grew = False
            for w in range(touched.size):
                new = bits[node, w]
                if w == own:
                    new &= ~mine
                if new & ~bits[u, w]:
                    grew = True
                    bits[u, w] |= new
            if grew:
                for w in range(touched.size):
                    touched[w] |= bits[u, w]
        bits[node, :] = np.uint64(0)
        for k in range(_members(touched, hold)):
            u = hold[k]
            if open_[u]:
                cost[u] = _cost(bits, u, rule, weight, near, shared)
    return done
