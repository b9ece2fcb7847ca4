"""The loop that owns a run: news in, incumbents judged, the wall budget kept, and one result out.

All of it happens in the thread that called `Solver.solve`: the user's callback and the program's primal heuristic are
called here, whatever thread or process the engine runs in.
"""

import logging
import math
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..._arrays import FloatArray
from ..._budget import Budget, now
from ...exceptions import InputError
from ...programs.base import ColumnProgram
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.status import TerminationStatus
from ..base import Solver, SolverCallback, SolverEvent, SolverResult
from ..ending import ENGINE_SHARE, conclude
from ..hosting.attend import Attendance
from ..hosting.child import ChildHost
from ..hosting.host import EngineHost, ThreadHost
from ..hosting.link import EngineAnswer, EngineJob, LogLine, Message
from ..journal import Journal
from ._ledger import Ledger, scale_of

__all__ = ["ISOLATE_NONZEROS", "Run", "run_engine", "wants_child"]

logger = logging.getLogger(__name__)

GRACE_SEC = 0.7
"""How long an engine that was asked to stop may take to hand over what it has."""

HEARTBEAT_SEC = 0.5
"""How often the callback hears that the run goes on when the engine says nothing."""

CLOSED_SEC = 0.2
"""How long an engine may take to see for itself that the gap is closed; it cannot when we found the incumbent."""


class Run(Journal):
    """Journal of one run.

    Parameters
    ----------
    solver : Solver
        Whose settings and name count.
    program : ColumnProgram
        With its heuristic.
    callback : SolverCallback or None
    job : EngineJob
        What the engine gets.
    """

    def __init__(
        self, solver: Solver, program: ColumnProgram, callback: SolverCallback | None, job: EngineJob[ColumnProgram]
    ) -> None:
        super().__init__(solver, callback, scale=scale_of(program), budget=Budget(solver.time_limit, origin=job.origin))
        self._program = program
        self._job = job
        self._ledger = Ledger(program, solver.feasibility_tol, solver.name, self.recorder)
        self._attendance: Attendance | None = None
        self._closed_at = math.inf
        self._last_told_sec = -math.inf
        self._error: Exception | None = None

    def execute(self, start: FloatArray | None, isolate: bool) -> SolverResult:
        """Run to the end and conclude."""
        self._begin(start)
        answer = self._answer_of(isolate)
        if answer.solution is not None:
            self._ledger.admit(answer.solution, dual=answer.dual_bound)
        result = conclude(
            solver_name=self.solver.name,
            tolerances=self.tolerances,
            pool=self._ledger.pool,
            records=self.recorder.snapshot().records,
            claims=self._ledger.claims,
            answer=answer,
            time_sec=self.budget.elapsed(),
            stats=self.stats,
        )
        if self._error is not None:
            with suppress(AttributeError):
                self._error.solver_result = result  # type: ignore[attr-defined]
            raise self._error
        return result

    def _begin(self, start: FloatArray | None) -> None:
        taken = self._ledger.open(start)
        if taken:
            assert self._ledger.pool.best is not None
            self._job = replace(self._job, start=self._ledger.pool.best.solution)
        elif start is not None:
            violation = self._program.violation(np.asarray(start, dtype=np.float64))
            logger.warning("the start was not used: it violates a constraint by %.3g", violation)
        self.stats["start"] = "none" if start is None else "feasible" if taken else "infeasible"

    def _answer_of(self, isolate: bool) -> EngineAnswer:
        """What the engine says in the end."""
        if self._program.c.size == 0:
            return self._answer_without_columns()
        if self._job.time_left() == 0.0:
            return EngineAnswer(TerminationStatus.TIME_LIMIT, "no time was left for the solver")
        host: EngineHost = ChildHost(self._job) if isolate else ThreadHost(self._job)
        self.stats["host"] = host.label
        attendance = Attendance(host, self.budget, self._hear, self._look, grace=GRACE_SEC)
        self._attendance = attendance
        try:
            answer = attendance.run()
            if self._job.verbose:
                attendance.hear_rest_of_log()
        finally:
            host.close()
        if attendance.started_sec is not None:
            self.stats["engine_start_sec"] = attendance.started_sec
        self._error = self._error or attendance.error
        if attendance.failure is not None and not attendance.failure.is_input_error:
            logger.error("%s failed:\n%s", self.solver.name, attendance.failure.details)
        return answer

    def _answer_without_columns(self) -> EngineAnswer:
        nothing = np.zeros(0)
        if self._program.violation(nothing) <= self._job.feasibility_tol:
            return EngineAnswer(
                TerminationStatus.OPTIMAL, "no columns: only the offset is left", nothing, self._program.value(nothing)
            )
        return EngineAnswer(TerminationStatus.INFEASIBLE, "no columns, and a row excludes zero")

    def _look(self, quiet: bool) -> TerminationStatus | None:
        """Between two messages: a sign of life for the caller, and whether the engine should see that it is done."""
        if quiet and self.budget.elapsed() - self._last_told_sec >= HEARTBEAT_SEC:
            self._pass_on(self._ledger.sign_of_life())
        if self._error is not None or self.stop_requested:
            return TerminationStatus.INTERRUPTED
        if self.tolerances.leave_nothing(self._ledger.bounds):
            elapsed = self.budget.elapsed()
            self._closed_at = min(self._closed_at, elapsed)
            if elapsed - self._closed_at >= CLOSED_SEC:
                return TerminationStatus.OPTIMAL
        return None

    def _hear(self, message: Message) -> None:
        match message:
            case SolverEvent():
                news = self._ledger.enter(message)
                self._pass_on(news)
                if news.solution is not None:
                    self._improve(news.solution)
            case LogLine(text):
                logger.info("%s: %s", self.solver.name, text)

    def _improve(self, solution: FloatArray) -> None:
        """Let the program's heuristic work on a new incumbent, and offer the engine what it makes of it."""
        assert self._attendance is not None
        if self._program.primal_heuristic is None or self._attendance.cause is not None:
            return
        try:
            better = self._program.primal_heuristic(solution)
        except Exception as error:
            self._fail(error)
            return
        if better is not None and self._ledger.admit(better, source="primal heuristic"):
            assert self._ledger.pool.best is not None
            self._attendance.host.offer(self._ledger.pool.best.solution)
            self._pass_on(replace(self._ledger.sign_of_life(), solution=self._ledger.pool.best.solution))

    def _pass_on(self, event: SolverEvent) -> None:
        if self.callback is None or self._error is not None:
            return
        self._last_told_sec = self.budget.elapsed()
        try:
            if self.callback(event):
                self._stop()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Keep an exception of the user's code until the engine has stopped."""
        self._error = error
        self._stop()

    def _stop(self) -> None:
        self.stop_requested = True
        if self._attendance is not None:
            self._attendance.ask_to_stop(TerminationStatus.INTERRUPTED)


