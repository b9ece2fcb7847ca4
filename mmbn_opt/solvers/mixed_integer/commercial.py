"""Commercial engines for mixed-integer programs, through cvxpy: with a licence, or within what their wheels allow."""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from ..._arguments import listed
from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.base import ProgramKind
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.status import TerminationStatus
from ..base import Availability, Solver, SolverCallback, SolverResult
from ..commercial_probe import probe
from ..hosting.link import EngineAnswer, EngineJob, EngineLink
from .run import run_engine

__all__ = ["CommercialSolver", "CoptSolver", "CplexSolver", "GurobiSolver", "MosekSolver", "XpressSolver", "run"]

_STATUS = {
    "optimal": TerminationStatus.OPTIMAL,
    "optimal_inaccurate": TerminationStatus.SLOW_PROGRESS,
    "infeasible": TerminationStatus.INFEASIBLE,
    "infeasible_inaccurate": TerminationStatus.NUMERICAL_ERROR,
    "unbounded": TerminationStatus.UNBOUNDED,
    "unbounded_inaccurate": TerminationStatus.NUMERICAL_ERROR,
    "user_limit": TerminationStatus.TIME_LIMIT,
}
"""cvxpy's words; "infeasible_or_unbounded" is settled by a second run, and anything else is SOLVER_ERROR."""

TOLERANCE = 1e-9
"""Of rows and of whole numbers, as tight as these libraries allow."""


