"""HiGHS on the row form."""

from benchmark_utils.budget import BudgetSolver


class Solver(BudgetSolver):
    name = "highs"
    requirements = ["pip::mmbn-opt"]
    solver = "highs"
