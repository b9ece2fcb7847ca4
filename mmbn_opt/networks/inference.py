"""Exact marginalization of missing cells: message passing on trees and k-trees, variable elimination elsewhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import listed
from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.networks.elimination_order import min_fill_order
from mmbn_opt.networks.tables import FactorTables

__all__ = ["log_joint_marginal"]

MAX_CELLS = 10_000_000
"""Cells that the intermediate tables of one row may have together (80 MB)."""

_SHARED_CELLS = 16_384
"""Up to this table size one elimination order serves all missing patterns."""


def log_joint_marginal(
    tables: FactorTables, codes: NDArray[np.integer[Any]], *, max_cells: int = MAX_CELLS
) -> FloatArray:
    """``log P(c, observed part of x)`` for every class, the missing features summed out exactly.

    Missing nodes without an observed descendant (and not above the class) are left out, since their CPTs sum to one.
    The others are eliminated in a min-fill order. Where the tables of one order stay small for all columns with missing
    cells (naive Bayes, trees, k-trees), that order serves every row and an observed node counts as a domain of one
    state; otherwise each missing pattern gets an order of its own.

    Parameters
    ----------
    tables : FactorTables
        With any structure; the class may have feature parents.
    codes : integer array (n_samples, n_features)
        State numbers, -1 where missing.
    max_cells : int
        Largest number of cells of the intermediate tables of one row together.

    Returns
    -------
    float64 array (n_samples, n_classes)

    Raises
    ------
    SizeLimitError
        When the tables would be larger; nothing has been allocated then.

    Examples
    --------
    >>> from mmbn_opt import BayesianNetwork, DiscreteDataset, tan_cmi
    >>> data = DiscreteDataset.from_arrays([["a", "u"], ["b", "v"], ["b", "u"], ["b", "v"]], [0, 1, 0, 1])
    >>> network = BayesianNetwork.fit(tan_cmi(data), data)
    >>> both = np.exp(log_joint_marginal(network.tables, np.array([[0, 0], [0, 1]])))
    >>> np.allclose(both.sum(axis=0), np.exp(log_joint_marginal(network.tables, np.array([[0, -1]]))))
    True
    """
    factors = _Factors(tables)
    table: NDArray[np.int32] = np.array(codes, dtype=np.int32, order="C")
    single = np.array(factors.card[:-1]) == 1
    table[:, single] = 0  # a feature with one state is known
    missing = table < 0
    out = np.empty((len(table), factors.n_classes))
    shared = _Schedule.build(factors, np.flatnonzero(missing.any(axis=0)), range(factors.n_nodes))
    if shared.largest_cells <= _SHARED_CELLS:
        shared.run(table, out)
        return out
    groups = _patterns(missing)
    schedules = []
    for rows in groups:  # all of them before anything is computed
        needed = factors.needed(missing[rows[0]])
        hidden = np.flatnonzero(missing[rows[0]] & needed[:-1])
        schedule = _Schedule.build(factors, hidden, np.flatnonzero(needed))
        schedule.refuse_over(max_cells, row=int(rows[0]))
        schedules.append(schedule)
    for rows, schedule in zip(groups, schedules, strict=True):
        part = np.empty((len(rows), factors.n_classes))
        schedule.run(table[rows], part)
        out[rows] = part
    return out


def _patterns(missing: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Rows of each missing pattern, in order of first appearance within `np.unique`'s order."""
    packed = np.ascontiguousarray(np.packbits(missing, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, inverse = np.unique(keys, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(inverse.ravel()[order])) + 1)


class _Factors:
    """All log-CPTs of a network in one array, the class varying fastest, with the strides of their features."""

    def __init__(self, factors: FactorTables) -> None:
        structure = factors.structure
        c = structure.class_index
        self.names = structure.names
        self.card = tuple(int(r) for r in factors.cardinalities)
        self.n_classes = self.card[c]
        self.n_nodes = c + 1
        # Features of each node's family; the class is no member, it is the innermost axis of every table.
        self.scopes: list[tuple[int, ...]] = []
        self.steps: list[dict[int, int]] = []
        tables, starts, self.class_step, start = [], [], np.zeros(c + 1, np.int64), 0
        for node, parents in enumerate(structure.parents):
            table = factors.log_tables[node]
            scope = tuple(p for p in parents if p != c) + (() if node == c else (node,))
            step = 1
            if node == c or c in parents:
                self.class_step[node], step = 1, self.n_classes
                if node != c:
                    table = table.reshape(-1, self.n_classes, table.shape[1]).swapaxes(1, 2)
            steps = {}
            for v in reversed(scope):
                steps[v] = step
                step *= self.card[v]
            self.scopes.append(scope)
            self.steps.append(steps)
            tables.append(np.ascontiguousarray(table).ravel())
            starts.append(start)
            start += table.size
        self.table = np.concatenate(tables)
        self.table_start = np.array(starts, dtype=np.int64)
        self.children_first = np.array(structure.topological_order()[::-1], dtype=np.int64)

    @cached_property
    def flat_scopes(self) -> tuple[IntArray, IntArray, IntArray]:
        """Scopes of all nodes one after the other: pointers, features, strides."""
        pointers = np.concatenate([[0], np.cumsum([len(s) for s in self.scopes])]).astype(np.int64)
        features = np.array([v for scope in self.scopes for v in scope], dtype=np.int64)
        strides = np.array(
            [steps[v] for scope, steps in zip(self.scopes, self.steps, strict=True) for v in scope], dtype=np.int64
        )
        return pointers, features, strides

    def needed(self, missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Nodes that are observed, the class, or above one that is."""
        needed = np.append(~missing, True)
        for node in self.children_first:
            if needed[node]:
                needed[list(self.scopes[node])] = True
        return needed


@dataclass(frozen=True, eq=False)
class _Schedule:
    """Buckets of an elimination order, with the factors and messages that go into each."""

    factors: _Factors
    members: list[tuple[int, ...]]
    families: list[list[int]]
    inbox: list[list[int]]

    @classmethod
    def build(cls, factors: _Factors, hidden: Iterable[int], relevant: Iterable[int]) -> "_Schedule":
        """Order in which `hidden` nodes are eliminated from the factors of the `relevant` nodes."""
        graph: dict[int, set[int]] = {int(v): set() for v in hidden}
        nodes = [int(v) for v in relevant]
        for node in nodes:
            inside = [v for v in factors.scopes[node] if v in graph]
            for v in inside:
                graph[v].update(u for u in inside if u != v)
        order = min_fill_order(graph)
        rank = {node: b for b, (node, _) in enumerate(order)}
        last = len(order)
        members = [(node, *sorted(around, key=rank.__getitem__)) for node, around in order]
        families: list[list[int]] = [[] for _ in range(last + 1)]
        for node in nodes:
            families[min((rank[v] for v in factors.scopes[node] if v in rank), default=last)].append(node)
        inbox: list[list[int]] = [[] for _ in range(last + 1)]
        for b, inside_b in enumerate(members):
            inbox[rank[inside_b[1]] if len(inside_b) > 1 else last].append(b)
        return cls(factors, members, families, inbox)

    def _cells(self, nodes: Sequence[int]) -> int:
        return self.factors.n_classes * prod(self.factors.card[v] for v in nodes)

    @property
    def largest_cells(self) -> int:
        """Cells of the largest table over a bucket's members and the class."""
        return max((self._cells(m) for m in self.members), default=self.factors.n_classes)

    def refuse_over(self, max_cells: int, row: int) -> None:
        """Raise `SizeLimitError` when the tables of one row would be too large together."""
        cells = sum(self._cells(m) for m in self.members)
        if cells <= max_cells:
            return
        widest = max(self.members, key=self._cells)
        names = [self.factors.names[v] for v in sorted(widest)]
        raise SizeLimitError(
            f"Summing out the missing cells of row {row} needs tables of {cells:,} cells, the largest over the class "
            f"and {len(names)} features ({listed(names)}); the limit is max_cells={max_cells:,}. Fill some of the "
            "cells, use a "
            "structure with fewer feature parents, or raise the limit."
        )

    def run(self, codes: NDArray[np.int32], out: FloatArray) -> None:
        """Fill `out` (n_rows, n_classes) for the rows of `codes`, contiguous and int32."""
        from mmbn_opt.networks._inference_kernels import sum_out

        f = self.factors
        width = max((len(m) for m in self.members), default=1)
        position = [{v: p for p, v in enumerate(m)} for m in self.members]
        n_families, n_inbox = sum(map(len, self.families)), sum(map(len, self.inbox))
        family_step, inbox_pos = np.zeros((n_families, width), np.int64), np.full((n_inbox, width), -1, np.int64)
        family, inbox = _flat(self.families), _flat(self.inbox)
        e = 0
        for b, nodes in enumerate(self.families):
            for node in nodes:
                for v, step in f.steps[node].items():
                    if b < len(self.members) and v in position[b]:
                        family_step[e, position[b][v]] = step
                e += 1
        e = 0
        for b, senders in enumerate(self.inbox):
            for sender in senders:
                for p, v in enumerate(self.members[b] if b < len(self.members) else ()):
                    inbox_pos[e, p] = position[sender].get(v, -1)
                e += 1
        message_start = np.concatenate([[0], np.cumsum([self._cells(m[1:]) for m in self.members])]).astype(np.int64)
        sum_out(
            codes, np.array(f.card, dtype=np.int64), f.n_classes, f.table, f.table_start, f.class_step, *f.flat_scopes,
            f.children_first, _pointers(self.members), _flat(self.members), _pointers(self.families), family,
            family_step, _pointers(self.inbox), inbox, inbox_pos, message_start, out,
        )  # fmt: skip


def _pointers(lists: Sequence[Sequence[int]]) -> IntArray:
    return np.concatenate([[0], np.cumsum([len(part) for part in lists])]).astype(np.int64)


def _flat(lists: Sequence[Sequence[int]]) -> IntArray:
    return np.array([v for part in lists for v in part], dtype=np.int64)
