"""Child boxes, and what is written of a box that one searcher looks at: bounds once, when something hangs on them."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, FloatArray
from mmbn_opt.programs.tree_ledger import TreeLedger
from mmbn_opt.programs.tree_log import TreeLog
from mmbn_opt.programs.tree_records import CLOSED, DEAD, OPEN, Kind
from mmbn_opt.programs.tree_rows import TreeRows

__all__ = ["BoxNotes", "Children", "Multipliers"]

Multipliers = tuple[NDArray[np.int64], FloatArray]
"""Slots of rows, and a multiplier of each (or a line of these for each of several boxes)."""


@dataclass(eq=False)
class Children:
    """The non-empty boxes into which a node's columns part the current box.

    Parameters
    ----------
    node : int
    columns : int array (n_children,)
    allowed : bool array (n_children, n_columns)
    dead : int array
        Columns whose boxes hold no acyclic choice that keeps the side constraints.
    evidence : Multipliers or None
        What they were evaluated with.
    """

    node: int
    columns: NDArray[np.intp]
    allowed: BoolArray
    dead: NDArray[np.intp]
    evidence: Multipliers | None = field(default=None, repr=False)


@dataclass(eq=False)
class Found:
    """What multipliers prove of the current box.

    Parameters
    ----------
    bound : float
    evidence : Multipliers
    stale : bool
        Whether the box has lost columns since: it is then written as what it proves of the box as it is.
    filed : bool
        Whether it was written, or would have been where nothing is written.
    """

    bound: float
    evidence: Multipliers
    stale: bool = False
    filed: bool = False


class BoxNotes:
    """What was proved of the current box, and how much of it is written down.

    What is done hangs on nothing but what happens to the box, so that a search is the same with a log and without.

    Parameters
    ----------
    ledger : TreeLedger
        Whose log is written to, if it has one.
    rows : TreeRows

    Attributes
    ----------
    best, newest : Found or None
    """

    def __init__(self, ledger: TreeLedger, rows: TreeRows) -> None:
        self._ledger, self._rows = ledger, rows
        self.begin(0)

    @property
    def log(self) -> TreeLog | None:
        """Where it is written."""
        return self._ledger.log

    def begin(self, number: int) -> None:
        """Another box is the current one, with nothing proved here."""
        self._number = number
        self.best: Found | None = None
        self.newest: Found | None = None
        self._filed: Found | None = None

    def proved(self, bound: float, evidence: Multipliers, *, better: bool) -> None:
        """A bound, which is or is not the best so far."""
        self.newest = Found(bound, evidence)
        if better:
            self.best = self.newest

    def shrunk(self) -> None:
        """The box has lost columns."""
        for found in (self.best, self.newest):
            if found is not None:
                found.stale = True

    def file(self, kind: Kind, evidence: Multipliers, claimed: float = 0.0, hub: int = 0) -> None:
        """Write evidence of another kind."""
        if kind is Kind.BRANCHING:
            self.best = None
        if self.log is not None:
            with self._ledger.lock:
                self.log.evidence(kind, self._number, self._rows, *evidence, claimed, hub)

    def stands(self, found: Found) -> bool:
        """Whether a bound is the one that was written last: what the next FIX goes by."""
        return self._filed is found

    def file_bound(self, found: Found) -> None:
        """Write a bound, unless it was written last."""
        if not self.stands(found):
            self.file(Kind.BOUND, found.evidence, found.bound)
            self._filed, found.filed = found, True

    def fixed(self, least: float, columns: NDArray[np.intp]) -> None:
        """Columns went by the newest bound."""
        assert self.newest is not None
        with self._ledger.lock:
            self.file_bound(self.newest)
            if self.log is not None:
                self.log.fix(self._number, least, columns)

    def excluded(self, children: Children, bounds: FloatArray, over: BoolArray, allowed: BoolArray) -> None:
        """The columns of some children go, and of those that are dead, as far as they are still allowed."""
        if self.log is None:
            return
        gone = np.concatenate([children.columns[over], children.dead])
        claimed = np.concatenate([bounds[over], np.full(len(children.dead), math.inf)])
        fates = np.where(np.arange(len(gone)) < np.count_nonzero(over), CLOSED, DEAD).astype(np.uint8)
        still = allowed[gone]
        if still.any():
            which = np.flatnonzero(over)[still[: np.count_nonzero(over)]]
            self._write(Kind.EXCLUDE, children, 0, gone[still], fates[still], claimed[still], which)

    def parted(self, children: Children, bounds: FloatArray, cutoff: float, left: NDArray[np.intp]) -> int:
        """The box is parted by the columns `left` of a node; where that is written, -1 if it is nowhere yet."""
        if self.log is None:
            return -1
        alive = np.isin(left, children.columns)
        which = np.searchsorted(children.columns, left[alive])
        claimed = np.full(len(left), math.inf)
        claimed[alive] = bounds[which]
        fates = np.where(alive, np.where(claimed >= cutoff, CLOSED, OPEN), DEAD).astype(np.uint8)
        return self._write(Kind.SPLIT, children, self._ledger.next_number, left, fates, claimed, which)

    def _write(
        self, kind: Kind, children: Children, first: int, columns: NDArray[np.intp], fates: NDArray[np.uint8],
        claimed: FloatArray, which: NDArray[np.intp],
    ) -> int:  # fmt: skip
        assert self.log is not None
        slots, lam = children.evidence or (np.zeros(0, dtype=np.int64), np.zeros((len(children.columns), 0)))
        with self._ledger.lock:
            return self.log.children(
                kind, self._number, children.node, first, columns, fates, claimed, self._rows, slots, lam[which]
            )

    def closed(self, value: float) -> None:
        """The box is closed; an empty one at infinity."""
        if self.log is not None:
            with self._ledger.lock:
                self.log.close(Kind.CLOSE, self._number, value)
