"""What a solver's engine and its host say to each other, the same in a thread and in a child process."""

import logging
import math
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, TypeVar

from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.base import Program
from ...results.status import TerminationStatus
from ..base import SolverEvent

__all__ = [
    "Engine",
    "EngineAnswer",
    "EngineFailure",
    "EngineJob",
    "EngineLink",
    "HostDied",
    "LogLine",
    "Message",
    "Started",
    "Throttle",
    "serve",
]

logger = logging.getLogger(__name__)


P_co = TypeVar("P_co", bound=Program, covariant=True)


@dataclass(frozen=True, eq=False)
class EngineJob(Generic[P_co]):
    """Everything that an engine needs; it travels to a child process as it is.

    Parameters
    ----------
    engine : str
        ``"module:function"`` of the engine.
    program : Program
        Of the class that the engine takes.
    start : float64 array (n_columns,) or None
        A start that was found feasible.
    origin, deadline : float, float or None
        On the clock `time.monotonic`, which all processes of a machine share (seconds).
    rel_gap, abs_gap, feasibility_tol, threads, seed, verbose, options
        As in `Solver`.
    workspace : str or None
        A folder for files; the parent removes it, so that a killed engine leaves nothing behind.
    executable : str or None
        Program to run, for engines that are one.
    """

    engine: str
    program: P_co
    start: FloatArray | None
    origin: float
    deadline: float | None
    rel_gap: float
    abs_gap: float
    feasibility_tol: float
    threads: int
    seed: int
    verbose: bool
    options: Mapping[str, Any]
    workspace: str | None = None
    executable: str | None = None

    def time_left(self) -> float | None:
        """Seconds until the deadline, never negative; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


@dataclass(frozen=True, eq=False)
class EngineAnswer:
    """What an engine concludes, in its own words and figures; nobody has checked it yet.

    Parameters
    ----------
    termination_status : TerminationStatus
    raw_status : str
    solution : float64 array or None
    dual_bound : float or None
    nodes, iterations : int or None
    multipliers : float64 array or None
        Of the samples' margins, from engines of convex programs.
    stats : mapping
        For readers.
    """

    termination_status: TerminationStatus
    raw_status: str
    solution: FloatArray | None = None
    dual_bound: float | None = None
    nodes: int | None = None
    iterations: int | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    multipliers: FloatArray | None = None


@dataclass(frozen=True)
class Started:
    """The engine has the program and begins."""


@dataclass(frozen=True)
class LogLine:
    """A line of the solver's own log."""

    text: str


@dataclass(frozen=True)
class EngineFailure:
    """An exception that ended the engine, as text: it may come from another process."""

    kind: str
    text: str
    details: str
    is_input_error: bool

    @classmethod
    def of(cls, error: BaseException) -> "EngineFailure":
        """Describe `error`."""
        details = "".join(traceback.format_exception(error))
        return cls(type(error).__name__, str(error), details, isinstance(error, InputError))


@dataclass(frozen=True)
class HostDied:
    """The process that held the engine is gone; `text` says how."""

    text: str


Message = Started | SolverEvent | LogLine | EngineAnswer | EngineFailure | HostDied

Engine = Callable[[EngineJob[Any], "EngineLink"], EngineAnswer]

StopHook = Callable[[bool], None]
"""Called with True when the engine must stop at once, whatever is lost."""


class EngineLink:
    """The engine's side of the conversation.

    Parameters
    ----------
    send : callable
        Takes a message; may be called from any thread.
    origin : float
        Time zero on `time.monotonic`.
    isolated : bool
        Whether the engine has a process of its own.
    """

    def __init__(self, send: Callable[[Message], None], origin: float, *, isolated: bool = False) -> None:
        self.isolated = isolated
        self._send = send
        self._origin = origin
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._hook: StopHook | None = None
        self._offer: FloatArray | None = None

    def report(
        self,
        *,
        primal_bound: float | None = None,
        dual_bound: float | None = None,
        nodes: int | None = None,
        iterations: int | None = None,
        solution: FloatArray | None = None,
    ) -> None:
        """Send news with the time at which it happened; an infinite bound is none."""
        seconds = time.monotonic() - self._origin
        self._send(SolverEvent(seconds, _finite(primal_bound), _finite(dual_bound), nodes, iterations, solution))

    def log(self, text: str) -> None:
        """Send a line of the solver's log."""
        self._send(LogLine(text))

    @property
    def stop_requested(self) -> bool:
        """Whether the engine has been asked to stop."""
        return self._stop.is_set()

    def on_stop(self, hook: StopHook | None) -> None:
        """Register what interrupts a solver that does not ask by itself; None when it is gone."""
        with self._lock:
            self._hook = hook
        if hook is not None and self.stop_requested:
            self.request_stop()

    def request_stop(self, hard: bool = False) -> None:
        """Ask the engine to stop (host's side); the host asks again until it has."""
        self._stop.set()
        with self._lock:
            if self._hook is None:
                return
            try:
                self._hook(hard)
            except Exception as error:
                # Solvers refuse to be interrupted before they have begun and after they have ended.
                logger.debug("the solver could not be interrupted: %s", error)

    def offer(self, vector: FloatArray) -> None:
        """Leave an incumbent for the engine to take (host's side); a newer one replaces it."""
        with self._lock:
            self._offer = vector

    def take_offer(self) -> FloatArray | None:
        """The offered incumbent, once."""
        with self._lock:
            vector, self._offer = self._offer, None
        return vector


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


class Throttle:
    """Decides which progress is worth an event: at once (nearly) when a bound moved, else a sign of life.

    Examples
    --------
    >>> throttle = Throttle(moved_sec=0.02, still_sec=0.1)
    >>> [throttle.is_due(t, 10.0, d) for t, d in [(0.0, 1.0), (0.01, 2.0), (0.03, 2.0), (0.05, 2.0), (0.14, 2.0)]]
    [True, False, True, False, True]
    """

    def __init__(self, moved_sec: float = 0.02, still_sec: float = 0.1) -> None:
        self._moved_sec = moved_sec
        self._still_sec = still_sec
        self._last_sec = -float("inf")
        self._last: tuple[float | None, float | None] = (None, None)

    def is_due(self, now: float, primal_bound: float | None, dual_bound: float | None) -> bool:
        """Whether to send an event at `now` (seconds on any clock)."""
        moved = (primal_bound, dual_bound) != self._last
        if now - self._last_sec < (self._moved_sec if moved else self._still_sec):
            return False
        self._last_sec, self._last = now, (primal_bound, dual_bound)
        return True


def serve(job: EngineJob[Program], link: EngineLink, send: Callable[[Message], None]) -> None:
    """Run the engine of `job` and send its answer, or what went wrong."""
    try:
        module, _, name = job.engine.partition(":")
        engine: Engine = getattr(import_module(module), name)
        send(Started())
        answer = engine(job, link)
    except BaseException as error:
        send(EngineFailure.of(error))
    else:
        send(answer)
    finally:
        link.on_stop(None)
