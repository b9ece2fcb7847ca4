"""Margin coefficients in index tables: every log-margin of every structure, without forming alpha."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray

__all__ = ["EntryLookup", "MarginTables"]


class EntryLookup(NamedTuple):
    """Which entry of a table a sample sees in a column: ``first_row[k] + sum_w strides[k, w] codes[members[k, w], m]``.

    Entries follow from the codes of a few features, a byte each, so that nothing has the size of columns times samples.
    Compiled code takes it as it is (`mmbn_opt.scores.lookup.find_rows`).

    Parameters
    ----------
    first_row : int32 array (n_columns,)
        First entry of every column; 0 where it is the same for every class.
    members : int32 array (n_columns, width)
        Features on which a column's entry depends, ascending; 0 in the places left over. The width is 2 at least.
    strides : int32 array (n_columns, width)
        How far a state takes the entry; 0 where there is no such feature.
    states : int32 array (n_nodes,)
        How many each node has.
    codes : unsigned array (n_nodes, n_samples)
        The class last; see `narrow_columns`.
    """

    first_row: NDArray[np.int32]
    members: NDArray[np.int32]
    strides: NDArray[np.int32]
    states: NDArray[np.int32]
    codes: NDArray[np.unsignedinteger[Any]]

    def of_samples(self, order: NDArray[np.intp]) -> "EntryLookup":
        """The same lookup for some of the samples, in the order given."""
        return self._replace(codes=np.take(self.codes, order, axis=1))

    def in_flat(self, width: int) -> "EntryLookup":
        """Where in the flat table, of which each entry has `width` numbers, an entry begins."""
        return self._replace(first_row=self.first_row * np.int32(width), strides=self.strides * np.int32(width))

    def entries(self, column: int) -> NDArray[np.int64]:
        """Entry of `table` that every sample sees in a column, shape (n_samples,)."""
        rows = np.full(self.codes.shape[1], self.first_row[column], dtype=np.int64)
        for feature, stride in zip(self.members[column].tolist(), self.strides[column].tolist(), strict=True):
            if stride:
                rows += stride * self.codes[feature].astype(np.int64)
        return rows


@dataclass(frozen=True, eq=False)
class MarginTables:
    """Log-factors of all candidate parent sets, looked up by sample; `count_margin_tables` makes them.

    Sample m sees, in column e, an entry of `table` that follows from its codes: for the soft margin a row of
    log-factors over the classes (their difference between the true class and a rival is alpha of Peharz & Pernkopf
    2012, eq. 12), for the binary soft margin the row of alpha-bar (eq. 23) over what the true class may be.

    Parameters
    ----------
    binary : bool
    table : float64 array (n_entries, n_classes)
    lookup : EntryLookup
    labels : int32 array (n_samples,)
    weight : float64 array (n_samples,)
    """

    binary: bool
    table: FloatArray
    lookup: EntryLookup
    labels: NDArray[np.int32]
    weight: FloatArray

    def without_rivals(self) -> "MarginTables":
        """Tables of the same margins that need no nearest rival, where there are such: for two classes, log ratios.

        The entry at the true class is then the sample's part of the margin, as it is for `binary` tables.
        """
        if self.binary or self.n_classes != 2:
            return self
        ratio = self.table[:, 0] - self.table[:, 1]
        return replace(self, binary=True, table=np.stack([ratio, -ratio], axis=1))

    def without_samples(self) -> "MarginTables":
        """The tables alone."""
        lookup = self.lookup.of_samples(np.zeros(0, dtype=np.intp))
        return replace(self, lookup=lookup, labels=self.labels[:0], weight=self.weight[:0])

    def with_samples(self, columns: NDArray[np.unsignedinteger[Any]], weight: FloatArray) -> "MarginTables":
        """The tables as other samples look them up.

        Parameters
        ----------
        columns : unsigned array (n_nodes, n_samples)
            Their codes, the class last.
        weight : float64 array (n_samples,)
        """
        lookup = self.lookup._replace(codes=columns)
        return replace(self, lookup=lookup, labels=columns[-1].astype(np.int32), weight=weight)

    def sampled(self, count: int, gamma: float | FloatArray) -> tuple["MarginTables", float | FloatArray]:
        """The same tables for about `count` of the samples, drawn evenly along their order and in proportion to weight.

        `gamma` may hold a number a sample; it comes back for those that were drawn.

        Samples in the order of `DiscreteDataset.aggregate` are drawn from each class, and from rows that are alike, in
        proportion. The weights that are left sum to what they did.

        Examples
        --------
        >>> from mmbn_opt.data import DiscreteDataset
        >>> from mmbn_opt.networks import CandidateParents, Laplace
        >>> from mmbn_opt.scores import count_margin_tables
        >>> data = DiscreteDataset.from_arrays([["a"], ["b"], ["a"], ["b"]] * 50, [0, 0, 1, 1] * 50)
        >>> candidates = CandidateParents.for_margins(1, 1)
        >>> tables = count_margin_tables(data, candidates, Laplace(1.0), binary=False)
        >>> some, _ = tables.sampled(20, 1.0)
        >>> some.n_samples, float(some.weight.sum())
        (20, 200.0)
        """
        ends = np.cumsum(self.weight)
        ticks = (np.arange(count) + 0.5) * (ends[-1] / count)
        rows, times = np.unique(np.searchsorted(ends, ticks), return_counts=True)
        weight = times * (ends[-1] / count)
        drawn = replace(self, lookup=self.lookup.of_samples(rows), labels=self.labels[rows], weight=weight)
        return drawn, gamma if np.ndim(gamma) == 0 else np.asarray(gamma)[rows]

    @property
    def n_columns(self) -> int:
        """Number of candidate columns."""
        return len(self.lookup.first_row)

    @property
    def n_samples(self) -> int:
        """Number of (merged) samples."""
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.table.shape[1])

    @cached_property
    def rivals(self) -> NDArray[np.int32]:
        """Rival classes of each sample, shape (n_samples, n_classes - 1), ascending."""
        every = np.tile(np.arange(self.n_classes, dtype=np.int32), (self.n_samples, 1))
        rivals: NDArray[np.int32] = every[every != self.labels[:, None]].reshape(self.n_samples, self.n_classes - 1)
        return rivals

    @property
    def n_rows(self) -> int:
        """Number of margin rows of the row form: one a sample (binary) or one a sample and rival."""
        return self.n_samples if self.binary else self.n_samples * (self.n_classes - 1)

    def coefficients(self, column: int) -> FloatArray:
        """alpha of one column for every margin row, shape (n_rows,); rows run over samples, then rivals."""
        rows = self.table[self.lookup.entries(column)]
        own = np.take_along_axis(rows, self.labels[:, None].astype(np.intp), axis=1)
        if self.binary:
            return own[:, 0]
        difference: FloatArray = (own - np.take_along_axis(rows, self.rivals.astype(np.intp), axis=1)).ravel()
        return difference

    def margins(self, choice: Sequence[int] | NDArray[np.intp]) -> FloatArray:
        """Log-margin of every sample for the columns chosen, shape (n_samples,)."""
        total = np.zeros((self.n_samples, self.n_classes))
        for column in choice:
            total += self.table[self.lookup.entries(int(column))]
        own = total[np.arange(self.n_samples), self.labels]
        if self.binary:
            return own
        total[np.arange(self.n_samples), self.labels] = -np.inf
        margins: FloatArray = own - total.max(axis=1)
        return margins

    def soft_margin(self, choice: Sequence[int] | NDArray[np.intp], gamma: float) -> float:
        """Weighted sum of margins cut off at gamma."""
        return float(self.weight @ np.minimum(self.margins(choice), gamma))
