"""What solvers of nonlinear programs share: the budget, the pool of judged points, and the result they make."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.nonlinear import NonlinearProgram, PointEvaluation
from ...results.status import SolutionStatus, TerminationStatus
from ..base import Solver, SolverCallback, SolverResult
from ..incumbents import NEARLY_FACTOR
from ..journal import Ended, Journal

__all__ = ["NonlinearRun", "checked_program", "solves_one_variable"]

TELL_SEC = 0.05
"""Seconds between events, so that listeners cost little."""


@dataclass(frozen=True, eq=False)
class JudgedPoint:
    """A point with what we computed for it."""

    x: FloatArray
    value: float
    constraints: FloatArray
    score: float | None

    @property
    def violation(self) -> float:
        """Largest violation of a constraint."""
        return max(0.0, -float(self.constraints.min())) if self.constraints.size else 0.0

    @property
    def total(self) -> float:
        """Sum of squared violations."""
        return float((np.minimum(self.constraints, 0.0) ** 2).sum())


def solves_one_variable(solver: Solver, start: float, tolerance: float) -> bool:
    """Whether a solver finds the point of ``x >= 1`` nearest to 0: what its availability is decided by."""
    program = NonlinearProgram(
        lambda x: (float(x @ x), 2.0 * x),
        x0=np.full(1, start),
        constraints=lambda x: x - 1.0,
        jacobian=lambda x: np.eye(1),
        n_constraints=1,
    )
    solution = solver.solve(program).solution
    return solution is not None and abs(float(solution[0]) - 1.0) <= tolerance


def checked_program(program: Any, solver: Solver) -> NonlinearProgram:
    """The program, or `InputError` when it is of another kind or incomplete."""
    if not isinstance(program, NonlinearProgram):
        raise InputError(f"{solver.name!r} minimises a NonlinearProgram, got {type(program).__name__}.")
    if program.constraints is not None and program.jacobian is None and program.evaluate is None:
        raise InputError(
            f"{solver.name!r} needs the Jacobian of the constraints, or `evaluate`; the program has neither."
        )
    return program


class NonlinearRun(Journal):
    """Evaluates, judges and remembers points; ends the run when a limit says so.

    The best point is, with a validation score, the first of the highest score; else the feasible one of the lowest
    objective; else the one with the smallest sum of squared violations.
    """

    def __init__(self, solver: Solver, program: NonlinearProgram, callback: SolverCallback | None) -> None:
        super().__init__(solver, callback)
        self.program = program
        self.evaluations = 0
        self.iterations = 0
        self.point: JudgedPoint | None = None
        self.point_of_leg: JudgedPoint | None = None
        self._told_sec = 0.0
        self._last: tuple[FloatArray, PointEvaluation] | None = None
        self._news: FloatArray | None = None

    def counts(self) -> tuple[int | None, int | None]:
        """No nodes; the iterates that were visited."""
        return None, self.iterations

    def begin(self, start: FloatArray | None) -> FloatArray:
        """Judge the start, or the program's own, and return it moved into the box."""
        x = np.array(self.program.x0 if start is None else start, dtype=np.float64)
        if x.shape != self.program.x0.shape:
            raise InputError(f"The start has shape {x.shape}; the program has {len(self.program.x0)} columns.")
        x = self.clip(x)
        point = self._evaluate(x)
        if math.isfinite(point.value):
            self._offer(x, point)
        self.enter("start", primal=self._claim(), source="start")
        return x

    def begin_leg(self, x: FloatArray) -> FloatArray:
        """Judge another start; `point_of_leg` is the best point from here on."""
        x = self.clip(x)
        self.point_of_leg = None
        self._offer(x, self.evaluate(x))
        return x

    def clip(self, x: FloatArray) -> FloatArray:
        """The nearest point inside the bounds."""
        lower, upper = self.program.lower, self.program.upper
        if lower is None and upper is None:
            return x
        return np.clip(x, lower, upper)

    def evaluate(self, x: FloatArray) -> PointEvaluation:
        """Everything at a point; ends the run when the time is up or a value is not a number."""
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1]
        if self.budget.over():
            raise Ended(TerminationStatus.TIME_LIMIT, f"time limit of {self.budget.limit:g} s")
        point = self._evaluate(x)
        if math.isnan(point.value) or np.isnan(point.constraints).any():
            raise Ended(TerminationStatus.NUMERICAL_ERROR, "the objective or a constraint is not a number")
        return point

    def visit(self, x: FloatArray) -> None:
        """Take a point of the solver's path into account, and tell the listener."""
        self.iterations += 1
        self._offer(x, self.evaluate(x))
        if self.budget.elapsed() - self._told_sec >= TELL_SEC:
            self.tell_news()

    def visit_last(self, x: FloatArray) -> None:
        """Take an engine's answer into account, also when the time is up."""
        self.iterations += 1
        self._offer(x, self._evaluate(x))

    def tell_news(self) -> None:
        """Send what is new; ends the run when the listener asks for it."""
        self._told_sec = self.budget.elapsed()
        news, self._news = self._news, None
        self.tell(news)
        if self.stop_requested:
            raise Ended(TerminationStatus.INTERRUPTED, "stopped by the callback")

    def finish(self, status: TerminationStatus, words: str, stats: Mapping[str, Any]) -> SolverResult:
        """The result of the run."""
        point, held = self.point, SolutionStatus.NO_SOLUTION
        if point is not None:
            tolerance = self.solver.feasibility_tol
            violation = self.program.violation(point.x)
            held = SolutionStatus.FEASIBLE
            if violation > tolerance:
                near = violation <= NEARLY_FACTOR * tolerance
                held = SolutionStatus.NEARLY_FEASIBLE if near else SolutionStatus.INFEASIBLE
            self.best = point.x
        primal = point.value if point is not None and held is SolutionStatus.FEASIBLE else None
        own = {
            "evaluations": self.evaluations,
            "violation": None if point is None else point.violation,
            "violated": None if point is None else int((point.constraints < -self.solver.feasibility_tol).sum()),
            "score": None if point is None else point.score,
        }
        return self.ending(status, words, primal=primal, held=held, stats={**own, **stats})

    def _claim(self) -> float | None:
        """Objective of the best feasible point, where the best is chosen by the objective."""
        if self.point is None or self.point.score is not None:
            return None
        return self.point.value if self.point.violation <= self.solver.feasibility_tol else None

    def _evaluate(self, x: FloatArray) -> PointEvaluation:
        self.evaluations += 1
        point = _evaluation(self.program, x)
        self._last = (x.copy(), point)
        return point

    def _offer(self, x: FloatArray, point: PointEvaluation) -> None:
        score = None if self.program.monitor is None else float(self.program.monitor(x))
        candidate = JudgedPoint(x.copy(), point.value, point.constraints, score)
        candidate.x.flags.writeable = False
        if self.point_of_leg is None or self._better(candidate, self.point_of_leg):
            self.point_of_leg = candidate
        if self.point is not None and not self._better(candidate, self.point):
            return
        self.point = candidate
        claim = self._claim()
        if claim is not None:
            self._news = candidate.x
            if self.recorder.snapshot().records:
                self.enter("incumbent", primal=claim)

    def _better(self, candidate: JudgedPoint, best: JudgedPoint) -> bool:
        if candidate.score is not None and best.score is not None:
            return candidate.score > best.score
        tolerance = self.solver.feasibility_tol
        if candidate.violation <= tolerance:
            return best.violation > tolerance or candidate.value < best.value
        return best.violation > tolerance and candidate.total < best.total


def _evaluation(program: NonlinearProgram, x: FloatArray) -> PointEvaluation:
    """Everything at a point, from `evaluate` or from the separate callables."""
    if program.evaluate is not None:
        return program.evaluate(x)
    value, gradient = program.value_and_gradient(x)
    if program.constraints is None:
        return PointEvaluation(float(value), np.empty(0), lambda weights: gradient)
    jacobian = program.jacobian
    assert jacobian is not None

    def pull(weights: FloatArray) -> FloatArray:
        return np.asarray(gradient + jacobian(x).T @ weights)

    return PointEvaluation(float(value), np.asarray(program.constraints(x), dtype=np.float64), pull)
