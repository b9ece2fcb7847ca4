"""Contingency counts by joint code and one bincount, and sums over many tables at once."""

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.block_counts import counted
from mmbn_opt.data.block_passes import BLOCK_ROWS, columns_of_block
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.mapped import MappedDataset
from mmbn_opt.exceptions import SizeLimitError

__all__ = [
    "MAX_TABLE_CELLS",
    "CountedSets",
    "KeptCounts",
    "contingency",
    "counts_seen",
    "joint_codes",
    "n_log_n",
    "narrow_columns",
    "refuse_large_network",
    "refuse_large_tables",
    "sums_over_cells",
]

MAX_TABLE_CELLS = 50_000_000
"""Largest table that is counted: 0.4 GB, and a few times that while it is made."""

MAX_NETWORK_CELLS = 50_000_000
"""Most cells of all tables of a network together; files of networks hold as many, some 20 bytes each."""

_BLOCK_STEPS = 2e7
"""Elementary steps between two looks at the clock: some 50 ms."""

_LARGEST_KEPT = 1_000_000

_LARGEST_LOOKUP = 1_000_000
"""Entries of a table of ``n log n``; above, the logarithm is taken each time."""


def joint_codes(data: DiscreteDataset, nodes: Sequence[int]) -> NDArray[np.int64]:
    """Mixed-radix code of the given nodes in every row, shape (n_samples,); the last node varies fastest.

    Node ``n_features`` is the class.
    """
    code = np.zeros(data.n_samples, dtype=np.int64)
    card = data.cardinalities
    for node in nodes:
        values = data.target_codes if node == data.n_features else data.codes[:, node]
        code *= card[node]
        code += values
    return code


def contingency(data: DiscreteDataset, nodes: Sequence[int]) -> FloatArray:
    """Weighted counts over the joint states of `nodes`, one axis a node.

    Raises
    ------
    SizeLimitError
        When the table would have more than 50 million cells.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"]], ["no", "yes", "yes"])
    >>> contingency(data, [0, 1]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    card = data.cardinalities
    shape = tuple(card[node] for node in nodes)
    cells = prod(shape)
    _refuse_table(data, nodes, cells)
    if data.n_samples > BLOCK_ROWS:
        return counted(data, [np.array(nodes, dtype=np.int64)])[0].reshape(shape)
    counts = np.bincount(joint_codes(data, nodes), weights=data.sample_weight, minlength=cells)
    return np.asarray(counts, dtype=np.float64).reshape(shape)


def counts_seen(data: DiscreteDataset, parents: Sequence[int], node: int) -> FloatArray:
    """The rows of a node's table, shape (n_seen, n_states), for the parents' states that occur; it has any size.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"]], ["no", "yes", "yes"])
    >>> counts_seen(data, [0], 1).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    columns = [data.target_codes if p == data.n_features else data.codes[:, p] for p in parents]
    states = np.column_stack([np.zeros(data.n_samples, dtype=np.int64), *columns])
    _, row = np.unique(states, axis=0, return_inverse=True)
    counts = np.zeros((int(row.max()) + 1, data.cardinalities[node]))
    own = data.target_codes if node == data.n_features else data.codes[:, node]
    np.add.at(counts, (row.ravel(), own), data.sample_weight)
    return counts


class KeptCounts:
    """`contingency` of one data set for many overlapping lists of nodes: a set is counted once, in whatever order.

    The codes are read a byte each. Tables above a million cells are counted each time they are asked for.

    Parameters
    ----------
    data : DiscreteDataset

    Attributes
    ----------
    columns : unsigned array (n_nodes, n_samples)
        What is read: see `narrow_columns`.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"]], ["no", "yes", "yes"])
    >>> count = KeptCounts(data)
    >>> count([0, 1]).tolist(), count([1, 0]).tolist()
    ([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])
    """

    def __init__(self, data: DiscreteDataset) -> None:
        self._data = data
        self.columns = narrow_columns(data)
        self._card = np.array(data.cardinalities, dtype=np.int64)
        self._kept: dict[tuple[int, ...], FloatArray] = {}

    def __call__(self, nodes: Sequence[int]) -> FloatArray:
        """Weighted counts over the joint states of `nodes`, one axis a node."""
        from mmbn_opt.data._count_kernels import add_to_cells

        key = tuple(sorted(nodes))
        table = self._kept.get(key)
        if table is None:
            shape = self._card[list(key)]
            cells = prod(shape.tolist())
            _refuse_table(self._data, key, cells)
            counts = np.zeros(cells)
            add_to_cells(self.columns, np.array(key, dtype=np.int64), self._card, self._data.sample_weight, counts)
            table = counts.reshape(shape)
            if cells <= _LARGEST_KEPT:
                self._kept[key] = table
        return table.transpose([key.index(node) for node in nodes])


