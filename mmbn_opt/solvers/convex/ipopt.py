"""IPOPT on convex programs, through Pyomo: the executable when it is on PATH, else an in-process bridge.

No wheel ships the executable. For the bridge Pyomo writes the model in the NL format, CasADi reads it and runs the
IPOPT that its wheel holds, and values and duals come back by the writer's own maps of columns and rows.
"""

import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...programs.as_pyomo import write_nl
from ...programs.convex import ConvexProgram
from ...results.status import TerminationStatus
from ..base import Availability
from ..hosting.link import EngineAnswer, EngineJob, EngineLink
from ..ipopt_executable import executable, solve_model, solve_nl
from ._hosted import HostedConvexSolver

__all__ = ["IpoptSolver", "run"]

logger = logging.getLogger(__name__)

_STATUS = {
    "Solve_Succeeded": TerminationStatus.OPTIMAL,
    "Solved_To_Acceptable_Level": TerminationStatus.SLOW_PROGRESS,
    "Maximum_Iterations_Exceeded": TerminationStatus.ITERATION_LIMIT,
    "Maximum_CpuTime_Exceeded": TerminationStatus.TIME_LIMIT,
    "Maximum_WallTime_Exceeded": TerminationStatus.TIME_LIMIT,
    "Search_Direction_Becomes_Too_Small": TerminationStatus.SLOW_PROGRESS,
    "User_Requested_Stop": TerminationStatus.INTERRUPTED,
}
"""IPOPT's words; anything else is NUMERICAL_ERROR."""


@dataclass(frozen=True)
class IpoptSolver(HostedConvexSolver):
    """IPOPT (Wachter & Biegler 2006), the interior-point method of the experiments of Pernkopf et al. 2012.

    Parameters
    ----------
    options : mapping
        IPOPT's own options, for example ``{"max_iter": 100}``.
    """

    name: ClassVar[str] = "ipopt"
    title: ClassVar[str] = "IPOPT"
    licence: ClassVar[str] = "EPL-2.0 (CasADi: LGPL-3.0)"
    extra: ClassVar[str | None] = "ipopt"
    engine: ClassVar[str] = f"{__name__}:run"
    at_limit: ClassVar[str] = "keeps a time limit; a requested stop ends its process"
    ignores: ClassVar[Mapping[str, str]] = {
        "rel_gap": "not passed on: the answer is held against the certified gap, which is ours",
        "abs_gap": "as rel_gap",
        "feasibility_tol": "not passed on: every point is projected onto the constraints by us",
        "seed": "nothing is random",
    }

    @classmethod
    def availability(cls) -> Availability:
        """Look whether IPOPT solves a one-variable model through the bridge (cached)."""
        return _probe()

    def _engine_options(self, seconds: float | None) -> Mapping[str, Any]:
        limits = {} if seconds is None else {"max_wall_time": max(seconds, 0.01)}
        settings = {"mu_strategy": "adaptive", "tol": 1e-9, "acceptable_tol": 1e-8, "max_iter": 1000}
        return {**settings, **limits, **self.options}


def run(job: EngineJob[ConvexProgram], link: EngineLink) -> EngineAnswer:
    """The engine: runs in a thread of the user's process or in a child process."""
    from ...programs.as_pyomo import pyomo_model

    program = job.program
    written = pyomo_model(program, job.start)
    if executable() is not None:
        return _run_executable(program, written, job.options)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "program.nl")
        columns, rows = write_nl(written.model, path)
        answer = solve_nl(path, job.options, verbose=job.verbose)
    value = {id(variable): x for variable, x in zip(columns, answer.x, strict=True)}
    dual = {id(row): y for row, y in zip(rows, answer.duals, strict=True)}
    w = np.array([value[id(written.model.w[i])] for i in range(program.margins.n_parameters)])
    # CasADi's multiplier of a lower bound is negative.
    y = -np.array([dual[id(written.model.margin[r])] for r in range(len(written.sample))])
    z = -np.array([dual[id(written.model.row[i])] for i in range(_own_rows(program))])
    return EngineAnswer(
        _STATUS.get(answer.status, TerminationStatus.NUMERICAL_ERROR),
        answer.status,
        w,
        iterations=answer.iterations,
        multipliers=written.multipliers(program, y, z),
        stats={
            "raw_objective": answer.objective * written.scale,
            "iteration_trace": answer.trace,
        },
    )


def _run_executable(program: ConvexProgram, written: Any, options: Mapping[str, Any]) -> EngineAnswer:
    answer = solve_model(written.model, options)
    w = np.array([written.model.w[i].value for i in range(program.margins.n_parameters)], dtype=np.float64)
    y = np.array([written.model.dual.get(written.model.margin[r], 0.0) for r in range(len(written.sample))])
    z = np.array([written.model.dual.get(written.model.row[i], 0.0) for i in range(_own_rows(program))])
    # Rows of one direction have multipliers of one sign, whichever the interface gives them.
    y, z = (y, z) if y.sum() >= 0 else (-y, -z)
    objective = written.model.objective.expr()
    return EngineAnswer(
        _STATUS.get(answer.status, TerminationStatus.NUMERICAL_ERROR),
        answer.status,
        w,
        iterations=len(answer.iterations) - 1 if answer.iterations else None,
        multipliers=written.multipliers(program, y, z),
        stats={
            "raw_objective": float(objective) * written.scale,
            "iteration_trace": answer.iterations,
            "executable": executable(),
        },
    )


def _own_rows(program: ConvexProgram) -> int:
    return 0 if program.rows is None else len(program.rows.names)


@cache
def _probe() -> Availability:
    cure = 'install it with: pip install "mmbn_opt[ipopt]"'
    if executable() is not None:
        return _probe_executable()
    try:
        casadi: Any = import_module("casadi")
    except ImportError:
        return Availability(False, None, f"CasADi, which brings IPOPT, is not installed; {cure}")
    model = _one_variable()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "probe.nl")
            write_nl(model, path)
            answer = solve_nl(path, {})
    except Exception as error:
        return Availability(False, casadi.__version__, f"IPOPT fails on a one-variable model: {error}")
    if abs(answer.objective - np.e) > 1e-5:
        return Availability(False, casadi.__version__, f"IPOPT finds {answer.objective!r} for e; reinstall casadi.")
    return Availability(True, f"CasADi {casadi.__version__}")


def _one_variable() -> Any:
    """``min exp(x)  s.t.  x >= 1``."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var(initialize=3.0)
    model.row = pyo.Constraint(expr=model.x >= 1.0)
    model.objective = pyo.Objective(expr=pyo.exp(model.x))
    return model


def _probe_executable() -> Availability:
    model, path = _one_variable(), executable()
    try:
        solve_model(model, {})
        value = float(model.x.value)
    except Exception as error:
        return Availability(False, None, f"{path} fails on a one-variable model: {error}")
    if abs(value - 1.0) > 1e-5:
        return Availability(False, None, f"{path} finds {value!r} where the minimum is at 1; remove it from PATH.")
    return Availability(True, str(path))
