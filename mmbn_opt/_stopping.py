"""Whether the run that this thread works for was asked to stop: for work that no callback reaches."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

__all__ = ["noting_interrupts", "obeying", "stop_asked"]

_asked: ContextVar[Callable[[], bool] | None] = ContextVar("mmbn_opt stop", default=None)


@contextmanager
def obeying(asked: Callable[[], bool]) -> Iterator[None]:
    """Let `stop_asked` tell, in this thread and in this block, what `asked` says.

    Examples
    --------
    >>> with obeying(lambda: True):
    ...     stop_asked()
    True
    >>> stop_asked()
    False
    """
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def stop_asked() -> bool:
    """Whether to end a long computation as soon as what was found so far can be handed over."""
    asked = _asked.get()
    return asked is not None and asked()


@contextmanager
def noting_interrupts(note: Callable[[], None]) -> Iterator[None]:
    """Call `note` on Ctrl-C, before KeyboardInterrupt is raised as usual; only in the main thread.

    The exception is lost when it strikes inside a callback of a library, such as a compiler's.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        note()
        usual(number, frame)

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
