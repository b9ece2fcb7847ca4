"""What the descent methods share: limits, stop rules, the iterate that is kept, trace and events."""

import logging
import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..._arguments import checked_number, whole
from ..._arrays import FloatArray
from ..._budget import leaving_when
from ..._threads import limited_threads
from ...exceptions import InputError
from ...programs.base import ProgramKind
from ...programs.nonlinear import NonlinearProgram
from ...results.proof import Proof
from ...results.status import TerminationStatus
from ..base import Solver, SolverCallback, SolverResult, program_bounds
from ..ending import Tolerances
from ..journal import Ended, Journal

__all__ = ["Descent", "DescentSolver"]

Search = Callable[["Descent", FloatArray, float, FloatArray], None]

logger = logging.getLogger(__name__)

_WINDOW = 5
"""Iterations over which the change of the objective is measured."""


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
        # The vectors are short: a second BLAS thread costs more than it brings, and could change the last digit.
        with run.until_ended() as ends, limited_threads(1, "blas"):
            value, gradient = run.open(x)
            search(run, x, value, gradient)
        without = Ended(TerminationStatus.SOLVER_ERROR, "the search ended without a reason")
        return run.result(ends[0] if ends else without)


class Descent(Journal):
    """Journal of a run: counters, the iterate that is kept, the rules that end it."""

    def __init__(self, solver: DescentSolver, program: NonlinearProgram, callback: SolverCallback | None) -> None:
        super().__init__(solver, callback)
        self.rules = solver
        self._program = program
        self._values: list[float] = []
        self._told = -math.inf
        self._pause = 0.0
        self.iterations = 0
        self.evaluations = 0
        self.best_value = math.inf
        self.best_monitor: float | None = None
        self.best_iteration = 0
        self.gradient_norm = math.nan

    def counts(self) -> tuple[int | None, int | None]:
        """No nodes; iterates that were accepted."""
        return None, self.iterations

    def evaluate(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Objective and gradient at `x`; raises `Ended` when the time is up."""
        if self.budget.over() and self.evaluations:
            raise Ended(TerminationStatus.TIME_LIMIT, f"time limit of {self.budget.limit:g} s")
        # The first value is what there will be in any case; a later pass over many samples may be left.
        with leaving_when(self.budget.over) if self.evaluations else nullcontext():
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
            raise Ended(TerminationStatus.NUMERICAL_ERROR, f"the objective at the start is {value!r}")
        self._enter(x, value, gradient, "start")
        return value, gradient

    def accept(self, x: FloatArray, value: float, gradient: FloatArray) -> None:
        """Enter an iterate; raises `Ended` when a stop rule fires."""
        self.iterations += 1
        self._enter(x, value, gradient, "incumbent")

    def _enter(self, x: FloatArray, value: float, gradient: FloatArray, event: str) -> None:
        self._values.append(value)
        self.gradient_norm = float(np.abs(gradient).max(initial=0.0))
        kept = self._keep(x, value)
        self.enter(event if kept else "progress", primal=value if kept else None)
        if self.rules.verbose:
            logger.info("%s %d: f %.8g, |g| %.3g", self.rules.name, self.iterations, value, self.gradient_norm)
        self._tell_news(kept)
        self._check_rules(value)

    def _keep(self, x: FloatArray, value: float) -> bool:
        if self._program.monitor is None:
            return value <= self.best_value
        mark = float(self._program.monitor(x))
        if self.best_monitor is not None and not mark > self.best_monitor:
            return False
        self.best, self.best_value = x.copy(), value
        self.best_monitor, self.best_iteration = mark, self.iterations
        return True

    def _tell_news(self, kept: bool) -> None:
        """Pass the news on; the vector goes along as often as its hearer leaves time: a tenth of the run."""
        if self.callback is None:
            return
        before = self.budget.elapsed()
        vector = self.best if kept and before - self._told >= self._pause else None
        self.tell(vector)
        if vector is not None:
            self._told = self.budget.elapsed()
            self._pause = 10.0 * (self._told - before)

    def _check_rules(self, value: float) -> None:
        rules, scale = self.rules, max(1.0, abs(value))
        if self.stop_requested:
            raise Ended(TerminationStatus.INTERRUPTED, "stopped by the callback")
        if self.gradient_norm == 0.0:
            raise Ended(TerminationStatus.LOCALLY_OPTIMAL, "the gradient is exactly zero")
        if self.gradient_norm <= rules.gradient_tol * scale:
            raise Ended(TerminationStatus.LOCALLY_OPTIMAL, f"largest gradient entry {self.gradient_norm:.2e}")
        if len(self._values) > _WINDOW and self._values[-1 - _WINDOW] - value <= rules.rel_change * scale:
            raise Ended(TerminationStatus.SLOW_PROGRESS, f"relative change below {rules.rel_change:g}")
        if self.best_monitor is not None and self.iterations - self.best_iteration >= rules.patience:
            reason = f"the validation score has not improved for {rules.patience} iterations"
            raise Ended(TerminationStatus.SLOW_PROGRESS, reason)
        if self.iterations >= rules.max_iterations:
            raise Ended(TerminationStatus.ITERATION_LIMIT, f"{rules.max_iterations} iterations")
        if self.budget.over():
            raise Ended(TerminationStatus.TIME_LIMIT, f"time limit of {self.budget.limit:g} s")

    def _bound(self) -> float | None:
        """What the program can prove at the point that is returned."""
        if self.best is None or self._program.bound is None:
            return None
        bound = self._program.bound(self.best)
        return min(bound, self.best_value) if math.isfinite(bound) else None

    def result(self, ended: Ended) -> SolverResult:
        """The run as a result."""
        primal, dual = None if self.best is None else self.best_value, self._bound()
        status = ended.status
        if dual is not None and Tolerances.of(self.rules, abs(primal or 1.0)).closed(program_bounds(primal, dual)):
            status = TerminationStatus.OPTIMAL
        self.enter("progress", primal=primal, dual=dual)
        stats: dict[str, Any] = {
            "evaluations": self.evaluations,
            "gradient_norm": self.gradient_norm,
            "best_iteration": min(self.best_iteration, self.iterations),
            "best_monitor": self.best_monitor,
        }
        if dual is not None:
            self.proof = Proof(dual, {"parameters": len(self._program.x0)})
        return self.ending(status, ended.words, primal=primal, dual=dual, stats=stats)
