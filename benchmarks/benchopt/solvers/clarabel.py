"""Clarabel on the convex relaxation."""

from benchmark_utils.budget import BudgetSolver


class Solver(BudgetSolver):
    name = "clarabel"
    requirements = ["pip::mmbn-opt"]
    solver = "clarabel"
    test_config = {"objective": {"problem": "relaxation"}}
