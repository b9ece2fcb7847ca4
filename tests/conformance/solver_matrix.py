"""Which solvers run which kinds of program in the conformance tests; a registered solver gets its place here."""

from mmbn_opt.programs.base import ProgramKind

MATRICES: dict[ProgramKind, tuple[str, ...]] = {
    ProgramKind.MIXED_INTEGER: ("highs", "scipy", "scip", "cbc"),
    ProgramKind.IMPLICIT_CONCAVE: ("branch_and_cut", "scip-cuts"),
    ProgramKind.LINEAR_CHOICE: ("subset_search", "branch_and_cut", "scip-cuts"),
    ProgramKind.CONVEX: (
        "convex",
        "interior_point",
        "first_order",
        "barrier",
        "clarabel",
        "ecos",
        "scs",
        "highs-lp",
        "ipopt",
    ),
    ProgramKind.QUADRATIC: ("clarabel-qp",),
    ProgramKind.NONLINEAR: (
        "conjugate_gradient",
        "lbfgs",
        "scipy_cg",
        "exterior_penalty",
        "slsqp",
        "trust_constr",
        "ipopt-nlp",
    ),
}

WITH_CONSTRAINTS: tuple[str, ...] = ("exterior_penalty", "slsqp", "trust_constr", "ipopt-nlp")
"""Solvers of nonlinear programs that take inequality constraints."""
