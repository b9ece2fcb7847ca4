"""The handle of a solve that goes on in the background: look at it, stop it, wait for it, drop it."""

import atexit
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any

from mmbn_opt._budget import now, until_interrupted
from mmbn_opt._lazy import delegate
from mmbn_opt.data.block_passes import as_here
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.result import Result
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.results.trace import BoundTrace
from mmbn_opt.solving.job import Job

__all__ = ["Run"]

EXIT_WAIT_SEC = 5.0
"""How long the interpreter's exit waits for runs that it has asked to stop."""

WATCH_SEC = 0.4
"""How often those who watch hear of a run while somebody waits for it."""

_going: set["_Course"] = set()
_going_lock = threading.Lock()


class _Course:
    """What the thread holds. It never holds the handle, so that a handle that nobody has any more stops its run."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._as_here = as_here()
        self.ended = threading.Event()
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._go, name=f"mmbn_opt run, {job.engine.name}", daemon=True)

    def begin(self) -> None:
        with _going_lock:
            _going.add(self)
        self.thread.start()

    def ask_to_stop(self) -> None:
        self.job.state.stop_requested = True

    def _go(self) -> None:
        try:
            with self._as_here():
                self.result = self.job.execute()
        except BaseException as error:
            self.error = error
        finally:
            self.ended.set()
            with _going_lock:
                _going.discard(self)


@atexit.register
def _stop_all() -> None:
    """No thread of ours may be inside a solver when the interpreter takes itself apart."""
    with _going_lock:
        going = list(_going)
    for course in going:
        course.ask_to_stop()
    end = now() + EXIT_WAIT_SEC
    for course in going:
        course.thread.join(max(0.0, end - now()))


class Run:
    """A solve in the background, as `mmbn_opt.start` returns it.

    Everything can be asked at any time, from any thread, while the run goes on and after it has ended. In a notebook
    the handle shows itself: incumbent and bound as they move, the network so far, and a button that stops the run.

    A handle is a context manager that stops the run at the end of the block. The run is also stopped when the last
    reference to its handle is gone, and when the interpreter exits.

    Parameters
    ----------
    job : Job

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class")
    >>> run = mm.start(mm.SoftMarginStructure(data, max_parents=2), time_limit=60)
    >>> run.wait(), run.result().termination_status
    (True, TerminationStatus.OPTIMAL)
    >>> round(run.bounds.primal_bound, 3), round(run.bounds.dual_bound, 3)
    (261.135, 261.135)
    """

    def __init__(self, job: Job) -> None:
        self._course = _Course(job)
        self._watchers: list[Callable[[], None]] = []
        weakref.finalize(self, self._course.ask_to_stop).atexit = False
        self._course.begin()

    # -- looking ----------------------------------------------------------------------------------------------------

    @property
    def formulation(self) -> Formulation:
        """What is being solved."""
        return self._course.job.state.formulation

    @property
    def solver_name(self) -> str:
        """Who solves it."""
        return self._course.job.engine.name

    def best(self) -> Any:
        """The best model so far, its objective recomputed from the data; None before there is one.

        With validation data it is the iterate that does best on them so far.
        """
        return self._course.job.state.best

    @property
    def bounds(self) -> ObjectiveBounds:
        """Best bounds so far, in the formulation's sense."""
        return self._course.job.state.bounds

    @property
    def trace(self) -> BoundTrace:
        """The history so far; what `result().trace` will be begins with it."""
        return self._course.job.state.recorder.snapshot()

    def elapsed(self) -> float:
        """Seconds since the run was started, or that it took."""
        result = self._course.result
        return self._course.job.state.budget.elapsed() if result is None else result.seconds.total

    def time_left(self) -> float | None:
        """Seconds left of the time limit, never negative; None without a limit."""
        budget = self._course.job.state.budget
        return None if budget.limit is None else 0.0 if self.done() else budget.left()

    def done(self) -> bool:
        """Whether the run has ended: with a result or with an error."""
        return self._course.ended.is_set()

    @property
    def stopping(self) -> bool:
        """Whether the run was asked to stop and has not ended yet."""
        return self._course.job.state.stop_requested and not self.done()

    @property
    def error(self) -> BaseException | None:
        """What ended the run, if it was an error."""
        return self._course.error

    @property
    def outcome(self) -> Result | None:
        """The result, without waiting for it: None while the run goes on, or when it failed."""
        return self._course.result

    @property
    def termination_status(self) -> TerminationStatus | None:
        """Why the run ended; None while it goes on, or when it failed."""
        return None if self.outcome is None else self.outcome.termination_status

    # -- acting -----------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ask the run to stop, and return at once; `result` then has the best model, the bound and INTERRUPTED."""
        self._course.ask_to_stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended, at most `timeout` seconds; return whether it has."""
        end = None if timeout is None else now() + timeout
        watched = threading.current_thread() is threading.main_thread()
        while not self._course.ended.is_set():
            left = WATCH_SEC if end is None else min(WATCH_SEC, end - now())
            if left <= 0:
                break
            # An Event is what Ctrl-C can interrupt on every platform.
            self._course.ended.wait(left)
            if watched and not self.done():
                self._tell_watchers()
        if watched and self.done():
            self._tell_watchers()
        return self.done()

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the end and return the result; raise what the run raised.

        Ctrl-C while waiting stops the run, and its result so far is returned; a second one is passed on.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait at most.

        Raises
        ------
        TimeoutError
            When the run goes on after `timeout`; it is not stopped.
        Exception
            Whatever ended the run.
        """
        ended = False
        with until_interrupted() as cut:
            ended = self.wait(timeout)
        if cut:
            self.stop()
            ended = self.wait()
        if not ended:
            raise TimeoutError(
                f"the run goes on after {timeout:g} s; wait longer, or call stop() and then result() for what it has."
            )
        if self._course.error is not None:
            raise self._course.error
        assert self._course.result is not None
        return self._course.result

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call `watcher` again and again in the main thread while that waits for the run, and once at its end."""
        self._watchers.append(watcher)

    def _tell_watchers(self) -> None:
        watchers = tuple(self._watchers)
        if self.done():
            self._watchers.clear()
        for watcher in watchers:
            watcher()

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.wait()

    # -- showing ----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        status = self.termination_status
        if self.error is not None:
            state = f"failed: {type(self.error).__name__}"
        else:
            state = str(status) if status is not None else "stopping" if self.stopping else "running"
        return (
            f"Run({type(self.formulation).__name__}, {state}, {self.bounds}, solver={self.solver_name}, "
            f"{self.elapsed():.2f} s)"
        )

    def _repr_html_(self) -> str:
        html: str = delegate("run_html")(self)
        return html

    def _repr_mimebundle_(self, **choice: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _ipython_display_(self) -> None:
        delegate("show_run")(self)
