"""HiGHS, the default engine for mixed-integer programs, through the arrays of highspy."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import highspy
import numpy as np
from highspy._core import _Highs

from ..._arrays import FloatArray
from ..._budget import now
from ...programs.base import ProgramKind
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.status import TerminationStatus
from ..base import Availability, Solver, SolverCallback, SolverResult
from ..hosting.link import EngineAnswer, EngineJob, EngineLink, Throttle
from .highs_model import check_options, fresh_scheduler, load_program, quiet_highs, require_ok, set_option
from .run import run_engine, wants_child

__all__ = ["HighsSolver", "run"]

_STATUS = {
    "kOptimal": TerminationStatus.OPTIMAL,
    "kModelEmpty": TerminationStatus.OPTIMAL,
    "kInfeasible": TerminationStatus.INFEASIBLE,
    "kUnbounded": TerminationStatus.UNBOUNDED,
    "kTimeLimit": TerminationStatus.TIME_LIMIT,
    "kIterationLimit": TerminationStatus.ITERATION_LIMIT,
    "kSolutionLimit": TerminationStatus.NODE_LIMIT,
    "kInterrupt": TerminationStatus.INTERRUPTED,
    "kHighsInterrupt": TerminationStatus.INTERRUPTED,
    "kObjectiveBound": TerminationStatus.INTERRUPTED,
    "kObjectiveTarget": TerminationStatus.INTERRUPTED,
    "kUnknown": TerminationStatus.NUMERICAL_ERROR,
}
"""Anything else is SOLVER_ERROR; kUnboundedOrInfeasible is settled by a second run."""

_RESERVED = {
    "time_limit": "time_limit",
    "mip_rel_gap": "rel_gap",
    "mip_abs_gap": "abs_gap",
    "mip_feasibility_tolerance": "feasibility_tol",
    "primal_feasibility_tolerance": "feasibility_tol",
    "threads": "threads",
    "random_seed": "seed",
    "output_flag": "verbose",
    "log_to_console": "verbose",
}

_TIGHTER = 0.01
_SMALLEST_TOL = 1e-10
_MAX_SEED = 2**31 - 1


@dataclass(frozen=True)
class HighsSolver(Solver):
    """HiGHS (Huangfu & Hall 2018): dual simplex, interior point, branch and cut.

    Parameters
    ----------
    isolate : bool or None
        Run in a child process that can be killed. None: for programs of more than 50,000 non-zeros, whose root
        relaxation alone can be deaf to limits and to Ctrl-C for minutes; smaller ones run in a thread.
    options : mapping
        HiGHS's own options, for example ``{"presolve": "off"}``.

    Notes
    -----
    ``rel_gap`` and ``abs_gap`` are passed as they are, so that 0 means 0 and not HiGHS's 1e-4. HiGHS still discards
    subtrees within its own feasibility tolerance of the incumbent, which is set to ``feasibility_tol / 100``.

    References
    ----------
    .. [1] Q. Huangfu and J. A. J. Hall, "Parallelizing the dual revised simplex method", Mathematical Programming
       Computation 10 (2018).

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from mmbn_opt.programs import MixedIntegerProgram
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-5.0, -4.0, -3.0]), A=sp.csr_array(np.array([[2.0, 3.0, 1.0]])),
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([5.0]),
    ...     col_lower=np.zeros(3), col_upper=np.ones(3), integrality=np.ones(3, dtype=bool))
    >>> result = HighsSolver().solve(program)
    >>> result.termination_status, result.bounds.primal_bound, result.solution.tolist()
    (TerminationStatus.OPTIMAL, -9.0, [1.0, 1.0, 0.0])
    """

    isolate: bool | None = None

    name: ClassVar[str] = "highs"
    title: ClassVar[str] = "HiGHS"
    licence: ClassVar[str] = "MIT"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.MIXED_INTEGER})
    at_limit: ClassVar[str] = "stops itself; large programs run in a process that is ended where it does not"

    @classmethod
    def availability(cls) -> Availability:
        """Look whether HiGHS solves a one-variable model (cached)."""
        return _probe()

    def solve(
        self, program: MixedIntegerProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise `program`; see `Solver.solve`."""
        check_options(self.options, _RESERVED)
        return run_engine(self, f"{__name__}:run", program, callback, start, isolate=wants_child(self.isolate, program))