ISOLATE_NONZEROS = 50_000
"""Above this many non-zeros one step of a solver can outlast any limit, so that it must be possible to kill it."""


def wants_child(isolate: bool | None, program: MixedIntegerProgram) -> bool:
    """Whether to use a child process: as told, or else for programs on which a solver can be deaf for long."""
    return int(program.A.nnz) > ISOLATE_NONZEROS if isolate is None else isolate


def run_engine(
    solver: Solver,
    engine: str,
    program: ColumnProgram,
    callback: SolverCallback | None,
    start: FloatArray | None,
    *,
    isolate: bool,
    workspace: str | None = None,
    executable: str | None = None,
) -> SolverResult:
    """Run ``"module:function"`` on `program` in a thread or in a child process; return what can be answered for.

    Raises
    ------
    InputError
        For a program, a start or an option that cannot be used.
    Exception
        Whatever the callback or the primal heuristic raised, once the engine has stopped; its attribute
        ``solver_result`` holds the incumbent and the bound.
    """
    origin = now()
    engine_program = program.canonical()
    if start is not None and np.shape(start) != program.c.shape:
        raise InputError(f"the start has shape {np.shape(start)}, but the program has {program.c.size} columns.")
    job = EngineJob(
        engine=engine,
        program=engine_program,
        start=None,
        origin=origin,
        deadline=None if solver.time_limit is None else origin + solver.time_limit,
        rel_gap=ENGINE_SHARE * solver.rel_gap,
        abs_gap=solver.abs_gap,
        feasibility_tol=solver.feasibility_tol,
        threads=solver.threads,
        seed=solver.seed,
        verbose=solver.verbose,
        options=dict(solver.options),
        workspace=workspace,
        executable=executable,
    )
    return Run(solver, program, callback, job).execute(start, isolate)
