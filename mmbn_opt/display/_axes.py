"""Axes for curves: ranges worth looking at, round ticks, short tick labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Axis", "linear_axis", "time_axis", "value_range"]

_MOMENT = 1e-6
"""Shortest run, in seconds, that has a time axis of its own."""
_TINY = 1e-200


@dataclass(frozen=True)
class Axis:
    """A scale from values to pixels.

    Parameters
    ----------
    low, high : float
        Ends of the range, in values.
    start, end : float
        Their pixels.
    log : bool
    ticks : tuple of (value, label)
    """

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def __call__(self, value: float) -> float:
        """Pixel of a value; beyond the ends the pixel of the end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def nice_step(span: float, count: int) -> float:
    """The number of the form 1, 2 or 5 times a power of ten that divides `span` into about `count` parts.

    Examples
    --------
    >>> nice_step(0.9, 5), nice_step(730.0, 5)
    (0.2, 200.0)
    """
    power = 10.0 ** math.floor(math.log10(span / count))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= span / count * 0.999)


def linear_axis(low: float, high: float, start: float, end: float, *, count: int = 5) -> Axis:
    """A linear axis over exactly ``[low, high]`` with round ticks inside."""
    step = nice_step(high - low, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    ticks = tuple((k * step, _label(k * step, decimals)) for k in range(first, last + 1))
    return Axis(low, high, start, end, False, ticks)


def time_axis(times: Sequence[float], start: float, end: float, *, count: int = 6) -> Axis:
    """Seconds: linear, or logarithmic where most of what happened lies within the first fiftieth of the run."""
    total = max(times, default=0.0)
    if total < _MOMENT:
        return linear_axis(0.0, 1.0, start, end, count=count)
    early = sorted(t for t in times if t > 0.0)
    if total < 1.0 or len(early) < 4 or early[len(early) // 2] > total / 50:
        return linear_axis(0.0, total, start, end, count=count)
    low = 10.0 ** math.floor(math.log10(max(early[0], total * 1e-5)))
    decades = range(round(math.log10(low)), math.floor(math.log10(total) + 1e-9) + 1)
    return Axis(low, total, start, end, True, tuple((10.0**k, f"{10.0**k:,g}") for k in decades))


def value_range(levels: Sequence[tuple[float, float]], final: Sequence[float]) -> tuple[float, float]:
    """The range worth drawing: everything, or less where far-off levels would press the rest flat.

    Levels are taken in order of their distance from the final ones. Those that hold for nine tenths of the axis are
    enough when the whole is much wider; those for one half, when it is wider by far, as with a trivial first bound.

    Parameters
    ----------
    levels : sequence of (value, share)
        Each level of a curve and the share of the axis over which it holds.
    final : sequence of float
        The last level of each curve; always inside.

    Examples
    --------
    >>> value_range([(100.0, 0.05), (12.0, 0.35), (11.0, 0.6), (10.0, 1.0)], [11.0, 10.0])
    (9.88, 12.12)
    """
    nearest = sorted(levels, key=lambda level: _reach(level[0], min(final), max(final)))
    whole = _covering(nearest, final, 1.0)
    low, high = whole
    for share, factor in ((0.9, 2.5), (0.5, 12.0)):
        inner = _covering(nearest, final, share)
        if 0.0 < (inner[1] - inner[0]) * factor < whole[1] - whole[0]:
            low, high = _extended(nearest, inner, whole)
            break
    span, scale = high - low, max(abs(low), abs(high))
    pad = 0.06 * span
    if span <= max(1e-12 * scale, _TINY):
        pad = 0.05 * scale if scale > _TINY else 1.0
    return low - pad, high + pad


def _reach(value: float, low: float, high: float) -> float:
    return max(low - value, value - high, 0.0)


def _covering(nearest: Sequence[tuple[float, float]], final: Sequence[float], share: float) -> tuple[float, float]:
    low, high, held = min(final), max(final), 0.0
    enough = share * sum(s for _, s in nearest) - 1e-12
    for value, holds in nearest:
        if held >= enough and share < 1.0:
            break
        low, high, held = min(low, value), max(high, value), held + holds
    return low, high


def _extended(
    nearest: Sequence[tuple[float, float]], inner: tuple[float, float], whole: tuple[float, float]
) -> tuple[float, float]:
    """The inner range and what lies close to it, up to an eighth of the whole."""
    low, high = inner
    for value, _ in nearest:
        wider = min(low, value), max(high, value)
        if _reach(value, low, high) > 5.0 * (high - low) or wider[1] - wider[0] > (whole[1] - whole[0]) / 8.0:
            break
        low, high = wider
    return low, high


def _label(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    if decimals > 6 or abs(value) >= 1e12:
        text = f"{value:.3g}"
    return "0" if float(text.replace(",", "")) == 0.0 else text.replace("-", "−")
