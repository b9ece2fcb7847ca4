"""Raw cells to state numbers, by the labels, cuts and missing rule that a proof was recorded with."""

import csv
import gzip
import io
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mmbn_opt.exceptions import FormatError, InputError

__all__ = ["NA", "Column", "read_codes"]

NA = ("", "NA", "NaN", "?")
"""Cells that are missing unless told otherwise."""


class Column(NamedTuple):
    """A variable as it was recorded: texts of its states, cuts of numbers, and whether the last state is missing."""

    name: str
    states: tuple[str, ...]
    cuts: tuple[float, ...] | None
    missing_state: bool

    def code(self, cell: str, na: Collection[str]) -> int:
        """The state of a cell, -1 where it is missing and that is no state, -2 where it is none."""
        if cell in na:
            return len(self.states) - 1 if self.missing_state else -1
        number = _number(cell)
        if self.cuts is not None:
            return -2 if number is None else bisect_left(self.cuts, number)
        known = self.states[: len(self.states) - self.missing_state]
        equal = [k for k, state in enumerate(known) if state == cell]
        equal = equal or [k for k, state in enumerate(known) if _number(state) == number is not None]
        return equal[0] if len(equal) == 1 else -2


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def read_codes(path: Path, columns: Sequence[Column], na: Collection[str], *, drop: bool) -> dict[int, list[int]]:
    """State numbers of the rows of a delimited text by their lines; with `drop` without incomplete rows."""
    known: list[dict[str, int]] = [{} for _ in columns]
    codes = {}
    for line, cells in _rows(path, [column.name for column in columns]):
        for column, cell, seen in zip(columns, cells, known, strict=True):
            if cell not in seen:
                seen[cell] = column.code(cell, na)
        row = [seen[cell] for seen, cell in zip(known, cells, strict=True)]
        if drop and -1 in row:
            continue
        if min(row) < 0:
            at = row.index(min(row))
            raise InputError(
                f"{path}: line {line} differs from the data of the proof: {cells[at]!r} in column {columns[at].name!r} "
                f"is {'missing' if row[at] == -1 else 'none of its states'}. Give the table that was solved."
            )
        codes[line] = row
    return codes


def _rows(path: Path, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Line number, and the cells of the named columns, of every row."""
    raw = path.read_bytes()
    try:
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    except (UnicodeDecodeError, OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path} is no text in UTF-8: {error}. Give a CSV file, .gz or not.") from None
    for separator in ",;\t|":
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
        header = [cell.strip() for cell in next(filter(any, rows), [])]
        if set(names) <= set(header):
            places = [header.index(name) for name in names]
            for row in rows:
                if any(cell.strip() for cell in row):
                    if len(row) != len(header):
                        raise FormatError(f"{path}: line {rows.line_num} has {len(row)} cells, not {len(header)}.")
                    yield rows.line_num, [row[j].strip() for j in places]
            return
    raise InputError(f"{path}: the first line does not name the columns of the proof: {', '.join(names[:12])}.")
