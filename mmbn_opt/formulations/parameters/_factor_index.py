"""Where each sample finds the factors that involve the class: layout, joint-pattern index, margin operator."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray, IntArray
from ...data.counts import contingency, joint_codes
from ...data.discrete import DiscreteDataset
from ...networks.smoothing import Smoothing
from ...networks.structure import Structure
from ...programs.margin_operator import MarginOperator

__all__ = ["FactorIndex", "ParameterLayout", "margin_operator"]

MAX_PATTERNS = 512
"""Patterns of a merged group: its table and its gradient fit the second-level cache."""


@dataclass(frozen=True, eq=False)
class ParameterLayout:
    """Parameters that can move ``P(c | x)``: the CPTs of the class and of its children, one after the other.

    The vector holds each CPT in the network's own order (parent configuration, then state). Nodes with one state have
    nothing to choose and are left out.

    Parameters
    ----------
    structure : Structure
    card : tuple of int
        States of every node, class last.
    """

    structure: Structure
    card: tuple[int, ...]

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Nodes with parameters in the vector, ascending (the class last)."""
        c = self.structure.class_index
        return tuple(v for v, ps in enumerate(self.structure.parents) if (v == c or c in ps) and self.card[v] > 1)

    def shape(self, node: int) -> tuple[int, int]:
        """(parent configurations, states) of a node's CPT."""
        return prod(self.card[p] for p in self.structure.parents[node]), self.card[node]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each node's block starts, and the length of the vector."""
        return tuple(np.concatenate([[0], np.cumsum([prod(self.shape(v)) for v in self.nodes])]).tolist())

    @property
    def size(self) -> int:
        """Length of the vector."""
        return self.starts[-1]

    @cached_property
    def row_ptr(self) -> IntArray:
        """Where each CPT row starts in the vector, and its end."""
        sizes = [np.full(self.shape(v)[0], self.shape(v)[1], dtype=np.int64) for v in self.nodes]
        return np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)

    def scope(self, node: int) -> list[int]:
        """Features of a node's factor, its own state last."""
        c = self.structure.class_index
        return [p for p in self.structure.parents[node] if p != c] + ([] if node == c else [node])

    @cached_property
    def factor_starts(self) -> tuple[int, ...]:
        """Where each node's factor rows (one a joint state of its scope) start, and their number."""
        sizes = [prod(self.card[v] for v in self.scope(node)) for node in self.nodes]
        return tuple(np.concatenate([[0], np.cumsum(sizes)]).astype(int).tolist())

    @cached_property
    def gather(self) -> NDArray[np.intp]:
        """Vector entry behind each factor row and class, shape (n_factor_rows, n_classes): a permutation."""
        c = self.structure.class_index
        blocks = []
        for node, start in zip(self.nodes, self.starts[:-1], strict=True):
            entries = start + np.arange(prod(self.shape(node)))
            cube = entries.reshape(-1, 1 if node == c else self.card[c], self.card[node])
            blocks.append(cube.swapaxes(1, 2).reshape(-1, self.card[c]))
        return np.concatenate(blocks).astype(np.intp)

    def smoothed_counts(self, data: DiscreteDataset, prior: Smoothing) -> FloatArray:
        """Counts of the entries with what smoothing adds to each, shape (size,)."""
        blocks = []
        for node in self.nodes:
            rows, states = self.shape(node)
            counts = contingency(data, [*self.structure.parents[node], node]).reshape(rows, states)
            blocks.append((counts + prior.per_cell(states, rows)).ravel())
        return np.concatenate(blocks)


@dataclass(frozen=True, eq=False)
class FactorIndex:
    """Joint patterns of neighbouring factors, so that a sample needs one table row a group.

    Parameters
    ----------
    labels : int32 array (n_samples,)
    weight : float64 array (n_samples,)
    index : unsigned integer array (n_groups, n_samples)
        Pattern of each sample in each group.
    start : int64 array (n_groups + 1,)
        First table row of each group, and the number of table rows.
    rows_ptr : int64 array (n_groups + 1,)
    rows : int32 array
        Factor rows that make up each pattern, group after group, pattern after pattern.
    """

    labels: NDArray[np.int32]
    weight: FloatArray
    index: NDArray[np.unsignedinteger[Any]]
    start: IntArray
    rows_ptr: IntArray
    rows: NDArray[np.int32]

    @classmethod
    def build(cls, layout: ParameterLayout, data: DiscreteDataset) -> "FactorIndex":
        """Merge factors in order while the patterns that occur stay few."""
        # With few samples a table of 512 patterns would cost more to fill than it saves.
        limit = int(np.clip(data.n_samples // 8, 1, MAX_PATTERNS))
        groups: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # pattern of each sample, factor rows of each
        for node, first in zip(layout.nodes, layout.factor_starts[:-1], strict=True):
            code, present = _dense(joint_codes(data, layout.scope(node)))
            own = (present + first)[:, None]
            if groups:
                pattern, rows = groups[-1]
                both, pairs = _dense(pattern * len(present) + code)
                if len(pairs) <= limit:
                    old, new = np.divmod(pairs, len(present))
                    groups[-1] = both, np.hstack([rows[old], own[new]])
                    continue
            groups.append((code, own))
        narrow = np.uint16 if max(len(rows) for _, rows in groups) <= 2**16 else np.uint32
        return cls(
            labels=np.ascontiguousarray(data.target_codes, dtype=np.int32),
            weight=np.ascontiguousarray(data.sample_weight),
            index=np.array([code for code, _ in groups], dtype=narrow),
            start=np.concatenate([[0], np.cumsum([len(rows) for _, rows in groups])]).astype(np.int64),
            rows_ptr=np.concatenate([[0], np.cumsum([rows.size for _, rows in groups])]).astype(np.int64),
            rows=np.concatenate([rows.ravel() for _, rows in groups]).astype(np.int32),
        )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.labels)

    def margins(self, n_factor_rows: int, gather: NDArray[np.intp]) -> MarginOperator:
        """Margins of the samples as a linear operator on parameters that `gather` finds."""
        import scipy.sparse as sp

        n_patterns = int(self.start[-1])
        widths = np.diff(self.rows_ptr) // np.maximum(np.diff(self.start), 1)
        ends = np.concatenate([[0], np.cumsum(np.repeat(widths, np.diff(self.start)))])
        patterns = sp.csr_array((np.ones(len(self.rows)), self.rows, ends), shape=(n_patterns, n_factor_rows))
        return MarginOperator(self.index, self.start, patterns, gather, self.labels, self.weight)


def _dense(code: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes renumbered without gaps, and the old code of each new one, ascending."""
    span = int(code.max()) + 1
    if span > max(1_000_000, 4 * len(code)):
        present, dense = np.unique(code, return_inverse=True)
        return dense.ravel().astype(np.int64), present
    seen = np.zeros(span, dtype=bool)
    seen[code] = True
    present = np.flatnonzero(seen).astype(np.int64)
    number = np.zeros(span, dtype=np.int64)
    number[present] = np.arange(len(present))
    return number[code], present


def margin_operator(layout: ParameterLayout, merged: DiscreteDataset) -> MarginOperator:
    """Margins of merged samples as a linear operator on the parameters of a layout."""
    return FactorIndex.build(layout, merged).margins(layout.factor_starts[-1], layout.gather)
