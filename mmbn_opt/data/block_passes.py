"""Passes over data whose codes lie in a file: sums over blocks of rows, here or on a Dask cluster."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.mapped import MappedDataset
from mmbn_opt.exceptions import InputError, MissingDependencyError

__all__ = [
    "BLOCK_ROWS",
    "BlockWork",
    "as_here",
    "block_sums",
    "cells_of",
    "columns_of_block",
    "counting_on",
    "on_cluster",
    "passes_on",
]

BLOCK_ROWS = 1 << 20
"""Rows that are read at a time: what is made of them on the way stays small."""

_LOOK_SEC = 0.05
"""Between two looks at the clock while a cluster works."""

BlockWork = Callable[[NDArray[np.unsignedinteger[Any]], int], Sequence[FloatArray]]
"""Columns of a block (n_nodes, n_rows), the class last, and the number of its first row in; what is summed out.

On a cluster it goes to the workers by pickle: a function of a module, or a `functools.partial` of one.
"""

_client: ContextVar[Any] = ContextVar("mmbn_opt cluster for passes", default=None)


@contextmanager
def passes_on(client: Any) -> Iterator[None]:
    """Let a Dask cluster pass over data whose codes lie in a file (``from_parquet(..., codes_in=folder)``).

    In this block every pass is a task for each million rows, whose sums are added up as a tree: counts (naive Bayes,
    TAN, tables of networks, local scores), values and gradients (`SmoothMargin`, `ConditionalLikelihood`,
    `MaxMarginRelaxation`), cuts of margin scores, and what a model is worth. The tree is the same without a cluster, so
    that answers are too, to the last digit. Workers may come, go and be lost; they read the file of codes under the
    path that it has here.

    Parameters
    ----------
    client : dask.distributed.Client
        Of a cluster whose workers have this package.

    Examples
    --------
    >>> from dask.distributed import Client, LocalCluster  # doctest: +SKIP
    >>> with Client(LocalCluster(n_workers=2)) as client, passes_on(client):  # doctest: +SKIP
    ...     data = mm.DiscreteDataset.from_parquet("rows", target="y", codes_in="codes")
    ...     result = mm.solve(mm.SmoothMargin(data, mm.tan_cmi(data)), "conjugate_gradient")
    """
    try:
        from distributed import Client
    except ImportError as error:
        told = "passes_on needs dask.distributed, which is not installed. Install it by: pip install 'mmbn-opt[dask]'"
        raise MissingDependencyError(told) from error
    if not isinstance(client, Client):
        raise InputError(f"client must be a dask.distributed.Client, got {type(client).__name__}.")
    with _with(client):
        yield


@contextmanager
def counting_on(client: Any) -> Iterator[None]:
    """The former name of `passes_on`, which makes all passes on the cluster and not counts alone.

    Parameters
    ----------
    client : dask.distributed.Client

    Examples
    --------
    >>> with counting_on(client):  # doctest: +SKIP
    ...     data = mm.DiscreteDataset.from_parquet("rows", target="y", codes_in="codes")
    """
    # Of this generator, of contextlib, and then of the caller.
    warnings.warn("counting_on is now called passes_on, and makes all passes.", DeprecationWarning, stacklevel=3)
    with passes_on(client):
        yield


def as_here() -> Callable[[], AbstractContextManager[None]]:
    """For work that another thread will do: blocks in which passes are made where they are made here, now."""
    client = _client.get()
    return nullcontext if client is None else lambda: _with(client)


@contextmanager
def _with(client: Any) -> Iterator[None]:
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def on_cluster() -> bool:
    """Whether `passes_on` holds here."""
    return _client.get() is not None


def columns_of_block(
    codes: NDArray[np.integer[Any]], labels: NDArray[np.integer[Any]], card: Sequence[int], rows: slice = slice(None)
) -> NDArray[np.unsignedinteger[Any]]:
    """Codes of all nodes in some rows, the class last, (n_nodes, n_rows), in the narrowest type that holds them."""
    own = labels[rows]
    columns: NDArray[np.unsignedinteger[Any]] = np.empty((len(card), len(own)), np.min_scalar_type(max(card) - 1))
    columns[:-1], columns[-1] = codes[rows].T, own
    return columns


def cells_of(columns: NDArray[np.unsignedinteger[Any]], nodes: Sequence[int], card: Sequence[int]) -> NDArray[np.int64]:
    """Cell of each row of a block in a table over `nodes`, the last one varying fastest.

    Examples
    --------
    >>> cells_of(np.array([[0, 1], [2, 1]], dtype=np.uint8), [0, 1], [2, 3]).tolist()
    [2, 4]
    """
    cells = np.zeros(columns.shape[1], dtype=np.int64)
    for node in nodes:
        cells *= card[node]
        cells += columns[node]
    return cells


def block_sums(data: MappedDataset, work: BlockWork, *, threads: int = 1, here: bool = False) -> list[FloatArray]:
    """The sums over all blocks of what `work` says of each, added two and two: alike here and on a cluster.

    Looks at the clock between blocks (`leave_in_time`).

    Parameters
    ----------
    data : MappedDataset
    work : callable
        See `BlockWork`.
    threads : int
        Of this process; no digit depends on it.
    here : bool
        Whether it stays in this process, on a cluster too.
    """
    starts = range(0, data.n_samples, BLOCK_ROWS)
    client = None if here else _client.get()
    if client is not None:
        return _sums_by(client, data, starts, work)
    card = data.cardinalities

    def run(start: int) -> list[FloatArray]:
        rows = slice(start, start + BLOCK_ROWS)
        return list(work(columns_of_block(data.codes, data.target_codes, card, rows), start))

    if threads == 1:
        return _tree_sum(map(run, _in_time(starts)))
    with ThreadPoolExecutor(threads, thread_name_prefix="blocks") as pool:
        rounds = (starts[first : first + threads] for first in range(0, len(starts), threads))
        return _tree_sum(part for some in _in_time(rounds) for part in pool.map(run, some))


_T = TypeVar("_T")


def _in_time(items: Iterable[_T]) -> Iterator[_T]:
    """The items, with a look at the clock before each."""
    for item in items:
        leave_in_time()
        yield item


def _tree_sum(parts: Iterable[list[FloatArray]]) -> list[FloatArray]:
    """The sum of parts that come one by one, as a tree of neighbours would add them; few of them are held."""
    held: list[tuple[int, list[FloatArray]]] = []  # with the height of the tree below
    for part in parts:
        height = 0
        while held and held[-1][0] == height:
            part, height = _added([held.pop()[1], part]), height + 1
        held.append((height, part))
    total = held.pop()[1]
    while held:
        total = _added([held.pop()[1], total])
    return total


def _added(parts: Sequence[Sequence[FloatArray]]) -> list[FloatArray]:
    """What one or two parts sum to."""
    return [np.sum(arrays, axis=0) for arrays in zip(*parts, strict=True)]


def _sums_by(client: Any, data: MappedDataset, starts: Sequence[int], work: BlockWork) -> list[FloatArray]:
    """`block_sums` from a tree of tasks; those of a lost worker are done again by another."""
    from distributed import wait

    task = {"file": data.file, "card": data.cardinalities, "n_rows": BLOCK_ROWS, "work": work}
    parts = client.map(_work_on_block, starts, **task, pure=False)
    while len(parts) > 1:
        parts = [client.submit(_added, parts[k : k + 2], pure=False) for k in range(0, len(parts), 2)]
    total = parts[0]
    try:
        while not total.done():
            leave_in_time()
            with suppress(TimeoutError):
                wait(total, timeout=_LOOK_SEC)
        sums: list[FloatArray] = total.result()
        return sums
    finally:
        total.cancel()


def _work_on_block(start: int, file: str, card: Sequence[int], n_rows: int, work: BlockWork) -> list[FloatArray]:
    """In a worker."""
    codes = np.load(file, mmap_mode="r")
    return list(work(columns_of_block(codes[:-1].T, codes[-1], card, slice(start, start + n_rows)), start))
