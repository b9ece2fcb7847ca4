"""Sums, maxima and draws over a network: plans of elimination, made once for a question and run for many rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import listed
from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.networks.elimination_order import Order, small_order, table_cells
from mmbn_opt.networks.tables import FactorTables

if TYPE_CHECKING:
    from mmbn_opt.networks._elimination_desk import Book

__all__ = ["MAX_CELLS", "Family", "Plan", "make_plan"]

MAX_CELLS = 600_000_000
"""Cells that the tables of one question may have together: some ten seconds; messages, which are kept, have fewer."""


@dataclass(frozen=True, eq=False)
class Family:
    """All tables of a network one after the other, as plans read them.

    Parameters
    ----------
    tables : FactorTables
    """

    tables: FactorTables

    @cached_property
    def flat(self) -> FloatArray:
        """The tables in logs, each node's own state varying fastest, then its last parent."""
        return np.concatenate([table.ravel() for table in self.tables.log_tables])

    @cached_property
    def starts(self) -> IntArray:
        """Where each node's table starts."""
        sizes = [table.size for table in self.tables.log_tables]
        return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    @cached_property
    def steps(self) -> list[dict[int, int]]:
        """Strides of each family's members in its table."""
        card, found = self.tables.cardinalities, []
        for node, parents in enumerate(self.tables.structure.parents):
            steps, step = {}, 1
            for v in (node, *reversed(parents)):
                steps[v] = step
                step *= card[v]
            found.append(steps)
        return found

    @cached_property
    def scopes(self) -> tuple[IntArray, IntArray, IntArray]:
        """Families one after the other: pointers, members, strides in the tables."""
        lengths = [len(steps) for steps in self.steps]
        return (
            _pointers(lengths),
            np.array([v for steps in self.steps for v in steps], dtype=np.int64),
            np.array([step for steps in self.steps for step in steps.values()], dtype=np.int64),
        )

    @cached_property
    def children_first(self) -> IntArray:
        """Nodes, no parent before its children."""
        return np.array(self.tables.structure.topological_order()[::-1], dtype=np.int64)

    def above(self, nodes: Iterable[int]) -> NDArray[np.bool_]:
        """Mark the nodes and all their ancestors."""
        marked = np.zeros(len(self.tables.cardinalities), dtype=np.bool_)
        marked[list(nodes)] = True
        for node in self.children_first:
            if marked[node]:
                marked[list(self.tables.structure.parents[node])] = True
        return marked


@dataclass(frozen=True, eq=False)
class Plan:
    """Buckets in the order of elimination, with what enters each; the last one holds the answer.

    Parameters
    ----------
    family : Family
    order : list of (node, neighbours)
    n_sums : int
        Nodes at the head of the order that are summed out; the maximum is taken over the others.
    kept : tuple of int
        Nodes of the answer, the last one varying fastest.
    relevant : tuple of int
        Nodes whose tables enter.
    """

    family: Family
    order: Order
    n_sums: int
    kept: tuple[int, ...]
    relevant: tuple[int, ...] = field(repr=False)

    @cached_property
    def cells(self) -> int:
        """Cells of all tables together, the answer's too."""
        card = self.family.tables.cardinalities
        return table_cells(self.order, card) + prod(card[v] for v in self.kept)

    def refuse_over(self, max_cells: int, question: str) -> None:
        """Raise `SizeLimitError` when the tables would be too large; nothing has been allocated then."""
        if self.cells <= max_cells:
            return
        card, names = self.family.tables.cardinalities, self.family.tables.structure.names
        scopes = [self.kept, *((node, *around) for node, around in self.order)]
        widest = max(scopes, key=lambda scope: prod(card[v] for v in scope))
        raise SizeLimitError(
            f"{question} needs tables of {self.cells:,} cells, the largest of {prod(card[v] for v in widest):,} over "
            f"{len(widest)} nodes ({listed(names[v] for v in sorted(widest))}); the limit is max_cells={max_cells:,}. "
            "Give more evidence, ask for fewer nodes at once, raise the limit, or take estimate, which samples."
        )

    @cached_property
    def book(self) -> "Book":
        """The plan for kernels."""
        from mmbn_opt.networks._elimination_desk import Book

        family, n_nodes, last = self.family, len(self.family.tables.cardinalities), len(self.order)
        card = (*family.tables.cardinalities, 1)
        rank = {node: b for b, (node, _) in enumerate(self.order)}
        members = [(node, *sorted(around, key=lambda v: rank.get(v, last))) for node, around in self.order]
        members.append((n_nodes, *self.kept))
        place = [{v: p for p, v in enumerate(bucket)} for bucket in members]
        inputs: list[list[int]] = [[] for _ in members]
        for node in self.relevant:
            inputs[min((rank[v] for v in family.steps[node] if v in rank), default=last)].append(node)
        for b, bucket in enumerate(members[:-1]):
            inputs[min((rank[v] for v in bucket[1:] if v in rank), default=last)].append(-1 - b)
        source = [i for bucket in inputs for i in bucket]
        width = max(map(len, members))
        step, among = np.zeros((len(source), width), np.int64), np.full((len(source), width), -1, np.int64)
        e = 0
        for b, entering in enumerate(inputs):
            for i in entering:
                for p, v in enumerate(members[b]):
                    if i >= 0:
                        step[e, p] = family.steps[i].get(v, 0)
                    else:
                        among[e, p] = place[-1 - i].get(v, -1)
                e += 1
        sizes = [prod(card[v] for v in bucket[1:]) for bucket in members]
        scope_ptr, scope, scope_step = family.scopes
        return Book(
            card=np.array(card, dtype=np.int64),
            table_start=family.starts,
            scope_ptr=scope_ptr,
            scope=scope,
            scope_step=scope_step,
            children_first=family.children_first,
            member_ptr=_pointers([len(bucket) for bucket in members]),
            member=np.array([v for bucket in members for v in bucket], dtype=np.int64),
            maximise=np.arange(len(members)) >= self.n_sums,
            input_ptr=_pointers([len(bucket) for bucket in inputs]),
            source=np.array(source, dtype=np.int64),
            input_step=step,
            input_place=among,
            message_start=family.flat.size + _pointers(sizes),
        )


def make_plan(
    family: Family,
    kept: Sequence[int],
    best: Iterable[int],
    observed: Iterable[int] = (),
    relevant: NDArray[np.bool_] | None = None,
) -> Plan:
    """Plan the elimination of all that is neither kept nor observed.

    Parameters
    ----------
    family : Family
    kept : sequence of int
        Nodes of the answer.
    best : iterable of int
        Nodes over which the maximum is taken, after all others have been summed out.
    observed : iterable of int
        Nodes that are observed in every row, and so tie nothing together.
    relevant : bool array (n_nodes,) or None
        Nodes whose tables are needed; None for all.
    """
    from mmbn_opt.networks._order_kernels import joined

    card = family.tables.cardinalities
    enters = np.ones(len(card), dtype=np.bool_) if relevant is None else relevant
    away = enters.copy()
    out = list(observed)
    away[out] = False
    scope_ptr, scope, _ = family.scopes
    bits = joined(scope_ptr, scope, enters, away)
    last = [v for v in best if away[v]]
    away[[*kept, *last]] = False
    order, left = small_order(bits, card, away)
    n_sums = len(order)
    if last:
        away[:] = False
        away[last] = True
        away[list(kept)] = False
        order = [*order, *small_order(left, card, away)[0]]
    return Plan(family, order, n_sums, tuple(kept), tuple(np.flatnonzero(enters).tolist()))


def _pointers(lengths: Sequence[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
