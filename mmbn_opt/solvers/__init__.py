"""A program and a budget in, the best point and a bound out; no data, no networks, no formulations.

Solvers are frozen settings with one verb, and a result that keeps three questions apart.

Importing this package loads no solver library; a name does when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._lazy import delegate

if TYPE_CHECKING:
    from .base import Availability, Solver, SolverCallback, SolverEvent, SolverResult
    from .choice.branch_and_cut import BranchAndCut
    from .convex.chain import ConvexChainSolver
    from .convex.cvxpy_conic import ClarabelSolver, EcosSolver, ScsSolver
    from .convex.first_order import FirstOrderSolver
    from .convex.interior_point import InteriorPointSolver
    from .convex.ipopt import IpoptSolver
    from .convex.linear_form import LinearFormSolver
    from .convex.log_barrier import LogBarrierSolver
    from .mixed_integer.cbc import CbcSolver
    from .mixed_integer.highs import HighsSolver
    from .mixed_integer.highs_model import write_program
    from .mixed_integer.scip import ScipSolver
    from .mixed_integer.scipy_milp import ScipyMilpSolver
    from .nonlinear.conjugate_gradient import ConjugateGradientSolver
    from .nonlinear.exterior_penalty import ExteriorPenaltySolver
    from .nonlinear.scipy_constrained import SlsqpSolver, TrustConstrSolver
    from .nonlinear.scipy_minimize import LbfgsSolver, ScipyCgSolver
    from .registry import SolverInfo, get_solver_class, solver_names, solver_table

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
    "TrustConstrSolver": "nonlinear.scipy_constrained",
    "SlsqpSolver": "nonlinear.scipy_constrained",
    "ExteriorPenaltySolver": "nonlinear.exterior_penalty",
    "IpoptSolver": "convex.ipopt",
    "LinearFormSolver": "convex.linear_form",
    "ScsSolver": "convex.cvxpy_conic",
    "EcosSolver": "convex.cvxpy_conic",
    "ClarabelSolver": "convex.cvxpy_conic",
    "LogBarrierSolver": "convex.log_barrier",
    "FirstOrderSolver": "convex.first_order",
    "InteriorPointSolver": "convex.interior_point",
    "ConvexChainSolver": "convex.chain",
    "Availability": "base",
    "BranchAndCut": "choice.branch_and_cut",
    "CbcSolver": "mixed_integer.cbc",
    "ConjugateGradientSolver": "nonlinear.conjugate_gradient",
    "HighsSolver": "mixed_integer.highs",
    "LbfgsSolver": "nonlinear.scipy_minimize",
    "ScipyCgSolver": "nonlinear.scipy_minimize",
    "ScipSolver": "mixed_integer.scip",
    "ScipyMilpSolver": "mixed_integer.scipy_milp",
    "Solver": "base",
    "SolverCallback": "base",
    "SolverEvent": "base",
    "SolverInfo": "registry",
    "SolverResult": "base",
    "get_solver_class": "registry",
    "solver_names": "registry",
    "solver_table": "registry",
    "write_program": "mixed_integer.highs_model",
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
