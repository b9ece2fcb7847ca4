"""Fields of a JSON object, each held against the kind that it must be; `ValueError` with the place of what is wrong."""

import math
import reprlib
from enum import Enum
from typing import Any

__all__ = ["checked_value", "mapping_of", "member_of"]

_EXPECTED = {"text": "a text", "number": "a number", "whole": "a whole number", "bool": "true or false"}


def checked_value(where: str, value: Any, kind: str) -> Any:
    """The value itself, if it is of a kind: "text", "number", "whole" or "bool", with " or null" behind.

    Examples
    --------
    >>> checked_value("seed", 3, "whole")
    3
    >>> checked_value("seed", None, "whole")
    Traceback (most recent call last):
    ValueError: seed must be a whole number, got None
    """
    base, _, null = kind.partition(" or ")
    if value is None and null:
        return None
    is_whole = type(value) is int and abs(value) < 2**63
    fits = {
        "text": isinstance(value, str),
        "number": is_whole or (type(value) is float and math.isfinite(value)),
        "whole": is_whole,
        "bool": type(value) is bool,
    }
    if not fits[base]:
        raise ValueError(f"{where} must be {_EXPECTED[base]}{' or null' if null else ''}, got {reprlib.repr(value)}")
    return value


def member_of(kind: type[Enum], where: str, value: Any, *, by_value: bool = False) -> Any:
    """The member of an enumeration by its name, or by its value."""
    names = {member.value if by_value else member.name: member for member in kind}
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{where} must be one of {', '.join(names)}, got {reprlib.repr(value)}")
    return names[value]


def mapping_of(where: str, value: Any, kind: str) -> dict[str, Any]:
    """An object whose entries are all of a kind."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object, got {reprlib.repr(value)}")
    return {key: checked_value(f"{where}.{key[:60]}", entry, kind) for key, entry in value.items()}
