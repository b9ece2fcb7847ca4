"""A paper's problem: samples to program, point to model, model to value recomputed; never solves."""

from .base import Formulation, Start
from .mixture.constrained import ConstrainedMaximumMargin
from .mixture.multiclass import MulticlassMargin
from .parameters.conditional_likelihood import ConditionalLikelihood
from .parameters.markov_network import MaxMarginMarkovNetwork
from .parameters.relaxation import MaxMarginRelaxation
from .parameters.smooth_margin import SmoothMargin
from .structure.decomposable import DecomposableStructure
from .structure.local_scores import LocalScoreStructure
from .structure.soft_margin import BinarySoftMarginStructure, SoftMarginStructure

__all__ = [
    "BinarySoftMarginStructure",
    "ConditionalLikelihood",
    "ConstrainedMaximumMargin",
    "DecomposableStructure",
    "Formulation",
    "LocalScoreStructure",
    "MaxMarginMarkovNetwork",
    "MaxMarginRelaxation",
    "MulticlassMargin",
    "SmoothMargin",
    "SoftMarginStructure",
    "Start",
]
