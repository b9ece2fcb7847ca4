"""Compiled descent over orders of nodes; imported only when a search runs, so that numba loads late."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray, kernel

__all__ = ["best_columns", "descend"]


@kernel(nogil=True)
def _first_open(
    node: int, ranked: IntArray, offsets: IntArray, parents: NDArray[np.int32], place: IntArray, limit: int
) -> int:
    """Best column of `node` whose parents all stand before `limit`; -1 when there is none."""
    for r in range(offsets[node], offsets[node + 1]):
        k = int(ranked[r])
        is_open = True
        for p in parents[k]:
            if p >= 0 and place[p] >= limit:
                is_open = False
                break
        if is_open:
            return k
    return -1


@kernel(nogil=True)
def _cost_of(column: int, cost: FloatArray) -> float:
    return cost[column] if column >= 0 else np.inf


@kernel(nogil=True)
def best_columns(
    order: IntArray, ranked: IntArray, offsets: IntArray, parents: NDArray[np.int32], place: IntArray
) -> IntArray:
    """Best column of every node among its predecessors in `order`; fills `place` with the positions."""
    for t in range(order.size):
        place[order[t]] = t
    chosen = np.empty(order.size, dtype=np.int64)
    for node in range(order.size):
        chosen[node] = _first_open(node, ranked, offsets, parents, place, place[node])
    return chosen


@kernel(nogil=True)
def _walk(
    node: int,
    step: int,
    order: IntArray,
    ranked: IntArray,
    offsets: IntArray,
    parents: NDArray[np.int32],
    cost: FloatArray,
    place: IntArray,
    chosen: IntArray,
) -> tuple[float, int]:
    """Best change of the cost over the places on one side of `node`, and the place; order and places stay as they are.

    Moving by one place changes the predecessors of two nodes only.
    """
    n = order.size
    start = place[node]
    total, best, best_place = 0.0, 0.0, start
    at = start
    own = _cost_of(chosen[node], cost)
    while 0 <= at + step < n:
        other = order[at + step]
        # The two exchange places; all between keep theirs but for the shift by one that no lookup can see.
        place[other], place[node] = at, at + step
        mine = _cost_of(_first_open(node, ranked, offsets, parents, place, place[node]), cost)
        theirs = _cost_of(_first_open(other, ranked, offsets, parents, place, place[other]), cost)
        total += mine - own + theirs - _cost_of(chosen[other], cost)
        own = mine
        at += step
        if np.isnan(total):
            break
        if total < best:
            best, best_place = total, at
    for t in range(n):
        place[order[t]] = t
    return best, best_place


@kernel(nogil=True)
def descend(
    order: IntArray,
    sequence: IntArray,
    ranked: IntArray,
    offsets: IntArray,
    parents: NDArray[np.int32],
    cost: FloatArray,
    place: IntArray,
    tolerance: float,
) -> IntArray:
    """Move one node after another to its best place until no move helps; `order` is changed, the columns returned."""
    n = order.size
    chosen: IntArray = best_columns(order, ranked, offsets, parents, place)
    idle = 0
    turn = 0
    while idle < n:
        node = sequence[turn % n]
        turn += 1
        idle += 1
        gain_left, left = _walk(node, -1, order, ranked, offsets, parents, cost, place, chosen)
        gain_right, right = _walk(node, 1, order, ranked, offsets, parents, cost, place, chosen)
        gain, target = (gain_left, left) if gain_left <= gain_right else (gain_right, right)
        if gain >= -tolerance:
            continue
        at = place[node]
        while at != target:
            step = 1 if target > at else -1
            order[at] = order[at + step]
            at += step
        order[target] = node
        chosen = best_columns(order, ranked, offsets, parents, place)
        idle = 0
    return chosen
