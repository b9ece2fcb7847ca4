"""Paths in small graphs, for side constraints on who is above whom."""

import heapq
from itertools import pairwise

import numpy as np

from mmbn_opt._arrays import BoolArray, FloatArray

__all__ = ["closure", "lightest_path", "narrowest_cut"]


def closure(edges: BoolArray) -> BoolArray:
    """Where paths lead, those of no edge counted; ``edges[parent, child]``.

    Examples
    --------
    >>> closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool))[0].tolist()
    [True, True, True]
    """
    reach: BoolArray = edges | np.eye(len(edges), dtype=bool)
    for middle in range(len(reach)):
        reach |= reach[:, middle, None] & reach[middle]
    return reach


def lightest_path(weights: FloatArray, source: int, sink: int) -> tuple[list[int], float]:
    """Path of least total weight, given up at 1, and its weight (Dijkstra 1959); ``weights[parent, child] >= 0``.

    Examples
    --------
    >>> lightest_path(np.array([[1.0, 0.25, 1.0], [1.0, 1.0, 0.5], [1.0, 1.0, 1.0]]), 0, 2)
    ([0, 1, 2], 0.75)
    """
    n = len(weights)
    best = np.full(n, np.inf)
    best[source] = 0.0
    previous = np.full(n, -1)
    heap = [(0.0, source)]
    while heap:
        length, node = heapq.heappop(heap)
        if node == sink:
            path = [sink]
            while path[-1] != source:
                path.append(int(previous[path[-1]]))
            return path[::-1], length
        if length > best[node]:
            continue
        for child in np.flatnonzero(length + weights[node] < np.minimum(best, 1.0)):
            best[child], previous[child] = length + weights[node, child], node
            heapq.heappush(heap, (float(best[child]), int(child)))
    return [], np.inf


def narrowest_cut(capacity: FloatArray, source: int, sink: int) -> list[int]:
    """Nodes on the sink's side of a minimum cut (Edmonds & Karp 1972), flow above 1 not looked for.

    Examples
    --------
    >>> narrowest_cut(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]), 0, 2)
    [2]
    """
    residual = capacity.copy()
    flow = 0.0
    while flow < 1.0:
        previous = np.full(len(residual), -1)
        previous[source] = source
        queue = [source]
        for node in queue:
            for child in np.flatnonzero((residual[node] > 1e-9) & (previous < 0)):
                previous[child] = node
                queue.append(int(child))
        if previous[sink] < 0:
            return [v for v in range(len(residual)) if previous[v] < 0]
        path = [sink]
        while path[-1] != source:
            path.append(int(previous[path[-1]]))
        steps = [(parent, child) for child, parent in pairwise(path)]
        push = min(float(residual[step]) for step in steps)
        for step in steps:
            residual[step] -= push
            residual[step[::-1]] += push
        flow += push
    return [sink]
