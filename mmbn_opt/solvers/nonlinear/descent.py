"""What the descent methods share: limits, stop rules, the iterate that is kept, trace and events."""

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..._arguments import checked_number, whole
from ..._arrays import FloatArray
from ..._threads import limited_threads
from ...exceptions import InputError
from ...programs.base import ProgramKind
from ...programs.nonlinear import NonlinearProgram
from ...results.status import Sense, SolutionStatus, TerminationStatus
from ...results.trace import TraceRecorder
from ..base import Solver, SolverCallback, SolverEvent, SolverResult, program_bounds
from ..ending import Tolerances

__all__ = ["Descent", "DescentSolver", "Finished"]

Search = Callable[["Descent", FloatArray, float, FloatArray], None]

logger = logging.getLogger(__name__)

_WINDOW = 5
"""Iterations over which the change of the objective is measured."""


class Finished(Exception):
    """The way out of a search when a stop rule fires; no error."""

    def __init__(self, status: TerminationStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class DescentSolver(Solver):
    """Settings and stop rules of the methods that go downhill from a start.

    Parameters
    ----------
    max_iterations : int
    gradient_tol : float
        LOCALLY_OPTIMAL when no entry of the gradient exceeds ``gradient_tol * max(1, |f|)``.
    rel_change : float
        SLOW_PROGRESS when five iterations together lower f by no more than ``rel_change * max(1, |f|)``.
    patience : int
        With a monitor: SLOW_PROGRESS when its best value is that many iterations old. The iterate with that value is
        returned, whatever ends the run.
    """

    max_iterations: int = 300
    gradient_tol: float = 1e-6
    rel_change: float = 1e-8
    patience: int = 20

    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.NONLINEAR})
    ignores: ClassVar[Mapping[str, str]] = {
        "rel_gap": "no bound is known, so there is no gap to stop at",
        "abs_gap": "as rel_gap",
        "feasibility_tol": "there are no constraints",
        "threads": "linear algebra keeps to one; the formulation itself counts with as many as `solve` is given",
        "seed": "nothing is random",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("max_iterations", 0), ("patience", 1)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        for name in ("gradient_tol", "rel_change"):
            checked_number(name, getattr(self, name), open_high=True, expected="a finite number >= 0")

    def with_options(self) -> Self:
        """The settings with `options` written into the fields of the same names."""
        known = {f.name for f in fields(self)} - {f.name for f in fields(Solver)}
        for name in self.options:
            if name not in known:
                raise InputError(f"{self.name} has no option {name!r}; it takes {', '.join(sorted(known))}.")
        return replace(self, **{**self.options, "options": {}})

    def descend(
        self, program: Any, callback: SolverCallback | None, start: FloatArray | None, search: Search
    ) -> SolverResult:
        """Run `search` from the start until a stop rule fires, and report."""
        if not isinstance(program, NonlinearProgram):
            raise InputError(f"{self.name} takes a NonlinearProgram, got {type(program).__name__}.")
        if program.constraints is not None or program.lower is not None or program.upper is not None:
            raise InputError(f"{self.name} takes programs without constraints and bounds; use another solver.")
        x = np.array(program.x0 if start is None else start, dtype=np.float64)
        if x.shape != program.x0.shape:
            raise InputError(f"start has shape {x.shape}, but the program has {len(program.x0)} columns.")
        run = Descent(self, program, callback)
        try:
            # The vectors are short: a second BLAS thread costs more than it brings, and could change the last digit.
            with limited_threads(1, "blas"):
                value, gradient = run.open(x)
                search(run, x, value, gradient)
            finished = Finished(TerminationStatus.SOLVER_ERROR, "the search ended without a reason")
        except Finished as reason:
            finished = reason
        except KeyboardInterrupt:
            finished = Finished(TerminationStatus.INTERRUPTED, "KeyboardInterrupt")
        return run.result(finished)


class Descent:
    """What moves during a run: counters, the iterate that is kept, the trace."""

    def __init__(self, solver: DescentSolver, program: NonlinearProgram, callback: SolverCallback | None) -> None:
        self._solver = solver
        self._program = program
        self._callback = callback
        self._origin = time.perf_counter()
        self._recorder = TraceRecorder(Sense.MINIMIZE, clock=self._elapsed)
        self._values: list[float] = []
        self._told = -math.inf
        self._pause = 0.0
        self.iterations = 0
        self.evaluations = 0
        self.best: FloatArray | None = None
        self.best_value = math.inf
        self.best_monitor: float | None = None
        self.best_iteration = 0
        self.gradient_norm = math.nan

    def _elapsed(self) -> float:
        return time.perf_counter() - self._origin

    # -- what a search calls --------------------------------------------------------------------------------------

    def evaluate(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Objective and gradient at `x`; raises `Finished` when the time is up."""
        if self._solver.time_limit is not None and self._elapsed() >= self._solver.time_limit and self.evaluations:
            raise Finished(TerminationStatus.TIME_LIMIT, f"time limit of {self._solver.time_limit:g} s")
        value, gradient = self._program.value_and_gradient(x)
        self.evaluations += 1
        # Without a monitor every point that was evaluated counts, also one inside an unfinished line search.
        if self._program.monitor is None and value < self.best_value and math.isfinite(value):
            self.best, self.best_value, self.best_iteration = x.copy(), value, self.iterations + 1
        return value, gradient

    def open(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate the start and enter it."""
        value, gradient = self.evaluate(x)
        self.best_iteration = 0
        if not (math.isfinite(value) and np.isfinite(gradient).all()):
            raise Finished(TerminationStatus.NUMERICAL_ERROR, f"the objective at the start is {value!r}")
        self._enter(x, value, gradient, "start")
        return value, gradient

    def accept(self, x: FloatArray, value: float, gradient: FloatArray) -> None:
        """Enter an iterate; raises `Finished` when a stop rule fires."""
        self.iterations += 1
        self._enter(x, value, gradient, "incumbent")

    # -- books ----------------------------------------------------------------------------------------------------

    def _enter(self, x: FloatArray, value: float, gradient: FloatArray, event: str) -> None:
        self._values.append(value)
        self.gradient_norm = float(np.abs(gradient).max(initial=0.0))
        kept = self._keep(x, value)
        name = self._solver.name
        self._recorder.record(
            primal=value if kept else None, iterations=self.iterations, event=event if kept else "progress", source=name
        )
        if self._solver.verbose:
            logger.info("%s %d: f %.8g, |g| %.3g", name, self.iterations, value, self.gradient_norm)
        stop = self._tell(kept)
        self._check(value, stop)

    def _keep(self, x: FloatArray, value: float) -> bool:
        if self._program.monitor is None:
            return value <= self.best_value
        mark = float(self._program.monitor(x))
        if self.best_monitor is not None and not mark > self.best_monitor:
            return False
        self.best, self.best_value = x.copy(), value
        self.best_monitor, self.best_iteration = mark, self.iterations
        return True

    def _tell(self, kept: bool) -> bool:
        """Pass the news on; the vector goes along as often as its hearer leaves time: a tenth of the run."""
        if self._callback is None:
            return False
        now = self._elapsed()
        vector = self.best if kept and now - self._told >= self._pause else None
        value = self.best_value if math.isfinite(self.best_value) else None
        stop = bool(self._callback(SolverEvent(now, value, None, None, self.iterations, vector)))
        if vector is not None:
            self._told = self._elapsed()
            self._pause = 10.0 * (self._told - now)
        return stop

    def _check(self, value: float, stop: bool) -> None:
        solver, scale = self._solver, max(1.0, abs(value))
        if stop:
            raise Finished(TerminationStatus.INTERRUPTED, "stopped by the callback")
        if self.gradient_norm == 0.0:
            raise Finished(TerminationStatus.LOCALLY_OPTIMAL, "the gradient is exactly zero")
        if self.gradient_norm <= solver.gradient_tol * scale:
            raise Finished(TerminationStatus.LOCALLY_OPTIMAL, f"largest gradient entry {self.gradient_norm:.2e}")
        if len(self._values) > _WINDOW and self._values[-1 - _WINDOW] - value <= solver.rel_change * scale:
            raise Finished(TerminationStatus.SLOW_PROGRESS, f"relative change below {solver.rel_change:g}")
        if self.best_monitor is not None and self.iterations - self.best_iteration >= solver.patience:
            reason = f"the validation score has not improved for {solver.patience} iterations"
            raise Finished(TerminationStatus.SLOW_PROGRESS, reason)
        if self.iterations >= solver.max_iterations:
            raise Finished(TerminationStatus.ITERATION_LIMIT, f"{solver.max_iterations} iterations")
        if solver.time_limit is not None and self._elapsed() >= solver.time_limit:
            raise Finished(TerminationStatus.TIME_LIMIT, f"time limit of {solver.time_limit:g} s")

    def _bound(self) -> float | None:
        """What the program can prove at the point that is returned."""
        if self.best is None or self._program.bound is None:
            return None
        bound = self._program.bound(self.best)
        return min(bound, self.best_value) if math.isfinite(bound) else None

    def result(self, finished: Finished) -> SolverResult:
        """The run as a result."""
        found = self.best is not None
        primal, dual = self.best_value if found else None, self._bound()
        bounds = program_bounds(primal, dual)
        status = finished.status
        if dual is not None and Tolerances.of(self._solver, abs(bounds.primal_bound or 1.0)).closed(bounds):
            status = TerminationStatus.OPTIMAL
        self._recorder.record(
            primal=primal,
            dual=dual,
            iterations=self.iterations,
            event="progress",
            source=self._solver.name,
        )
        stats: dict[str, Any] = {
            "iterations": self.iterations,
            "evaluations": self.evaluations,
            "gradient_norm": self.gradient_norm,
            "best_iteration": min(self.best_iteration, self.iterations),
            "best_monitor": self.best_monitor,
            "solve_sec": self._elapsed(),
        }
        if dual is not None:
            stats |= {"bound_reproved": dual, "proof": {"parameters": len(self._program.x0)}}
        return SolverResult(
            termination_status=status,
            solution_status=SolutionStatus.FEASIBLE if found else SolutionStatus.NO_SOLUTION,
            raw_status=finished.reason,
            solution=self.best,
            bounds=bounds,
            trace=self._recorder.finish(iterations=self.iterations, source=self._solver.name),
            stats=stats,
        )
