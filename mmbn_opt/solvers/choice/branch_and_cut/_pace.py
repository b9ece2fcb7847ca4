"""How fast the least bound of a tree rises, and from that how far ahead of it a box can be left for later."""

import math
from threading import Lock

__all__ = ["Pace"]

WARM_UP = 3e8
"""Steps before which nothing is said."""

MARK = 1.2
"""The bound is noted whenever the work has grown so many times."""

AGAIN = 3.0
"""The lead that lets a box wait, in e-folds, is at least so many times the share of its work that is done twice."""

DEAR = 8.0
"""... and so many times that share of the e-folds that are left before a limit, or all of these."""

NEAR = 3.0
"""Without a limit none waits where the tree will have been searched after so many e-folds: it would be due soon."""

STEPS_A_SECOND = 1.5e9
"""Of a limit on time, in the steps of `_effort`."""

SHORT = 1.3
"""Work has to have grown so many times since a note for its bound to tell anything."""


class Pace:
    """Bounds of a tree beside the work that they took; for any number of searchers.

    Best first, the least bound rises about in proportion to the logarithm of the work. So the lead of a box on it says
    how many times the tree will have grown when the box is due.

    Parameters
    ----------
    time_limit : float or None
        Seconds after which the search ends, if that is known.

    Examples
    --------
    >>> pace = Pace()
    >>> [round(pace.fold(math.exp(k), 2.0 * k), 2) for k in (20, 21, 22)]
    [inf, 2.0, 2.0]
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self._end = None if time_limit is None else time_limit * STEPS_A_SECOND
        self._marks: list[tuple[float, float]] = []
        self._lock = Lock()

    def fold(self, work: float, least: float) -> float:
        """By how much the least bound, now `least`, rises while the work grows e-fold; inf as long as nobody knows."""
        if work < WARM_UP or not math.isfinite(least):
            return math.inf
        with self._lock:
            while self._marks and self._marks[-1][1] > least:  # boxes came from elsewhere
                self._marks.pop()
            if not self._marks or work > MARK * self._marks[-1][0]:
                self._marks.append((work, least))
            before = next((mark for mark in reversed(self._marks) if mark[0] * math.e < work), self._marks[0])
        if work < SHORT * before[0]:
            return math.inf
        return max((least - before[1]) / math.log(work / before[0]), 1e-9 * abs(least))

    def lets_wait(self, ahead: float, work: float, least: float, lead: float, left: float, again: float) -> bool:
        """Whether a box is better left for later.

        Parameters
        ----------
        ahead : float
            Lead that lets a box wait, in e-folds of the work. 0: any lead does.
        work : float
        least : float
            Least bound of all others.
        lead, left : float
            By how much the box's bound, and the value at which the search ends, are above it.
        again : float
            Share of a box's work that it takes to begin it again.
        """
        if ahead == 0.0:
            return lead > 0.0
        fold = self.fold(work, least)
        rest, due = NEAR, 0.0
        if self._end is not None:
            rest = math.log(max(self._end / work, 1.0))
            due = rest * min(1.0, DEAR * again)
        return lead > max(ahead, AGAIN * again, due) * fold and left > rest * fold
