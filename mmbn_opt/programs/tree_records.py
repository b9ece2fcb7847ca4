"""The records of a tree file as values and as bytes; docs/tree-file.md says what each means.

Nothing here reads or writes files.
"""

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, FloatArray
from mmbn_opt.exceptions import FormatError

__all__ = [
    "CLOSED",
    "DEAD",
    "FORMAT",
    "FORMAT_VERSION",
    "OPEN",
    "BoxValue",
    "ChildBoxes",
    "Columns",
    "Evidence",
    "Kind",
    "PointAt",
    "Reader",
    "RowNames",
    "json_of",
    "text_of",
]

FORMAT, FORMAT_VERSION = "mmbn_opt/tree", 1

DEAD, OPEN, CLOSED = 0, 1, 2
"""Fates of the columns of a node that parts a box."""

_U16, _U32, _U64, _F32, _F64 = (np.dtype(f"<{code}") for code in ("u2", "u4", "u8", "f4", "f8"))
_FLOATS = {4: _F32, 8: _F64}
_WIDTHS = {2: _U16, 4: _U32}


class Kind(IntEnum):
    """Kinds of records."""

    HEADER = 1
    SESSION = 2
    LAYOUT = 3
    POINT = 4
    ROW = 5
    BOUND = 6
    FIX = 7
    EXCLUDE = 8
    SPLIT = 9
    CLOSE = 10
    DROP = 11
    EMPTY = 12
    BRANCHING = 13
    INCUMBENT = 14
    PROGRESS = 15
    ROOT = 16
    END = 17


class Reader:
    """Takes a payload apart from its beginning."""

    def __init__(self, payload: bytes) -> None:
        self._payload, self._at = payload, 0

    def one(self, layout: str) -> tuple[Any, ...]:
        """The values of a struct."""
        size = struct.calcsize(layout)
        return struct.unpack(layout, self._take(size))

    def many(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        """An array."""
        return np.frombuffer(self._take(kind.itemsize * count), dtype=kind)

    def floats(self, width: int, count: int) -> FloatArray:
        """Numbers of 4 or 8 bytes, as doubles."""
        if width not in _FLOATS:
            raise FormatError(f"A record has numbers of {width} bytes; there are 4 and 8.")
        return self.many(_FLOATS[width], count).astype(np.float64)

    def _take(self, size: int) -> bytes:
        piece = self._payload[self._at : self._at + size]
        if len(piece) < size:
            raise FormatError("A record is shorter than what it says.")
        self._at += size
        return piece

    def end(self) -> None:
        """Nothing may be left."""
        if self._at != len(self._payload):
            raise FormatError("A record is longer than what it says.")


def json_of(payload: bytes) -> Any:
    """Value of a JSON payload."""
    try:
        return json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"A record is not JSON: {error}") from error


def text_of(content: Any) -> bytes:
    """JSON payload of a value."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


@dataclass(frozen=True, eq=False)
class RowNames:
    """Rows by name: cuts by point and group, then others by number.

    Parameters
    ----------
    points, groups : int array (n_cuts,)
    others : int array (n_others,)
    """

    points: NDArray[np.int64]
    groups: NDArray[np.int64]
    others: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.points) + len(self.others)

    @classmethod
    def sorted(cls, points: NDArray[np.int64], names: NDArray[np.int64]) -> tuple["RowNames", NDArray[np.intp]]:
        """From unsorted rows; the order too. ``points`` is -1 where `names` are numbers of others, else groups."""
        order = np.argsort(np.where(points < 0, np.iinfo(np.int64).max, points), kind="stable")
        points, names = points[order], names[order]
        cuts = int(np.count_nonzero(points >= 0))
        return cls(points[:cuts], names[:cuts], names[cuts:]), order

    def encode(self) -> bytes:
        """As bytes."""
        new = np.flatnonzero(np.diff(self.points, prepend=-1))
        counts = np.diff(new, append=len(self.points))
        parts = [
            struct.pack("<H", len(new)), self.points[new].astype(_U32).tobytes(), counts.astype(_U16).tobytes(),
            self.groups.astype(_U16).tobytes(), struct.pack("<H", len(self.others)), self.others.astype(_U32).tobytes(),
        ]  # fmt: skip
        return b"".join(parts)

    @classmethod
    def decode(cls, reader: Reader) -> "RowNames":
        """From bytes."""
        (count,) = reader.one("<H")
        points = reader.many(_U32, count).astype(np.int64)
        each = reader.many(_U16, count).astype(np.int64)
        groups = reader.many(_U16, int(each.sum())).astype(np.int64)
        (count,) = reader.one("<H")
        return cls(np.repeat(points, each), groups, reader.many(_U32, count).astype(np.int64))


@dataclass(frozen=True, eq=False)
class PointAt:
    """A point: its number, and the entries that are not zero."""

    number: int
    columns: NDArray[np.uint32]
    values: FloatArray

    def encode(self, width: int) -> bytes:
        """As bytes, with floats of `width` bytes."""
        narrow = 2 if int(self.columns.max(initial=0)) < 2**16 else 4
        head = struct.pack("<IBBI", self.number, width, narrow, len(self.columns))
        return head + self.columns.astype(_WIDTHS[narrow]).tobytes() + self.values.astype(_FLOATS[width]).tobytes()

    @classmethod
    def decode(cls, payload: bytes) -> "PointAt":
        """From bytes."""
        reader = Reader(payload)
        number, width, narrow, count = reader.one("<IBBI")
        if narrow not in _WIDTHS:
            raise FormatError(f"A point has columns of {narrow} bytes; there are 2 and 4.")
        columns = reader.many(_WIDTHS[narrow], count).astype(np.uint32)
        values = reader.floats(width, count)
        reader.end()
        return cls(number, columns, values)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows and multipliers for a box; BOUND, EMPTY and BRANCHING."""

    box: int
    rows: RowNames
    multipliers: FloatArray
    claimed: float = 0.0
    hub: int = 0

    def encode(self, kind: Kind, width: int) -> bytes:
        """As bytes."""
        parts = [struct.pack("<Q", self.box)]
        if kind is not Kind.EMPTY:
            parts.append(struct.pack("<d", self.claimed))
        if kind is Kind.BRANCHING:
            parts.append(struct.pack("<I", self.hub))
        parts += [struct.pack("<B", width), self.rows.encode(), self.multipliers.astype(_FLOATS[width]).tobytes()]
        return b"".join(parts)

    @classmethod
    def decode(cls, kind: Kind, payload: bytes) -> "Evidence":
        """From bytes."""
        reader = Reader(payload)
        (box,) = reader.one("<Q")
        claimed = 0.0 if kind is Kind.EMPTY else reader.one("<d")[0]
        hub = reader.one("<I")[0] if kind is Kind.BRANCHING else 0
        (width,) = reader.one("<B")
        rows = RowNames.decode(reader)
        multipliers = reader.floats(width, len(rows))
        reader.end()
        return cls(box, rows, multipliers, claimed, hub)


