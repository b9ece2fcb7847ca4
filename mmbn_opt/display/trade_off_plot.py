"""The curve of a score against a limit, with its bounds."""

from typing import Any

import numpy as np

from mmbn_opt.display._theme import PALETTES
from mmbn_opt.display.curves import value_title
from mmbn_opt.display.plots import new_axes
from mmbn_opt.results.status import Sense, TerminationStatus
from mmbn_opt.solving.trade_off_points import TradeOff

__all__ = ["plot_trade_off"]

_COLOURS = PALETTES["light"]


def plot_trade_off(curve: TradeOff, ax: Any = None) -> Any:
    """Best value found and dual bound at each limit as steps; proved points are filled, open ones are rings.

    Parameters
    ----------
    curve : TradeOff
    ax : matplotlib Axes or None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    ax = new_axes(ax, (7.0, 3.6))
    points = [point for point in curve.points if point.bounds.primal_bound is not None]
    sense = curve.formulation.sense
    limits = np.array([point.limit for point in points], dtype=np.float64)
    primal = np.array([point.bounds.primal_bound for point in points], dtype=np.float64)
    dual = np.array(
        [np.nan if point.bounds.dual_bound is None else point.bounds.dual_bound for point in points], dtype=np.float64
    )
    proved = np.array([point.status is TerminationStatus.OPTIMAL for point in points], dtype=bool)
    blue, red = _COLOURS["--mm-primal"], _COLOURS["--mm-dual"]
    if not proved.all():
        side = "upper bound" if sense is Sense.MAXIMIZE else "lower bound"
        ax.step(limits, dual, where="post", color=red, linestyle="--", linewidth=1.2, label=side)
        ax.fill_between(limits, primal, dual, step="post", color=red, alpha=0.12, linewidth=0, label="gap")
    ax.step(limits, primal, where="post", color=blue, linewidth=1.2, alpha=0.6)
    for which, face, label in ((proved, blue, "proved optimum"), (~proved, "none", "best found")):
        if which.any():
            ax.plot(
                limits[which], primal[which], linestyle="none", marker="o", markersize=5, markerfacecolor=face,
                markeredgecolor=blue, label=label,
            )  # fmt: skip
    if (limits == limits.round()).all():
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel(_limit_title(curve))
    ax.set_ylabel(value_title(curve.formulation.value_name, sense), wrap=True)
    if len(points):
        ax.legend(frameon=False, loc="lower right" if sense is Sense.MAXIMIZE else "upper right")
    return ax


def _limit_title(curve: TradeOff) -> str:
    """What the limit is, read off the constraint of a point."""
    point = curve.points[-1]
    words = str(point.constraint).replace(f" {point.limit:g}", " n", 1)
    return f"Limit n: {words}"
