"""mmbn_opt: maximum-margin Bayesian networks as optimization problems, solved with a proof of how good they are.

Public names are looked up on first use: importing the package imports no solver.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmbn_opt.bounds import ObjectiveBounds as ObjectiveBounds
    from mmbn_opt.certificate import certify as certify
    from mmbn_opt.comparison import Comparison as Comparison
    from mmbn_opt.comparison import compare as compare
    from mmbn_opt.convex_certificate import distance_to_optimum as distance_to_optimum
    from mmbn_opt.data import DiscreteDataset as DiscreteDataset
    from mmbn_opt.datasets import dataset_names as dataset_names
    from mmbn_opt.datasets import load_dataset as load_dataset
    from mmbn_opt.datasets import load_openml as load_openml
    from mmbn_opt.discretize import MDLPDiscretizer as MDLPDiscretizer
    from mmbn_opt.dispatch import solve as solve
    from mmbn_opt.dispatch import solvers as solvers
    from mmbn_opt.dispatch import start as start
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
    from mmbn_opt.gauge import fix_gauge as fix_gauge
    from mmbn_opt.heuristics import naive_bayes as naive_bayes
    from mmbn_opt.heuristics import order_mi as order_mi
    from mmbn_opt.heuristics import restrict_candidates as restrict_candidates
    from mmbn_opt.heuristics import tan_cmi as tan_cmi
    from mmbn_opt.heuristics import tan_cr as tan_cr
    from mmbn_opt.lambda_path import lambda_path as lambda_path
    from mmbn_opt.log_linear import LogLinearClassifier as LogLinearClassifier
    from mmbn_opt.mixture import MixtureClassifier as MixtureClassifier
    from mmbn_opt.multiclass import solve_parts as solve_parts
    from mmbn_opt.network import BayesianNetwork as BayesianNetwork
    from mmbn_opt.preparation import Preparation as Preparation
    from mmbn_opt.preparation import prepare as prepare
    from mmbn_opt.readers import read_table as read_table
    from mmbn_opt.renormalization import renormalize as renormalize
    from mmbn_opt.result import Certificate as Certificate
    from mmbn_opt.result import Result as Result
    from mmbn_opt.run import Run as Run
    from mmbn_opt.scores import log_odds as log_odds
    from mmbn_opt.selection import tune as tune
    from mmbn_opt.smoothing import Dirichlet as Dirichlet
    from mmbn_opt.smoothing import Laplace as Laplace
    from mmbn_opt.status import SolutionStatus as SolutionStatus
    from mmbn_opt.status import TerminationStatus as TerminationStatus
    from mmbn_opt.structure import Structure as Structure
    from mmbn_opt.structure import from_edges as from_edges
    from mmbn_opt.trace import BoundTrace as BoundTrace

__version__ = "0.1.0.dev0"

_PUBLIC = {
    "BayesianNetwork": "network",
    "BinarySoftMarginStructure": "formulations",
    "BoundTrace": "trace",
    "CMMClassifier": "estimators",
    "Certificate": "result",
    "Comparison": "comparison",
    "ConditionalLikelihood": "formulations",
    "ConstrainedMaximumMargin": "formulations",
    "DecomposableStructure": "formulations",
    "Dirichlet": "smoothing",
    "DiscreteDataset": "data",
    "FormatError": "exceptions",
    "InputError": "exceptions",
    "Laplace": "smoothing",
    "LogLinearClassifier": "log_linear",
    "MDLPDiscretizer": "discretize",
    "MaxMarginBayesClassifier": "estimators",
    "MaxMarginMarkovNetwork": "formulations",
    "MaxMarginRelaxation": "formulations",
    "MaxMarginStructureClassifier": "estimators",
    "MissingDependencyError": "exceptions",
    "MixtureClassifier": "mixture",
    "MmbnError": "exceptions",
    "NaiveBayesClassifier": "estimators",
    "MulticlassMargin": "formulations",
    "ObjectiveBounds": "bounds",
    "Preparation": "preparation",
    "Result": "result",
    "Run": "run",
    "SizeLimitError": "exceptions",
    "SmoothMargin": "formulations",
    "SoftMarginStructure": "formulations",
    "SolutionStatus": "status",
    "SolverError": "exceptions",
    "Structure": "structure",
    "TANClassifier": "estimators",
    "TerminationStatus": "status",
    "certify": "certificate",
    "compare": "comparison",
    "dataset_names": "datasets",
    "distance_to_optimum": "convex_certificate",
    "fix_gauge": "gauge",
    "from_edges": "structure",
    "lambda_path": "lambda_path",
    "load_dataset": "datasets",
    "load_openml": "datasets",
    "log_odds": "scores",
    "naive_bayes": "heuristics",
    "order_mi": "heuristics",
    "prepare": "preparation",
    "read_table": "readers",
    "renormalize": "renormalization",
    "solve": "dispatch",
    "solve_parts": "multiclass",
    "solvers": "dispatch",
    "start": "dispatch",
    "restrict_candidates": "heuristics",
    "tan_cmi": "heuristics",
    "tan_cr": "heuristics",
    "tune": "selection",
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
