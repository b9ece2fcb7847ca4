"""mmbn_opt: maximum-margin Bayesian networks as optimization problems, solved with a proof of how good they are.

Public names are looked up on first use: importing the package imports no solver.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmbn_opt.comparison import Comparison as Comparison
    from mmbn_opt.comparison import compare as compare
    from mmbn_opt.data.datasets import dataset_names as dataset_names
    from mmbn_opt.data.datasets import load_dataset as load_dataset
    from mmbn_opt.data.datasets import load_openml as load_openml
    from mmbn_opt.data.discrete import DiscreteDataset as DiscreteDataset
    from mmbn_opt.data.discretize import MDLPDiscretizer as MDLPDiscretizer
    from mmbn_opt.data.preparation import Preparation as Preparation
    from mmbn_opt.data.preparation import prepare as prepare
    from mmbn_opt.data.readers import read_table as read_table
    from mmbn_opt.estimators import CMMClassifier as CMMClassifier
    from mmbn_opt.estimators import MaxMarginBayesClassifier as MaxMarginBayesClassifier
    from mmbn_opt.estimators import MaxMarginStructureClassifier as MaxMarginStructureClassifier
    from mmbn_opt.estimators import NaiveBayesClassifier as NaiveBayesClassifier
    from mmbn_opt.estimators import TANClassifier as TANClassifier
    from mmbn_opt.exceptions import FormatError as FormatError
    from mmbn_opt.exceptions import InputError as InputError
    from mmbn_opt.exceptions import MissingDependencyError as MissingDependencyError
    from mmbn_opt.exceptions import MmbnError as MmbnError
    from mmbn_opt.exceptions import SizeLimitError as SizeLimitError
    from mmbn_opt.exceptions import SolverError as SolverError
    from mmbn_opt.formulations import BinarySoftMarginStructure as BinarySoftMarginStructure
    from mmbn_opt.formulations import ConditionalLikelihood as ConditionalLikelihood
    from mmbn_opt.formulations import ConstrainedMaximumMargin as ConstrainedMaximumMargin
    from mmbn_opt.formulations import DecomposableStructure as DecomposableStructure
    from mmbn_opt.formulations import MaxMarginMarkovNetwork as MaxMarginMarkovNetwork
    from mmbn_opt.formulations import MaxMarginRelaxation as MaxMarginRelaxation
    from mmbn_opt.formulations import MulticlassMargin as MulticlassMargin
    from mmbn_opt.formulations import SmoothMargin as SmoothMargin
    from mmbn_opt.formulations import SoftMarginStructure as SoftMarginStructure
    from mmbn_opt.heuristics import naive_bayes as naive_bayes
    from mmbn_opt.heuristics import order_mi as order_mi
    from mmbn_opt.heuristics import restrict_candidates as restrict_candidates
    from mmbn_opt.heuristics import tan_cmi as tan_cmi
    from mmbn_opt.heuristics import tan_cr as tan_cr
    from mmbn_opt.mixtures.classifier import MixtureClassifier as MixtureClassifier
    from mmbn_opt.networks.gauge import fix_gauge as fix_gauge
    from mmbn_opt.networks.log_linear import LogLinearClassifier as LogLinearClassifier
    from mmbn_opt.networks.network import BayesianNetwork as BayesianNetwork
    from mmbn_opt.networks.renormalization import renormalize as renormalize
    from mmbn_opt.networks.smoothing import Dirichlet as Dirichlet
    from mmbn_opt.networks.smoothing import Laplace as Laplace
    from mmbn_opt.networks.structure import Structure as Structure
    from mmbn_opt.networks.structure import from_edges as from_edges
    from mmbn_opt.results.bounds import ObjectiveBounds as ObjectiveBounds
    from mmbn_opt.results.result import Certificate as Certificate
    from mmbn_opt.results.result import Result as Result
    from mmbn_opt.results.status import SolutionStatus as SolutionStatus
    from mmbn_opt.results.status import TerminationStatus as TerminationStatus
    from mmbn_opt.results.trace import BoundTrace as BoundTrace
    from mmbn_opt.scores.predictive import log_odds as log_odds
    from mmbn_opt.solving.certificate import certify as certify
    from mmbn_opt.solving.dispatch import solve as solve
    from mmbn_opt.solving.dispatch import solvers as solvers
    from mmbn_opt.solving.dispatch import start as start
    from mmbn_opt.solving.distance import distance_to_optimum as distance_to_optimum
    from mmbn_opt.solving.handle import Run as Run
    from mmbn_opt.solving.parts import solve_parts as solve_parts
    from mmbn_opt.tuning.grid import tune as tune
    from mmbn_opt.tuning.lambda_path import lambda_path as lambda_path

__version__ = "0.1.0.dev0"

_PUBLIC = {
    "BayesianNetwork": "networks.network",
    "BinarySoftMarginStructure": "formulations",
    "BoundTrace": "results.trace",
    "CMMClassifier": "estimators",
    "Certificate": "results.result",
    "Comparison": "comparison",
    "ConditionalLikelihood": "formulations",
    "ConstrainedMaximumMargin": "formulations",
    "DecomposableStructure": "formulations",
    "Dirichlet": "networks.smoothing",
    "DiscreteDataset": "data.discrete",
    "FormatError": "exceptions",
    "InputError": "exceptions",
    "Laplace": "networks.smoothing",
    "LogLinearClassifier": "networks.log_linear",
    "MDLPDiscretizer": "data.discretize",
    "MaxMarginBayesClassifier": "estimators",
    "MaxMarginMarkovNetwork": "formulations",
    "MaxMarginRelaxation": "formulations",
    "MaxMarginStructureClassifier": "estimators",
    "MissingDependencyError": "exceptions",
    "MixtureClassifier": "mixtures.classifier",
    "MmbnError": "exceptions",
    "NaiveBayesClassifier": "estimators",
    "MulticlassMargin": "formulations",
    "ObjectiveBounds": "results.bounds",
    "Preparation": "data.preparation",
    "Result": "results.result",
    "Run": "solving.handle",
    "SizeLimitError": "exceptions",
    "SmoothMargin": "formulations",
    "SoftMarginStructure": "formulations",
    "SolutionStatus": "results.status",
    "SolverError": "exceptions",
    "Structure": "networks.structure",
    "TANClassifier": "estimators",
    "TerminationStatus": "results.status",
    "certify": "solving.certificate",
    "compare": "comparison",
    "dataset_names": "data.datasets",
    "distance_to_optimum": "solving.distance",
    "fix_gauge": "networks.gauge",
    "from_edges": "networks.structure",
    "lambda_path": "tuning.lambda_path",
    "load_dataset": "data.datasets",
    "load_openml": "data.datasets",
    "log_odds": "scores.predictive",
    "naive_bayes": "heuristics",
    "order_mi": "heuristics",
    "prepare": "data.preparation",
    "read_table": "data.readers",
    "renormalize": "networks.renormalization",
    "solve": "solving.dispatch",
    "solve_parts": "solving.parts",
    "solvers": "solving.dispatch",
    "start": "solving.dispatch",
    "restrict_candidates": "heuristics",
    "tan_cmi": "heuristics",
    "tan_cr": "heuristics",
    "tune": "tuning.grid",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(f"mmbn_opt.{_PUBLIC[name]}"), name)
        if name != "solvers":  # the subpackage of that name is callable and takes its place when it is imported
            globals()[name] = value
        return value
    raise AttributeError(f"module 'mmbn_opt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
