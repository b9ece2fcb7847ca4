"""Solvers side by side as SVG: gap over time, and performance profiles."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmbn_opt.display._axes import Axis, linear_axis, time_axis
from mmbn_opt.display._chart import CHAR, WIDE, Entry, Sheet, chart_frame, legend, message
from mmbn_opt.display._text import escape, number
from mmbn_opt.display._theme import FONT, SERIES, STANDALONE_STYLE, SVG_TEXT_PX, series_style, svg_opening, themed
from mmbn_opt.results.trace import BoundTrace

__all__ = ["SMALLEST_GAP", "Series", "gaps_svg", "profile_steps", "profile_svg"]

SMALLEST_GAP = 1e-6
"""A gap that is smaller is drawn as this one: proofs in floating-point numbers end here."""

_CLASS = "mmbn-many"
_RIGHT = 24.0

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """One stair of a drawing: a name, and points at which the level changes; NaN where there is none yet."""

    name: str
    points: tuple[Point, ...]
    end: float


def gaps_svg(traces: Sequence[tuple[str, BoundTrace]], *, standalone: bool = True, sheet: Sheet = WIDE) -> str:
    """Relative gap over time, one line a run; runs of one solver share colour and dashes.

    Parameters
    ----------
    traces : sequence of (solver, BoundTrace)
    standalone : bool
        Whether the drawing sets its own text colour and ground, as a file must.
    sheet : Sheet
        The size.

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
        return _message("no bounds to draw", sheet, standalone)
    times = [t for s in series for t, _ in s.points] + [s.end for s in series]
    ticks = tuple((d, _gap_label(d)) for d in (10.0**k for k in range(-6, 1, 1)))
    left = 16.0 + CHAR * max(len(label) for _, label in ticks)
    x = time_axis(times, left, sheet.width - _RIGHT, count=sheet.x_ticks)
    y = Axis(SMALLEST_GAP, 1.0, 1.0, 0.0, True, ticks)
    x_title = "Time, seconds (log scale)" if x.log else "Time, seconds"
    return _drawing(series, x, y, (x_title, "Relative gap, % (log scale)"), sheet, standalone, dots=True)


def profile_svg(
    ratios: Mapping[str, Sequence[float]],
    n_problems: Mapping[str, int],
    *,
    standalone: bool = True,
    sheet: Sheet = WIDE,
) -> str:
    """Performance profile: share of problems done within a factor of the best time.

    Parameters
    ----------
    ratios : mapping of str to sequence of float
        For each solver its time on each problem that it did, over the best time.
    n_problems : mapping of str to int
        For each solver the problems that it was run on.
    standalone : bool
    sheet : Sheet

    Examples
    --------
    >>> "a: 2 of 2" in profile_svg({"a": [1.0, 1.0]}, {"a": 2})
    True
    """
    if not any(ratios.values()):
        return _message("nothing was proved", sheet, standalone)
    largest = max(2.0, 1.15 * max(max(r, default=1.0) for r in ratios.values()))
    x = Axis(1.0, largest, 62.0, sheet.width - _RIGHT, True, _factor_ticks(largest, sheet.x_ticks))
    shares = linear_axis(0.0, 1.0, 1.0, 0.0)
    y = Axis(0.0, 1.0, 1.0, 0.0, False, tuple((v, f"{100 * v:.0f} %") for v, _ in shares.ticks))
    series = [
        Series(f"{solver}: {len(found)} of {n_problems[solver]}", profile_steps(found, n_problems[solver]), largest)
        for solver, found in ratios.items()
    ]
    titles = "Time, multiple of the fastest (log scale)", "Share of problems proved, %"
    return _drawing(series, x, y, titles, sheet, standalone, dots=False)


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


def _factor_ticks(largest: float, count: int) -> tuple[tuple[float, str], ...]:
    """Round factors, no more than about twice as many as are wanted."""
    for steps in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        values = [m * 10.0**k for k in range(9) for m in steps if m * 10.0**k <= largest]
        if len(values) <= 2 * count:
            break
    return tuple((v, f"{v:,.0f}×") for v in values)


def _drawing(
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    titles: tuple[str, str],
    sheet: Sheet,
    standalone: bool,
    *,
    dots: bool,
) -> str:
    names = list(dict.fromkeys(s.name for s in series))
    told, lines = legend([Entry(_mark(k), name) for k, name in enumerate(names)], sheet, most=32)
    top = sheet.top(lines)
    y = Axis(y.low, y.high, top + sheet.plot_height, top, y.log, y.ticks)
    several = len(series) > len(names)
    stairs = "".join(_stair(s, names.index(s.name), x, y, thin=several, dot=dots) for s in series)
    label = f"{titles[1]} against {titles[0]}: {', '.join(names)}"
    opening = svg_opening(_CLASS, sheet.width, sheet.height(lines), label, standalone=standalone)
    frame = chart_frame(x, y, x_title=titles[0], y_title=titles[1])
    return f"{opening}<style>{_style(len(names))}{_ground(standalone)}</style>{frame}{stairs}{told}</svg>"


def _ground(standalone: bool) -> str:
    return STANDALONE_STYLE if standalone else ""


def _message(text: str, sheet: Sheet, standalone: bool) -> str:
    return message(_CLASS, [text], sheet, _style(0) + _ground(standalone), standalone=standalone)


def _style(n_series: int) -> str:
    places = range(min(n_series, len(SERIES["light"])))
    light, dark = ({f"--mm-s{k}": SERIES[theme][k] for k in places} for theme in ("light", "dark"))
    rules = "".join(
        f".{_CLASS} .c{k} path{{stroke:var(--mm-s{k})}}.{_CLASS} .c{k} circle{{fill:var(--mm-s{k})}}" for k in places
    )
    return (
        themed(f".{_CLASS}")
        + (themed(f".{_CLASS}", light, dark) if n_series else "")
        + f".{_CLASS}{{font:{SVG_TEXT_PX}px {FONT};max-width:100%;height:auto}}"
        + f".{_CLASS} text{{fill:currentColor}}.{_CLASS} .soft{{fill:var(--mm-soft)}}"
        + f".{_CLASS} .grid{{stroke:var(--mm-rule)}}.{_CLASS} .axis{{fill:none;stroke:var(--mm-line)}}"
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
    colour, dashes = series_style(place)
    kind = f"c{colour} s{place}" + (" thin" if thin else "")
    return f'<g class="{kind}"><title>{escape(tip)}</title><path d="{way}"{_dash(dashes)}/>{mark}</g>'


def _mark(place: int) -> str:
    colour, dashes = series_style(place)
    return f'<g class="c{colour}"><path d="M0 5h18"{_dash(dashes)}/></g>'


def _dash(dashes: Sequence[float]) -> str:
    return f' stroke-dasharray="{" ".join(f"{d:g}" for d in dashes)}"' if dashes else ""
