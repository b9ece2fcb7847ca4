"""The terms of an explanation as a waterfall: each bar begins where the one above it ended, the last one is the sum."""

import math
from typing import Any

from markupsafe import Markup

from mmbn_opt.display._axes import Axis, linear_axis
from mmbn_opt.display._chart import CHAR, NARROW, WIDE, Entry, Sheet, legend
from mmbn_opt.display._pictures import Picture
from mmbn_opt.display._text import escape, number, short_labels, shorten, text_width
from mmbn_opt.display._theme import FONT, STANDALONE_STYLE, SVG_TEXT_PX, svg_opening, themed
from mmbn_opt.scores.explanation import Explanation

__all__ = ["Bar", "bars_of", "plot_waterfall", "waterfall_picture", "waterfall_svg"]

MAX_BARS = 12
"""Terms that are drawn one by one; the rest is one bar, so that the sum is still that of the bars."""

_ROW = 24.0
_STYLE = (
    themed(".mmbn-fall")
    + f".mmbn-fall{{font:{SVG_TEXT_PX}px {FONT};max-width:100%;height:auto}}"
    + ".mmbn-fall text{fill:currentColor}.mmbn-fall .soft{fill:var(--mm-soft)}.mmbn-fall .sum{font-weight:600}"
    ".mmbn-fall .for{fill:var(--mm-primal)}.mmbn-fall .against{fill:var(--mm-dual)}"
    ".mmbn-fall .grid{stroke:var(--mm-rule)}.mmbn-fall .zero,.mmbn-fall .step{stroke:var(--mm-line);fill:none}"
    ".mmbn-fall .step{stroke-dasharray:2 2}"
)

Bar = tuple[str, str, float]
"""Name, value and term."""


def bars_of(explanation: Explanation, most: int = MAX_BARS) -> list[Bar]:
    """The largest terms, the largest first, and the others as one; terms of 0 are left out.

    Examples
    --------
    >>> from mmbn_opt import BayesianNetwork, DiscreteDataset, naive_bayes
    >>> from mmbn_opt.scores.explanation import explain_network
    >>> data = DiscreteDataset.from_arrays([["a", "u"], ["b", "v"], ["b", "u"], ["b", "v"]], [0, 1, 0, 1])
    >>> network = BayesianNetwork.fit(naive_bayes(data), data)
    >>> [(name, value) for name, value, _ in bars_of(explain_network(network, data.codes[0]))]
    [('x1', 'u'), ('x0', 'a')]
    """
    frame = explanation.to_frame()
    rows = [(str(name), str(row["value"]), float(row["log_odds"])) for name, row in frame.iterrows()]
    rows = [row for row in rows if row[2] != 0.0]
    if len(rows) <= most:
        return rows
    rest = rows[most - 1 :]
    return [*rows[: most - 1], (f"{len(rest)} other nodes", "", math.fsum(term for _, _, term in rest))]


def waterfall_svg(
    explanation: Explanation, *, standalone: bool = True, narrow: bool = False, sheet: Sheet | None = None
) -> str:
    """Draw an explanation.

    Parameters
    ----------
    explanation : Explanation
    standalone : bool
        Whether the drawing sets its own text colour and ground, as a file must.
    narrow : bool
        For a phone.
    sheet : Sheet or None
        The size; by default that of `narrow`.

    Returns
    -------
    str
        An ``<svg>`` element without ids, scripts or links.
    """
    sheet = sheet or (NARROW if narrow else WIDE)
    bars = bars_of(explanation)
    label, rival = str(explanation.label), str(explanation.rival)
    told, lines = legend(
        [
            Entry('<rect class="for" width="16" height="10"/>', f"speaks for {label}"),
            Entry('<rect class="against" width="16" height="10"/>', f"speaks for {rival}"),
        ],
        sheet,
    )
    top = 16.0 + 18.0 * lines
    base = top + _ROW * (len(bars) + 1)
    left = sheet.width * (0.34 if sheet is WIDE else 0.40)
    ends = _ends([term for _, _, term in bars])
    least, most = min(0.0, *(low for low, _ in ends)), max(0.0, *(high for _, high in ends))
    x = linear_axis(
        least, most if most > least else 1.0, left, sheet.width - 72.0,
        count=sheet.x_ticks,
    )  # fmt: skip
    parts = [_grid(x, top, base), told, *_rows(bars, ends, x, sheet, left, top)]
    parts.append(_sum(explanation.log_odds, x, sheet, left, base - _ROW))
    middle = (x.start + x.end) / 2
    parts.append(f'<text class="soft" x="{middle:.1f}" y="{base + 36:.1f}" text-anchor="middle">Log-odds, nats</text>')
    spoken = f"Log-odds of {label} against {rival}: {number(explanation.log_odds)}; " + ", ".join(
        f"{name} {number(term, 3)}" for name, _, term in bars
    )
    opening = svg_opening("mmbn-fall", sheet.width, base + 46.0, spoken, standalone=standalone)
    return f"{opening}<style>{_STYLE + (STANDALONE_STYLE if standalone else '')}</style>{''.join(parts)}</svg>"


