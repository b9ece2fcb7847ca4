"""Orders in which the nodes of a graph are eliminated, so that the tables stay small."""

from collections.abc import Collection, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from mmbn_opt._arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from mmbn_opt.networks._order_kernels import Bits

__all__ = ["Order", "bits_of", "min_fill_order", "small_order", "table_cells"]

Order = list[tuple[int, tuple[int, ...]]]
"""Node by node, with its neighbours at that moment: the node and they are the scope of a table."""

_CHEAP_CELLS = 16_384
"""Up to this many cells of all tables no second rule is tried."""


def min_fill_order(neighbours: dict[int, set[int]], kept: Collection[int] = ()) -> Order:
    """Eliminate the node that adds the fewest edges, again and again; ties go to the lower number.

    Parameters
    ----------
    neighbours : dict from node to set of adjacent nodes
    kept : collection of nodes
        Of the graph that are not eliminated.

    Returns
    -------
    list of (node, its neighbours at that moment)

    Examples
    --------
    >>> min_fill_order({0: {1}, 1: {0, 2}, 2: {1}})
    [(0, (1,)), (1, (2,)), (2, ())]
    """
    from mmbn_opt.networks._order_kernels import BY_FILL

    bits = bits_of(neighbours)
    away = np.zeros(len(bits), dtype=np.bool_)
    away[list(neighbours)] = True
    away[list(kept)] = False
    return _greedy(bits, away, BY_FILL, np.ones(len(bits)))


def bits_of(neighbours: dict[int, set[int]]) -> "Bits":
    """Sets of neighbours as bits."""
    n = 1 + max(neighbours, default=-1)
    bits = np.zeros((n, (n + 63) // 64), dtype=np.uint64)
    for v, around in neighbours.items():
        for u in around:
            bits[v, u >> 6] |= np.uint64(1 << (u & 63))
    return bits


def small_order(bits: "Bits", sizes: Sequence[int], away: BoolArray) -> tuple[Order, "Bits"]:
    """The order with the fewest table cells of three greedy ones: by fill edges, by their weight, by the table itself.

    Parameters
    ----------
    bits : uint64 array
        Neighbours, see `bits_of`.
    sizes : sequence of int
        States of each node.
    away : bool array (n_nodes,)
        Nodes that are eliminated.

    Returns
    -------
    order, bits
        The last are the neighbours that are left.

    Examples
    --------
    >>> bits = bits_of({0: {1}, 1: {0, 2}, 2: {1}})
    >>> small_order(bits, [2, 3, 4], np.array([False, True, True]))[0]
    [(2, (1,)), (1, (0,))]
    """
    from mmbn_opt.networks._order_kernels import BY_FILL, BY_TABLE, BY_WEIGHT

    weight = np.log(np.array(sizes[: len(bits)], dtype=np.float64))
    left = bits.copy()
    best = _greedy(left, away, BY_FILL, weight)
    cells = table_cells(best, sizes)
    if cells <= _CHEAP_CELLS:
        return best, left
    for rule in (BY_WEIGHT, BY_TABLE):
        other_left = bits.copy()
        order = _greedy(other_left, away, rule, weight)
        if (other := table_cells(order, sizes)) < cells:
            best, left, cells = order, other_left, other
    return best, left


def table_cells(order: Order, sizes: Sequence[int]) -> int:
    """Cells of the tables of an order together."""
    return sum(sizes[node] * prod([sizes[u] for u in around]) for node, around in order)


def _greedy(bits: "Bits", away: BoolArray, rule: int, weight: FloatArray) -> Order:
    from mmbn_opt.networks._order_kernels import eliminate

    n = len(bits)
    order, ends, around = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(16 * n + 64, np.int64)
    while (count := eliminate(now := bits.copy(), away.copy(), rule, weight, order, ends, around)) < 0:
        around = np.empty(2 * len(around), np.int64)
    bits[:] = now
    stops, near = [0, *ends[:count].tolist()], around.tolist()
    return [(node, tuple(near[stops[k] : stops[k + 1]])) for k, node in enumerate(order[:count].tolist())]
