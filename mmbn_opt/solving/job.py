"""A checked call of `solve`: starts, program, solver, model and certificate, within one wall budget."""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import (
    OutOfTime,
    interruptible,
    leaving_when,
    noting_signals,
    obeying,
    until_interrupted,
)
from mmbn_opt._lazy import delegate
from mmbn_opt.formulations.checks import in_time
from mmbn_opt.programs.base import Program, ProgramSize
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.programs.tree_progress import Progress
from mmbn_opt.results.result import Certificate, Check, Result, Seconds
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import BoundTrace
from mmbn_opt.solvers.base import Solver, SolverResult
from mmbn_opt.solving._state import SolveState
from mmbn_opt.solving.certificate import ReprovedBound, certify_run, reproved_bound

__all__ = ["Job", "observing"]

logger = logging.getLogger(__name__)

BUILD_PATIENCE_SEC = 1.0
SOLVE_PATIENCE_SEC = 4.0
"""How long heuristics and building, and a solver, may take to end by themselves after Ctrl-C: an answer that is handed
over has more in it than what is known when it is cut off."""

CHECK_GRACE_SEC = 0.4
"""How long after the limit checks may still begin or go on; those that are left out say so."""

_observer: ContextVar[Callable[[SolveState], None] | None] = ContextVar("mmbn_opt observer", default=None)


