"""Proves a tree file again with the package's own cuts and bounds, record by record, as docs/tree-file.md says."""

import math
from pathlib import Path

import numpy as np

from mmbn_opt.interop.tree_file import TreeReader
from mmbn_opt.programs.boxes import pack_bits, settle
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.programs.lagrangian import branching_bound, choicewise_bound, clip_multipliers, reduced_costs
from mmbn_opt.programs.side import SideRow
from mmbn_opt.programs.tree_progress import Incumbent
from mmbn_opt.programs.tree_records import (
    DEAD,
    OPEN,
    BoxValue,
    ChildBoxes,
    Columns,
    Evidence,
    Kind,
    PointAt,
    RowNames,
    json_of,
)
from mmbn_opt.programs.tree_rows import TreeRows

__all__ = ["Proved", "prove"]


class Proved:
    """What the records of a file prove of a program; no value that is claimed counts.

    Attributes
    ----------
    boxes : dict
        Value and allowed columns of each open box.
    overstated : float
        By how much a claimed value was above the proved one at most.
    """

    def __init__(self, program: ChoiceProgram) -> None:
        self.program = program = program.hung_anyhow() if program.turning_cost else program
        self.offsets = program.offsets.astype(np.intp)
        self.bits = pack_bits(program.parents)
        self.overstated = 0.0
        self.best: Incumbent | None = None
        self.boxes: dict[int, list] = {}
        self.closed = math.inf
        self.layouts = 0
        self.before = -math.inf

    @property
    def bound(self) -> float:
        """On the program's objective: what the tree of some layout proves."""
        return max(self.before, self._bound_here) if self.layouts else -math.inf

    @property
    def _bound_here(self) -> float:
        return min([value for value, _ in self.boxes.values()] + [self.closed]) + self.constant

    def _settle(self, allowed: np.ndarray) -> bool:
        return settle(allowed, self.offsets, self.bits, *self.program.hanging, self.program.side)

    def _claim(self, claimed: float, proved: float) -> None:
        if proved != math.inf:
            self.overstated = max(self.overstated, claimed - proved)

    def _rows(self, names: RowNames) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        count = len(names)
        rows, rhs, group = np.zeros((count, self.program.n_columns)), np.zeros(count), np.full(count, -1, np.int32)
        for place, (point, g) in enumerate(zip(names.points.tolist(), names.groups.tolist(), strict=True)):
            if point not in self.cuts:
                x = np.zeros(self.program.n_columns)
                columns, values = self.points[point]
                x[columns] = values
                self.cuts[point] = self.term.cuts(x)
            cuts = self.cuts[point]
            rows[place], rhs[place], group[place] = cuts.gradients[g], self.upper[g] - cuts.intercepts[g], g
        for place, number in enumerate(names.others.tolist(), start=len(names.points)):
            rows[place], rhs[place] = self.others[number]
        return rows, rhs, group

    def _worth(self, allowed: np.ndarray, rows: tuple, lam: np.ndarray, cost: np.ndarray | None = None):
        rise = np.empty(self.program.n_columns)
        slots = np.arange(len(lam))
        cost = self.program.c if cost is None else cost
        return choicewise_bound(cost, self.offsets, allowed, *rows, len(self.upper), slots, lam, rise), rise

    def add(self, kind: Kind, payload: bytes) -> None:
        """One more record."""
        handle = getattr(self, f"_{kind.name.lower()}")
        handle(payload)

    def _header(self, payload: bytes) -> None: ...

    _session = _progress = _root = _end = _header

    def _layout(self, payload: bytes) -> None:
        self.before = self.bound
        n_groups = int(np.frombuffer(payload[:4], "<u4")[0])
        term = self.program.term
        self.term = None if term is None else term.regrouped(n_groups)
        self.upper = np.zeros(0) if term is None else self.term.upper
        assert term is None or (self.term.groups == np.frombuffer(payload[8:], "<u2")).all()
        self.constant = self.program.offset - self.upper.sum()
        allowed = np.ones(self.program.n_columns, dtype=bool)
        self._settle(allowed)
        self.boxes, self.closed = {0: [-math.inf, allowed]}, math.inf
        self.points, self.others, self.cuts, self.last = {}, {}, {}, {}
        self.layouts += 1

    def _point(self, payload: bytes) -> None:
        point = PointAt.decode(payload)
        assert point.number == len(self.points)
        self.points[point.number] = point.columns, point.values

    def _row(self, payload: bytes) -> None:
        origin, rows = json_of(payload), TreeRows(self.program, self.upper)
        assert origin["number"] == len(self.others)
        if origin["kind"] == "cluster":
            rows.set_cluster(0, np.isin(np.arange(self.program.n_nodes), origin["nodes"]))
        elif origin["kind"] == "program":
            rows.set_program(0, origin["row"])
            assert (-rows.rows[0, origin["columns"]]).tolist() == origin["coefficients"]
        else:
            kind, number, key = origin["row"]
            rows.set_side(0, SideRow(kind, number, tuple(key)))
        self.others[origin["number"]] = rows.rows[0].copy(), rows.rhs[0]

    def _bound(self, payload: bytes) -> None:
        found = Evidence.decode(Kind.BOUND, payload)
        box = self.boxes[found.box]
        value, rise = self._worth(box[1], self._rows(found.rows), found.multipliers)
        self.last[found.box] = value, rise
        box[0] = max(box[0], value)
        self._claim(found.claimed, value)

    def _branching(self, payload: bytes) -> None:
        found = Evidence.decode(Kind.BRANCHING, payload)
        box, (rows, rhs, group) = self.boxes[found.box], self._rows(found.rows)
        slots = np.arange(len(rhs))
        lam = clip_multipliers(found.multipliers, slots, group, len(self.upper))
        worth = np.where(box[1], -reduced_costs(self.program.c, rows, slots, lam), -np.inf)
        value = float(lam @ rhs) - branching_bound(worth, self.offsets, self.program.parents, found.hub)
        box[0] = max(box[0], value)
        self._claim(found.claimed, value)

    def _empty(self, payload: bytes) -> None:
        found = Evidence.decode(Kind.EMPTY, payload)
        box, rows = self.boxes[found.box], self._rows(found.rows)
        assert (rows[2] < 0).all()
        excess, _ = self._worth(box[1], rows, found.multipliers, np.zeros(self.program.n_columns))
        assert excess > 0
        box[0] = math.inf

    def _fix(self, payload: bytes) -> None:
        fixed = Columns.decode(payload)
        value, rise = self.last[fixed.box]
        self._claim(fixed.least, float((value + rise[fixed.columns]).min()))
        self._take(fixed.box, fixed.columns, float((value + rise[fixed.columns]).min()))

    def _take(self, number: int, columns: np.ndarray, value: float) -> None:
        box = self.boxes[number]
        self.closed = min(self.closed, value)
        assert box[1][columns].all()
        box[1][columns] = False
        if not self._settle(box[1]):
            box[0] = math.inf

    def _children(self, kind: Kind, payload: bytes) -> ChildBoxes:
        record = ChildBoxes.decode(payload)
        value, allowed = self.boxes[record.box]
        first, last = self.offsets[record.node], self.offsets[record.node + 1]
        rows, alive, number = self._rows(record.rows), 0, record.first
        for column, fate, claimed in zip(record.columns, record.fates, record.claimed, strict=True):
            child = allowed.copy()
            child[first:last] = False
            child[column] = True
            holds = self._settle(child)
            if fate == DEAD:
                assert not holds
                continue
            worth = max(value, self._worth(child, rows, record.multipliers[alive])[0]) if holds else math.inf
            alive += 1
            self._claim(claimed, worth)
            if fate == OPEN:
                assert kind is Kind.SPLIT
                assert number not in self.boxes
                self.boxes[number] = [worth, child]
                number += 1
            else:
                self.closed = min(self.closed, worth)
        return record

    def _split(self, payload: bytes) -> None:
        record = self._children(Kind.SPLIT, payload)
        _, allowed = self.boxes.pop(record.box)
        first, last = self.offsets[record.node], self.offsets[record.node + 1]
        assert (first + np.flatnonzero(allowed[first:last])).tolist() == record.columns.tolist()

    def _exclude(self, payload: bytes) -> None:
        record = self._children(Kind.EXCLUDE, payload)
        self._take(record.box, record.columns, math.inf)

    def _close(self, payload: bytes) -> None:
        closed = BoxValue.decode(payload)
        value, _ = self.boxes.pop(closed.box)
        assert math.isfinite(closed.claimed) or value == math.inf
        self._claim(closed.claimed, value)
        self.closed = min(self.closed, value)

    _drop = _close

    def _incumbent(self, payload: bytes) -> None:
        found = Incumbent.decode(payload)
        x = self.program.vector(found.choice.astype(np.intp))
        assert self.program.is_feasible(x)
        assert abs(self.program.value(x) - found.objective) <= 1e-9 * max(1.0, abs(found.objective))
        self.best = found


def prove(path: Path, program: ChoiceProgram) -> Proved:
    """All whole records of a file."""
    proved = Proved(program)
    for _, kind, payload in TreeReader(path).records():
        proved.add(kind, payload)
    return proved
