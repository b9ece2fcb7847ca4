"""The box that keeps CMM's parameters near the data: without it the margin grows without limit."""

import numpy as np
from numpy.typing import NDArray

from ._cmm_objective import CmmLayout

__all__ = ["parameter_box"]

FloatArray = NDArray[np.float64]

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
