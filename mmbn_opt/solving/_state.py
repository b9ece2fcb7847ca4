"""What moves during one call of `solve`: the budget, the best model, both bounds, and who is believed."""

import logging
import math
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._budget import Budget, OutOfTime, leaving_when, now
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.structure.constrained import SideConstrained
from mmbn_opt.programs.base import Program, ProgramKind
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.result import Check, CheckSubject
from mmbn_opt.results.status import BoundKind, TerminationStatus
from mmbn_opt.results.trace import TraceRecord, TraceRecorder
from mmbn_opt.solvers.base import Resumable, Solver, SolverEvent, SolverResult
from mmbn_opt.solvers.ending import ABSOLUTE_FLOOR, OBJECTIVE_TOLERANCE, Tolerances
from mmbn_opt.solving.conflicts import contradiction, feasible_model

__all__ = ["RunCallback", "SolveState"]

logger = logging.getLogger(__name__)

RunCallback = Callable[[TraceRecord], bool | None]
"""Called with each new trace record, in the formulation's sense; a true return value asks the run to stop."""

FEASIBILITY_TOLERANCE = 1e-6

HEURISTICS = 1 / 3
"""Share of the budget that starts get at most; they end by count long before on most data."""

NOTICED_SEC = 0.1
"""From here on what one look at all rows takes is kept back of the limit, for the checks."""

ROUNDING = 1e-13
"""Relative rounding error of a sum over the samples, whose scale is that of the formulation's own bound."""


