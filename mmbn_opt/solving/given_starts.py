"""The argument `starts` of a call as a list, whether one start or several were given."""

from collections.abc import Iterator
from typing import Any

__all__ = ["listed_starts"]


def listed_starts(starts: Any) -> list[Any] | None:
    """The starts one by one; a single one need not stand in a list.

    A list of ``(parent, child)`` names is one start.

    Examples
    --------
    >>> listed_starts([("class", "a"), ("a", "b")])
    [[('class', 'a'), ('a', 'b')]]
    >>> listed_starts([[("class", "a")], [("class", "b")]])
    [[('class', 'a')], [('class', 'b')]]
    >>> listed_starts([]), listed_starts(None)
    ([], None)
    """
    if starts is None:
        return None
    if not isinstance(starts, (list, tuple, set, frozenset, Iterator)):
        return [starts]
    listed = list(starts)
    if isinstance(starts, tuple) and _is_edge(starts):
        return [[starts]]
    return [listed] if listed and all(map(_is_edge, listed)) else listed


def _is_edge(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) == 2 and all(isinstance(name, str) for name in given)
