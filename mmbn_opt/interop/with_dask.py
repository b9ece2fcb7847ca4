"""Workers of a Dask cluster for solvers that give out packets."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from mmbn_opt._arguments import shown
from mmbn_opt._budget import now
from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.interop._version import package_version
from mmbn_opt.solvers.workers import WorkersLost

__all__ = ["DaskWorkers", "open_cluster"]

logger = logging.getLogger(__name__)

CONNECT_SEC = 10.0
"""How long a scheduler may take to answer."""


LOOK_SEC = 0.005
"""How often it is looked whether an answer is there."""


def open_cluster(cluster: Any, option: str = "cluster") -> "DaskWorkers":
    """The workers of a cluster, by a client of it or by the address of its scheduler.

    Raises
    ------
    MissingDependencyError
        If Dask is not installed.
    InputError
        If nobody answers there, if it is neither, or if its workers have another version of mmbn_opt or none.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError(
            f"{option} needs the packages dask and distributed; install them with: pip install 'mmbn-opt[dask]'"
        ) from error
    own = isinstance(cluster, str)
    if not own and not isinstance(cluster, Client):
        raise InputError(
            f"{option} must be a distributed.Client, or the address of a scheduler like 'tcp://host:8786', got "
            f"{shown(cluster)}."
        )
    client = _connected(cluster, Client, option) if own else cluster
    try:
        _refuse_others(client, option)
    except BaseException:
        if own:
            client.close()
        raise
    return DaskWorkers(client, own)


def _connected(address: str, client_class: Any, option: str) -> Any:
    try:
        return client_class(address, timeout=CONNECT_SEC, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"{option}: no Dask scheduler answers at {shown(address)} ({type(error).__name__}). Start one with `dask "
            "scheduler`, and give the address that it says, like 'tcp://host:8786'."
        ) from error


def _worker_version() -> str:
    """Of mmbn_opt, where it runs."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("mmbn-opt")
    except PackageNotFoundError:
        return "none"


def _refuse_others(client: Any, option: str) -> None:
    """Workers that are there must have our version; who comes later says so itself."""
    if client.status != "running":
        raise InputError(f"{option}: the client is {client.status}; give one that is connected to its scheduler.")
    ours = package_version()
    found = client.run(_worker_version, on_error="return")
    for worker, theirs in sorted(found.items()):
        if isinstance(theirs, ModuleNotFoundError):
            raise InputError(
                f"{option}: mmbn_opt is not installed on the workers ({theirs}). Install version {ours} there."
            ) from theirs
        if isinstance(theirs, OSError):  # it went while it was asked
            continue
        if isinstance(theirs, BaseException):
            raise theirs
        if theirs != ours:
            raise InputError(
                f"{option}: worker {worker} has mmbn_opt {theirs}, here it is {ours}. Install one version."
            )


def _checked(ours: str, task: Callable[..., Any], common: Any, *given: Any) -> Any:
    """A task on a worker, which may have come after the others were asked."""
    theirs = _worker_version()
    if theirs != ours:
        raise InputError(f"cluster: a worker has mmbn_opt {theirs}, the caller {ours}. Install one version.")
    return task(common, *given)


def _same(content: Any) -> Any:
    return content


def _submitted(client: Any, task: Callable[..., Any], *given: Any) -> Any:
    """The future of a task; that its arguments are large is meant so, since they have to outlive workers."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
        return client.submit(task, *given, pure=False)


class DaskWorkers:
    """`mmbn_opt.solvers.workers.Workers` of a Dask cluster.

    Dask itself gives the task of a worker that was lost to another one; one that was lost with several workers, which
    Dask gives up, is given out anew.

    Parameters
    ----------
    client : distributed.Client
    own : bool
        Whether it is closed at the end.
    """

    def __init__(self, client: Any, own: bool) -> None:
        from distributed import as_completed

        self._client, self._own = client, own
        self._done = as_completed(loop=client.loop)
        self._common: Any = None
        self._tasks: dict[Any, tuple[int, Callable[..., Any], tuple[Any, ...]]] = {}
        self._tickets = 0
        self.given_again = 0

    def slots(self) -> int:
        """Threads of the workers that are there."""
        if self._client.status != "running":
            return 0
        try:
            return sum(self._client.nthreads().values())
        except OSError:  # the scheduler went while it was asked; `answers` tells
            return 0

    def share(self, content: Any) -> None:
        """What all tasks get; it is a task itself, so that it is there again when the worker that holds it is lost."""
        self._common = _submitted(self._client, _same, content)

    def submit(self, task: Callable[..., Any], *given: Any) -> int:
        """Give out a task."""
        self._tickets += 1
        self._submit(self._tickets, task, given)
        return self._tickets

    def _submit(self, ticket: int, task: Callable[..., Any], given: tuple[Any, ...]) -> None:
        future = _submitted(self._client, _checked, package_version(), task, self._common, *given)
        self._tasks[future] = ticket, task, given
        self._done.add(future)

    def answers(self, seconds: float) -> Iterator[tuple[int, Any]]:
        """Those that are there, at first after so many seconds at most."""
        end = now() + seconds
        while not self._done.has_ready() and now() < end:  # `next` would wait without a look at the clock
            time.sleep(LOOK_SEC)
        if self._client.status != "running":
            raise WorkersLost("the cluster was lost: its scheduler does not answer any more")
        while self._done.has_ready():
            yield from self._answer(next(self._done))

    def _answer(self, future: Any) -> Iterator[tuple[int, Any]]:
        from concurrent.futures import CancelledError

        from distributed.scheduler import KilledWorker

        if future not in self._tasks:  # it was cancelled
            return
        ticket, task, given = self._tasks.pop(future)
        try:
            answer = future.result()
        except KilledWorker as error:
            logger.warning("a packet was given out again: %s", error)
            self.given_again += 1
            if self._common.status != "finished":
                self._common.retry()
            self._submit(ticket, task, given)
            return
        except CancelledError as error:
            raise WorkersLost(f"the cluster was lost, or what it works on was cancelled there: {error}") from error
        yield ticket, answer

    def cancel(self) -> None:
        """Nothing that was given out counts any more."""
        futures, self._tasks = list(self._tasks), {}
        self._done.clear()
        if self._client.status == "running":
            self._client.cancel(futures, force=True)
        self._common = None

    def close(self) -> None:
        """Let the cluster go."""
        if self._own:
            self._client.close()
