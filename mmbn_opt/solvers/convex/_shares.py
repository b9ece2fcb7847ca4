"""Who works next, and for how long, where several solvers share one span of time.

With a limit every solver is owed the same share of it, and nobody takes what is owed to another: whoever would have
ended with its share alone ends here too. Without a limit the turns alternate and grow, so that none waits for ever.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

__all__ = ["FIRST_TURN", "LAST_RESORT", "Link", "next_turn"]

FIRST_TURN = 1.0
"""Seconds of a first turn, long enough for most problems to end in it."""
GROWTH = 0.25
"""Share of the time spent so far that later turns take."""
FIRST_TRY, LONGER_TRY = 10.0, 4.0
"""Without a limit: seconds of the first try of a solver that has to begin anew each time, and how much longer the next
one is."""
LAST_RESORT = 3600.0
"""Least seconds, without a limit, of the last try of such a solver, when no other is left."""


class Link(Protocol):
    """What takes turns.

    Attributes
    ----------
    name : str
    resumable : bool
        Goes on where it was; else every turn begins anew, so that it gets its share in one piece.
    eager : bool
        Comes before the others.
    reserve : bool
        Comes when another has given up, and takes over what is left of its share.
    spent : float
        Seconds that it has had.
    behind : float
        Seconds by which the others may be ahead of it.
    tries : int
        Turns that it has had.
    first_turn : float
        Seconds of its first turn.
    step : float
        Fewer seconds are of no use to it.
    ended : bool
        It will do no more.
    gave_up : bool
        It ended by itself, and not because its time was over.
    """

    name: str
    resumable: bool
    eager: bool
    reserve: bool
    spent: float
    behind: float
    tries: int
    first_turn: float
    step: float
    ended: bool
    gave_up: bool


AnyLink = TypeVar("AnyLink", bound=Link)


def next_turn(links: Sequence[AnyLink], limit: float | None, left: float) -> tuple[AnyLink, float] | None:
    """The link to go on with and its seconds; None when there is nobody left, or no time.

    Parameters
    ----------
    links : sequence of Link
        In the order of their first turns.
    limit : float or None
        Seconds for all of them together.
    left : float
        Seconds until then; inf without a limit.
    """
    regular = [link for link in links if not link.reserve]
    called = any(link.gave_up for link in regular)
    active = [link for link in links if not link.ended and (called or not link.reserve)]
    if not active or left <= 0.0:
        return None
    if limit is None:
        return _without_limit(active)
    share = limit / len(regular)
    inherited = sum(max(share - link.spent, 0.0) for link in regular if link.gave_up)
    owed = {id(link): max((inherited if link.reserve else share) - link.spent, 0.0) for link in active}
    waiting = [link for link in active if _has_work(link, min(owed[id(link)], left))]
    if not waiting:
        return _overtime(active, left)
    link = min(waiting, key=_rank)
    free = left - sum(owed[id(other)] for other in waiting if other is not link)
    seconds = max(free, min(left, owed[id(link)]))
    return link, min(seconds, _turn(link, active)) if link.resumable and len(waiting) > 1 else seconds


def _has_work(link: Link, seconds: float) -> bool:
    """Whether so much time is of use to a link."""
    return seconds > 0.0 and link.step <= seconds and (link.resumable or link.tries == 0)


def _rank(link: Link) -> tuple[bool, bool, float]:
    """Eager ones first, those that have to begin anew last, in between who has had least."""
    return (not link.eager, not link.resumable, link.spent + link.behind)


def _turn(link: Link, active: Sequence[Link]) -> float:
    return link.first_turn if link.tries == 0 else max(FIRST_TURN, GROWTH * sum(each.spent for each in active))


def _overtime(active: Sequence[AnyLink], left: float) -> tuple[AnyLink, float] | None:
    """All have had their share, and somebody has left time over."""
    useful = [link for link in active if _has_work(link, left)]
    return (min(useful, key=lambda link: (not link.resumable, link.spent)), left) if useful else None


def _without_limit(active: Sequence[AnyLink]) -> tuple[AnyLink, float] | None:
    resumable = [link for link in active if link.resumable]
    anew = [link for link in active if not link.resumable]
    if not resumable:
        untired = [link for link in anew if link.spent < LAST_RESORT]
        if not untired:
            return None
        return min(untired, key=_rank), max(LAST_RESORT, 4.0 * sum(each.spent for each in active))
    most = max(link.spent for link in resumable)
    for link in anew:
        seconds = FIRST_TRY * LONGER_TRY**link.tries
        if most >= seconds or (link.eager and link.tries == 0):
            return link, seconds
    link = min(resumable, key=_rank)
    return link, _turn(link, active)
