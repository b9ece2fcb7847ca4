"""Columns of delimited text: what the texts of their cells say about the column, and the column as values."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["NUMBER", "WHOLE_NUMBER", "CellKind", "Column", "Numbers", "Signs", "decimal_comma"]

logger = logging.getLogger(__name__)

CellKind = Literal["whole", "real", "text"]

# No leading zeros: "007" is a name, and would not come back from 7.
WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(0|[1-9][0-9]*)?,[0-9]+([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")


@dataclass(frozen=True)
class Signs:
    """What the cells of a column, or of a part of its rows, have in common; `joined` with those of other rows.

    Parameters
    ----------
    name : str
    found, missing : bool
        Whether a cell is there, and whether one is missing.
    whole, number : bool
        Whether all cells that are there are whole numbers, or numbers.
    fits, finite : bool
        Whether 64-bit types hold the whole numbers, and the others.
    points, commas : bool
        Whether a cell has a point, and whether one has a comma.
    comma_form, thousands : bool
        Whether cells with a comma may be decimals (and the others are whole), and whether they may be thousands.

    Examples
    --------
    >>> a, b = Signs.of("a", ["1", "2"], missing=False), Signs.of("a", ["0.5"], missing=True)
    >>> a.kind(comma=False), b.kind(comma=False), a.joined(b).kind(comma=False)
    ('whole', 'real', 'real')
    """

    name: str
    found: bool
    missing: bool
    whole: bool
    number: bool
    fits: bool = True
    finite: bool = True
    points: bool = False
    commas: bool = False
    comma_form: bool = True
    thousands: bool = True

    @classmethod
    def of(cls, name: str, found: Sequence[str], *, missing: bool) -> "Signs":
        """Those of the texts that are there."""
        whole = all(map(WHOLE_NUMBER.fullmatch, found))
        number = whole or all(map(NUMBER.fullmatch, found))
        commas = [text for text in found if "," in text]
        comma_form = all(map(_DECIMAL_COMMA.fullmatch, commas)) and (
            whole or all(map(WHOLE_NUMBER.fullmatch, (text for text in found if "," not in text)))
        )
        # The longest 64-bit number has 19 digits and a sign; Python refuses to convert thousands of them.
        fits = not whole or all(len(text) <= 20 and abs(int(text)) <= np.iinfo(np.int64).max for text in found)
        reals = not whole and (number or comma_form)
        return cls(
            name,
            bool(found),
            missing,
            whole,
            number,
            fits=fits,
            finite=not reals or not np.isinf([float(text.replace(",", ".")) for text in found]).any(),
            points=any("." in text for text in found),
            commas=bool(commas),
            comma_form=comma_form,
            thousands=all(map(_THOUSANDS.fullmatch, commas)),
        )

    def joined(self, other: "Signs") -> "Signs":
        """Those of all rows of both."""
        return Signs(
            self.name,
            self.found or other.found,
            self.missing or other.missing,
            self.whole and other.whole,
            self.number and other.number,
            fits=self.fits and other.fits,
            finite=self.finite and other.finite,
            points=self.points or other.points,
            commas=self.commas or other.commas,
            comma_form=self.comma_form and other.comma_form,
            thousands=self.thousands and other.thousands,
        )

    @property
    def has_decimal_commas(self) -> bool:
        """Whether all cells are numbers, some with a comma and none with a point."""
        return self.commas and self.comma_form

    def kind(self, *, comma: bool) -> CellKind:
        """Numbers if all cells are, else text; `comma`: whether decimals may be written with one."""
        if self.whole and self.found:
            return "whole" if self.fits else "text"
        if (self.number or (comma and self.has_decimal_commas)) and self.finite:
            return "real"
        return "text"


@dataclass(frozen=True, eq=False)
class Column:
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
    def of(cls, name: str, cells: NDArray[np.object_], missing: frozenset[str]) -> "Column":
        """The column of some cells."""
        rows, distinct = pd.factorize(cells)
        texts = [str(text).strip() for text in distinct]
        return cls(name, rows, texts, np.array([text not in missing for text in texts], dtype=bool))

    @cached_property
    def signs(self) -> Signs:
        """What its cells have in common."""
        found = [text for text, there in zip(self.texts, self.present, strict=True) if there]
        return Signs.of(self.name, found, missing=not self.present.all())

    def typed(self, kind: CellKind) -> "pd.Series[Any]":
        """The column as `kind`, which its signs must allow."""
        known = self.present[self.rows]
        texts = list(zip(self.texts, self.present, strict=True))
        if kind == "whole":
            values = np.array([int(text) if there else 0 for text, there in texts], dtype=np.int64)[self.rows]
            return pd.Series(values) if known.all() else pd.Series(pd.arrays.IntegerArray(values, ~known))
        if kind == "real":
            numbers = np.array([float(text.replace(",", ".")) if there else np.nan for text, there in texts])
            return pd.Series(numbers[self.rows])
        # Cells that differed only in blanks around them are now one state.
        of_text, states = pd.factorize(np.array(self.texts, dtype=object))
        index = pd.Index(list(states))
        codes = np.where(known, of_text[self.rows], -1)
        return pd.Series(pd.Categorical.from_codes(codes, categories=index)).astype(index.dtype)


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers that the parser converted, without missing cells."""

    name: str
    values: "pd.Series[Any]"

    @property
    def signs(self) -> Signs:
        """What its cells have in common: real numbers may have been written without a point, which is not known."""
        whole = self.values.dtype == np.int64
        return Signs(self.name, found=bool(len(self.values)), missing=False, whole=whole, number=True, points=not whole)

    def typed(self, kind: CellKind) -> "pd.Series[Any]":
        """The numbers."""
        assert kind != "text"
        return self.values if kind == "whole" else self.values.astype(np.float64)


def decimal_comma(columns: Sequence[Signs], source: str) -> bool:
    """Whether the numbers of a table are written with a decimal comma; what could be anything else is told."""
    suspects = [column for column in columns if column.has_decimal_commas]
    if not suspects:
        return False
    pointed = [column.name for column in columns if column.points and column.number]
    if pointed:
        why = f"those of {pointed[0]!r} have a point"
    elif all(column.thousands for column in suspects):
        why = "they may be thousands"
    else:
        logger.info("%s: numbers with a decimal comma in %s", source, [column.name for column in suspects])
        return True
    logger.warning(
        "%s: column %r looks like numbers with a decimal comma, but %s; it is read as text. Write decimals with a "
        "point, and thousands without a comma",
        source, suspects[0].name, why,
    )  # fmt: skip
    return False
