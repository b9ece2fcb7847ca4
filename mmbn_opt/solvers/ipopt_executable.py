"""IPOPT on a Pyomo model or its .nl file: the ``ipopt`` program on PATH, or CasADi in this process."""

import math
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import FloatArray

__all__ = ["ExecutableAnswer", "NlAnswer", "executable", "iterations_of_log", "solve_model", "solve_nl"]

_LINE = re.compile(r"^\s*(\d+)[rR]?\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+\s+\S+\s+\S+\s+\S+\s+\d+\s*$")

_EXIT = re.compile(r"^EXIT: (.*)$", re.MULTILINE)

_WORDS = {
    "Optimal Solution Found.": "Solve_Succeeded",
    "Solved To Acceptable Level.": "Solved_To_Acceptable_Level",
    "Maximum Number of Iterations Exceeded.": "Maximum_Iterations_Exceeded",
    "Maximum CPU time exceeded.": "Maximum_CpuTime_Exceeded",
    "Maximum wallclock time exceeded.": "Maximum_WallTime_Exceeded",
    "Search Direction is becoming Too Small.": "Search_Direction_Becomes_Too_Small",
    "Stopping optimization at current point as requested by user.": "User_Requested_Stop",
}
"""The sentences of the log, as the names that IPOPT's interface has for them."""


@dataclass(frozen=True, eq=False)
class ExecutableAnswer:
    """What the program said; values and duals (suffix ``dual``) are in the model.

    Parameters
    ----------
    status : str
    iterations : tuple of dict
        ``iteration, objective, primal_infeasibility, dual_infeasibility, log_mu`` of each line of the log.
    """

    status: str
    iterations: tuple[Mapping[str, float], ...]


def executable() -> str | None:
    """Path of ``ipopt``, or None."""
    return shutil.which("ipopt")


def iterations_of_log(log: str) -> tuple[Mapping[str, float], ...]:
    """The iterations that a log of IPOPT lists.

    Examples
    --------
    >>> line = "   3r 1.5000000e+00 2.00e-03 1.00e-08  -3.8 1.0e+00    -  1.00e+00 1.00e+00h  1"
    >>> iterations_of_log(line)[0]["objective"], iterations_of_log("iter    objective")
    (1.5, ())
    """
    found = []
    for line in log.splitlines():
        match = _LINE.match(line)
        if match:
            objective, primal, dual, mu = (float(text) for text in match.groups()[1:])
            found.append(
                {
                    "iteration": float(match[1]),
                    "objective": objective,
                    "primal_infeasibility": primal,
                    "dual_infeasibility": dual,
                    "log_mu": mu,
                }
            )
    return tuple(found)


def solve_model(model: Any, options: Mapping[str, Any]) -> ExecutableAnswer:
    """Run Pyomo's ``SolverFactory("ipopt")`` on a model, which receives values and duals.

    Raises
    ------
    RuntimeError
        When the program gives no point.
    """
    import pyomo.environ as pyo

    if model.component("dual") is None:
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ipopt.log"
        engine = pyo.SolverFactory("ipopt", executable=executable())
        outcome = engine.solve(
            model, options=dict(options), load_solutions=False, logfile=str(log), keepfiles=False, tee=False
        )
        text = log.read_text(errors="replace") if log.exists() else ""
    if not len(outcome.solution):
        raise RuntimeError(f"ipopt returned no point: {outcome.solver.message!r}")
    model.solutions.load_from(outcome)
    said = _EXIT.search(text)
    sentence = said[1].strip() if said else str(outcome.solver.message)
    return ExecutableAnswer(_WORDS.get(sentence, sentence), iterations_of_log(text))


@dataclass(frozen=True, eq=False)
class NlAnswer:
    """What IPOPT says of an NL file.

    Parameters
    ----------
    x, duals : float64 arrays
        By the columns and rows of the file; ``duals`` by the convention ``f + duals . g``.
    objective : float
    status : str
    iterations : int
    trace : tuple of dict
        ``iteration, objective, primal_infeasibility, dual_infeasibility, log_mu`` of each iteration.
    """

    x: FloatArray
    duals: FloatArray
    objective: float
    status: str
    iterations: int
    trace: tuple[Mapping[str, float], ...] = ()


def solve_nl(path: str, options: Mapping[str, Any], *, verbose: bool = False) -> NlAnswer:
    """Run CasADi's IPOPT on an NL file."""
    casadi: Any = import_module("casadi")
    builder = casadi.NlpBuilder()
    builder.import_nl(path, {})
    problem = {"x": casadi.vertcat(*builder.x), "f": builder.f, "g": casadi.vertcat(*builder.g)}
    settings = {"print_time": False, "ipopt": {"print_level": 5 if verbose else 0, "sb": "yes", **options}}
    solver = casadi.nlpsol("solver", "ipopt", problem, settings)
    found = solver(x0=builder.x_init, lbx=builder.x_lb, ubx=builder.x_ub, lbg=builder.g_lb, ubg=builder.g_ub)
    stats = solver.stats()
    return NlAnswer(
        np.array(found["x"]).ravel(),
        np.array(found["lam_g"]).ravel(),
        float(found["f"]),
        str(stats["return_status"]),
        int(stats["iter_count"]),
        _iterations(stats.get("iterations", {})),
    )


def _iterations(table: Mapping[str, Any]) -> tuple[Mapping[str, float], ...]:
    """CasADi's columns as rows, with the names that the log of the executable gives."""
    columns = [table.get(name, []) for name in ("obj", "inf_pr", "inf_du", "mu")]
    return tuple(
        {
            "iteration": float(k),
            "objective": float(objective),
            "primal_infeasibility": float(primal),
            "dual_infeasibility": float(dual),
            "log_mu": math.log10(max(float(mu), 1e-300)),
        }
        for k, (objective, primal, dual, mu) in enumerate(zip(*columns, strict=False))
    )
