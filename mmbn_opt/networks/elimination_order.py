"""Orders in which the nodes of a graph are eliminated, so that the tables stay small."""

from collections.abc import Callable, Collection, Sequence
from heapq import heapify, heappop, heappush
from math import log, prod

__all__ = ["Order", "min_fill_order", "small_order", "table_cells"]

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
    return _greedy(neighbours, kept, lambda graph, v: _missing_edges(graph, v))


def small_order(neighbours: dict[int, set[int]], sizes: Sequence[int], kept: Collection[int] = ()) -> Order:
    """The order with the fewest table cells of three greedy ones: by fill edges, by their weight, by the table itself.

    Parameters
    ----------
    neighbours : dict from node to set of adjacent nodes
    sizes : sequence of int
        States of each node.
    kept : collection of nodes

    Examples
    --------
    >>> small_order({0: {1}, 1: {0, 2}, 2: {1}}, [2, 3, 4], kept=[0])
    [(2, (1,)), (1, (0,))]
    """
    best = min_fill_order(neighbours, kept)
    cells = table_cells(best, sizes)
    if cells <= _CHEAP_CELLS:
        return best
    weight = [log(size) if size > 1 else 0.0 for size in sizes]

    def by_weight(graph: dict[int, set[int]], v: int) -> float:
        around = graph[v]
        total = sum(weight[u] for u in around)
        return sum(weight[u] * (total - weight[u] - sum(weight[w] for w in graph[u] & around)) for u in around)

    def by_table(graph: dict[int, set[int]], v: int) -> float:
        return weight[v] + sum(weight[u] for u in graph[v])

    for rule in (by_weight, by_table):
        order = _greedy(neighbours, kept, rule)
        if (other := table_cells(order, sizes)) < cells:
            best, cells = order, other
    return best


def table_cells(order: Order, sizes: Sequence[int]) -> int:
    """Cells of the tables of an order together."""
    return sum(sizes[node] * prod(sizes[u] for u in around) for node, around in order)


def _missing_edges(graph: dict[int, set[int]], v: int) -> int:
    around = graph[v]
    return sum(len(around) - 1 - len(graph[u] & around) for u in around) // 2


def _greedy(
    neighbours: dict[int, set[int]], kept: Collection[int], rule: Callable[[dict[int, set[int]], int], float]
) -> Order:
    graph = {v: set(adjacent) for v, adjacent in neighbours.items()}
    stays = set(kept)
    cost = {v: rule(graph, v) for v in graph if v not in stays}
    heap = [(k, v) for v, k in cost.items()]
    heapify(heap)
    order = []
    while cost:
        k, node = heappop(heap)
        if cost.get(node) != k:
            continue  # an entry from before the node's surroundings changed
        around = graph.pop(node)
        del cost[node]
        order.append((node, tuple(sorted(around))))
        touched = set(around)
        for u in around:
            graph[u].discard(node)
            new = around - graph[u] - {u}
            if new:
                graph[u] |= new
                touched |= graph[u]
        for u in touched:
            if u in cost and (k := rule(graph, u)) != cost[u]:
                cost[u] = k
                heappush(heap, (k, u))
    return order
