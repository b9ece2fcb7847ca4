"""Lattices of labellings: some labels of each position and some steps between them, and all labellings along these.

A distribution over the labellings of a lattice is a flow from its start to its end. Flows differ by combinations of
*detours*: along one edge that is not the usual one of its node, and back to the usual way as soon as that is met.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.programs.chain_kernels import hamming
from mmbn_opt.programs.chain_operator import ChainOperator
from mmbn_opt.programs.lattice_kernels import lattice_flows, lattice_potentials, near_edges, whole_ways, widest_way

__all__ = ["LabellingLattice", "edges_near_best"]


def edges_near_best(chains: ChainOperator, w: FloatArray, gamma: float, width: float | FloatArray) -> IntArray:
    """Numbers of the edges on labellings that are, with the margin that they ask for, `width` below the best or less.

    Parameters
    ----------
    chains : ChainOperator
    w : float64 array (n,)
    gamma : float
    width : float, or float64 array (n_sequences,)
    """
    scores = chains.scores(w)
    hamming(chains.index.labels, gamma, scores)
    widths = np.broadcast_to(np.asarray(width, dtype=np.float64), (chains.n_sequences,)).copy()
    nothing = np.empty(0, dtype=np.int64)
    starts, k = chains.index.starts, chains.n_labels
    keys = np.empty(near_edges(starts, scores, w, k, widths, nothing, False), dtype=np.int64)
    near_edges(starts, scores, w, k, widths, keys, True)
    # Rounding may have cut off an edge of a labelling that is just so near.
    lattice = LabellingLattice(chains, np.sort(keys))
    begins, ends = np.zeros(lattice.n_nodes, dtype=bool), np.zeros(lattice.n_nodes, dtype=bool)
    begins[lattice.n_nodes - chains.n_sequences :] = True
    ends[((starts[1:, None] - 1) * k + np.arange(k)).ravel()] = True
    kept = np.empty(len(keys), dtype=bool)
    whole_ways(lattice.tail, lattice.head, begins, ends, kept)
    return lattice.keys[kept]


@dataclass(frozen=True, eq=False)
class LabellingLattice:
    """Labellings along some edges; each edge lies on a way from a sequence's start to its end.

    Parameters
    ----------
    chains : ChainOperator
    keys : int64 array (n_edges,)
        Numbers of the edges in ascending order, as `edges_near_best` gives them.

    Examples
    --------
    One sequence of two positions: the labellings (0, 0), (0, 1), and no other.

    >>> from mmbn_opt.programs.chain_operator import block_starts, chain_index
    >>> index = chain_index(np.array([[0], [1]]), np.array([0, 1]), np.array([0, 2]), 2, (2,))
    >>> chains = ChainOperator(index, block_starts(2, (2,)))
    >>> lattice = LabellingLattice(chains, np.array([0, 8, 9]))
    >>> lattice.position.tolist(), lattice.label.tolist(), lattice.wrong.tolist()
    ([0, 1, 1], [0, 0, 1], [0.0, 1.0, 0.0])
    >>> lattice.features.toarray().astype(int).tolist()[2]
    [0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    """

    chains: ChainOperator
    keys: IntArray

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def label(self) -> IntArray:
        """Where each edge leads."""
        return self.keys % self.chains.n_labels

    @cached_property
    def _rest(self) -> IntArray:
        return self.keys // self.chains.n_labels

    @cached_property
    def before(self) -> IntArray:
        """Where it comes from; -1 at the first position."""
        return self._rest % (self.chains.n_labels + 1) - 1

    @cached_property
    def position(self) -> IntArray:
        """The position that it leads to."""
        return self._rest // (self.chains.n_labels + 1)

    @cached_property
    def sequence(self) -> IntArray:
        """Whose position that is."""
        return np.asarray(np.searchsorted(self.chains.index.starts, self.position, side="right") - 1)

    @cached_property
    def head(self) -> IntArray:
        """Node that it leads to."""
        return self.position * self.chains.n_labels + self.label

    @cached_property
    def tail(self) -> IntArray:
        """Node that it comes from; the starts of the sequences have the last numbers."""
        inner = (self.position - 1) * self.chains.n_labels + self.before
        return np.where(self.before < 0, self.n_nodes - self.chains.n_sequences + self.sequence, inner)

    @property
    def n_nodes(self) -> int:
        """Labels of all positions, and the starts."""
        return self.chains.n_positions * self.chains.n_labels + self.chains.n_sequences

    @cached_property
    def n_detours(self) -> int:
        """Dimension of the flows: edges less nodes that are left."""
        return len(self) - len(np.unique(self.tail))

    @cached_property
    def wrong(self) -> FloatArray:
        """1 where an edge leads to a label that is not the true one."""
        return np.asarray(self.label != self.chains.index.labels[self.position], dtype=np.float64)

    @cached_property
    def features(self) -> Any:
        """Entries of w that each edge looks up, a sparse matrix (n_edges, n)."""
        index, k = self.chains.index, self.chains.n_labels
        step = np.where(self.before < 0, self.label, k + self.before * k + self.label)
        entry = index.entry[self.position]
        places = np.column_stack([step, entry + self.label[:, None] * index.width])
        used = np.column_stack([np.ones(len(step), dtype=bool), entry >= 0])
        ends = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        shape = (len(self), self.chains.n_parameters)
        return sp.csr_array((np.ones(int(ends[-1])), places[used], ends), shape=shape)

    def scores(self, w: FloatArray, gamma: float) -> FloatArray:
        """What each edge adds to a labelling's score and to the margin that it asks for."""
        return np.asarray(self.features @ w + gamma * self.wrong)

    def potentials(self, scores: FloatArray, tau: float = 0.0) -> FloatArray:
        """Best score of the rest of a labelling from each node on; with `tau`, a soft maximum of these."""
        found = np.zeros(self.n_nodes)
        lattice_potentials(self.tail, self.head, scores, tau, found)
        return found

    def slacks(self, scores: FloatArray, tau: float = 0.0) -> FloatArray:
        """How much worse than the best way on from its node each edge is."""
        potentials = self.potentials(scores, tau)
        return np.asarray(potentials[self.tail] - scores - potentials[self.head])

    def flows(self, shares: FloatArray) -> FloatArray:
        """The flow in which each node divides what arrives by these shares, which need not sum to 1."""
        total = np.bincount(self.tail, weights=shares, minlength=self.n_nodes)
        found = shares / total[self.tail]
        mass = np.zeros(self.n_nodes)
        mass[self.n_nodes - self.chains.n_sequences :] = 1.0
        lattice_flows(self.tail, self.head, found, mass)
        return found

    def means(self, flow: FloatArray) -> tuple[float, FloatArray]:
        """Mean number of wrong labels, and mean of what the true labels look up less what the labellings do."""
        return float(self.wrong @ flow), self.chains.own - self.features.T @ flow

    def detours(self, flow: FloatArray) -> tuple[Any, IntArray]:
        """Changes that keep a flow a flow, as a sparse matrix (n_edges, n_detours), and the sequence of each.

        The usual edge of a node is the one with the largest flow.
        """
        order = np.lexsort((flow, self.tail))
        usual = np.full(self.n_nodes, -1, dtype=np.int64)
        usual[self.tail[order]] = order  # the last one of each node counts
        first = np.flatnonzero(usual[self.tail] != np.arange(len(self)))
        plus, minus, column = first, usual[self.tail[first]], np.arange(len(first))
        parts: list[tuple[IntArray, IntArray, float]] = []
        while len(plus):
            parts += [(plus, column, 1.0), (minus, column, -1.0)]
            here, there = self.head[plus], self.head[minus]
            apart = (here != there) & (usual[here] >= 0)
            plus, minus, column = usual[here[apart]], usual[there[apart]], column[apart]
        rows = np.concatenate([p[0] for p in parts]) if parts else first
        columns = np.concatenate([p[1] for p in parts]) if parts else first
        values = np.concatenate([np.full(len(p[0]), p[2]) for p in parts]) if parts else np.empty(0)
        return sp.csc_array((values, (rows, columns)), shape=(len(self), len(first))), self.sequence[first]

    def joined(self, keys: IntArray) -> tuple[Self, IntArray]:
        """The lattice with further edges, and where the edges of this one are in it."""
        grown = np.union1d(self.keys, keys)
        return type(self)(self.chains, grown), np.searchsorted(grown, self.keys)

    def mixture(self, flow: FloatArray) -> tuple[IntArray, FloatArray, list[IntArray]]:
        """A flow as labellings with their weights: their sequences, their weights, their labels.

        In each sequence the widest labelling is taken away until nothing is left.
        """
        sequences: list[int] = []
        weights: list[float] = []
        paths: list[IntArray] = []
        k, starts = self.chains.n_labels, self.chains.index.starts
        borders = np.searchsorted(self.sequence, np.arange(self.chains.n_sequences + 1))
        before = np.where(self.before < 0, k, self.before)
        for i in range(self.chains.n_sequences):
            low, high = borders[i], borders[i + 1]
            level, left = self.position[low:high] - starts[i], flow[low:high].copy()
            way = np.empty(starts[i + 1] - starts[i], dtype=np.int64)
            for _ in range(high - low):
                share = widest_way(level, before[low:high], self.label[low:high], k, left, way)
                if not share > 0.0:
                    break
                left[way] -= share
                sequences.append(i)
                weights.append(share)
                paths.append(self.label[low + way])
        return np.array(sequences, dtype=np.int64), np.array(weights), paths
