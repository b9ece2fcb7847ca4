"""State labels as JSON values: the type of each survives without pickle."""

import datetime
import math
import re
from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import Any

import pandas as pd

from mmbn_opt._arguments import shown
from mmbn_opt.data.cells import as_state
from mmbn_opt.exceptions import FormatError, InputError

__all__ = ["label_from_json", "label_to_json", "refuse_half_characters"]

_CLOSED = ("left", "right", "both", "neither")
_HALF = re.compile("[\ud800-\udfff]")
_ZONE = re.compile(r"(?!dateutil)[A-Za-z0-9_+\-/:]*")


# Labels that are written as a text under a tag: type, to text, from text.
_PLAIN_TAGS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "duration": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "decimal": (Decimal, str, Decimal),
}


def label_to_json(label: Hashable, column: str) -> Any:
    """A JSON value that stands for `label`: itself, or a small tagged object.

    Examples
    --------
    >>> label_to_json(True, "a"), label_to_json(float("inf"), "a")
    (True, {'float': 'inf'})
    >>> label_to_json(pd.Interval(0, 1), "a")
    {'interval': [0, 1], 'closed': 'right'}
    """
    plain = as_state(label)
    if type(plain) is str:
        refuse_half_characters(plain, f"Column {column!r} has the state")
    if type(plain) in (str, bool, int):
        return plain
    if type(plain) is float and not math.isnan(plain):
        return plain if math.isfinite(plain) else {"float": repr(plain)}
    if isinstance(plain, pd.Interval):
        return {
            "interval": [label_to_json(plain.left, column), label_to_json(plain.right, column)],
            "closed": plain.closed,
        }
    if isinstance(plain, pd.Timestamp):
        tagged = {"timestamp": plain.isoformat()}
        return tagged if plain.tz is None else tagged | {"zone": str(plain.tz)}
    if isinstance(plain, pd.Period):
        return {"period": str(plain), "freq": plain.freqstr}
    for tag, (kind, write, _) in _PLAIN_TAGS.items():
        if isinstance(plain, kind):
            return {tag: write(plain)}
    raise InputError(
        f"Column {shown(column)} has the state {shown(plain)} of type {type(plain).__name__}, which a model file "
        "cannot "
        "hold; turn the column into strings, numbers, bools, intervals, moments, durations or periods."
    )


def refuse_half_characters(text: str, who: str) -> None:
    """Refuse text that no file in UTF-8 can hold; `who` begins the message.

    Raises
    ------
    InputError
    """
    if _HALF.search(text):
        raise InputError(
            f"{who} {text!r}, which holds half a character (a lone surrogate) and so is no text that a file can hold; "
            "rename it."
        )


def label_from_json(value: Any, column: str) -> Hashable:
    """The label that `label_to_json` wrote."""
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    try:
        return _tagged(value, column)
    except (ValueError, TypeError, KeyError, OverflowError, ArithmeticError) as error:
        raise FormatError(
            f"Column {shown(column)} has the state {shown(value)}, which is not a label of a model file."
        ) from error


def _tagged(value: Any, column: str) -> Hashable:
    if set(value) == {"float"}:
        return {"inf": math.inf, "-inf": -math.inf}[value["float"]]
    if set(value) == {"interval", "closed"}:
        # Ends are numbers or moments: an interval within an interval is none, however deep it goes.
        if any(isinstance(end, dict) and "interval" in end for end in value["interval"]):
            raise ValueError(value)
        left, right = (label_from_json(end, column) for end in value["interval"])
        if value["closed"] not in _CLOSED:
            raise ValueError(value["closed"])
        interval: Hashable = pd.Interval(left, right, closed=value["closed"])  # type: ignore[type-var]
        return interval
    if set(value) - {"zone"} == {"timestamp"}:
        if not isinstance(value["timestamp"], str) or not _ZONE.fullmatch(value.get("zone", "")):
            raise ValueError(value)
        moment = pd.Timestamp(value["timestamp"])
        if pd.isna(moment):
            raise ValueError(value)
        # pandas knows "now" and "2020" too; what is written is the moment to the last digit.
        if moment.isoformat() != value["timestamp"]:
            raise ValueError(value)
        return moment.tz_convert(value["zone"]) if "zone" in value else moment
    if set(value) == {"period", "freq"} and all(isinstance(text, str) for text in value.values()):
        return _known(pd.Period(value["period"], freq=value["freq"]))
    for tag, (_, _, read) in _PLAIN_TAGS.items():
        if set(value) == {tag} and isinstance(value[tag], str):
            return _known(read(value[tag]))
    raise ValueError(value)


def _known(label: Any) -> Hashable:
    if pd.isna(label):
        raise ValueError(label)
    known: Hashable = label
    return known
