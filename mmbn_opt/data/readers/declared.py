"""Discrete tables as programs for exact structure learning write them: the number of states of each column, then rows.

Two forms are about: names, numbers of states, rows; and number of columns, numbers of states, number of rows, rows.
"""

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt.data.readers.limits import refuse_beyond_memory
from mmbn_opt.exceptions import FormatError

__all__ = ["is_unnamed", "read_unnamed", "with_declared_states"]

_LEAST_ROWS = 10
"""With fewer rows the first one may be the largest in every column by chance."""
_MOST_STATES = 1_000_000
"""Of a column: more are another number in the wrong place, and each takes room wherever states are listed."""
_START = re.compile(rb"[ \t\n]*([1-9][0-9]{0,6})[ \t]*\n[ \t\n]*([0-9 \t]+)\n[ \t\n]*([0-9]{1,12})[ \t]*\n")


def read_unnamed(text: bytes, source: str, *, trusted: bool = False) -> pd.DataFrame | None:
    r"""A table of the second form, whose columns are called x0, x1, ...; None where the text is something else.

    Parameters
    ----------
    text : bytes
    source : str
        The file, for messages.
    trusted : bool
        Whatever memory it takes.

    Raises
    ------
    FormatError
        If the first three lines say so and the rows do not fit them; the message has the line.

    Examples
    --------
    >>> read_unnamed(b"2\n2 3\n3\n0 2\n1 0\n1 1\n", "t.dat")
      x0 x1
    0  0  2
    1  1  0
    2  1  1
    """
    start, sizes = _sizes(text)
    if start is None:
        return None
    if max(sizes) > _MOST_STATES:
        raise FormatError(
            f"{source}: the second line says {max(sizes):,} states of column {sizes.index(max(sizes)) + 1}; at most "
            f"{_MOST_STATES:,} are read. Mend the second line; if it holds no sizes, write a line of names above."
        )
    if not trusted:
        # As lists of words, a cell takes three times what it takes in an array.
        refuse_beyond_memory(source, "a table", 3 * (text.count(b" ") + text.count(b"\t") + text.count(b"\n")), 0)
    first = text.count(b"\n", 0, start.end()) + 1
    rows = [(first + k, line.split()) for k, line in enumerate(text[start.end() :].split(b"\n")) if line.strip()]
    for number, cells in rows:
        if len(cells) != len(sizes) or not all(cell.isdigit() and len(cell) <= 9 for cell in cells):
            raise FormatError(
                f"{source}: line {number} does not hold the {len(sizes)} numbers of states that the first line says. "
                "Mend the line; if the first lines are no sizes, write a line of names above them."
            )
    if len(rows) != int(start[3]):
        raise FormatError(
            f"{source}: the third line says {int(start[3]):,} rows, there are {len(rows):,}. The file may be cut off; "
            "copy or download it again."
        )
    codes = np.array([cells for _, cells in rows], dtype="S9").astype(np.int64).reshape(len(rows), len(sizes))
    beyond = np.argwhere(codes >= np.array(sizes))
    if len(beyond):
        row, j = (int(place) for place in beyond[0])
        raise FormatError(
            f"{source}: line {rows[row][0]} has state {codes[row, j]} of column {j + 1}, which has {sizes[j]} states, "
            "counted from 0. Mend the line or the second one."
        )
    return pd.DataFrame({f"x{j}": _declared(codes[:, j], size) for j, size in enumerate(sizes)})


def is_unnamed(text: bytes) -> bool:
    """Whether a text begins as a table of the second form."""
    return _sizes(text)[0] is not None


def _sizes(text: bytes) -> tuple[re.Match[bytes] | None, list[int]]:
    """The first three lines of the second form, and the numbers of states that they say."""
    start = _START.match(text)
    sizes = [int(word) for word in start[2].split() if len(word) <= 9] if start else []
    if start is None or len(sizes) != int(start[1]) or len(sizes) < 2 or min(sizes) < 1:
        return None, []
    return start, sizes


def with_declared_states(frame: pd.DataFrame) -> pd.DataFrame | None:
    """A table of the first form without the row of sizes, which become declared states; None where it is none.

    The row is told by the rows below it: whole numbers from 0, smaller than it in every column, and one less at their
    largest in most.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [2] + [0, 1] * 5, "b": [3] + [0, 1, 2, 0, 1] * 2})
    >>> read = with_declared_states(table)
    >>> len(read), list(read["b"].cat.categories)
    (10, [0, 1, 2])
    >>> with_declared_states(table.iloc[1:]) is None
    True
    """
    if len(frame) <= _LEAST_ROWS or any(dtype != np.dtype(np.int64) for dtype in frame.dtypes):
        return None
    values = frame.to_numpy()
    sizes, rows = values[0], values[1:]
    largest = rows.max(axis=0)
    if rows.min() < 0 or (largest >= sizes).any() or 2 * int((largest + 1 == sizes).sum()) < len(sizes):
        return None
    if sizes.max() > len(rows) or sizes.max() < 2:
        return None
    return pd.DataFrame({name: _declared(rows[:, j], int(sizes[j])) for j, name in enumerate(frame.columns)})


def _declared(codes: NDArray[np.int64], size: int) -> "pd.Series[Any]":
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(range(size), dtype=np.int64)))
