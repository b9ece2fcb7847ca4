"""Largest soft margin of a structure, or smallest loss of the convex relaxation: recomputed from the data."""

from benchopt import BaseObjective
from benchopt.stopping_criterion import SufficientProgressCriterion

import mmbn_opt as mm


class Objective(BaseObjective):
    name = "Maximum-margin Bayesian networks"
    url = "https://benchopt.github.io"
    min_benchopt_version = "1.7"
    requirements = ["pip::mmbn-opt"]
    parameters = {"problem": ["soft-margin", "relaxation"], "p": [0.9], "max_parents": [2]}
    sampling_strategy = "iteration"
    # A closed gap does not get smaller: three budgets without progress end a solver.
    stopping_criterion = SufficientProgressCriterion(patience=3, strategy="iteration", key_to_monitor="gap")
    test_dataset_name = "simulated"

    def set_data(self, frame, target):
        self.data = mm.prepare(frame, target).data
        if self.problem == "soft-margin":
            self.formulation = mm.SoftMarginStructure(
                self.data, max_parents=self.max_parents, gamma=mm.log_odds(self.p)
            )
        else:
            self.formulation = mm.MaxMarginRelaxation(self.data, mm.tan_cmi(self.data))

    def get_objective(self):
        return {"formulation": self.formulation}

    def evaluate_result(self, model, dual_bound):
        value = self.formulation.evaluate(model)
        bounds = mm.ObjectiveBounds(self.formulation.sense, value, dual_bound)
        # benchopt draws a minimum; a gap without a bound counts as whole, since it stops at infinite values.
        return {
            "value": self.formulation.sense.sign * value,
            "objective": value,
            "gap": min(1.0, bounds.gap_rel),
            "bound_consistent": float(bounds.is_consistent()),
            "accuracy": self._accuracy(model),
        }

    def _accuracy(self, model):
        from mmbn_opt.scores.predictive import classification_rate

        return classification_rate(model, self.data)

    def get_one_result(self):
        return {"model": self.formulation.trivial_start().model, "dual_bound": self.formulation.trivial_bound()}
