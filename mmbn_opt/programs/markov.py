"""The quadratic program of maximum-margin Markov networks, matrix-free, with its dual."""

from dataclasses import dataclass, field

import numpy as np

from mmbn_opt._arrays import FloatArray
from mmbn_opt.programs.base import ProgramKind, ProgramSize
from mmbn_opt.programs.convex_bounds import admissible_multipliers
from mmbn_opt.programs.margin_operator import MarginOperator

__all__ = ["MarkovProgram"]


@dataclass(frozen=True, eq=False)
class MarkovProgram:
    """``min 1/2 |w|^2 + C sum_m n_m max(0, max_c delta_mc - (Delta w)_mc)`` over all w.

    For multipliers ``y >= 0`` with ``sum_c y_mc <= C n_m``, ``sum delta y - 1/2 |Delta' y|^2`` is a lower bound.

    Parameters
    ----------
    margins : MarginOperator
    C : float
    delta : float64 array (n_samples or 1, n_classes)
        Scale of the margin asked for; ones for the plain margin.
    max_nonzeros : int
    """

    margins: MarginOperator
    C: float
    delta: FloatArray = field(default_factory=lambda: np.ones((1, 1)))
    max_nonzeros: int = 30_000_000

    def __post_init__(self) -> None:
        if self.delta.shape == (1, 1):
            object.__setattr__(self, "delta", np.full((1, self.margins.n_classes), float(self.delta[0, 0])))

    @property
    def kind(self) -> ProgramKind:
        """Always `ProgramKind.QUADRATIC`."""
        return ProgramKind.QUADRATIC

    @property
    def size(self) -> ProgramSize:
        """Parameters, a row a sample and rival, non-zeros of the margin matrix."""
        rows = self.margins.n_samples * (self.margins.n_classes - 1)
        return ProgramSize(self.margins.n_parameters, 0, rows, 2 * rows * self.margins.n_factors)

    @property
    def scale(self) -> float:
        """Objective at ``w = 0``, where no margin is reached."""
        return self.C * float(self.margins.weight.sum()) * float(self.delta.max())

    @property
    def trivial_bound(self) -> float:
        """The bound of no multipliers."""
        return 0.0

    def first_point(self) -> FloatArray:
        """Zero."""
        return np.zeros(self.margins.n_parameters)

    def project(self, w: FloatArray) -> FloatArray:
        """Every point is feasible."""
        return np.array(w, dtype=np.float64)

    def best_gamma(self, w: FloatArray) -> float:
        """Margin per unit of length, ``1 / |w|`` (inf at zero)."""
        length = float(np.linalg.norm(w))
        return 1.0 / length if length > 0 else float("inf")

    def value(self, w: FloatArray) -> float:
        """Objective at `w`."""
        slack = (self.delta - self.margins.margins(w)).max(axis=1)
        return 0.5 * float(w @ w) + self.C * float(self.margins.weight @ np.maximum(slack, 0.0))

    def violation(self, w: FloatArray) -> float:
        """There is nothing to violate."""
        return 0.0

    def dual_value(self, y: FloatArray) -> float:
        """Rigorous lower bound from any multipliers of shape (n_samples, n_classes); inadmissible ones are clipped.

        Shorter multipliers are admissible too: the bound is that of the best share of `y`.
        """
        allowed = admissible_multipliers(np.array(y), self.margins.labels, self.C * self.margins.weight)
        asked, v = float((self.delta * allowed).sum()), self.margins.adjoint(allowed)
        square = float(v @ v)
        share = 1.0 if square <= asked else asked / square
        return share * asked - 0.5 * share**2 * square
