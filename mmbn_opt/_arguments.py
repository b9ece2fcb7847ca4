"""Arguments checked, refused by name and value and alike everywhere, and how messages show values and lists of them."""

import inspect
import math
import operator
import os
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from itertools import islice
from numbers import Real
from types import UnionType
from typing import Any, Literal, SupportsIndex, Union, get_args, get_origin

import numpy as np

from .exceptions import InputError, WrongTypeError

__all__ = [
    "check_arguments",
    "check_fields",
    "checked_number",
    "choice_of",
    "described",
    "is_number",
    "is_whole",
    "listed",
    "shown",
    "whole",
]

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


CURES = {
    "DiscreteDataset": "Make one with prepare(frame, target).data or DiscreteDataset.from_frame(frame, target).",
    "SequenceDataset": "SequenceDataset.from_lists(X, y) makes one, or from_frame of a long table.",
    "Structure": "naive_bayes(data) and from_edges(data, edges) make one, and network.structure is that of a network.",
    "BayesianNetwork": "BayesianNetwork.fit(structure, data) makes one.",
    "Formulation": "Make one of the data first, for example SoftMarginStructure(data).",
    "MulticlassMargin": "MulticlassMargin(X, y) makes one; other formulations go to solve.",
    "MaxMarginRelaxation": "MaxMarginRelaxation(data, structure, gamma) makes one.",
    "Solver": "mmbn_opt.solvers() lists the names; mmbn_opt.solvers has the classes.",
    "StructureConstraint": "MaxEdges(7), MaxFeatures(3) and the like are constraints.",
    "ObjectiveTerm": "EdgePenalty(0.5), ScoreTerm('loglik', 0.1) and the like are terms.",
    "CandidateRestriction": "restrict_candidates(data, k) makes one.",
}
"""How to come by what is wanted, by the name of its class."""


def check_arguments(function: Any, given: Mapping[str, Any]) -> None:
    """Refuse arguments whose type is not what a function declares; what has the right type is checked by its owner.

    Parameters
    ----------
    function : callable
        Its annotations say what is expected: names of ours, numbers, texts, choices, lists, mappings, functions.
    given : mapping of argument name to value
        ``locals()`` at the head of the function. Names that the function doesn't have are left alone.

    Raises
    ------
    InputError
        Naming the argument, what was expected, what was given, and how to come by the right thing.

    Examples
    --------
    >>> def twice(n: int, names: Sequence[str] = ()) -> int:
    ...     check_arguments(twice, locals())
    ...     return 2 * n
    >>> twice([2])
    Traceback (most recent call last):
    mmbn_opt.exceptions.WrongTypeError: n must be a whole number, got [2].
    >>> twice(2, "ab")
    Traceback (most recent call last):
    mmbn_opt.exceptions.WrongTypeError: names must be a list of texts, got 'ab'.
    """
    for name, hint in _hints(function):
        if name in given:
            _check(name, given[name], hint)


def check_fields(value: Any) -> None:
    """Refuse fields of a dataclass whose type is not what the class declares; see `check_arguments`."""
    for field in fields(value):
        if field.init:
            _check(field.name, getattr(value, field.name), field.type)


@cache
def _hints(function: Any) -> tuple[tuple[str, Any], ...]:
    parameters = inspect.signature(function).parameters.values()
    single = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return tuple((p.name, p.annotation) for p in single if p.annotation is not p.empty)


def _check(name: str, value: Any, hint: Any) -> None:
    if _fits(value, hint):
        return
    wanted = [kind.__name__ for kind in (*_options(hint), *get_args(hint)) if inspect.isclass(kind)]  # or a list of it
    cures = [CURES[name] for name in dict.fromkeys(wanted) if name in CURES]
    if tuple[str, str] in get_args(hint):
        cures.append('[("a", "b")] stands for the edge from a to b.')
    raise WrongTypeError(" ".join([f"{name} must be {_in_words(hint)}, got {described(value)}.", *cures]))


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the kind that is declared; ranges of numbers and spellings of texts don't matter."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(isinstance(value, str) if option is str else _fits(value, option) for option in inner)
    if hint is None or hint is type(None):
        return value is None
    if origin is Literal:
        return isinstance(value, tuple({type(option) for option in inner}))
    if origin is Callable:
        return callable(value)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray)
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Iterable):
        return _fits_list(value, inner)
    if hint in (int, float, bool):
        return isinstance(value, (Real, np.bool_))
    if hint is str:  # columns may be named by numbers
        return isinstance(value, str) or is_whole(value)
    kind = origin or hint  # a path is os.PathLike[str]
    return hint is Any or not inspect.isclass(kind) or isinstance(value, kind)


def _fits_list(value: Any, inner: tuple[Any, ...]) -> bool:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return False
    if not inner or not isinstance(value, Collection):
        return True
    if len(inner) == 2 and inner[1] is not Ellipsis:
        return len(value) == 2 and all(map(_fits, value, inner))
    return all(_fits(one, inner[0]) for one in value)


def _in_words(hint: Any, *, many: bool = False) -> str:
    """What a declared type is called in a message."""
    origin, inner = get_origin(hint), get_args(hint)
    plain = {int: "a whole number", float: "a number", bool: "True or False", str: "a text"}
    if origin in (Union, UnionType):
        words = [_in_words(option) for option in inner]
        return " or ".join(dict.fromkeys(words))
    if hint is None or hint is type(None):
        return "None"
    if origin is Literal:
        return "one of " + ", ".join(map(repr, inner)) if len(inner) > 1 else repr(inner[0])
    if origin in (Callable, np.ndarray, os.PathLike):
        word = {Callable: "function", np.ndarray: "array", os.PathLike: "path"}[origin]
        return f"{word}s" if many else f"{'an' if word == 'array' else 'a'} {word}"
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Mapping):
        return "mappings" if many else "a mapping (dict)"
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Iterable):
        pair = len(inner) == 2 and inner[1] is not Ellipsis
        of = f" of {_in_words(inner[0], many=True)}" if inner and inner[0] is not Any else ""
        if pair:
            return f"pairs{of}" if many else f"a pair{of}"
        return f"lists{of}" if many else f"a list{of}"
    if hint in plain:
        word = plain[hint]
        return f"{word.removeprefix('a ')}s" if many else word
    kind = hint.__name__ if inspect.isclass(hint) else str(hint)
    return f"{kind}s" if many else f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"


def described(value: Any) -> str:
    """A small value as Python writes it, a large one by the name of its class."""
    if value is None or isinstance(value, (str, bytes, int, float, complex, list, tuple, dict, np.generic)):
        text = repr(value)
        if len(text) <= 60:
            return text
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}"
