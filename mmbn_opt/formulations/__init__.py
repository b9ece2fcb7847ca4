"""A paper's problem: samples to program, point to model, model to value recomputed; never solves."""

from .base import Formulation, Start
from .mixture.constrained import ConstrainedMaximumMargin
from .mixture.multiclass import MulticlassMargin
from .parameters.conditional_likelihood import ConditionalLikelihood
from .parameters.markov_network import MaxMarginMarkovNetwork
from .parameters.relaxation import MaxMarginRelaxation
from .parameters.smooth_margin import SmoothMargin
from .sequence.conditional_likelihood import SequenceConditionalLikelihood
from .sequence.markov_network import SequenceMarkovNetwork
from .sequence.max_margin import SequenceMaxMargin
from .sequence.smooth_margin import SequenceSmoothMargin
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
    "SequenceConditionalLikelihood",
    "SequenceMarkovNetwork",
    "SequenceMaxMargin",
    "SequenceSmoothMargin",
    "SmoothMargin",
    "SoftMarginStructure",
    "Start",
]
