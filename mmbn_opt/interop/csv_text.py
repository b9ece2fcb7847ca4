"""Tables as CSV text: UTF-8 whatever the locale, and on request with cells that no spreadsheet takes for formulas."""

import csv
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

import pandas as pd

__all__ = ["csv_content", "from_spreadsheet", "spreadsheet_cell", "text_of_cell"]

# Where a cell, or what a spreadsheet with another separator takes for one, begins like a formula; a number is none.
_FORMULA = r"(?=[=+@\t\r＝＋－＠]|-(?!(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[;\t\r\n]|\Z)))"
_BEGINS = re.compile(rf"(^|[;\t\r\n])([ \xa0']*){_FORMULA}")
_ESCAPED = re.compile(rf"(^|[;\t\r\n])'([ \xa0']*){_FORMULA}")


def csv_content(frame: pd.DataFrame, *, spreadsheet: bool = False) -> bytes:
    r"""A table as CSV in UTF-8 with ``\n`` line ends, all digits of its numbers and no index.

    Parameters
    ----------
    frame : DataFrame
    spreadsheet : bool
        Write texts that a spreadsheet would run as formulas (``=cmd``, ``@x``, ``-1+2``, ``+1``), in cells and in the
        header, behind an apostrophe, which it takes for the mark of a text. Numbers stay numbers. `from_spreadsheet`
        takes the apostrophes away again.

    Examples
    --------
    >>> table = pd.DataFrame({"=label": ["-1+2", "-1"], "p": [-0.5, 1.0]})
    >>> print(csv_content(table, spreadsheet=True).decode())
    '=label,p
    '-1+2,-0.5
    -1,1.0
    <BLANKLINE>
    """
    if spreadsheet:
        frame = _each_text(frame, spreadsheet_cell)
    cells = {v for j in _texts(frame) for v in frame.iloc[:, j].to_numpy(dtype=object) if isinstance(v, str)}
    texts = [*map(str, frame.columns), *cells]
    # The csv module of Python 3.11 leaves a carriage return without quotes; every reader ends the row there.
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if any("\r" in text for text in texts) else csv.QUOTE_MINIMAL
    text: str = frame.to_csv(index=False, lineterminator="\n", quoting=quoting)
    # What isn't Unicode (a lone surrogate) can't be text of a file; its escape can.
    return text.encode("utf-8", "backslashreplace")


def from_spreadsheet(frame: pd.DataFrame) -> pd.DataFrame:
    """The table as it was before ``spreadsheet=True`` (command line: ``--spreadsheet``) wrote it.

    Examples
    --------
    >>> from_spreadsheet(pd.DataFrame({"'=label": ["'-1+2", "-1"]}))
      =label
    0   -1+2
    1     -1
    """
    return _each_text(frame, text_of_cell)


def spreadsheet_cell(text: str) -> str:
    """A text that a spreadsheet shows and never runs; `text_of_cell` is the inverse for every text.

    Examples
    --------
    >>> [spreadsheet_cell(text) for text in ("=1+1", "'=1+1", "-1", "-x", "a;=b", "low")]
    ["'=1+1", "''=1+1", '-1', "'-x", "a;'=b", 'low']
    """
    return _BEGINS.sub(r"\1'\2", text)


def text_of_cell(text: str) -> str:
    """The text that `spreadsheet_cell` made a cell of."""
    return _ESCAPED.sub(r"\1\2", text)


def _texts(frame: pd.DataFrame) -> list[int]:
    """Positions of the columns that may hold text."""
    return [j for j, kind in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(kind)]


def _each_text(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    def with_change(cells: Iterable[Any]) -> list[Any]:
        return [change(cell) if isinstance(cell, str) else cell for cell in cells]

    changed = frame.copy()
    changed.columns = pd.Index(with_change(frame.columns))
    for j in _texts(frame):
        changed.isetitem(j, pd.array(with_change(frame.iloc[:, j]), dtype=object))
    return changed
