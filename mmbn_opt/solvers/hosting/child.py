"""The host that can be killed: an engine in a child process, its news streamed back as they come."""

import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import IO, Any, BinaryIO, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ...exceptions import SolverError
from .host import EngineHost
from .link import HostDied, LogLine
from .wire import read_message, write_message
from .worker import OFFER, STOP

__all__ = ["ChildHost"]

logger = logging.getLogger(__name__)

_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from {} import main; main()"
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
_EXIT_WAIT_SEC = 2.0
_KEPT_LINES = 20


class HostedJob(Protocol):
    """What a child process can be given: anything that can be pickled and says this much."""

    @property
    def threads(self) -> int:
        """Threads of the numerical libraries."""

    @property
    def verbose(self) -> bool:
        """Whether the child's output is passed on."""


class ChildHost(EngineHost):
    """Runs the engine in a child process of its own session.

    The child is started with ``subprocess``, never with ``multiprocessing``: scripts need no main guard, and a
    notebook or ``python -c`` can be the parent. It gets the parent's ``sys.path``, so that it finds the same package.
    It ends when the parent closes its standard input, which also happens when the parent dies.

    Parameters
    ----------
    job : HostedJob
        An `EngineJob`, unless a subclass names another `worker`.
    """

    label = "child process"
    fate = "its process was killed"
    worker: ClassVar[str] = "mmbn_opt.solvers.hosting.worker"
    """Module whose ``main`` the child runs."""

    def __init__(self, job: HostedJob) -> None:
        super().__init__()
        if not sys.executable:
            raise SolverError(
                "cannot start a child process for the solver: sys.executable is empty (embedded Python); "
                "set it to a Python interpreter, or use a solver with isolate=False."
            )
        self._verbose = job.verbose
        self._killed = False
        self._last_words: deque[str] = deque(maxlen=_KEPT_LINES)
        self._outbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._process = _spawn(job.threads, self.worker)
        self._threads = [
            threading.Thread(target=target, name=f"mmbn_opt {target.__name__}", daemon=True)
            for target in (self._write_outbox, self._read_messages, self._read_noise)
        ]
        for thread in self._threads:
            thread.start()
        self._outbox.put(job)

    def request_stop(self) -> None:
        """Ask the engine to end and to hand over what it has."""
        self._outbox.put((STOP, None))

    def offer(self, vector: NDArray[np.float64]) -> None:
        """Hand the engine a better point."""
        self._outbox.put((OFFER, vector))

    @property
    def pid(self) -> int:
        """Number of the child process."""
        return self._process.pid

    def kill(self) -> None:
        """Kill the child and whatever it started; messages that it had sent before still arrive."""
        if self._killed:
            return
        self._killed = True
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def close(self) -> None:
        """Let go of what the run held; nothing is heard afterwards."""
        self._outbox.put(None)
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_WAIT_SEC)
        for thread in self._threads:
            thread.join(_EXIT_WAIT_SEC)

    def _write_outbox(self) -> None:
        stream = cast(BinaryIO, self._process.stdin)
        # A dead child cannot be written to; its death is reported by whoever reads from it.
        with suppress(OSError, ValueError):
            while (item := self._outbox.get()) is not None:
                write_message(stream, item)
        with suppress(OSError):
            stream.close()

    def _read_messages(self) -> None:
        stream = cast(BinaryIO, self._process.stdout)
        try:
            with stream:
                while True:
                    self._deliver(read_message(stream))
        except EOFError:
            text = _describe_exit(self._process.wait())
        except Exception as error:
            text = f"the child process sent something unreadable ({type(error).__name__}: {error})"
        self._threads[2].join(_EXIT_WAIT_SEC)
        if self._last_words:
            logger.debug("last output of the solver's process:\n%s", "\n".join(self._last_words))
            text += f"; its last words: {self._last_words[-1]}"
        self._deliver(HostDied(text))

    def _read_noise(self) -> None:
        stream = cast(IO[bytes], self._process.stderr)
        with stream:
            for raw in stream:
                line = raw.decode(errors="replace").rstrip()
                self._last_words.append(line)
                if self._verbose and line:
                    self._deliver(LogLine(line))


def _spawn(threads: int, worker: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}
    path = [entry or os.getcwd() for entry in sys.path]
    # Ctrl-C in a terminal goes to the user's process alone, which decides what becomes of the child.
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT.format(worker), *path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        **options,
    )


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"the child process ended with exit code {code} before it had answered"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown signal"
    hint = " (perhaps the memory ran out)" if name == "SIGKILL" else ""
    return f"the child process was ended by {name} (signal {-code}){hint} before it had answered"
