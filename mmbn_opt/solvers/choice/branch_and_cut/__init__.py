"""Branch and cut over choice programs with an implicit concave term."""

from .solver import BranchAndCut

__all__ = ["BranchAndCut"]
