"""The branch-and-cut engine of mmbn_opt on the structure columns."""

from benchmark_utils.budget import BudgetSolver


class Solver(BudgetSolver):
    name = "branch_and_cut"
    requirements = ["pip::mmbn-opt"]
    solver = "branch_and_cut"
