"""What the search over node subsets works on: strongly connected parts of a linear choice program, and patterns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray, IntArray
from ...programs.choice import ChoiceProgram

__all__ = ["Part", "Patterns", "split"]

MAX_NODES = 63
"""Nodes of a part: a set of them is a 64-bit number."""


@dataclass(frozen=True, eq=False)
class Part:
    """Nodes that may be on cycles with one another, renumbered from 0, with the columns that differ for them.

    Parents outside are always there and drop out; of what is then the same, the cheapest column is kept.

    Parameters
    ----------
    nodes : int64 array (size,)
        Their numbers in the program.
    offsets : int64 array (size + 1,)
        Columns of each node, cheapest first.
    masks : uint64 array (n_columns,)
        Parents inside the part, as bits.
    cost : float64 array (n_columns,)
    column : int64 array (n_columns,)
        Column of the program.
    """

    nodes: IntArray
    offsets: IntArray
    masks: NDArray[np.uint64]
    cost: FloatArray
    column: IntArray

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def full(self) -> int:
        """The set of all nodes."""
        return (1 << self.size) - 1

    def same_parents(self, node: int, parents: NDArray[np.bool_]) -> int:
        """The column of `node` with these parents inside the part, shape (size,)."""
        mask = np.uint64(sum(1 << int(v) for v in np.flatnonzero(parents)))
        first, last = self.offsets[node], self.offsets[node + 1]
        return int(first + np.flatnonzero(self.masks[first:last] == mask)[0])

    def best_column(self, node: int, available: int) -> int:
        """Cheapest column of `node` (numbers of the part) with parents in `available` alone; -1: there is none."""
        first, last = self.offsets[node], self.offsets[node + 1]
        fits = np.flatnonzero(self.masks[first:last] & ~np.uint64(available) == 0)
        return int(first + fits[0]) if len(fits) else -1


def split(program: ChoiceProgram) -> list[Part]:
    """Strongly connected components of "may be a parent of", larger ones last.

    Cycles never leave a component, so that each is a problem of its own.
    """
    from scipy.sparse.csgraph import connected_components  # deferred: all of scipy.linalg comes with it

    may = np.zeros((program.n_nodes, program.n_nodes), dtype=bool)
    np.logical_or.at(may, program.owner, program.parents)
    count, label = connected_components(may, directed=True, connection="strong")
    members = [np.flatnonzero(label == part) for part in range(count)]
    return [_part(program, nodes) for nodes in sorted(members, key=lambda nodes: (len(nodes), int(nodes[0])))]


def _part(program: ChoiceProgram, nodes: NDArray[np.intp]) -> Part:
    bits = np.uint64(1) << np.arange(min(len(nodes), MAX_NODES), dtype=np.uint64)
    offsets, masks, columns = [0], [], []
    for node in nodes:
        own = np.arange(program.offsets[node], program.offsets[node + 1])
        inside = program.parents[np.ix_(own, nodes)][:, : len(bits)]
        mask = (inside * bits).sum(axis=1, dtype=np.uint64)
        order = np.lexsort((own, program.c[own]))
        _, first = np.unique(mask[order], return_index=True)
        kept = order[np.sort(first)]
        masks.append(mask[kept])
        columns.append(own[kept])
        offsets.append(offsets[-1] + len(kept))
    column = np.concatenate(columns).astype(np.int64)
    return Part(nodes.astype(np.int64), np.array(offsets), np.concatenate(masks), program.c[column], column)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Lower bounds of what the missing nodes cost: the sum over groups of nodes of their exact cost among themselves.

    Yuan & Malone (2013), static pattern databases. Groups hold nodes that compete for one another.
    """

    members: IntArray
    group_start: IntArray
    table: FloatArray
    table_start: IntArray

    @classmethod
    def build(cls, part: Part, group_size: int) -> "Patterns":
        """Tables of ``2^group_size`` entries a group at most."""
        from ._subset_kernels import pattern_costs

        groups = _groups(part, group_size)
        tables = [pattern_costs(group, part.size, part.offsets, part.masks, part.cost) for group in groups]
        ends = [np.cumsum([0, *map(len, items)]).astype(np.int64) for items in (groups, tables)]
        return cls(np.concatenate(groups), ends[0], np.concatenate(tables), ends[1])

    def bounds(self, states: NDArray[np.uint64]) -> FloatArray:
        """Lower bound of what the nodes missing from each state cost."""
        from ._subset_kernels import lower_bounds

        bounds: FloatArray = lower_bounds(states, self.members, self.group_start, self.table, self.table_start)
        return bounds


def _conflicts(part: Part) -> FloatArray:
    """What it costs at least that of two nodes one has to do without the other, shape (size, size)."""
    alone = np.zeros((part.size, part.size))
    for node in range(part.size):
        first, best = part.offsets[node], float(part.cost[part.offsets[node]])
        for other in range(part.size):
            if part.masks[first] >> np.uint64(other) & np.uint64(1):
                k = part.best_column(node, part.full & ~(1 << other))
                alone[node, other] = float(part.cost[k]) - best if k >= 0 else 1e9
    return np.minimum(alone, alone.T)


def _groups(part: Part, group_size: int) -> list[IntArray]:
    """Groups of nearly equal size, grown from the heaviest conflict left, then improved by exchanges."""
    conflict = _conflicts(part)
    count = -(-part.size // group_size)
    sizes = [part.size // count + (g < part.size % count) for g in range(count)]
    group = np.full(part.size, -1)
    for g, size in enumerate(sizes):
        for _ in range(size):
            free = np.flatnonzero(group < 0)
            pull = conflict[np.ix_(free, group == g)].sum(axis=1)
            if not pull.any():
                pull = conflict[np.ix_(free, free)].max(axis=1)
            group[free[np.argmax(pull)]] = g
    improved = count > 1
    while improved:
        improved = False
        ties = np.stack([conflict[:, group == g].sum(axis=1) for g in range(count)], axis=1)
        own = ties[np.arange(part.size), group]
        gain = ties[:, group].T + ties[:, group] - own[:, None] - own[None, :] - 2 * conflict
        gain[group[:, None] == group[None, :]] = 0.0
        a, b = np.unravel_index(np.argmax(gain), gain.shape)
        if gain[a, b] > 1e-9 * max(1.0, float(conflict.max())):
            group[a], group[b] = group[b], group[a]
            improved = True
    return [np.flatnonzero(group == g).astype(np.int64) for g in range(count)]
