"""Records that were written elsewhere, under the numbers of a file that they are added to."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.programs.tree_records import Kind, json_of, text_of

__all__ = ["NEW_BOXES", "OWNERS_POINTS", "Relocation"]

NEW_BOXES = 1 << 62
"""From there on boxes are numbered where they are made, until they get numbers of the file."""

OWNERS_POINTS = 1 << 31
"""From there on a maker numbers points that the file got later and that it was sent: by their number in the file."""


def _none() -> NDArray[np.uint32]:
    return np.zeros(0, dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class Relocation:
    """From the numbers of a maker to those of the file.

    Parameters
    ----------
    boxes : int
        The number that `NEW_BOXES` becomes.
    points, others : int
        How many points and other rows maker and file have in common.
    new_points, new_others : uint32 array
        The numbers that the new ones become, in the order in which they were made.

    Examples
    --------
    >>> shift = Relocation(40, 3, 0, np.arange(10, 12, dtype=np.uint32), np.zeros(0, dtype=np.uint32))
    >>> shift.box(NEW_BOXES + 1), shift.box(7)
    (41, 7)
    """

    boxes: int
    points: int = 0
    others: int = 0
    new_points: NDArray[np.uint32] = field(default_factory=_none)
    new_others: NDArray[np.uint32] = field(default_factory=_none)

    def box(self, number: int) -> int:
        """Of a box."""
        return number if number < NEW_BOXES else number - NEW_BOXES + self.boxes

    def point(self, number: int) -> int:
        """Of a point; -1 for one that the file does not have."""
        if number < self.points:
            return number
        if number >= OWNERS_POINTS:
            return number - OWNERS_POINTS
        new = number - self.points
        return int(self.new_points[new]) if new < len(self.new_points) else -1

    def record(self, kind: Kind, payload: bytes) -> bytes:
        """A record with numbers of the file."""
        return _MOVES[kind](self, kind, payload)

    def _evidence(self, kind: Kind, payload: bytes) -> bytes:
        moved = self._boxed(payload)
        # box, claimed but for EMPTY, hub for BRANCHING alone, width: then rows
        self._move_rows(moved, 8 + (kind is not Kind.EMPTY) * 8 + (kind is Kind.BRANCHING) * 4 + 1)
        return bytes(moved)

    def _children(self, kind: Kind, payload: bytes) -> bytes:
        moved = self._boxed(payload)
        first, count = struct.unpack_from("<QI", moved, 12)
        if first:
            struct.pack_into("<Q", moved, 12, self.box(first))
        self._move_rows(moved, 24 + 13 * count + 1)
        return bytes(moved)

    def _value(self, kind: Kind, payload: bytes) -> bytes:
        return bytes(self._boxed(payload))

    def _boxed(self, payload: bytes) -> bytearray:
        """A copy that begins with another number of its box; multipliers, which are most of it, stay as they are."""
        moved = bytearray(payload)
        struct.pack_into("<Q", moved, 0, self.box(*struct.unpack_from("<Q", moved, 0)))
        return moved

    def _move_rows(self, moved: bytearray, at: int) -> None:
        """Other numbers of points and other rows, in place."""
        (count,) = struct.unpack_from("<H", moved, at)
        points = np.frombuffer(moved, dtype="<u4", count=count, offset=at + 2)
        each = np.frombuffer(moved, dtype="<u2", count=count, offset=at + 2 + 4 * count)
        at += 2 + 6 * count + 2 * int(each.sum())
        (count,) = struct.unpack_from("<H", moved, at)
        others = np.frombuffer(moved, dtype="<u4", count=count, offset=at + 2)
        sent = points >= OWNERS_POINTS
        new = (points >= self.points) & ~sent
        points[new] = self.new_points[points[new] - self.points]
        points[sent] -= OWNERS_POINTS
        others[others >= self.others] = self.new_others[others[others >= self.others] - self.others]

    def _point(self, kind: Kind, payload: bytes) -> bytes:
        moved = bytearray(payload)
        (number,) = struct.unpack_from("<I", moved, 0)
        struct.pack_into("<I", moved, 0, int(self.new_points[number - self.points]))
        return bytes(moved)

    def _row(self, kind: Kind, payload: bytes) -> bytes:
        found = json_of(payload)
        return text_of({**found, "number": int(self.new_others[found["number"] - self.others])})


_MOVES: dict[Kind, Callable[[Relocation, Kind, bytes], bytes]] = {
    **dict.fromkeys((Kind.BOUND, Kind.EMPTY, Kind.BRANCHING), Relocation._evidence),
    **dict.fromkeys((Kind.SPLIT, Kind.EXCLUDE), Relocation._children),
    **dict.fromkeys((Kind.CLOSE, Kind.DROP, Kind.FIX), Relocation._value),
    Kind.POINT: Relocation._point,
    Kind.ROW: Relocation._row,
}
