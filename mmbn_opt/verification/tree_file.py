"""The records of a tree file, as docs/tree-file.md has them; from the first on that is not whole, nothing counts."""

import json
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.exceptions import FormatError
from mmbn_opt.rigour.frames import beginning, frames

__all__ = ["Evidence", "Kind", "Row", "records"]

BEGINS = b"\x89MMBNT\r\n\x01\0\0\0\0\0\0\0"
"""With the version of the format, 1."""

OFTEN = 1024
"""Records from one word about how far it is to the next."""

Row = tuple[int, int]
"""A cut by the numbers of its point and group, another row as -1 and its number."""

Kind = IntEnum(
    "Kind",
    "HEADER SESSION LAYOUT POINT ROW BOUND FIX EXCLUDE SPLIT CLOSE DROP EMPTY BRANCHING INCUMBENT PROGRESS ROOT END",
)


class Evidence(NamedTuple):
    """Rows and multipliers (n_boxes, n_rows)."""

    rows: list[Row]
    multipliers: NDArray[np.float64]


class _Payload:
    """The bytes of a record, taken from the front."""

    def __init__(self, data: bytes) -> None:
        self.data, self._at = data, 0

    def array(self, kind: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self.data, kind, count, self._at)
        self._at += found.nbytes
        return found

    def numbers(self, *kinds: str) -> list[Any]:
        return [self.array(kind, 1)[0].item() for kind in kinds]

    def rows(self) -> list[Row]:
        (p,) = self.numbers("<u2")
        points, counts = self.array("<u4", p), self.array("<u2", p)
        groups = self.array("<u2", int(counts.sum()))
        others = self.array("<u4", *self.numbers("<u2"))
        cuts = zip(np.repeat(points, counts).tolist(), groups.tolist(), strict=True)
        return [*cuts, *((-1, number) for number in others.tolist())]


def _decoded(kind: int, p: _Payload) -> Any:
    """What a record says; of one about a box the box comes first, and None of one that proves nothing."""
    if kind == Kind.LAYOUT:
        return p.array("<u2", p.numbers("<u4", "<u4")[1])
    if kind == Kind.POINT:
        number, width, size, n = p.numbers("<u4", "u1", "u1", "<u4")
        return number, p.array(f"<u{size}", n), p.array(f"<f{width}", n).astype(np.float64)
    if kind == Kind.ROW:
        return json.loads(p.data)
    if kind in (Kind.BOUND, Kind.EMPTY, Kind.BRANCHING):
        kinds = {Kind.BOUND: ("<f8",), Kind.EMPTY: (), Kind.BRANCHING: ("<f8", "<u4")}[Kind(kind)]
        box, *claimed = p.numbers("<u8", *kinds)
        (width,), rows = p.numbers("u1"), p.rows()
        return box, *claimed, Evidence(rows, p.array(f"<f{width}", len(rows))[None].astype(np.float64))
    if kind == Kind.FIX:
        box, claimed, n = p.numbers("<u8", "<f8", "<u4")
        return box, claimed, p.array("<u4", n)
    if kind in (Kind.EXCLUDE, Kind.SPLIT):
        box, node, first, n = p.numbers("<u8", "<u4", "<u8", "<u4")
        columns, fates, values = p.array("<u4", n), p.array("u1", n), p.array("<f8", n)
        (width,), rows = p.numbers("u1"), p.rows()
        alive, size = int(np.count_nonzero(fates)), -(-len(rows) // 8)
        octets: NDArray[np.uint8] = p.array("u1", alive * size).reshape(alive, size)
        bits = np.unpackbits(octets, axis=1, bitorder="little")
        multipliers = bits[:, : len(rows)].astype(np.float64)
        multipliers[multipliers > 0] = p.array(f"<f{width}", int(multipliers.sum()))
        return box, node, first, columns, fates, values, Evidence(rows, multipliers)
    if kind in (Kind.CLOSE, Kind.DROP):
        return tuple(p.numbers("<u8", "<f8"))
    if kind == Kind.INCUMBENT:
        return p.array("<u4", p.numbers("<f8", "<f8", "<u4")[2]).tolist()
    if kind not in set(Kind) - {Kind.HEADER}:
        raise FormatError(f"The tree file has a record of the unknown kind {kind}.")
    return None


def records(path: Path, told: Callable[[int, float], object] | None = None) -> Iterator[tuple[int, Any]]:
    """Kind and content of each record; the first is the header. `told` hears now and then of how far it is."""
    if beginning(path) != BEGINS:
        raise FormatError(f"{path} is no tree file of version 1, and no proof file. Give the folder of a --checkpoint.")
    size, done = path.stat().st_size, 0
    for number, (kind, payload) in enumerate(frames(path)):
        done += len(payload)
        if told is not None and number % OFTEN == OFTEN - 1:
            told(number + 1, min(done / size, 1.0))
        if (number == 0) != (kind == Kind.HEADER):
            raise FormatError(f"{path} does not begin with its only header.")
        yield kind, json.loads(payload) if number == 0 else _decoded(kind, _Payload(payload))
