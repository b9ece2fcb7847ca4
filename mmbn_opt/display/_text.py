"""Text for markup: escaped, free of characters that XML forbids, shortened by the room it takes."""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

__all__ = ["clean", "escape", "number", "percent", "short_labels", "shorten", "text_width"]

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """The text with characters that XML forbids replaced.

    Examples
    --------
    >>> clean("a" + chr(0) + "b") == "a" + chr(0xFFFD) + "b"
    True
    """
    return _FORBIDDEN.sub("\ufffd", text)


def escape(text: object) -> str:
    """Text that stands in XML or HTML, in an attribute too.

    Examples
    --------
    >>> escape('<b onclick="x">')
    '&lt;b onclick=&quot;x&quot;&gt;'
    """
    return html.escape(clean(str(text)), quote=True)


def text_width(text: str) -> int:
    """Width in characters; those of East Asian scripts are twice as wide as Latin ones."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shorten(text: str, width: int) -> str:
    """The text, cut with an ellipsis where it is wider than `width` characters.

    Examples
    --------
    >>> shorten("uniformity_of_cell_size", 12)
    'uniformity_…'
    """
    # What is wider than `width` shows in its first `width` + 1 characters, and a text may have a million.
    text = " ".join(text.split())[: max(width, 0) + 1]
    if text_width(text) <= width:
        return text
    while text and text_width(text) > width - 1:
        text = text[:-1]
    return text + "…"


def short_labels(texts: Sequence[str], width: int) -> list[str]:
    """All texts shortened; those that would look alike lose their middle instead of their end.

    Examples
    --------
    >>> short_labels(["attribute_10", "attribute_11", "colour"], 8)
    ['attr…_10', 'attr…_11', 'colour']
    """
    short = [shorten(text, width) for text in texts]
    count = Counter(short)
    return [
        s if count[s] == 1 or s == " ".join(t.split()) else _without_middle(t, width)
        for s, t in zip(short, texts, strict=True)
    ]


def _without_middle(text: str, width: int) -> str:
    text = " ".join(text.split())
    keep = (width - 1) // 2
    tail = text[len(text) - keep :]
    while text_width(tail) > keep:
        tail = tail[1:]
    return shorten(text, width - text_width(tail)).removesuffix("…") + "…" + tail


def number(value: float | None, digits: int = 6) -> str:
    """A number for readers: thousands separated, about `digits` significant digits, a dash for None.

    Examples
    --------
    >>> number(12345.678912), number(0.00012345678), number(2.0), number(None)
    ('12,345.7', '0.000123457', '2', '–')
    """
    if value is None:
        return "–"
    if value != value or value in (float("inf"), float("-inf")):
        return {True: "∞", False: "−∞"}[value > 0] if value == value else "–"
    text = f"{value:,.{digits}g}"
    if "e" in text and 1e-6 < abs(value) < 1e15:
        text = f"{value:,.0f}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> percent(0.0225), percent(6.1e-5), percent(3.2e-9), percent(2e-16), percent(float("inf"))
    ('2.25 %', '0.0061 %', '3.2e−07 %', '0 %', 'unknown')
    """
    if share != share or share == float("inf"):
        return "unknown"
    # The last digits of a sum of many logarithms are noise.
    if share < 1e-12:
        return "0 %"
    if share >= 1e-6:
        return f"{100 * share:.2f} %" if share >= 1e-4 else f"{100 * share:.2g} %"
    return f"{100 * share:.1e} %".replace("-", "−")
