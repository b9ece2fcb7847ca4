"""A solver of mmbn_opt, run again and again with a growing budget: the curve is what it has at each."""

from benchopt import BaseSolver

import mmbn_opt as mm
from mmbn_opt.solving.dispatch import choose_solver

FIRST_SECONDS = 0.05


class BudgetSolver(BaseSolver):
    """Base of the solvers here; `solver` is the name in mmbn_opt's registry, or a configured solver of one's own."""

    solver = "auto"

    def set_objective(self, formulation):
        self.formulation = formulation

    def skip(self, formulation):
        try:
            kind = choose_solver(formulation, self.solver)[0]
        except mm.InputError as error:
            return True, str(error)
        found = kind.availability()
        return not found.available, found.reason or None

    def get_next(self, stop_val):
        return stop_val + 1

    def warm_up(self):
        # Imports and compiled kernels are loaded outside the timed runs.
        self.run(1)

    def run(self, stop_val):
        budget = FIRST_SECONDS * 2.0**stop_val
        result = mm.solve(self.formulation, self.solver, time_limit=budget)
        self.model, self.dual_bound = result.model, result.bounds.dual_bound

    def get_result(self):
        return {"model": self.model, "dual_bound": self.dual_bound}
