"""Newton systems of an interior point on a lattice of labellings, in the detours or in w, whichever are fewer."""

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve, solve_triangular

from ..._arrays import FloatArray, IntArray
from ..._budget import leave_in_time
from ...programs.chain_operator import ChainOperator
from ...programs.lattice import LabellingLattice
from ._lattice_holders import LatticeHolder
from ._newton_system import factorize

__all__ = ["DetourBlocks", "Detours", "LatticeSystem"]


class Detours:
    """The detours of a lattice: how they change flows, entries that are looked up, and wrong labels.

    Parameters
    ----------
    lattice : LabellingLattice
    flow : float64 array (n_edges,)
        Whose largest parts are the usual ways.
    """

    def __init__(self, lattice: LabellingLattice, flow: FloatArray) -> None:
        self.lattice = lattice
        self.turns, sequence = lattice.detours(flow)
        self.wrong: FloatArray = self.turns.T @ lattice.wrong
        self.borders: IntArray = np.searchsorted(sequence, np.arange(lattice.chains.n_sequences + 1))

    def __len__(self) -> int:
        return int(self.borders[-1])

    @cached_property
    def features(self) -> Any:
        """Changes of the entries that are looked up, a sparse matrix (n_detours, n)."""
        return (self.turns.T @ self.lattice.features).tocsr()

    def weighed(self, weights: FloatArray) -> Any:
        """``turns' diag(weights) turns``, which has a block a sequence."""
        scaled = self.turns.copy()
        scaled.data *= weights[scaled.indices]
        return (self.turns.T @ scaled).tocsc()

    def nodes(self) -> tuple[IntArray, Any]:
        """Nodes that some detour changes, and how: a sparse matrix (n_nodes, n_detours)."""
        heads, place = np.unique(self.lattice.head, return_inverse=True)
        shape = (len(heads), len(place))
        gathered = sp.csr_array((np.ones(len(place)), (place, np.arange(len(place)))), shape=shape) @ self.turns
        gathered = gathered.tocsr()
        gathered.eliminate_zeros()
        moved = np.flatnonzero(np.diff(gathered.indptr))
        return heads[moved], gathered[moved]


class DetourBlocks:
    """``turns' diag(weights) turns``, factored sequence by sequence."""

    def __init__(self, detours: Detours, weights: FloatArray) -> None:
        matrix = detours.weighed(weights)
        self.factors: list[tuple[FloatArray, int, int]] = []
        for low, high in pairwise(detours.borders.tolist()):
            if high == low:
                continue
            leave_in_time()
            block = np.zeros((high - low, high - low))
            here = slice(matrix.indptr[low], matrix.indptr[high])
            columns = np.repeat(np.arange(high - low), np.diff(matrix.indptr[low : high + 1]))
            block[matrix.indices[here] - low, columns] = matrix.data[here]
            self.factors.append((factorize(block)[0][0], low, high))

    def solve(self, right: FloatArray) -> FloatArray:
        """The inverse, applied."""
        found = np.empty_like(right)
        for factor, low, high in self.factors:
            found[low:high] = cho_solve((factor, True), right[low:high], check_finite=False)
        return found


