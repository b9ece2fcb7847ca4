"""The projected program: structure columns alone, the margin sum as an implicit concave term.

``f(eta) = sum_m n_m min(gamma_m, min_c sum_{i,k} alpha[i,k,m,c] eta[i,k])`` is concave and piecewise linear. At any
point, with c*(m) the nearest rival and A_g the samples of group g below their gamma,

``f_g(y) <= sum_{m in g without A_g} n_m gamma_m + sum_{m in A_g} n_m alpha[., ., m, c*(m)] . y``

for every y, since each term is one affine piece of a minimum. Tables and the samples' codes replace alpha, which is
never formed.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray
from ..._budget import leave_in_time
from ...programs.choice import GroupCuts, GroupsAlone, WantedGroups
from ...scores.margins import MarginTables
from .node_blocks import NodeBlocks, NodeBundles
from .node_sets import NodeSets

__all__ = ["DEFAULT_GROUPS", "MarginTerm"]

Counts = NDArray[np.intp]

DEFAULT_GROUPS = 12
"""Groups of samples of a term until a solver asks for another number."""

_SAMPLES_A_PART = 2048

_PARTS_AT_ONCE = 64
"""Parts between two looks at the clock: some 50 ms at most."""

_LAID_OUT = {
    *("groups", "upper", "_group", "_table", "_binary", "_flat", "_places", "_varying", "_sets", "_labels"),
    *("_weight", "_gamma", "_bundles", "_blocks", "_part_ends"),
}
"""Attributes that follow from tables, gamma and the number of groups."""

_LOOKUPS_A_SHARE = 10_000_000
"""Samples times sets of nodes that are counted between two looks at the clock: some 50 ms."""


class MarginTerm:
    """The margin sum over groups of samples as a `ConcaveTerm`.

    Groups hold samples of one class where there are enough groups, and otherwise whole classes; within a class samples
    are dealt out in order.

    Parameters
    ----------
    tables : MarginTables
    gamma : float or float64 array (n_samples,)
    n_groups : int
    threads : int
        No digit depends on it.

    Attributes
    ----------
    groups : int32 array (n_samples,)
        Group of each sample.

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset, SoftMarginStructure
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"], ["b"]], [0, 1, 0])
    >>> formulation = SoftMarginStructure(data)
    >>> term = MarginTerm(formulation.tables, formulation.gamma, n_groups=2)
    >>> x = formulation.encode(formulation.trivial_start().model)[:formulation.candidates.n_columns]
    >>> cuts = term.cuts(x)
    >>> bool(np.allclose(cuts.values, cuts.intercepts + cuts.gradients @ x))
    True
    """

    def __init__(self, tables: MarginTables, gamma: float | FloatArray, n_groups: int, threads: int = 1) -> None:
        self._threads = threads
        n_groups = int(np.clip(n_groups, 1, tables.n_samples))
        # Numbers of one or two bytes are sorted several times as fast.
        by_class = np.argsort(tables.labels.astype(np.min_scalar_type(tables.n_classes)), kind="stable")
        group = np.empty(tables.n_samples, dtype=np.int32)
        group[by_class] = _deal(tables.labels[by_class], tables.weight[by_class], n_groups)
        order = np.argsort(group.astype(np.min_scalar_type(n_groups)), kind="stable")
        self._tables, self._given = tables, gamma  # for another grouping
        self.groups = group
        self._group = group[order]
        simpler = tables.without_rivals()
        self._table, self._binary = simpler.table, simpler.binary
        self._flat = np.ascontiguousarray(simpler.table).ravel()
        self._places = tables.lookup.of_samples(order).in_flat(tables.n_classes)
        self._varying = np.flatnonzero(tables.lookup.first_row)
        self._sets = NodeSets.of(tables.lookup)
        self._labels = np.ascontiguousarray(tables.labels[order])
        self._weight = np.ascontiguousarray(tables.weight[order])
        self._gamma = np.full(tables.n_samples, gamma, dtype=np.float64)[order]
        self._n_groups = int(group.max()) + 1

    def __getstate__(self) -> dict[str, Any]:
        """To other processes go the tables; what is laid out for passes is made there, alike to the last digit."""
        return {name: value for name, value in self.__dict__.items() if name not in _LAID_OUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        MarginTerm.__init__(self, self._tables, self._given, self._n_groups, self._threads)

    def __copy__(self) -> "MarginTerm":
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    @cached_property
    def upper(self) -> FloatArray:
        """The sum of gamma times the weight in each group."""
        one = np.ndim(self._given) == 0
        weights = self._weight if one else self._gamma * self._weight
        totals = np.bincount(self._group, weights=weights, minlength=self._n_groups)
        return np.asarray(self._given * totals if one else totals, dtype=np.float64)

    @cached_property
    def _bundles(self) -> NodeBundles:
        return NodeBundles.of(self._table, self._tables.lookup, self._sets)

    @cached_property
    def _blocks(self) -> NodeBlocks:
        kinds = 1 if self._binary else self._tables.n_classes - 1
        return NodeBlocks.of(self._sets, self._tables.lookup.states, self.n_parts // (3 * kinds * self._n_groups))

    @property
    def n_parts(self) -> int:
        """Number of (merged) samples."""
        return len(self._labels)

    @cached_property
    def _part_ends(self) -> NDArray[np.intp]:
        """Where parts of the samples end: by their number alone, so that the number of threads changes no digit."""
        return np.linspace(0, len(self._labels), 1 + max(1, len(self._labels) // _SAMPLES_A_PART)).astype(np.intp)

    def _map(self, work: Callable[[int], Any], count: int, at_once: int = _PARTS_AT_ONCE) -> list[Any]:
        """What `work` says of every part; between blocks of `at_once` the time may be up, and then nobody works on."""
        found: list[Any] = []
        for first in range(0, count, at_once):
            leave_in_time()
            numbers = range(first, min(count, first + at_once))
            found += map(work, numbers) if self._threads == 1 else _workers(self._threads).map(work, numbers)
        return found

    def _ranges(self, wanted: WantedGroups | None) -> tuple[Counts, Counts]:
        """Where the ranges of samples begin and end that are looked at: parts, or what is in them of some groups."""
        begins, ends = self._part_ends[:-1], self._part_ends[1:]
        if not isinstance(wanted, GroupsAlone):
            return begins, ends
        groups = np.sort(wanted.groups)
        first = np.searchsorted(self._group, groups)[:, None]
        last = np.searchsorted(self._group, groups, side="right")[:, None]
        begins, ends = np.maximum(begins, first), np.minimum(ends, last)
        some = begins < ends
        begins, ends = begins[some], ends[some]
        if not len(begins):
            return begins, ends
        apart = (begins[1:] != ends[:-1]) | np.isin(begins[1:], self._part_ends)
        return begins[np.append(True, apart)], ends[np.append(apart, True)]

    def _pass(
        self, x: FloatArray, begins: Counts, ends: Counts
    ) -> tuple[FloatArray, FloatArray, NDArray[np.int32], NDArray[np.int32], Counts]:
        """Loss and intercept of every group; samples below their gamma and their rivals, and how many in each range."""
        from ._margin_kernels import margin_pass

        columns = self._varying[x[self._varying] != 0.0]
        counts = np.empty(len(begins), dtype=np.intp)
        loss, intercept = np.empty((2, len(counts), self._n_groups))
        active, rival = np.empty((2, self.n_parts), dtype=np.int32)  # of this call: several threads may make one

        def run(which: int) -> None:
            counts[which] = margin_pass(
                self._flat, self._table.shape[1], *self._places, self._labels, self._weight, self._gamma, self._binary,
                self._group, columns, x, loss[which], intercept[which], active, rival, int(begins[which]),
                int(ends[which]),
            )  # fmt: skip

        self._map(run, len(counts))
        if len(counts) == 1:
            return loss[0], intercept[0], active, rival, counts
        return loss.sum(axis=0), intercept.sum(axis=0), active, rival, counts

    def values(self, x: FloatArray) -> FloatArray:
        """``f_g(x)``, shape (n_groups,)."""
        return self.upper - self._pass(x, *self._ranges(None))[0]

    def cuts(self, x: FloatArray, wanted: WantedGroups | None = None) -> GroupCuts:
        """Values at `x`, and supergradients of all groups or of those that `wanted` picks, in its order.

        Samples of others than `GroupsAlone` are not looked at.
        """
        from ._active_kernels import sort_out
        from ._gradient_kernels import FEW, few_gradients, margin_gradients

        ranges = self._ranges(wanted)
        loss, intercept, below, nearest, counts = self._pass(x, *ranges)
        values = self.upper - loss
        groups = np.arange(self._n_groups) if wanted is None else wanted(values)
        n_classes = self._table.shape[1]
        codes, labels, weight, rival, ends, number, kinds, kind_ends = sort_out(
            below, nearest, ranges[0], counts, self._group, self._n_groups, groups, self._places.codes,
            self._labels, self._weight, n_classes,
        )  # fmt: skip
        gradients = np.zeros((len(groups), len(x)))
        if len(labels) <= FEW:
            few_gradients(
                self._flat, *self._places[:3], self._varying, codes, labels, weight, rival, self._binary, ends,
                gradients,
            )  # fmt: skip
            return GroupCuts(values, groups, (self.upper - intercept)[groups], gradients)
        bundles, blocks = self._bundles, self._blocks
        n_blocks = len(blocks.cells)
        n_shares = min(max(self._threads, len(labels) * n_blocks // _LOOKUPS_A_SHARE), max(self._threads, n_blocks))

        def run(share: int) -> None:
            margin_gradients(
                *bundles, *blocks, *self._sets, n_classes, codes, labels, weight, rival, self._binary, ends, number,
                kinds, kind_ends, n_blocks * share // n_shares, n_blocks * (share + 1) // n_shares, gradients,
            )  # fmt: skip

        self._map(run, n_shares, self._threads)
        return GroupCuts(values, groups, (self.upper - intercept)[groups], gradients)

    def exchanged(self, x: FloatArray, offsets: NDArray[np.intp]) -> FloatArray:
        """``f(x)`` less what f would be with a node's share all on one column; see `ConcaveTerm.exchanged`."""
        from ._exchange_kernels import exchange_pass

        columns = np.flatnonzero(x > 0.0)
        starts = np.searchsorted(columns, offsets)
        ends = self._part_ends
        loss = np.empty((len(ends) - 1, len(columns)))

        def run(part: int) -> None:
            exchange_pass(
                self._flat, self._table.shape[1], self._places, self._labels, self._weight, self._gamma, self._binary,
                columns, starts, x, loss[part], int(ends[part]), int(ends[part + 1]),
            )  # fmt: skip

        self._map(run, len(ends) - 1)
        drops = np.zeros(len(x))
        mixed = np.diff(starts)[np.searchsorted(starts, np.arange(len(columns)), side="right") - 1] > 1
        drops[columns[mixed]] = loss.sum(axis=0)[mixed] - float((self.upper - self.values(x)).sum())
        return drops

    def regrouped(self, n_groups: int, threads: int = 1) -> "MarginTerm":
        """The same sum over another number of groups, computed by `threads` threads."""
        if n_groups == self._n_groups:
            twin = copy(self)
            twin._threads = threads
            return twin
        other = MarginTerm(self._tables, self._given, n_groups, threads)
        other.__dict__["_bundles"] = self._bundles  # the same for every grouping
        return other

    def sampled(self, n_parts: int) -> "MarginTerm":
        """The sum over about `n_parts` samples, drawn evenly; see `ConcaveTerm.sampled`."""
        tables, gamma = self._tables.sampled(n_parts, self._given)
        return MarginTerm(tables, gamma, self._n_groups, self._threads)


@cache
def _workers(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="margins")


def _deal(labels: NDArray[np.int32], weight: FloatArray, n_groups: int) -> NDArray[np.int32]:
    """Group of each sample (sorted by class): equal shares of the samples, consecutive in the order given."""
    return np.asarray(np.arange(len(labels)) * n_groups // len(labels), dtype=np.int32)
