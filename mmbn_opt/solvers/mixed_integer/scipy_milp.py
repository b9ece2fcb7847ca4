"""SciPy's ``milp``: a second build of HiGHS, for comparison and for places without highspy."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.base import ProgramKind
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.status import TerminationStatus
from ..base import Availability, Solver, SolverCallback, SolverResult
from ..hosting.link import EngineAnswer, EngineJob, EngineLink
from .run import run_engine

__all__ = ["ScipyMilpSolver", "run"]

_OPTIMAL, _INFEASIBLE, _UNBOUNDED = 0, 2, 3

_STATUS = {
    _OPTIMAL: TerminationStatus.OPTIMAL,
    _INFEASIBLE: TerminationStatus.INFEASIBLE,
    _UNBOUNDED: TerminationStatus.UNBOUNDED,
}

_LIMITS = {
    "time limit": TerminationStatus.TIME_LIMIT,
    "iteration limit": TerminationStatus.ITERATION_LIMIT,
    "solution limit": TerminationStatus.NODE_LIMIT,
}
"""``milp`` has one status for two limits and none for the third; its message says which one it was."""

_ABS_GAP = 1e-6
"""HiGHS's default, which ``milp`` gives no way to change."""

_OPTIONS: dict[str, type] = {"presolve": bool, "node_limit": int}


@dataclass(frozen=True)
class ScipyMilpSolver(Solver):
    """HiGHS as SciPy ships it, through `scipy.optimize.milp`.

    Parameters
    ----------
    options : mapping
        ``presolve`` (bool) and ``node_limit`` (int); ``milp`` passes on no others.

    Notes
    -----
    ``milp`` has no callback, no start, no seed and no choice of threads, and cannot be asked to stop. It therefore
    always runs in a child process. A run that has to be killed leaves nothing but the start; ``start`` is kept in the
    pool and not passed on. The absolute gap stays at HiGHS's 1e-6.
    """

    name: ClassVar[str] = "scipy"
    title: ClassVar[str] = "SciPy milp (HiGHS)"
    licence: ClassVar[str] = "BSD-3-Clause, HiGHS: MIT"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.MIXED_INTEGER})
    at_limit: ClassVar[str] = "keeps a time limit; a requested stop ends its process, which leaves only the start"
    ignores: ClassVar[Mapping[str, str]] = {
        "abs_gap": "stays at HiGHS's 1e-6",
        "feasibility_tol": "milp does not pass it on",
        "threads": "milp does not pass it on",
        "seed": "milp does not pass it on",
        "start": "kept in the pool of incumbents, since milp takes none",
    }

    @classmethod
    def availability(cls) -> Availability:
        """Look whether ``milp`` solves a one-variable model (cached)."""
        return _probe()

    def solve(
        self, program: MixedIntegerProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise `program`; see `Solver.solve`."""
        for name, value in self.options.items():
            if name not in _OPTIONS:
                raise InputError(f"scipy.optimize.milp has no option {name!r} to set; it takes {', '.join(_OPTIONS)}.")
            if type(value) is not _OPTIONS[name]:
                raise InputError(f"the milp option {name!r} takes a {_OPTIONS[name].__name__}, got {value!r}.")
        return run_engine(self, f"{__name__}:run", program, callback, start, isolate=True)


@cache
def _probe() -> Availability:
    import scipy
    from scipy.optimize import Bounds, milp

    answer = milp(np.ones(1), integrality=np.ones(1, dtype=np.int64), bounds=Bounds(np.ones(1), np.full(1, 2.0)))
    if answer.status != _OPTIMAL or answer.fun is None or abs(answer.fun - 1.0) > 1e-9:
        return Availability(False, scipy.__version__, "milp did not solve a one-variable model; reinstall scipy.")
    return Availability(True, scipy.__version__)


def run(job: EngineJob[MixedIntegerProgram], link: EngineLink) -> EngineAnswer:
    """The engine: one call, which nothing can interrupt."""
    answer = _call(job, job.program.c)
    raw = str(answer.message)
    termination = _status(answer)
    if "unbounded or infeasible" in raw:
        # Drop the objective: a program that is feasible then was unbounded.
        flat = _call(job, np.zeros_like(job.program.c))
        termination = TerminationStatus.UNBOUNDED if flat.status == _OPTIMAL else _status(flat)
        raw = f"{raw}; without the objective: {flat.message}"
    vector = None if answer.x is None else np.array(answer.x)
    dual = _dual_bound(answer, job)
    return EngineAnswer(
        termination,
        raw,
        vector,
        None if dual is None else dual + job.program.offset,
        None if answer.mip_node_count is None else int(answer.mip_node_count),
        stats={"raw_objective": None if answer.fun is None else float(answer.fun) + job.program.offset},
    )


def _dual_bound(answer: Any, job: EngineJob[MixedIntegerProgram]) -> float | None:
    """The bound without the offset.

    ``mip_dual_bound`` can be that of the relaxation although the search was completed; what "optimal" then proves is
    given by the gaps at which HiGHS stops.
    """
    bounds = [answer.mip_dual_bound] if job.program.integrality.any() else []
    if answer.status == _OPTIMAL:
        slack = max(job.rel_gap * abs(answer.fun), _ABS_GAP) if bounds else 0.0
        bounds.append(answer.fun - slack)
    return max((float(bound) for bound in bounds if bound is not None and np.isfinite(bound)), default=None)


def _call(job: EngineJob[MixedIntegerProgram], cost: FloatArray) -> Any:
    from scipy.optimize import Bounds, LinearConstraint, milp

    program = job.program
    options: Any = {"mip_rel_gap": job.rel_gap, "disp": job.verbose, **job.options}
    left = job.time_left()
    if left is not None:
        options["time_limit"] = left
    constraints = LinearConstraint(program.A, program.row_lower, program.row_upper) if program.A.shape[0] else ()
    return milp(
        cost,
        integrality=program.integrality.astype(np.int64),
        bounds=Bounds(program.col_lower, program.col_upper),
        constraints=constraints,
        options=options,
    )


def _status(answer: Any) -> TerminationStatus:
    message = str(answer.message).lower()
    limits = (status for words, status in _LIMITS.items() if words in message)
    return next(limits, _STATUS.get(answer.status, TerminationStatus.SOLVER_ERROR))
