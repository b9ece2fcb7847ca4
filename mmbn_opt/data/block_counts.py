"""Counts over the joint states of many sets of nodes, a block of rows at a time, here or on a Dask cluster."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.mapped import MappedDataset
from mmbn_opt.exceptions import InputError, MissingDependencyError

__all__ = ["BLOCK_ROWS", "columns_of_block", "counted", "counting_on"]

BLOCK_ROWS = 1 << 20
"""Rows that are counted at a time: what is made of them on the way stays small."""

_KEPT_CELLS = 10_000_000
"""Of the tables of a data set in a file that are kept: 80 MB."""

_LOOK_SEC = 0.02
"""Between two looks at a cluster that counts, and at the clock."""

_client: ContextVar[Any] = ContextVar("mmbn_opt cluster that counts", default=None)


@contextmanager
def counting_on(client: Any) -> Iterator[None]:
    """Let a Dask cluster count data whose codes lie in a file (``from_parquet(..., codes_in=folder)``), in this block.

    Each task counts a block of a million rows, and counts are added up as a tree, so that what comes back are the
    tables: the same to the last digit, since they hold whole numbers. It serves everything that counts (naive Bayes,
    TAN, tables of networks, local scores of structures). Passes of other learners go on where they are. Workers read
    the file of codes under the path that it has here.

    Parameters
    ----------
    client : dask.distributed.Client
        Of a cluster whose workers have this package.

    Examples
    --------
    >>> from dask.distributed import Client, LocalCluster  # doctest: +SKIP
    >>> with Client(LocalCluster(n_workers=2)) as client, counting_on(client):  # doctest: +SKIP
    ...     tree = mm.tan_cmi(mm.DiscreteDataset.from_parquet("rows", target="y", codes_in="codes"))
    """
    try:
        from distributed import Client
    except ImportError as error:
        told = "counting_on needs dask.distributed, which is not installed. Install it by: pip install 'mmbn-opt[dask]'"
        raise MissingDependencyError(told) from error
    if not isinstance(client, Client):
        raise InputError(f"client must be a dask.distributed.Client, got {type(client).__name__}.")
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def columns_of_block(
    codes: NDArray[np.integer[Any]], labels: NDArray[np.integer[Any]], card: Sequence[int], rows: slice = slice(None)
) -> NDArray[np.unsignedinteger[Any]]:
    """Codes of all nodes in some rows, the class last, (n_nodes, n_rows), in the narrowest type that holds them."""
    own = labels[rows]
    columns: NDArray[np.unsignedinteger[Any]] = np.empty((len(card), len(own)), np.min_scalar_type(max(card) - 1))
    columns[:-1], columns[-1] = codes[rows].T, own
    return columns


def counted(data: DiscreteDataset, sets: Sequence[IntArray]) -> list[FloatArray]:
    """Weighted counts over the joint states of each of the sets, flat, the last node fastest.

    Parameters
    ----------
    data : DiscreteDataset
    sets : sequence of int64 arrays
        Node numbers; that of the class is ``n_features``.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"]], ["no", "yes", "yes"])
    >>> [table.tolist() for table in counted(data, [np.array([0, 1]), np.array([1])])]
    [[1.0, 1.0, 0.0, 1.0], [1.0, 2.0]]
    """
    return _kept(data, sets) if isinstance(data, MappedDataset) else _counted(data, sets)


def _kept(data: MappedDataset, sets: Sequence[IntArray]) -> list[FloatArray]:
    """Tables of data in a file, of which each is counted once, in whatever order its nodes are asked for."""
    keys = [tuple(sorted(nodes.tolist())) for nodes in sets]
    new = [key for key in dict.fromkeys(keys) if key not in data.tables]
    found = dict(zip(new, _counted(data, [np.array(key, dtype=np.int64) for key in new]), strict=True)) if new else {}
    answers = []
    for nodes, key in zip(sets, keys, strict=True):
        table = found[key] if key in found else data.tables[key]
        axes = [key.index(node) for node in nodes.tolist()]
        answers.append(table.reshape([data.cardinalities[node] for node in key]).transpose(axes).ravel())
    room = _KEPT_CELLS - sum(table.size for table in data.tables.values())
    for key, table in found.items():
        if table.size <= room:
            data.tables[key] = table
            room -= table.size
    return answers


def _counted(data: DiscreteDataset, sets: Sequence[IntArray]) -> list[FloatArray]:
    client = _client.get()
    if client is not None and isinstance(data, MappedDataset):
        return _counted_by(client, data, sets)
    tables = _empty(data.cardinalities, sets)
    for start in range(0, data.n_samples, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        columns = columns_of_block(data.codes, data.target_codes, data.cardinalities, rows)
        _add(columns, data.cardinalities, np.ascontiguousarray(data.sample_weight[rows]), sets, tables)
    return tables


def _empty(card: Sequence[int], sets: Sequence[IntArray]) -> list[FloatArray]:
    sizes = np.array(card, dtype=np.int64)
    return [np.zeros(int(sizes[nodes].prod())) for nodes in sets]


def _add(
    columns: NDArray[np.unsignedinteger[Any]],
    card: Sequence[int],
    weight: FloatArray,
    sets: Sequence[IntArray],
    tables: Sequence[FloatArray],
) -> None:
    from mmbn_opt.data._count_kernels import add_to_cells

    sizes = np.array(card, dtype=np.int64)
    for nodes, table in zip(sets, tables, strict=True):
        leave_in_time()
        add_to_cells(columns, nodes, sizes, weight, table)


def _counted_by(client: Any, data: MappedDataset, sets: Sequence[IntArray]) -> list[FloatArray]:
    """The tables, from a tree of sums over blocks that workers count."""
    starts = range(0, data.n_samples, BLOCK_ROWS)
    task = {"file": data.file, "card": data.cardinalities, "sets": list(sets), "n_rows": BLOCK_ROWS}
    parts = client.map(_count_block, starts, **task, pure=False)
    while len(parts) > 1:
        parts = [client.submit(_added, parts[k : k + 2], pure=False) for k in range(0, len(parts), 2)]
    total = parts[0]
    try:
        while not total.done():
            leave_in_time()
            time.sleep(_LOOK_SEC)
        tables: list[FloatArray] = total.result()
        return tables
    finally:
        total.cancel()


def _count_block(start: int, file: str, card: Sequence[int], sets: Sequence[IntArray], n_rows: int) -> list[FloatArray]:
    """In a worker: the tables of one block."""
    codes = np.load(file, mmap_mode="r")
    columns = columns_of_block(codes[:-1].T, codes[-1], card, slice(start, start + n_rows))
    tables = _empty(card, sets)
    _add(columns, card, np.ones(columns.shape[1]), sets, tables)
    return tables


def _added(parts: Sequence[Sequence[FloatArray]]) -> list[FloatArray]:
    """In a worker: tables of one or two blocks as one."""
    return [np.sum(tables, axis=0) for tables in zip(*parts, strict=True)]
