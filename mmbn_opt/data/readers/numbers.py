"""Columns of plain numbers, converted by the parser at once: cell by cell in Python takes five times as long."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["EXACT_PARSER", "are_plain_numbers", "has_leading_zeros"]

EXACT_PARSER: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)
"""Arguments of ``pandas.read_csv`` with which each number is the double next to its text; later ones know no other."""

_EXACT = 2.0**53
"""From here on whole numbers are not all doubles: what is that large may be a name written in digits."""


def are_plain_numbers(values: "pd.Series[Any]") -> bool:
    """Whether what the parser took for numbers are numbers cell by cell: finite, and each as it is written.

    Parameters
    ----------
    values : Series
        A column as ``pandas.read_csv`` infers it, with `EXACT_PARSER`.
    """
    if values.dtype == np.int64:
        return True
    if values.dtype != np.float64:
        return False
    numbers = values.to_numpy()
    return bool(np.isfinite(numbers).all() and (np.abs(numbers) < _EXACT).all())


def has_leading_zeros(text: bytes) -> bool:
    """Whether a cell of a table may begin like 007, which is a name; the exponent of 1e-05 is none.

    Examples
    --------
    >>> has_leading_zeros(b"a,0.5,1e-05"), has_leading_zeros(b"a,007"), has_leading_zeros(b"a,-01")
    (False, True, True)
    """
    b = np.frombuffer(b"\n\n" + text + b"\n", dtype=np.uint8)
    digit = (b - np.uint8(ord("0"))) < 10
    at = 2 + np.flatnonzero((b[2:-1] == ord("0")) & digit[3:] & ~digit[1:-2] & (b[1:-2] != ord(".")))
    before = _in(b[at - 1], b"+-")
    first = np.where(before, b[at - 2], b[at - 1])
    return bool((~_in(first, b"eE")).any())


def _in(characters: NDArray[np.uint8], wanted: bytes) -> NDArray[np.bool_]:
    return np.isin(characters, np.frombuffer(wanted, dtype=np.uint8))
