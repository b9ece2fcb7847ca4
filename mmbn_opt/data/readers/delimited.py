"""Delimited text: CSV with any of four separators, typed column by column."""

import csv
import io
import logging
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt.data.readers.limits import refuse_beyond_memory
from mmbn_opt.data.readers.names import refuse_bad_names
from mmbn_opt.exceptions import FormatError

if TYPE_CHECKING:
    from _csv import Reader

__all__ = ["WHOLE_NUMBER", "read_delimited"]

logger = logging.getLogger(__name__)

_SEPARATORS = ",;\t|"
_SAMPLE_ROWS = 50
_SAMPLE_BYTES = 1 << 16
# No leading zeros: "007" is a name, and would not come back from 7.
WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BLANK_LINES = re.compile(rb"(?:[^\S\n]*+\n)*+")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


def read_delimited(text: bytes, source: str, missing: frozenset[str], *, trusted: bool = False) -> pd.DataFrame:
    r"""Parse UTF-8 text with \n line ends; see `read_table` for the rules. `trusted`: whatever memory it takes."""
    blank = _BLANK_LINES.match(text)
    body_at_line = 1
    if blank is not None:
        body_at_line += blank.group().count(b"\n")
        text = text[blank.end() :]
    separator = _find_separator(text)
    if not trusted:
        refuse_beyond_memory(source, "a table", text.count(separator.encode()) + text.count(b"\n"), len(text))
    rows = _records(text, separator)
    try:
        names = [name.strip() for name in next(rows)]
    except csv.Error as error:
        raise FormatError(_bad_quotes(source, body_at_line, error)) from None
    refuse_bad_names(names, source)
    body = _after_lines(text, rows.line_num)
    body_at_line += rows.line_num

    _refuse_ragged(body, separator, len(names), source, body_at_line)
    if not body.strip():
        return pd.DataFrame({name: pd.Series(dtype=np.float64) for name in names})
    # Everything as text: not all the numbers that pandas would infer come back as written ("007", "inf", "1e999").
    cells = pd.read_csv(
        io.BytesIO(body),
        sep=separator,
        header=None,
        names=range(len(names)),
        index_col=False,
        dtype=object,
        na_filter=False,
        skipinitialspace=True,
        low_memory=False,
        encoding="utf-8",
    )
    return pd.DataFrame(
        {name: _typed(cells[j].to_numpy(), missing, name, source) for j, name in enumerate(names)}, index=cells.index
    )


def _records(text: bytes, separator: str) -> "Reader":
    lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="\n")
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)


def _find_separator(text: bytes) -> str:
    """The separator that gives the first rows one width; failing that, the widest header; failing that, a comma."""
    sample = text[:_SAMPLE_BYTES]
    if len(sample) < len(text):
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    best, best_rank = ",", (False, 1)
    for separator in _SEPARATORS:
        try:
            widths = [len(row) for row in islice(_records(sample, separator), _SAMPLE_ROWS) if row]
        except (csv.Error, UnicodeDecodeError):
            continue
        rank = (len(set(widths)) == 1, widths[0])
        if widths[0] > 1 and rank > best_rank:
            best, best_rank = separator, rank
    return best


def _after_lines(text: bytes, count: int) -> bytes:
    at = 0
    for _ in range(count):
        at = text.find(b"\n", at) + 1
        if at == 0:
            return b""
    return text[at:]


def _refuse_ragged(body: bytes, separator: str, width: int, source: str, first_line: int) -> None:
    """Refuse rows with too many or too few cells, which pandas would shift or fill up silently."""
    if b'"' in body:
        ragged = _ragged_quoted(body, separator, width, source, first_line)
    else:
        ragged = _ragged_plain(body, separator, width, first_line)
    if not ragged:
        return
    told = ", ".join(f"line {line} has {cells}" for line, cells in ragged[:3])
    more = f" ({len(ragged)} such lines)" if len(ragged) > 3 else ""
    cure = "Quote cells that hold the separator, or mend these lines."
    if all(cells == width + 1 for _, cells in ragged):
        cure = "If the rows begin with a name or number of the row, give that column a name in the first line."
    raise FormatError(f"{source}: the first line has {width} cells (separator {separator!r}), but {told}{more}. {cure}")


def _ragged_plain(body: bytes, separator: str, width: int, first_line: int) -> list[tuple[int, int]]:
    characters = np.frombuffer(body, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    if not body.endswith(b"\n"):
        ends = np.append(ends, characters.size)
    before = np.searchsorted(np.flatnonzero(characters == ord(separator)), ends)
    cells = np.diff(before, prepend=0) + 1
    starts = np.concatenate(([0], ends[:-1] + 1))
    suspects = np.flatnonzero(cells != width)
    return [(first_line + int(i), int(cells[i])) for i in suspects if not _blank(body[starts[i] : ends[i]], separator)]


def _ragged_quoted(body: bytes, separator: str, width: int, source: str, first_line: int) -> list[tuple[int, int]]:
    rows = _records(body, separator)
    try:
        # Blank lines come as [] or [""].
        ragged = [
            (first_line + rows.line_num - 1, len(row)) for row in rows if len(row) != width and row not in ([], [""])
        ]
    except csv.Error as error:
        raise FormatError(_bad_quotes(source, first_line + rows.line_num - 1, error)) from None
    else:
        return ragged


def _blank(line: bytes, separator: str) -> bool:
    return not line.strip(b" \t".replace(separator.encode(), b""))


def _bad_quotes(source: str, line: int, error: csv.Error) -> str:
    return (
        f"{source}: line {line} can't be split into cells ({error}). A cell that begins with a double quote must end "
        "with one, and double quotes inside it are doubled."
    )


def _typed(cells: NDArray[np.object_], missing: frozenset[str], name: str, source: str) -> "pd.Series[Any]":
    """One column as numbers if all its cells are, as text otherwise; each distinct cell is looked at once."""
    rows, distinct = pd.factorize(cells)
    texts = [str(text).strip() for text in distinct]
    present = np.array([text not in missing for text in texts])
    known = present[rows]
    found = [text for text in texts if text not in missing]
    if all(WHOLE_NUMBER.fullmatch(text) for text in found) and found:
        # The longest 64-bit number has 19 digits and a sign; Python refuses to convert thousands of them.
        fits = max(map(len, found)) <= 20
        integers = [int(text) if text not in missing else 0 for text in texts] if fits else []
        if fits and max(map(abs, integers)) <= np.iinfo(np.int64).max:
            values = np.array(integers, dtype=np.int64)[rows]
            return pd.Series(values) if known.all() else pd.Series(pd.arrays.IntegerArray(values, ~known))
    elif all(_NUMBER.fullmatch(text) for text in found):
        numbers = np.array([float(text) if text not in missing else np.nan for text in texts])
        if not np.isinf(numbers).any():
            return pd.Series(numbers[rows])
    elif all(_DECIMAL_COMMA.fullmatch(text) for text in found):
        logger.warning("%s: column %r looks like numbers with a decimal comma; it is read as text", source, name)
    return _text(texts, rows, known)


def _text(texts: list[str], rows: NDArray[np.intp], known: NDArray[np.bool_]) -> "pd.Series[Any]":
    # Cells that differed only in blanks around them are now one state.
    of_text, states = pd.factorize(np.array(texts, dtype=object))
    index = pd.Index(list(states))
    codes = np.where(known, of_text[rows], -1)
    return pd.Series(pd.Categorical.from_codes(codes, categories=index)).astype(index.dtype)
