"""The interior-point method of mmbn_opt on the convex relaxation."""

from benchmark_utils.budget import BudgetSolver


class Solver(BudgetSolver):
    name = "interior_point"
    requirements = ["pip::mmbn-opt"]
    solver = "interior_point"
    test_config = {"objective": {"problem": "relaxation"}}
