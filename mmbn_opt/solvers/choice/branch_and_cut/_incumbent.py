"""The best integral point so far, and what it prunes."""

import math
from collections.abc import Callable
from copy import copy

from ...._arrays import FloatArray
from ...._budget import Budget, leaving_when, now
from ...ending import ENGINE_SHARE, Tolerances
from ._pool import RowPool

__all__ = ["Incumbent"]

PRUNING_SHARE = 1e-9
"""Share of the objective by which a box must be better to be searched: the accuracy of its linear programs."""

LATE_PERIOD = 25
"""Least number of boxes between two calls of the heuristic, after its early ones."""

LATEST_PERIOD = 75
"""Largest number, however long nothing better was found."""


class Incumbent:
    """Best integral point so far, in loss form.

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
    """

    def __init__(
        self,
        pool: RowPool,
        constant: float,
        tolerances: Tolerances,
        news: Callable[[FloatArray, float], None],
        budget: Budget,
    ) -> None:
        self._pool, self._constant = pool, constant
        self._tolerances = tolerances
        self._news, self._budget = news, budget
        self._heuristic = copy(pool.program.primal_heuristic)
        self._calls = 0
        self._due = 0
        self._last_success = 0
        self._longest = 0.0
        self.x: FloatArray | None = None
        self.loss = math.inf

    def cutoff(self) -> float:
        """Boxes whose bound reaches this hold nothing that is better by more than the tolerance."""
        if math.isinf(self.loss):
            return math.inf
        objective = abs(self.loss + self._constant)
        asked = ENGINE_SHARE * self._tolerances.rel_gap * objective
        return self.loss - max(self._tolerances.absolute, PRUNING_SHARE * objective, asked)

    def resume(self, x: FloatArray | None) -> None:
        """Go on from a point that was announced already."""
        if x is not None:
            self.x, self.loss = x, self._pool.loss(x)

    def offer(self, x: FloatArray) -> bool:
        """Take an integral point if it is acyclic and better."""
        program = self._pool.program
        choice = program.choice(x)
        point = program.vector(choice)
        loss = self._pool.loss(point)
        if loss >= self.loss - 1e-12 * max(1.0, abs(loss)) or program.violation(point) > 1e-6:
            return False
        self.x, self.loss = point, loss
        self._last_success = self._calls
        self._news(point, loss)
        return True

    def consider(self, x: FloatArray) -> None:
        """Round and improve a fractional point, more rarely the longer nothing better was found."""
        self._calls += 1
        if self._calls < self._due:
            return
        heuristic = self._heuristic
        if heuristic is None:
            self.offer(x)
            return
        if self._calls > heuristic.early_calls:
            idle = self._calls - self._last_success
            self._due = self._calls + min(max(LATE_PERIOD, idle // 20), LATEST_PERIOD)
        if self._budget.left() < 1.5 * self._longest:
            return
        begin = now()
        with leaving_when(self._budget.over):
            better = heuristic(x)
        self._longest = max(self._longest, now() - begin)
        if better is not None:
            self.offer(better)
