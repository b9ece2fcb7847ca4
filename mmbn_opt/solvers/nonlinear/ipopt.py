"""IPOPT on nonlinear programs, through CasADi or Pyomo: for comparison with the methods of this library."""

import importlib.metadata
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..._arrays import FloatArray
from ..._threads import limited_threads
from ...exceptions import InputError, SizeLimitError
from ...programs.as_pyomo import write_nl
from ...programs.base import ProgramKind
from ...programs.nonlinear import NonlinearProgram, PointEvaluation
from ...results.status import TerminationStatus
from ..base import Availability, Solver, SolverCallback, SolverResult
from ..ipopt_executable import solve_nl
from .run import NonlinearRun, checked_program, solves_one_variable

__all__ = ["NonlinearIpoptSolver"]

_STATUSES = {
    "Solve_Succeeded": TerminationStatus.LOCALLY_OPTIMAL,
    "Solved_To_Acceptable_Level": TerminationStatus.LOCALLY_OPTIMAL,
    "Feasible_Point_Found": TerminationStatus.LOCALLY_OPTIMAL,
    "Maximum_Iterations_Exceeded": TerminationStatus.ITERATION_LIMIT,
    "Maximum_CpuTime_Exceeded": TerminationStatus.TIME_LIMIT,
    "Maximum_WallTime_Exceeded": TerminationStatus.TIME_LIMIT,
    "Invalid_Number_Detected": TerminationStatus.NUMERICAL_ERROR,
}
"""Other words of IPOPT, local infeasibility among them, mean that it made no more progress."""


