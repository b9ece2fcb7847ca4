"""Separation of cluster rows: ``sum_{i in S} sum_{parents of k avoid S} x_ik >= 1`` for node sets S.

Where every column has at most one parent among the nodes that matter, the most violated S with a given member v is a
minimum cut between a super-source and v (exact). Columns with more parents are laid on one of theirs, which only
overestimates the left side: what is found is violated, but not all that is violated is found; growing a set node by
node helps. Integral points are always decided: a cycle is a cluster.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ...._arrays import BoolArray, FloatArray, kernel
from ....programs.boxes import cluster_row

__all__ = ["ClusterSeparator"]


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
    x: FloatArray, support: NDArray[np.intp], owner: NDArray[np.intp], parents: BoolArray, members: BoolArray
) -> float:
    """Left side of the cluster row of `members`."""
    total = 0.0
    for k in support:
        if members[owner[k]]:
            inside = False
            for j in range(parents.shape[1]):
                if parents[k, j] and members[j]:
                    inside = True
                    break
            if not inside:
                total += x[k]
    return total


@kernel(nogil=True)
def _separate(
    x: FloatArray, support: NDArray[np.intp], owner: NDArray[np.intp], parents: BoolArray, n_nodes: int
) -> tuple[FloatArray, BoolArray]:
    """Weights of the arcs (parent, child), and for every node the small side of a minimum cut below 1."""
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
    sets = np.zeros((n_nodes, n_nodes), dtype=np.bool_)
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
    return arcs, sets[:count]


class ClusterSeparator:
    """Finds violated cluster rows among `nodes`.

    Parameters
    ----------
    offsets, parents
        As in `mmbn_opt.programs.choice.ChoiceProgram`.
    hub : int or None
        A node whose cycles other rows take care of; it is in no cluster.
    """

    def __init__(self, offsets: NDArray[np.intp], parents: BoolArray, hub: int | None) -> None:
        self._n_nodes = len(offsets) - 1
        self._owner = np.repeat(np.arange(self._n_nodes), np.diff(offsets)).astype(np.intp)
        self._parents = parents.copy()
        self._inner = np.ones(self._n_nodes, dtype=bool)
        if hub is not None:
            self._parents[:, hub] = False
            self._inner[hub] = False
        self._exact = bool((self._parents[self._inner[self._owner]].sum(axis=1) <= 1).all())

    @property
    def exact(self) -> bool:
        """Whether every violated cluster row of a fractional point is found."""
        return self._exact

    def row(self, members: BoolArray) -> FloatArray:
        """Coefficients of a cluster row (right side 1)."""
        return cluster_row(members, self._owner, self._parents).astype(np.float64)

    def separate(self, x: FloatArray, tolerance: float = 1e-4) -> list[BoolArray]:
        """Node sets of violated rows, each once, the most violated first."""
        support = np.flatnonzero((x > 1e-9) & self._inner[self._owner])
        arcs, sets = _separate(x, support, self._owner, self._parents, self._n_nodes)
        if not self._exact:
            sets = np.concatenate([sets, *self._grown(x, support, arcs)])
        found: dict[bytes, tuple[float, BoolArray]] = {}
        for members in sets:
            activity = cluster_activity(x, support, self._owner, self._parents, members)
            if activity < 1.0 - tolerance:
                found[members.tobytes()] = (activity, members)
        ranked = sorted(found.items(), key=lambda item: (item[1][0], item[0]))
        return [members for _, (_, members) in ranked]

    def _grown(self, x: FloatArray, support: NDArray[np.intp], arcs: FloatArray) -> list[BoolArray]:
        """Strongly connected sets, and sets grown greedily from the heaviest two-way pair of every node in one."""
        labels = connected_components(arcs > 1e-9, directed=True, connection="strong")[1]
        both = arcs + arcs.T
        sets = []
        for component in np.flatnonzero(np.bincount(labels) > 1):
            nodes = np.flatnonzero(labels == component)
            sets.append((labels == component)[None, :])
            for v in nodes:
                members = np.zeros(self._n_nodes, dtype=bool)
                members[v] = True
                members[nodes[np.argmax(np.where(nodes == v, -1.0, both[v, nodes]))]] = True
                sets.append(self._grow(x, support, members, nodes)[None, :])
        return sets

    def _grow(self, x: FloatArray, support: NDArray[np.intp], members: BoolArray, nodes: NDArray[np.intp]) -> BoolArray:
        best = cluster_activity(x, support, self._owner, self._parents, members)
        while True:
            trials = []
            for u in nodes[~members[nodes]]:
                members[u] = True
                trials.append((cluster_activity(x, support, self._owner, self._parents, members), int(u)))
                members[u] = False
            if not trials or min(trials)[0] >= best - 1e-9:
                return members
            best, chosen = min(trials)
            members[chosen] = True
