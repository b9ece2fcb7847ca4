"""What a cell is as a number: numbers as text, with decimal commas too, moments as seconds, decimals, durations."""

import datetime
import re
from collections.abc import Hashable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError

__all__ = [
    "DECIMAL_COMMA",
    "UNDECIDED_COMMA",
    "are_moments",
    "as_state",
    "finite_numbers",
    "has_moments",
    "holds_objects",
    "is_numeric",
    "moment_text",
    "moments_as_numbers",
    "numbers_in",
    "of_one_type",
]

DECIMAL_COMMA = re.compile(r"[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)?,[0-9]+([eE][+-]?[0-9]+)?")
"""``3,5`` and ``1.234,5``."""
UNDECIDED_COMMA = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
"""``1,234``, which is either 1.234 or 1234."""
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
_MOMENTS = ("date", "datetime", "datetime64", "timedelta", "timedelta64", "period", "time")


def holds_objects(values: pd.Series) -> bool:
    """Whether cells may be anything."""
    return isinstance(values.dtype, np.dtype) and values.dtype.kind == "O"


def is_numeric(values: pd.Series) -> bool:
    """Whether the type of a column, or of all its cells, is one of numbers, moments or durations.

    Examples
    --------
    >>> days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"]))
    >>> is_numeric(days), is_numeric(days.astype(object)), is_numeric(pd.Series(["1", "2"]))
    (True, True, False)
    """
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return False
    if pd.api.types.is_numeric_dtype(dtype) or has_moments(values):
        return True
    # Whole numbers as objects are those that no type of numbers holds: names, since a float would confound them.
    return holds_objects(values) and pd.api.types.infer_dtype(values, skipna=True) in _NUMBERS[1:]


def has_moments(values: pd.Series) -> bool:
    """Whether a column holds moments, dates, periods, times of day or durations."""
    dtype = values.dtype
    if isinstance(dtype, pd.PeriodDtype) or dtype.kind in "mM":
        return True
    return holds_objects(values) and pd.api.types.infer_dtype(values, skipna=True) in _MOMENTS


def are_moments(values: pd.Series) -> bool:
    """Whether the numbers of a column are points in time rather than quantities.

    Examples
    --------
    >>> are_moments(pd.Series(["2020-01-01", None])), are_moments(pd.Series(pd.to_timedelta([1], unit="s")))
    (True, False)
    """
    if has_moments(values):
        kind = pd.api.types.infer_dtype(values, skipna=True) if holds_objects(values) else values.dtype.kind
        return kind not in ("m", "timedelta", "timedelta64", "time")
    if pd.api.types.is_numeric_dtype(values.dtype) or not values.notna().any():
        return False
    return all(isinstance(c, str) and _MOMENT.fullmatch(c.strip()) for c in pd.unique(values.dropna().astype(object)))


def of_one_type(values: pd.Series) -> pd.Series:
    """A column of objects that are numbers as a column of numbers; any other as it is."""
    if not holds_objects(values) or pd.api.types.infer_dtype(values, skipna=True) not in _NUMBERS:
        return values
    try:
        numbers = pd.to_numeric(values)
    except (TypeError, ValueError, OverflowError):
        return values
    if not holds_objects(numbers) or not is_numeric(values):
        return numbers
    return pd.Series(numbers_in(values), index=values.index, name=values.name)


def numbers_in(values: pd.Series) -> FloatArray:
    """Cells as numbers, shape (n,); NaN where a cell is missing or is no number.

    Moments are seconds since 1970 (UTC), durations seconds; text may hold numbers, with a decimal comma too, and
    moments as ISO 8601 writes them.

    Examples
    --------
    >>> numbers_in(pd.Series(["1.5", "2,5", "1970-01-02", "x", None])).tolist()
    [1.5, 2.5, 86400.0, nan, nan]
    """
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = np.append(numbers_in(pd.Series(values.cat.categories)), np.nan)
        return np.asarray(categories[values.cat.codes.to_numpy()], dtype=np.float64)
    if pd.api.types.is_numeric_dtype(dtype):
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    if isinstance(dtype, (np.dtype, pd.DatetimeTZDtype)) and dtype.kind in "mM":
        plain = values.dt.tz_convert(None) if isinstance(dtype, pd.DatetimeTZDtype) else values
        return _seconds(plain.to_numpy())
    rows, distinct = pd.factorize(values.astype(object) if not isinstance(dtype, np.dtype) else values)
    cells = np.asarray(distinct, dtype=object)
    # At once what most cells are; the rest cell by cell.
    plain = pd.to_numeric(pd.Series([c if isinstance(c, str) else None for c in cells], dtype=object), errors="coerce")
    numbers = np.append(plain.to_numpy(dtype=np.float64), np.nan)
    for k in np.flatnonzero(np.isnan(numbers[:-1])):
        numbers[k] = _number_of(cells[k])
    return np.asarray(numbers[rows])


