"""Separation of cluster rows: ``sum_{i in S} sum_{parents of k avoid S} x_ik >= 1`` for node sets S.

Where every column has at most one parent among the nodes that matter, the most violated S with a given member v is a
minimum cut between a super-source and v (exact). Columns with more parents are laid on one of theirs, which only
overestimates the left side: what is found is violated, but not all that is violated is found. A tabu search finds most
of the rest, and where it finds nothing the small program of `cluster_program` decides.

Where trees hang from their node of least rank, the rows are those of `mmbn_opt.programs.boxes.cluster_row`, in which
root columns of all but the least members are left out: a minimum cut again, between each node and a super-source that
reaches no node of greater rank by its root column.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray, kernel
from ....programs.boxes import cluster_row
from ._cluster_search import searched_clusters
from .cluster_program import Limits, cyclic_parts, inside_part, violated_clusters

__all__ = ["ClusterSeparator"]

MOST = 12
"""Clusters that the exact program is asked for at a time."""

NODE_LIMIT = 200
"""Nodes of a search of the exact program; most take none."""


@kernel(nogil=True)
def minimum_cut(capacity: FloatArray, source: int, sink: int, enough: float) -> tuple[float, BoolArray]:
    """Maximum flow by shortest augmenting paths, given up at `enough`; the nodes that can still reach the sink."""
    n = len(capacity)
    residual = capacity.copy()
    flow = 0.0
    previous = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    while flow < enough:
        previous[:] = -1
        previous[sink] = sink
        queue[0] = sink
        head, tail = 0, 1
        while head < tail and previous[source] < 0:
            v = queue[head]
            head += 1
            for u in range(n):
                if previous[u] < 0 and residual[u, v] > 1e-9:
                    previous[u] = v
                    queue[tail] = u
                    tail += 1
        if previous[source] < 0:
            break
        push = np.inf
        u = source
        while u != sink:
            push = min(push, residual[u, previous[u]])
            u = previous[u]
        u = source
        while u != sink:
            v = previous[u]
            residual[u, v] -= push
            residual[v, u] += push
            u = v
        flow += push
    return flow, previous >= 0


@kernel(nogil=True)
def cluster_activity(
    x: FloatArray, support: NDArray[np.intp], owner: NDArray[np.intp], parents: BoolArray, members: BoolArray,
    roots: NDArray[np.intp], ranks: NDArray[np.intp],
) -> float:  # fmt: skip
    """Left side of the cluster row of `members`."""
    total, least = 0.0, len(members)
    for i in range(len(members)):
        if members[i]:
            least = min(least, ranks[i])
    for k in support:
        if members[owner[k]]:
            inside = roots[owner[k]] == k and ranks[owner[k]] > least
            for j in range(parents.shape[1]):
                if parents[k, j] and members[j]:
                    inside = True
                    break
            if not inside:
                total += x[k]
    return total


@kernel(nogil=True)
def _separate(
    x: FloatArray, support: NDArray[np.intp], owner: NDArray[np.intp], parents: BoolArray, n_nodes: int,
    roots: NDArray[np.intp], ranks: NDArray[np.intp],
) -> tuple[FloatArray, BoolArray]:  # fmt: skip
    """Weights of the arcs (parent, child), and for every node the small side of a minimum cut below 1.

    There may be two of a node: in its cycles, and where its tree hangs from a node of a greater rank.
    """
    arcs = np.zeros((n_nodes, n_nodes))
    for k in support:
        for j in range(n_nodes):
            if parents[k, j]:
                arcs[j, owner[k]] += x[k]
    above = arcs > 1e-9  # becomes: there is a path from j to i
    for middle in range(n_nodes):
        for top in range(n_nodes):
            if above[top, middle]:
                for low in range(n_nodes):
                    if above[middle, low]:
                        above[top, low] = True
    sets = np.zeros((2 * n_nodes, n_nodes), dtype=np.bool_)
    count = 0
    done = np.zeros(n_nodes, dtype=np.bool_)
    place = np.empty(n_nodes, dtype=np.int64)
    for first in range(n_nodes):
        if done[first] or not above[first, first]:
            continue
        place[:] = -1
        size = 0
        for i in range(n_nodes):
            if above[first, i] and above[i, first]:
                place[i] = size
                done[i] = True
                size += 1
        capacity = np.zeros((size + 1, size + 1))
        for k in support:
            i = owner[k]
            if place[i] < 0:
                continue
            # The parent that already carries most: more parents make no more than one way in.
            heaviest = -1
            for j in range(n_nodes):
                if parents[k, j] and place[j] >= 0 and (heaviest < 0 or arcs[j, i] > arcs[heaviest, i]):
                    heaviest = j
            capacity[size if heaviest < 0 else place[heaviest], place[i]] += x[k]
        for v in range(size):
            flow, side = minimum_cut(capacity, size, v, 1.0 - 1e-7)
            if flow < 1.0 - 1e-7:
                for i in range(n_nodes):
                    if place[i] >= 0 and side[place[i]]:
                        sets[count, i] = True
                count += 1
    for v in range(n_nodes):
        hung_wrong = False
        for u in range(n_nodes):
            if roots[u] >= 0 and ranks[u] > ranks[v] and above[u, v] and x[roots[u]] > 1e-9:
                hung_wrong = True
        if not hung_wrong:
            continue
        capacity = np.zeros((n_nodes + 1, n_nodes + 1))
        for k in support:
            i = owner[k]
            if ranks[i] < ranks[v] or (roots[i] == k and ranks[i] > ranks[v]):
                continue
            source = n_nodes
            for j in range(n_nodes):
                if parents[k, j] and ranks[j] >= ranks[v]:
                    source = j
            capacity[source, i] += x[k]
        flow, side = minimum_cut(capacity, n_nodes, v, 1.0 - 1e-7)
        if flow < 1.0 - 1e-7:
            sets[count] = side[:n_nodes]
            count += 1
    return arcs, sets[:count]


class ClusterSeparator:
    """Finds violated cluster rows among `nodes`.

    Parameters
    ----------
    offsets, parents
        As in `mmbn_opt.programs.choice.ChoiceProgram`.
    hub : int or None
        A node whose cycles other rows take care of; it is in no cluster.
    seconds_left : callable
        How long the exact program may take; one that is cut off may miss a cluster.
    hanging : pair of int arrays (n_nodes,) or None
        Root columns and ranks, as `ChoiceProgram.hanging` has them.
    """

    def __init__(
        self,
        offsets: NDArray[np.intp],
        parents: BoolArray,
        hub: int | None,
        seconds_left: Callable[[], float] = lambda: math.inf,
        hanging: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None,
    ) -> None:
        self._seconds_left = seconds_left
        self._n_nodes = len(offsets) - 1
        self._owner = np.repeat(np.arange(self._n_nodes), np.diff(offsets)).astype(np.intp)
        self._parents = parents.copy()
        self._inner = np.ones(self._n_nodes, dtype=bool)
        nodes = np.arange(self._n_nodes, dtype=np.intp)
        self._hanging = (np.full(self._n_nodes, -1, dtype=np.intp), nodes) if hanging is None else hanging
        if hub is not None:
            self._parents[:, hub] = False
            self._inner[hub] = False
        self._exact = bool((self._parents[self._inner[self._owner]].sum(axis=1) <= 1).all())

    @property
    def exact(self) -> bool:
        """Whether minimum cuts alone find every violated cluster row of a fractional point."""
        return self._exact

    def row(self, members: BoolArray) -> FloatArray:
        """Coefficients of a cluster row (right side 1)."""
        return cluster_row(members, self._owner, self._parents, *self._hanging).astype(np.float64)

    def separate(self, x: FloatArray, tolerance: float = 1e-4) -> list[BoolArray]:
        """Node sets of violated rows, each once, the most violated first."""
        support = np.flatnonzero((x > 1e-9) & self._inner[self._owner])
        arcs, sets = _separate(x, support, self._owner, self._parents, self._n_nodes, *self._hanging)
        parts = [] if self._exact else cyclic_parts(arcs)
        if parts:
            sets = np.concatenate([sets, *(self._searched(x, support, arcs, nodes) for nodes in parts)])
        found = self._violated(x, support, sets, tolerance)
        if parts and not found:
            exact = [self._by_program(x, support, nodes, tolerance) for nodes in parts]
            found = self._violated(x, support, [members for each in exact for members in each], tolerance)
        return found

    def _violated(
        self, x: FloatArray, support: NDArray[np.intp], sets: Iterable[BoolArray], tolerance: float
    ) -> list[BoolArray]:
        found: dict[bytes, tuple[float, BoolArray]] = {}
        for members in sets:
            activity = cluster_activity(x, support, self._owner, self._parents, members, *self._hanging)
            if activity < 1.0 - tolerance:
                found[members.tobytes()] = (activity, members)
        ranked = sorted(found.items(), key=lambda item: (item[1][0], item[0]))
        return [members for _, (_, members) in ranked]

    def _searched(
        self, x: FloatArray, support: NDArray[np.intp], arcs: FloatArray, nodes: NDArray[np.intp]
    ) -> BoolArray:
        """The part, and the best set that a search from each of its nodes meets."""
        columns, inside = inside_part(support, self._owner, self._parents, nodes)
        place = np.full(self._n_nodes, -1, dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        both = arcs[np.ix_(nodes, nodes)] + arcs[np.ix_(nodes, nodes)].T
        np.fill_diagonal(both, -1.0)
        starts = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
        inner = np.nonzero(inside)[1]
        small, _ = searched_clusters(x[columns], place[self._owner[columns]], starts, inner, both.argmax(axis=1))
        sets = np.zeros((len(nodes) + 1, self._n_nodes), dtype=bool)
        sets[0, nodes] = True
        sets[1:, nodes] = small
        return sets

    def _by_program(
        self, x: FloatArray, support: NDArray[np.intp], nodes: NDArray[np.intp], tolerance: float
    ) -> list[BoolArray]:
        seconds = self._seconds_left()
        if seconds <= 0:
            return []
        limits = Limits(MOST, tolerance, NODE_LIMIT, seconds)
        return violated_clusters(x, support, self._owner, self._parents, nodes, limits)
