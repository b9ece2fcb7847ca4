"""Records that were written elsewhere, under the numbers of a file that they are added to."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.programs.tree_log import TreeLog
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

__all__ = ["NEW_BOXES", "Relocation"]

NEW_BOXES = 1 << 62
"""From there on boxes are numbered where they are made, until they get numbers of the file."""


@dataclass(frozen=True)
class Relocation:
    """From the numbers of a maker to those of the file.

    Parameters
    ----------
    boxes : int
        The number that `NEW_BOXES` becomes.
    points, others : int
        How many points and other rows maker and file have in common.
    new_points, new_others : int
        The numbers that the first new ones become.

    Examples
    --------
    >>> shift = Relocation(boxes=40, points=3, others=0, new_points=10, new_others=2)
    >>> shift.box(NEW_BOXES + 1), shift.box(7)
    (41, 7)
    """

    boxes: int
    points: int
    others: int
    new_points: int
    new_others: int

    def box(self, number: int) -> int:
        """Of a box."""
        return number if number < NEW_BOXES else number - NEW_BOXES + self.boxes

    def record(self, kind: Kind, payload: bytes) -> bytes:
        """A record with numbers of the file."""
        return _MOVES[kind](self, kind, payload)

    def _evidence(self, kind: Kind, payload: bytes) -> bytes:
        found = Evidence.decode(kind, payload)
        return replace(found, box=self.box(found.box), rows=self._rows(found.rows)).encode(kind, TreeLog.WIDTH)

    def _children(self, kind: Kind, payload: bytes) -> bytes:
        found = ChildBoxes.decode(payload)
        first = self.box(found.first) if found.first else 0
        moved = replace(found, box=self.box(found.box), first=first, rows=self._rows(found.rows))
        return moved.encode(TreeLog.CHILD_WIDTH)

    def _columns(self, kind: Kind, payload: bytes) -> bytes:
        found = Columns.decode(payload)
        return replace(found, box=self.box(found.box)).encode()

    def _value(self, kind: Kind, payload: bytes) -> bytes:
        found = BoxValue.decode(payload)
        return replace(found, box=self.box(found.box)).encode()

    def _point(self, kind: Kind, payload: bytes) -> bytes:
        found = PointAt.decode(payload)
        return replace(found, number=found.number - self.points + self.new_points).encode(TreeLog.WIDTH)

    def _row(self, kind: Kind, payload: bytes) -> bytes:
        found = json_of(payload)
        return text_of({**found, "number": found["number"] - self.others + self.new_others})

    def _rows(self, rows: RowNames) -> RowNames:
        points = _moved(rows.points, self.points, self.new_points)
        return RowNames(points, rows.groups, _moved(rows.others, self.others, self.new_others))


def _moved(numbers: NDArray[np.int64], common: int, new: int) -> NDArray[np.int64]:
    moved: NDArray[np.int64] = np.where(numbers < common, numbers, numbers - common + new)
    return moved


_MOVES: dict[Kind, Callable[[Relocation, Kind, bytes], bytes]] = {
    **dict.fromkeys((Kind.BOUND, Kind.EMPTY, Kind.BRANCHING), Relocation._evidence),
    **dict.fromkeys((Kind.SPLIT, Kind.EXCLUDE), Relocation._children),
    **dict.fromkeys((Kind.CLOSE, Kind.DROP), Relocation._value),
    Kind.FIX: Relocation._columns,
    Kind.POINT: Relocation._point,
    Kind.ROW: Relocation._row,
}
