"""Many solvers on many problems, each run in a process of its own."""

from mmbn_opt.comparison.holdout import Accuracy, compare_accuracy
from mmbn_opt.comparison.metrics import PerformanceProfile
from mmbn_opt.comparison.record import RunRecord
from mmbn_opt.comparison.runner import compare
from mmbn_opt.comparison.table import Comparison

__all__ = ["Accuracy", "Comparison", "PerformanceProfile", "RunRecord", "compare", "compare_accuracy"]
