"""Fields of a JSON object, each held against the kind that it must be; `ValueError` with the place of what is wrong."""

import math
import reprlib
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

__all__ = ["checked_value", "mapping_of", "member_of", "record_fields"]

_EXPECTED = {
    "text": "a text", "number": "a number", "whole": "a whole number", "bool": "true or false",
    "size": "a number >= 0", "count": "a whole number >= 0",
}  # fmt: skip


def checked_value(where: str, value: Any, kind: str) -> Any:
    """The value itself, if it is of a kind: "text", "number", "whole" or "bool", with " or null" behind.

    A "size" is a number, a "count" a whole one, that is not negative.

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
    is_number = is_whole or (type(value) is float and math.isfinite(value))
    fits = {
        "text": isinstance(value, str),
        "number": is_number,
        "whole": is_whole,
        "bool": type(value) is bool,
        "size": is_number and value >= 0,
        "count": is_whole and value >= 0,
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


def record_fields(content: Any, record: type, form: str, kinds: Mapping[str, str]) -> dict[str, Any]:
    """The plain fields of a record that was kept as an object, which must have all of its fields and no others.

    Parameters
    ----------
    content : object
        What the text held.
    record : dataclass
    form : str
        What its ``"format"`` must be.
    kinds : mapping of field to kind
        The plain ones, with what `checked_value` takes.
    """
    if not isinstance(content, dict) or content.get("format") != form:
        raise ValueError(f'it is no JSON object with "format": "{form}"')
    known = [f.name for f in fields(record)]
    strangers = [key for key in content if key not in (*known, "format")]
    without = [name for name in known if name not in content]
    if strangers or without:
        raise ValueError(f"{strangers[0]!r} is no field of a run" if strangers else f"{without[0]} is absent")
    return {name: checked_value(name, content[name], kind) for name, kind in kinds.items()}
