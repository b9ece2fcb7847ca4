"""Records of a tree file that tell where its search stands and prove nothing."""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.programs.tree_records import Reader

__all__ = ["Incumbent", "Progress"]


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A better choice."""

    seconds: float
    objective: float
    choice: NDArray[np.int64]

    def encode(self) -> bytes:
        """As bytes."""
        head = struct.pack("<ddI", self.seconds, self.objective, len(self.choice))
        return head + self.choice.astype(np.dtype("<u4")).tobytes()

    @classmethod
    def decode(cls, payload: bytes) -> "Incumbent":
        """From bytes."""
        reader = Reader(payload)
        seconds, objective, count = reader.one("<ddI")
        choice = reader.many(np.dtype("<u4"), count).astype(np.int64)
        reader.end()
        return cls(seconds, objective, choice)


@dataclass(frozen=True)
class Progress:
    """Where a search stands; NaN where there is no value."""

    seconds: float
    objective: float
    bound: float
    boxes: int
    pivots: int

    def encode(self) -> bytes:
        """As bytes."""
        return struct.pack("<dddQQ", self.seconds, self.objective, self.bound, self.boxes, self.pivots)

    @classmethod
    def decode(cls, payload: bytes) -> "Progress":
        """From bytes."""
        reader = Reader(payload)
        found = reader.one("<dddQQ")
        reader.end()
        return cls(*found)
