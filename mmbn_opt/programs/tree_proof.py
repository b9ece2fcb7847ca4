"""Re-proving a branch-and-bound tree while it is searched: boxes, their bounds, and what covers what.

A box is a set of allowed columns of a `ChoiceProgram`. Whoever searches proposes multipliers; this module keeps the
boxes, asks for every cut itself (it is handed points, node sets and multipliers, never coefficients), clips the
multipliers and computes each bound by `lagrangian`. Boxes only ever shrink by a column that a bound, a forced cycle, a
side constraint or a tree that is worth the same from a smaller root excludes, and are only ever parted by all allowed
columns of one node, so that closed and open boxes cover the root: whatever the search did wrong, `TreeProof.bound`
holds.
"""

import math
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, FloatArray
from mmbn_opt.programs.boxes import cluster_row, pack_bits, settle, split_box
from mmbn_opt.programs.choice import ChoiceProgram, ConcaveTerm, GroupCuts, WantedGroups
from mmbn_opt.programs.lagrangian import (
    choicewise_bound,
    choicewise_bounds,
    clip_multipliers,
    maximum_structure,
    reduced_costs,
)
from mmbn_opt.programs.side import SideRow

__all__ = ["Children", "TreeProof"]

EMPTY_SHARE = 1e-7
"""As a share of the sum, by how much rows must contradict each other for a box to be empty."""


@dataclass(frozen=True, eq=False)
class Children:
    """The non-empty boxes into which a node's columns part the current box.

    Parameters
    ----------
    node : int
    columns : int array (n_children,)
    allowed : bool array (n_children, n_columns)
    dead : int array
        Columns whose boxes hold no acyclic choice that keeps the side constraints.
    """

    node: int
    columns: NDArray[np.intp]
    allowed: BoolArray
    dead: NDArray[np.intp]


