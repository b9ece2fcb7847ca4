"""The loop that owns a run: news in, incumbents judged, the wall budget kept, and one result out.

All of it happens in the thread that called `Solver.solve`: the user's callback and the program's primal heuristic are
called here, whatever thread or process the engine runs in.
"""

import logging
import math
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.base import ColumnProgram
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.status import TerminationStatus
from ..base import Solver, SolverCallback, SolverEvent, SolverResult
from ..ending import ENGINE_SHARE, Tolerances, conclude
from ..hosting.child import ChildHost
from ..hosting.host import EngineHost, ThreadHost
from ..hosting.link import EngineAnswer, EngineFailure, EngineJob, HostDied, LogLine, Message, Started
from ._ledger import Ledger, scale_of

__all__ = ["ISOLATE_NONZEROS", "Run", "run_engine", "wants_child"]

logger = logging.getLogger(__name__)

GRACE_SEC = 0.7
"""How long an engine that was asked to stop may take to hand over what it has."""

HEARTBEAT_SEC = 0.5
"""How often the callback hears that the run goes on when the engine says nothing."""

CLOSED_SEC = 0.2
"""How long an engine may take to see for itself that the gap is closed; it cannot when we found the incumbent."""

POLL_SEC = 0.1

DRAIN_SEC = 0.5


