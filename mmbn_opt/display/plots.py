"""Traces and networks drawn with matplotlib."""

from typing import Any

import numpy as np

from mmbn_opt.display._theme import PALETTES
from mmbn_opt.display.curves import value_title
from mmbn_opt.display.layout import DrawnEdge, layered_layout
from mmbn_opt.display.svg import box_labels, drawable_part
from mmbn_opt.exceptions import MissingDependencyError
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.status import Sense
from mmbn_opt.results.trace import BoundTrace

__all__ = ["new_axes", "plot_network", "plot_trace"]

_COLOURS = PALETTES["light"]
_PIXELS_PER_INCH = 90.0


def plot_trace(trace: BoundTrace, ax: Any = None, *, value_name: str = "Objective") -> Any:
    """Incumbent and dual bound over time as steps, the gap shaded.

    Parameters
    ----------
    trace : BoundTrace
    ax : matplotlib Axes or None
        Where to draw; by default a new figure.
    value_name : str
        What the objective is, with its unit: ``result.formulation.value_name``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    ax = new_axes(ax, (7.0, 3.2))
    frame = trace.to_frame()
    times = frame["time_sec"].to_numpy()
    primal, dual = frame["primal_bound"].to_numpy(), frame["dual_bound"].to_numpy()
    side = "upper bound" if trace.sense is Sense.MAXIMIZE else "lower bound"
    known = {
        name: values
        for name, values in (("incumbent (best found)", primal), (side, dual))
        if not np.isnan(values).all()
    }
    for name, values in known.items():
        style = ("--mm-primal", "-") if values is primal else ("--mm-dual", "--")
        # A single moment is a mark: a step of no length could not be seen.
        mark = "o" if np.unique(times[~np.isnan(values)]).size < 2 else None
        ax.step(times, values, where="post", color=_COLOURS[style[0]], linestyle=style[1], label=name, marker=mark)
    if len(known) == 2:
        ax.fill_between(
            times, primal, dual, step="post", color=_COLOURS["--mm-dual"], alpha=0.12, linewidth=0, label="gap"
        )
    ax.set_xlabel("Time, seconds")
    ax.set_ylabel(value_title(value_name, trace.sense), wrap=True)
    if known:
        ax.legend(frameon=False)
    return ax


def plot_network(network: BayesianNetwork | Structure, ax: Any = None) -> Any:
    """The drawing of a network or a structure, laid out as in notebooks and reports.

    Parameters
    ----------
    network : BayesianNetwork or Structure
    ax : matplotlib Axes or None
        Where to draw; by default a new figure of fitting size.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    structure, _ = drawable_part(network.structure if isinstance(network, BayesianNetwork) else network)
    layout = layered_layout(structure)
    ax = new_axes(ax, (layout.width / _PIXELS_PER_INCH, layout.height / _PIXELS_PER_INCH))
    from matplotlib.patches import FancyBboxPatch

    for edge in sorted(layout.edges, key=lambda e: not e.by_bus):
        _draw_edge(ax, edge)
    for box, label in zip(layout.boxes, box_labels(structure, layout), strict=True):
        is_class = structure.has_class and box.node == structure.class_index
        corner = (box.x - box.width / 2 + 4, box.top + 4)
        patch = FancyBboxPatch(
            corner,
            box.width - 8,
            box.height - 8,
            boxstyle="round,pad=4",
            facecolor=_COLOURS["--mm-class" if is_class else "--mm-fill"],
            edgecolor=_COLOURS["--mm-class" if is_class else "--mm-line"],
            zorder=2,
        )
        ax.add_patch(patch)
        # A dollar sign would start a formula.
        ax.text(
            box.x,
            box.y,
            label.replace("$", r"\$"),
            ha="center",
            va="center",
            fontsize=9,
            color=_COLOURS["--mm-class-text" if is_class else "--mm-text"],
            fontweight="bold" if is_class else "normal",
            zorder=3,
        )
    ax.set_xlim(0, layout.width)
    ax.set_ylim(layout.height, 0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def new_axes(ax: Any, size: tuple[float, float], rows: int = 1, columns: int = 1) -> Any:
    """The Axes given, or those of a new figure of a size in inches; an array of them where there are several."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingDependencyError(
            "Plots need the package matplotlib; install it with: pip install 'mmbn-opt[plot]'"
        ) from error
    return plt.subplots(rows, columns, figsize=size, layout="constrained")[1]


def _draw_edge(ax: Any, edge: DrawnEdge) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (x, y), *rest = edge.points
    vertices, codes = [(x, y)], [Path.MOVETO]
    for x1, y1 in rest:
        if edge.by_bus:
            vertices.append((x1, y1))
            codes.append(Path.LINETO)
        else:
            middle = (y + y1) / 2
            vertices += [(x, middle), (x1, middle), (x1, y1)]
            codes += [Path.CURVE4] * 3
        x, y = x1, y1
    colour = _COLOURS["--mm-bus" if edge.by_bus else "--mm-arc"]
    ax.add_patch(PathPatch(Path(vertices, codes), facecolor="none", edgecolor=colour, linewidth=1.1, zorder=1))
    ax.fill([x - 3.6, x + 3.6, x], [y - 6.5, y - 6.5, y], color=colour, linewidth=0, zorder=1.5)
