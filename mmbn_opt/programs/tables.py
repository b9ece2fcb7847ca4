"""What programs over rows of log-probabilities share: gamma or B, floor and linear term, and the bound of their sum."""

import math
from typing import Protocol

import numpy as np

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.convex_bounds import free_margin_value, nearest_feasible, support_function

__all__ = ["BOUND_RADIUS", "MarginOverTables"]

BOUND_RADIUS = 1000.0
"""Without a floor, dual bounds are over log-parameters of at least minus this: multipliers that sum to zero only up to
rounding would have no bound otherwise."""


class _Tables(Protocol):
    @property
    def gamma(self) -> float | None: ...
    @property
    def strength(self) -> float | None: ...
    @property
    def linear(self) -> FloatArray: ...
    @property
    def log_floor(self) -> float: ...
    @property
    def row_ptr(self) -> IntArray: ...
    @property
    def bound_floor(self) -> float: ...


class MarginOverTables:
    """Losses plus a linear term over rows whose exponentials sum to at most 1.

    What a program has of its own are its losses; this is the rest, for fields ``gamma``, ``strength``, ``linear`` and
    ``log_floor`` and rows that begin at ``row_ptr``.
    """

    def require_gamma_or_strength(self: _Tables) -> None:
        """Refuse both, and neither.

        Raises
        ------
        InputError
        """
        if (self.gamma is None) == (self.strength is None):
            raise InputError(f"Give gamma or strength, not both: got gamma={self.gamma!r}, strength={self.strength!r}.")

    @property
    def loss_weight(self: _Tables) -> float:
        """B, or 1."""
        return self.strength or 1.0

    @property
    def is_linear(self: _Tables) -> bool:
        """Whether the rows never bind, so that the program is a linear one in disguise."""
        return math.isinf(self.log_floor) and not self.linear.any()

    @property
    def bound_floor(self: _Tables) -> float:
        """Floor of the set over which dual bounds hold."""
        return max(self.log_floor, -BOUND_RADIUS)

    def violation(self: _Tables, w: FloatArray) -> float:
        """Largest excess of a row's sum over 1 or of the floor over an entry."""
        sums = np.add.reduceat(np.exp(np.minimum(w, 700.0)), self.row_ptr[:-1])
        floor = 0.0 if math.isinf(self.log_floor) else float((self.log_floor - w).max())
        return max(0.0, float(sums.max()) - 1.0, floor)

    def project(self: _Tables, w: FloatArray) -> FloatArray:
        """Nearest feasible point."""
        return nearest_feasible(w, self.row_ptr, self.log_floor)

    def step_from(
        self: _Tables, z: FloatArray, step: FloatArray, metric: FloatArray, multipliers: FloatArray
    ) -> FloatArray:
        """Nearest feasible point in a metric; see `nearest_feasible`. How long the step was plays no part."""
        return nearest_feasible(z, self.row_ptr, self.log_floor, metric, multipliers)

    def bound_of(self: _Tables, dual_margin: float, v: FloatArray) -> float:
        """Lower bound from the margin S that multipliers ask for and ``v``, linear term included; concave in both."""
        support, _ = support_function(v, self.row_ptr, self.bound_floor)
        if self.gamma is not None:
            return self.gamma * dual_margin - support
        assert self.strength is not None
        return free_margin_value(dual_margin, support, self.strength)
