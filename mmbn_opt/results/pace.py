"""How long work of several like parts will go on, from those that are done."""

from collections.abc import Callable

from mmbn_opt._budget import now

__all__ = ["Pace", "duration"]


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.2, 42.0, 119.0, 3300.0, 7300.0)]
    ['1 s', '42 s', '119 s', '55 min', '2 h']
    """
    if seconds < 120.0:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 7200.0 else f"{round(seconds / 3600)} h"


class Pace:
    """News of parts that are done, not too often.

    Parameters
    ----------
    total : int
        Parts.
    every : float
        Seconds from one piece of news to the next, and before the first one.
    clock : callable () -> float

    Examples
    --------
    >>> time = iter([0.0, 1.0, 4.0, 5.0, 8.0])
    >>> pace = Pace(8, clock=lambda: next(time))
    >>> [pace.news(done) for done in (1, 2, 3, 4)]
    [None, '2 of 8 done, about 12 s left', None, '4 of 8 done, about 8 s left']
    """

    def __init__(self, total: int, *, every: float = 3.0, clock: Callable[[], float] = now) -> None:
        self.total = total
        self._every = every
        self._clock = clock
        self._began = self._last = clock()

    def left(self, done: int, rest: int, moment: float | None = None) -> float:
        """Seconds that `rest` parts will take where each takes as long as those that are done."""
        return ((self._clock() if moment is None else moment) - self._began) / done * rest

    def news(self, done: int) -> str | None:
        """What there is to say, if it is time."""
        moment = self._clock()
        if moment - self._last < self._every or not 0 < done < self.total:
            return None
        self._last = moment
        left = duration(self.left(done, self.total - done, moment))
        return f"{done} of {self.total} done, about {left} left"
