"""Rigorous bounds for convex margin programs, as pure functions of arrays.

At fixed gamma the primal objective is ``P(w) = sum_m n_m max(0, max_c gamma delta_mc - margin_mc) - linear.w`` over
``sum exp(w) <= 1`` in each CPT row and ``w >= log_floor``. For any multipliers ``y >= 0`` with ``sum_c y_mc <= n_m``

    D(y) = gamma sum delta y - h_L(linear + Delta' y)  <=  min P,

where h_L is the support function of the blocks. With gamma free and weight B the first term becomes
``1.5 S^(2/3)`` with ``S = B sum delta y``, and the second is multiplied by B.
"""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.programs.margin_kernels import project_rows, support_rows

__all__ = [
    "admissible_multipliers",
    "best_gamma",
    "free_margin_value",
    "nearest_feasible",
    "support_function",
    "support_multipliers",
]


def support_function(v: FloatArray, row_ptr: IntArray, log_floor: float) -> tuple[float, FloatArray]:
    """``max { v.w : sum exp(w) <= 1 in each row, w >= log_floor }`` and a point that attains it, exactly.

    Without a floor the value is ``sum v log(v / sum v)``, and infinite when an entry of `v` is negative.

    Parameters
    ----------
    v : float64 array (n,)
    row_ptr : int64 array (n_rows + 1,)
        Where each row starts in `v`, and its end.
    log_floor : float
        Negative, or ``-inf``.

    Examples
    --------
    >>> value, point = support_function(np.array([3.0, 1.0, -2.0]), np.array([0, 3]), np.log(0.1))
    >>> np.exp(point).round(3).tolist()
    [0.675, 0.225, 0.1]
    >>> support_function(np.array([3.0, -1.0]), np.array([0, 2]), -np.inf)[0]
    inf
    """
    point = np.empty_like(v)
    if np.isneginf(log_floor) and (v < 0).any():
        return np.inf, point
    value = float(support_rows(v, row_ptr, log_floor, point))
    return value, point


def support_multipliers(v: FloatArray, row_ptr: IntArray, log_floor: float) -> tuple[FloatArray, FloatArray]:
    """What the sums of the rows, and the floor of each entry, weigh in `support_function`; none is negative.

    At the point of the maximum ``v_i = lambda_r exp(w_i) - mu_i``, and ``mu_i = 0`` off the floor.

    Examples
    --------
    >>> sums, floors = support_multipliers(np.array([3.0, 1.0, -2.0]), np.array([0, 3]), np.log(0.1))
    >>> sums.round(3).tolist(), floors.round(3).tolist()
    ([4.444], [0.0, 0.0, 2.444])
    """
    _, point = support_function(v, row_ptr, log_floor)
    largest = np.maximum.reduceat(v, row_ptr[:-1])
    highest = np.maximum.reduceat(point, row_ptr[:-1])
    sums = np.maximum(largest, 0.0) * np.exp(-highest)
    floors = np.repeat(sums, np.diff(row_ptr)) * np.exp(point) - v
    return sums, np.where(point <= log_floor, np.maximum(floors, 0.0), 0.0)


def nearest_feasible(
    w: FloatArray,
    row_ptr: IntArray,
    log_floor: float,
    metric: FloatArray | None = None,
    multipliers: FloatArray | None = None,
) -> FloatArray:
    """The point of the feasible set that is nearest to `w`; `w` itself, to the last digit, when it is feasible.

    Parameters
    ----------
    metric : float64 array (n,) or None
        Positive weights of the squares.
    multipliers : float64 array (n_rows,) or None
        Where to start the search in each row; receives where it ended.

    Examples
    --------
    >>> w = nearest_feasible(np.array([0.0, 0.0, -40.0]), np.array([0, 3]), np.log(1e-3))
    >>> np.exp(w).round(4).tolist()
    [0.4995, 0.4995, 0.001]
    """
    out = np.empty_like(w)
    weights = np.ones_like(w) if metric is None else metric
    start = np.zeros(len(row_ptr) - 1) if multipliers is None else multipliers
    project_rows(np.ascontiguousarray(w, dtype=np.float64), weights, row_ptr, log_floor, start, out)
    return out


def admissible_multipliers(y: FloatArray, labels: NDArray[np.integer], weight: FloatArray) -> FloatArray:
    """The multipliers nearest to what a solver returned that the bound allows: none negative, at most n_m a sample.

    Examples
    --------
    >>> admissible_multipliers(np.array([[9.0, 3.0, -0.1]]), np.array([0]), np.array([2.0])).tolist()
    [[0.0, 2.0, 0.0]]
    """
    clipped: FloatArray = np.maximum(np.nan_to_num(y, nan=0.0, posinf=0.0, neginf=0.0), 0.0)
    clipped[np.arange(len(labels)), labels] = 0.0
    total = clipped.sum(axis=1)
    over = total > weight
    clipped[over] *= (weight[over] / total[over])[:, None]
    return clipped


def free_margin_value(dual_margin: float, support: float, strength: float) -> float:
    """Dual bound with gamma free: ``1.5 (B S)^(2/3) - B h_L``.

    Examples
    --------
    >>> free_margin_value(8.0, 1.0, strength=1.0)
    5.0
    """
    return float(1.5 * np.cbrt(strength * dual_margin) ** 2 - strength * support)


def best_gamma(margins: FloatArray, delta: FloatArray, weight: FloatArray, strength: float) -> float:
    """The margin gamma that minimises ``1 / (2 gamma^2) + B sum_m n_m max(0, max_c gamma delta_mc - margins_mc)``.

    Parameters
    ----------
    margins : float64 array (n_samples, n_classes)
        By rival class; +inf for a sample's own class.
    delta : float64 array (n_samples or 1, n_classes)
    strength : float
        B.

    Examples
    --------
    One sample of margin 0: ``-1 / gamma^3 + B = 0``.

    >>> round(best_gamma(np.array([[np.inf, 0.0]]), np.ones((1, 2)), np.ones(1), strength=0.125), 9)
    2.0
    """
    rows = np.arange(len(weight))

    def slope(gamma: float) -> float:
        slack = gamma * delta - margins
        worst = slack.argmax(axis=1)
        active = slack[rows, worst] > 0
        scale = np.broadcast_to(delta, margins.shape)[rows, worst]
        return float(-(gamma**-3.0) + strength * (weight * scale)[active].sum())

    low, high = 1e-12, 1.0
    while slope(high) < 0:
        high *= 2.0
        if high > 1e12:
            return high
    while slope(0.5 * high) > 0 and high > low:
        high *= 0.5
    low = 0.5 * high
    for _ in range(100):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 0.5 * (low + high)