class CountedSets:
    """`contingency` of data in a file for sets of nodes that are known before: all of them are counted in one pass.

    Parameters
    ----------
    data : MappedDataset
    sets : iterable of sequences of int
        Each is asked for in whatever order.
    """

    def __init__(self, data: MappedDataset, sets: Iterable[Sequence[int]]) -> None:
        keys = list(dict.fromkeys(tuple(sorted(nodes)) for nodes in sets))
        card = data.cardinalities
        for key in keys:
            _refuse_table(data, key, prod(card[node] for node in key))
        found = counted(data, [np.array(key, dtype=np.int64) for key in keys])
        self._tables = {
            key: table.reshape([card[node] for node in key]) for key, table in zip(keys, found, strict=True)
        }

    def __call__(self, nodes: Sequence[int]) -> FloatArray:
        """Counts over the joint states of `nodes`, one axis a node."""
        key = tuple(sorted(nodes))
        return self._tables[key].transpose([key.index(node) for node in nodes])


def narrow_columns(data: DiscreteDataset) -> NDArray[np.unsignedinteger[Any]]:
    """Codes of all nodes, the class last, shape (n_features + 1, n_samples), in the narrowest type that holds them."""
    return columns_of_block(data.codes, data.target_codes, data.cardinalities)


def sums_over_cells(data: DiscreteDataset, sets: NDArray[np.int32], ess: float | None = None) -> FloatArray:
    """``sum n log n`` over the cells of the table of every node set, or what a Dirichlet prior makes of the cells.

    With `ess` the sum is ``log Gamma(n + ess / cells) - log Gamma(ess / cells)``. Differences of such sums are local
    scores and (conditional) mutual informations. One table is in memory at a time.

    Parameters
    ----------
    data : DiscreteDataset
        Equal rows should be merged: the time is proportional to the rows.
    sets : int32 array (n_sets, width)
        Ascending node numbers in each row; -1 stands for no node and comes first. Rows in lexicographic order are
        counted fastest.
    ess : float or None

    Returns
    -------
    float64 array (n_sets,)

    Raises
    ------
    SizeLimitError
        When a table would have more than 50 million cells; nothing is counted then.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"]], ["no", "yes", "yes"])
    >>> sums_over_cells(data, np.array([[-1, -1], [-1, 0], [0, 1]], dtype=np.int32)).round(4).tolist()
    [3.2958, 1.3863, 0.0]
    """
    card = np.array(data.cardinalities, dtype=np.int64)
    cells = np.where(sets >= 0, card[sets].astype(np.float64), 1.0).prod(axis=1)
    if not cells.size:
        return np.zeros(0)
    largest = int(np.argmax(cells))
    _refuse_table(data, [int(node) for node in sets[largest] if node >= 0], int(cells[largest]))
    if data.n_samples > BLOCK_ROWS:
        return _sums_of_many_rows(data, sets, cells, ess)
    from scipy.special import xlogy  # deferred: it loads for a quarter of a second, and every command imports this

    from mmbn_opt.data._count_kernels import cell_sums

    columns = np.ascontiguousarray(np.column_stack([data.codes, data.target_codes]).T, dtype=np.int32)
    weight, total = data.sample_weight, data.total_weight
    whole = total <= _LARGEST_LOOKUP and bool((weight == np.floor(weight)).all())
    numbers = np.arange(total + 1 if whole and ess is None else 0.0)
    pseudo = np.zeros(len(sets)) if ess is None else ess / cells
    wide = sets if sets.shape[1] else np.full((len(sets), 1), -1, dtype=np.int32)
    numbers, counted = xlogy(numbers, numbers), np.zeros(int(cells.max()))
    steps = np.cumsum(2.0 * wide.shape[1] * data.n_samples + cells)
    sums, done = np.empty(len(sets)), 0
    while done < len(sets):
        leave_in_time()
        reached = steps[done - 1] if done else 0.0
        end = max(done + 1, int(np.searchsorted(steps, reached + _BLOCK_STEPS, side="right")))
        block = np.ascontiguousarray(wide[done:end])
        sums[done:end] = cell_sums(columns, card, weight, block, pseudo[done:end], numbers, counted)
        done = end
    return sums


