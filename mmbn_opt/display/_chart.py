"""The sheet that a curve is drawn on: two sizes of it, frame, axis titles, legend."""

from collections.abc import Sequence
from dataclasses import dataclass

from mmbn_opt.display._axes import Axis
from mmbn_opt.display._text import escape, shorten, text_width
from mmbn_opt.display._theme import svg_opening

__all__ = ["NARROW", "SHEETS", "WIDE", "Entry", "Sheet", "chart_frame", "legend", "message"]

CHAR = 7.2
"""Width of a character of a drawing's text, on average."""
_LINE = 18.0
_MARK = 24.0


@dataclass(frozen=True)
class Sheet:
    """A size to draw in, in pixels of a drawing that is not scaled.

    Parameters
    ----------
    width : float
    plot_height : float
        From the highest to the lowest value.
    x_ticks, y_ticks : int
        About how many.
    """

    width: float
    plot_height: float
    x_ticks: int
    y_ticks: int

    base = 46.0
    """Room below the plot, for ticks and the title of the time axis."""

    def top(self, legend_lines: int) -> float:
        """Where the plot begins, below legend and title of the value axis."""
        return 12.0 + _LINE * (legend_lines + 1)

    def height(self, legend_lines: int) -> float:
        """Of the whole drawing."""
        return self.top(legend_lines) + self.plot_height + self.base


WIDE = Sheet(760.0, 220.0, 6, 5)
NARROW = Sheet(350.0, 190.0, 4, 4)
"""For a phone, where a shrunk picture could not be read."""
SHEETS = {"wide": WIDE, "narrow": NARROW}


@dataclass(frozen=True)
class Entry:
    """An entry of a legend: the markup of its mark, drawn at (0, 0) to (16, 10), and its text."""

    mark: str
    text: str


def legend(entries: Sequence[Entry], sheet: Sheet, *, most: int = 60) -> tuple[str, int]:
    """Markup of a legend from the upper left corner on, and its number of lines."""
    parts, left, line = [], 0.0, 0
    for entry in entries:
        mark = _MARK if entry.mark else 2.0
        text = shorten(entry.text, min(most, int((sheet.width - mark - 16.0) / CHAR)))
        width = mark + text_width(text) * CHAR + 16.0
        if left and left + width > sheet.width - 8.0:
            left, line = 0.0, line + 1
        x, y = 8.0 + left, 6.0 + _LINE * line
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">{entry.mark}')
        parts.append(f'<text x="{mark - 2:.0f}" y="9.5">{escape(text)}</text></g>')
        left += width
    return "".join(parts), line + 1 if entries else 0


def chart_frame(x: Axis, y: Axis, *, x_title: str, y_title: str) -> str:
    """Grid, ticks, and what each axis shows: the title of the value axis stands above it, so that it can be read."""
    parts = []
    for value, label in y.ticks:
        parts.append(f'<path class="grid" d="M{x.start:.1f} {y(value):.1f}H{x.end:.1f}"/>')
        parts.append(
            f'<text class="soft" x="{x.start - 8:.1f}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>'
        )
    base = y.start
    parts.append(f'<path class="axis" d="M{x.start:.1f} {y.end:.1f}V{base:.1f}H{x.end:.1f}"/>')
    for value, label in x.ticks:
        parts.append(f'<path class="axis" d="M{x(value):.1f} {base:.1f}v4"/>')
        parts.append(f'<text class="soft" x="{x(value):.1f}" y="{base + 18:.1f}" text-anchor="middle">{label}</text>')
    middle = (x.start + x.end) / 2
    parts.append(
        f'<text class="soft title" x="{middle:.1f}" y="{base + 38:.1f}" text-anchor="middle">{escape(x_title)}</text>'
    )
    parts.append(f'<text class="soft title" x="8" y="{y.end - 10:.1f}">{escape(y_title)}</text>')
    return "".join(parts)


def message(kind: str, lines: Sequence[str], sheet: Sheet, style: str, *, standalone: bool) -> str:
    """A drawing that says in words why there is nothing to draw."""
    height = 30.0 + _LINE * len(lines)
    told = "".join(
        f'<text class="soft" x="{sheet.width / 2}" y="{28 + _LINE * k:.0f}" text-anchor="middle">{escape(line)}</text>'
        for k, line in enumerate(lines)
    )
    opening = svg_opening(kind, sheet.width, height, ". ".join(lines), standalone=standalone)
    return f"{opening}<style>{style}</style>{told}</svg>"
