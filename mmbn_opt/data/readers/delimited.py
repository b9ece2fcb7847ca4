"""Delimited text: CSV and its relatives, typed column by column."""

import csv
import io
import logging
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt.data.readers.declared import read_unnamed, with_declared_states
from mmbn_opt.data.readers.layout import BLANKS, Layout, find_layout, first_line, records
from mmbn_opt.data.readers.limits import refuse_beyond_memory
from mmbn_opt.data.readers.names import refuse_bad_names
from mmbn_opt.data.readers.numbers import EXACT_PARSER, are_plain_numbers, has_leading_zeros
from mmbn_opt.exceptions import FormatError

__all__ = ["WHOLE_NUMBER", "read_delimited"]

logger = logging.getLogger(__name__)

_GLANCE_ROWS = 100
"""Rows that tell which columns are tried as numbers."""

# No leading zeros: "007" is a name, and would not come back from 7.
WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(0|[1-9][0-9]*)?,[0-9]+([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")


def read_delimited(text: bytes, source: str, missing: frozenset[str], *, trusted: bool = False) -> pd.DataFrame:
    r"""Parse UTF-8 text with \n line ends; see `read_table` for the rules. `trusted`: whatever memory it takes."""
    unnamed = read_unnamed(text, source, trusted=trusted)
    if unnamed is not None:
        logger.info("%s: %d columns without names are called x0, x1, ...", source, unnamed.shape[1])
        return unnamed
    layout = find_layout(text, source)
    text, separator = layout.text, layout.separator
    begins = first_line(text)
    body_at_line = 1 + text.count(b"\n", 0, begins)
    text = text[begins:]
    if not text.strip():
        raise FormatError(f"{source}: the file has no line that names columns. Check that it is the file you mean.")
    if not trusted:
        refuse_beyond_memory(source, "a table", text.count(separator.encode()) + text.count(b"\n"), len(text))
    rows = records(text, separator)
    try:
        names = [name.strip() for name in next(rows)]
    except csv.Error as error:
        raise FormatError(_bad_quotes(source, body_at_line, error)) from None
    refuse_bad_names(names, source)
    body = _after_lines(text, rows.line_num)
    body_at_line += rows.line_num

    _refuse_ragged(body, layout, len(names), source, body_at_line)
    if not body.strip():
        return pd.DataFrame({name: pd.Series(dtype=np.float64) for name in names})
    columns = _parsed(body, separator, names, missing)
    comma = _decimal_comma(columns, source)
    frame = pd.DataFrame({column.name: column.typed(comma=comma) for column in columns})
    declared = with_declared_states(frame) if separator == BLANKS else None
    if declared is None:
        return frame
    logger.warning(
        "%s: the row below the names is taken for the numbers of states of the columns, since all other rows are below "
        "it; it is no sample", source,
    )  # fmt: skip
    return declared


def _parsed(body: bytes, separator: str, names: list[str], missing: frozenset[str]) -> "list[_Column | _Numbers]":
    """The columns. Not all the numbers that the parser infers come back as written ("007", "inf", "1e999")."""

    def read(**how: Any) -> pd.DataFrame:
        table: pd.DataFrame = pd.read_csv(
            io.BytesIO(body), sep=separator, header=None, names=range(len(names)), index_col=False, na_filter=False,
            skipinitialspace=True, low_memory=False, encoding="utf-8", **how,
        )  # fmt: skip
        return table

    every = range(len(names))
    numbers: list[int] = []
    if not any(_NUMBER.fullmatch(marker) for marker in missing) and not has_leading_zeros(body):
        glance = read(nrows=_GLANCE_ROWS)
        numbers = [j for j in every if are_plain_numbers(glance[j])]
    cells = read(dtype={j: object for j in every if j not in numbers}, **EXACT_PARSER)
    texts = {j: _Column.of(names[j], cells[j].to_numpy(), missing) for j in every if j not in numbers}

    def as_texts(columns: list[int]) -> None:
        if not columns:
            return
        table = read(usecols=columns, dtype=object)
        texts.update({j: _Column.of(names[j], table[j].to_numpy(), missing) for j in columns})

    as_texts([j for j in numbers if not are_plain_numbers(cells[j])])
    if any(column.has_decimal_commas for column in texts.values()):
        as_texts([j for j in every if j not in texts])  # they tell what a comma means
    return [texts[j] if j in texts else _Numbers(name, cells[j]) for j, name in enumerate(names)]


def _after_lines(text: bytes, count: int) -> bytes:
    at = 0
    for _ in range(count):
        at = text.find(b"\n", at) + 1
        if at == 0:
            return b""
    return text[at:]


def _refuse_ragged(body: bytes, layout: Layout, width: int, source: str, first_line: int) -> None:
    """Refuse rows with too many or too few cells, which pandas would shift or fill up silently."""
    separator = layout.separator
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
    raise FormatError(f"{source}: the first line has {width} cells (separator {layout.name}), but {told}{more}. {cure}")


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
    rows = records(body, separator)
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


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as text; each distinct cell is looked at once.

    Parameters
    ----------
    name : str
    rows : integer array (n_rows,)
        Where the cell of each row is in `texts`.
    texts : list of str
    present : bool array (n_texts,)
        Those that are not missing.
    """

    name: str
    rows: NDArray[np.intp]
    texts: list[str]
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, name: str, cells: NDArray[np.object_], missing: frozenset[str]) -> "_Column":
        rows, distinct = pd.factorize(cells)
        texts = [str(text).strip() for text in distinct]
        return cls(name, rows, texts, np.array([text not in missing for text in texts], dtype=bool))

    @property
    def found(self) -> list[str]:
        """Texts that are not missing."""
        return [text for text, there in zip(self.texts, self.present, strict=True) if there]

    @property
    def has_decimal_commas(self) -> bool:
        """Whether all cells are numbers, some with a comma and none with a point."""
        return _has_decimal_commas(self.found)

    @property
    def has_points(self) -> bool:
        """Whether all cells are numbers, some with a point."""
        return any("." in text for text in self.found) and all(map(_NUMBER.fullmatch, self.found))

    def typed(self, *, comma: bool) -> "pd.Series[Any]":
        """Numbers if all its cells are, as text otherwise; `comma`: whether decimals may be written with one."""
        found, known = self.found, self.present[self.rows]
        if all(WHOLE_NUMBER.fullmatch(text) for text in found) and found:
            # The longest 64-bit number has 19 digits and a sign; Python refuses to convert thousands of them.
            fits = max(map(len, found)) <= 20
            texts = zip(self.texts, self.present, strict=True)
            integers = [int(text) if there else 0 for text, there in texts] if fits else []
            if fits and max(map(abs, integers)) <= np.iinfo(np.int64).max:
                values = np.array(integers, dtype=np.int64)[self.rows]
                return pd.Series(values) if known.all() else pd.Series(pd.arrays.IntegerArray(values, ~known))
        elif all(_NUMBER.fullmatch(text) for text in found) or (comma and _has_decimal_commas(found)):
            texts = zip(self.texts, self.present, strict=True)
            numbers = np.array([float(text.replace(",", ".")) if there else np.nan for text, there in texts])
            if not np.isinf(numbers).any():
                return pd.Series(numbers[self.rows])
        return _text(self.texts, self.rows, known)


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A column of numbers that the parser converted, without missing cells."""

    name: str
    values: "pd.Series[Any]"

    def typed(self, *, comma: bool) -> "pd.Series[Any]":
        """The numbers."""
        return self.values


def _has_decimal_commas(found: list[str]) -> bool:
    """Whether all cells are numbers, some with a comma and none with a point."""
    commas = [text for text in found if "," in text]
    return (
        bool(commas)
        and all(map(_DECIMAL_COMMA.fullmatch, commas))
        and all(WHOLE_NUMBER.fullmatch(text) for text in found if "," not in text)
    )


def _decimal_comma(columns: "list[_Column | _Numbers]", source: str) -> bool:
    """Whether the numbers of a table are written with a decimal comma; what could be anything else is told."""
    texts = [column for column in columns if isinstance(column, _Column)]
    suspects = {column.name: column.found for column in texts if column.has_decimal_commas}
    if not suspects:
        return False
    pointed = [column.name for column in texts if column.has_points]
    if pointed:
        why = f"those of {pointed[0]!r} have a point"
    elif all(_THOUSANDS.fullmatch(text) for found in suspects.values() for text in found if "," in text):
        why = "they may be thousands"
    else:
        logger.info("%s: numbers with a decimal comma in %s", source, list(suspects))
        return True
    logger.warning(
        "%s: column %r looks like numbers with a decimal comma, but %s; it is read as text. Write decimals with a "
        "point, and thousands without a comma",
        source, next(iter(suspects)), why,
    )  # fmt: skip
    return False


def _text(texts: list[str], rows: NDArray[np.intp], known: NDArray[np.bool_]) -> "pd.Series[Any]":
    # Cells that differed only in blanks around them are now one state.
    of_text, states = pd.factorize(np.array(texts, dtype=object))
    index = pd.Index(list(states))
    codes = np.where(known, of_text[rows], -1)
    return pd.Series(pd.Categorical.from_codes(codes, categories=index)).astype(index.dtype)
