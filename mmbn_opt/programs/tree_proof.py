"""Re-proving a branch-and-bound tree while it is searched: boxes, their bounds, and what covers what.

A box is a set of allowed columns of a `ChoiceProgram`. Whoever searches proposes multipliers; this module keeps the
boxes, asks for every cut itself (it is handed points, node sets and multipliers, never coefficients), clips the
multipliers and computes each bound by `lagrangian`. Boxes only ever shrink by a column that a bound, a forced cycle, a
side constraint or a tree that is worth the same from a smaller root excludes, and are only ever parted by all allowed
columns of one node, so that closed and open boxes cover the root: whatever the search did wrong, `TreeProof.bound`
holds. What is proved can be written down as it goes (`TreeProof.write_to`).
"""

import math
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, FloatArray
from mmbn_opt.programs.boxes import pack_bits, settle, split_box
from mmbn_opt.programs.choice import ChoiceProgram, ConcaveTerm
from mmbn_opt.programs.lagrangian import clip_multipliers, maximum_structure, reduced_costs
from mmbn_opt.programs.tree_children import BoxNotes, Children, Found
from mmbn_opt.programs.tree_ledger import TreeLedger
from mmbn_opt.programs.tree_log import TreeLog
from mmbn_opt.programs.tree_pieces import AsksPieces
from mmbn_opt.programs.tree_records import Kind
from mmbn_opt.programs.tree_rows import TreeRows
from mmbn_opt.programs.turned_trees import best_turned

__all__ = ["Children", "TreeProof"]

EMPTY_SHARE = 1e-7
"""As a share of the sum, by how much rows must contradict each other for a box to be empty."""


