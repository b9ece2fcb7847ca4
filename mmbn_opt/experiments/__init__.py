"""Tables of papers, and of one's own, as declarations: data, splits, methods, measures, tests."""

from mmbn_opt.experiments.catalogue import experiment_names, load_experiment
from mmbn_opt.experiments.declaration import Experiment, Method, Published
from mmbn_opt.experiments.page import markdown_page
from mmbn_opt.experiments.recorded import recorded_results
from mmbn_opt.experiments.results import Cell, Results
from mmbn_opt.experiments.runner import run_experiment
from mmbn_opt.experiments.splits import Splits

__all__ = [
    "Cell", "Experiment", "Method", "Published", "Results", "Splits", "experiment_names", "load_experiment",
    "markdown_page", "recorded_results", "run_experiment",
]  # fmt: skip
