"""From the records of a tree file back to the boxes that are open, so that the search goes on.

What is claimed in the records is taken as it stands: to prove it again is another program's matter.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray
from mmbn_opt.exceptions import FormatError
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.programs.tree_ledger import TreeLedger
from mmbn_opt.programs.tree_log import Record
from mmbn_opt.programs.tree_progress import Incumbent, Progress
from mmbn_opt.programs.tree_records import (
    DEAD,
    OPEN,
    BoxValue,
    ChildBoxes,
    Columns,
    Evidence,
    Kind,
    json_of,
)

__all__ = ["AtRoot", "Origin", "Replay", "RootSoFar"]


@dataclass(frozen=True)
class Origin:
    """Where an open box comes from.

    Parameters
    ----------
    place : int
        Of the record that parted its parent; -1 for the root.
    depth : int
    """

    place: int
    depth: int


@dataclass(frozen=True, eq=False)
class AtRoot:
    """The records of the root, and what they prove of it.

    Parameters
    ----------
    records : list of Record
        From the layout on.
    value : float
    allowed : bool array (n_columns,)
    """

    records: list[Record]
    value: float
    allowed: BoolArray


@dataclass(frozen=True, eq=False)
class RootSoFar:
    """The last bound of a root that no tree was begun from, and what its rows are made from.

    Parameters
    ----------
    groups : int array (n_samples,)
    point_places : list of int
        Of each point of that layout.
    others : list of dict
    evidence : Evidence
    """

    groups: NDArray[np.uint16]
    point_places: list[int]
    others: list[dict[str, Any]]
    evidence: Evidence


@dataclass
class Replay:
    """What the records say.

    Parameters
    ----------
    program : ChoiceProgram

    Attributes
    ----------
    ledger : TreeLedger
        The open boxes.
    before : float
        What the trees of earlier layouts proved: it stays proved.
    origins : dict
        Of each open box.
    n_groups : int or None
        None where no tree was begun.
    point_places : list of int
    others : list of dict
        Rows that are no cuts, by what they are made from.
    root : dict or None
    at_root : AtRoot or None
        The tree as it was when it was begun.
    so_far : RootSoFar or None
        Where the root was left, in this layout or, as long as it has no bound, an earlier one.
    incumbent : Incumbent or None
    progress : Progress or None
    ended : str
        How the search ended; empty where it did not.
    """

    program: ChoiceProgram
    ledger: TreeLedger = field(default_factory=TreeLedger)
    before: float = -math.inf
    origins: dict[int, Origin] = field(default_factory=dict)
    n_groups: int | None = None
    groups: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, dtype=np.uint16))
    point_places: list[int] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)
    root: dict[str, Any] | None = None
    at_root: AtRoot | None = None
    so_far: RootSoFar | None = None
    _since_layout: list[Record] = field(default_factory=list)
    incumbent: Incumbent | None = None
    progress: Progress | None = None
    ended: str = ""

    @classmethod
    def of(cls, program: ChoiceProgram, records: Iterable[tuple[int, Kind, bytes]]) -> "Replay":
        """All records of a file."""
        replay = cls(program)
        for place, kind, payload in records:
            replay.add(place, kind, payload)
        return replay

    @property
    def seconds(self) -> float:
        """Of searching so far."""
        return 0.0 if self.progress is None else self.progress.seconds

    @property
    def bound(self) -> float:
        """What no choice of the program can beat, as loss, by all that is claimed."""
        return max(self.before, self.ledger.bound)

    @property
    def begun(self) -> bool:
        """Whether there is a tree to go on with."""
        return self.root is not None

    def add(self, place: int, kind: Kind, payload: bytes) -> None:
        """One more record."""
        try:
            self._add(place, kind, payload)
        except (KeyError, IndexError) as error:
            raise FormatError(f"The record at byte {place} of the tree file does not fit those before it.") from error

    def _add(self, place: int, kind: Kind, payload: bytes) -> None:
        if kind is Kind.LAYOUT:
            self.root, self._since_layout = None, []
        if self.root is None and kind not in (Kind.SESSION, Kind.INCUMBENT, Kind.PROGRESS, Kind.END):
            self._since_layout.append((kind, payload))
        match kind:
            case Kind.SPLIT | Kind.EXCLUDE:
                self._part(place, kind, payload)
            case Kind.BOUND | Kind.BRANCHING:
                found = Evidence.decode(kind, payload)
                value, allowed = self._taken(found.box)
                self.ledger.put_back(found.box, max(value, found.claimed), allowed)
                if self.root is None and kind is Kind.BOUND:
                    self.so_far = RootSoFar(self.groups, self.point_places, self.others, found)
            case Kind.FIX:
                fixed = Columns.decode(payload)
                value, allowed = self._taken(fixed.box)
                allowed[fixed.columns] = False
                self.ledger.put_back(fixed.box, value, allowed)
                self.ledger.close_at(fixed.least)
                self.ledger.counts["fixed_columns"] += len(fixed.columns)
            case Kind.CLOSE | Kind.DROP:
                closed = BoxValue.decode(payload)
                self._gone(closed.box)
                self.ledger.close_at(closed.claimed)
                self.ledger.counts["closed_boxes"] += 1
            case Kind.EMPTY:
                empty = Evidence.decode(kind, payload)
                value, allowed = self._taken(empty.box)
                self.ledger.put_back(empty.box, value, np.zeros_like(allowed))
            case Kind.POINT:
                self.point_places.append(place)
            case Kind.ROW:
                self.others.append(json_of(payload))
            case Kind.LAYOUT:
                self._begin(payload)
            case Kind.ROOT:
                if self.root is None:
                    self._since_layout.pop()
                    value, allowed = self._taken(0)
                    self.ledger.put_back(0, value, allowed)
                    self.at_root = AtRoot(self._since_layout, value, allowed)
                self.root = json_of(payload)
            case Kind.INCUMBENT:
                self.incumbent = Incumbent.decode(payload)
            case Kind.PROGRESS:
                self.progress = Progress.decode(payload)
            case Kind.SESSION:
                self.ended = ""
            case Kind.END:
                self.ended = str(json_of(payload).get("status", ""))

    def _begin(self, payload: bytes) -> None:
        n_groups, count = np.frombuffer(payload[:8], dtype="<u4").tolist()
        self.n_groups, self.groups = n_groups, np.frombuffer(payload[8:], dtype="<u2")
        if len(self.groups) != count:
            raise FormatError("The layout of the tree file is not as long as it says.")
        self.before = self.bound
        self.ledger, self.origins = TreeLedger(), {0: Origin(-1, 0)}
        self.ledger.taken.clear()
        self.ledger.put_back(0, -np.inf, np.ones(self.program.n_columns, dtype=bool))
        self.point_places, self.others = [], []

    def _taken(self, number: int) -> tuple[float, BoolArray]:
        found = self.ledger.take(number, self.program.n_columns)
        del self.ledger.taken[number]
        return found

    def _gone(self, number: int) -> Origin:
        self._taken(number)
        return self.origins.pop(number)

    def _part(self, place: int, kind: Kind, payload: bytes) -> None:
        record = ChildBoxes.decode(payload, multipliers=False)
        ledger = self.ledger
        value, allowed = self._taken(record.box)
        shut = record.claimed[(record.fates != DEAD) & (record.fates != OPEN)]
        if len(shut):
            ledger.close_at(float(shut.min()))
        if kind is Kind.EXCLUDE:
            allowed[record.columns] = False
            ledger.put_back(record.box, value, allowed)
            ledger.counts["fixed_columns"] += len(record.columns)
            return
        ledger.counts["closed_boxes"] += len(shut)
        depth = self.origins.pop(record.box).depth + 1
        offsets = self.program.offsets
        allowed[offsets[record.node] : offsets[record.node + 1]] = False
        still = record.fates == OPEN
        for step, (column, claimed) in enumerate(zip(record.columns[still], record.claimed[still], strict=True)):
            child = allowed.copy()
            child[column] = True
            ledger.put_back(record.first + step, float(claimed), child)
            self.origins[record.first + step] = Origin(place, depth)
