"""CBC on the row form."""

from benchmark_utils.budget import BudgetSolver


class Solver(BudgetSolver):
    name = "cbc"
    requirements = ["pip::mmbn-opt[cbc]"]
    solver = "cbc"
