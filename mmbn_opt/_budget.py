"""How long a run may go on, and whether it was asked to stop: by who called it, or by a signal that was noted.

A signal must neither be lost nor lose anything. So in a scope of `noting_signals` the first one is *noted*, and work
that looks at `stop_asked` ends with what it has; it interrupts only what stands in a block of `interruptible`. What
hands over a result (checks it, writes it) is outside of such a block and goes on. The second signal interrupts
whatever goes on: whoever sends it does not want to wait.
"""

import _thread
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType

__all__ = [
    "Budget",
    "Cut",
    "Noted",
    "OutOfTime",
    "interruptible",
    "leave_in_time",
    "leaving_when",
    "noting_signals",
    "now",
    "obeying",
    "stop_asked",
    "under_deadline",
    "until_interrupted",
]

now = time.monotonic
"""The one clock, in seconds from any origin; all processes of a machine share it."""

SAME_PRESS_SEC = 0.2
"""A launcher passes on the Ctrl-C that the terminal sends to both: signals this close together are one."""

_asked: ContextVar[Callable[[], bool] | None] = ContextVar("mmbn_opt stop", default=None)
_over: ContextVar[Callable[[], bool] | None] = ContextVar("mmbn_opt deadline", default=None)


@dataclass(frozen=True)
class Budget:
    """The wall-clock time of one run.

    Parameters
    ----------
    limit : float or None
        Seconds; None for as long as it takes.
    origin : float
        On the clock of `now`.

    Examples
    --------
    >>> budget = Budget(limit=60.0)
    >>> budget.over(), 59.0 < budget.left() <= 60.0, Budget().left()
    (False, True, inf)
    """

    limit: float | None = None
    origin: float = field(default_factory=lambda: now())  # looked up when called: another clock may stand in

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return now() - self.origin

    def left(self) -> float:
        """Seconds until the limit, never negative; inf without one."""
        return math.inf if self.limit is None else max(0.0, self.limit - self.elapsed())

    def over(self, grace: float = 0.0) -> bool:
        """Whether the limit was reached, `grace` seconds ago or earlier."""
        return self.limit is not None and self.elapsed() >= self.limit + grace

    def within(self, share: float) -> float | None:
        """The end of a share of the limit on the clock of `now`; None without a limit."""
        return None if self.limit is None else self.origin + share * self.limit


class OutOfTime(Exception):
    """What `leave_in_time` raises; never seen by a caller of the package."""


@contextmanager
def leaving_when(over: Callable[[], bool]) -> Iterator[None]:
    """Let loops that look at the clock leave this block, in this thread, by `OutOfTime` as soon as `over` says so.

    Who opens the block catches it, and goes on with what was complete before.

    Examples
    --------
    >>> with leaving_when(Budget(limit=0.0).over):
    ...     leave_in_time()
    Traceback (most recent call last):
    ...
    mmbn_opt._budget.OutOfTime
    """
    outer = _over.get()
    token = _over.set(over if outer is None else lambda: over() or outer())
    try:
        yield
    finally:
        _over.reset(token)


def leave_in_time() -> None:
    """Leave a preparation whose time is up. Every loop that can take more than 50 ms calls it, at least that often.

    Raises
    ------
    OutOfTime
    """
    over = _over.get()
    if over is not None and over():
        raise OutOfTime


def under_deadline() -> bool:
    """Whether a block of `leaving_when` is open: what is one long call elsewhere is then done in steps.

    Examples
    --------
    >>> with leaving_when(Budget().over):
    ...     under_deadline()
    True
    >>> under_deadline()
    False
    """
    return _over.get() is not None


class Cut:
    """Whether a block was cut off by KeyboardInterrupt."""

    happened = False

    def __bool__(self) -> bool:
        return self.happened


@contextmanager
def until_interrupted() -> Iterator[Cut]:
    """End the block at a KeyboardInterrupt, and go on after it with what there is.

    Examples
    --------
    >>> with until_interrupted() as cut:
    ...     raise KeyboardInterrupt
    >>> bool(cut)
    True
    """
    cut = Cut()
    try:
        yield cut
    except KeyboardInterrupt:
        cut.happened = True


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
    return (asked is not None and asked()) or (_scope is not None and _in_main() and bool(_scope))


