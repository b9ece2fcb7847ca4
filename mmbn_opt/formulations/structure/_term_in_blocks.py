"""The margin sum of samples whose codes lie in a file: a `MarginTerm` of each block, one after another."""

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray
from ...data.block_passes import block_sums, on_cluster
from ...data.mapped import MappedDataset
from ...programs.choice import GroupCuts, WantedGroups
from ...scores.margins import MarginTables
from ...scores.row_sums import RowNumbers
from .margin_term import MarginTerm

__all__ = ["TermInBlocks"]


class TermInBlocks:
    """What `MarginTerm` is, for rows of which a block is in memory at a time; passes may be made by a cluster.

    Each group holds its share of every block. Supergradients of all groups are made in the pass that values them, since
    a second pass over the rows would cost more.

    Parameters
    ----------
    data : MappedDataset
    sample : MarginTables
        With tables that are counted from all rows, as some of the rows look them up; see `sampled`.
    sample_gamma : float or float64 array
        Of these rows.
    gamma, margin_weight : RowNumbers
        Of all rows.
    n_groups : int
    threads : int
        No digit depends on it.
    """

    def __init__(
        self,
        data: MappedDataset,
        sample: MarginTables,
        sample_gamma: float | FloatArray,
        gamma: RowNumbers,
        margin_weight: RowNumbers,
        n_groups: int,
        threads: int = 1,
    ) -> None:
        self._data, self._sample, self._sample_gamma = data, sample, sample_gamma
        self._n_groups = int(np.clip(n_groups, 1, data.n_samples))
        self._tables, self._gamma, self._weight = sample.without_samples(), gamma, margin_weight
        self._threads = threads

    @property
    def n_parts(self) -> int:
        """Number of rows."""
        return self._data.n_samples

    @cached_property
    def groups(self) -> NDArray[np.int32]:
        """Group of each row: only a record of the search asks for it."""
        found = np.empty(self.n_parts, dtype=np.int32)
        self._sums(partial(_write_groups, out=found), here=True)
        return found

    @cached_property
    def upper(self) -> FloatArray:
        """The sum of gamma times the weight in each group."""
        return self._sums(_upper)[0]

    def _sums(self, ask: "_Question", *, here: bool = False) -> list[FloatArray]:
        threads = 1 if on_cluster() and not here else self._threads
        work = partial(
            _of_block, tables=self._tables, gamma=self._gamma, weight=self._weight, n_groups=self._n_groups,
            threads=threads, ask=ask,
        )  # fmt: skip
        return block_sums(self._data, work, here=here)

    def values(self, x: FloatArray) -> FloatArray:
        """``f_g(x)``, shape (n_groups,)."""
        return self._sums(partial(_values, x=x))[0]

    def cuts(self, x: FloatArray, wanted: WantedGroups | None = None) -> GroupCuts:
        """Values at `x`, and supergradients of all groups or of those that `wanted` picks by the values."""
        values, intercepts, gradients = self._sums(partial(_cuts, x=x))
        groups = np.arange(self._n_groups) if wanted is None else wanted(values)
        return GroupCuts(values, groups, intercepts[groups], gradients[groups])

    def exchanged(self, x: FloatArray, offsets: NDArray[np.intp]) -> FloatArray:
        """``f(x)`` less what f would be with a node's share all on one column; see `ConcaveTerm.exchanged`."""
        return self._sums(partial(_exchanged, x=x, offsets=offsets))[0]

    def regrouped(self, n_groups: int, threads: int = 1) -> "TermInBlocks":
        """The same sum over another number of groups, computed by `threads` threads."""
        if n_groups == self._n_groups:
            twin = copy(self)
            twin._threads = threads
            return twin
        given = (self._data, self._sample, self._sample_gamma, self._gamma, self._weight)
        return TermInBlocks(*given, n_groups, threads)

    def sampled(self, n_parts: int) -> MarginTerm:
        """The sum over about `n_parts` rows, drawn evenly; see `ConcaveTerm.sampled`."""
        tables, gamma = self._sample, self._sample_gamma
        if n_parts < tables.n_samples:
            tables, gamma = tables.sampled(n_parts, gamma)
        return MarginTerm(tables, gamma, self._n_groups, self._threads)


_Question = Callable[[MarginTerm, int, int], list[FloatArray]]
"""Of the term of a block, the number of groups of the whole, and the number of the block's first row."""


def _of_block(
    columns: NDArray[np.unsignedinteger[Any]],
    start: int,
    *,
    tables: MarginTables,
    gamma: RowNumbers,
    weight: RowNumbers,
    n_groups: int,
    threads: int,
    ask: _Question,
) -> list[FloatArray]:
    labels, rows = columns[-1], slice(start, start + columns.shape[1])
    each = np.full(len(labels), weight.of(labels, rows), dtype=np.float64)
    term = MarginTerm(tables.with_samples(columns, each), gamma.of(labels, rows), n_groups, threads)
    return ask(term, n_groups, start)


def _wide(values: FloatArray, n_groups: int) -> FloatArray:
    """Of all groups; a block of few rows has fewer."""
    full = np.zeros((n_groups, *values.shape[1:]))
    full[: len(values)] = values
    return full


def _upper(term: MarginTerm, n_groups: int, start: int) -> list[FloatArray]:
    return [_wide(term.upper, n_groups)]


def _values(term: MarginTerm, n_groups: int, start: int, *, x: FloatArray) -> list[FloatArray]:
    return [_wide(term.values(x), n_groups)]


def _cuts(term: MarginTerm, n_groups: int, start: int, *, x: FloatArray) -> list[FloatArray]:
    cuts = term.cuts(x)
    return [_wide(part, n_groups) for part in (cuts.values, cuts.intercepts, cuts.gradients)]


def _exchanged(
    term: MarginTerm, n_groups: int, start: int, *, x: FloatArray, offsets: NDArray[np.intp]
) -> list[FloatArray]:
    return [term.exchanged(x, offsets)]


def _write_groups(term: MarginTerm, n_groups: int, start: int, *, out: NDArray[np.int32]) -> list[FloatArray]:
    out[start : start + term.n_parts] = term.groups
    return []