@dataclass(frozen=True)
class NonlinearIpoptSolver(Solver):
    """IPOPT, a primal-dual interior point method with a filter line search.

    Parameters
    ----------
    through : {"functions", "pyomo"}
        IPOPT calls the program's functions, with a limited-memory Hessian; or it gets the formulas of the program's
        Pyomo model, with exact second derivatives, where the program has one. Then nothing is told before the end.
    max_iterations : int
    max_cells : int
        Largest Jacobian, rows times columns, that is taken: it is dense.
    options : mapping
        IPOPT's own options by their own names.

    References
    ----------
    Wächter, Biegler 2006.
    """

    through: str = field(default="functions", kw_only=True)
    max_iterations: int = field(default=3000, kw_only=True)
    max_cells: int = field(default=5_000_000, kw_only=True)

    name: ClassVar[str] = "ipopt_nlp"
    ignores: ClassVar[Mapping[str, str]] = {
        "rel_gap": "no bound is known, so there is no gap to stop at",
        "abs_gap": "as rel_gap",
        "seed": "nothing is random",
        "verbose": "IPOPT's log is not caught",
    }
    title: ClassVar[str] = "IPOPT"
    licence: ClassVar[str] = "EPL-2.0, CasADi: LGPL-3.0"
    extra: ClassVar[str | None] = "ipopt"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.NONLINEAR})

    @classmethod
    def availability(cls) -> Availability:
        """Look whether a one-variable program is solved (cached)."""
        return _probe()

    def solve(
        self, program: NonlinearProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise `program`; see `Solver.solve`."""
        checked = checked_program(program, self)
        if checked.size.nonzeros > self.max_cells:
            raise SizeLimitError(
                f"The Jacobian has {checked.size.nonzeros:,} cells; {self.name!r} takes at most {self.max_cells:,}. "
                "Use 'exterior_penalty', or raise max_cells."
            )
        if self.through not in ("functions", "pyomo"):
            raise InputError(f'through must be "functions" or "pyomo", got {self.through!r}.')
        run = NonlinearRun(self, checked, callback)
        minimize = self._minimize if self.through == "functions" else self._minimize_model
        with limited_threads(self.threads, "blas"), run.until_ended() as ends:
            status, words = minimize(run, run.begin(start))
        if ends:
            status, words = ends[0].status, ends[0].words
        return run.finish(status, words, {})

    def _minimize(self, run: NonlinearRun, x: FloatArray) -> tuple[TerminationStatus, str]:
        import casadi

        program, bridge = run.program, _Bridge(run, x)
        functions = _functions(bridge, program)
        symbol = casadi.MX.sym("x", len(x))
        output = functions.point(symbol)
        problem = {"x": symbol, "f": output[0]} | ({"g": output[1:]} if program.n_constraints else {})
        options: dict[str, Any] = {
            "hessian_approximation": "limited-memory", "max_iter": self.max_iterations, "print_level": 0, "sb": "yes",
            "tol": self.feasibility_tol,
        }  # fmt: skip
        if self.time_limit is not None:
            options["max_wall_time"] = max(1e-3, run.budget.left())
        settings: dict[str, Any] = {
            "print_time": False, "iteration_callback": functions.iterate, "ipopt": options | dict(self.options),
        }  # fmt: skip
        solver = casadi.nlpsol("ipopt_run", "ipopt", problem, settings)
        bounds: dict[str, Any] = {"lbg": 0.0, "ubg": np.inf} if program.n_constraints else {}
        if program.lower is not None:
            bounds["lbx"] = program.lower
        if program.upper is not None:
            bounds["ubx"] = program.upper
        answer = solver(x0=x, **bounds)
        bridge.raise_what_stopped_it()
        words = str(solver.stats()["return_status"])
        run.visit(run.clip(np.array(answer["x"], dtype=np.float64).ravel()))
        return _STATUSES.get(words, TerminationStatus.SLOW_PROGRESS), words

    def _minimize_model(self, run: NonlinearRun, x: FloatArray) -> tuple[TerminationStatus, str]:
        program = run.program
        if program.algebraic is None:
            raise InputError(f'{self.name!r} with through="pyomo" needs a program that has a Pyomo model.')
        written = program.algebraic(x)
        limits = {} if self.time_limit is None else {"max_wall_time": max(1e-3, run.budget.left())}
        options = {"max_iter": self.max_iterations, "tol": self.feasibility_tol, **limits, **self.options}
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "program.nl")
            columns, _ = write_nl(written.model, path)
            answer = solve_nl(path, options, verbose=self.verbose)
        values = {id(variable): value for variable, value in zip(columns, answer.x, strict=True)}
        # A variable that the model does not use is not in the file.
        found = [values.get(id(column), old) for column, old in zip(written.columns, x, strict=True)]
        run.iterations = answer.iterations
        run.visit_last(run.clip(np.array(found, dtype=np.float64)))
        return _STATUSES.get(answer.status, TerminationStatus.SLOW_PROGRESS), answer.status


class _Bridge:
    """Evaluates for IPOPT; keeps exceptions until IPOPT has stopped, since it would take them for a bad step."""

    def __init__(self, run: NonlinearRun, x: FloatArray) -> None:
        self.run = run
        self.stopped: BaseException | None = None
        self._point = run.evaluate(x)
        self._jacobian = self.jacobian(x)

    def evaluate(self, x: FloatArray) -> PointEvaluation:
        self._guard(lambda: setattr(self, "_point", self.run.evaluate(x)))
        return self._point

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Gradient of the objective above the Jacobian of the constraints."""
        self._guard(lambda: setattr(self, "_jacobian", self._rows(x)))
        return self._jacobian

    def visit(self, x: FloatArray) -> bool:
        """Take an iterate; true when IPOPT has to stop."""
        self._guard(lambda: self.run.visit(self.run.clip(x)))
        return self.stopped is not None

    def raise_what_stopped_it(self) -> None:
        if self.stopped is not None:
            raise self.stopped

    def _rows(self, x: FloatArray) -> FloatArray:
        program = self.run.program
        point = self.run.evaluate(x)
        gradient = point.pull(np.zeros(len(point.constraints)))[None, :]
        return np.vstack([gradient, program.dense_jacobian(x)])

    def _guard(self, act: Callable[[], object]) -> None:
        if self.stopped is None:
            try:
                act()
            except BaseException as error:
                self.stopped = error


@dataclass(frozen=True, eq=False)
class _Functions:
    """CasADi's view of a program; CasADi keeps no reference to them, so this has to outlive the run."""

    point: Any
    iterate: Any


def _functions(bridge: _Bridge, program: NonlinearProgram) -> _Functions:
    import casadi

    n, m = len(program.x0), program.n_constraints
    kept: list[Any] = []

    def flat(value: Any) -> FloatArray:
        return np.array(value, dtype=np.float64).ravel()

    class Jacobian(casadi.Callback):
        def __init__(self, name: str) -> None:
            casadi.Callback.__init__(self)
            self.construct(name, {})

        def get_n_in(self) -> int:
            return 2

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(n, 1) if i == 0 else casadi.Sparsity(1 + m, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(1 + m, n)

        def eval(self, arguments: Any) -> list[Any]:
            return [bridge.jacobian(flat(arguments[0]))]

    class Point(casadi.Callback):
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.construct("point", {})

        def get_n_in(self) -> int:
            return 1

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(n, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(1 + m, 1)

        def eval(self, arguments: Any) -> list[Any]:
            point = bridge.evaluate(flat(arguments[0]))
            return [np.concatenate([[point.value], point.constraints])]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, name: str, inputs: Any, outputs: Any, options: Any) -> Any:
            kept.append(Jacobian(name))
            return kept[-1]

    class Iterate(casadi.Callback):
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.kept = kept
            self.construct("iterate", {})

        def get_n_in(self) -> int:
            return int(casadi.nlpsol_n_out())

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return str(casadi.nlpsol_out(i))

        def get_sparsity_in(self, i: int) -> Any:
            rows = {"x": n, "lam_x": n, "f": 1, "g": m, "lam_g": m}.get(str(casadi.nlpsol_out(i)), 0)
            return casadi.Sparsity.dense(rows, 1 if rows else 0)

        def eval(self, arguments: Any) -> list[int]:
            return [int(bridge.visit(flat(arguments[0])))]

    return _Functions(Point(), Iterate())


@cache
def _probe() -> Availability:
    try:
        import casadi  # noqa: F401 -- asked for
    except ImportError:
        return Availability(False, None, 'casadi is not installed; pip install "mmbn_opt[ipopt]".')
    version = importlib.metadata.version("casadi")
    try:
        works = solves_one_variable(NonlinearIpoptSolver(), start=5.0, tolerance=1e-3)
    except RuntimeError as error:
        return Availability(False, version, f"CasADi has no working IPOPT here: {error}.")
    if not works:
        return Availability(False, version, "IPOPT did not solve a one-variable program; reinstall casadi.")
    return Availability(True, version)
