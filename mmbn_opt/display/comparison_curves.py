"""Solvers side by side as SVG: gap over time, and performance profiles."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmbn_opt.display._axes import Axis, linear_axis, time_axis
from mmbn_opt.display._text import escape, number, shorten
from mmbn_opt.display._theme import FONT, STANDALONE_STYLE, svg_opening, themed
from mmbn_opt.display.curves import BOTTOM, HEIGHT, WIDTH, frame
from mmbn_opt.results.trace import BoundTrace

__all__ = ["COLOURS", "Series", "gaps_svg", "profile_steps", "profile_svg"]

COLOURS = ("#1d4ed8", "#c2410c", "#15803d", "#7c3aed", "#b91c1c", "#0e7490", "#be185d", "#57534e")
"""One a solver; from the ninth on they are dashed."""
_DARK_COLOURS = ("#86a8ff", "#fb9a5b", "#4ade80", "#c4a5ff", "#f87171", "#5cd0e6", "#f58ac0", "#c9c4be")

SMALLEST_GAP = 1e-6
"""A gap that is smaller is drawn as this one: proofs in floating-point numbers end here."""

_TOP, _LEFT, _LEGEND = 14.0, 66.0, 196.0
_CLASS = "mmbn-many"
_LINE = 17.0

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """One stair of a drawing: a name, and points at which the level changes; NaN where there is none yet."""

    name: str
    points: tuple[Point, ...]
    end: float


def gaps_svg(traces: Sequence[tuple[str, BoundTrace]], *, standalone: bool = True) -> str:
    """Relative gap over time, one line a run; runs of one solver share a colour.

    Parameters
    ----------
    traces : sequence of (solver, BoundTrace)
    standalone : bool
        Whether the drawing sets its own text colour and ground, as a file must.

    Returns
    -------
    str
        An ``<svg>`` element without ids, scripts or links.

    Examples
    --------
    >>> "no bounds to draw" in gaps_svg([])
    True
    """
    series = [Series(name, _gap_points(trace), trace.records[-1].time_sec) for name, trace in traces if trace.records]
    if not any(s.points for s in series):
        return _message("no bounds to draw", standalone)
    times = [t for s in series for t, _ in s.points] + [s.end for s in series]
    x = time_axis(times, _LEFT, WIDTH - _LEGEND)
    decades = [10.0**k for k in range(-6, 1, 1)]
    ticks = tuple((d, _gap_label(d)) for d in decades)
    y = Axis(SMALLEST_GAP, 1.0, HEIGHT - BOTTOM, _TOP, True, ticks)
    return _drawing(series, x, y, None, "relative gap over time", standalone, dots=True)


def profile_svg(
    ratios: Mapping[str, Sequence[float]], n_problems: Mapping[str, int], *, standalone: bool = True
) -> str:
    """Performance profile: share of problems done within a factor of the best time.

    Parameters
    ----------
    ratios : mapping of str to sequence of float
        For each solver its time on each problem that it did, over the best time.
    n_problems : mapping of str to int
        For each solver the problems that it was run on.
    standalone : bool

    Examples
    --------
    >>> "a: 2 of 2" in profile_svg({"a": [1.0, 1.0]}, {"a": 2})
    True
    """
    if not any(ratios.values()):
        return _message("nothing was proved", standalone)
    largest = max(2.0, 1.15 * max(max(r, default=1.0) for r in ratios.values()))
    x = Axis(1.0, largest, _LEFT, WIDTH - _LEGEND, True, _factor_ticks(largest))
    shares = linear_axis(0.0, 1.0, HEIGHT - BOTTOM, _TOP)
    y = Axis(0.0, 1.0, shares.start, shares.end, False, tuple((v, f"{100 * v:.0f} %") for v, _ in shares.ticks))
    series = [
        Series(f"{solver}: {len(found)} of {n_problems[solver]}", profile_steps(found, n_problems[solver]), largest)
        for solver, found in ratios.items()
    ]
    label = "performance profile"
    return _drawing(series, x, y, "times the best solver's time (log scale)", label, standalone, dots=False)


def profile_steps(ratios: Sequence[float], n_problems: int) -> tuple[Point, ...]:
    """Corners of a profile's stair, from factor 1 on."""
    levels = {1.0: 0.0} | {r: (k + 1) / n_problems for k, r in enumerate(sorted(ratios))}
    return tuple(levels.items())


def _gap_points(trace: BoundTrace) -> tuple[Point, ...]:
    points: list[Point] = []
    for record in trace:
        gap = record.gap_rel
        if math.isinf(gap):
            continue
        level = min(1.0, max(SMALLEST_GAP, gap))
        if not points or level != points[-1][1]:
            points.append((record.time_sec, level))
    return tuple(points)


