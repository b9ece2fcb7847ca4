"""One run of the exterior penalty method: what moves from one unconstrained minimisation to the next."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..._arguments import checked_number, choice_of, whole
from ..._arrays import FloatArray
from ...programs.nonlinear import ConstraintTargets
from ...results.status import TerminationStatus
from ..base import Solver
from ._penalty_inner import INNER_METHODS, InnerResult, InnerStop, PenalizedPoint
from .run import NonlinearRun

__all__ = ["OuterRecord", "PenaltySequence", "PenaltySettings"]

LARGEST_PENALTY = 1e14
"""Beyond it the objective is lost to rounding."""

STALL = 0.01
"""The violation has to fall by this share, or an outer iteration counts as lost."""

SMALLEST_GROWTH = 1.5
"""Targets are not raised by less."""


@dataclass(frozen=True)
class OuterRecord:
    """One outer iteration.

    Parameters
    ----------
    time_sec : float
    iteration : int
    objective : float
        Without the penalty.
    violation : float
        Largest violation of the constraints with the targets of this iteration.
    total : float
        Sum of squared violations.
    penalty : float
        The factor M.
    target_factor : float
        By how much the targets were raised: xi is this times the program's.
    score : float or None
        Validation score.
    inner_iterations : int
    run : int
        0 is the run from the start, others are restarts.
    """

    time_sec: float
    iteration: int
    objective: float
    violation: float
    total: float
    penalty: float
    target_factor: float
    score: float | None
    inner_iterations: int
    run: int = 0


@dataclass(frozen=True)
class PenaltySettings(Solver):
    """What a run of the exterior penalty method is told; `ExteriorPenaltySolver` says what each setting means."""

    inner: str = field(default="lbfgs", kw_only=True)
    penalty: float = field(default=1.0, kw_only=True)
    penalty_growth: float = field(default=10.0, kw_only=True)
    nearly: float = field(default=1e-4, kw_only=True)
    shifts: bool = field(default=True, kw_only=True)
    gradient_tol: float = field(default=1e-4, kw_only=True)
    rel_progress: float = field(default=1e-3, kw_only=True)
    max_outer: int = field(default=30, kw_only=True)
    max_inner: int = field(default=5000, kw_only=True)
    max_iterations: int | None = field(default=None, kw_only=True)
    patience: int = field(default=3, kw_only=True)
    restarts: int = field(default=10, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        choice_of("inner", self.inner, tuple(INNER_METHODS), expected=f"one of {', '.join(INNER_METHODS)}")
        checked_number("penalty_growth", self.penalty_growth, 1.0, open_low=True, expected="above 1")
        for name in ("penalty", "nearly", "gradient_tol", "max_outer", "max_inner", "patience"):
            checked_number(name, getattr(self, name), open_low=True, expected="positive")
        for name in ("max_outer", "max_inner", "patience"):
            object.__setattr__(self, name, whole(name, getattr(self, name), 1))
        checked_number("rel_progress", self.rel_progress, expected="at least 0")
        object.__setattr__(self, "restarts", whole("restarts", self.restarts))
        if self.max_iterations is not None:
            most = whole("max_iterations", self.max_iterations, expected="a whole number >= 0 or None")
            object.__setattr__(self, "max_iterations", most)


class PenaltySequence:
    """Unconstrained minimisations, one after the other, with what is carried from one to the next."""

    def __init__(self, solver: PenaltySettings, journal: NonlinearRun, run: int = 0, spent: int = 0) -> None:
        self.solver = solver
        self.journal = journal
        self.program = journal.program
        self.run_number = run
        self.spent = spent
        self.targets = self.program.targets or ConstraintTargets(np.zeros(self.program.n_constraints))
        self.penalty = solver.penalty
        self.factor = 1.0
        self.growth = self.targets.growth
        self.reached: list[tuple[float, float]] = []
        self.shifts: FloatArray = np.zeros(self.program.n_constraints)
        self.records: list[OuterRecord] = []
        self.lost = 0
        self.exact = not solver.rel_progress
        self.best_score = -np.inf
        self.without_better_score = 0

    def run(self, x: FloatArray) -> tuple[TerminationStatus, str]:
        """Iterate until the sequence ends of itself; limits come as `Ended`."""
        for _ in range(self.solver.max_outer):
            if self._left() == 0:
                return TerminationStatus.ITERATION_LIMIT, f"{self.solver.max_iterations} iterations"
            inner = self._minimize(x)
            x = inner.x
            constraints = self._constraints(x)
            self._record(x, constraints, inner)
            if self._scores_no_longer_improve():
                return TerminationStatus.SLOW_PROGRESS, "the validation score no longer improves"
            if self.met(constraints):
                if self.growth > 1.0 and self.program.n_constraints:
                    self.reached.append((self.factor, self.penalty))
                    self._aim(self.factor * self.growth)
                    continue
                if inner.converged and self._complementary(constraints):
                    return TerminationStatus.LOCALLY_OPTIMAL, "all constraints hold and the gradient vanishes"
                if self.exact:
                    self._tighten(constraints)
                # Everything holds: what was minimised roughly on the way is now minimised to the end.
                self.exact = True
            elif not self._lost_too_often():
                self._tighten(constraints)
            elif self.reached and self.growth**0.5 >= SMALLEST_GROWTH:
                x = self._step_back()
            else:
                return self._gave_up()
            if self.penalty > LARGEST_PENALTY:
                return self._gave_up()
        return TerminationStatus.ITERATION_LIMIT, f"{self.solver.max_outer} outer iterations"

    def _minimize(self, x: FloatArray) -> InnerResult:
        method = INNER_METHODS[self.solver.inner]
        return method(
            self._penalized(), x, self.program.lower, self.program.upper, self.journal.visit,
            InnerStop(self._left(), self.solver.gradient_tol, 0.0 if self.exact else self.solver.rel_progress),
        )  # fmt: skip

    def _left(self) -> int:
        """Iterations that the next inner run may take."""
        if self.solver.max_iterations is None:
            return self.solver.max_inner
        done = self.spent + self.iterations()
        return max(0, min(self.solver.max_inner, self.solver.max_iterations - done))

    def iterations(self) -> int:
        """Inner iterations so far."""
        return sum(record.inner_iterations for record in self.records)

    def _penalized(self) -> Callable[[FloatArray], PenalizedPoint]:
        """The function F with the present penalty, targets and shifts."""
        penalty, shifts, raised = self.penalty, self.shifts, (self.factor - 1.0) * self.targets.values
        targets = self.factor * self.targets.values
        printed = self.targets.penalize_activity

        def function(x: FloatArray) -> PenalizedPoint:
            point = self.journal.evaluate(x)
            constraints = point.constraints - raised
            if printed:
                missed = np.where(constraints <= 0, constraints + targets, 0.0)
                slope = 2.0 * penalty * missed
            else:
                missed = np.maximum(0.0, shifts - constraints)
                slope = -2.0 * penalty * missed
            return PenalizedPoint(point.value + penalty * float(missed @ missed), lambda: point.pull(slope))

        return function

    def _constraints(self, x: FloatArray) -> FloatArray:
        return self.journal.evaluate(x).constraints - (self.factor - 1.0) * self.targets.values

    def met(self, constraints: FloatArray) -> bool:
        """Whether all hold within the tolerance."""
        return not constraints.size or float(constraints.min()) >= -self.solver.feasibility_tol

    def _complementary(self, constraints: FloatArray) -> bool:
        """Whether only active constraints pull."""
        return bool((np.minimum(np.abs(constraints), self.shifts) <= 10 * self.solver.feasibility_tol).all())

    def _tighten(self, constraints: FloatArray) -> None:
        """Shift where the violation is small, else let M grow."""
        total = float((np.minimum(constraints, 0.0) ** 2).sum())
        if self.solver.shifts and not self.targets.penalize_activity and total <= self.solver.nearly:
            self.shifts = np.maximum(0.0, self.shifts - constraints)
            if len(self.records) < 2 or self.records[-1].violation <= 0.25 * self.records[-2].violation:
                return
            self.shifts = self.shifts / self.solver.penalty_growth
        self.penalty *= self.solver.penalty_growth

    def _aim(self, factor: float) -> None:
        self.factor = factor
        self.exact = not self.solver.rel_progress
        self.shifts = np.zeros_like(self.shifts)
        self.lost = 0

    def _step_back(self) -> FloatArray:
        """From this run's best point and the last targets met, a smaller step up."""
        factor, self.penalty = self.reached[-1]
        self.growth = self.growth**0.5
        self._aim(factor * self.growth)
        assert self.journal.point_of_leg is not None
        return self.journal.point_of_leg.x.copy()

    def _lost_too_often(self) -> bool:
        """Whether the violation stopped falling; raised targets have `patience` iterations altogether."""
        same = [r for r in self.records if r.target_factor == self.factor]
        if self.factor > 1.0:
            return len(same) > self.solver.patience
        stalled = len(same) > 1 and same[-1].total > (1.0 - STALL) * same[-2].total
        self.lost = self.lost + 1 if stalled else 0
        return self.lost >= self.solver.patience

    def _gave_up(self) -> tuple[TerminationStatus, str]:
        if self.factor > 1.0:
            met = self.reached[-1][0]
            words = f"all constraints hold with targets times {met:g}; times {self.factor:g} was not reached"
            return TerminationStatus.SLOW_PROGRESS, words
        return TerminationStatus.SLOW_PROGRESS, "the violation no longer falls; the constraints may be infeasible"

    def _scores_no_longer_improve(self) -> bool:
        best = self.journal.point_of_leg
        if self.program.monitor is None or best is None or best.score is None:
            return False
        improved = best.score > self.best_score
        self.best_score = best.score
        self.without_better_score = 0 if improved else self.without_better_score + 1
        return self.without_better_score >= self.solver.patience

    def _record(self, x: FloatArray, constraints: FloatArray, inner: InnerResult) -> None:
        self.journal.visit(x)
        self.journal.tell_news()
        self.records.append(
            OuterRecord(
                time_sec=self.journal.budget.elapsed(),
                iteration=len(self.records),
                objective=self.journal.evaluate(x).value,
                violation=max(0.0, -float(constraints.min())) if constraints.size else 0.0,
                total=float((np.minimum(constraints, 0.0) ** 2).sum()),
                penalty=self.penalty,
                target_factor=self.factor,
                score=None if self.program.monitor is None else float(self.program.monitor(x)),
                inner_iterations=inner.iterations,
                run=self.run_number,
            )
        )
