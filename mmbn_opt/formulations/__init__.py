"""Learning problems written down as programs: one module a formulation."""

from .base import Formulation, Start
from .binary_soft_margin import BinarySoftMarginStructure
from .conditional_likelihood import ConditionalLikelihood
from .constrained_maximum_margin import ConstrainedMaximumMargin
from .decomposable import DecomposableStructure
from .max_margin_markov_network import MaxMarginMarkovNetwork
from .max_margin_relaxation import MaxMarginRelaxation
from .multiclass_margin import MulticlassMargin
from .smooth_margin import SmoothMargin
from .soft_margin import SoftMarginStructure

__all__ = [
    "BinarySoftMarginStructure",
    "ConditionalLikelihood",
    "ConstrainedMaximumMargin",
    "DecomposableStructure",
    "Formulation",
    "MaxMarginMarkovNetwork",
    "MaxMarginRelaxation",
    "MulticlassMargin",
    "SmoothMargin",
    "SoftMarginStructure",
    "Start",
]