@dataclass
class SolveState:
    """What moves during one call of `solve`."""

    formulation: Formulation
    budget: Budget
    tolerances: Tolerances
    callback: RunCallback | None
    kind: ProgramKind
    verbose: bool = False
    best: Any = None
    best_source: str = ""
    bound_source: str = "the formulation"
    best_violation: float = 0.0
    rounding: float = 0.0
    stop_requested: bool = False
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.recorder = TraceRecorder(self.formulation.sense, clock=self.budget.elapsed, listener=self._announce)
        # Under validation the solver chooses the iterate; the largest objective is not what is wanted then.
        self.watched = self.formulation.watched
        self._heard: tuple[NDArray[np.float64], Any] | None = None
        self._evaluating = 0.0

    @property
    def bounds(self) -> ObjectiveBounds:
        """Best bounds so far, in the formulation's sense."""
        return self.recorder.bounds

    def closed(self) -> bool:
        """Whether to go on could bring nothing."""
        return self.tolerances.leave_nothing(self.bounds)

    def request_stop(self) -> None:
        """Ask for an early end."""
        self.stop_requested = True

    def no_leave(self) -> bool:
        """Whether the time is up, or an early end is asked for."""
        return self.stop_requested or self.budget.over()

    def heuristics_over(self) -> bool:
        """Whether the share of the time that starts may take is up."""
        deadline = self.budget.within(HEURISTICS)
        return deadline is not None and now() >= deadline

    def should_end(self) -> bool:
        """Whether there is nothing left to do, or no leave to do it."""
        return self.closed() or self.no_leave()

    def _announce(self, record: TraceRecord) -> None:
        if self.verbose:
            nodes = "" if record.nodes is None else f", {record.nodes:,} nodes"
            logger.info("%.1f s, %s by %s: %s%s", record.time_sec, record.event, record.source, self.bounds, nodes)
        if self.callback is not None and self.callback(record):
            self.stop_requested = True

    def offer(
        self, model: Any, source: str, *, event: str = "incumbent", dual: float | None = None, at: float | None = None
    ) -> None:
        """Take a model if it violates less, or its recomputed objective beats the best one."""
        before = now()
        value = self.formulation.evaluate(model)
        self._evaluating = max(self._evaluating, now() - before)
        if not math.isfinite(value):
            return
        violation = self.formulation.infeasibility(model)
        if self.watched or violation > 0:
            # No incumbent: its objective bounds nothing, or is not what it was chosen by.
            if self.best is None or (violation < self.best_violation):
                self.best, self.best_source, self.best_violation = model, source, violation
            if at is not None:
                self.recorder.record(dual=dual, event=event, source=source, time_sec=at)
        elif self.best_violation > 0 or self.bounds.better_primal(value):
            self.best, self.best_source, self.best_violation = model, source, 0.0
            self.recorder.record(primal=value, dual=dual, event=event, source=source, time_sec=at)

    def settle(self) -> None:
        """Record the objective of a model that was chosen by validation."""
        if self.watched and self.best is not None and self.best_violation == 0:
            value = self.formulation.evaluate(self.best)
            self.recorder.record(primal=value, event="incumbent", source=self.best_source)

    def offer_bound(
        self, value: float, source: str, *, nodes: int | None = None, iterations: int | None = None
    ) -> None:
        """Take a dual bound; one that differs from the incumbent by rounding errors only is set to the incumbent.

        Where large terms cancel to an optimum of 0, their rounding error would otherwise be a gap of 100 %.
        """
        if not math.isfinite(value):
            return
        primal = self.bounds.primal_bound
        if primal is not None:
            crossing = self.formulation.sense.sign * (value - primal)
            floor = ABSOLUTE_FLOOR * self.tolerances.scale
            rounding = floor if abs(primal) <= floor else self.rounding
            if -rounding <= crossing <= OBJECTIVE_TOLERANCE * max(1.0, abs(primal)):
                value = primal
        if self.bounds.better_dual(value):
            self.bound_source = source
            self.recorder.record(dual=value, nodes=nodes, iterations=iterations, event="bound", source=source)

    def on_event(self, event: SolverEvent, source: str) -> bool:
        """News of the solver: incumbents are recovered and evaluated by us before they count."""
        sign = self.formulation.sense.sign
        if event.solution is not None:
            self._hear(event.solution, source)
        if event.note:
            self.recorder.record(nodes=event.nodes, iterations=event.iterations, event=event.note, source=source)
        if event.dual_bound is not None:
            self.offer_bound(sign * event.dual_bound, source, nodes=event.nodes, iterations=event.iterations)
        return self.stop_requested or self.closed()

    def _hear(self, solution: NDArray[np.float64], source: str) -> Any:
        """Take the model of a solver's point, which is recovered and evaluated once; the model."""
        if self._heard is None or not np.array_equal(self._heard[0], solution):
            model = self.formulation.recover_from(solution, self.kind)
            self._take(model, source)
            self._heard = solution, model
        elif self.watched:
            self._take(self._heard[1], source)
        return self._heard[1]

    def _take(self, model: Any, source: str) -> None:
        """Take what a solver hands over; under validation that is the iterate which does best so far."""
        if self.watched:
            self.best, self.best_source = model, source
            self.best_violation = self.formulation.infeasibility(model)
        else:
            self.offer(model, source)

    def offer_trivial(self) -> None:
        """Offer the model and the bound that cost next to nothing, so that there always is a model."""
        formulation = self.formulation
        with ExitStack() as block:
            if formulation.hurries and self.budget.limit is not None:
                block.enter_context(leaving_when(self.heuristics_over))
            trivial = formulation.trivial_start()
        bound: float | None = None
        with leaving_when(self.no_leave), suppress(OutOfTime):
            bound = formulation.trivial_bound()
            self.rounding = ROUNDING * abs(bound or 0.0)
            self.tolerances = replace(self.tolerances, scale=formulation.scale)
        self.offer(trivial.model, trivial.source, event="start", dual=bound, at=0.0)

    def offer_feasible(self) -> None:
        """Offer a model that keeps the side constraints, where the trivial one does not."""
        model = feasible_model(self.formulation, self.budget)
        if model is not None:
            self.offer(model, "a feasible structure", event="start")

    def refuse_contradiction(self, answer: SolverResult) -> None:
        """Raise `InfeasibleError` where the solver found that no structure keeps the side constraints."""
        empty = answer.termination_status is TerminationStatus.INFEASIBLE and self.best_violation > 0
        if empty and isinstance(self.formulation, SideConstrained):
            raise contradiction(self.formulation, self.budget)

    def offer_starts(self, starts: Iterable[Any] | None, seed: int, *, alone: bool = False) -> None:
        """Offer the caller's models and, unless they are to be `alone`, what the formulation's heuristics find."""
        formulation = self.formulation
        given = None if starts is None else list(starts)
        for model in given or ():
            self.offer(formulation.adopt(model, self.kind), "given start", event="start")
        if given == [] or alone or self.should_end():
            return
        deadline = self.budget.within(HEURISTICS)
        for start in formulation.starts(seed=seed, deadline=deadline):
            self.offer(start.model, start.source, event="start")
            if self.should_end():
                return

    def _handing_over(self, limit: float) -> float:
        """Seconds that the checks of the answer will take, where the rows are so many that it matters."""
        return 0.0 if self._evaluating < NOTICED_SEC else min(2.0 * self._evaluating, 0.1 * limit)

    def call(self, engine: Solver, program: Program, checkpoint: Any = None, workers: Any = None) -> SolverResult:
        """Run the solver on what is left of the budget and take what it found."""
        settings = engine
        if self.budget.limit is not None:
            settings = replace(engine, time_limit=max(0.0, self.budget.left() - self._handing_over(self.budget.limit)))
        start = None if self.best is None or self._broken else self.formulation.encode(self.best, self.kind)

        def hear(event: SolverEvent) -> bool:
            stop = self.on_event(event, engine.name)
            # What closes the gap by its own bound may still have a choice to make between equals, and ends by itself.
            own = engine.settles_ties and self.bound_source == engine.name
            return self.stop_requested if own else stop

        if checkpoint is None and workers is None:
            answer = settings.solve(program, callback=hear, start=start)
        else:
            assert isinstance(settings, Resumable)
            answer = settings.solve_into(checkpoint, program, callback=hear, start=start, workers=workers)
        if answer.solution is not None:
            model = self._hear(answer.solution, engine.name)
            if answer.stats.get("ties_settled"):
                self._take_canonical(model, engine.name)
        dual = answer.bounds.dual_bound
        if dual is not None:
            self.offer_bound(self.formulation.sense.sign * dual, engine.name)
        return answer

    def _take_canonical(self, model: Any, source: str) -> None:
        """Of models worth the same the one that a solver chose among them, and not the start that came first."""
        formulation, best = self.formulation, self.bounds.primal_bound
        if model is self.best or best is None or self.best_violation > 0 or formulation.infeasibility(model) > 0:
            return
        if abs(formulation.evaluate(model) - best) > OBJECTIVE_TOLERANCE * max(1.0, abs(best)):
            return
        if not np.array_equal(formulation.encode(model, self.kind), formulation.encode(self.best, self.kind)):
            self.best, self.best_source = model, source

    @property
    def _broken(self) -> bool:
        """Whether the best model breaks constraints where that is no matter of degree: it is none then."""
        return self.best_violation > 0 and self.formulation.bound_kind is BoundKind.EXACT

    def termination(self, answer: SolverResult | None) -> TerminationStatus:
        """Why the run ended; OPTIMAL only when the recomputed gap is closed."""
        if answer is not None and answer.termination_status in (
            TerminationStatus.INFEASIBLE,
            TerminationStatus.UNBOUNDED,
        ):
            if self._broken:
                self.best = None
            return answer.termination_status if self.best is None else TerminationStatus.NUMERICAL_ERROR
        claimed = answer is not None and answer.termination_status is TerminationStatus.OPTIMAL
        if self.closed() or (claimed and self.tolerances.closed(self.bounds)):
            return TerminationStatus.OPTIMAL
        asked = self.interrupted or self.stop_requested
        if answer is None:
            return TerminationStatus.INTERRUPTED if asked else TerminationStatus.TIME_LIMIT
        if answer.termination_status is TerminationStatus.INTERRUPTED and self.budget.over() and not asked:
            return TerminationStatus.TIME_LIMIT  # it was we who stopped the solver
        if claimed:
            logger.warning("the solver claims OPTIMAL, but the recomputed gap is %.3g", self.bounds.gap_rel)
            return TerminationStatus.SLOW_PROGRESS
        return answer.termination_status

    def check_vector(self, program: Program, solution: NDArray[np.float64]) -> Check:
        """Hold the program's own objective at the answer against the recomputed one."""
        violation = program.violation(solution)
        value = self.formulation.sense.sign * program.value(solution)
        primal = self.bounds.primal_bound
        agrees = primal is not None and abs(value - primal) <= OBJECTIVE_TOLERANCE * max(1.0, abs(primal))
        return Check(
            "program vector",
            violation <= FEASIBILITY_TOLERANCE and agrees,
            f"largest violation {violation:.1e}; the program's objective there is {value:.6f}",
            about=CheckSubject.VECTOR,
        )
