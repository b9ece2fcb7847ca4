"""Which solvers there are, and what can be said of them here; adding one is a line in `_SOLVERS`, and its type."""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from ..exceptions import InputError
from ..programs.base import ProgramKind
from .base import Solver

if TYPE_CHECKING:  # so that `from mmbn_opt.solvers import HighsSolver` has a type; a test holds it against `_SOLVERS`
    from .choice.branch_and_cut import BranchAndCut as BranchAndCut
    from .choice.scip_cuts import ScipCutsSolver as ScipCutsSolver
    from .choice.subset_search import SubsetSearch as SubsetSearch
    from .convex.chain import ConvexChainSolver as ConvexChainSolver
    from .convex.commercial_conic import CoptConicSolver as CoptConicSolver
    from .convex.commercial_conic import MosekConicSolver as MosekConicSolver
    from .convex.constraint_generation import ConstraintGenerationSolver as ConstraintGenerationSolver
    from .convex.cvxpy_conic import ClarabelSolver as ClarabelSolver
    from .convex.cvxpy_conic import EcosSolver as EcosSolver
    from .convex.cvxpy_conic import ScsSolver as ScsSolver
    from .convex.cvxpy_quadratic import QuadraticSolver as QuadraticSolver
    from .convex.first_order import FirstOrderSolver as FirstOrderSolver
    from .convex.interior_point import InteriorPointSolver as InteriorPointSolver
    from .convex.ipopt import IpoptSolver as IpoptSolver
    from .convex.lattice_interior_point import LatticeInteriorPointSolver as LatticeInteriorPointSolver
    from .convex.linear_form import LinearFormSolver as LinearFormSolver
    from .convex.log_barrier import LogBarrierSolver as LogBarrierSolver
    from .convex.proximal_newton import ProximalNewtonSolver as ProximalNewtonSolver
    from .convex.sequence_chain import SequenceChainSolver as SequenceChainSolver
    from .mixed_integer.cbc import CbcSolver as CbcSolver
    from .mixed_integer.commercial import CoptSolver as CoptSolver
    from .mixed_integer.commercial import CplexSolver as CplexSolver
    from .mixed_integer.commercial import GurobiSolver as GurobiSolver
    from .mixed_integer.commercial import MosekSolver as MosekSolver
    from .mixed_integer.commercial import XpressSolver as XpressSolver
    from .mixed_integer.highs import HighsSolver as HighsSolver
    from .mixed_integer.scip import ScipSolver as ScipSolver
    from .mixed_integer.scipy_milp import ScipyMilpSolver as ScipyMilpSolver
    from .nonlinear.conjugate_gradient import ConjugateGradientSolver as ConjugateGradientSolver
    from .nonlinear.exterior_penalty import ExteriorPenaltySolver as ExteriorPenaltySolver
    from .nonlinear.ipopt import NonlinearIpoptSolver as NonlinearIpoptSolver
    from .nonlinear.scipy_constrained import SlsqpSolver as SlsqpSolver
    from .nonlinear.scipy_constrained import TrustConstrSolver as TrustConstrSolver
    from .nonlinear.scipy_minimize import LbfgsSolver as LbfgsSolver
    from .nonlinear.scipy_minimize import ScipyCgSolver as ScipyCgSolver