def waterfall_picture(explanation: Explanation) -> Picture:
    """The drawing in two sizes."""
    return Picture(
        "Terms of the log-odds",
        Markup(waterfall_svg(explanation, standalone=False)),
        Markup(waterfall_svg(explanation, standalone=False, narrow=True)),
    )


def _ends(terms: list[float]) -> list[tuple[float, float]]:
    """Where each bar begins and ends; an infinite term is as long as all others together and half of that."""
    finite = [term for term in terms if math.isfinite(term)]
    longest = 1.5 * max(1.0, sum(map(abs, finite)))
    ends, at = [], 0.0
    for term in terms:
        after = at + (term if math.isfinite(term) else math.copysign(longest, term))
        ends.append((at, after))
        at = after
    return [(0.0, 0.0), *ends] if not ends else [(min(pair), max(pair)) for pair in ends]


def _grid(x: Axis, top: float, base: float) -> str:
    parts = []
    for value, told in x.ticks:
        parts.append(f'<path class="grid" d="M{x(value):.1f} {top:.1f}V{base:.1f}"/>')
        parts.append(f'<text class="soft" x="{x(value):.1f}" y="{base + 16:.1f}" text-anchor="middle">{told}</text>')
    parts.append(f'<path class="zero" d="M{x(0.0):.1f} {top - 4:.1f}V{base:.1f}"/>')
    return "".join(parts)


def _rows(
    bars: list[Bar], ends: list[tuple[float, float]], x: Axis, sheet: Sheet, left: float, top: float
) -> list[str]:
    texts = _labels(bars, 1000)
    names = _labels(bars, int((left - 16.0) / CHAR))
    parts, at = [], 0.0
    for k, ((_, _, term), (low, high), text, name) in enumerate(zip(bars, ends, texts, names, strict=False)):
        y = top + _ROW * k
        kind = "for" if term > 0 else "against"
        tip = escape(f"{text}: {number(term, 6)}")
        parts.append(f'<text x="8" y="{y + 16:.1f}">{escape(name)}<title>{tip}</title></text>')
        if k:
            parts.append(f'<path class="step" d="M{x(at):.1f} {y - 5:.1f}v10"/>')
        width = max(x(high) - x(low), 1.0)
        parts.append(f'<rect class="{kind}" x="{x(low):.1f}" y="{y + 5:.1f}" width="{width:.1f}" height="14" rx="2"/>')
        parts.append(f'<text x="{sheet.width - 8:.1f}" y="{y + 16:.1f}" text-anchor="end">{_signed(term)}</text>')
        at = high if term > 0 else low
    return parts


def _sum(total: float, x: Axis, sheet: Sheet, left: float, y: float) -> str:
    shown = min(max(total, x.low), x.high)
    low, high = min(0.0, shown), max(0.0, shown)
    kind = "for" if total >= 0 else "against"
    return (
        f'<path class="zero" d="M8 {y + 1:.1f}H{sheet.width - 8:.1f}"/>'
        f'<text class="sum" x="8" y="{y + 17:.1f}">log-odds</text>'
        f'<rect class="{kind}" x="{x(low):.1f}" y="{y + 6:.1f}" width="{max(x(high) - x(low), 1.0):.1f}" '
        'height="14" rx="2"/>'
        f'<text class="sum" x="{sheet.width - 8:.1f}" y="{y + 17:.1f}" text-anchor="end">{_signed(total)}</text>'
    )


def _labels(bars: list[Bar], width: int) -> list[str]:
    """Name and value of each bar; where there is no room for both, the name is shortened first."""
    values = [f" = {shorten(value, width // 2)}" if value else "" for _, value, _ in bars]
    return [
        short_labels([name for name, _, _ in bars], width - text_width(value))[k] + value
        for k, value in enumerate(values)
    ]


def _signed(term: float) -> str:
    if not math.isfinite(term) or abs(term) >= 1e4:
        return f"{'+' if term > 0 else ''}{number(term, 4)}"
    return f"{term:+.3f}".replace("-", "−")


def plot_waterfall(explanation: Explanation, ax: Any = None) -> Any:
    """Draw an explanation with matplotlib (extra ``plot``).

    Parameters
    ----------
    explanation : Explanation
    ax : matplotlib Axes or None
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    from mmbn_opt.display._theme import PALETTES
    from mmbn_opt.display.plots import new_axes

    bars = bars_of(explanation)
    ax = new_axes(ax, (7.0, 0.7 + 0.3 * (len(bars) + 1)))
    colours = PALETTES["light"]
    ends = _ends([term for _, _, term in bars])
    for k, ((_, _, term), (low, high)) in enumerate(zip(bars, ends, strict=False)):
        ax.barh(k, high - low, left=low, height=0.6, color=colours["--mm-primal" if term > 0 else "--mm-dual"])
    total = explanation.log_odds
    ax.barh(len(bars), total, height=0.6, color=colours["--mm-primal" if total >= 0 else "--mm-dual"])
    ax.axvline(0.0, color=colours["--mm-line"], linewidth=0.8)
    ax.axhline(len(bars) - 0.5, color=colours["--mm-line"], linewidth=0.8)
    labels = [*_labels(bars, 36), "log-odds"]
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlabel(f"log-odds of {explanation.label} against {explanation.rival}, nats")
    return ax