@cache
def _probe() -> Availability:
    highs = quiet_highs()
    highs.addVar(1.0, 2.0)
    highs.changeColCost(0, 1.0)
    highs.run()
    if abs(highs.getInfo().objective_function_value - 1.0) > 1e-9:
        return Availability(False, highs.version(), "HiGHS did not solve a one-variable model; reinstall highspy.")
    return Availability(True, highs.version())


def run(job: EngineJob[MixedIntegerProgram], link: EngineLink) -> EngineAnswer:
    """The engine: runs in a thread of the user's process or in a child process."""
    highs = quiet_highs()
    # Each thread keeps a scheduler from its last run, and refuses to run with another number of threads.
    fresh_scheduler()
    try:
        load_program(highs, job.program)
        _set_options(highs, job)
        watch = _Watch(link)
        watch.attach(highs, verbose=job.verbose)
        if job.start is not None:
            _give_start(highs, job.start)
        _run_within(highs, job)
        answer = _answer(highs, job, watch)
        if job.start is not None and _is_the_start_in_disguise(job, answer):
            # HiGHS 1.15 can end "optimal" with the right objective and the start's values (a test keeps the case).
            require_ok(highs.clearSolver(), "a fresh start")
            _run_within(highs, job)
            answer = _answer(highs, job, watch)
        watch.raise_error()
        return answer
    finally:
        highs.setCallback(None, None)
        _Highs.resetGlobalScheduler(False)


def _set_options(highs: Any, job: EngineJob[MixedIntegerProgram]) -> None:
    settings = {
        "mip_rel_gap": job.rel_gap,
        "mip_abs_gap": job.abs_gap,
        "mip_feasibility_tolerance": _own_tolerance(job),
        "primal_feasibility_tolerance": max(min(job.feasibility_tol, 1e-7), _SMALLEST_TOL),
        "threads": job.threads,
        "random_seed": job.seed % _MAX_SEED,
        **job.options,
    }
    if job.verbose:
        # The log callback speaks only with the output on, which then must not reach the console.
        settings |= {"log_to_console": False, "output_flag": True}
    for name, value in settings.items():
        set_option(highs, name, value)


def _give_start(highs: Any, start: FloatArray) -> None:
    solution = highspy.HighsSolution()
    solution.col_value = start.tolist()
    require_ok(highs.setSolution(solution), "the start")


def _run_within(highs: Any, job: EngineJob[MixedIntegerProgram]) -> None:
    left = job.time_left()
    if left is not None:
        set_option(highs, "time_limit", left)
    highs.run()


def _answer(highs: Any, job: EngineJob[MixedIntegerProgram], watch: "_Watch") -> EngineAnswer:
    status = highs.getModelStatus()
    raw = highs.modelStatusToString(status)
    info = highs.getInfo()
    solution = highs.getSolution()
    # At a limit without an incumbent the values are zeros that mean nothing.
    vector = np.array(solution.col_value) if solution.value_valid else None
    termination = _STATUS.get(status.name, TerminationStatus.SOLVER_ERROR)
    answer = EngineAnswer(
        termination,
        raw,
        vector,
        _dual_bound(info, job, termination),
        int(info.mip_node_count) if info.mip_node_count >= 0 else None,
        int(info.simplex_iteration_count) if info.simplex_iteration_count >= 0 else None,
        {"raw_objective": float(info.objective_function_value) if vector is not None else None},
    )
    if status.name == "kUnboundedOrInfeasible":
        watch.muted = True
        termination, more = _settle_unbounded_or_infeasible(highs, job)
        return replace(
            answer, termination_status=termination, raw_status=f"{raw}; {more}", solution=None, dual_bound=None
        )
    return answer


def _is_the_start_in_disguise(job: EngineJob[MixedIntegerProgram], answer: EngineAnswer) -> bool:
    """Whether the vector's own objective is not the one that HiGHS claims to have proved optimal."""
    if answer.termination_status is not TerminationStatus.OPTIMAL or answer.solution is None:
        return False
    claimed = float(answer.stats["raw_objective"])
    own = float(job.program.c @ answer.solution) + job.program.offset
    return abs(own - claimed) > 1e-6 * max(1.0, abs(claimed))


