"""A run in a process of its own, watched: a crash, a hang or a memory blow-up is an outcome like any other."""

import logging
import os
import signal
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from mmbn_opt.comparison.machine import family, family_bytes
from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.results.trace import TraceRecord
from mmbn_opt.solvers.hosting.child import ChildHost
from mmbn_opt.solvers.hosting.link import EngineFailure, HostDied

__all__ = ["Answer", "Cancelled", "IsolatedRun", "Ready", "RunHost", "Watch", "cancel", "going", "observe", "withdraw"]

logger = logging.getLogger(__name__)

STARTUP_SEC = 300.0
"""To start an interpreter, import everything and compile kernels for the first time, on a slow and busy machine."""

_LOOK_SEC = 0.05
_DETAIL = 200
_MEGABYTE = 1024**2
_REFUSALS = frozenset({"InputError", "FormatError", "SizeLimitError", "MissingDependencyError"})

_ENDING_SEC = 10.0

_cancelled: set[str] = set()
_going_on: Counter[str] = Counter()
_changed = threading.Condition()


class IsolatedRun(Protocol):
    """What must be known of a run to watch it."""

    @property
    def token(self) -> str:
        """Of all runs that end together."""

    @property
    def label(self) -> str:
        """For the log."""

    @property
    def time_limit(self) -> float | None:
        """Seconds."""

    @property
    def grace(self) -> float:
        """Seconds after the limit at which a run that goes on is killed."""

    @property
    def memory_limit(self) -> float | None:
        """Megabytes."""


@dataclass(frozen=True)
class Ready:
    """Everything is imported and compiled; the clock of the budget starts now."""

    machine: str
    versions: Mapping[str, str]


class Answer:
    """Base of the last word of a run that ended by itself."""


class Cancelled(Exception):
    """The comparison was interrupted; this run leaves nothing behind."""


def withdraw(token: str) -> None:
    """Let the runs of a comparison in this process end, and none begin; it does not wait, so a signal may call it."""
    _cancelled.add(token)


def cancel(token: str) -> None:
    """End all runs of a comparison in this process; when this returns none is going on, and none will begin."""
    withdraw(token)
    with _changed:
        if not _changed.wait_for(lambda: not _going_on[token], _ENDING_SEC):
            logger.warning("%d runs have not ended %g s after they were cancelled", _going_on[token], _ENDING_SEC)


class RunHost(ChildHost):
    """The child process of a run; ended with all that it started."""

    def kill(self) -> None:
        """Kill the family: a solver's own process is in a session of its own and may be deaf to its parent's death."""
        members = family(self.pid)[1:]
        super().kill()
        for member in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(member, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)


@dataclass
class Watch:
    """What is known of a run while it goes on."""

    run: IsolatedRun
    began: float = field(default_factory=time.monotonic)
    ready: Ready | None = None
    records: list[TraceRecord] = field(default_factory=list)
    peak_memory: int = 0
    answer: Answer | None = None
    outcome: RunOutcome = RunOutcome.ANSWERED
    detail: str = ""

    def hear(self, message: object) -> bool:
        """Take a message; True when it was the last one."""
        if isinstance(message, TraceRecord):
            self.records.append(message)
        elif isinstance(message, Ready):
            self.ready, self.began = message, time.monotonic()
        elif isinstance(message, Answer):
            self.answer = message
            return True
        elif isinstance(message, EngineFailure):
            self.outcome = RunOutcome.REFUSED if message.kind in _REFUSALS else RunOutcome.RAISED
            if message.kind == "MemoryError":
                self.outcome = RunOutcome.OUT_OF_MEMORY
            self.detail = f"{message.kind}: {message.text}" if message.text else message.kind
            logger.debug("the run of %s ended with an error:\n%s", self.run.label, message.details)
            return True
        elif isinstance(message, HostDied):
            # Last words can be a page; how it ended comes first.
            self.outcome, self.detail = RunOutcome.CRASHED, textwrap.shorten(message.text, _DETAIL, placeholder=" ...")
            return True
        return False

    def look(self, pid: int) -> bool:
        """Hold the run against its limits; True when it must end."""
        if self.run.token in _cancelled:
            raise Cancelled
        self.peak_memory = max(self.peak_memory, family_bytes(pid))
        limit = self.run.memory_limit
        if limit is not None and self.peak_memory > limit * _MEGABYTE:
            held = self.peak_memory / _MEGABYTE
            self.outcome = RunOutcome.OUT_OF_MEMORY
            self.detail = f"held {held:.0f} MB, the limit is {limit:.0f} MB"
            return True
        elapsed = time.monotonic() - self.began
        if self.ready is None and elapsed > STARTUP_SEC:
            self.outcome, self.detail = RunOutcome.HUNG, f"not ready after {STARTUP_SEC:.0f} s"
            return True
        if self.ready is not None and self.run.time_limit is not None:
            allowed = self.run.time_limit + self.run.grace
            if elapsed > allowed:
                self.outcome = RunOutcome.HUNG
                self.detail = f"still running {self.run.grace:g} s after its limit of {self.run.time_limit:g} s"
                return True
        return False


@contextmanager
def going(token: str) -> Iterator[None]:
    """What `cancel` waits for; a run that comes after it does not begin."""
    with _changed:
        if token in _cancelled:
            raise Cancelled
        _going_on[token] += 1
    try:
        yield
    finally:
        with _changed:
            _going_on[token] -= 1
            _changed.notify_all()


def observe(watch: Watch, host: RunHost, *, reusable: bool = False) -> float:
    """Hear the run out, or end it; the seconds that it took.

    Parameters
    ----------
    watch : Watch
    host : RunHost
    reusable : bool
        A process that answered is left to its next run.
    """
    try:
        while True:
            message = host.peek(_LOOK_SEC)
            if message is not None:
                last = watch.hear(message)
                host.pop()
                if last:
                    break
            # A run that talks without a pause is looked at as well, though not at every word.
            if (message is None or len(watch.records) % 64 == 1) and watch.look(host.pid):
                break
        return time.monotonic() - watch.began
    finally:
        if not reusable or watch.answer is None:
            host.kill()
            host.close()
