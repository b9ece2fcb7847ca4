"""Convex margin programs over samples that are passed over, and never held: no multiplier is kept of any of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.base import ProgramKind, ProgramSize
from mmbn_opt.programs.convex import ConvexProgram
from mmbn_opt.programs.labellings import soft_parts
from mmbn_opt.programs.margin_operator import MarginOperator
from mmbn_opt.programs.tables import MarginOverTables

__all__ = ["ConvexPassProgram", "MarginPasses"]


class MarginPasses(Protocol):
    """What a pass over samples says of their margins; see `MarginOperator` for those that are held."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def n_parameters(self) -> int:
        """Length of w."""

    @property
    def n_factors(self) -> int:
        """Factors that a sample sums over."""

    @property
    def frequency(self) -> FloatArray:
        """Share of the samples that look up each entry of w, for any class."""

    def smooth_hinge(
        self, w: FloatArray, delta: FloatArray, gamma: float, tau: float
    ) -> tuple[float, float, float, FloatArray]:
        """Smoothed hinge sum, hinge sum, ``gamma sum delta y`` and ``Delta' y`` of its multipliers y, in one pass."""

    def hinge(self, w: FloatArray, gamma: float) -> float:
        """Sum of what margins lack of gamma."""

    def lost(self, w: FloatArray) -> int:
        """Samples whose own class does not have the largest score alone."""

    def sampled(self, n_samples: int) -> MarginOperator:
        """About so many of the samples, drawn evenly, with weights that sum to the number of all."""


@dataclass(frozen=True, eq=False)
class ConvexPassProgram(MarginOverTables):
    """The program of `ConvexProgram` with gamma fixed, for samples of weight 1 that lie in a file.

        minimise  sum_m max(0, max_c gamma - (Delta w)_mc) - linear.w
        s.t.      sum_i exp(w_i) <= 1 in each block,  w >= log_floor.

    Multipliers are those of a soft maximum at some point and temperature, written down as these (`soft_labellings`):
    one pass makes the bound of them.

    Parameters
    ----------
    margins : MarginPasses
    row_ptr : int64 array (n_blocks + 1,)
    gamma : float
    linear : float64 array (n,)
    log_floor : float
        ``-inf`` for none; dual bounds then hold over ``w >= -1000``.
    """

    margins: MarginPasses
    row_ptr: IntArray
    gamma: float
    linear: FloatArray
    log_floor: float

    def __post_init__(self) -> None:
        n = self.margins.n_parameters
        if self.linear.shape != (n,) or int(self.row_ptr[-1]) != n:
            raise InputError(f"The program has {n} parameters; linear {self.linear.shape}, blocks {self.row_ptr[-1]}.")

    @property
    def kind(self) -> ProgramKind:
        """Always `ProgramKind.CONVEX_PASSES`."""
        return ProgramKind.CONVEX_PASSES

    @property
    def strength(self) -> None:
        """There is none: gamma is fixed."""

    @property
    def size(self) -> ProgramSize:
        """Parameters; margin rows and blocks; non-zeros that the margin matrix would have."""
        rows = self.margins.n_samples * (self.margins.n_classes - 1)
        return ProgramSize(
            self.margins.n_parameters, 0, rows + len(self.row_ptr) - 1, 2 * rows * self.margins.n_factors
        )

    @property
    def mass(self) -> float:
        """Number of samples."""
        return float(self.margins.n_samples)

    @property
    def scale(self) -> float:
        """What the losses of all samples add up to where no margin is reached."""
        return self.mass * self.gamma

    @property
    def frequency(self) -> FloatArray:
        """Share of the samples that look up each entry of w, for any class."""
        return self.margins.frequency

    @cached_property
    def _delta(self) -> FloatArray:
        return np.ones((1, self.margins.n_classes))

    @property
    def trivial_bound(self) -> float:
        """The bound of no multipliers."""
        return self.bound_of(0.0, self.linear)

    def first_point(self) -> FloatArray:
        """Every row uniform."""
        sizes = np.diff(self.row_ptr)
        return np.repeat(-np.log(sizes), sizes)

    def best_gamma(self, w: FloatArray) -> float:
        """The fixed gamma."""
        return self.gamma

    def value(self, w: FloatArray) -> float:
        """Objective at `w` (which is not checked here: see `violation`)."""
        return self.margins.hinge(w, self.gamma) - float(self.linear @ w)

    def smooth_hinge(self, w: FloatArray, gamma: float, tau: float) -> tuple[float, float, float, FloatArray]:
        """Losses with a soft maximum, those with a hard one, ``gamma sum delta y``, and ``Delta' y`` of its weights."""
        return self.margins.smooth_hinge(w, self._delta, gamma, tau)

    def separates(self, w: FloatArray) -> bool:
        """Whether every sample's class has the largest score."""
        return self.margins.lost(w) == 0

    def dual_value(self, y: FloatArray) -> float:
        """Rigorous lower bound from multipliers as `soft_labellings` makes them; what is none counts as zeros."""
        soft = soft_parts(y, self.margins.n_parameters)
        if soft is None or soft[0] == 0.0:
            return self.trivial_bound
        gamma, tau, w = soft
        _, _, asked, v = self.smooth_hinge(w, gamma, tau)
        return self.bound_of(asked / gamma, v + self.linear)

    def sampled(self, n_samples: int) -> ConvexProgram:
        """The program of about so many samples, held: near the whole in value, no bound of anything."""
        return ConvexProgram(
            self.margins.sampled(n_samples), self.row_ptr, self.gamma, None, self.linear, self.log_floor
        )
