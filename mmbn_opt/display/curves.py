"""The history of a run as SVG: incumbent and dual bound closing in on each other."""

from collections.abc import Callable, Sequence

from mmbn_opt.display._axes import Axis, linear_axis, time_axis, value_range
from mmbn_opt.display._text import escape, number, percent
from mmbn_opt.display._theme import CURVE_STYLE, STANDALONE_STYLE, svg_opening
from mmbn_opt.results.trace import BoundTrace, TraceRecord

__all__ = ["BOTTOM", "HEIGHT", "WIDTH", "frame", "trace_svg"]

WIDTH, HEIGHT = 760.0, 300.0
_TOP, BOTTOM = 34.0, 44.0
_CHAR = 7.2
_LABEL_GAP = 15.0
_COLUMNS = 1000

Steps = list[tuple[float, float]]


def trace_svg(trace: BoundTrace, *, standalone: bool = True) -> str:
    """Draw incumbent and bound over time, the gap shaded between them.

    Parameters
    ----------
    trace : BoundTrace
        Any trace: empty, of one record, with a bound that was never known.
    standalone : bool
        Whether the drawing sets its own text colour and ground, as a file must.

    Returns
    -------
    str
        An ``<svg>`` element without ids, scripts or links.

    Examples
    --------
    >>> from mmbn_opt.results import Sense
    >>> trace_svg(BoundTrace(Sense.MAXIMIZE)).count("nothing was recorded")
    1
    """
    style = CURVE_STYLE + (STANDALONE_STYLE if standalone else "")
    body = _chart(trace) if any(_known(r) for r in trace) else _message("nothing was recorded")
    label = f"incumbent {number(trace.bounds.primal_bound)}, bound {number(trace.bounds.dual_bound)}"
    opening = svg_opening("mmbn-curve", WIDTH, HEIGHT, label, standalone=standalone)
    return f"{opening}<style>{style}</style>{body}</svg>"


def _known(record: TraceRecord) -> bool:
    return record.primal_bound is not None or record.dual_bound is not None


def _message(text: str) -> str:
    return f'<text class="soft" x="{WIDTH / 2}" y="{HEIGHT / 2}" text-anchor="middle">{text}</text>'


def _chart(trace: BoundTrace) -> str:
    primal = _steps(trace.records, lambda r: r.primal_bound)
    dual = _steps(trace.records, lambda r: r.dual_bound)
    finals = [steps[-1][1] for steps in (primal, dual) if steps]
    right = WIDTH - 20.0 - _CHAR * max(len(number(value, 7)) for value in finals)
    times = [t for steps in (primal, dual) for t, _ in steps] + [trace.records[-1].time_sec]
    shares = time_axis(times, 0.0, 1.0)
    primal, dual = _thinned(primal, shares), _thinned(dual, shares)
    low, high = value_range([level for steps in (primal, dual) for level in _held(steps, shares)], finals)
    y = linear_axis(low, high, HEIGHT - BOTTOM, _TOP)
    left = 22.0 + _CHAR * max(len(label) for _, label in y.ticks)
    x = time_axis(times, left, right)
    parts = [frame(x, y), _gap(primal, dual, x, y)]
    for kind, steps in (("dual", dual), ("primal", primal)):
        parts += [_line(kind, steps, x, y), _dots(kind, steps, trace, x, y)]
    return "".join([*parts, _final_labels(primal, dual, y, right), _legend(trace, x), _cut_note(primal, dual, y)])


def _steps(records: Sequence[TraceRecord], value: Callable[[TraceRecord], float | None]) -> Steps:
    """Times at which a bound changed, with its new value."""
    steps: Steps = []
    for record in records:
        now = value(record)
        if now is not None and (not steps or now != steps[-1][1]):
            steps.append((record.time_sec, now))
    return steps


def _thinned(steps: Steps, x: Axis) -> Steps:
    """The first step and the last one in each column: more cannot be seen, and a long run has very many."""
    if len(steps) <= _COLUMNS:
        return steps
    columns = [int(x(t) * _COLUMNS) for t, _ in steps]
    after = [*columns[1:], -1]
    return [step for k, step in enumerate(steps) if k == 0 or columns[k] != after[k]]


def _held(steps: Steps, x: Axis) -> Steps:
    """Each level and the length of axis over which it holds."""
    if not steps:
        return []
    ends = [*(x(t) for t, _ in steps[1:]), x.end]
    return [(v, end - x(t)) for (t, v), end in zip(steps, ends, strict=True)]


def frame(x: Axis, y: Axis, unit: str | None = None) -> str:
    """Grid, ticks and labels of a drawing of `HEIGHT`; the unit of x is seconds unless told."""
    parts = []
    for value, label in y.ticks:
        parts.append(f'<path class="grid" d="M{x.start:.1f} {y(value):.1f}H{x.end:.1f}"/>')
        parts.append(
            f'<text class="soft" x="{x.start - 8:.1f}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>'
        )
    base = HEIGHT - BOTTOM
    parts.append(f'<path class="axis" d="M{x.start:.1f} {base}H{x.end:.1f}"/>')
    for value, label in x.ticks:
        parts.append(f'<path class="axis" d="M{x(value):.1f} {base}v4"/>')
        parts.append(f'<text class="soft" x="{x(value):.1f}" y="{base + 18}" text-anchor="middle">{label}</text>')
    told = unit or ("seconds (log scale)" if x.log else "seconds")
    middle = (x.start + x.end) / 2
    parts.append(f'<text class="soft" x="{middle:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{told}</text>')
    return "".join(parts)


