"""Convex solvers that run in a host: their engine may be deaf to limits, so that it must be possible to end it."""

import threading
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._arrays import FloatArray
from ...programs.base import ProgramKind
from ...programs.margin_program import MarginProgram
from ...results.status import TerminationStatus
from ..base import Solver, SolverCallback, SolverResult
from ..hosting.attend import Attendance
from ..hosting.child import ChildHost
from ..hosting.host import EngineHost, ThreadHost
from ..hosting.link import EngineJob
from .run import ConvexRun

__all__ = ["HostedConvexSolver"]


@dataclass(frozen=True)
class HostedConvexSolver(Solver):
    """Base of the convex solvers of other libraries.

    Parameters
    ----------
    isolate : bool or None
        Run in a child process that can be killed. None: whenever there is a time limit, which ECOS does not know at all
        and which none of them counts the building of the model against; and in a background thread, because some hold
        the interpreter while they work.
    options : mapping
        The solver's own options; an unknown one fails with its name in the raw status.
    """

    isolate: bool | None = None

    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.CONVEX, ProgramKind.CONVEX_ROWS})
    engine: ClassVar[str]

    def _wants_child(self) -> bool:
        return self.time_limit is not None or threading.current_thread() is not threading.main_thread()

    @abstractmethod
    def _engine_options(self, seconds: float | None) -> Mapping[str, Any]:
        """What the engine is told, with the seconds that are left."""

    def solve(
        self, program: MarginProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a convex program; see `Solver.solve`."""
        books = ConvexRun(self, program, callback, start)
        program.size.refuse_over(
            max_rows=program.max_nonzeros, max_nonzeros=program.max_nonzeros, what=f"The program for {self.title}"
        )
        if books.should_stop():
            return books.result(TerminationStatus.TIME_LIMIT, "no time was left for the solver")
        job = EngineJob(
            engine=self.engine,
            program=program,
            start=books.best,
            origin=0.0,
            deadline=None,
            rel_gap=self.rel_gap,
            abs_gap=self.abs_gap,
            feasibility_tol=self.feasibility_tol,
            threads=self.threads,
            seed=self.seed,
            verbose=self.verbose,
            options=self._engine_options(None if self.time_limit is None else books.budget.left()),
        )
        isolated = self._wants_child() if self.isolate is None else self.isolate
        host: EngineHost = ChildHost(job) if isolated else ThreadHost(job)
        books.stats["host"] = host.label

        def look(quiet: bool) -> TerminationStatus | None:
            books.heartbeat(0)
            return TerminationStatus.INTERRUPTED if books.stop_requested else None

        attendance = Attendance(host, books.budget, lambda message: None, look)
        try:
            answer = attendance.run()
        finally:
            host.close()
        if attendance.error is not None:
            raise attendance.error
        books.stop_requested |= attendance.cause is TerminationStatus.INTERRUPTED
        if answer.solution is not None:
            books.offer(answer.solution)
        if answer.multipliers is not None:
            books.offer_multipliers(answer.multipliers)
        books.iterations = answer.iterations
        return books.result(answer.termination_status, answer.raw_status, stats=answer.stats)
