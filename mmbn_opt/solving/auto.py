"""The table behind ``solver="auto"``."""

from collections.abc import Callable
from dataclasses import dataclass, field

from mmbn_opt.formulations.base import Formulation
from mmbn_opt.programs.base import ProgramKind, ProgramSize
from mmbn_opt.solvers.registry import get_solver_class

__all__ = ["AUTO_RULES", "AutoRule"]


def _any_size(size: ProgramSize) -> bool:
    return True


def _any_formulation(formulation: Formulation) -> bool:
    return True


@dataclass(frozen=True)
class AutoRule:
    """One line of the table behind ``solver="auto"``."""

    kind: ProgramKind
    condition: str
    solver: str
    applies: Callable[[ProgramSize], bool] = field(default=_any_size, repr=False)
    suits: Callable[[Formulation], bool] = field(default=_any_formulation, repr=False)
    where_installed: bool = False
    """Whether the solver is an extra, and the rule is passed over where that is absent."""

    def chosen_for(self, formulation: Formulation) -> bool:
        """Whether it is about such a formulation; its size is estimated only where the rule asks for it."""
        if self.kind not in formulation.kinds or not self.suits(formulation):
            return False
        if self.where_installed and not get_solver_class(self.solver).availability().available:
            return False
        return self.applies is _any_size or self.applies(formulation.estimate_size(self.kind))

    @property
    def unconditional(self) -> bool:
        """Whether the kind of program alone decides."""
        return self.applies is _any_size and self.suits is _any_formulation and not self.where_installed


SMALL_ROW_FORM = 20_000
"""Non-zeros of the row form up to which HiGHS is done before another engine has warmed up (see docs: exact search)."""

SUBSET_NODES = 25
"""Nodes up to which the search over subsets is done in seconds, whatever the parent sets."""

DENSE_NODES, DENSE_SETS = 40, 600
"""Nodes up to which it is the best where each has so many parent sets at the mean: it does not mind them, and linear
programs do. With half as many these leave gaps a tenth as wide (see docs: decomposable scores)."""


DENSE_LIKELIHOOD = 5_000
"""Parameters of a conditional likelihood up to which Newton steps take about a second (see docs: convex relaxation)."""


def _for_subsets(size: ProgramSize) -> bool:
    nodes = (size.rows + 1) // 2
    return nodes <= SUBSET_NODES or (nodes <= DENSE_NODES and size.columns >= DENSE_SETS * nodes)


AUTO_RULES: tuple[AutoRule, ...] = (
    AutoRule(
        ProgramKind.IMPLICIT_CONCAVE,
        "maximum branchings solve it",
        "branch_and_cut",
        suits=lambda formulation: formulation.solved_by_branching,
    ),
    AutoRule(
        ProgramKind.LINEAR_CHOICE,
        f"at most {SUBSET_NODES} nodes, or {DENSE_NODES} with {DENSE_SETS} parent sets each",
        "subset_search",
        _for_subsets,
    ),
    AutoRule(ProgramKind.LINEAR_CHOICE, "more nodes, SCIP installed", "scip_cuts", where_installed=True),
    AutoRule(
        ProgramKind.MIXED_INTEGER,
        f"at most {SMALL_ROW_FORM:,} non-zeros",
        "highs",
        lambda size: size.nonzeros <= SMALL_ROW_FORM,
    ),
    AutoRule(ProgramKind.IMPLICIT_CONCAVE, "any size", "branch_and_cut"),
    AutoRule(ProgramKind.MIXED_INTEGER, "any size", "highs"),
    AutoRule(ProgramKind.CONVEX, "any size", "convex"),
    AutoRule(ProgramKind.CONVEX_ROWS, "any size", "clarabel"),
    AutoRule(ProgramKind.CONVEX_PASSES, "any size", "first_order"),
    AutoRule(ProgramKind.QUADRATIC, "any size", "proximal_newton"),
    AutoRule(
        ProgramKind.SEQUENCE,
        "linear in disguise",
        "constraint_generation",
        suits=lambda formulation: formulation.linear_in_disguise,
    ),
    AutoRule(ProgramKind.SEQUENCE, "any size", "sequence_chain"),
    AutoRule(
        ProgramKind.LIKELIHOOD,
        f"a renormalizable structure, nothing held out, at most {DENSE_LIKELIHOOD:,} parameters",
        "interior_point",
        lambda size: size.columns <= DENSE_LIKELIHOOD,
        suits=lambda formulation: formulation.attains_relaxation,
    ),
    AutoRule(ProgramKind.NONLINEAR, "no constraints", "lbfgs", lambda size: size.rows == 0),
    AutoRule(ProgramKind.NONLINEAR, "constraints", "exterior_penalty"),
)