@dataclass(frozen=True)
class CommercialSolver(Solver):
    """Base of the engines that cvxpy calls; each runs in a process of its own, which a limit can end.

    cvxpy hands over an answer and no bound, so that there is a dual bound when the search was completed and none at a
    limit. Without a licence a program that is too large is refused by the library, in the words of ``raw_status``.

    Parameters
    ----------
    options : mapping
        The library's own options, as cvxpy passes them on.
    """

    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.MIXED_INTEGER})
    licence: ClassVar[str] = "commercial"
    at_limit: ClassVar[str] = "keeps a time limit, without a bound; a requested stop ends its process"
    ignores: ClassVar[Mapping[str, str]] = {
        "feasibility_tol": "rows and whole numbers are asked for to 1e-9",
        "start": "kept in the pool of incumbents, since cvxpy passes none on",
    }
    cvxpy_name: ClassVar[str]
    package: ClassVar[str]
    without_licence: ClassVar[str]

    @classmethod
    def availability(cls) -> Availability:
        """Look whether the library solves a one-variable model in a process of its own (cached)."""
        return probe(cls.cvxpy_name, cls.package, cone=False, without_licence=cls.without_licence)

    @abstractmethod
    def _settings(self, seconds: float | None) -> Mapping[str, Any]:
        """What cvxpy's ``solve`` is told."""

    def solve(
        self, program: MixedIntegerProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise `program`; see `Solver.solve`."""
        size = program.size
        hint = f"the program has {size.rows:,} rows and {size.columns:,} columns; {self.package} solves "
        settings = dict(self._settings(self.time_limit))
        told = replace(
            self,
            options={"solver": self.cvxpy_name, "settings": settings, "hint": f"{hint}{self.without_licence}"},
        )
        return run_engine(told, f"{__name__}:run", program, callback, start, isolate=True)


@dataclass(frozen=True)
class GurobiSolver(CommercialSolver):
    """Gurobi, through cvxpy."""

    name: ClassVar[str] = "gurobi"
    title: ClassVar[str] = "Gurobi"
    cvxpy_name: ClassVar[str] = "GUROBI"
    package: ClassVar[str] = "gurobipy"
    without_licence: ClassVar[str] = "up to 2,000 rows and 2,000 columns without a licence"

    def _settings(self, seconds: float | None) -> Mapping[str, Any]:
        limit = {} if seconds is None else {"TimeLimit": seconds}
        gaps = {"MIPGap": self.rel_gap, "MIPGapAbs": self.abs_gap, "IntFeasTol": TOLERANCE, "FeasibilityTol": TOLERANCE}
        return {"Threads": self.threads, "Seed": self.seed % 2_000_000_000, **gaps, **limit, **self.options}


@dataclass(frozen=True)
class CplexSolver(CommercialSolver):
    """IBM ILOG CPLEX, through cvxpy."""

    name: ClassVar[str] = "cplex"
    title: ClassVar[str] = "CPLEX"
    cvxpy_name: ClassVar[str] = "CPLEX"
    package: ClassVar[str] = "cplex"
    without_licence: ClassVar[str] = "up to 1,000 rows and 1,000 columns without a licence"

    def _settings(self, seconds: float | None) -> Mapping[str, Any]:
        own = {
            "threads": self.threads,
            "randomseed": self.seed % 2_000_000_000,
            "mip.tolerances.mipgap": min(self.rel_gap, 1.0),
            "mip.tolerances.absmipgap": self.abs_gap,
            "mip.tolerances.integrality": 0.0,
            "simplex.tolerances.feasibility": TOLERANCE,
            **({} if seconds is None else {"timelimit": seconds}),
        }
        return {"cplex_params": {**own, **self.options}}


@dataclass(frozen=True)
class CoptSolver(CommercialSolver):
    """COPT (Cardinal Optimizer), through cvxpy."""

    name: ClassVar[str] = "copt"
    title: ClassVar[str] = "COPT"
    cvxpy_name: ClassVar[str] = "COPT"
    package: ClassVar[str] = "coptpy"
    without_licence: ClassVar[str] = "small programs without a licence, for non-commercial use"
    ignores: ClassVar[Mapping[str, str]] = {**CommercialSolver.ignores, "seed": "it has none"}

    def _settings(self, seconds: float | None) -> Mapping[str, Any]:
        limit = {} if seconds is None else {"TimeLimit": seconds}
        gaps = {"RelGap": self.rel_gap, "AbsGap": self.abs_gap, "IntTol": TOLERANCE, "FeasTol": TOLERANCE}
        return {"Threads": self.threads, **gaps, **limit, **self.options}


@dataclass(frozen=True)
class XpressSolver(CommercialSolver):
    """FICO Xpress, through cvxpy."""

    name: ClassVar[str] = "xpress"
    title: ClassVar[str] = "Xpress"
    cvxpy_name: ClassVar[str] = "XPRESS"
    package: ClassVar[str] = "xpress"
    without_licence: ClassVar[str] = "up to 5,000 rows and columns together by its community licence"

    def _settings(self, seconds: float | None) -> Mapping[str, Any]:
        # cvxpy leaves out in silence what Xpress does not know.
        known = vars(import_module("xpress").controls) if self.options else {}
        if unknown := sorted(set(self.options) - set(known)):
            raise InputError(f"Xpress has no control {listed(unknown)}; its own are listed in xpress.controls.")
        limit = {} if seconds is None else {"timelimit": seconds}
        gaps = {"miprelstop": self.rel_gap, "mipabsstop": self.abs_gap, "miptol": TOLERANCE, "feastol": TOLERANCE}
        return {"threads": self.threads, "randomseed": self.seed % 2**31, **gaps, **limit, **self.options}


@dataclass(frozen=True)
class MosekSolver(CommercialSolver):
    """MOSEK, through cvxpy."""

    name: ClassVar[str] = "mosek"
    title: ClassVar[str] = "MOSEK"
    cvxpy_name: ClassVar[str] = "MOSEK"
    package: ClassVar[str] = "mosek"
    without_licence: ClassVar[str] = "nothing without a licence"

    def _settings(self, seconds: float | None) -> Mapping[str, Any]:
        own = {
            "MSK_IPAR_NUM_THREADS": self.threads,
            "MSK_IPAR_MIO_SEED": self.seed % 2**31,
            "MSK_DPAR_MIO_TOL_REL_GAP": self.rel_gap,
            "MSK_DPAR_MIO_TOL_ABS_GAP": self.abs_gap,
            "MSK_DPAR_MIO_TOL_ABS_RELAX_INT": TOLERANCE,
            **({} if seconds is None else {"MSK_DPAR_OPTIMIZER_MAX_TIME": seconds}),
        }
        return {"mosek_params": {**own, **self.options}}


def run(job: EngineJob[MixedIntegerProgram], link: EngineLink) -> EngineAnswer:
    """The engine: one call of cvxpy, which nothing can interrupt."""
    status, x, raw = _call(job, job.program)
    if status == "infeasible_or_unbounded":
        # Drop the objective: a program that is feasible then was unbounded.
        status, _, more = _call(job, replace(job.program, c=np.zeros(job.program.c.size)))
        status, x = ("unbounded" if status == "optimal" else status), None
        raw = f"{raw}; without the objective: {more}"
    termination = _STATUS.get(status, TerminationStatus.SOLVER_ERROR)
    value = None if x is None else job.program.value(x)
    dual = None
    if termination is TerminationStatus.OPTIMAL and value is not None:
        whole = bool(job.program.integrality.any())
        dual = value - (max(job.abs_gap, job.rel_gap * abs(value), TOLERANCE) if whole else 0.0)
    return EngineAnswer(termination, raw, x, dual, stats={"raw_objective": value})


def _call(job: EngineJob[MixedIntegerProgram], program: MixedIntegerProgram) -> tuple[str, FloatArray | None, str]:
    """cvxpy's status, the vector, and what the library said."""
    from ...programs.as_cvxpy import cvxpy_linear_model

    problem = cvxpy_linear_model(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate answer is told by the status
        try:
            problem.solve(solver=job.options["solver"], verbose=job.verbose, **job.options["settings"])
        except Exception as error:  # each library has errors of its own, for its licence and for unknown options
            first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            return "error", None, f"{job.options['solver']}: {first} ({job.options['hint']})"
    x = problem.var_dict["x"].value
    return str(problem.status), None if x is None else np.asarray(x, dtype=np.float64), str(problem.status)
