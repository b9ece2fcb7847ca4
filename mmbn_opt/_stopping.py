"""Whether the run that this thread works for was asked to stop: for work that no callback reaches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["obeying", "stop_asked"]

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
