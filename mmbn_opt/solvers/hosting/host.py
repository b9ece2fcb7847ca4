"""Where an engine runs: the interface of hosts, and the host that is a thread of this process."""

import atexit
import logging
import threading
from abc import ABC, abstractmethod
from collections import deque

import numpy as np
from numpy.typing import NDArray

from ...programs.base import Program
from .link import EngineJob, EngineLink, Message, serve

__all__ = ["EngineHost", "ThreadHost"]

logger = logging.getLogger(__name__)

EXIT_WAIT_SEC = 5.0
"""How long the interpreter's exit waits for an abandoned engine: a thread inside a solver must not outlive it."""


class EngineHost(ABC):
    """Runs one engine and keeps its messages in order until they have been dealt with."""

    label: str
    """What it is."""
    fate: str
    """What becomes of an engine that does not stop."""

    def __init__(self) -> None:
        self._inbox: deque[Message] = deque()
        self._news = threading.Event()

    def peek(self, timeout: float) -> Message | None:
        """The oldest message, waiting at most `timeout` seconds for one; it stays until `pop`.

        The wait is on an Event, which Ctrl-C interrupts; a message is never lost when it does.
        """
        if not self._inbox:
            self._news.wait(timeout)
            self._news.clear()
        return self._inbox[0] if self._inbox else None

    def pop(self) -> None:
        """Forget the oldest message."""
        self._inbox.popleft()

    def _deliver(self, message: Message) -> None:
        self._inbox.append(message)
        self._news.set()

    @abstractmethod
    def request_stop(self) -> None:
        """Ask the engine to stop and to hand over what it has."""

    @abstractmethod
    def offer(self, vector: NDArray[np.float64]) -> None:
        """Offer an incumbent to the engine, which may ignore it."""

    @abstractmethod
    def kill(self) -> None:
        """End the engine at once; a thread cannot be ended, it is told to stop and left alone."""

    @abstractmethod
    def close(self) -> None:
        """Release threads, pipes and processes."""


class ThreadHost(EngineHost):
    """Runs the engine in a daemon thread: quick to start, but it cannot be killed.

    A fresh thread for each run also gives HiGHS a fresh task scheduler, which it keeps per thread.
    """

    label = "thread"
    fate = "its thread was left behind"

    def __init__(self, job: EngineJob[Program]) -> None:
        super().__init__()
        self._link = EngineLink(self._deliver, job.origin)
        self._thread = threading.Thread(
            target=serve, args=(job, self._link, self._deliver), name=f"mmbn_opt {job.engine}", daemon=True
        )
        self._thread.start()

    def request_stop(self) -> None:
        """Ask the engine to end and to hand over what it has."""
        self._link.request_stop()

    def offer(self, vector: NDArray[np.float64]) -> None:
        """Hand the engine a better point."""
        self._link.offer(vector)

    def kill(self) -> None:
        """Ask once more, and leave the thread behind if it goes on."""
        self._link.request_stop(hard=True)
        if self._thread.is_alive():
            logger.warning(
                "a solver thread did not stop in time and was left behind; use isolate=True to be able to kill it"
            )
            atexit.register(self._thread.join, EXIT_WAIT_SEC)

    def close(self) -> None:
        """Let go of what the run held; nothing is heard afterwards."""
        self._link.request_stop()
