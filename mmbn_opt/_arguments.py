"""Arguments checked, refused by name and value and alike everywhere; and how messages show values and lists of them."""

import math
import operator
import reprlib
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from numbers import Real
from typing import Any, SupportsIndex

from .exceptions import InputError

__all__ = ["checked_number", "choice_of", "is_number", "is_whole", "listed", "shown", "whole"]

_WIDEST = 60
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 4, _WIDEST, 2 * _WIDEST, _WIDEST
_MOST = 8
_LONGEST = 600


def shown(value: Any) -> str:
    """A value for a message, cut to 60 characters and where it is too deep to read.

    Examples
    --------
    >>> shown("a"), len(shown("a" * 10_000))
    ("'a'", 60)
    """
    # Not all of a long text or a deep list is written out first: it may be a file.
    text = _SHORT.repr(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


def listed(values: Iterable[Any], most: int = _MOST, show: Callable[[Any], str] = shown) -> str:
    """The first few of several values for a message, and how many there are besides.

    Parameters
    ----------
    values : iterable
        Names, states, cells, rows.
    most : int
        Of them that are shown.
    show : callable
        How; ``str`` for what has been put into words already.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(100), 3)
    ("'a', 'b'", '0, 1, 2 and 97 more')
    """
    known = values if isinstance(values, Collection) else list(values)
    told: list[str] = []
    for value in islice(known, most):
        told.append(show(value))
        if sum(map(len, told)) > _LONGEST:
            break
    more = len(known) - len(told)
    return ", ".join(told) + (f" and {more:,} more" if more else "")


def is_number(value: Any) -> bool:
    """Whether it is a real number, of NumPy too; True and NaN are none.

    Examples
    --------
    >>> import numpy as np
    >>> is_number(np.float32(0.5)), is_number(True), is_number(float("nan")), is_number("2")
    (True, False, False, False)
    """
    # NumPy registers its numbers as real ones, and not its booleans.
    kind: Any = type(value)
    return issubclass(kind, Real) and not issubclass(kind, bool) and bool(value == value)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, of NumPy too; True is none, and neither is 2.0.

    Examples
    --------
    >>> import numpy as np
    >>> is_whole(np.int64(2)), is_whole(2.0), is_whole(True), is_whole(np.array([1, 2]))
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return False
    try:
        operator.index(value)
    except TypeError:  # an array of several, a boolean of NumPy
        return False
    return True


def checked_number(
    name: str,
    value: Any,
    low: float = 0.0,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    expected: str | None = None,
) -> float:
    """The number itself, as Python's own, if it lies between `low` and `high`.

    Parameters
    ----------
    name : str
        Of the argument.
    value : object
    low, high : float
    open_low, open_high : bool
        Whether the end itself is outside; ``open_high`` with an infinite `high` asks for a finite number.
    expected : str or None
        What it must be, in words; the interval by default.

    Raises
    ------
    InputError

    Examples
    --------
    >>> checked_number("lam", 0.5, open_low=True), checked_number("time_limit", 5)
    (0.5, 5)
    >>> checked_number("h", "2", 1.0, 100.0)
    Traceback (most recent call last):
    mmbn_opt.exceptions.InputError: h must be a number in [1, 100], got '2'.
    """
    inside = is_number(value) and low <= value <= high
    if not inside or (open_low and value == low) or (open_high and value == high):
        if expected is None:
            expected = f"a number in {'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
        raise InputError(f"{name} must be {expected}, got {shown(value)}.")
    number: float = value.item() if hasattr(value, "item") else value
    return number


def whole(name: str, value: Any, low: int = 0, high: int | None = None, *, expected: str | None = None) -> int:
    """The whole number itself, as Python's own, if it lies between `low` and `high`.

    Parameters
    ----------
    name : str
        Of the argument.
    value : object
    low : int
    high : int or None
    expected : str or None
        What it must be, in words; the range by default.

    Raises
    ------
    InputError

    Examples
    --------
    >>> whole("threads", 4, 1)
    4
    >>> whole("seed", 1.5)
    Traceback (most recent call last):
    mmbn_opt.exceptions.InputError: seed must be a whole number >= 0, got 1.5.
    """
    number = operator.index(value) if is_whole(value) else None
    if number is None or number < low or (high is not None and number > high):
        if expected is None:
            expected = f"a whole number >= {low}" if high is None else f"a whole number from {low} to {high}"
        raise InputError(f"{name} must be {expected}, got {shown(value)}.")
    return number


def choice_of(name: str, value: Any, allowed: Sequence[Any], *, expected: str | None = None) -> None:
    """Refuse a value that is none of those allowed: texts, True, False or None.

    Parameters
    ----------
    name : str
        Of the argument.
    value : object
    allowed : sequence
    expected : str or None
        What it must be, in words; a list of those allowed by default.

    Raises
    ------
    InputError

    Examples
    --------
    >>> choice_of("score", "bic", ("bic", "mdl"))
    >>> choice_of("score", "aic", ("bic", "mdl"))
    Traceback (most recent call last):
    mmbn_opt.exceptions.InputError: score must be one of 'bic', 'mdl', got 'aic'.
    """
    if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
        raise InputError(f"{name} must be {expected or 'one of ' + ', '.join(map(repr, allowed))}, got {shown(value)}.")
