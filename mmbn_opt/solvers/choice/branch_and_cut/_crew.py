"""Threads that help to search a tree."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event, Thread

from ....results.status import TerminationStatus
from ...journal import Ended
from ._search import WAIT_SEC, Search

__all__ = ["Crew"]


class _Dismissed(Ended):
    """The way out of a box that is left where it stands."""

    def __init__(self) -> None:
        super().__init__(TerminationStatus.INTERRUPTED, "")


class Crew:
    """Those who help.

    They leave the clock, the caller's wishes and the journal to the thread that they help, whose `check` raises what
    one of them failed with.

    Parameters
    ----------
    size : int
        How many there are beside the thread that searches.
    over : callable
        Whether the time is up: a box is then left where it stands, as it is when the block is left by an exception.

    Attributes
    ----------
    error : BaseException or None
        What the first one that failed did so with.
    """

    def __init__(self, size: int, over: Callable[[], bool]) -> None:
        self._size, self._over = size, over
        self.error: BaseException | None = None

    def call(self) -> bool:
        """Nothing has to be made ready."""
        return True

    def practise(self, search: Search) -> None:
        """Threads find everything loaded."""

    def close(self) -> None:
        """Nothing has to be let go."""

    def check(self) -> None:
        """Raise what a helper failed with."""
        if self.error is not None:
            raise self.error

    @contextmanager
    def helping(self, search: Search, check: Callable[[], None]) -> Iterator[None]:
        """A block in which all look at boxes of a search.

        At its end they end theirs, and `check` is called while that lasts.
        """
        enough, left = Event(), Event()

        def leave() -> None:
            if left.is_set() or self._over():
                raise _Dismissed

        def help_out(helper: Search) -> None:
            try:
                while not (enough.is_set() or self._over()):
                    waiting = search.frontier.pop()
                    if waiting is None:
                        search.frontier.wait(WAIT_SEC)
                    else:
                        helper.look_at(waiting)
            except BaseException as error:  # of whatever kind, it ends the whole search
                if not isinstance(error, _Dismissed):
                    self.error = self.error or error
            finally:
                search.frontier.wake()

        threads = []
        for number in range(self._size):
            context, helper = copy_context(), search.beside(leave)
            threads.append(Thread(target=context.run, args=(help_out, helper), name=f"tree {number + 1}", daemon=True))
        try:
            for thread in threads:
                thread.start()
            yield
            enough.set()
            for thread in threads:
                while thread.is_alive():
                    thread.join(WAIT_SEC)
                    check()
            self.check()
        finally:
            enough.set()
            left.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
