"""How far any model is from the optimum of the convex relaxation, proved in seconds."""

from dataclasses import dataclass, replace

from mmbn_opt._arguments import check_arguments
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.parameters.relaxation import MaxMarginRelaxation
from mmbn_opt.networks.log_linear import LogLinearClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.convex import ConvexProgram
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.result import Check
from mmbn_opt.results.status import Sense
from mmbn_opt.solvers.base import Solver

__all__ = ["Distance", "distance_to_optimum"]

DENSE_PARAMETERS = 1000
"""Up to here a dense Newton system takes well under a second."""


@dataclass(frozen=True)
class Distance:
    """The value of a model between a proved bound and the best point known.

    Parameters
    ----------
    value : float
        Objective of the model, at its nearest feasible point.
    dual_bound : float
        No feasible point is better.
    best_known : float
        Of a point that was found on the way.
    solver : str
    seconds : float

    Examples
    --------
    >>> print(Distance(value=10.5, dual_bound=10.0, best_known=10.01, solver="first_order", seconds=0.2))
    within 5.00 % of the global optimum (value 10.5, bound 10, best known 10.01)
    """

    value: float
    dual_bound: float
    best_known: float
    solver: str
    seconds: float

    @property
    def within(self) -> float:
        """Proved relative distance ``(value - optimum) / optimum`` at most; inf where the bound is not positive."""
        excess = max(0.0, self.value - self.dual_bound)
        if excess == 0.0:
            return 0.0
        return excess / self.dual_bound if self.dual_bound > 0 else float("inf")

    @property
    def bounds(self) -> ObjectiveBounds:
        """Value and bound as a pair."""
        return ObjectiveBounds(Sense.MINIMIZE, self.value, self.dual_bound)

    def __str__(self) -> str:
        figures = f"(value {self.value:.6g}, bound {self.dual_bound:.6g}, best known {self.best_known:.6g})"
        if self.within == float("inf"):
            return f"no relative distance: the proved bound is not positive {figures}"
        return f"within {100 * self.within:.2f} % of the global optimum {figures}"

    def check(self) -> Check:
        """The line of a certificate."""
        return Check("distance to the optimum", True, f"{self}, proved by {self.solver} in {self.seconds:.1f} s")


def distance_to_optimum(
    model: BayesianNetwork | LogLinearClassifier,
    formulation: MaxMarginRelaxation,
    *,
    time_limit: float = 10.0,
    rel_gap: float = 1e-3,
    solver: Solver | None = None,
) -> Distance:
    """Prove how far a model is from the global optimum of a relaxation at its gamma (or B), floor and alpha.

    Parameters
    ----------
    model : BayesianNetwork or LogLinearClassifier
        On the structure of the formulation, wherever it comes from: maximum likelihood, conjugate gradient, another
        tool.
    time_limit : float
        Seconds for the bound; the statement holds whenever the run ends.
    rel_gap : float
        Gap at which the bound is good enough.
    solver : Solver or None
        Any that takes convex programs. None: the linear form for "published", interior point up to 1,000 parameters,
        the first-order method beyond, Clarabel where there are constraints.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
    >>> relaxation = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0, normalization="floor")
    >>> print(distance_to_optimum(relaxation.maximum_likelihood, relaxation))  # doctest: +ELLIPSIS
    within 0.0... % of the global optimum (value 20, bound ..., best known 20)
    """
    check_arguments(distance_to_optimum, locals())
    program = formulation.held_program
    if solver is not None and program.kind not in solver.accepts:
        told = "" if program.kind is ProgramKind.CONVEX else " with linear rows on log-parameters"
        raise InputError(f"{solver.name} solves no convex programs{told}; leave solver out, or choose from solvers().")
    start = formulation.encode(model)
    engine = replace(solver or _engine_for(program), time_limit=time_limit, rel_gap=rel_gap)
    answer = engine.solve(program, start=start)
    dual, best = answer.bounds.dual_bound, answer.bounds.primal_bound
    value = formulation.evaluate(model)
    bound = formulation.trivial_bound() if dual is None else dual
    known = value if best is None else min(best, value)
    return Distance(value, min(bound, value), known, engine.name, answer.seconds)


def _engine_for(program: ConvexProgram) -> Solver:
    if program.rows is not None:
        from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver

        return ClarabelSolver()
    if program.is_linear:
        from mmbn_opt.solvers.convex.linear_form import LinearFormSolver

        return LinearFormSolver()
    if program.margins.n_parameters <= DENSE_PARAMETERS:
        from mmbn_opt.solvers.convex.interior_point import InteriorPointSolver

        return InteriorPointSolver(warm_seconds=1.0)
    from mmbn_opt.solvers.convex.first_order import FirstOrderSolver

    return FirstOrderSolver()
