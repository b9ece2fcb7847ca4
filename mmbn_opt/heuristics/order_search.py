"""Search over orders of the nodes for sums of local scores: given an order, the best parents are a lookup."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import now, stop_asked
from mmbn_opt.networks.candidates import CandidateParents

__all__ = ["OrderSearch"]

Choice = NDArray[np.intp]
_WORK_LIMIT = 2e9
"""Elementary steps that a search with all its kicks may take: a few seconds, whatever the size."""


@dataclass(frozen=True)
class OrderSearch:
    """Iterated local search over orders (Teyssier & Koller 2005) by moving one node to its best place.

    A node that moves by one place exchanges its neighbour, so that trying all places of a node costs two lookups a
    place (Alonso-Barba, de la Ossa & Puerta 2011). Runs end by count or at `deadline`, whichever is first.

    Parameters
    ----------
    candidates : CandidateParents
    cost : float64 array (n_columns,)
        To be minimised in sum.
    seed : int
    max_kicks : int
    deadline : float or None
        On the clock of `mmbn_opt._budget.now`.

    Examples
    --------
    >>> candidates = CandidateParents((((), (1,)), ((), (0,))))
    >>> search = OrderSearch(candidates, np.array([2.0, 1.0, 3.0, 0.0]))
    >>> [(choice.tolist(), loss) for choice, loss in search.run(np.array([0, 2]))]
    [([0, 3], 2.0)]
    """

    candidates: CandidateParents
    cost: FloatArray
    seed: int = 0
    max_kicks: int = 400
    deadline: float | None = None

    def run(self, start: Choice) -> Iterator[tuple[Choice, float]]:
        """Yield each better choice with its cost, the descended start first."""
        from mmbn_opt.heuristics._order_kernels import descend

        n = self.candidates.n_nodes
        rng = np.random.default_rng(self.seed)
        ranked = np.lexsort((np.arange(len(self.cost)), self.cost, self.candidates.owner)).astype(np.int64)
        fixed = (ranked, self.candidates.offsets.astype(np.int64), self.candidates.parent_array, self.cost)
        place = np.empty(n, dtype=np.int64)
        tolerance = 1e-9 * max(1.0, float(np.abs(self.cost[start]).sum()))
        order = self._order_of(start)
        best = descend(order, np.arange(n), *fixed, place, tolerance)
        best_cost = float(self.cost[best].sum())
        yield best.astype(np.intp), best_cost
        for _ in range(self._kicks()):
            if stop_asked() or (self.deadline is not None and now() >= self.deadline):
                return
            trial = self._kick(order, rng)
            chosen = descend(trial, rng.permutation(n), *fixed, place, tolerance)
            if (chosen < 0).any():
                continue
            cost = float(self.cost[chosen].sum())
            if cost <= best_cost:
                order = trial  # also sideways: many orders have the same structure
            if cost < best_cost - tolerance:
                best_cost = cost
                yield chosen.astype(np.intp), cost

    def _kicks(self) -> int:
        work = 4.0 * self.candidates.n_nodes * self.candidates.n_columns
        return int(np.clip(_WORK_LIMIT / work, 1, self.max_kicks))

    def _order_of(self, choice: Choice) -> NDArray[np.int64]:
        """Parents first; among free nodes the lowest number first."""
        parents = [{int(p) for p in self.candidates.columns[int(k)][1]} for k in choice]
        order: list[int] = []
        while len(order) < len(parents):
            placed = set(order)
            order += [next(v for v, ps in enumerate(parents) if v not in placed and ps <= placed)]
        return np.array(order, dtype=np.int64)

    def _kick(self, order: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Move two to six nodes to other places at random."""
        trial = order.tolist()
        for _ in range(int(rng.integers(2, 7))):
            trial.insert(int(rng.integers(len(trial))), trial.pop(int(rng.integers(len(trial)))))
        return np.array(trial, dtype=np.int64)
