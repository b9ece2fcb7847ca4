"""JSON that comes from outside: what the format forbids or leaves open is refused with the place where it stands.

Python's parser takes the last of two keys of one name, numbers that are none, and halves of characters, all in silence.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

__all__ = ["parse_json"]

_HALF_WRITTEN = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,59}")


class _Flaw:
    """Stands where something is that no file of ours has."""

    def __init__(self, told: str) -> None:
        self.told = told


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises
    ------
    ValueError
        If it is not JSON (with line and column), nests too deeply, or holds a key twice, NaN, Infinity, or half a
        character (with the path to it).

    Examples
    --------
    >>> parse_json('{"a": [1, {"b": 2}]}')
    {'a': [1, {'b': 2}]}
    >>> parse_json('{"a": [1, {"b": 2, "b": 3}]}')
    Traceback (most recent call last):
    ValueError: the key 'b' stands twice at a[1]
    """
    flawed = False

    def pairs(items: list[tuple[str, Any]]) -> Any:
        nonlocal flawed
        found = dict(items)
        if len(found) == len(items):
            return found
        flawed = True
        again = [key for key, count in Counter(key for key, _ in items).items() if count > 1]
        return _Flaw(f"the key {_short(again[0])} stands twice")

    def constant(name: str) -> Any:
        nonlocal flawed
        flawed = True
        return _Flaw(f"{name} is not JSON; it stands")

    try:
        content = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if flawed or _HALF_WRITTEN.search(text) or _HALF.search(text):
        for path, value in _walk(content):
            if isinstance(value, _Flaw):
                raise ValueError(f"{value.told} at {path or 'the top'}")
            if isinstance(value, str) and _HALF.search(value):
                raise ValueError(
                    f"the text {_short(value)} at {path or 'the top'} holds half a character (a lone surrogate)"
                )
    return content


def _walk(content: Any) -> Iterator[tuple[str, Any]]:
    """Every key and value with its path, in the order of the file."""
    left = [("", content)]
    while left:
        path, value = left.pop()
        yield path, value
        if isinstance(value, dict):
            for key in value:
                yield path, key
            left += [(_joined(path, key), entry) for key, entry in reversed(value.items())]
        elif isinstance(value, list):
            left += [(f"{path}[{k}]", entry) for k, entry in reversed(list(enumerate(value)))]


def _joined(path: str, key: str) -> str:
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{_short(key)}]"
    return f"{path}.{key}" if path else key


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