class TreeProof:
    """Boxes and bounds of one search, in loss form (see `mmbn_opt.programs.lagrangian`).

    The objective of the program is ``loss + constant``.

    Parameters
    ----------
    program : ChoiceProgram
    term : ConcaveTerm or None
        The program's term in the grouping that the search uses.
    """

    def __init__(self, program: ChoiceProgram, term: ConcaveTerm | None) -> None:
        self._program, self._term = program, term
        self.offsets = program.offsets.astype(np.intp)
        self.bits = pack_bits(program.parents)
        roots = np.full(program.n_nodes, -1) if program.root_columns is None else program.root_columns
        self.roots = roots.astype(np.intp)
        self.n_groups = 0 if term is None else len(term.upper)
        self.constant = program.offset - (0.0 if term is None else float(term.upper.sum()))
        self._rows = np.zeros((64, program.n_columns))
        self._rhs = np.zeros(64)
        self._group = np.full(64, -1, dtype=np.int32)
        self._asked: GroupCuts | None = None
        self._rise = np.empty(program.n_columns)
        self.allowed = np.ones(program.n_columns, dtype=bool)
        self.feasible = self._settle(self.allowed)
        self.value = -math.inf
        self._open: dict[int, tuple[float, NDArray[np.uint8]]] = {}
        self._next = 0
        self._current = True
        self.closed = math.inf
        self.counts = {"bounds": 0, "fixed_columns": 0, "closed_boxes": 0, "cuts": 0}

    def _settle(self, allowed: BoolArray) -> bool:
        """Take away what no acyclic choice of a box that keeps the side constraints can have; False if none is left."""
        return settle(allowed, self.offsets, self.bits, self.roots, self._program.side)

    def fork(self) -> "TreeProof":
        """Another proof in the same state: what is done to one does not touch the other."""
        twin = copy(self)
        for name in ("_rows", "_rhs", "_group", "_rise", "allowed"):
            setattr(twin, name, getattr(self, name).copy())
        twin._open = dict(self._open)
        twin.counts = dict(self.counts)
        twin._asked = None
        return twin

    # -- rows -------------------------------------------------------------------------------------------------------

    def _reserve(self, slots: NDArray[np.int64]) -> None:
        size = len(self._rhs)
        if len(slots) and int(slots.max()) >= size:
            room = max(2 * size, int(slots.max()) + 1)
            self._rows = _grown(self._rows, room, 0.0)
            self._rhs = _grown(self._rhs, room, 0.0)
            self._group = _grown(self._group, room, -1)

    @property
    def rows(self) -> FloatArray:
        """Rows by slot, ``rows[t] . x + s[group[t]] >= rhs[t]``, shape (n_slots, n_columns). Read-only by agreement."""
        return self._rows

    @property
    def rhs(self) -> FloatArray:
        """Right sides by slot."""
        return self._rhs

    @property
    def group(self) -> NDArray[np.int32]:
        """Group whose loss a row holds, -1 for none, by slot."""
        return self._group

    def ask(self, point: FloatArray, wanted: WantedGroups | None = None) -> GroupCuts:
        """The term's pieces at `point`; `set_cut_rows` keeps some of them as rows."""
        assert self._term is not None
        self._asked = self._term.cuts(point, wanted)
        return self._asked

    def set_cut_rows(self, slots: NDArray[np.int64], places: NDArray[np.intp]) -> None:
        """Rows of the pieces last asked about, by their places in the answer."""
        cuts = self._asked
        assert cuts is not None
        assert self._term is not None
        self._reserve(slots)
        groups = cuts.groups[places]
        self._rows[slots] = cuts.gradients[places]
        self._rhs[slots] = self._term.upper[groups] - cuts.intercepts[places]
        self._group[slots] = groups
        self.counts["cuts"] += len(slots)

    def set_cluster_row(self, slot: int, members: BoolArray) -> None:
        """Row of a cluster, from the parents."""
        self._reserve(np.array([slot]))
        self._rows[slot] = cluster_row(members, self._program.owner, self._program.parents)
        self._rhs[slot], self._group[slot] = 1.0, -1

    def set_program_row(self, slot: int, row: int) -> None:
        """Row of the program's own matrix."""
        self._reserve(np.array([slot]))
        self._rows[slot] = -self._program.A[[row]].toarray()[0]
        self._rhs[slot], self._group[slot] = -self._program.row_upper[row], -1

    def set_side_row(self, slot: int, wanted: SideRow) -> None:
        """Row of a side constraint, from the constraint."""
        self._reserve(np.array([slot]))
        assert self._program.side is not None
        self._rows[slot], self._rhs[slot] = self._program.side.row(wanted)
        self._group[slot] = -1

    # -- the current box --------------------------------------------------------------------------------------------

    def prove(self, slots: NDArray[np.int64], lam: FloatArray) -> float:
        """Bound of the current box from multipliers; `rise` is then what each column costs above it."""
        bound = choicewise_bound(
            self._program.c, self.offsets, self.allowed, self._rows, self._rhs, self._group, self.n_groups, slots,
            lam, self._rise
        )  # fmt: skip
        self.counts["bounds"] += 1
        self._last = float(bound)
        self.value = max(self.value, self._last)
        return self._last

    def rule_out(self, slots: NDArray[np.int64], ray: FloatArray) -> None:
        """Empty the current box where multipliers of its rows without a loss show that no choice keeps them all."""
        plain = self._group[slots] < 0
        slots, ray = slots[plain], np.maximum(ray[plain], 0.0)
        if not ray.any():
            return
        ray = ray / ray.max()
        free = np.zeros(len(self.allowed))
        excess = choicewise_bound(
            free, self.offsets, self.allowed, self._rows, self._rhs, self._group, self.n_groups, slots, ray,
            np.empty(len(free)),
        )  # fmt: skip
        scale = 1.0 + float(ray @ np.abs(self._rhs[slots]))
        if excess > EMPTY_SHARE * scale:
            self.feasible = False

    def prove_by_branching(self, slots: NDArray[np.int64], lam: FloatArray, hub: int) -> NDArray[np.intp] | None:
        """Raise the current box's bound by a maximum branching in place of the choice-wise minimum.

        Only rows of the term keep their multipliers: acyclicity needs none here. Returns the columns that attain
        the bound's minimum, or None where branchings do not apply. `rise` stays that of the last choice-wise bound.
        """
        cut = self._group[slots] >= 0
        slots, lam = slots[cut], lam[cut]
        clipped = clip_multipliers(lam, slots, self._group, self.n_groups)
        value = np.where(self.allowed, -reduced_costs(self._program.c, self._rows, slots, clipped), -np.inf)
        found = maximum_structure(value, self.offsets, self._program.parents, hub)
        if found is None:
            return None
        self.counts["bounds"] += 1
        self.value = max(self.value, float(clipped @ self._rhs[slots]) - found[0])
        return found[1]

    @property
    def rise(self) -> FloatArray:
        """What each column costs above the last bound proved here."""
        return self._rise

    def fix(self, cutoff: float) -> bool:
        """Take away columns that the last bound puts at `cutoff` or above; False when nothing is left."""
        over = self.allowed & (self._last + self._rise >= cutoff)
        if over.any():
            self.closed = min(self.closed, float((self._last + self._rise[over]).min()))
            self.counts["fixed_columns"] += int(over.sum())
            self.allowed[over] = False
            self.feasible = self._settle(self.allowed)
        return self.feasible

    def split(self, node: int) -> Children:
        """Boxes of the current box in which `node` takes each of its allowed columns."""
        first, last = self.offsets[node], self.offsets[node + 1]
        columns = first + np.flatnonzero(self.allowed[first:last])
        boxes = np.empty((len(columns), len(self.allowed)), dtype=bool)
        alive = split_box(self.allowed, columns, node, self.offsets, self.bits, self.roots, boxes)
        side = self._program.side
        if side is not None and not side.idle(self.allowed):
            alive = np.array([bool(a) and self._settle(box) for a, box in zip(alive, boxes, strict=True)], dtype=bool)
        return Children(node, columns[alive], boxes[alive], columns[~alive])

    def evaluate(self, children: Children, slots: NDArray[np.int64], lam: FloatArray) -> FloatArray:
        """Bounds of child boxes, each at least the current box's."""
        bounds = choicewise_bounds(
            self._program.c, self.offsets, children.allowed, self._rows, self._rhs, self._group, self.n_groups,
            slots, lam
        )  # fmt: skip
        self.counts["bounds"] += len(bounds)
        proved: FloatArray = np.maximum(bounds, self.value)
        return proved

    def exclude(self, children: Children, bounds: FloatArray, cutoff: float) -> bool:
        """Take away the columns of children whose bound reaches `cutoff`; False when nothing is left."""
        over = bounds >= cutoff
        if over.any():
            self.closed = min(self.closed, float(bounds[over].min()))
        gone = np.concatenate([children.columns[over], children.dead])
        if len(gone):
            self.counts["fixed_columns"] += len(gone)
            self.allowed[gone] = False
            self.feasible = self._settle(self.allowed)
        return self.feasible

    def commit(self, children: Children, bounds: FloatArray, cutoff: float) -> list[int]:
        """Part the current box: children below `cutoff` become open boxes (their numbers), others are closed (-1)."""
        first, last = self.offsets[children.node], self.offsets[children.node + 1]
        known = np.isin(
            np.flatnonzero(self.allowed[first:last]) + first, np.concatenate([children.columns, children.dead])
        )
        assert known.all(), "children must cover the box"
        numbers = []
        for column, allowed, bound in zip(children.columns, children.allowed, bounds, strict=True):
            if not self.allowed[column]:  # excluded since the children were made
                numbers.append(-1)
                continue
            if bound >= cutoff:
                numbers.append(-1)
                self.closed = min(self.closed, float(bound))
                self.counts["closed_boxes"] += 1
                continue
            numbers.append(self._next)
            self._open[self._next] = (float(bound), np.packbits(allowed & self.allowed))
            self._next += 1
        self._current = False
        return numbers

    def close(self) -> None:
        """Close the current box at its own bound; an empty one at infinity."""
        if self.feasible:
            self.closed = min(self.closed, self.value)
        self.counts["closed_boxes"] += 1
        self._current = False

    def enter(self, number: int) -> None:
        """Make an open box the current one."""
        assert not self._current, "the current box is not done"
        self.value, packed = self._open.pop(number)
        self.allowed = np.unpackbits(packed, count=len(self.allowed)).astype(bool)
        self.feasible = self._settle(self.allowed)
        self._current = True

    def drop(self, number: int) -> None:
        """Close an open box at its bound without looking at it again."""
        self.closed = min(self.closed, self._open.pop(number)[0])
        self.counts["closed_boxes"] += 1

    @property
    def bound(self) -> float:
        """What no choice of the program can beat, as loss."""
        least = min((value for value, _ in self._open.values()), default=math.inf)
        if self._current and self.feasible:
            least = min(least, self.value)
        return min(least, self.closed)


def _grown(array: NDArray[Any], room: int, fill: float) -> NDArray[Any]:
    """Copy with `room` rows; memory that is not used yet is not touched where `fill` is 0."""
    longer = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    if fill:
        longer[len(array) :] = fill
    return longer
