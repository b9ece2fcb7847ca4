"""Counts over the joint states of many sets of nodes, a block of rows at a time, here or on a Dask cluster."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.block_passes import BLOCK_ROWS, block_sums, columns_of_block, on_cluster
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.mapped import MappedDataset

__all__ = ["counted"]

_KEPT_CELLS = 10_000_000
"""Of the tables of a data set in a file that are kept: 80 MB."""


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
    if isinstance(data, MappedDataset) and on_cluster():
        return block_sums(data, partial(_count_block, card=data.cardinalities, sets=list(sets)))
    # In place: tables may be so large that no second ones should be there. Whole numbers add up in any order.
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


def _count_block(
    columns: NDArray[np.unsignedinteger[Any]], start: int, *, card: Sequence[int], sets: Sequence[IntArray]
) -> list[FloatArray]:
    """The tables of one block."""
    tables = _empty(card, sets)
    _add(columns, card, np.ones(columns.shape[1]), sets, tables)
    return tables