def _sums_of_many_rows(
    data: DiscreteDataset, sets: NDArray[np.int32], cells: FloatArray, ess: float | None
) -> FloatArray:
    """`sums_over_cells` by counts that grow block by block: the columns of a block of rows are in memory at a time."""
    from scipy.special import gammaln, xlogy

    sums, done, ends = np.empty(len(sets)), 0, np.cumsum(cells)
    while done < len(sets):
        begin = ends[done - 1] if done else 0.0
        end = max(done + 1, int(np.searchsorted(ends, begin + MAX_TABLE_CELLS, side="right")))
        nodes = [members[members >= 0].astype(np.int64) for members in sets[done:end]]
        for place, table in enumerate(counted(data, nodes), start=done):
            found = table[table > 0]
            pseudo = 0.0 if ess is None else ess / cells[place]
            terms = xlogy(found, found) if ess is None else gammaln(found + pseudo) - gammaln(pseudo)
            sums[place] = terms.sum()
        done = end
    return sums


def refuse_large_tables(data: DiscreteDataset, parent_sets: Sequence[Sequence[tuple[int, ...]]]) -> None:
    """Raise `SizeLimitError` when the table of a node with one of its parent sets would be too large to count.

    Parameters
    ----------
    data : DiscreteDataset
    parent_sets : sequence, one a node, of parent sets
    """
    card = data.cardinalities
    widest = 1 + max((len(s) for options in parent_sets for s in options), default=0)
    if prod(sorted(card)[-widest:]) <= MAX_TABLE_CELLS:
        return
    for node, options in enumerate(parent_sets):
        largest = max(options, key=lambda s: prod(card[p] for p in s))
        _refuse_table(data, (*largest, node), card[node] * prod(card[p] for p in largest))


def refuse_large_network(data: DiscreteDataset, parents: Sequence[Sequence[int]]) -> None:
    """Raise `SizeLimitError` when the tables of a network would be too large, one of them or all together.

    Parameters
    ----------
    data : DiscreteDataset
    parents : sequence, one a node, of its parents
    """
    card = data.cardinalities
    cells = [card[node] * prod(card[p] for p in s) for node, s in enumerate(parents)]
    for node, s in enumerate(parents):
        _refuse_table(data, (*sorted(s), node), cells[node])
    if sum(cells) > MAX_NETWORK_CELLS:
        names = (*data.feature_names, data.class_name)
        largest = sorted(range(len(cells)), key=lambda node: -cells[node])[:3]
        told = ", ".join(f"{shown(names[node])} {cells[node]:,}" for node in largest)
        raise SizeLimitError(
            f"The tables of this network would have {sum(cells):,} cells, the largest {told}; the limit is "
            f"{MAX_NETWORK_CELLS:,}. Use fewer parents, merge states, or leave such columns out."
        )


def _refuse_table(data: DiscreteDataset, nodes: Iterable[int], cells: int) -> None:
    if cells > MAX_TABLE_CELLS:
        names, card = (*data.feature_names, data.class_name), data.cardinalities
        states = ", ".join(f"{shown(names[node])} ({card[node]:,})" for node in nodes)
        raise SizeLimitError(
            f"A table over the states of {states} would have {cells:,} cells; the limit is {MAX_TABLE_CELLS:,}. "
            "Use fewer parents, merge states, or leave such a column out."
        )


def n_log_n(counts: NDArray[Any]) -> float:
    """Sum of n log n over all counts, with 0 log 0 = 0.

    Examples
    --------
    >>> round(n_log_n(np.array([[0.0, 1.0], [2.0, 4.0]])), 4)
    6.9315
    """
    from scipy.special import xlogy  # deferred: it loads for a quarter of a second, and every command imports this

    return float(xlogy(counts, counts).sum())
