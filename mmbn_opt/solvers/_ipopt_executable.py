"""The ``ipopt`` program on PATH, called by Pyomo; answers and iteration trace as the in-process bridge gives them."""

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["ExecutableAnswer", "executable", "iterations_of_log", "solve_model"]

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

    if not hasattr(model, "dual"):
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
