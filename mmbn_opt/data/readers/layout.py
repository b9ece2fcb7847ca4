"""How a delimited text is laid out: which lines are comments, which one is the header, what parts the cells."""

import csv
import io
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _csv import Reader

__all__ = ["BLANKS", "Layout", "find_layout", "first_line", "marked_widths", "records"]

logger = logging.getLogger(__name__)

BLANKS = "\x1f"
"""Separator that runs of blanks and tabs are turned into: a control character that stands for nothing else."""

_SEPARATORS = ",;\t|"
_SAMPLE_ROWS = 50
_SAMPLE_BYTES = 1 << 16
_MOSTLY = 0.8
"""Share of rows of one width that makes blanks the separator where nothing else parts the cells."""
_HALF = 0.5
"""Share of rows of one width below which tabs are taken for blanks."""
_MARKED = re.compile(rb"^[ \t]*([#%@])[^\n]*", re.MULTILINE)
_SAID = re.compile(rb"""\s*"?sep=(.|\\t)"?[ \t]*(?:\n|$)""", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?([0-9]++[.,]?[0-9]*+|[.,][0-9]++)([eE][+-]?[0-9]++)?")
_BLANK_LINES = re.compile(rb"(?:[^\S\n]*+\n)*+")
_GAP = re.compile(rb"""(?<![^\s"])"[^"]*"|[ \t]+""")


@dataclass(frozen=True)
class Layout:
    r"""A text without its comments, and what parts the cells.

    Parameters
    ----------
    text : bytes
        Comments are empty lines, so that lines keep their numbers.
    separator : str
        `BLANKS` where runs of blanks part the cells; they stand for each of those in `text`.
    """

    text: bytes
    separator: str

    @property
    def name(self) -> str:
        """The separator in messages."""
        return "blanks" if self.separator == BLANKS else repr(self.separator)


@dataclass(frozen=True)
class _Marked:
    """A line that begins with a mark of comments."""

    start: int
    end: int
    text: str
    fits: bool
    """Whether it has as many cells as the table."""

    @property
    def spaced(self) -> bool:
        """Whether a blank follows the mark, or nothing does."""
        return not self.text[1:2].strip()


def find_layout(text: bytes, source: str) -> Layout:
    r"""Separator and comments of a text in UTF-8 with \n line ends.

    A first line ``sep=;``, as spreadsheets write it, is believed. Else the separator is one of ``, ; tab |`` or blanks,
    as the first rows use it. A line that begins with ``#``, ``%`` or ``@`` is a comment if it has another number of
    cells than the table; the last one above the first row is the header if it fits and that row is not one.

    Parameters
    ----------
    text : bytes
    source : str
        The file, for messages.

    Examples
    --------
    >>> find_layout(b"# measured by hand\n# size kind\n1.5  a\n2.5  b\n", "t.dat").text
    b'\nsize\x1fkind\n1.5\x1fa\n2.5\x1fb\n'
    """
    separator = ""
    said = _SAID.match(text)
    if said is not None:
        separator = "\t" if said[1] == b"\\t" else said[1].decode("latin-1")
        separator = BLANKS if separator == " " else separator
        if separator.isalnum() or separator in '"\n\\':
            said, separator = None, ""
        else:
            text = b"\n" * said.group().count(b"\n") + text[said.end() :]
    unmarked = _without(text, (each.span() for each in _MARKED.finditer(text))) if _MARKED.search(text) else text
    if not unmarked.strip():
        unmarked = text
    separator = separator or _find_separator(unmarked)
    if unmarked is not text:
        text = _without_comments(text, unmarked, separator, source)
    return Layout(_parted_by(text, BLANKS) if separator == BLANKS else text, separator)


def first_line(text: bytes) -> int:
    """Where the first line begins that is not blank."""
    blank = _BLANK_LINES.match(text)
    return 0 if blank is None else blank.end()


def marked_widths(text: bytes, separator: str) -> set[int]:
    """Numbers of cells of the lines that begin with a mark of comments, read as rows."""
    lines = (each.group().decode("utf-8").strip() for each in _outside_quotes(text))
    return {_width(line, separator) for line in lines if line}


def records(text: bytes, separator: str) -> "Reader":
    """The rows of a text as lists of cells."""
    lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="\n")
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)


def _find_separator(text: bytes) -> str:
    """The separator that gives the first rows one width; failing that, the widest header; failing that, a comma.

    Blanks part cells only where none of the others does, since they stand within cells too.
    """
    text = text[first_line(text) :]
    sample = text[:_SAMPLE_BYTES]
    if len(sample) < len(text):
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    best, best_rank, share = "", (False, 1), 0.0
    for separator in _SEPARATORS:
        widths = _widths(sample, separator)
        if not widths or widths[0] < 2:
            continue
        rank = (len(set(widths)) == 1, widths[0])
        if rank > best_rank:
            best, best_rank, share = separator, rank, widths.count(widths[0]) / len(widths)
    if best and (best != "\t" or share >= _HALF):
        return best
    widths = _widths(_parted_by(sample, BLANKS), BLANKS)
    if widths and widths[0] > 1:
        # A few rows with too many or too few cells are told by their lines, and so are rows that begin with a name.
        mostly = widths.count(widths[0]) >= _MOSTLY * len(widths)
        if mostly or set(widths[1:]) == {widths[0] + 1}:
            return BLANKS
    return best or ","


