"""SCIP on the row form."""

from benchmark_utils.budget import BudgetSolver


class Solver(BudgetSolver):
    name = "scip"
    requirements = ["pip::mmbn-opt[scip]"]
    solver = "scip"
