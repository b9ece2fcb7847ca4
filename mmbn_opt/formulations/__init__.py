"""Learning problems written down as programs: one module a formulation."""

from .base import Formulation, Start
from .binary_soft_margin import BinarySoftMarginStructure
from .decomposable import DecomposableStructure
from .soft_margin import SoftMarginStructure

__all__ = ["BinarySoftMarginStructure", "DecomposableStructure", "Formulation", "SoftMarginStructure", "Start"]
