"""The best integral point so far, and what it prunes."""

import math
from collections.abc import Callable
from copy import copy
from threading import RLock, get_ident

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray
from ...._budget import Budget, leaving_when, now
from ....programs.boxes import holds_before
from ...ending import ENGINE_SHARE, Tolerances
from ._effort import Effort
from ._pool import RowPool

__all__ = ["PRUNING_SHARE", "Incumbent"]

PRUNING_SHARE = 1e-9
"""Share of the objective by which a box must be better to be searched: the accuracy of its linear programs."""

TIE_SHARE = 1e-10
"""As a share of the sums' scale: losses this close are the same, summed in another order."""


class Incumbent:
    """Best integral point so far, in loss form.

    Any thread may offer points, and what it offers counts at once; `news` is told by the thread that made this, when it
    next offers a point or calls `tell`.

    Of points that are worth the same the canonical one is kept: it takes the smaller column at the first node at which
    they differ. A search that wants the canonical one of all optima closes a box at `limit` instead of `cutoff`.

    Parameters
    ----------
    pool : RowPool
    constant : float
        Objective minus loss.
    tolerances : Tolerances
    news : callable
        Told of every better point.
    budget : Budget
        The heuristic is not called when it may not end in time.
    settles : bool
        Whether ties at the optimum are to be settled.
    """

    def __init__(
        self,
        pool: RowPool,
        constant: float,
        tolerances: Tolerances,
        news: Callable[[FloatArray, float], None],
        budget: Budget,
        settles: bool = False,
    ) -> None:
        self._pool, self._constant = pool, constant
        self._tolerances = tolerances
        self._news, self._budget = news, budget
        self._heuristic = copy(pool.program.primal_heuristic)
        self._longest = 0.0
        self._tie = TIE_SHARE * max(1.0, abs(constant))
        self._lock, self._teller = RLock(), get_ident()
        self._untold: list[tuple[FloatArray, float]] = []
        self._choice: NDArray[np.intp] | None = None
        self.settles = settles
        self.effort = Effort()
        self.x: FloatArray | None = None
        self.loss = math.inf

    def cutoff(self) -> float:
        """Boxes whose bound reaches this hold nothing that is better by more than the tolerance, however trees hang."""
        loss = self.loss
        if math.isinf(loss):
            return math.inf
        objective = abs(loss + self._constant)
        asked = ENGINE_SHARE * self._tolerances.rel_gap * objective
        short = max(self._tolerances.absolute, PRUNING_SHARE * objective, asked)
        return loss - short + self._pool.program.turning_cost

    def limit(self, allowed: BoolArray) -> float:
        """Where the box `allowed` may be closed: above the ties that may be in it and precede the point known."""
        with self._lock:
            cutoff, loss, choice = self.cutoff(), self.loss, self._choice
        if self.settles and choice is not None and holds_before(allowed, self._pool.program.offsets, choice):
            return max(cutoff, loss + self._tie + self._pool.program.turning_cost)
        return cutoff

    @property
    def choice(self) -> NDArray[np.intp] | None:
        """The best choice known."""
        return self._choice

    def resume(self, x: FloatArray | None) -> None:
        """Go on from a point that was announced already."""
        if x is not None:
            self.x, self.loss = x, self._pool.loss(x)
            self._choice = self._pool.program.choice(x)

    def offer(self, x: FloatArray) -> bool:
        """Take an integral point if it is acyclic and better, or as good and before the one known."""
        program = self._pool.program
        choice = program.choice(x)
        point = program.vector(choice)
        loss = self._pool.loss(point)
        with self._lock:
            better = loss < self.loss - self._tie
            if not better and (loss > self.loss + self._tie or not _precedes(choice, self._choice)):
                return False
            if program.violation(point) > 1e-6:
                return False
            self.x, self.loss, self._choice = point, loss, choice
            self._untold.append((point, loss))
        if get_ident() == self._teller:
            self.tell()
        return better

    def tell(self) -> None:
        """Tell of points that other threads found."""
        while self._untold:
            self._news(*self._untold.pop(0))

    def consider(self, x: FloatArray) -> None:
        """Round and improve a fractional point, as long as the heuristic has had no more than its share of the work."""
        heuristic = self._heuristic
        if heuristic is None:
            self.offer(x)
            return
        if not self.effort.may_try() or self._budget.left() < 1.5 * self._longest:
            return
        begin, before = now(), heuristic.steps
        with leaving_when(self._budget.over):
            better = heuristic(x)
        self._longest = max(self._longest, now() - begin)
        success = better is not None and self.offer(better)
        self.effort.tried(heuristic.steps - before, success=success)


def _precedes(choice: NDArray[np.intp], other: NDArray[np.intp] | None) -> bool:
    """Whether a choice takes the smaller column at the first node at which the two differ."""
    if other is None:
        return True
    differ = np.flatnonzero(choice != other)
    return bool(len(differ)) and bool(choice[differ[0]] < other[differ[0]])
