"""Mean ranks of methods on a line, those that a test does not tell apart joined by bars (Demšar 2006, Figure 1)."""

import math
from collections.abc import Mapping, Sequence

from mmbn_opt._arguments import checked_number
from mmbn_opt.display._text import escape, shorten
from mmbn_opt.display._theme import CURVE_STYLE, STANDALONE_STYLE, svg_opening
from mmbn_opt.exceptions import InputError

__all__ = ["ranks_svg"]

_WIDTH, _SIDE, _LETTERS = 720.0, 190.0, 22
_SCALE_TOP, _AXIS, _BAR, _LINE = 26.0, 74.0, 9.0, 21.0
_STYLE = (
    ".mmbn-curve .tick,.mmbn-curve .way{fill:none;stroke:var(--mm-line);stroke-width:1.2}"
    ".mmbn-curve .alike{stroke:var(--mm-primal);stroke-width:4;stroke-linecap:round}"
    ".mmbn-curve .dot{fill:var(--mm-primal)}.mmbn-curve .end{text-anchor:end}.mmbn-curve .middle{text-anchor:middle}"
)


def ranks_svg(
    ranks: Mapping[str, float],
    critical_difference: float,
    groups: Sequence[Sequence[str]] = (),
    *,
    standalone: bool = True,
) -> str:
    """Draw mean ranks, the best on the left.

    Parameters
    ----------
    ranks : mapping of method to mean rank
        At least two; 1 is the best.
    critical_difference : float
        How far two must lie apart to be told apart.
    groups : sequence of sequences of methods
        Those that are not told apart.
    standalone : bool
        Whether the drawing sets its own text colour and ground, as a file must; inside a page it takes the page's.

    Returns
    -------
    str
        An ``<svg>`` element without ids, scripts or links.

    Raises
    ------
    InputError
        With fewer than two methods, ranks that can't be ones, or groups of others.

    Examples
    --------
    >>> ranks_svg({"a": 1.2, "b": 2.0, "c": 2.8}, 1.1, [("a", "b"), ("b", "c")])[:60]
    '<svg xmlns="http://www.w3.org/2000/svg" class="mmbn-svg mmbn'
    """
    order = sorted(ranks, key=lambda name: (ranks[name], name))
    count = len(order)
    if count < 2:
        raise InputError(f"ranks must be of at least two methods, got {count}.")
    for name in order:
        checked_number(f"ranks[{name!r}]", ranks[name], 1.0, float(count))
    checked_number("critical_difference", critical_difference, open_high=True)
    stranger = next((name for group in groups for name in group if name not in ranks), None)
    if stranger is not None:
        raise InputError(f"groups must be of methods that have ranks, got {stranger!r}.")
    first_name = _AXIS + 16.0 + _BAR * len(groups) + 12.0
    height = first_name + _LINE * (math.ceil(count / 2) - 1) + 14.0
    parts = [_scale(critical_difference, count), _axis(count), *_ways(ranks, order, first_name)]
    for k, group in enumerate(groups):
        y = _AXIS + 14.0 + _BAR * k
        ends = [_at(ranks[name], count) for name in group]
        tip = escape(" = ".join(group))
        parts.append(
            f'<line class="alike" x1="{min(ends) - 3:.1f}" x2="{max(ends) + 3:.1f}" y1="{y:.1f}" y2="{y:.1f}">'
            f"<title>{tip}</title></line>"
        )
    told = ", ".join(f"{name} {ranks[name]:.2f}" for name in order)
    label = f"Mean ranks: {told}; critical difference {critical_difference:.2f}"
    style = CURVE_STYLE + _STYLE + (STANDALONE_STYLE if standalone else "")
    opening = svg_opening("mmbn-curve", _WIDTH, height, label, standalone=standalone)
    return f"{opening}<style>{style}</style>{''.join(parts)}</svg>"


def _at(rank: float, count: int) -> float:
    return _SIDE + (_WIDTH - 2.0 * _SIDE) * (rank - 1.0) / (count - 1.0)


def _scale(critical_difference: float, count: int) -> str:
    """How long the critical difference is, above the axis; one that is longer than the axis is told in words."""
    words = f"critical difference {critical_difference:.2f}"
    if critical_difference > count - 1.0:
        return f'<text class="soft" x="{_SIDE:.1f}" y="{_SCALE_TOP:.1f}">{words}, longer than the axis</text>'
    left, right, y = _SIDE, _at(1.0 + critical_difference, count), _SCALE_TOP + 6.0
    return (
        f'<path class="tick" d="M{left:.1f} {y - 4:.1f}v8M{left:.1f} {y:.1f}H{right:.1f}M{right:.1f} {y - 4:.1f}v8"/>'
        f'<text class="soft" x="{left:.1f}" y="{_SCALE_TOP - 6:.1f}">{words}</text>'
    )


def _axis(count: int) -> str:
    step = math.ceil((count - 1) / 12)
    ticks = [rank for rank in range(1, count + 1) if (rank - 1) % step == 0]
    marks = "".join(f"M{_at(rank, count):.1f} {_AXIS:.1f}v-6" for rank in ticks)
    numbers = "".join(
        f'<text class="middle soft" x="{_at(rank, count):.1f}" y="{_AXIS - 11:.1f}">{rank}</text>' for rank in ticks
    )
    line = f"M{_at(1, count):.1f} {_AXIS:.1f}H{_at(count, count):.1f}"
    return f'<path class="tick" d="{line}{marks}"/>{numbers}'


def _ways(ranks: Mapping[str, float], order: Sequence[str], first: float) -> list[str]:
    """Names beside the axis, the better half on the left, each joined to its place."""
    count, half = len(order), math.ceil(len(order) / 2)
    drawn = []
    for place, name in enumerate(order):
        left = place < half
        # From the outside inwards on both sides, so that no way crosses another.
        y = first + _LINE * (place if left else count - 1 - place)
        x, edge = _at(ranks[name], count), _SIDE - 14.0 if left else _WIDTH - _SIDE + 14.0
        anchor, text = ("end", edge - 6.0) if left else ("", edge + 6.0)
        short = escape(shorten(name, _LETTERS))
        words = f"{short}  {ranks[name]:.2f}" if left else f"{ranks[name]:.2f}  {short}"
        drawn.append(
            f'<g><title>{escape(name)}: {ranks[name]:.2f}</title><path class="way" '
            f'd="M{x:.1f} {_AXIS:.1f}V{y:.1f}H{edge:.1f}"/><circle class="dot" cx="{x:.1f}" cy="{_AXIS:.1f}" r="3.5"/>'
            f'<text class="{anchor}" x="{text:.1f}" y="{y + 4:.1f}">{words}</text></g>'
        )
    return drawn
