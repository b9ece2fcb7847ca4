"""A monotone map from the distance between two classes to their log-odds: steep where it pays, level at its end."""

from collections.abc import Sequence

import numpy as np

from mmbn_opt._arrays import FloatArray, IntArray, log_softmax

__all__ = ["Bends", "bent", "choose_bends"]

Bends = tuple[tuple[float, float], ...]
"""Distances, rising, and the log-odds there; straight lines between them from (0, 0), and level after the last."""

_SHARES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Of the distances, at which the map may bend."""


def bent(behind: FloatArray, bends: Bends) -> FloatArray:
    """Log-odds for how far classes lie behind the best one; a class that cannot be stays so.

    Examples
    --------
    >>> bent(np.array([0.0, 1.0, 2.0, 50.0, np.inf]), ((2.0, 1.0), (4.0, 1.5))).tolist()
    [0.0, 0.5, 1.0, 1.5, inf]
    """
    distances, heights = zip(*bends, strict=True)
    found: FloatArray = np.interp(behind, (0.0, *distances), (0.0, *heights))
    return np.where(np.isposinf(behind), np.inf, found)


def choose_bends(behind: FloatArray, codes: IntArray, weight: FloatArray, spread: float) -> tuple[Bends, float]:
    """The map with the least log loss on rows whose classes are known, and that log loss.

    A sum of ramps that rise to their end and are level from there, each with a share of at least 0: the log loss is
    convex in the shares, and no distance beyond those of the rows is believed more than they were.

    Parameters
    ----------
    behind : float64 array (n_samples, n_classes)
        Finite distances >= 0, not all of them 0.
    codes : int array (n_samples,)
    weight : float64 array (n_samples,)
    spread : float
        Share of each row's label that is spread over all classes, so that the shares stay bounded.

    Examples
    --------
    >>> distances = np.array([[0.0, 4.0]] * 30 + [[0.0, 40.0]] * 30)
    >>> bends, loss = choose_bends(distances, np.array([0, 0, 1] * 20), np.ones(60), 0.01)
    >>> [round(far) for far, _ in bends], round(bends[0][1], 1), round(loss, 2)
    ([4, 22, 40], 0.6, 0.64)
    """
    from scipy.optimize import minimize  # deferred: it loads for a fifth of a second, and reports import this

    rows, total = np.arange(len(codes)), float(weight.sum())
    ends = np.unique(np.quantile(behind[behind > 0.0], _SHARES))
    ramps = np.minimum(behind[:, :, None] / ends, 1.0)
    wanted = np.full(behind.shape, spread / behind.shape[1])
    wanted[rows, codes] += 1.0 - spread
    wanted *= (weight / total)[:, None]

    def loss(shares: FloatArray) -> tuple[float, FloatArray]:
        log_proba = log_softmax(-(ramps @ shares))
        slope = np.exp(log_proba) * (weight / total)[:, None] - wanted
        value = -float((wanted * log_proba).sum()) + 0.5 * float(shares @ shares) / total
        return value, shares / total - np.einsum("rc,rck->k", slope, ramps)

    found = minimize(loss, np.full(len(ends), 0.5), jac=True, bounds=[(0.0, None)] * len(ends), method="L-BFGS-B")
    shares: FloatArray = found.x
    heights = np.minimum(ends[:, None] / ends, 1.0) @ shares
    return _rounded(ends.tolist(), heights.tolist()), loss(shares)[0] - 0.5 * float(shares @ shares) / total


def _rounded(distances: Sequence[float], heights: Sequence[float]) -> Bends:
    """Six digits; what differs beyond them only is one bend."""
    kept = {
        float(f"{distance:.6g}"): float(f"{height:.6g}") for distance, height in zip(distances, heights, strict=True)
    }
    return tuple(kept.items())
