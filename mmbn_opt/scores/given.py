"""Local scores that somebody else has computed: for each variable its parent sets and what they score."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mmbn_opt._arguments import listed, shown
from mmbn_opt._budget import leave_in_time
from mmbn_opt.exceptions import InputError

__all__ = ["LocalScores", "check_local_scores"]

LocalScores = Mapping[str, Sequence[tuple[float, tuple[str, ...]]]]
"""For each variable its ``(score, parents)`` pairs; larger is better."""


def check_local_scores(local_scores: object) -> None:
    """Look at scores that were made by hand or by another program.

    Raises
    ------
    InputError
        If a variable has no parent set or one twice, a score is no finite number, or a parent is unknown, comes twice
        or is the variable itself; names the variable, the value and the cure.

    Examples
    --------
    >>> check_local_scores({"a": [(-1.0, ())], "b": [(-2.0, ()), (-1.5, ("a",))]})
    """
    if not isinstance(local_scores, Mapping) or not local_scores:
        raise InputError(
            "local_scores must be a mapping from each variable to its (score, parents) pairs, as read_jkl returns it; "
            f"got {shown(local_scores)}."
        )
    for name, options in local_scores.items():
        leave_in_time()
        if not isinstance(name, str):
            raise InputError(f"local_scores has the variable {shown(name)}, which is no text; write str(name).")
        if not isinstance(options, Sequence) or isinstance(options, (str, bytes)):
            raise InputError(
                f"local_scores has {shown(options)} for the variable {shown(name)}; give a list of pairs "
                "(score, (parent, ...))."
            )
        if not options:
            raise InputError(f"Variable {shown(name)} has no parent set; give it at least the empty one.")
        seen: dict[frozenset[str], float] = {}
        for option in options:
            score, parents = _pair(name, option)
            known = all(isinstance(p, str) and p in local_scores for p in parents)
            key = frozenset(parents) if known else frozenset()
            if name in key or not known or len(key) != len(parents):
                raise InputError(
                    f"Variable {shown(name)} has the impossible parent set [{listed(parents)}]: parents are other "
                    "variables of local_scores, each once."
                )
            if key in seen:
                raise InputError(
                    f"Variable {shown(name)} has the parent set [{listed(parents)}] twice, with the scores "
                    f"{seen[key]!r} and {score!r}; leave one out."
                )
            seen[key] = score


def _pair(name: str, option: object) -> tuple[float, tuple[Any, ...]]:
    """The pair itself, if it is one."""
    if not (isinstance(option, (tuple, list)) and len(option) == 2) or isinstance(option[1], str):
        raise InputError(
            f"Variable {shown(name)} has {shown(option)} among its parent sets; each is a pair (score, (parent, ...))."
        )
    score, parents = option
    try:
        finite = not isinstance(score, (bool, str)) and math.isfinite(score)
        named = tuple(parents)
    except TypeError:
        finite, named = False, ()
    if not finite:
        raise InputError(
            f"The parent set [{listed(named)}] of {shown(name)} has the score {shown(score)}, which is no finite "
            "number; leave it out."
        )
    return score, named
