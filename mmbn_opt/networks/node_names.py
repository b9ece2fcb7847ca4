"""Nodes by their names, and the likeliest one where a name is not there."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from mmbn_opt._arguments import listed, shown
from mmbn_opt.exceptions import InputError

__all__ = ["node_number", "suggestion"]


def node_number(names: Sequence[str], name: Any) -> int:
    """The number of a node by its name; `InputError` with the likeliest one for a name that is not there.

    Examples
    --------
    >>> node_number(["lung", "smoke"], "Smoke")
    Traceback (most recent call last):
    mmbn_opt.exceptions.InputError: There is no node 'Smoke'; did you mean 'smoke'? The nodes are ['lung', 'smoke'].
    """
    text = str(name)
    if text in names:
        return names.index(text)
    raise InputError(f"There is no node {shown(name)}{suggestion(text, names)} The nodes are [{listed(names)}].")


def suggestion(text: str, known: Sequence[str]) -> str:
    """A question for the closest of the known texts, or the end of the sentence."""
    lower = {name.lower(): name for name in reversed(known)}
    close = get_close_matches(text.lower(), lower, n=1)
    return f"; did you mean {shown(lower[close[0]])}?" if close else "."
