"""The books of a run on a convex program: points and multipliers in, checked bounds and one result out.

Every point is projected onto the feasible set and valued by the program; every set of multipliers gives a rigorous
bound by the program's own dual function. What a solver says of its objective is kept, and believed by nobody.
"""

import logging
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.convex import ConvexProgram, linear_in_disguise
from ...programs.convex_bounds import admissible_multipliers
from ...programs.margin_program import MarginProgram
from ...programs.markov import MarkovProgram
from ...results.bounds import ObjectiveBounds
from ...results.status import Sense, SolutionStatus, TerminationStatus
from ...results.trace import TraceRecorder
from ..base import Solver, SolverCallback, SolverEvent, SolverResult, program_bounds
from ..ending import EXACT_GAP, Tolerances

__all__ = ["ConvexRun"]

logger = logging.getLogger(__name__)

REPAIR_ROUNDS = 100
MAX_REPAIRED_PARAMETERS = 3000


class ConvexRun:
    """State of one run.

    Parameters
    ----------
    solver : Solver
    program : MarginProgram
    callback : callable or None
    start : float64 array (n,) or None
    """

    def __init__(
        self, solver: Solver, program: MarginProgram, callback: SolverCallback | None, start: FloatArray | None
    ) -> None:
        self._origin = time.monotonic()
        if not isinstance(program, (ConvexProgram, MarkovProgram)) or program.kind not in solver.accepts:
            accepted = " and ".join(sorted(f"{kind}s" for kind in solver.accepts))
            raise InputError(f"{solver.title} solves {accepted}, got {type(program).__name__}.")
        if start is not None and np.shape(start) != (program.margins.n_parameters,):
            raise InputError(
                f"the start has shape {np.shape(start)}, but the program has {program.margins.n_parameters} parameters."
            )
        self.program: MarginProgram = program
        self.published = linear_in_disguise(program)
        self._solver = solver
        self._callback = callback
        self.best: FloatArray | None = None
        self.stopped_by_user = False
        self.stats: dict[str, Any] = {}
        self._recorder = TraceRecorder(Sense.MINIMIZE, clock=self.now)
        w = np.asarray(start, dtype=np.float64) if start is not None else program.first_point()
        self.offer(w, source="start" if start is not None else "first point", event="start")
        self.offer_bound(program.trivial_bound, source="multipliers zero")

    def now(self) -> float:
        """Seconds since the call."""
        return time.monotonic() - self._origin

    @property
    def bounds(self) -> ObjectiveBounds:
        """Best checked value and best rigorous bound."""
        return self._recorder.bounds

    @property
    def time_left(self) -> float:
        """Seconds until the limit, never negative; inf without one."""
        limit = self._solver.time_limit
        return math.inf if limit is None else max(0.0, limit - self.now())

    def closed(self) -> bool:
        """Whether the proved gap is as small as was asked for."""
        return Tolerances.of(self._solver, self.program.scale).closed(self.bounds)

    def should_stop(self) -> bool:
        """Whether the gap is closed, the time is up, or the user wants to stop."""
        return self.closed() or self.time_left <= 0.0 or self.stopped_by_user

    def offer(
        self, w: FloatArray, *, source: str = "", event: str = "incumbent", iterations: int | None = None
    ) -> float | None:
        """Project, value, and keep a point if it is the best; returns its value, None for a point that is no number."""
        if not np.isfinite(w).all():
            return None
        feasible = self.program.project(w)
        value = float(self.program.value(feasible))
        if math.isfinite(value) and (self.bounds.primal_bound is None or value < self.bounds.primal_bound):
            self.best = feasible
            self._recorder.record(primal=value, iterations=iterations, event=event, source=source or self._solver.name)
            self._tell(feasible, iterations)
        return value

    def offer_bound(self, value: float, *, source: str = "", iterations: int | None = None) -> None:
        """Keep a rigorous bound if it is the best."""
        if math.isfinite(value) and (self.bounds.dual_bound is None or value > self.bounds.dual_bound):
            primal = self.bounds.primal_bound
            # Rounding may carry a bound past a point of the same value.
            if primal is not None and 0 < value - primal <= 1e-9 * max(1.0, abs(primal)):
                value = primal
            self.stats.pop("multipliers", None)  # those prove another bound
            self._recorder.record(dual=value, iterations=iterations, event="bound", source=source or self._solver.name)
            self._tell(None, iterations)

    def offer_multipliers(self, y: FloatArray, *, iterations: int | None = None) -> None:
        """Keep the bound of some multipliers."""
        candidates = [y]
        if self.published is not None and self.published.margins.n_parameters <= MAX_REPAIRED_PARAMETERS:
            candidates.append(balanced(self.published, y))
        for table in candidates:
            before = self.bounds.dual_bound
            self.offer_bound(self.program.dual_value(table), iterations=iterations)
            if self.bounds.dual_bound != before:
                self.stats["multipliers"] = np.array(table)  # the method goes on with its own

    def heartbeat(self, iterations: int) -> None:
        """Tell the callback that the run goes on."""
        self._tell(None, iterations)

    def _tell(self, w: FloatArray | None, iterations: int | None) -> None:
        if self._callback is None:
            return
        event = SolverEvent(
            self.now(),
            self.bounds.primal_bound,
            self.bounds.dual_bound,
            None,
            iterations,
            None if w is None else w.copy(),
        )
        if self._callback(event):
            self.stopped_by_user = True

    def termination(self, otherwise: TerminationStatus) -> TerminationStatus:
        """OPTIMAL when the gap is proved, the limit that ended the run, or what the solver says."""
        if self.closed():
            return TerminationStatus.OPTIMAL
        if self.stopped_by_user:
            return TerminationStatus.INTERRUPTED
        if self.time_left <= 0.0:
            return TerminationStatus.TIME_LIMIT
        return otherwise

    def result(
        self,
        otherwise: TerminationStatus,
        raw_status: str,
        *,
        iterations: int | None = None,
        stats: Mapping[str, Any] | None = None,
    ) -> SolverResult:
        """The result; OPTIMAL is said only of a proved gap."""
        status = self.termination(
            TerminationStatus.SLOW_PROGRESS if otherwise is TerminationStatus.OPTIMAL else otherwise
        )
        bounds = self.bounds
        if not bounds.is_consistent(1e-6):
            logger.error("the dual bound %r is above the value %r", bounds.dual_bound, bounds.primal_bound)
            status, raw_status = (
                TerminationStatus.NUMERICAL_ERROR,
                f"{raw_status}; bound and value contradict each other",
            )
        gamma = None if self.best is None else self.program.best_gamma(self.best)
        extra: dict[str, Any] = {"iterations": iterations, "nodes": None, "solve_sec": self.now(), "gamma": gamma}
        table = self.stats.get("multipliers")
        if table is not None:
            extra["bound_reproved"] = self.program.dual_value(table)
            extra["proof"] = {"multipliers": int(np.count_nonzero(table))}
        if self.published is not None:
            extra |= _published_facts(self.published, self.best, bounds)
            if extra["separable"] and self.published.strength is not None:
                # The infimum is not attained: whatever scale this point has, it is no optimum.
                raw_status = f"{raw_status}; {extra['published_degeneracy']}"
                status = TerminationStatus.SLOW_PROGRESS if status is TerminationStatus.OPTIMAL else status
        return SolverResult(
            termination_status=status,
            solution_status=SolutionStatus.NO_SOLUTION if self.best is None else SolutionStatus.FEASIBLE,
            raw_status=raw_status,
            solution=self.best,
            bounds=program_bounds(bounds.primal_bound, bounds.dual_bound),
            trace=self._recorder.finish(iterations=iterations, source=self._solver.name),
            stats={**extra, **self.stats, **(stats or {})},
        )