class TreeProof(AsksPieces):
    """The box that one searcher looks at, and what it proves of it; in loss form (see `mmbn_opt.programs.lagrangian`).

    The objective of the program is ``loss + constant``. Choices that the program lets a solver leave out are left out:
    they may be better than what is proved by its `turning_cost`.

    Parameters
    ----------
    program : ChoiceProgram
    term : ConcaveTerm or None
        The program's term in the grouping that the search uses.

    Attributes
    ----------
    ledger : TreeLedger
        All boxes.
    store : TreeRows
        Rows by slot; read-only by agreement.
    number : int
        Of the current box.
    written_at : int
        Where the last parting was written; -1 as long as that is nowhere.
    """

    def __init__(self, program: ChoiceProgram, term: ConcaveTerm | None) -> None:
        upper = np.zeros(0) if term is None else term.upper
        super().__init__(term, TreeRows(program, upper), TreeLedger())
        self._program = program
        self.offsets = program.offsets.astype(np.intp)
        self.bits = pack_bits(program.parents)
        self.n_groups = len(upper)
        self.constant = program.offset - float(upper.sum())
        self._rise = np.empty(program.n_columns)
        self.allowed = np.ones(program.n_columns, dtype=bool)
        self.number = 0
        self.value = self._last = -math.inf
        self._notes = BoxNotes(self.ledger, self.store)
        self.written_at = -1
        self.feasible = self._settle(self.allowed)
        self._current = True
        self._tell()

    def _settle(self, allowed: BoolArray) -> bool:
        """Take away what no acyclic choice of a box that keeps the side constraints can have; False if none is left."""
        if self._program.spare_columns is not None:
            allowed &= ~self._program.spare_columns
        return settle(allowed, self.offsets, self.bits, *self._program.hanging, self._program.side)

    def _tell(self) -> None:
        """Let the ledger know what the current box is worth."""
        self.ledger.taken[self.number] = self.value if self.feasible else math.inf

    def fork(self) -> "TreeProof":
        """Another proof in the same state: what is done to one does not touch the other.

        If it is written down, the other one is held back until its log is told to `TreeLog.keep`.
        """
        self.value_counts()
        twin = copy(self)
        twin.ledger, twin.store = self.ledger.fork(), self.store.fork()
        twin._notes = BoxNotes(twin.ledger, twin.store)
        twin._rise, twin.allowed, twin._asked = self._rise.copy(), self.allowed.copy(), None
        if self.log is not None:
            twin.ledger.log = self.log.fork(self.store)
        return twin

    def beside(self, term: ConcaveTerm | None) -> "TreeProof":
        """The same tree for one more searcher, who enters boxes of his own; he asks `term`, which is the same sum."""
        twin = copy(self)
        twin._notes = BoxNotes(self.ledger, self.store)
        twin._rise, twin.allowed = self._rise.copy(), self.allowed.copy()
        twin._asked, twin._current = None, False
        twin.ask_of(term)
        return twin

    @property
    def log(self) -> TreeLog | None:
        """Where the proof is written down."""
        return self.ledger.log

    def write_to(self, log: TreeLog) -> None:
        """Write down what is proved of box 0 from here on; a bound proved before counts no longer."""
        assert self.number == 0, "a proof is written from its root on"
        self.ledger.log = log
        self.store.forget_names()
        log.layout(None if self._term is None else self._term.groups, self.n_groups)
        self.allowed[:] = True
        self.feasible = self._settle(self.allowed)
        self.value = self._last = -math.inf
        self.ledger.closed = math.inf
        self._notes.begin(0)
        self._tell()

    def go_on(self, ledger: TreeLedger, log: TreeLog) -> None:
        """Take over the boxes of a tree that was written before; none of them is the current one."""
        ledger.log = log
        self.ledger, self._notes = ledger, BoxNotes(ledger, self.store)
        self._current = False

    def begin_at(self, value: float, allowed: BoolArray, log: TreeLog) -> None:
        """What was proved of box 0 and written before the log goes on."""
        self.ledger.log = log
        self.value, self.allowed = value, allowed
        self.feasible = self._settle(self.allowed)
        self._notes.begin(0)
        self._tell()

    # -- the current box --------------------------------------------------------------------------------------------

    def prove(self, slots: NDArray[np.int64], lam: FloatArray) -> float:
        """Bound of the current box from multipliers; `rise` is then what each column costs above it."""
        self._last = self.store.bound(self.allowed, slots, lam, self._rise)
        self.ledger.count("bounds", 1)
        self._notes.proved(self._last, (slots, lam), better=self._last > self.value)
        self._raise(self._last)
        return self._last

    def _raise(self, bound: float) -> None:
        if bound > self.value:
            self.value = bound
            self._tell()

    def _brought_up(self, found: Found, rise: FloatArray) -> float:
        """What evidence proves of the box as it is now, `rise` included."""
        found.bound = self.store.bound(self.allowed, *found.evidence, rise)
        found.stale = False
        if found.bound > self.value:
            self._notes.best = found
            self._raise(found.bound)
        return found.bound

    def rule_out(self, slots: NDArray[np.int64], ray: FloatArray) -> None:
        """Empty the current box where multipliers of its rows without a loss show that no choice keeps them all."""
        plain = self.store.group[slots] < 0
        slots, ray = slots[plain], np.maximum(ray[plain], 0.0)
        if not ray.any():
            return
        ray = ray / ray.max()
        free = np.zeros(len(self.allowed))
        excess = self.store.bound(self.allowed, slots, ray, np.empty(len(free)), free)
        if excess > EMPTY_SHARE * (1.0 + float(ray @ np.abs(self.store.rhs[slots]))):
            self.feasible = False
            self._tell()
            self._notes.file(Kind.EMPTY, (slots, ray))

    def prove_by_branching(self, slots: NDArray[np.int64], lam: FloatArray, hub: int) -> NDArray[np.intp] | None:
        """Raise the current box's bound by a maximum branching in place of the choice-wise minimum.

        Only rows of the term keep their multipliers: acyclicity needs none here. Returns the columns that attain
        the bound's minimum, or None where branchings do not apply. `rise` stays that of the last choice-wise bound.
        """
        cut = self.store.group[slots] >= 0
        slots, lam = slots[cut], lam[cut]
        clipped = clip_multipliers(lam, slots, self.store.group, self.n_groups)
        value = np.where(self.allowed, -reduced_costs(self._program.c, self.store.rows, slots, clipped), -np.inf)
        found = maximum_structure(value, self.offsets, self._program.parents, hub)
        if found is None:
            return None
        self.ledger.count("bounds", 1)
        bound = float(clipped @ self.store.rhs[slots]) - found[0]
        if bound > self.value:
            self._raise(bound)
            self._notes.file(Kind.BRANCHING, (slots, lam), bound, hub)
        return found[1]

    def settle_turned(self, check: Callable[[], None]) -> list[NDArray[np.intp]]:
        """Let the current box, of one choice, be worth what the best are of those left out for it; which these are."""
        turned, least = best_turned(self._program, np.flatnonzero(self.allowed), check)
        self._raise(least - self.constant)
        return turned

    @property
    def rise(self) -> FloatArray:
        """What each column costs above the last bound proved here."""
        return self._rise

    def fix(self, cutoff: float) -> bool:
        """Take away columns that the last bound puts at `cutoff` or above; False when nothing is left."""
        newest = self._notes.newest
        if newest is not None and newest.stale and not self._notes.stands(newest):
            self._last = self._brought_up(newest, self._rise)
        over = self.allowed & (self._last + self._rise >= cutoff)
        if over.any():
            least = float((self._last + self._rise[over]).min())
            self._notes.fixed(least, np.flatnonzero(over))
            self.ledger.close_at(least)
            self.ledger.count("fixed_columns", int(over.sum()))
            self._lose(over)
        return self.feasible

    def _lose(self, columns: NDArray[Any]) -> None:
        """The current box loses columns."""
        self.allowed[columns] = False
        self.feasible = self._settle(self.allowed)
        self._notes.shrunk()
        self._tell()

    def value_counts(self) -> None:
        """The value of the current box counts from here on: what proves it is written, as what it proves now."""
        best = self._notes.best
        if self._current and self.feasible and best is not None and not best.filed:
            if best.stale:
                self._brought_up(best, np.empty(len(self.allowed)))
            self._notes.file_bound(best)

    def split(self, node: int) -> Children:
        """Boxes of the current box in which `node` takes each of its allowed columns."""
        first, last = self.offsets[node], self.offsets[node + 1]
        columns = first + np.flatnonzero(self.allowed[first:last])
        boxes = np.empty((len(columns), len(self.allowed)), dtype=bool)
        alive = split_box(self.allowed, columns, node, self.offsets, self.bits, *self._program.hanging, boxes)
        side = self._program.side
        if side is not None and not side.idle(self.allowed):
            alive = np.array([bool(a) and self._settle(box) for a, box in zip(alive, boxes, strict=True)], dtype=bool)
        return Children(node, columns[alive], boxes[alive], columns[~alive])

    def evaluate(self, children: Children, slots: NDArray[np.int64], lam: FloatArray) -> FloatArray:
        """Bounds of child boxes, each at least the current box's."""
        if self.log is not None:
            lam = self.log.kept_multipliers(lam)
        bounds = self.store.bounds(children.allowed, slots, lam)
        self.ledger.count("bounds", len(bounds))
        children.evidence = (slots, lam)
        return self._at_least_mine(bounds)

    def _at_least_mine(self, bounds: FloatArray) -> FloatArray:
        """Bounds of children that are no weaker than the current box's."""
        if (bounds < self.value).any():
            self.value_counts()
        proved: FloatArray = np.maximum(bounds, self.value)
        return proved

    def _renewed(self, children: Children, bounds: FloatArray) -> FloatArray:
        """Bounds of children in the box as it is now, which may have lost columns since they were made."""
        if (children.allowed[self.allowed[children.columns]] & ~self.allowed).any():
            children.allowed &= self.allowed
            alive = np.array([self._settle(box) for box in children.allowed], dtype=bool)
            if children.evidence is not None:
                bounds = np.maximum(bounds, self.store.bounds(children.allowed, *children.evidence))
            bounds = np.where(alive, bounds, np.inf)
        return self._at_least_mine(bounds)

    def exclude(self, children: Children, bounds: FloatArray, cutoff: float) -> bool:
        """Take away the columns of children whose bound reaches `cutoff`; False when nothing is left."""
        over = bounds >= cutoff
        if over.any():
            self.ledger.close_at(float(bounds[over].min()))
        gone = np.concatenate([children.columns[over], children.dead])
        if len(gone):
            self._notes.excluded(children, bounds, over, self.allowed)
            self.ledger.count("fixed_columns", len(gone))
            self._lose(gone)
        return self.feasible

    def commit(self, children: Children, bounds: FloatArray, cutoff: float) -> tuple[list[int], FloatArray]:
        """Part the current box: children below `cutoff` become open boxes (their numbers), others are closed (-1).

        The bounds returned are higher than those given where the box has lost columns since the children were made.
        """
        first, last = self.offsets[children.node], self.offsets[children.node + 1]
        left = np.flatnonzero(self.allowed[first:last]) + first
        assert np.isin(left, np.concatenate([children.columns, children.dead])).all(), "children must cover the box"
        ledger = self.ledger
        with ledger.lock:
            bounds = self._renewed(children, bounds)
            self.written_at = self._notes.parted(children, bounds, cutoff, left)
            numbers = []
            for column, allowed, bound in zip(children.columns, children.allowed, bounds, strict=True):
                if not self.allowed[column]:  # excluded since the children were made
                    numbers.append(-1)
                    continue
                if bound >= cutoff:
                    numbers.append(-1)
                    ledger.close_at(float(bound))
                    ledger.counts["closed_boxes"] += 1
                    continue
                numbers.append(ledger.add(float(bound), allowed & self.allowed))
            self._leave()
        return numbers, bounds

    def close(self) -> None:
        """Close the current box at its own bound; an empty one at infinity."""
        with self.ledger.lock:
            self.value_counts()
            value = self.value if self.feasible else math.inf
            self.ledger.close_at(value)
            self._notes.closed(value)
            self.ledger.counts["closed_boxes"] += 1
            self._leave()

    def set_aside(self) -> None:
        """The current box is open again, with what was proved of it and without the columns that it lost."""
        self.value_counts()
        self.ledger.put_down(self.number, self.value, np.packbits(self.allowed))
        self._current = False

    def _leave(self) -> None:
        self._current = False
        self.ledger.taken.pop(self.number)

    def enter(self, number: int) -> None:
        """Make an open box the current one."""
        assert not self._current, "the current box is not done"
        self.number = number
        self.value, self.allowed = self.ledger.take(number, len(self.allowed))
        self._last = -math.inf
        self.feasible = self._settle(self.allowed)
        self._current = True
        self._notes.begin(number)
        self._tell()

    def drop(self, number: int) -> None:
        """Close an open box at its bound without looking at it again."""
        self.ledger.drop(number)

    @property
    def counts(self) -> dict[str, int]:
        """What was done so far."""
        return self.ledger.counts

    @property
    def bound(self) -> float:
        """What no choice of the program can beat, as loss."""
        return self.ledger.bound
