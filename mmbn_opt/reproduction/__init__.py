"""Tables of papers, and of one's own, as declarations: data, splits, methods, measures, tests."""

from mmbn_opt.reproduction.catalogue import experiment_names, load_experiment
from mmbn_opt.reproduction.declaration import Experiment, Method, Published
from mmbn_opt.reproduction.page import markdown_page, ranks_drawing, write_results
from mmbn_opt.reproduction.recorded import recorded_results
from mmbn_opt.reproduction.results import Cell, Results
from mmbn_opt.reproduction.runner import run_experiment
from mmbn_opt.reproduction.splits import Splits

__all__ = [
    "Cell", "Experiment", "Method", "Published", "Results", "Splits", "experiment_names", "load_experiment",
    "markdown_page", "ranks_drawing", "recorded_results", "run_experiment", "write_results",
]  # fmt: skip