def _stairs(steps: Steps, x: Axis, y: Axis) -> list[tuple[float, float]]:
    corners: list[tuple[float, float]] = []
    for t, v in steps:
        if corners:
            corners.append((x(t), corners[-1][1]))
        corners.append((x(t), y(v)))
    return [*corners, (x.end, corners[-1][1])]


def _path(corners: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in corners)


def _line(kind: str, steps: Steps, x: Axis, y: Axis) -> str:
    """The stairs; a level outside the chart is left out, so that the line comes in from the border."""
    inside = [k for k, (_, v) in enumerate(steps) if y.low <= v <= y.high]
    if not inside:
        return ""
    first = inside[0]
    corners = _stairs(steps[first:], x, y)
    if first:
        corners.insert(0, (corners[0][0], y(steps[first - 1][1])))
    return f'<path class="{kind}" d="{_path(corners)}"/>'


def _gap(primal: Steps, dual: Steps, x: Axis, y: Axis) -> str:
    if not (primal and dual):
        return ""
    since = max(primal[0][0], dual[0][0])
    outline = [_stairs(_from(steps, since), x, y) for steps in (primal, dual)]
    return f'<path class="gap" d="{_path([*outline[0], *reversed(outline[1])])}z"/>'


def _from(steps: Steps, since: float) -> Steps:
    before = [v for t, v in steps if t <= since]
    return [(since, before[-1]), *((t, v) for t, v in steps if t > since)]


def _dots(kind: str, steps: Steps, trace: BoundTrace, x: Axis, y: Axis) -> str:
    """A point at each improvement, with its story as tooltip; where they are many they would only hide the line."""
    if len(steps) > (60 if kind == "primal" else 15):
        return ""
    name = "incumbent" if kind == "primal" else "bound"
    sources: dict[float | None, str] = {}
    for record in trace:
        value = record.primal_bound if kind == "primal" else record.dual_bound
        sources.setdefault(value, record.source)
    parts = []
    for t, v in steps:
        if not y.low <= v <= y.high:
            continue
        by = f", {sources[v]}" if sources.get(v) else ""
        tip = escape(f"{name} {number(v, 9)} at {number(t, 4)} s{by}")
        parts.append(f'<circle class="{kind}" cx="{x(t):.1f}" cy="{y(v):.1f}" r="2.8"><title>{tip}</title></circle>')
    return "".join(parts)


def _final_labels(primal: Steps, dual: Steps, y: Axis, right: float) -> str:
    ends = [(kind, steps[-1][1]) for kind, steps in (("primal", primal), ("dual", dual)) if steps]
    heights = [y(v) for _, v in ends]
    if len(ends) == 2 and number(ends[0][1], 7) == number(ends[1][1], 7):
        ends, heights = ends[:1], heights[:1]
    elif len(ends) == 2 and abs(heights[0] - heights[1]) < _LABEL_GAP:
        middle, side = sum(heights) / 2, 1.0 if heights[0] >= heights[1] else -1.0
        heights = [middle + side * _LABEL_GAP / 2, middle - side * _LABEL_GAP / 2]
    return "".join(
        f'<text class="{kind}" x="{right + 8:.1f}" y="{height + 4:.1f}">{number(value, 7)}</text>'
        for (kind, value), height in zip(ends, heights, strict=True)
    )


def _legend(trace: BoundTrace, x: Axis) -> str:
    gap = trace.bounds.gap_rel
    told = "gap unknown" if gap == float("inf") else "gap closed" if percent(gap) == "0 %" else f"gap {percent(gap)}"
    entries = [("primal", "incumbent", 92.0), ("dual", "bound", 70.0), ("gap", told, 0.0)]
    parts, left = [], x.start
    for kind, text, advance in entries:
        mark = (
            f'<rect class="gap" x="{left:.1f}" y="9" width="16" height="10"/>'
            if kind == "gap"
            else f'<path class="{kind}" d="M{left:.1f} 14h16"/>'
        )
        parts.append(f'{mark}<text x="{left + 22:.1f}" y="18">{text}</text>')
        left += advance + 12
    return "".join(parts)


def _cut_note(primal: Steps, dual: Steps, y: Axis) -> str:
    first = [(name, steps[0][1]) for name, steps in (("bound", dual), ("incumbent", primal)) if steps]
    beyond = [f"first {name} {number(v)}" for name, v in first if not y.low <= v <= y.high]
    text = f"off the chart: {', '.join(beyond)}"
    return f'<text class="soft" x="{WIDTH - 8}" y="18" text-anchor="end">{text}</text>' if beyond else ""
