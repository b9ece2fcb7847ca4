"""What a tree proof writes down as it goes, so that it can go on elsewhere and be checked by anybody.

Only what a claim needs is written: points and rows when they are first named, bounds that closed something. The records
are those of `mmbn_opt.programs.tree_records`; where they go is somebody else's matter.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.programs.tree_progress import Progress
from mmbn_opt.programs.tree_records import (
    BoxValue,
    ChildBoxes,
    Columns,
    Evidence,
    Kind,
    PointAt,
    RowNames,
    json_of,
    text_of,
)
from mmbn_opt.programs.tree_rows import NAMELESS, Point, TreeRows

__all__ = ["Record", "Sink", "TreeLog", "TreeStore"]

MOST = 1e30
"""Largest multiplier of children: one of 4 bytes is finite."""

Record = tuple[Kind, bytes]

Mover = Callable[[Kind, bytes], bytes]
"""Gives a record other numbers."""

Sink = Callable[[Kind, bytes], int]
"""Takes a record; returns where it stands."""


class TreeStore(Protocol):
    """Where the records of one search are, those of earlier sessions included.

    Attributes
    ----------
    path : Path
        The folder.
    """

    path: Path

    def records(self) -> Iterator[tuple[int, Kind, bytes]]:
        """Place, kind and payload of each that was there before; to be read to the end before anything is written."""

    def read(self, place: int) -> tuple[Kind, bytes]:
        """The record at a place."""

    def write(self, kind: Kind, payload: bytes) -> int:
        """Append a record; its place. `OSError` where there is no room."""

    def look(self, progress: Progress) -> None:
        """Where the search stands, for those who look on."""

    def end(self, payload: bytes) -> None:
        """The search is over."""


class TreeLog:
    """Encodes what happens to boxes.

    Parameters
    ----------
    sink : callable
    points : int
        How many points the file has already.
    others : iterable of mappings
        Its other rows, by what they are made from.

    Attributes
    ----------
    others : list of mappings
    where : array of int
        Of each point by its number where its record stands; a point that is still held back has no place.
    """

    WIDTH, CHILD_WIDTH = 8, 4
    """Bytes of a multiplier or of an entry of a point, and of a multiplier of children, which are most of a file."""

    def __init__(self, sink: Sink, points: int = 0, others: Iterable[Mapping[str, Any]] = ()) -> None:
        self._sink = sink
        self._points = points
        self.others: list[Mapping[str, Any]] = []
        self._number_of: dict[bytes, int] = {}
        for origin in others:
            self._add_other(origin)
        self._held: list[Record] | None = None
        self._since_layout: list[Record] | None = None
        self.where = array("q")

    # -- two trees of which one will count --------------------------------------------------------------------------

    def fork(self, rows: TreeRows) -> "TreeLog":
        """A log that holds back what it is told, for a second tree from the same root; this one writes on."""
        self.name(rows, rows.in_use())
        twin = TreeLog.behind(self._sink, self._since_layout or [])
        self._since_layout = None
        return twin

    @classmethod
    def behind(cls, sink: Sink, records: list[Record]) -> "TreeLog":
        """A log that begins with these records, from a layout on, and holds them back too."""
        kinds = [kind for kind, _ in records]
        others = [json_of(payload) for kind, payload in records if kind is Kind.ROW]
        log = cls(sink, kinds.count(Kind.POINT), others)
        log._held = list(records)
        return log

    def keep(self) -> None:
        """Write what was held back, in place of the tree that is there, and hold nothing back any more."""
        held, self._held = self._held, None
        for kind, payload in held or ():
            self.write(kind, payload)

    def write(self, kind: Kind, payload: bytes) -> int:
        """Hand a record on; where it stands, or -1."""
        if self._held is not None:
            self._held.append((kind, payload))
            return -1
        if self._since_layout is not None:
            self._since_layout.append((kind, payload))
        place = self._sink(kind, payload)
        if kind is Kind.POINT:
            self.where.append(place)
        return place

    def adopt(self, records: list[Record], move: Mover) -> list[int]:
        """Write what was written elsewhere, with the numbers that it has here; where each record stands."""
        places = []
        for kind, payload in records:
            moved = move(kind, payload)
            if kind is Kind.POINT:
                self._points += 1
            elif kind is Kind.ROW:
                self._add_other(json_of(moved))
            places.append(self.write(kind, moved))
        return places

    def numbers_for(self, records: list[Record]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The numbers that points and other rows of these records will have here if they are written next."""
        kinds = [kind for kind, _ in records]
        points, others = self._points, len(self.others)
        return (
            np.arange(points, points + kinds.count(Kind.POINT), dtype=np.uint32),
            np.arange(others, others + kinds.count(Kind.ROW), dtype=np.uint32),
        )

    @property
    def n_points(self) -> int:
        """Points that have a number."""
        return self._points

    # -- names ------------------------------------------------------------------------------------------------------

    def name(self, rows: TreeRows, slots: NDArray[np.int64]) -> tuple[RowNames, NDArray[np.intp]]:
        """Names of rows, of which those that are new are written; and their order."""
        for slot in slots[rows.known[slots] == NAMELESS].tolist():
            rows.known[slot] = self._named(rows, slot)
        known = rows.known[slots]
        cut = known >= 0
        return RowNames.sorted(np.where(cut, known, -1), np.where(cut, rows.group[slots], -1 - known))

    def _named(self, rows: TreeRows, slot: int) -> int:
        """The name of a row, which is written with what it is made from if it is new."""
        point: Point | None = rows.points[slot]
        if point is not None:
            if point.number < 0:
                point.number, self._points = self._points, self._points + 1
                record = PointAt(point.number, point.columns, point.values)
                self.write(Kind.POINT, record.encode(self.WIDTH))
            return point.number
        other = rows.others[slot]
        if other.number < 0:
            other.number = self._number_of.get(_made_from(other.origin), -1)
        if other.number < 0:
            other.number = self._add_other(other.origin)
            self.write(Kind.ROW, text_of({"number": other.number, **other.origin}))
        return -1 - other.number

    def _add_other(self, origin: Mapping[str, Any]) -> int:
        """The number of another row that is in the file from here on."""
        number = len(self.others)
        self.others.append(origin)
        self._number_of.setdefault(_made_from(origin), number)
        return number

    # -- events -----------------------------------------------------------------------------------------------------

    def layout(self, groups: NDArray[np.integer[Any]] | None, n_groups: int) -> None:
        """The search begins."""
        self._since_layout = []
        count = 0 if groups is None else len(groups)
        head = np.array([n_groups, count], dtype="<u4").tobytes()
        self.write(Kind.LAYOUT, head + (b"" if groups is None else groups.astype("<u2").tobytes()))

    def evidence(
        self, kind: Kind, box: int, rows: TreeRows, slots: NDArray[np.int64], lam: FloatArray,
        claimed: float = 0.0, hub: int = 0,
    ) -> None:  # fmt: skip
        """Rows and multipliers for a box."""
        used = lam > 0
        names, order = self.name(rows, slots[used])
        self.write(kind, Evidence(box, names, lam[used][order], claimed, hub).encode(kind, self.WIDTH))

    def children(
        self, kind: Kind, box: int, node: int, first: int, columns: NDArray[np.intp], fates: NDArray[np.uint8],
        claimed: FloatArray, rows: TreeRows, slots: NDArray[np.int64], lam: FloatArray,
    ) -> int:  # fmt: skip
        """A box is parted, or loses columns; `lam` has a row for each column that is not dead."""
        used = (lam > 0).any(axis=0)
        names, order = self.name(rows, slots[used])
        record = ChildBoxes(box, node, first, columns.astype(np.int64), fates, claimed, names, lam[:, used][:, order])
        return self.write(kind, record.encode(self.CHILD_WIDTH))

    @staticmethod
    def kept_multipliers(lam: FloatArray) -> FloatArray:
        """Multipliers of children as they will stand in the file: what is proved is proved with these."""
        kept: FloatArray = np.minimum(lam, MOST).astype(np.float32).astype(np.float64)
        return kept

    def fix(self, box: int, least: float, columns: NDArray[np.intp]) -> None:
        """Columns are taken from a box by its last bound."""
        self.write(Kind.FIX, Columns(box, least, columns.astype(np.int64)).encode())

    def close(self, kind: Kind, box: int, value: float) -> None:
        """A box is closed, looked at or not."""
        self.write(kind, BoxValue(box, value).encode())

    def root(self, gap: float, branching: str | None, rows: TreeRows, slots: NDArray[np.int64]) -> None:
        """What the tree starts from."""
        names, _ = self.name(rows, slots)
        cuts: Iterable[Any] = zip(names.points.tolist(), names.groups.tolist(), strict=True)
        content = {
            "gap": gap if math.isfinite(gap) else None,
            "branching": branching,
            "rows": [*map(list, cuts), *names.others.tolist()],
        }
        self.write(Kind.ROOT, text_of(content))


def _made_from(origin: Mapping[str, Any]) -> bytes:
    """What another row is made from, whatever its number."""
    return text_of(sorted((what, value) for what, value in origin.items() if what != "number"))