def _widths(sample: bytes, separator: str) -> list[int]:
    try:
        return [len(row) for row in islice(records(sample, separator), _SAMPLE_ROWS) if row]
    except (csv.Error, UnicodeDecodeError):
        return []


def _parted_by(text: bytes, separator: str) -> bytes:
    """The text with runs of blanks and tabs outside of quotes replaced, and without those around lines."""
    mark = separator.encode()
    if b'"' not in text:
        return b"\n".join(mark.join(line.split()) for line in text.split(b"\n"))

    def instead(found: re.Match[bytes]) -> bytes:
        if found[0][:1] == b'"':
            return found[0]
        start, end = found.span()
        at_edge = start == 0 or end == len(text) or text[start - 1] == 10 or text[end] == 10
        return b"" if at_edge else mark

    return _GAP.sub(instead, text)


def _without_comments(text: bytes, unmarked: bytes, separator: str, source: str) -> bytes:
    width, first, second = _first_rows(unmarked, separator)
    found = [
        _Marked(each.start(), each.end(), line, width in (_width(line, separator), _width(line[1:], separator)))
        for each in _outside_quotes(text)
        if (line := each.group().decode("utf-8").strip())
    ]
    begins = first_line(unmarked)
    above = [line for line in found if line.end <= begins]
    header = above[-1] if above and above[-1].fits and _is_header(above[-1], first, second, separator) else None
    below = [line for line in found if line.start >= begins]
    misfits = [line for line in below if not line.fits]
    fitting_names = {line.text[0] for line in below if line.fits and not line.spaced}
    comments = [line for line in above if line is not header]
    comments += [line for line in misfits if line.spaced or line.text[0] not in fitting_names]
    if comments:
        # What looks like the comments and fits by chance is one of them.
        marks = {line.text[0] for line in comments}
        comments += [line for line in below if line.fits and line.spaced and line.text[0] in marks]
        comments.sort(key=lambda line: line.start)
        lines = [text.count(b"\n", 0, line.start) + 1 for line in comments[:3]]
        logger.warning(
            "%s: %d lines that begin with %s are left out as comments (line %s)",
            source, len(comments), " or ".join(sorted({line.text[0] for line in comments})),
            ", ".join(map(str, lines)) + ", ..." * (len(comments) > 3),
        )  # fmt: skip
    if header is not None and header.spaced and _width(header.text[1:], separator) == width:
        at = text.index(header.text[0].encode(), header.start)
        text = text[:at] + b" " + text[at + 1 :]
    return _without(text, ((line.start, line.end) for line in comments))


def _is_header(line: _Marked, first: list[str], second: list[str], separator: str) -> bool:
    """Whether the last marked line above the rows names the columns."""
    numeric, below = any(map(_NUMBER.fullmatch, first)), any(map(_NUMBER.fullmatch, second))
    if not numeric and below:
        return False  # the first row is the header
    names = _cells(line.text[1:], separator)
    return not line.spaced or (numeric and not any(map(_NUMBER.fullmatch, names)))


def _first_rows(unmarked: bytes, separator: str) -> tuple[int, list[str], list[str]]:
    """The number of cells of the first row, and the cells of the first two."""
    lines = unmarked[first_line(unmarked) :].split(b"\n", 50)[:50]
    rows = [_cells(line.decode("utf-8"), separator) for line in lines if line.strip()][:2]
    first, second = (*rows, [], [])[:2]
    return len(first), first, second


def _outside_quotes(text: bytes) -> Iterator[re.Match[bytes]]:
    """Marked lines that do not stand within a quoted cell."""
    at = quotes = 0
    for found in _MARKED.finditer(text):
        quotes += text.count(b'"', at, found.start())
        at = found.start()
        if quotes % 2 == 0:
            yield found


def _without(text: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """The text with blanks in these places."""
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], b" " * (end - start)]
        at = end
    return b"".join((*parts, text[at:]))


def _cells(line: str, separator: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(None if separator == BLANKS else separator)]
    content = _parted_by(line.encode(), BLANKS).decode() if separator == BLANKS else line
    try:
        row = next(csv.reader([content], delimiter=separator, skipinitialspace=True, strict=True), [])
        return [cell.strip() for cell in row]
    except csv.Error:
        return line.split(None if separator == BLANKS else separator)


def _width(line: str, separator: str) -> int:
    return len(_cells(line, separator))
