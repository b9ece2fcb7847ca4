"""Solvers: frozen settings, one verb, and a result that keeps three questions apart.

Importing this package loads no solver library; a name does when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._lazy import delegate

if TYPE_CHECKING:
    from ._highs_model import write_program
    from .base import Availability, Solver, SolverCallback, SolverEvent, SolverResult
    from .branch_and_cut import BranchAndCut
    from .cbc import CbcSolver
    from .conjugate_gradient import ConjugateGradientSolver
    from .convex_chain import ConvexChainSolver
    from .cvxpy_conic import ClarabelSolver, EcosSolver, ScsSolver
    from .exterior_penalty import ExteriorPenaltySolver
    from .first_order import FirstOrderSolver
    from .highs import HighsSolver
    from .interior_point import InteriorPointSolver
    from .linear_form import LinearFormSolver
    from .log_barrier import LogBarrierSolver
    from .pyomo_ipopt import IpoptSolver
    from .registry import SolverInfo, get_solver_class, solver_names, solver_table
    from .scip import ScipSolver
    from .scipy_constrained import SlsqpSolver, TrustConstrSolver
    from .scipy_milp import ScipyMilpSolver
    from .scipy_minimize import LbfgsSolver, ScipyCgSolver

__all__ = [
    "Availability",
    "BranchAndCut",
    "CbcSolver",
    "ClarabelSolver",
    "ConjugateGradientSolver",
    "ConvexChainSolver",
    "EcosSolver",
    "ExteriorPenaltySolver",
    "FirstOrderSolver",
    "HighsSolver",
    "InteriorPointSolver",
    "IpoptSolver",
    "LbfgsSolver",
    "LinearFormSolver",
    "LogBarrierSolver",
    "ScipSolver",
    "ScipyCgSolver",
    "ScipyMilpSolver",
    "ScsSolver",
    "SlsqpSolver",
    "Solver",
    "SolverCallback",
    "SolverEvent",
    "SolverInfo",
    "SolverResult",
    "TrustConstrSolver",
    "get_solver_class",
    "solver_names",
    "solver_table",
    "write_program",
]

_HOMES = {
    "TrustConstrSolver": "scipy_constrained",
    "SlsqpSolver": "scipy_constrained",
    "ExteriorPenaltySolver": "exterior_penalty",
    "IpoptSolver": "pyomo_ipopt",
    "LinearFormSolver": "linear_form",
    "ScsSolver": "cvxpy_conic",
    "EcosSolver": "cvxpy_conic",
    "ClarabelSolver": "cvxpy_conic",
    "LogBarrierSolver": "log_barrier",
    "FirstOrderSolver": "first_order",
    "InteriorPointSolver": "interior_point",
    "ConvexChainSolver": "convex_chain",
    "Availability": "base",
    "BranchAndCut": "branch_and_cut",
    "CbcSolver": "cbc",
    "ConjugateGradientSolver": "conjugate_gradient",
    "HighsSolver": "highs",
    "LbfgsSolver": "scipy_minimize",
    "ScipyCgSolver": "scipy_minimize",
    "ScipSolver": "scip",
    "ScipyMilpSolver": "scipy_milp",
    "Solver": "base",
    "SolverCallback": "base",
    "SolverEvent": "base",
    "SolverInfo": "registry",
    "SolverResult": "base",
    "get_solver_class": "registry",
    "solver_names": "registry",
    "solver_table": "registry",
    "write_program": "_highs_model",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _CallableRoom(ModuleType):
    """The package, which the public face also calls: ``mmbn_opt.solvers()`` is the table of what is installed."""

    def __call__(self) -> Any:
        return delegate("solvers")()


# A subpackage hides a function of the same name in its parent as soon as it is imported; so it is the function.
sys.modules[__name__].__class__ = _CallableRoom
