"""Line search for the strong Wolfe conditions, with value and slope from one evaluation."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..._arrays import FloatArray

__all__ = ["LineStep", "strong_wolfe"]


@dataclass(frozen=True, eq=False)
class LineStep:
    """A point on the line ``x + length * direction``, with value, gradient and slope along the line."""

    length: float
    x: FloatArray
    value: float
    gradient: FloatArray
    slope: float


def strong_wolfe(
    evaluate: Callable[[FloatArray], tuple[float, FloatArray]],
    origin: LineStep,
    direction: FloatArray,
    length: float,
    *,
    c1: float = 1e-4,
    c2: float = 0.1,
    max_evaluations: int = 20,
) -> LineStep | None:
    """Find a step with ``f(a) <= f(0) + c1 a f'(0)`` and ``|f'(a)| <= c2 |f'(0)|``.

    A bracket is widened by the secant of the slopes and narrowed by cubic interpolation (Nocedal & Wright 2006,
    algorithms 3.5 and 3.6). A point where the function is not finite counts as too far.

    Parameters
    ----------
    evaluate : callable x -> (value, gradient)
    origin : LineStep
        Where the line starts, with length 0 and a negative slope.
    direction : float64 array (n,)
    length : float
        First step that is tried.
    c1, c2 : float
        ``0 < c1 < c2 < 1``.

    Returns
    -------
    LineStep or None
        After `max_evaluations` the best point with sufficient decrease; None when there was none.

    Examples
    --------
    >>> import numpy as np
    >>> bowl = lambda x: (float(x @ x), 2 * x)
    >>> x = np.array([3.0])
    >>> step = strong_wolfe(bowl, LineStep(0.0, x, 9.0, 2 * x, -36.0), direction=-2 * x, length=0.1)
    >>> round(step.length, 9)
    0.5
    """
    low, high = origin, None  # low: lowest point with sufficient decrease; the minimum lies between low and high
    previous = origin
    for _ in range(max_evaluations):
        x = origin.x + length * direction
        value, gradient = evaluate(x)
        point = LineStep(length, x, value, gradient, float(gradient @ direction))
        if not math.isfinite(value) or value > origin.value + c1 * length * origin.slope or value >= low.value:
            high = point
        elif abs(point.slope) <= -c2 * origin.slope:
            return point
        elif high is None and point.slope < 0:
            previous, low = low, point
        else:
            if high is None or point.slope * (high.length - low.length) >= 0:
                high = low
            low = point
        if high is None:
            length = _further(previous, low)
        else:
            length = _between(low, high)
            if length in (low.length, high.length):
                break
    return low if low.length > 0 else None


def _further(previous: LineStep, last: LineStep) -> float:
    """Where the slope would vanish if it went on as between two points, within 1.5 and 10 times the last step."""
    change = last.slope - previous.slope
    secant = last.length - last.slope * (last.length - previous.length) / change if change > 0 else math.inf
    return float(min(max(secant, 1.5 * last.length), 10.0 * last.length))


def _between(low: LineStep, high: LineStep) -> float:
    """Minimum of the cubic through both points, kept off the ends of the bracket."""
    width = high.length - low.length
    if not (math.isfinite(high.value) and math.isfinite(high.slope)):
        return low.length + 0.1 * width
    d1 = low.slope + high.slope - 3.0 * (low.value - high.value) / (low.length - high.length)
    square = d1 * d1 - low.slope * high.slope
    share = 0.5
    if square >= 0.0:
        d2 = math.copysign(math.sqrt(square), width)
        denominator = high.slope - low.slope + 2.0 * d2
        if denominator != 0.0:
            share = 1.0 - (high.slope + d2 - d1) / denominator
    return low.length + min(max(share, 0.05), 0.95) * width