class LatticeSystem:
    """``K dx = q + G'dw + h dgamma``, ``B dw + G dx = right``, ``c dgamma + h'dx = right_gamma``, factorised.

    K holds the flows, B what holds w, G the entries that detours change, h the wrong labels.

    Parameters
    ----------
    detours : Detours
    holder : LatticeHolder
    weights : float64 array (n_edges,)
        Slacks of the edges over their flows.
    curvature : float
        Of the objective in gamma; 0 where that is fixed.
    """

    def __init__(self, detours: Detours, holder: LatticeHolder, weights: FloatArray, curvature: float) -> None:
        self._detours, self._holder, self._curvature = detours, holder, curvature
        self._moving = np.flatnonzero(holder.free)
        self._blocks: DetourBlocks | None = None
        if len(detours) <= len(self._moving):
            matrix = detours.weighed(weights).toarray()
            _add_gram(matrix, detours, holder)
            if curvature > 0.0:
                matrix += np.outer(detours.wrong, detours.wrong) / curvature
            self._factor = factorize(matrix)[0]
            return
        self._blocks = DetourBlocks(detours, weights)
        matrix = np.zeros((len(self._moving), len(self._moving)))
        holder.add_to(matrix)
        self._features = detours.features[:, self._moving]
        for factor, low, high in self._blocks.factors:
            leave_in_time()
            part = self._features[low:high]
            used = np.unique(part.indices)
            rows = solve_triangular(factor, part[:, used].toarray(), lower=True, check_finite=False)
            matrix[np.ix_(used, used)] += rows.T @ rows
        self._factor = factorize(matrix)[0]
        if curvature > 0.0:
            inner = self._blocks.solve(detours.wrong)
            self._border = self._features.T @ inner
            self._across = cho_solve(self._factor, self._border, check_finite=False)
            self._corner = curvature + float(detours.wrong @ inner) - float(self._border @ self._across)

    def solve(self, right: FloatArray, right_gamma: float, q: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Steps in w, in gamma (0 where it is fixed) and in the detours."""
        found = (
            self._by_detours(right, right_gamma, q)
            if self._blocks is None
            else self._by_entries(self._blocks, right, right_gamma, q)
        )
        return found

    def _by_detours(self, right: FloatArray, right_gamma: float, q: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        detours, holder = self._detours, self._holder
        share = right_gamma / self._curvature if self._curvature > 0.0 else 0.0
        dx = cho_solve(
            self._factor, q + detours.features @ holder.solve(right) + share * detours.wrong, check_finite=False
        )
        dgamma = share - float(detours.wrong @ dx) / self._curvature if self._curvature > 0.0 else 0.0
        return holder.solve(right - detours.features.T @ dx), dgamma, dx

    def _by_entries(
        self, blocks: DetourBlocks, right: FloatArray, right_gamma: float, q: FloatArray
    ) -> tuple[FloatArray, float, FloatArray]:
        wrong, inner = self._detours.wrong, blocks.solve(q)
        moved = cho_solve(self._factor, right[self._moving] - self._features.T @ inner, check_finite=False)
        dgamma = 0.0
        if self._curvature > 0.0:
            dgamma = (right_gamma - float(wrong @ inner) - float(self._border @ moved)) / max(self._corner, 1e-300)
            moved = moved - dgamma * self._across
        dw = np.zeros_like(right)
        dw[self._moving] = moved
        return dw, dgamma, blocks.solve(q + self._features @ moved + dgamma * wrong)


def _add_gram(matrix: FloatArray, detours: Detours, holder: LatticeHolder) -> None:
    """Add ``G' B^-1 G``, in which only nodes of the same label meet, and only steps that leave the same label."""
    chains, k = detours.lattice.chains, detours.lattice.chains.n_labels
    inverse, across, weight = holder.inverse()
    n_steps, n_rows = k + k * k, k + 1
    steps = detours.features[:, :n_steps]
    rows = sp.csr_array((across[:n_steps], np.arange(n_steps), chains.row_ptr[: n_rows + 1]), shape=(n_rows, n_steps))
    along = steps @ rows.T
    matrix += (steps.multiply(inverse[None, :n_steps]) @ steps.T).toarray()
    matrix -= (along.multiply(weight[None, :n_rows]) @ along.T).toarray()
    nodes, changes = detours.nodes()
    position, label = nodes // k, nodes % k
    for c in range(k):
        here = np.flatnonzero(label == c)
        if not len(here):
            continue
        leave_in_time()
        part = changes[here]
        used = np.unique(part.indices)
        block = part[:, used].toarray()
        met = _met(chains, position[here], c, inverse, across, weight[n_rows:])
        matrix[np.ix_(used, used)] += block.T @ (met @ block)


def _met(
    chains: ChainOperator, positions: IntArray, label: int, inverse: FloatArray, across: FloatArray, weight: FloatArray
) -> FloatArray:
    """Inverse of what holds the emissions of a label, between the symbols at some positions."""
    index = chains.index
    entry = index.entry[positions]
    known = entry >= 0
    places = np.where(known, entry + label * index.width, 0)
    n_features, n_symbols = len(index.width), int(index.width.sum())
    symbols = np.zeros((len(positions), n_symbols))
    row, feature = np.nonzero(known)
    symbols[row, (entry - index.emission_start + index.symbol_start[:-1])[row, feature]] = 1.0
    first = np.repeat(index.emission_start + label * index.width, index.width)
    columns = first + np.arange(n_symbols) - np.repeat(index.symbol_start[:-1], index.width)
    shared = np.where(known, across[places], 0.0)
    rows = weight[label + chains.n_labels * np.arange(n_features)]
    met: FloatArray = (symbols * inverse[columns]) @ symbols.T - (shared * rows) @ shared.T
    return met
