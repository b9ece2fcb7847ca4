"""A program and a budget in, the best point and a bound out; no data, no networks, no formulations.

Solvers are frozen settings with one verb, and a result that keeps three questions apart.

Importing this package loads no solver library; the class of a solver is looked up in the registry when it is asked for.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._lazy import delegate
from .base import Availability, Solver, SolverCallback, SolverEvent, SolverResult
from .registry import SolverInfo, class_names, get_solver_class, solver_names, solver_table

if TYPE_CHECKING:
    from ..programs.as_text import write_program
    from .registry import *  # noqa: F403

__all__ = [
    "Availability",
    "Solver",
    "SolverCallback",
    "SolverEvent",
    "SolverInfo",
    "SolverResult",
    "get_solver_class",
    "solver_names",
    "solver_table",
    "write_program",
]
__all__ += class_names()


def __getattr__(name: str) -> Any:
    if name == "write_program":  # its module needs SciPy
        from ..programs.as_text import write_program

        return write_program
    if name not in class_names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return get_solver_class(class_names()[name])


def __dir__() -> list[str]:
    return sorted(__all__)


class _CallableRoom(ModuleType):
    """The package, which the public face also calls: ``mmbn_opt.solvers()`` is the table of what is installed."""

    def __call__(self) -> Any:
        return delegate("solvers")()


# A subpackage hides a function of the same name in its parent as soon as it is imported; so it is the function.
sys.modules[__name__].__class__ = _CallableRoom