def _dual_bound(info: Any, job: EngineJob[MixedIntegerProgram], termination: TerminationStatus) -> float | None:
    """The bound as HiGHS claims it; an LP has one only once it is solved.

    ``mip_dual_bound`` can be that of the relaxation although the search was completed; what "optimal" then proves is
    given by the gaps at which HiGHS stops.
    """
    is_mip = bool(job.program.integrality.any())
    objective = float(info.objective_function_value)
    bounds = [float(info.mip_dual_bound)] if is_mip else []
    if termination is TerminationStatus.OPTIMAL:
        slack = max(job.abs_gap, job.rel_gap * abs(objective), _own_tolerance(job)) if is_mip else 0.0
        bounds.append(objective - slack)
    return max((bound for bound in bounds if np.isfinite(bound)), default=None)


def _own_tolerance(job: EngineJob[MixedIntegerProgram]) -> float:
    """Tighter than what counts as feasible: HiGHS's objectives are wrong by up to this, times the weights."""
    return max(job.feasibility_tol * _TIGHTER, _SMALLEST_TOL)


def _settle_unbounded_or_infeasible(highs: Any, job: EngineJob[MixedIntegerProgram]) -> tuple[TerminationStatus, str]:
    """Drop the objective: a program that is feasible then was unbounded."""
    columns = np.arange(job.program.c.size, dtype=np.int32)
    require_ok(highs.changeColsCost(columns.size, columns, np.zeros(columns.size)), "a zero objective")
    _run_within(highs, job)
    status = highs.getModelStatus()
    text = f"without the objective: {highs.modelStatusToString(status)}"
    if status.name == "kOptimal":
        return TerminationStatus.UNBOUNDED, text
    return _STATUS.get(status.name, TerminationStatus.SOLVER_ERROR), text


class _Watch:
    """HiGHS's callbacks: sends news, passes incumbents both ways, and interrupts when asked to.

    An exception that left a callback would be swallowed by HiGHS together with the incumbent; it is kept, the run is
    interrupted, and it is raised afterwards.
    """

    def __init__(self, link: EngineLink) -> None:
        self.muted = False
        self._link = link
        self._throttle = Throttle()
        self._error: BaseException | None = None
        kinds = highspy.cb.HighsCallbackType
        self._improving = int(kinds.kCallbackMipImprovingSolution)
        self._user_solution = int(kinds.kCallbackMipUserSolution)
        self._progress = int(kinds.kCallbackMipInterrupt)
        self._logging = int(kinds.kCallbackLogging)
        self._others = (int(kinds.kCallbackSimplexInterrupt), int(kinds.kCallbackIpmInterrupt))

    def attach(self, highs: Any, verbose: bool) -> None:
        """Start to listen."""
        require_ok(highs.setCallback(self, None), "the callback")
        kinds = [self._improving, self._user_solution, self._progress, *self._others]
        for kind in [*kinds, self._logging] if verbose else kinds:
            require_ok(highs.startCallbackInt(kind), f"callback {kind}")

    def __call__(self, kind: Any, message: str, out: Any, into: Any, _: Any) -> None:
        try:
            self._hear(int(kind), message, out, into)
        except BaseException as error:
            self._error = error
        if into is not None and (self._error is not None or self._link.stop_requested):
            into.user_interrupt = True

    def _hear(self, kind: int, message: str, out: Any, into: Any) -> None:
        if kind == self._logging:
            for line in filter(None, map(str.rstrip, message.splitlines())):
                self._link.log(line)
        elif self.muted:
            return
        elif kind == self._improving:
            self._link.report(
                dual_bound=out.mip_dual_bound, nodes=out.mip_node_count, solution=np.array(out.mip_solution)
            )
        elif kind == self._user_solution:
            if (vector := self._link.take_offer()) is not None:
                into.setSolution(vector)
        elif kind == self._progress and self._throttle.is_due(now(), out.mip_primal_bound, out.mip_dual_bound):
            self._link.report(
                primal_bound=out.mip_primal_bound, dual_bound=out.mip_dual_bound, nodes=out.mip_node_count
            )

    def raise_error(self) -> None:
        """Raise what went wrong inside a callback."""
        if self._error is not None:
            raise self._error
