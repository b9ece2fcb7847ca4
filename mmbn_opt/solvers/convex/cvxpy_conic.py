"""Clarabel, ECOS and SCS on convex programs, through cvxpy: exponential cones, every answer checked."""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np

from ...programs.base import Program
from ...programs.convex import ConvexProgram
from ...results.status import TerminationStatus
from ..base import Availability
from ..hosting.link import EngineAnswer, EngineJob, EngineLink
from ._hosted import HostedConvexSolver

__all__ = ["CONIC_STATUS", "ClarabelSolver", "ConicSolver", "EcosSolver", "ScsSolver", "run"]

CONIC_STATUS = {
    "optimal": TerminationStatus.OPTIMAL,
    "optimal_inaccurate": TerminationStatus.SLOW_PROGRESS,
    "infeasible": TerminationStatus.NUMERICAL_ERROR,
    "infeasible_inaccurate": TerminationStatus.NUMERICAL_ERROR,
    "unbounded": TerminationStatus.UNBOUNDED,
    "unbounded_inaccurate": TerminationStatus.NUMERICAL_ERROR,
    "user_limit": TerminationStatus.ITERATION_LIMIT,
}
"""cvxpy's words; a convex program of this library always has a feasible point, so that "infeasible" is an error."""


@dataclass(frozen=True)
class ConicSolver(HostedConvexSolver):
    """Base of the solvers that cvxpy calls; a start is kept, but no cone solver can be warmed by it."""

    engine: ClassVar[str] = f"{__name__}:run"
    cvxpy_name: ClassVar[str]
    package: ClassVar[str]
    default_options: ClassVar[Mapping[str, Any]] = {}
    at_limit: ClassVar[str] = "runs in a process that is ended; before its answer it has no incumbent"
    ignores: ClassVar[Mapping[str, str]] = {
        "rel_gap": "not passed on: the answer is held against the certified gap, which is ours",
        "abs_gap": "as rel_gap",
        "feasibility_tol": "not passed on: every point is projected onto the constraints by us",
        "seed": "nothing is random",
        "start": "kept as an incumbent, since cone solvers cannot begin at a point",
    }

    @classmethod
    def availability(cls) -> Availability:
        """Look whether the solver minimises ``exp(x)`` over ``x >= 1`` (cached)."""
        return _probe(cls.cvxpy_name, cls.package)

    @abstractmethod
    def _limits(self, seconds: float) -> dict[str, Any]:
        """The solver's own option for a time limit, if it has one."""

    def _engine_options(self, seconds: float | None) -> Mapping[str, Any]:
        limits = {} if seconds is None else self._limits(seconds)
        return {"solver": self.cvxpy_name, "settings": {**self.default_options, **limits, **self.options}}


@dataclass(frozen=True)
class ClarabelSolver(ConicSolver):
    """Clarabel (Goulart & Chen 2024), a homogeneous-embedding interior-point method in Rust."""

    name: ClassVar[str] = "clarabel"
    title: ClassVar[str] = "Clarabel"
    licence: ClassVar[str] = "Apache-2.0"
    cvxpy_name: ClassVar[str] = "CLARABEL"
    package: ClassVar[str] = "clarabel"
    default_options: ClassVar[Mapping[str, Any]] = {
        "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-9,
    }  # fmt: skip

    def _limits(self, seconds: float) -> dict[str, Any]:
        return {"time_limit": seconds}


@dataclass(frozen=True)
class EcosSolver(ConicSolver):
    """ECOS (Domahidi, Chu & Boyd 2013), an interior-point method in C without a time limit of its own."""

    name: ClassVar[str] = "ecos"
    title: ClassVar[str] = "ECOS"
    licence: ClassVar[str] = "GPL-3.0"
    cvxpy_name: ClassVar[str] = "ECOS"
    package: ClassVar[str] = "ecos"
    default_options: ClassVar[Mapping[str, Any]] = {"max_iters": 300}

    def _limits(self, seconds: float) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class ScsSolver(ConicSolver):
    """SCS (O'Donoghue et al. 2016), an operator-splitting method: low accuracy, larger programs."""

    name: ClassVar[str] = "scs"
    title: ClassVar[str] = "SCS"
    licence: ClassVar[str] = "MIT"
    cvxpy_name: ClassVar[str] = "SCS"
    package: ClassVar[str] = "scs"
    default_options: ClassVar[Mapping[str, Any]] = {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iters": 50_000}

    def _limits(self, seconds: float) -> dict[str, Any]:
        return {"time_limit_secs": seconds}


@cache
def _probe(cvxpy_name: str, package: str) -> Availability:
    try:
        found = version(package)
    except PackageNotFoundError:
        return Availability(False, None, f"{package} is not installed; run: pip install {package}")
    import cvxpy as cp

    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.exp(x)), [x >= 1])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=cvxpy_name)
    except Exception as error:
        return Availability(False, found, f"{package} {found} fails on a one-variable model: {error}")
    if abs(float(problem.value) - np.e) > 1e-3:
        return Availability(False, found, f"{package} {found} finds {problem.value!r} for e; reinstall it.")
    return Availability(True, found)


def solve_problem(problem: Any, job: EngineJob[Program]) -> tuple[TerminationStatus, str]:
    """Solve a cvxpy problem with the solver and settings of a job; the status, and the solver's own word for it."""
    import cvxpy as cp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate solution is told by the status
        try:
            problem.solve(solver=job.options["solver"], verbose=job.verbose, **job.options["settings"])
        except cp.error.SolverError as error:
            return TerminationStatus.SOLVER_ERROR, f"solver error: {str(error).splitlines()[0]}"
    return CONIC_STATUS.get(problem.status, TerminationStatus.SOLVER_ERROR), str(problem.status)


def run(job: EngineJob[ConvexProgram], link: EngineLink) -> EngineAnswer:
    """The engine: runs in a thread of the user's process or in a child process."""
    from ...programs.as_cvxpy import cvxpy_model

    program = job.program
    model = cvxpy_model(program)
    status, raw = solve_problem(model.problem, job)
    facts = model.problem.solver_stats
    w = model.w.value
    stats = {
        "raw_objective": None if model.problem.value is None else float(model.problem.value) * model.scale,
        "solver_sec": None if facts is None else facts.solve_time,
    }
    return EngineAnswer(
        status,
        raw,
        None if w is None else np.asarray(w, dtype=np.float64),
        iterations=None if facts is None else facts.num_iters,
        stats=stats,
        multipliers=model.multipliers(program) if w is not None else None,
    )