_SOLVERS = {
    "branch_and_cut": "choice.branch_and_cut:BranchAndCut",
    "highs": "mixed_integer.highs:HighsSolver",
    "scipy": "mixed_integer.scipy_milp:ScipyMilpSolver",
    "scip": "mixed_integer.scip:ScipSolver",
    "cbc": "mixed_integer.cbc:CbcSolver",
    "gurobi": "mixed_integer.commercial:GurobiSolver",
    "cplex": "mixed_integer.commercial:CplexSolver",
    "copt": "mixed_integer.commercial:CoptSolver",
    "xpress": "mixed_integer.commercial:XpressSolver",
    "mosek": "mixed_integer.commercial:MosekSolver",
    "scip_cuts": "choice.scip_cuts:ScipCutsSolver",
    "subset_search": "choice.subset_search:SubsetSearch",
    "convex": "convex.chain:ConvexChainSolver",
    "interior_point": "convex.interior_point:InteriorPointSolver",
    "proximal_newton": "convex.proximal_newton:ProximalNewtonSolver",
    "first_order": "convex.first_order:FirstOrderSolver",
    "sequence_chain": "convex.sequence_chain:SequenceChainSolver",
    "lattice_interior_point": "convex.lattice_interior_point:LatticeInteriorPointSolver",
    "constraint_generation": "convex.constraint_generation:ConstraintGenerationSolver",
    "barrier": "convex.log_barrier:LogBarrierSolver",
    "clarabel": "convex.cvxpy_conic:ClarabelSolver",
    "ecos": "convex.cvxpy_conic:EcosSolver",
    "scs": "convex.cvxpy_conic:ScsSolver",
    "copt_cone": "convex.commercial_conic:CoptConicSolver",
    "mosek_cone": "convex.commercial_conic:MosekConicSolver",
    "clarabel_qp": "convex.cvxpy_quadratic:QuadraticSolver",
    "highs_lp": "convex.linear_form:LinearFormSolver",
    "ipopt": "convex.ipopt:IpoptSolver",
    "exterior_penalty": "nonlinear.exterior_penalty:ExteriorPenaltySolver",
    "slsqp": "nonlinear.scipy_constrained:SlsqpSolver",
    "trust_constr": "nonlinear.scipy_constrained:TrustConstrSolver",
    "ipopt_nlp": "nonlinear.ipopt:NonlinearIpoptSolver",
    "conjugate_gradient": "nonlinear.conjugate_gradient:ConjugateGradientSolver",
    "lbfgs": "nonlinear.scipy_minimize:LbfgsSolver",
    "scipy_cg": "nonlinear.scipy_minimize:ScipyCgSolver",
}
"""Name -> module of this room and class, in the order in which they are listed; words are joined by underscores."""


@dataclass(frozen=True)
class SolverInfo:
    """A row of the solver table.

    Parameters
    ----------
    name, title, licence : str
    extra : str or None
        The extra of ``pip install "mmbn_opt[...]"`` that brings it; None when it is always there.
    accepts : frozenset of ProgramKind
    available : bool
        Whether it solved a one-variable model here.
    version : str or None
    reason : str
        Why it is not available and what to do; empty when it is.
    """

    name: str
    title: str
    licence: str
    extra: str | None
    accepts: frozenset[ProgramKind]
    available: bool
    version: str | None
    reason: str


def solver_names() -> tuple[str, ...]:
    """Names of all solvers, installed or not.

    Examples
    --------
    >>> "highs" in solver_names()
    True
    """
    return tuple(_SOLVERS)


def class_names() -> dict[str, str]:
    """Name of each solver's class -> name of the solver.

    Examples
    --------
    >>> class_names()["HighsSolver"]
    'highs'
    """
    return {place.partition(":")[2]: name for name, place in _SOLVERS.items()}


def solver_name(given: str) -> str:
    """The one spelling of a solver's name: hyphens are as good as underscores.

    Examples
    --------
    >>> solver_name("scip-cuts"), solver_name("highs")
    ('scip_cuts', 'highs')
    """
    plain = str(given).replace("-", "_")
    return plain if plain in _SOLVERS else given


def get_solver_class(name: str) -> type[Solver]:
    """The class of the solver `name`, with underscores or hyphens; asking for one does not load the others.

    Raises
    ------
    InputError
        For an unknown name.

    Examples
    --------
    >>> get_solver_class("highs").title
    'HiGHS'
    """
    name = solver_name(name)
    if name not in _SOLVERS:
        close = get_close_matches(str(name).lower(), _SOLVERS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InputError(f"unknown solver {name!r}; known are {', '.join(_SOLVERS)}.{hint}")
    module, _, attribute = _SOLVERS[name].partition(":")
    found: type[Solver] = getattr(import_module(f".{module}", __package__), attribute)
    return found


def solver_table() -> list[SolverInfo]:
    """One row a solver; each is tried on a one-variable model the first time."""
    rows = []
    for name in _SOLVERS:
        solver = get_solver_class(name)
        found = solver.availability()
        rows.append(
            SolverInfo(
                name=solver.name,
                title=solver.title,
                licence=solver.licence,
                extra=solver.extra,
                accepts=solver.accepts,
                available=found.available,
                version=found.version,
                reason=found.reason,
            )
        )
    return rows
