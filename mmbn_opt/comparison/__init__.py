"""Comparisons of solvers: every run in its own process, every answer held against the data."""

from mmbn_opt.comparison.metrics import PerformanceProfile
from mmbn_opt.comparison.record import RunRecord
from mmbn_opt.comparison.runner import compare
from mmbn_opt.comparison.table import Comparison

__all__ = ["Comparison", "PerformanceProfile", "RunRecord", "compare"]