@contextmanager
def observing(observer: Callable[[SolveState], None]) -> Iterator[None]:
    """Show `observer` what moves in every run that begins in this thread and in this block."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


@dataclass
class Job:
    """What one call does, ready to be executed once, in whatever thread.

    Parameters
    ----------
    state : SolveState
        What others may look at while the job is executed; setting its `stop_requested` ends the job early.
    engine : Solver
    version, rule : str
        Of the solver, and why it was chosen.
    size : ProgramSize or None
        As estimated; None where there was no time for it.
    settings : mapping
    starts : iterable of models or None
    seed : int
    checkpoint : Checkpoint or None
        Where the tree is kept; closed at the end.
    workers : Workers or None
        Who search it; let go at the end.
    only_given_starts : bool
        Whether the formulation's own heuristics are left out.
    """

    state: SolveState
    engine: Solver
    version: str
    rule: str
    size: ProgramSize | None
    settings: Mapping[str, Any]
    starts: Iterable[Any] | None
    seed: int
    checkpoint: Any = None
    workers: Any = None
    only_given_starts: bool = False
    _seconds: dict[str, float] = field(default_factory=dict)

    def execute(self) -> Result:
        """Do it; Ctrl-C, KeyboardInterrupt and a requested stop end the search with what there is.

        What comes after the search hands that over; Ctrl-C does not reach it, but a second one does.
        """
        try:
            with noting_signals():
                observer = _observer.get()
                if observer is not None:
                    observer(self.state)
                return self._finish(*self._search())
        finally:
            if self.checkpoint is not None:
                self.checkpoint.close()
            if self.workers is not None:
                self.workers.close()

    def _search(self) -> tuple[Program | None, SolverResult | None]:
        state, seconds = self.state, self._seconds
        program: Program | None = None
        answer: SolverResult | None = None
        asked = obeying(lambda: state.stop_requested)
        with until_interrupted() as cut, noting_signals(state.request_stop), asked:
            with interruptible(BUILD_PATIENCE_SEC):
                state.offer_trivial()
                if state.best_violation > 0:
                    state.offer_feasible()
                with leaving_when(state.no_leave), suppress(OutOfTime):
                    if self.checkpoint is not None:
                        self._bind()
                    state.offer_starts(self.starts, self.seed, alone=self.only_given_starts)
                    seconds["heuristics"] = state.budget.elapsed()
                    if not state.should_end():
                        program = state.formulation.build(state.kind)
                        self.size = program.size
                        seconds["build"] = state.budget.elapsed() - seconds["heuristics"]
            if program is not None and not state.should_end():
                before = state.budget.elapsed()
                with interruptible(SOLVE_PATIENCE_SEC):
                    answer = state.call(self.engine, program, self.checkpoint, self.workers)
                state.refuse_contradiction(answer)
                seconds["solve"] = state.budget.elapsed() - before
        state.interrupted |= bool(cut)
        return program, answer

    def _bind(self) -> None:
        """Hold the problem against the one that the checkpoint is for, before any work."""
        formulation = self.state.formulation
        program = formulation.build(self.state.kind)
        assert isinstance(program, ChoiceProgram)
        self.checkpoint.bind(delegate("tree_header")(formulation, program, self.settings))

    def _finish(self, program: Program | None, answer: SolverResult | None) -> Result:
        state, engine = self.state, self.engine
        formulation = state.formulation
        counters = {} if answer is None else {"nodes": answer.nodes, "iterations": answer.iterations}
        state.settle()
        status = state.termination(answer)
        trace = state.recorder.finish(**counters, source=engine.name if answer is not None else state.best_source)
        solution, certificate = None, Certificate()
        if state.best is not None:
            with leaving_when(lambda: state.budget.over(CHECK_GRACE_SEC)):
                with suppress(OutOfTime):
                    solution = formulation.encode(state.best, state.kind)
                certificate = self._certify(program, answer, solution, status, trace)
        raw_status = answer.raw_status if answer is not None else "solver not called"
        if self.checkpoint is not None and answer is None and solution is not None:
            self._keep(solution, status)
        if status is TerminationStatus.OPTIMAL and not certificate.ok:
            # Whoever is at fault: what cannot be certified is not called optimal.
            failed = "; ".join(map(str, certificate.failures))
            logger.error("the answer of %s failed its checks: %s", engine.name, failed)
            status, raw_status = TerminationStatus.NUMERICAL_ERROR, f"{raw_status}; its certificate failed: {failed}"
        stats = {} if answer is None else answer.figures_in(formulation.sense)
        stats |= {"bound_source": state.bound_source, "incumbent_source": state.best_source}
        spent = {k: self._seconds.get(k, 0.0) for k in ("build", "heuristics", "solve")}
        return Result(
            model=state.best,
            certificate=certificate,
            termination_status=status,
            solution_status=_solution_status(state),
            raw_status=raw_status,
            solution=solution,
            bounds=state.bounds,
            trace=trace,
            sense=formulation.sense,
            formulation=formulation,
            solver_name=engine.name,
            solver_version=self.version,
            solver_rule=self.rule,
            seconds=Seconds(**spent, total=state.budget.elapsed()),
            program_size=self.size,
            settings=dict(self.settings),
            stats=stats,
            bound_source=state.bound_source,
            proof=None if answer is None else answer.proof,
            multipliers=None if answer is None else answer.multipliers,
            solver_trace=None if answer is None else answer.trace,
        )

    def _keep(self, solution: FloatArray, status: TerminationStatus) -> None:
        """What was found before a solver was called, into the checkpoint."""
        bounds, sign = self.state.bounds, self.state.formulation.sense.sign
        primal, dual = (math.nan if b is None else sign * b for b in (bounds.primal_bound, bounds.dual_bound))
        progress = Progress(self.state.budget.elapsed(), primal, dual, 0, 0)
        self.checkpoint.answered(progress, np.flatnonzero(solution > 0.5), status.name)

    def _certify(
        self,
        program: Program | None,
        answer: SolverResult | None,
        solution: FloatArray | None,
        status: TerminationStatus,
        trace: BoundTrace,
    ) -> Certificate:
        state = self.state
        by_engine = state.bound_source == self.engine.name
        reproved: ReprovedBound | None = None
        extra: tuple[Check, ...] = ()
        if program is not None and solution is not None:
            extra = in_time("program vector", partial(state.check_vector, program, solution))
        if answer is not None:
            with suppress(OutOfTime):
                reproved = reproved_bound(answer, state.formulation)
        return certify_run(
            state.best,
            state.formulation,
            bounds=state.bounds,
            status=status,
            trace=trace,
            tolerances=state.tolerances,
            bound_source=f"{state.bound_source} {self.version}" if by_engine else state.bound_source,
            extra=extra,
            reproved=reproved,
        )


def _solution_status(state: SolveState) -> SolutionStatus:
    if state.best is None:
        return SolutionStatus.NO_SOLUTION
    return SolutionStatus.INFEASIBLE if state.best_violation > 0 else SolutionStatus.FEASIBLE
