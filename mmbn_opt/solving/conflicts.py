"""Side constraints that contradict each other: a structure that keeps all of them, or which ones no structure keeps."""

from collections.abc import Sequence
from typing import Any

from mmbn_opt._budget import Budget
from mmbn_opt.exceptions import InfeasibleError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.structure.constrained import SideConstrained
from mmbn_opt.networks.constraints import StructureConstraint
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.registry import get_solver_class

__all__ = ["contradiction", "feasible_model"]


def feasible_model(formulation: Formulation, budget: Budget) -> Any | None:
    """A model that keeps all constraints, found by HiGHS; None where there was no time to find one.

    Raises
    ------
    InfeasibleError
        Where there is none; it names constraints that contradict each other.
    """
    if not isinstance(formulation, SideConstrained):
        return None
    feasible, model = _solve(formulation, budget)
    if feasible is False:
        raise contradiction(formulation, budget)
    return model


def contradiction(formulation: SideConstrained, budget: Budget) -> InfeasibleError:
    """The error for constraints that no structure keeps: as few of them as were found in time (a deletion filter)."""
    kept = list(formulation.constraints)
    sure = True
    for constraint in formulation.constraints:
        rest = [one for one in kept if one is not constraint]
        feasible, _ = _solve(formulation.under(rest), budget)
        if feasible is False:
            kept = rest
        sure = sure and feasible is not None
    return InfeasibleError(_words(kept, sure=sure))


def _words(conflicting: Sequence[StructureConstraint], *, sure: bool) -> str:
    told = "; ".join(map(str, conflicting))
    if not conflicting:
        return "No structure keeps max_parents and the required and forbidden edges; relax one of these."
    if len(conflicting) == 1:
        return (
            f"No structure of the class keeps the constraint [{told}]: it contradicts max_parents or the required and "
            "forbidden edges. Relax one of these."
        )
    least = (
        "Without any one of them there is one: relax or leave out one" if sure else "Relax or leave out some of them"
    )
    return f"No structure keeps these {len(conflicting)} constraints together: [{told}]. {least}."


def _solve(formulation: SideConstrained, budget: Budget) -> tuple[bool | None, Any | None]:
    """Whether some structure keeps the constraints (None: not known in time), and a model of one."""
    try:
        program = formulation.feasibility_program()
    except InfeasibleError:
        return False, None
    limit = None if budget.limit is None else max(budget.left(), 0.01)
    answer = get_solver_class("highs")(time_limit=limit).solve(program)
    if answer.solution is not None:
        model = formulation.recover(answer.solution)
        return True, model
    return (False if answer.termination_status is TerminationStatus.INFEASIBLE else None), None
