"""Protocols of the papers: splits and side-by-side accuracies."""

from mmbn_opt.experiments.holdout import Accuracy, compare_accuracy, holdout_rows

__all__ = ["Accuracy", "compare_accuracy", "holdout_rows"]
