"""The history of a run as SVG: incumbent and dual bound closing in on each other."""

from collections.abc import Callable, Sequence

from mmbn_opt.display._axes import Axis, linear_axis, time_axis, value_range
from mmbn_opt.display._chart import CHAR, WIDE, Entry, Sheet, chart_frame, legend, message
from mmbn_opt.display._text import escape, number, percent
from mmbn_opt.display._theme import CURVE_STYLE, STANDALONE_STYLE, svg_opening
from mmbn_opt.results.status import Sense
from mmbn_opt.results.trace import BoundTrace, TraceRecord

__all__ = ["trace_svg", "value_title"]

_KIND = "mmbn-curve"
_LABEL_GAP = 16.0
_COLUMNS = 1000

Steps = list[tuple[float, float]]


def trace_svg(trace: BoundTrace, *, standalone: bool = True, value_name: str = "Objective", sheet: Sheet = WIDE) -> str:
    """Draw incumbent and bound over time, the gap shaded between them.

    Parameters
    ----------
    trace : BoundTrace
        Any trace: empty, of one record, with a bound that was never known.
    standalone : bool
        Whether the drawing sets its own text colour and ground, as a file must.
    value_name : str
        What the objective is, with its unit.
    sheet : Sheet
        The size: `WIDE`, or `NARROW` for phones.

    Returns
    -------
    str
        An ``<svg>`` element without ids, scripts or links.

    Examples
    --------
    >>> from mmbn_opt.results import Sense
    >>> trace_svg(BoundTrace(Sense.MAXIMIZE)).count("nothing was recorded</text>")
    1
    """
    style = CURVE_STYLE + (STANDALONE_STYLE if standalone else "")
    if (words := _instead(trace, value_name)) is not None:
        return message(_KIND, words, sheet, style, standalone=standalone)
    body, height = _chart(trace, value_title(value_name, trace.sense), sheet)
    bounds = trace.bounds
    label = f"{value_name} over time: incumbent {number(bounds.primal_bound)}, bound {number(bounds.dual_bound)}"
    opening = svg_opening(_KIND, sheet.width, height, label, standalone=standalone)
    return f"{opening}<style>{style}</style>{body}</svg>"


def value_title(value_name: str, sense: Sense) -> str:
    """Title of the value axis.

    Examples
    --------
    >>> value_title("Soft margin, nats", Sense.MAXIMIZE)
    'Soft margin, nats (larger is better)'
    """
    return f"{value_name} ({'larger' if sense is Sense.MAXIMIZE else 'smaller'} is better)"


def _instead(trace: BoundTrace, value_name: str) -> list[str] | None:
    """Words in place of a curve that would be a dot; None where there is something to draw."""
    primal, dual = _steps(trace.records, lambda r: r.primal_bound), _steps(trace.records, lambda r: r.dual_bound)
    if not (primal or dual):
        return ["nothing was recorded"]
    if len(primal) > 1 or len(dual) > 1 or trace.records[-1].time_sec > trace.records[0].time_sec + 0.1:
        return None
    told = [
        f"{what}: {number(steps[0][1], 9)} after {number(steps[0][0], 2)} s"
        for what, steps in ((f"{value_name}", primal), ("bound", dual))
        if steps
    ]
    if primal and dual and primal[0][1] == dual[0][1]:
        told = [f"{told[0]}, proved at once"]
    return ["Found in one step: there is no course to draw.", *told]


def _chart(trace: BoundTrace, y_title: str, sheet: Sheet) -> tuple[str, float]:
    """Markup of everything, and its height."""
    primal = _steps(trace.records, lambda r: r.primal_bound)
    dual = _steps(trace.records, lambda r: r.dual_bound)
    finals = [steps[-1][1] for steps in (primal, dual) if steps]
    right = sheet.width - 18.0 - CHAR * max(len(number(value, 7)) for value in finals)
    times = [t for steps in (primal, dual) for t, _ in steps] + [trace.records[-1].time_sec]
    shares = time_axis(times, 0.0, 1.0)
    primal, dual = _thinned(primal, shares), _thinned(dual, shares)
    low, high = value_range([level for steps in (primal, dual) for level in _held(steps, shares)], finals)
    note = _cut_note(primal, dual, low, high)
    told, lines = legend([*_entries(trace), *([Entry("", note)] if note else [])], sheet, most=90)
    top = sheet.top(lines)
    y = linear_axis(low, high, top + sheet.plot_height, top, count=sheet.y_ticks)
    left = 16.0 + CHAR * max(len(label) for _, label in y.ticks)
    x = time_axis(times, left, right, count=sheet.x_ticks)
    x_title = "Time, seconds (log scale)" if x.log else "Time, seconds"
    parts = [chart_frame(x, y, x_title=x_title, y_title=y_title), _gap(primal, dual, x, y)]
    for kind, steps in (("dual", dual), ("primal", primal)):
        parts += [_line(kind, steps, x, y), _dots(kind, steps, trace, x, y)]
    return "".join([*parts, _final_labels(primal, dual, y, right), told]), sheet.height(lines)


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


def _entries(trace: BoundTrace) -> list[Entry]:
    """The lines that there are, and the area between them with its size at the end."""
    primal, dual = (any(value is not None for value in values) for values in _columns(trace))
    entries = []
    if primal:
        entries.append(Entry('<path class="primal" d="M0 5h16"/>', "incumbent (best found)"))
    if dual:
        side = "upper" if trace.sense is Sense.MAXIMIZE else "lower"
        entries.append(Entry('<path class="dual" d="M0 5h16"/>', f"{side} bound"))
    if primal and dual:
        told = f"gap between them: {percent(trace.bounds.gap_rel)} at the end"
        entries.append(Entry('<rect class="gap" x="0" y="0" width="16" height="10"/>', told))
    return entries


def _columns(trace: BoundTrace) -> tuple[list[float | None], list[float | None]]:
    return [r.primal_bound for r in trace], [r.dual_bound for r in trace]


def _cut_note(primal: Steps, dual: Steps, low: float, high: float) -> str:
    first = [(name, steps[0][1]) for name, steps in (("bound", dual), ("incumbent", primal)) if steps]
    beyond = [f"first {name} {number(v)}" for name, v in first if not low <= v <= high]
    return f"off the chart: {', '.join(beyond)}" if beyond else ""