class Run:
    """State of one run.

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
        self._solver = solver
        self._program = program
        self._callback = callback
        self._job = job
        self._tolerances = Tolerances.of(solver, scale_of(program))
        self._ledger = Ledger(program, solver.feasibility_tol, solver.name, self._now)
        self._answer: EngineAnswer | None = None
        self._cause: TerminationStatus | None = None
        self._kill_at = math.inf
        self._closed_at = math.inf
        self._last_told_sec = -math.inf
        self._error: Exception | None = None
        self._stats: dict[str, object] = {}

    def _now(self) -> float:
        return time.monotonic() - self._job.origin

    def execute(self, start: FloatArray | None, isolate: bool) -> SolverResult:
        """Run to the end and conclude."""
        self._begin(start)
        if self._program.c.size == 0:
            self._take(self._answer_without_columns())
        elif self._job.time_left() == 0.0:
            self._answer = EngineAnswer(TerminationStatus.TIME_LIMIT, "no time was left for the solver")
        else:
            host: EngineHost = ChildHost(self._job) if isolate else ThreadHost(self._job)
            self._stats["host"] = host.label
            try:
                self._attend(host)
                if self._job.verbose:
                    self._hear_rest_of_log(host)
            finally:
                host.close()
        assert self._answer is not None
        result = conclude(
            solver_name=self._solver.name,
            tolerances=self._tolerances,
            pool=self._ledger.pool,
            records=self._ledger.recorder.snapshot().records,
            claims=self._ledger.claims,
            answer=self._answer,
            time_sec=self._now(),
            stats=self._stats,
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
        self._stats["start"] = "none" if start is None else "feasible" if taken else "infeasible"

    def _answer_without_columns(self) -> EngineAnswer:
        nothing = np.zeros(0)
        if self._program.violation(nothing) <= self._job.feasibility_tol:
            return EngineAnswer(
                TerminationStatus.OPTIMAL, "no columns: only the offset is left", nothing, self._program.value(nothing)
            )
        return EngineAnswer(TerminationStatus.INFEASIBLE, "no columns, and a row excludes zero")

    def _attend(self, host: EngineHost) -> None:
        """Listen to the engine until it has answered or is no more."""
        while self._answer is None:
            try:
                self._step(host)
            except KeyboardInterrupt:
                # A second Ctrl-C does not wait for the grace period.
                impatient = self._cause is TerminationStatus.INTERRUPTED
                self._ask_to_stop(host, TerminationStatus.INTERRUPTED)
                if impatient:
                    self._kill_at = -math.inf

    def _step(self, host: EngineHost) -> None:
        message = host.peek(self._patience())
        if message is not None:
            self._hear(host, message)
            host.pop()
        elif self._now() - self._last_told_sec >= HEARTBEAT_SEC:
            self._tell(host, self._ledger.sign_of_life())
        if self._answer is None:
            self._keep_budget(host)

    def _patience(self) -> float:
        """Seconds to wait for the next message."""
        ends = [POLL_SEC, self._kill_at - time.monotonic()]
        if self._job.deadline is not None and self._cause is None:
            ends.append(self._job.deadline - time.monotonic())
        return max(0.0, min(ends))

    def _keep_budget(self, host: EngineHost) -> None:
        now = time.monotonic()
        if self._cause is None and self._job.deadline is not None and now >= self._job.deadline:
            self._ask_to_stop(host, TerminationStatus.TIME_LIMIT)
        if self._cause is None and self._tolerances.leave_nothing(self._ledger.bounds):
            self._closed_at = min(self._closed_at, now)
            if now - self._closed_at >= CLOSED_SEC:
                self._ask_to_stop(host, TerminationStatus.OPTIMAL)
        if self._cause is None:
            return
        if now >= self._kill_at:
            self._end_by_force(host)
        else:
            host.request_stop()

    def _ask_to_stop(self, host: EngineHost, cause: TerminationStatus) -> None:
        if self._cause is None:
            # An engine that has not begun has nothing to hand over.
            grace = GRACE_SEC if "engine_start_sec" in self._stats else 0.0
            self._kill_at = time.monotonic() + grace
            self._cause = cause
            host.request_stop()
        elif cause is TerminationStatus.INTERRUPTED:
            self._cause = cause

    def _end_by_force(self, host: EngineHost) -> None:
        """Kill the engine, and take what it had sent before."""
        assert self._cause is not None
        host.kill()
        end = time.monotonic() + DRAIN_SEC
        while self._answer is None and time.monotonic() < end and (message := host.peek(POLL_SEC)) is not None:
            if isinstance(message, HostDied):
                break
            self._hear(host, message)
            host.pop()
        if self._answer is None:
            self._answer = EngineAnswer(self._cause, f"the solver did not stop when asked to; {host.fate}")

    def _hear_rest_of_log(self, host: EngineHost) -> None:
        """Log lines come another way than the answer and can be behind it; a pause is not their end."""
        end = time.monotonic() + DRAIN_SEC
        while time.monotonic() < end:
            message = host.peek(POLL_SEC)
            if message is None:
                continue
            if isinstance(message, HostDied):
                break
            if isinstance(message, LogLine):
                self._hear(host, message)
            host.pop()

    def _hear(self, host: EngineHost, message: Message) -> None:
        match message:
            case SolverEvent():
                self._hear_news(host, message)
            case LogLine(text):
                logger.info("%s: %s", self._solver.name, text)
            case Started():
                self._stats["engine_start_sec"] = self._now()
            case EngineAnswer():
                self._take(message)
            case EngineFailure():
                self._hear_failure(message)
            case HostDied(text):
                self._answer = EngineAnswer(self._cause or TerminationStatus.SOLVER_ERROR, text)

    def _take(self, answer: EngineAnswer) -> None:
        if answer.solution is not None:
            self._ledger.admit(answer.solution, dual=answer.dual_bound)
        if answer.termination_status is TerminationStatus.INTERRUPTED and self._cause is not None:
            # An interruption has the cause for which we asked for it.
            answer = replace(answer, termination_status=self._cause)
        self._answer = answer

    def _hear_failure(self, failure: EngineFailure) -> None:
        if failure.is_input_error:
            self._error = self._error or InputError(failure.text)
        else:
            logger.error("%s failed:\n%s", self._solver.name, failure.details)
        self._answer = EngineAnswer(TerminationStatus.SOLVER_ERROR, f"{failure.kind}: {failure.text}")

    def _hear_news(self, host: EngineHost, event: SolverEvent) -> None:
        news = self._ledger.enter(event)
        self._tell(host, news)
        if news.solution is not None:
            self._improve(host, news.solution)

    def _improve(self, host: EngineHost, solution: FloatArray) -> None:
        """Let the program's heuristic work on a new incumbent, and offer the engine what it makes of it."""
        if self._program.primal_heuristic is None or self._cause is not None:
            return
        try:
            better = self._program.primal_heuristic(solution)
        except Exception as error:
            self._fail(host, error)
            return
        if better is not None and self._ledger.admit(better, source="primal heuristic"):
            assert self._ledger.pool.best is not None
            host.offer(self._ledger.pool.best.solution)
            self._tell(host, replace(self._ledger.sign_of_life(), solution=self._ledger.pool.best.solution))

    def _tell(self, host: EngineHost, event: SolverEvent) -> None:
        if self._callback is None or self._error is not None:
            return
        self._last_told_sec = self._now()
        try:
            if self._callback(event):
                self._ask_to_stop(host, TerminationStatus.INTERRUPTED)
        except Exception as error:
            self._fail(host, error)

    def _fail(self, host: EngineHost, error: Exception) -> None:
        """Keep an exception of the user's code until the engine has stopped."""
        self._error = error
        self._ask_to_stop(host, TerminationStatus.INTERRUPTED)


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
    origin = time.monotonic()
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