def _gap_label(gap: float) -> str:
    if gap <= SMALLEST_GAP:
        return "closed"
    return f"{100 * gap:g} %" if gap >= 1e-4 else f"{100 * gap:.4f}".rstrip("0") + " %"


def _factor_ticks(largest: float) -> tuple[tuple[float, str], ...]:
    steps = (1.0, 2.0, 5.0) if largest < 1000 else (1.0,)
    values = [m * 10.0**k for k in range(9) for m in steps]
    return tuple((v, f"{v:,.0f}×") for v in values if v <= largest)


def _drawing(
    series: Sequence[Series], x: Axis, y: Axis, unit: str | None, label: str, standalone: bool, *, dots: bool
) -> str:
    names = list(dict.fromkeys(s.name for s in series))
    height = max(HEIGHT, _TOP + _LINE * len(names) + 10.0)
    parts = [frame(x, y, unit)]
    several = len(series) > len(names)
    parts += [_stair(s, names.index(s.name), x, y, thin=several, dot=dots) for s in series]
    parts += [_legend_entry(name, k) for k, name in enumerate(names)]
    style = _style(len(names)) + (_ground(standalone))
    opening = svg_opening(_CLASS, WIDTH, height, f"{label}: {', '.join(names)}", standalone=standalone)
    return f"{opening}<style>{style}</style>{''.join(parts)}</svg>"


def _ground(standalone: bool) -> str:
    return STANDALONE_STYLE if standalone else ""


def _message(text: str, standalone: bool) -> str:
    opening = svg_opening(_CLASS, WIDTH, 60.0, text, standalone=standalone)
    return (
        f"{opening}<style>{_style(0)}{_ground(standalone)}</style>"
        f'<text class="soft" x="{WIDTH / 2}" y="34" text-anchor="middle">{text}</text></svg>'
    )


def _style(n_series: int) -> str:
    light = {f"--mm-s{k}": COLOURS[k % len(COLOURS)] for k in range(n_series)}
    dark = {f"--mm-s{k}": _DARK_COLOURS[k % len(COLOURS)] for k in range(n_series)}
    base = {"--mm-soft": "#5a6572", "--mm-line": "#c5ccd6"}
    night = {"--mm-soft": "#9aa5b4", "--mm-line": "#465060"}
    rules = "".join(
        f".{_CLASS} .s{k} path{{stroke:var(--mm-s{k})}}.{_CLASS} .s{k} circle{{fill:var(--mm-s{k})}}"
        for k in range(n_series)
    )
    return (
        themed(f".{_CLASS}", base | light, night | dark)
        + f".{_CLASS}{{font:12px {FONT};max-width:100%;height:auto}}"
        + f".{_CLASS} text{{fill:currentColor}}.{_CLASS} .soft{{fill:var(--mm-soft)}}"
        + f".{_CLASS} .grid{{stroke:var(--mm-line);opacity:.55}}.{_CLASS} .axis{{stroke:var(--mm-line)}}"
        + f".{_CLASS} g path{{fill:none;stroke-width:2;stroke-linejoin:round}}.{_CLASS} g.thin path{{stroke-width:1.3}}"
        + rules
    )


def _stair(series: Series, place: int, x: Axis, y: Axis, *, thin: bool, dot: bool) -> str:
    if not series.points:
        return ""
    corners: list[Point] = []
    for time, level in series.points:
        if corners:
            corners.append((x(time), corners[-1][1]))
        corners.append((x(time), y(level)))
    corners.append((x(series.end), corners[-1][1]))
    way = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in corners)
    tip = f"{series.name}: {_gap_label(series.points[-1][1])} after {number(series.end, 4)} s" if dot else series.name
    mark = f'<circle cx="{corners[-1][0]:.1f}" cy="{corners[-1][1]:.1f}" r="3"/>' if dot else ""
    kind = f"s{place}" + (" thin" if thin else "")
    return f'<g class="{kind}"><title>{escape(tip)}</title><path d="{way}"{_dash(place)}/>{mark}</g>'


def _legend_entry(name: str, place: int) -> str:
    top, left = _TOP + 8.0 + _LINE * place, WIDTH - _LEGEND + 14.0
    return (
        f'<g class="s{place}"><title>{escape(name)}</title><path d="M{left} {top}h16"{_dash(place)}/></g>'
        f'<text x="{left + 22}" y="{top + 4}">{escape(shorten(name, 25))}</text>'
    )


def _dash(place: int) -> str:
    return ' stroke-dasharray="5 3"' if place >= len(COLOURS) else ""
