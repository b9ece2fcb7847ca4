"""The child process of `ChildHost`: one engine, its messages on a private copy of standard output."""

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from ...programs.base import Program
from .guard import die_with_parent
from .link import EngineJob, EngineLink, serve
from .wire import read_message, write_message

__all__ = ["OFFER", "STOP", "begin", "main", "obey"]

STOP = "stop"
OFFER = "offer"


class _Mouth:
    """Sends messages to the parent, from any thread; without a parent there is nothing left to do."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def __call__(self, message: object) -> None:
        try:
            with self._lock:
                write_message(self._stream, message)
        except BrokenPipeError:
            os._exit(1)


def obey(stream: BinaryIO, link: EngineLink) -> None:
    """Obey the parent until it closes the pipe; then stop at once, so that no orphan goes on computing."""
    with suppress(EOFError, OSError):
        while True:
            kind, payload = read_message(stream)
            if kind == STOP:
                link.request_stop()
            elif kind == OFFER:
                link.offer(payload)
    link.request_stop(hard=True)
    os._exit(1)


def _go_first_when_memory_runs_out() -> None:
    """Tell Linux to end this process rather than the user's."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def begin() -> tuple[BinaryIO, Callable[[object], None]]:
    """Make this process a child that can be talked to: the stream of commands, and what sends messages.

    Output of solver libraries goes to standard error; Ctrl-C is the parent's to deal with.
    """
    # Solver libraries print; their output must not mix with the messages, nor may they read the commands.
    outgoing = os.fdopen(os.dup(1), "wb")
    incoming = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    if sys.platform == "linux":
        _go_first_when_memory_runs_out()
    return incoming, _Mouth(outgoing)


def main() -> None:
    """Read a job from standard input, run it, send its messages to what was standard output."""
    incoming, send = begin()
    job: EngineJob[Program] = read_message(incoming)
    link = EngineLink(send, job.origin, isolated=True)
    threading.Thread(target=obey, args=(incoming, link), daemon=True).start()
    serve(job, link, send)
    # Destructors of solver libraries have nothing to add and can hang.
    os._exit(0)


if __name__ == "__main__":
    main()
