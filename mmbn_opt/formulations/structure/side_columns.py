"""Side constraints over candidate parent sets: as data of a choice program, and as rows and columns of the row form.

Row form, with ``a[u, v]`` the sum of the columns of node v whose parent set holds u:

* a row of the constraint itself, where it has one;
* ``used[j]`` (0 or 1) is at least what each single node brings about of item j; caps are rows in these, and the items
  of a group that goes together are equal and at most what all nodes bring about;
* no path from s to t: ``reach[v] >= reach[u] + a[u, v] - 1``, ``reach[s] = 1``, ``reach[t] = 0``;
* a path from s to t: one unit flows from s to t, at most ``a[u, v]`` of it from u to v.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import BoolArray, FloatArray
from ...networks.candidates import CandidateParents, parent_matrix
from ...networks.constraint_form import ConstraintForm, Item
from ...programs.mixed_integer import MixedIntegerProgram
from ...programs.side import SideConstraints
from ...programs.side_paths import closure

__all__ = ["SideColumns", "side_constraints"]


def _items(form: ConstraintForm) -> list[Item]:
    """Items of caps and groups, each once."""
    return list(dict.fromkeys(item for part in (*(c[0] for c in form.caps), *form.together) for item in part))


def side_constraints(form: ConstraintForm, candidates: CandidateParents) -> SideConstraints | None:
    """What is written in `form`, over the columns of `candidates`; None where nothing of it can ever be broken."""
    parents = parent_matrix(candidates)
    rows, upper, row_names = _rows(form, candidates, parents)
    items = _items(form)
    c = form.nodes.class_index
    cover = np.zeros((candidates.n_columns, len(items)), dtype=bool)
    for place, item in enumerate(items):
        cover[:, place] = _covering(item, c, candidates.owner, parents)
    number = {item: place for place, item in enumerate(items)}
    weights, caps, cap_names = [], [], []
    for asked, cap, said in form.caps:
        row = np.zeros(len(items))
        row[[number[item] for item in asked]] = list(asked.values())
        if row[cover.any(axis=0)].sum() > cap:
            weights.append(row)
            caps.append(_whole_side(row, cap))
            cap_names.append(f"limit[{said}]")
    groups = np.zeros((len(form.together), len(items)), dtype=bool)
    for g, together in enumerate(form.together):
        groups[g, [number[item] for item in together]] = True
    may = np.zeros((candidates.n_nodes, candidates.n_nodes), dtype=bool)
    np.logical_or.at(may.T, candidates.owner, parents)
    leads = closure(may)
    above = np.array(list(dict.fromkeys(form.above)), dtype=np.int64).reshape(-1, 2)
    apart = np.array([p for p in dict.fromkeys(form.apart) if leads[p]], dtype=np.int64).reshape(-1, 2)
    if not (len(upper) or caps or len(groups) or len(above) or len(apart)):
        return None
    return SideConstraints.of(
        candidates.offsets, parents, rows=rows, upper=upper, cover=cover,
        weights=np.array(weights).reshape(len(caps), len(items)), caps=np.array(caps), groups=groups, above=above,
        apart=apart, row_names=row_names, cap_names=cap_names, items=items,
    )  # fmt: skip


def _covering(item: Item, c: int | None, owner: NDArray[np.intp], parents: BoolArray) -> BoolArray:
    """Columns that bring an item about."""
    if item.parent >= 0:
        return np.asarray((owner == item.node) & parents[:, item.parent])
    assert c is not None
    # A parent of the class, a child of the class, or another parent of a child.
    blanket = parents[:, c] & ((owner == item.node) | parents[:, item.node])
    return np.asarray(((owner == c) & parents[:, item.node]) | blanket)


def _rows(
    form: ConstraintForm, candidates: CandidateParents, parents: BoolArray
) -> tuple[FloatArray, FloatArray, list[str]]:
    """Rows that some choice of columns, cyclic or not, would break, each with one side, and what they are called."""
    found: list[FloatArray] = []
    names: list[str] = []
    sides: list[float] = []
    for part in form.rows:
        if isinstance(part.coefficient, np.ndarray):
            row = np.einsum("kp,kp->k", parents, part.coefficient[candidates.owner])
        else:
            row = np.array([part.coefficient(node, s) for node, s in candidates.columns])
        for one, side, below in ((row, part.upper, ""), (-row, -part.lower, ", from below")):
            most = float(np.maximum.reduceat(one, candidates.offsets[:-1]).sum())
            if np.isfinite(side) and most > side:
                found.append(one)
                sides.append(_whole_side(one, side))
                names.append(f"limit[{part.said}{below}]")
    return np.array(found).reshape(len(found), candidates.n_columns), np.array(sides), names


def _whole_side(row: FloatArray, side: float) -> float:
    """The side of a row of whole numbers, rounded down: what a sum of them can reach."""
    if (row == np.round(row)).all():
        return float(np.floor(side + 1e-9 * max(1.0, abs(side))))
    return side


@dataclass(eq=False)
class _Lines:
    """Rows over the structure columns and some of our own, as triplets."""

    rows: list[NDArray[np.intp]] = field(default_factory=list)
    columns: list[NDArray[np.intp]] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def add(self, name: str, parts: Sequence[tuple[Any, Any]], lower: float = -np.inf, upper: float = np.inf) -> None:
        """One row; parts are columns (one or several) with their coefficients."""
        for columns, values in parts:
            index = np.atleast_1d(np.asarray(columns, dtype=np.intp))
            self.rows.append(np.full(len(index), len(self.lower), dtype=np.intp))
            self.columns.append(index)
            self.values.append(np.broadcast_to(np.asarray(values, dtype=np.float64), index.shape))
        self.lower.append(lower)
        self.upper.append(upper)
        self.names.append(name)


class SideColumns:
    """Rows and columns by which the row form keeps side constraints.

    Parameters
    ----------
    side : SideConstraints
    form : ConstraintForm
        What it was made of, for names.

    Attributes
    ----------
    matrix : CSR array (n_rows, n_structure + n_own)
        Over the structure columns, then the columns of its own.
    lower, upper : float64 arrays (n_rows,)
    column_lower, column_upper : float64 arrays (n_own,)
    whole : bool array (n_own,)
    column_names, row_names : tuple of str
    """

    def __init__(self, side: SideConstraints, form: ConstraintForm) -> None:
        import scipy.sparse as sp

        self._side, self._names = side, form.nodes.names
        self._items = [self._said(item) for item in _items(form)]
        self._n = len(side.parents)
        self._own: list[tuple[str, float, float, bool]] = []
        lines = _Lines()
        for name, row, limit in zip(side.row_names, side.rows, side.upper, strict=True):
            support = np.flatnonzero(row)
            lines.add(name, [(support, row[support])], upper=float(limit))
        self._used = [self._column(f"used[{item}]", whole=True) for item in self._items]
        self._write_items(lines)
        self._arcs = self._columns_of_arcs()
        self._reach = {int(a): self._write_reach(lines, int(a)) for a in np.unique(side.apart[:, 0])}
        self._flows = [self._write_flow(lines, int(a), int(b)) for a, b in side.above]
        shape = (len(lines.lower), self._n + len(self._own))
        triplets = [np.concatenate(part) if part else np.zeros(0) for part in (lines.values, lines.rows, lines.columns)]
        values, rows, columns = triplets
        where = (rows.astype(np.intp), columns.astype(np.intp))
        self.matrix = sp.csr_array(sp.coo_array((values, where), shape=shape))
        self.lower, self.upper = np.array(lines.lower), np.array(lines.upper)
        self.column_lower = np.array([low for _, low, _, _ in self._own])
        self.column_upper = np.array([high for _, _, high, _ in self._own])
        self.whole = np.array([whole for *_, whole in self._own], dtype=bool)
        self.column_names = tuple(name for name, *_ in self._own)
        self.row_names = tuple(lines.names)

    def _column(self, name: str, low: float = 0.0, high: float = 1.0, *, whole: bool = False) -> int:
        self._own.append((name, low, high, whole))
        return self._n + len(self._own) - 1

    def _said(self, item: Item) -> str:
        return f"{self._names[item.parent]} -> {self._names[item.node]}" if item.parent >= 0 else self._names[item.node]

    def _owned(self, node: int) -> slice:
        return slice(int(self._side.offsets[node]), int(self._side.offsets[node + 1]))

    def _write_items(self, lines: _Lines) -> None:
        side = self._side
        for j, used in enumerate(self._used):
            for node in range(len(side.offsets) - 1):
                own = self._owned(node)
                columns = own.start + np.flatnonzero(side.cover[own, j])
                if len(columns):
                    lines.add(f"uses[{self._items[j]}, {self._names[node]}]", [(used, 1.0), (columns, -1.0)], lower=0.0)
        for name, weights, cap in zip(side.cap_names, side.weights, side.caps, strict=True):
            lines.add(name, [(self._used, weights)], upper=float(cap))
        for g, group in enumerate(side.groups):
            items = [int(j) for j in np.flatnonzero(group)]
            for j in items:
                columns = np.flatnonzero(side.cover[:, j])
                lines.add(f"there[{g}, {self._items[j]}]", [(columns, 1.0), (self._used[j], -1.0)], lower=0.0)
            for j in items[1:]:
                lines.add(
                    f"together[{g}, {self._items[j]}]",
                    [(self._used[items[0]], 1.0), (self._used[j], -1.0)],
                    lower=0.0,
                    upper=0.0,
                )

    def _columns_of_arcs(self) -> dict[tuple[int, int], NDArray[np.intp]]:
        """Columns that have an edge, by (parent, child)."""
        if not len(self._side.above) and not len(self._side.apart):
            return {}
        found = {}
        for child in range(len(self._names)):
            own = self._owned(child)
            for parent in range(len(self._names)):
                columns = own.start + np.flatnonzero(self._side.parents[own, parent])
                if len(columns):
                    found[parent, child] = columns
        return found

    def _write_reach(self, lines: _Lines, source: int) -> list[int]:
        ends = {int(b) for a, b in self._side.apart if a == source}
        names, start = self._names, self._names[source]
        reach = [
            self._column(f"reach[{start}, {name}]", float(v == source), float(v not in ends))
            for v, name in enumerate(names)
        ]
        for (u, v), columns in self._arcs.items():
            parts = [(reach[v], 1.0), (reach[u], -1.0), (columns, -1.0)]
            lines.add(f"no_path[{start}, {names[u]} -> {names[v]}]", parts, lower=-1.0)
        return reach

    def _write_flow(self, lines: _Lines, source: int, sink: int) -> dict[tuple[int, int], int]:
        names = self._names
        pair = f"{names[source]} to {names[sink]}"
        flow = {(u, v): self._column(f"flow[{pair}, {names[u]} -> {names[v]}]") for u, v in self._arcs}
        for (u, v), columns in self._arcs.items():
            lines.add(f"path[{pair}, {names[u]} -> {names[v]}]", [(columns, 1.0), (flow[u, v], -1.0)], lower=0.0)
        for node, name in enumerate(names):
            into = [(column, 1.0) for (_, v), column in flow.items() if v == node]
            out = [(column, -1.0) for (u, _), column in flow.items() if u == node]
            net = float(node == sink) - float(node == source)
            lines.add(f"path[{pair}, {name}]", into + out, lower=net, upper=net)
        return flow

    def added_to(self, program: MixedIntegerProgram) -> MixedIntegerProgram:
        """The row form with these rows and columns behind its own."""
        import scipy.sparse as sp

        n_rows, n_columns = program.A.shape
        own = len(self._own)
        left, right = self.matrix[:, : self._n], self.matrix[:, self._n :]
        blocks = [
            [program.A, sp.csr_array((n_rows, own))],
            [sp.hstack([left, sp.csr_array((len(self.lower), n_columns - self._n))]), right],
        ]
        return replace(
            program,
            c=np.concatenate([program.c, np.zeros(own)]),
            A=sp.csr_array(sp.block_array(blocks, format="csr")),
            row_lower=np.concatenate([program.row_lower, self.lower]),
            row_upper=np.concatenate([program.row_upper, self.upper]),
            col_lower=np.concatenate([program.col_lower, self.column_lower]),
            col_upper=np.concatenate([program.col_upper, self.column_upper]),
            integrality=np.concatenate([program.integrality, self.whole]),
            column_names=(*program.column_names, *self.column_names),
        )

    def values(self, choice: NDArray[np.intp]) -> FloatArray:
        """Values of its own columns that fit a choice which keeps the constraints."""
        side = self._side
        values = np.zeros(len(self._own))
        if self._used:
            values[np.array(self._used) - self._n] = side.cover[choice].any(axis=0)
        edges = side.parents[choice].T  # edges[parent, child]
        reach = closure(edges)
        for source, columns in self._reach.items():
            values[np.array(columns) - self._n] = reach[source]
        for (source, sink), flow in zip(side.above, self._flows, strict=True):
            node = int(source)
            while node != sink and reach[node, sink]:
                step = next(int(v) for v in np.flatnonzero(edges[node]) if reach[v, sink])
                values[flow[node, step] - self._n] = 1.0
                node = step
        return values
