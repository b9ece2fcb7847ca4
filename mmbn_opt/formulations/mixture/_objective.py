"""Objective and constraints of CMM as functions of one vector, and the box that keeps the vector near the data."""

from dataclasses import dataclass

import numpy as np

from ..._arrays import FloatArray
from ...mixtures.density import LOWEST_LOG_DENSITY
from ...mixtures.kernels import add_gradient, log_components, normalize_rows
from ...programs.nonlinear import PointEvaluation

__all__ = ["CmmLayout", "CmmObjective", "parameter_box", "soft_margin_of_ratios"]


def soft_margin_of_ratios(log_ratio: FloatArray, signs: FloatArray, h: float) -> tuple[float, FloatArray]:
    """``gamma'`` (Guo et al. 2018, eq. 12) of ``r_i = log p(x_i | 1) - log p(x_i | 2)``, and its gradient in r.

    ``gamma' = -1/h log sum_{positive} exp(-h r) - 1/h log sum_{negative} exp(h r)``: with ``t = y r`` both terms are
    the same soft minimum, which lies below the minimum by at most ``log(n) / h``.
    """
    value, gradient = 0.0, np.zeros_like(log_ratio)
    for sign in (1.0, -1.0):
        rows = np.flatnonzero(signs == sign)
        exponent = -h * sign * log_ratio[rows]
        top = exponent.max()
        share = np.exp(exponent - top)
        total = share.sum()
        value -= float(top + np.log(total)) / h
        gradient[rows] = sign * share / total
    return value, gradient


@dataclass(frozen=True)
class CmmLayout:
    """Where the parameters of two mixtures stand in the vector: prior ratio, then weights, means, variances of each.

    ``P_x = exp(x[0])``, ``w = softmax``, ``var = exp(.) + tau`` (eq. 15 and Table 1).
    """

    n_components: int
    n_features: int

    @property
    def per_mixture(self) -> int:
        """Parameters of one mixture."""
        return self.n_components * (1 + 2 * self.n_features)

    @property
    def size(self) -> int:
        """Length of the vector."""
        return 1 + 2 * self.per_mixture

    def views(self, x: FloatArray, mixture: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights (K,), means (K, d) and variances (K, d) of mixture 0 or 1, as they stand in the vector."""
        k, d = self.n_components, self.n_features
        part = x[1 + mixture * self.per_mixture : 1 + (mixture + 1) * self.per_mixture]
        return part[:k], part[k : k + k * d].reshape(k, d), part[k + k * d :].reshape(k, d)


@dataclass(frozen=True, eq=False)
class _Half:
    """One mixture at one point."""

    log_weights: FloatArray
    means: FloatArray
    excess: FloatArray
    variances: FloatArray
    log_density: FloatArray
    responsibility: FloatArray


@dataclass(frozen=True, eq=False)
class CmmObjective:
    """``f = -gamma'`` and ``c_i = y_i (b + r_i) - xi`` (eq. 12 and 16), b the log prior ratio.

    Parameters
    ----------
    z : float64 array (n_samples, n_features)
        NaN marks a missing value, which is summed out.
    signs : float64 array (n_samples,)
        +1 for the first class, -1 for the second.
    layout : CmmLayout
    h, xi, tau : float
    """

    z: FloatArray
    signs: FloatArray
    layout: CmmLayout
    h: float
    xi: float
    tau: float

    def evaluate(self, x: FloatArray) -> PointEvaluation:
        """Objective, constraints, and the gradient of any combination, in one pass."""
        halves = (self._half(x, 0), self._half(x, 1))
        log_ratio = halves[0].log_density - halves[1].log_density
        margin, slope = soft_margin_of_ratios(log_ratio, self.signs, self.h)

        def pull(weights: FloatArray) -> FloatArray:
            signed = weights * self.signs
            return self._gradient(halves, signed - slope, float(signed.sum()))

        return PointEvaluation(-margin, self.signs * (x[0] + log_ratio) - self.xi, pull)

    def value_and_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """``f`` and its gradient (eq. 22-23)."""
        point = self.evaluate(x)
        return point.value, point.pull(np.zeros(len(self.z)))

    def constraints(self, x: FloatArray) -> FloatArray:
        """``g - xi`` (eq. 16), one entry a sample."""
        return self.evaluate(x).constraints

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Dense Jacobian of the constraints (eq. 24-26), shape (n_samples, n_parameters)."""
        columns = [np.ones((len(self.z), 1))]
        for mixture, sign in ((0, 1.0), (1, -1.0)):
            half = self._half(x, mixture)
            rho = sign * half.responsibility
            e = self.z[:, None, :] - half.means
            seen = ~np.isnan(e)
            scaled = np.where(seen, e, 0.0) / half.variances
            curved = np.where(seen, (np.where(seen, e, 0.0) * scaled - 1.0) / half.variances, 0.0)
            columns += [
                rho - sign * np.exp(half.log_weights),
                (rho[:, :, None] * scaled).reshape(len(self.z), -1),
                (0.5 * rho[:, :, None] * curved * half.excess).reshape(len(self.z), -1),
            ]
        return self.signs[:, None] * np.hstack(columns)

    def _half(self, x: FloatArray, mixture: int) -> _Half:
        weights, means, scales = self.layout.views(x, mixture)
        top = weights.max()
        log_weights = weights - (top + np.log(np.exp(weights - top).sum()))
        excess = np.exp(scales)
        variances = excess + self.tau
        terms = np.empty((len(self.z), self.layout.n_components))
        log_components(self.z, log_weights, np.ascontiguousarray(means), variances, terms)
        log_density = np.empty(len(self.z))
        normalize_rows(terms, LOWEST_LOG_DENSITY, log_density)
        return _Half(log_weights, np.ascontiguousarray(means), excess, variances, log_density, terms)

    def _gradient(self, halves: tuple[_Half, _Half], pull: FloatArray, prior: float) -> FloatArray:
        """``sum_i pull_i dr_i/dx``, with the derivative for the prior ratio given."""
        gradient = np.zeros(self.layout.size)
        gradient[0] = prior
        for mixture, (half, sign) in enumerate(zip(halves, (1.0, -1.0), strict=True)):
            for_weights, for_means, for_variances = self.layout.views(gradient, mixture)
            signed = sign * pull
            add_gradient(
                self.z, half.means, half.variances, half.responsibility, signed, for_weights, for_means, for_variances
            )
            for_weights -= np.exp(half.log_weights) * signed.sum()
            for_variances *= half.excess
        return gradient


PRIOR = 1e6
"""Largest log-ratio of the priors."""

LOG_WEIGHT = 30.0
"""Largest size of a weight before the softmax."""

BEYOND = 1.0
"""How far beyond the data a mean may lie, in standard deviations of the feature."""

VARIANCE = (1e-6, 1e2)
"""Smallest and largest variance above tau, in variances of the feature."""


def parameter_box(layout: CmmLayout, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits of the vector."""
    low = np.where(np.isnan(z), np.inf, z).min(axis=0) - BEYOND
    high = np.where(np.isnan(z), -np.inf, z).max(axis=0) + BEYOND
    bounds = []
    for sign, edge, variance in ((-1.0, low, VARIANCE[0]), (1.0, high, VARIANCE[1])):
        x = np.empty(layout.size)
        x[0] = sign * PRIOR
        for mixture in range(2):
            weights, means, scales = layout.views(x, mixture)
            weights[:] = sign * LOG_WEIGHT
            means[:] = edge
            scales[:] = np.log(variance)
        bounds.append(x)
    return bounds[0], bounds[1]
