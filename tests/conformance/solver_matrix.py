"""Which solvers run which kinds of program in the conformance tests; a registered solver gets its place here."""

from mmbn_opt.programs.base import ProgramKind

MATRICES: dict[ProgramKind, tuple[str, ...]] = {
    ProgramKind.MIXED_INTEGER: ("highs", "scipy", "scip", "cbc", "gurobi", "cplex", "copt", "xpress", "mosek"),
    ProgramKind.IMPLICIT_CONCAVE: ("branch_and_cut", "scip_cuts"),
    ProgramKind.LINEAR_CHOICE: ("subset_search", "branch_and_cut", "scip_cuts"),
    ProgramKind.CONVEX: (
        "convex",
        "interior_point",
        "proximal_newton",
        "first_order",
        "barrier",
        "clarabel",
        "ecos",
        "scs",
        "highs_lp",
        "ipopt",
        "copt_cone",
        "mosek_cone",
    ),
    ProgramKind.CONVEX_ROWS: ("clarabel", "ecos", "scs", "ipopt", "copt_cone", "mosek_cone"),
    ProgramKind.CONVEX_PASSES: ("first_order",),  # too many rows for small programs: tests/data/test_block_passes.py
    ProgramKind.LIKELIHOOD: ("interior_point",),
    ProgramKind.QUADRATIC: ("clarabel_qp", "proximal_newton"),
    ProgramKind.SEQUENCE: ("sequence_chain", "lattice_interior_point", "first_order", "constraint_generation"),
    ProgramKind.NONLINEAR: (
        "conjugate_gradient",
        "lbfgs",
        "scipy_cg",
        "exterior_penalty",
        "slsqp",
        "trust_constr",
        "ipopt_nlp",
    ),
}

WITH_CONSTRAINTS: tuple[str, ...] = ("exterior_penalty", "slsqp", "trust_constr", "ipopt_nlp")
"""Solvers of nonlinear programs that take inequality constraints."""