@dataclass(frozen=True, eq=False)
class ChildBoxes:
    """Columns of a node by which a box is parted (SPLIT), or that are taken from it (EXCLUDE).

    Parameters
    ----------
    box, node, first : int
    columns : int array (n,)
    fates : uint8 array (n,)
    claimed : float64 array (n,)
    rows : RowNames
    multipliers : float64 array (n_not_dead, n_rows)
    """

    box: int
    node: int
    first: int
    columns: NDArray[np.int64]
    fates: NDArray[np.uint8]
    claimed: FloatArray
    rows: RowNames
    multipliers: FloatArray

    def encode(self, width: int) -> bytes:
        """As bytes."""
        used = self.multipliers > 0
        parts = [
            struct.pack("<QIQI", self.box, self.node, self.first, len(self.columns)),
            self.columns.astype(_U32).tobytes(), self.fates.tobytes(), self.claimed.astype(_F64).tobytes(),
            struct.pack("<B", width), self.rows.encode(), np.packbits(used, axis=1, bitorder="little").tobytes(),
            self.multipliers[used].astype(_FLOATS[width]).tobytes(),
        ]  # fmt: skip
        return b"".join(parts)

    @classmethod
    def decode(cls, payload: bytes, *, multipliers: bool = True) -> "ChildBoxes":
        """From bytes; without `multipliers`, rows and multipliers are left out."""
        reader = Reader(payload)
        box, node, first, count = reader.one("<QIQI")
        columns = reader.many(_U32, count).astype(np.int64)
        fates = reader.many(np.dtype("u1"), count)
        claimed = reader.many(_F64, count).astype(np.float64)
        if not multipliers:
            none = np.zeros(0, dtype=np.int64)
            return cls(box, node, first, columns, fates, claimed, RowNames(none, none, none), np.zeros((0, 0)))
        (width,) = reader.one("<B")
        rows = RowNames.decode(reader)
        alive, across = int(np.count_nonzero(fates)), -(-len(rows) // 8)
        packed = reader.many(np.dtype("u1"), alive * across).reshape(alive, across)
        used: BoolArray = np.unpackbits(packed, axis=1, count=len(rows), bitorder="little").astype(bool)
        lam = np.zeros((alive, len(rows)))
        lam[used] = reader.floats(width, int(np.count_nonzero(used)))
        reader.end()
        return cls(box, node, first, columns, fates, claimed, rows, lam)

    @staticmethod
    def rows_of(payload: bytes) -> RowNames:
        """The rows alone."""
        reader = Reader(payload)
        *_, count = reader.one("<QIQI")
        reader.many(np.dtype("u1"), 13 * count + 1)
        return RowNames.decode(reader)


@dataclass(frozen=True)
class BoxValue:
    """A box and a value that is claimed; CLOSE and DROP."""

    box: int
    claimed: float

    def encode(self) -> bytes:
        """As bytes."""
        return struct.pack("<Qd", self.box, self.claimed)

    @classmethod
    def decode(cls, payload: bytes) -> "BoxValue":
        """From bytes."""
        reader = Reader(payload)
        found = reader.one("<Qd")
        reader.end()
        return cls(*found)


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns that are taken from a box, and the least of the values that are claimed; FIX."""

    box: int
    least: float
    columns: NDArray[np.int64]

    def encode(self) -> bytes:
        """As bytes."""
        head = struct.pack("<QdI", self.box, self.least, len(self.columns))
        return head + self.columns.astype(_U32).tobytes()

    @classmethod
    def decode(cls, payload: bytes) -> "Columns":
        """From bytes."""
        reader = Reader(payload)
        box, least, count = reader.one("<QdI")
        columns = reader.many(_U32, count).astype(np.int64)
        reader.end()
        return cls(box, least, columns)
