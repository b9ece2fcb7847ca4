"""SciPy's methods for constrained nonlinear programs, ``trust-constr`` and SLSQP: for comparison on small programs."""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..._arguments import whole
from ..._arrays import FloatArray
from ..._threads import limited_threads
from ...exceptions import SizeLimitError
from ...programs.base import ProgramKind
from ...programs.nonlinear import NonlinearProgram
from ...results.status import TerminationStatus
from ..base import Availability, Solver, SolverCallback, SolverResult
from .run import NonlinearRun, checked_program, solves_one_variable

__all__ = ["SlsqpSolver", "TrustConstrSolver"]


@dataclass(frozen=True)
class _ScipyConstrained(Solver):
    """What the two methods share.

    Parameters
    ----------
    max_iterations : int
    max_cells : int
        Largest Jacobian, rows times columns, that is taken: both methods work with dense matrices.
    options : mapping
        The method's own options, as `scipy.optimize.minimize` documents them.
    """

    max_iterations: int = field(default=1000, kw_only=True)
    max_cells: int = field(default=5_000_000, kw_only=True)

    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.NONLINEAR})
    ignores: ClassVar[Mapping[str, str]] = {
        "rel_gap": "no bound is known, so there is no gap to stop at",
        "abs_gap": "as rel_gap",
        "seed": "nothing is random",
        "verbose": "there is no log beside the trace",
    }
    licence: ClassVar[str] = "BSD-3-Clause"
    method: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("max_iterations", "max_cells"):
            object.__setattr__(self, name, whole(name, getattr(self, name), 1, expected="positive and a whole number"))

    @classmethod
    def availability(cls) -> Availability:
        """Look whether a one-variable program is solved (cached)."""
        return _probe(cls)

    def solve(
        self, program: NonlinearProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise `program`; see `Solver.solve`."""
        checked = checked_program(program, self)
        cells = checked.size.nonzeros
        if cells > self.max_cells:
            raise SizeLimitError(
                f"The Jacobian has {checked.n_constraints:,} rows and {len(checked.x0):,} columns, {cells:,} cells; "
                f"{self.name!r} takes at most {self.max_cells:,}. Use 'exterior_penalty', or raise max_cells."
            )
        run = NonlinearRun(self, checked, callback)
        with limited_threads(self.threads, "blas"):
            status, words = self._minimize(run, start)
        return run.finish(status, words, {})

    def _minimize(self, run: NonlinearRun, start: FloatArray | None) -> tuple[TerminationStatus, str]:
        with run.until_ended() as ends:
            x = run.begin(start)
            with warnings.catch_warnings():
                # Quasi-Newton updates that are skipped and singular Jacobians are told as warnings, and dealt with.
                warnings.simplefilter("ignore")
                answer = self._call(run, x)
            run.visit(run.clip(np.asarray(answer.x, dtype=np.float64)))
        if ends:
            return ends[0].status, ends[0].words
        return self._statuses().get(int(answer.status), TerminationStatus.SLOW_PROGRESS), str(answer.message)

    def _call(self, run: NonlinearRun, x: FloatArray) -> Any:
        from scipy.optimize import minimize

        program = run.program
        minimizer: Any = minimize  # the stubs do not cover options and arguments that depend on the method
        return minimizer(
            lambda at: _objective(run, at), x, jac=True, method=self.method, bounds=_bounds(program),
            constraints=[self._constraint(run)] if program.n_constraints else [],
            callback=lambda at, *_: run.visit(run.clip(np.array(at))),
            options={"maxiter": self.max_iterations, **self.options}, **self._hessian(),
        )  # fmt: skip

    @abstractmethod
    def _constraint(self, run: NonlinearRun) -> Any:
        """All constraints, in the form that the method wants."""

    def _hessian(self) -> dict[str, Any]:
        """What the method wants to be told of second derivatives."""
        return {}

    @classmethod
    @abstractmethod
    def _statuses(cls) -> Mapping[int, TerminationStatus]:
        """What the method's numbers mean."""


def _objective(run: NonlinearRun, x: FloatArray) -> tuple[float, FloatArray]:
    point = run.evaluate(x)
    return point.value, point.pull(np.zeros(len(point.constraints)))


def _constraints(run: NonlinearRun, x: FloatArray) -> FloatArray:
    return run.evaluate(x).constraints


def _bounds(program: NonlinearProgram) -> Any:
    from scipy.optimize import Bounds

    if program.lower is None and program.upper is None:
        return None
    lower = np.full(len(program.x0), -np.inf) if program.lower is None else program.lower
    upper = np.full(len(program.x0), np.inf) if program.upper is None else program.upper
    return Bounds(lower, upper, keep_feasible=True)


@dataclass(frozen=True)
class TrustConstrSolver(_ScipyConstrained):
    """SciPy's ``trust-constr``: an interior point method with a trust region (Byrd, Hribar, Nocedal 1999).

    Examples
    --------
    >>> import numpy as np
    >>> program = NonlinearProgram(lambda x: (float(x @ x), 2 * x), x0=np.full(1, 5.0),
    ...                            constraints=lambda x: x - 1, jacobian=lambda x: np.eye(1), n_constraints=1)
    >>> TrustConstrSolver().solve(program).solution.round(3).tolist()
    [1.0]
    """

    name: ClassVar[str] = "trust_constr"
    title: ClassVar[str] = "SciPy trust-constr"
    method: ClassVar[str] = "trust-constr"

    def _constraint(self, run: NonlinearRun) -> Any:
        from scipy.optimize import NonlinearConstraint

        return NonlinearConstraint(
            lambda at: _constraints(run, at), 0.0, np.inf, jac=run.program.dense_jacobian, **self._hessian()
        )

    def _hessian(self) -> dict[str, Any]:
        from scipy.optimize import BFGS

        return {"hess": BFGS()}

    @classmethod
    def _statuses(cls) -> Mapping[int, TerminationStatus]:
        return {
            0: TerminationStatus.ITERATION_LIMIT,
            1: TerminationStatus.LOCALLY_OPTIMAL,
            2: TerminationStatus.LOCALLY_OPTIMAL,
            3: TerminationStatus.INTERRUPTED,
        }


@dataclass(frozen=True)
class SlsqpSolver(_ScipyConstrained):
    """SciPy's SLSQP: sequential quadratic programs solved by least squares (Kraft 1988).

    Examples
    --------
    >>> import numpy as np
    >>> program = NonlinearProgram(lambda x: (float(x @ x), 2 * x), x0=np.full(1, 5.0),
    ...                            constraints=lambda x: x - 1, jacobian=lambda x: np.eye(1), n_constraints=1)
    >>> SlsqpSolver().solve(program).solution.round(6).tolist()
    [1.0]
    """

    name: ClassVar[str] = "slsqp"
    title: ClassVar[str] = "SciPy SLSQP"
    method: ClassVar[str] = "SLSQP"

    def _constraint(self, run: NonlinearRun) -> Any:
        return {
            "type": "ineq",
            "fun": lambda at: _constraints(run, at),
            "jac": run.program.dense_jacobian,
        }

    @classmethod
    def _statuses(cls) -> Mapping[int, TerminationStatus]:
        return {0: TerminationStatus.LOCALLY_OPTIMAL, 9: TerminationStatus.ITERATION_LIMIT}


@cache
def _probe(solver: type[_ScipyConstrained]) -> Availability:
    import scipy

    if not solves_one_variable(solver(), start=5.0, tolerance=1e-3):
        return Availability(False, scipy.__version__, f"{solver.method} did not solve a one-variable program.")
    return Availability(True, scipy.__version__)
