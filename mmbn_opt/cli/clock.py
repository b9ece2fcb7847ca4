"""The clock of a command, which begins with its first line: what is left to search, and to hand over what was found."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from mmbn_opt._budget import Budget, OutOfTime, leaving_when, now

__all__ = ["Clock", "command_begins"]

HAND_OVER_SHARE = 0.1
HAND_OVER_SEC = 0.5
"""A tenth of the limit, and at most half a second, is kept for classifying rows, the report and the files."""

_began: ContextVar[float | None] = ContextVar("mmbn_opt command began", default=None)


def command_begins() -> None:
    """The clock of a command starts: what reads its options imports the library, and that takes a second."""
    _began.set(now())


class Clock:
    """How the time limit of a command is shared out; reading and preparing the data count against it.

    Parameters
    ----------
    limit : float or None
        Seconds; what is no limit is left for the solver to refuse.
    """

    def __init__(self, limit: float | None) -> None:
        began = _began.get()
        self.limit = limit
        self._began = now() if began is None else began

    def for_search(self, kept: float = 0.0) -> float | None:
        """Seconds that the search may take; what hands over its answer comes after them.

        Parameters
        ----------
        kept : float
            Share of the limit that is kept for what is chosen after the search.
        """
        if self.limit is None or not self.limit >= 0:
            return self.limit
        return max(0.0, self._left(self.limit) - min(HAND_OVER_SEC, HAND_OVER_SHARE * self.limit) - kept * self.limit)

    @contextmanager
    def handing_over(self) -> Iterator[None]:
        """Of what is done in the block, what was not complete when the time was up is left out."""
        limit = self.limit
        budget = Budget(None if limit is None else max(self._left(limit), min(HAND_OVER_SEC, HAND_OVER_SHARE * limit)))
        with suppress(OutOfTime), leaving_when(budget.over):
            yield

    def _left(self, limit: float) -> float:
        return limit - (now() - self._began)