def _published_facts(program: ConvexProgram, w: FloatArray | None, bounds: ObjectiveBounds) -> dict[str, Any]:
    """What has to be said of an answer to the published problem."""
    separable = w is not None and bool(program.margins.margins(w).min() > 0.0)
    sentence = (
        "the data are separable: the infimum is 0 and not attained, so that no optimum is returned"
        if separable
        else "the optimum is that of a linear program up to scale and need not be unique; B only rescales it"
    )
    known = {True: True}.get(separable, False if (bounds.dual_bound or 0.0) > EXACT_GAP * program.scale else None)
    return {"published_degeneracy": sentence, "separable": known}


def balanced(program: ConvexProgram, y: FloatArray) -> FloatArray:
    """Multipliers near `y` with ``Delta' y`` near 0: without a floor any remainder costs the bound dearly.

    Alternating projections onto the null space and onto what is admissible.
    """
    margins = program.margins
    matrix, sample, rival = margins.matrix(program.max_nonzeros)
    inverse = np.linalg.pinv((matrix.T @ matrix).toarray(), rcond=1e-12, hermitian=True)
    table = admissible_multipliers(np.array(y), margins.labels, margins.weight)
    for _ in range(REPAIR_ROUNDS):
        flat = table[sample, rival]
        table[sample, rival] = flat - matrix @ (inverse @ (matrix.T @ flat))
        table = admissible_multipliers(table, margins.labels, margins.weight)
    return table
