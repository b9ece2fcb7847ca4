"""Rounding: an acyclic choice from a fractional point, then descent and kicks."""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import OutOfTime
from mmbn_opt.heuristics.kept_choice import kept_choice
from mmbn_opt.heuristics.local_search import LocalSearch
from mmbn_opt.heuristics.objectives import Loss
from mmbn_opt.networks.candidates import CandidateParents, parent_matrix
from mmbn_opt.programs.side import SideConstraints

__all__ = ["RoundAndDescend"]

_EARLY_CALLS = 40
"""Calls that are short, and worth making often, where they are cheap."""

_CHEAP_WORK = 2e7
"""Steps of one replacement over all columns up to which the heuristic does all it can; beyond, in proportion less."""

PATIENCE = 5
"""Late calls of the heuristic without success after which it starts elsewhere."""

_SCATTERING_KICKS = 40
"""Kicks in a row after which nothing is left of where they began."""


class RoundAndDescend:
    """Primal heuristic: round a point to an acyclic choice, node by node from the surest, descend, kick a few times.

    A choice that was reached by rounding before is not searched again: the best choice so far is kicked instead,
    with fresh random numbers. Answers depend on the calls before, never on time.

    Parameters
    ----------
    candidates : CandidateParents
    loss : Loss
    seed : int
    kicks : int
        Kicks a call, at first.
    side : SideConstraints or None
        What every choice has to keep.

    Attributes
    ----------
    early_calls : int
        So many calls are short, and worth making often. Later ones are searches of their own, with ten times the kicks,
        which leave the basin of the best: solvers call rarely then. Large data get fewer and shorter ones.
    """

    def __init__(
        self,
        candidates: CandidateParents,
        loss: Loss,
        seed: int = 0,
        kicks: int = 2,
        side: SideConstraints | None = None,
    ) -> None:
        self._candidates, self._loss, self._side = candidates, loss, side
        self._seed, self._kicks = seed, kicks
        share = min(1.0, _CHEAP_WORK / max(1.0, loss.work))
        self.early_calls = max(8, round(_EARLY_CALLS * share))
        self._late_kicks = max(kicks, round(10 * kicks * share))
        self._parents = parent_matrix(candidates)
        self._seen: set[bytes] = set()
        self._calls = 0
        self._best: NDArray[np.intp] | None = None
        self._best_loss = np.inf
        self._walk: tuple[NDArray[np.intp], float] | None = None
        self._idle = 0

    def __copy__(self) -> "RoundAndDescend":
        """One that remembers no calls."""
        return RoundAndDescend(self._candidates, self._loss, self._seed, self._kicks, self._side)

    def __call__(self, x: FloatArray) -> FloatArray | None:
        """A good integral point, or None where rounding meets a dead end."""
        choice = self.round(x)
        if choice is None:
            return None
        key = choice.tobytes()
        if key in self._seen and self._best is not None:
            choice = self._best
        self._seen.add(key)
        self._calls += 1
        if self._calls <= self.early_calls:
            found, loss = self._search(choice, self._kicks)
        else:
            found, loss = self._walk_on(choice)
        if loss < self._best_loss:
            self._best, self._best_loss = found, loss
        vector = np.zeros(len(x))
        vector[found] = 1.0
        return vector

    def _search(self, start: NDArray[np.intp], kicks: int) -> tuple[NDArray[np.intp], float]:
        found, loss = start, np.inf
        seed = self._seed + self._calls
        search = LocalSearch(self._candidates, self._loss, seed=seed, max_kicks=kicks, side=self._side)
        with suppress(OutOfTime):  # what was found by then counts
            for better, lower in search.run(start):
                found, loss = better, lower
        return found, loss

    def _walk_on(self, choice: NDArray[np.intp]) -> tuple[NDArray[np.intp], float]:
        """Go on with one search over many calls, from the best at first, from anywhere once it is stuck.

        Points of the program keep to few basins; `choice` is only where the way elsewhere begins.
        """
        if self._walk is None and self._best is not None:
            self._walk = self._best, self._best_loss
        elif self._walk is None or self._idle >= PATIENCE:
            search = LocalSearch(self._candidates, self._loss, seed=self._seed + self._calls, side=self._side)
            self._walk, self._idle = (search.scatter(choice, _SCATTERING_KICKS), np.inf), 0
        found, loss = self._search(self._walk[0], self._late_kicks)
        self._idle = 0 if loss < self._walk[1] else self._idle + 1
        self._walk = found, loss
        return found, loss

    @property
    def steps(self) -> int:
        """What calls of it and of its copies' origin have done; see `Loss.steps`."""
        return self._loss.steps

    def round(self, x: FloatArray) -> NDArray[np.intp] | None:
        """Acyclic choice near `x` that keeps the constraints, or None."""
        if self._side is not None:
            return kept_choice(self._candidates, self._side, x)
        offsets, n_nodes = self._candidates.offsets, self._candidates.n_nodes
        surest = np.argsort(-np.maximum.reduceat(x, offsets[:-1]), kind="stable")
        above = np.eye(n_nodes, dtype=bool)  # above[i, j]: j is i or an ancestor of i
        choice = np.zeros(n_nodes, dtype=np.intp)
        for node in surest:
            first, last = offsets[node], offsets[node + 1]
            below = above[:, node]
            fits = ~(self._parents[first:last] & below).any(axis=1)
            if not fits.any():
                return None
            column = first + int(np.argmax(np.where(fits, x[first:last], -1.0)))
            choice[node] = column
            gained = above[self._parents[column]].any(axis=0)
            above[below] |= gained
        return choice
