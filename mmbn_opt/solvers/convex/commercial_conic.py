"""COPT and MOSEK on convex programs, through cvxpy: exponential cones, by licence or within their wheels' limits."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..base import Availability
from ..commercial_probe import probe
from .cvxpy_conic import ConicSolver

__all__ = ["CoptConicSolver", "MosekConicSolver"]


@dataclass(frozen=True)
class CoptConicSolver(ConicSolver):
    """COPT (Cardinal Optimizer) on exponential cones."""

    name: ClassVar[str] = "copt_cone"
    title: ClassVar[str] = "COPT on cones"
    licence: ClassVar[str] = "commercial"
    cvxpy_name: ClassVar[str] = "COPT"
    package: ClassVar[str] = "coptpy"

    @classmethod
    def availability(cls) -> Availability:
        """Look whether it minimises ``exp(x)`` over ``x >= 1/2`` in a process of its own (cached)."""
        words = "small programs without a licence, for non-commercial use"
        return probe(cls.cvxpy_name, cls.package, cone=True, without_licence=words)

    def _limits(self, seconds: float) -> dict[str, Any]:
        return {"TimeLimit": seconds}


@dataclass(frozen=True)
class MosekConicSolver(ConicSolver):
    """MOSEK on exponential cones."""

    name: ClassVar[str] = "mosek_cone"
    title: ClassVar[str] = "MOSEK on cones"
    licence: ClassVar[str] = "commercial"
    cvxpy_name: ClassVar[str] = "MOSEK"
    package: ClassVar[str] = "mosek"

    @classmethod
    def availability(cls) -> Availability:
        """Look whether it minimises ``exp(x)`` over ``x >= 1/2`` in a process of its own (cached)."""
        return probe(cls.cvxpy_name, cls.package, cone=True, without_licence="nothing without a licence")

    def _limits(self, seconds: float) -> dict[str, Any]:
        return {"mosek_params": {"MSK_DPAR_OPTIMIZER_MAX_TIME": seconds}}
