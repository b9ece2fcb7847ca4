"""Delimited text: CSV and its relatives, typed column by column."""

import csv
import io
import logging
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt.data.readers.cell_texts import NUMBER, Column, Numbers, decimal_comma
from mmbn_opt.data.readers.declared import read_unnamed, with_declared_states
from mmbn_opt.data.readers.layout import BLANKS, Layout, find_layout, first_line, records
from mmbn_opt.data.readers.limits import refuse_beyond_memory
from mmbn_opt.data.readers.names import refuse_bad_names
from mmbn_opt.data.readers.numbers import EXACT_PARSER, are_plain_numbers, has_leading_zeros
from mmbn_opt.exceptions import FormatError

__all__ = ["after_lines", "names_of", "parsed", "read_delimited", "refuse_ragged"]

logger = logging.getLogger(__name__)

_GLANCE_ROWS = 100
"""Rows that tell which columns are tried as numbers."""


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
    names, lines = names_of(text, separator, source, body_at_line)
    body = after_lines(text, lines)
    body_at_line += lines

    refuse_ragged(body, layout, len(names), source, body_at_line)
    if not body.strip():
        return pd.DataFrame({name: pd.Series(dtype=np.float64) for name in names})
    columns = parsed(body, separator, names, missing)
    comma = decimal_comma([column.signs for column in columns], source)
    frame = pd.DataFrame({column.name: column.typed(column.signs.kind(comma=comma)) for column in columns})
    declared = with_declared_states(frame) if separator == BLANKS else None
    if declared is None:
        return frame
    logger.warning(
        "%s: the row below the names is taken for the numbers of states of the columns, since all other rows are below "
        "it; it is no sample", source,
    )  # fmt: skip
    return declared


def names_of(text: bytes, separator: str, source: str, line: int) -> tuple[list[str], int]:
    """The cells of the first row, which begins in `line` of the file, and how many lines it takes."""
    rows = records(text, separator)
    try:
        names = [name.strip() for name in next(rows)]
    except csv.Error as error:
        raise FormatError(_bad_quotes(source, line, error)) from None
    refuse_bad_names(names, source)
    return names, rows.line_num


def parsed(
    body: bytes, separator: str, names: list[str], missing: frozenset[str], texts_only: Collection[int] = ()
) -> "list[Column | Numbers]":
    """The columns. Not all the numbers that the parser infers come back as written ("007", "inf", "1e999").

    Those of `texts_only` are not tried as numbers.
    """

    def read(**how: Any) -> pd.DataFrame:
        table: pd.DataFrame = pd.read_csv(
            io.BytesIO(body), sep=separator, header=None, names=range(len(names)), index_col=False, na_filter=False,
            skipinitialspace=True, low_memory=False, encoding="utf-8", **how,
        )  # fmt: skip
        return table

    every = range(len(names))
    numbers: list[int] = []
    if not any(NUMBER.fullmatch(marker) for marker in missing) and not has_leading_zeros(body):
        glance = read(nrows=_GLANCE_ROWS)
        numbers = [j for j in every if j not in texts_only and are_plain_numbers(glance[j])]
    cells = read(dtype={j: object for j in every if j not in numbers}, **EXACT_PARSER)
    texts = {j: Column.of(names[j], cells[j].to_numpy(), missing) for j in every if j not in numbers}

    def as_texts(columns: list[int]) -> None:
        if not columns:
            return
        table = read(usecols=columns, dtype=object)
        texts.update({j: Column.of(names[j], table[j].to_numpy(), missing) for j in columns})

    as_texts([j for j in numbers if not are_plain_numbers(cells[j])])
    if any(column.signs.has_decimal_commas for column in texts.values()):
        as_texts([j for j in every if j not in texts])  # they tell what a comma means
    return [texts[j] if j in texts else Numbers(name, cells[j]) for j, name in enumerate(names)]


def after_lines(text: bytes, count: int) -> bytes:
    """What follows the first lines."""
    at = 0
    for _ in range(count):
        at = text.find(b"\n", at) + 1
        if at == 0:
            return b""
    return text[at:]


def refuse_ragged(body: bytes, layout: Layout, width: int, source: str, first_line: int) -> None:
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