class Noted:
    """The signals of a scope: true once there was one.

    Attributes
    ----------
    number : int or None
        The first signal that came.
    repeated : bool
        Whether a second one ended what went on.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.repeated = False
        self._at = 0.0
        self._usual: dict[int, object] = {}
        self._notes: list[Callable[[], None]] = []
        # Seconds that the blocks around the work give it to end by itself, the innermost last.
        self._patience: list[float] = []
        self._overdue = False
        self._watch = threading.Lock()

    def __bool__(self) -> bool:
        return self.number is not None

    def note_to(self, note: Callable[[], None]) -> None:
        """Tell `note` of the first signal, at once if there was one already."""
        self._notes.append(note)
        if self:
            note()

    def forget(self, note: Callable[[], None]) -> None:
        """Tell `note` nothing any more."""
        self._notes.remove(note)

    def take(self, number: int) -> None:
        """Take over a signal, unless it is ignored here (as under nohup) or somebody else deals with it in C."""
        usual = signal.getsignal(number)
        if usual is signal.SIG_DFL or callable(usual):
            self._usual[number] = usual
            signal.signal(number, self._handle)

    def give_back(self) -> None:
        """Put the handlers back that were there before."""
        for number, usual in self._usual.items():
            signal.signal(number, usual)  # type: ignore[arg-type]

    def enter(self, patience: float) -> None:
        """A block that may be interrupted begins."""
        self._patience.append(patience)

    def leave(self) -> None:
        """It ends."""
        with self._watch:
            self._patience.pop()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.number is None:
            self._first(number, frame)
        elif self._overdue:
            self._overdue = False
            if self._patience:
                raise KeyboardInterrupt
        elif time.monotonic() - self._at > SAME_PRESS_SEC:
            self.repeated = True
            raise KeyboardInterrupt

    def _first(self, number: int, frame: FrameType | None) -> None:
        self.number, self._at = number, time.monotonic()
        for note in self._notes:
            note()
        usual = self._usual[number]
        if callable(usual) and usual is not signal.default_int_handler:
            usual(number, frame)  # a handler of the host program's own decides what its signal does
        elif self._patience and self._patience[-1] == 0.0:
            raise KeyboardInterrupt
        elif self._patience:
            # Not threading.Thread, whose locks this very thread may hold in the line that was interrupted.
            _thread.start_new_thread(self._insist, (self._patience[-1], number))

    def _insist(self, patience: float, number: int) -> None:
        """Interrupt what did not end by itself."""
        time.sleep(patience)
        with self._watch:
            if self._patience:
                self._overdue = True
                _thread.interrupt_main(signal.Signals(number))


_scope: Noted | None = None


@contextmanager
def noting_signals(note: Callable[[], None] | None = None, *, terminate: bool = False) -> Iterator[Noted]:
    """Note Ctrl-C in this block instead of raising KeyboardInterrupt; scopes inside of one another share the note.

    Only the main thread gets signals: elsewhere nothing is noted.

    Parameters
    ----------
    note : callable or None
        Called with the first signal, in the signal handler.
    terminate : bool
        Note SIGTERM and SIGHUP too. For programs: a library leaves them to its host.

    Examples
    --------
    >>> with noting_signals() as noted:
    ...     signal.raise_signal(signal.SIGINT)
    ...     print(stop_asked(), noted.number == signal.SIGINT)
    True True
    """
    global _scope
    if not _in_main():
        yield Noted()
        return
    outer, scope = _scope, Noted() if _scope is None else _scope
    if note is not None:
        scope.note_to(note)
    if outer is None:
        _scope = scope
        scope.take(signal.SIGINT)
    if terminate:
        for name in ("SIGTERM", "SIGHUP"):
            with suppress(AttributeError):  # Windows has no SIGHUP
                scope.take(getattr(signal, name))
    try:
        yield scope
    finally:
        if note is not None:
            scope.forget(note)
        if outer is None:
            scope.give_back()
            _scope = None


@contextmanager
def interruptible(patience: float = 0.0) -> Iterator[None]:
    """Let the first signal raise KeyboardInterrupt in this block of a scope of `noting_signals`.

    Parameters
    ----------
    patience : float
        Seconds for the work to end by itself, which loses less. 0 interrupts at once: for work whose loss is none,
        and where a signal came before it began it does not begin.

    Raises
    ------
    KeyboardInterrupt
    """
    scope = _scope if _in_main() else None
    if scope is None:
        yield
        return
    if scope and patience == 0.0:
        raise KeyboardInterrupt
    scope.enter(patience)
    try:
        yield
    finally:
        scope.leave()


def _in_main() -> bool:
    return threading.current_thread() is threading.main_thread()