def finite_numbers(name: str, values: pd.Series, cure: str) -> FloatArray:
    """`numbers_in` of a column that is one of numbers, shape (n,); NaN where a cell is missing.

    Parameters
    ----------
    name : str
        Of the column.
    values : Series
    cure : str
        What to do about a cell that is no number.

    Raises
    ------
    InputError
        With the first cell that is no number, or not finite.

    Examples
    --------
    >>> finite_numbers("a", pd.Series(["1.5", None]), "Correct it.").tolist()
    [1.5, nan]
    """
    numbers = numbers_in(values)
    unknown = np.isnan(numbers)
    if unknown.any() and len(bad := values[unknown & values.notna().to_numpy()]):
        raise InputError(
            f"Column {shown(name)} is numeric, but row {shown(bad.index[0])} holds {shown(bad.iloc[0])}. {cure}"
        )
    if (infinite := np.flatnonzero(np.isinf(numbers))).size:
        row = int(infinite[0])
        raise InputError(
            f"Column {shown(name)} holds {float(numbers[row])!r} at position {row}; only finite numbers can be used."
        )
    return numbers


def moments_as_numbers(X: Any) -> Any:
    """A frame or an array with its moments and durations as seconds; anything else as it is.

    Examples
    --------
    >>> moments_as_numbers(np.array([["1970-01-02"]], dtype="datetime64[D]")).tolist()
    [[86400.0]]
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        return _seconds(X)
    if not isinstance(X, pd.DataFrame) or not any(has_moments(X.iloc[:, j]) for j in range(X.shape[1])):
        return X
    columns = [X.iloc[:, j] for j in range(X.shape[1])]
    parts = [pd.Series(numbers_in(c), index=X.index, name=c.name) if has_moments(c) else c for c in columns]
    return pd.concat(parts, axis=1)


def _seconds(moments: NDArray[Any]) -> FloatArray:
    unit = np.datetime_data(moments.dtype)[0]
    if unit not in _PER_SECOND:
        moments = moments.astype(f"{moments.dtype.kind}8[s]")
        unit = "s"
    seconds = moments.astype(np.int64) / _PER_SECOND[unit]
    return np.where(np.isnat(moments), np.nan, seconds)


def _number_of(cell: Any) -> float:
    try:
        if isinstance(cell, str):
            return _number_of_text(cell.strip())
        if isinstance(cell, (bool, np.bool_, Real, Decimal)):
            return float(cell)
        if isinstance(cell, pd.Period):
            cell = cell.start_time
        if isinstance(cell, datetime.time):
            cell = datetime.timedelta(
                hours=cell.hour, minutes=cell.minute, seconds=cell.second + cell.microsecond / 1e6
            )
        if isinstance(cell, (datetime.timedelta, np.timedelta64)):
            return float(_seconds(np.asarray(pd.Timedelta(cell).asm8)))
        if isinstance(cell, (datetime.date, np.datetime64)):
            moment = pd.Timestamp(cell)
            return float(_seconds(np.asarray(moment.tz_convert(None).asm8 if moment.tz else moment.asm8)))
    except (ValueError, OverflowError):
        return float("nan")
    return float("nan")


def _number_of_text(text: str) -> float:
    if DECIMAL_COMMA.fullmatch(text):
        return float(text.replace(".", "").replace(",", "."))
    if _MOMENT.fullmatch(text):
        return _number_of(pd.Timestamp(text.replace(",", ".")))
    return float("nan")


_MICROSECONDS_REACH = 9.2e12
"""Seconds from 1970 that 64 bits of microseconds hold."""


def moment_text(seconds: float) -> str:
    """A moment as text, to the microsecond, or to the second more than 292,000 years away.

    Examples
    --------
    >>> moment_text(86400.0), moment_text(1.5), moment_text(-1e14)
    ('1970-01-02', '1970-01-01T00:00:01.500000', '-3166904-02-24T14:13:20')
    """
    near = abs(seconds) < _MICROSECONDS_REACH
    text = str(np.datetime64(round(seconds * 1e6), "us") if near else np.datetime64(round(seconds), "s"))
    day, _, time = text.partition("T")
    clock, _, fraction = time.partition(".")
    if fraction.strip("0"):
        return text
    return f"{day}T{clock}" if clock.strip("0:") else day


def as_state(value: Any) -> Hashable:
    """A cell as Python's own value; moments and durations as pandas', which compare and print whatever their unit.

    Examples
    --------
    >>> as_state(np.int64(3)), as_state(np.datetime64("2020-01-01", "D"))
    (3, Timestamp('2020-01-01 00:00:00'))
    """
    if isinstance(value, (np.datetime64, datetime.datetime)):
        return pd.Timestamp(value)
    if isinstance(value, (np.timedelta64, datetime.timedelta)):
        return pd.Timedelta(value)
    state: Hashable = value.item() if isinstance(value, np.generic) else value
    return state
