"""Solvers side by side with matplotlib: gap over time, and performance profiles."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmbn_opt.display._theme import SERIES, series_style
from mmbn_opt.display.comparison_curves import SMALLEST_GAP, profile_steps
from mmbn_opt.display.plots import new_axes
from mmbn_opt.results.trace import BoundTrace

__all__ = ["plot_gaps", "plot_profile"]


def plot_gaps(traces: Sequence[tuple[str, str, BoundTrace]], axes: Any = None) -> Any:
    """Relative gap over time, one drawing a formulation and one line a run.

    Parameters
    ----------
    traces : sequence of (formulation, solver, BoundTrace)
    axes : array of matplotlib Axes or None
        At least one a formulation; by default a new figure.

    Returns
    -------
    object array of matplotlib Axes

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    problems = list(dict.fromkeys(problem for problem, _, _ in traces))
    solvers = list(dict.fromkeys(solver for _, solver, _ in traces))
    rows = -(-max(1, len(problems)) // 2)
    columns = min(2, max(1, len(problems)))
    drawn = np.atleast_1d(new_axes(axes, (5.0 * columns, 2.9 * rows), rows, columns)).ravel()
    for ax, problem in zip(drawn, problems, strict=False):
        for name, solver, trace in traces:
            if name == problem:
                _draw(ax, trace, _line(solvers.index(solver)) | {"label": solver})
        ax.set_yscale("log")
        ax.set_ylim(SMALLEST_GAP * 0.6, 1.5)
        ax.set_title(problem.replace("$", r"\$"), fontsize="medium")
        ax.set_xlabel("Time, seconds")
        ax.set_ylabel("Relative gap (share, log scale)")
    if axes is None:
        for ax in drawn[len(problems) :]:
            ax.set_axis_off()
    told: set[str] = set()
    for ax in drawn[: len(problems)]:
        named = {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        # A legend where a solver is met for the first time; the next drawings only repeat the colours.
        if not named.keys() <= told:
            ax.legend(named.values(), named.keys(), frameon=False, fontsize="small")
            told |= named.keys()
    return drawn


def plot_profile(ratios: Mapping[str, Sequence[float]], n_problems: Mapping[str, int], ax: Any = None) -> Any:
    """Performance profile; returns the Axes."""
    ax = new_axes(ax, (6.0, 3.4))
    end = max(2.0, 1.15 * max((max(r, default=1.0) for r in ratios.values()), default=1.0))
    for place, (solver, found) in enumerate(ratios.items()):
        steps = profile_steps(found, n_problems[solver])
        factors, shares = [f for f, _ in steps], [s for _, s in steps]
        ax.step([*factors, end], [*shares, shares[-1]], where="post", label=solver, **_line(place))
    ax.set_xscale("log")
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("Time, multiple of the fastest (log scale)")
    ax.set_ylabel("Share of problems proved")
    ax.legend(frameon=False, fontsize="small")
    return ax


def _draw(ax: Any, trace: BoundTrace, style: dict[str, Any]) -> None:
    gaps = np.clip([record.gap_rel for record in trace], SMALLEST_GAP, 1.0)
    ax.step([record.time_sec for record in trace], gaps, where="post", **style)


def _line(place: int) -> dict[str, Any]:
    colour, dashes = series_style(place)
    # Dashes are told in points of a line of width 1.
    style = (0.0, [length / 2 for length in dashes]) if dashes else "-"
    return {"color": SERIES["light"][colour], "linestyle": style, "linewidth": 1.5}
