"""The boxes of one tree: what is open, what is looked at, and what is closed is worth; shared by all who search it."""

import math
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray
from mmbn_opt.programs.deep_boxes import DeepBoxes
from mmbn_opt.programs.tree_log import TreeLog
from mmbn_opt.programs.tree_records import Kind

__all__ = ["TreeLedger"]


class TreeLedger:
    """Boxes by number; box 0 is the root.

    Attributes
    ----------
    closed : float
        Least value of all that is closed.
    taken : dict
        Values of the boxes that somebody looks at; inf for those that turned out empty.
    counts : dict
    log : TreeLog or None
        What is told of it.
    lock : RLock
        Held by whoever changes what others see.
    """

    def __init__(self) -> None:
        self._open: dict[int, tuple[float, NDArray[np.uint8]]] = {}
        self._least: list[tuple[float, int]] = []
        self._deep: DeepBoxes | None = None
        self._next = 1
        self.closed = math.inf
        self.taken: dict[int, float] = {0: -math.inf}
        self.counts = {"bounds": 0, "fixed_columns": 0, "closed_boxes": 0, "cuts": 0}
        self.log: TreeLog | None = None
        self.lock = RLock()

    def fork(self) -> "TreeLedger":
        """Another ledger in the same state, but for its log."""
        twin = TreeLedger()
        twin._open, twin._next, twin.closed = dict(self._open), self._next, self.closed
        twin._least = list(self._least)
        twin.taken, twin.counts = dict(self.taken), dict(self.counts)
        return twin

    @property
    def n_open(self) -> int:
        """Boxes that nobody looks at yet."""
        return len(self._open) + (0 if self._deep is None else len(self._deep))

    @property
    def deep_least(self) -> float:
        """Least value of the boxes that wait on the disk."""
        return math.inf if self._deep is None else self._deep.least

    def values(self) -> Iterator[tuple[int, float]]:
        """Number and value of each open box in memory."""
        return ((number, value) for number, (value, _) in self._open.items())

    def boxes(self) -> Iterator[tuple[int, float, NDArray[np.uint8]]]:
        """Number, value and bits of each open box in memory."""
        return ((number, value, bits) for number, (value, bits) in self._open.items())

    @property
    def next_number(self) -> int:
        """Number of the next box."""
        return self._next

    def add(self, value: float, allowed: BoolArray) -> int:
        """A box is open; its number."""
        number, self._next = self._next, self._next + 1
        self._put(number, value, np.packbits(allowed))
        return number

    def put_back(self, number: int, value: float, allowed: BoolArray) -> None:
        """A box that was known before is open."""
        self._put(number, value, np.packbits(allowed))
        self._next = max(self._next, number + 1)

    def put_away(self, numbers: list[int], places: list[int], depths: list[int], deep: DeepBoxes) -> None:
        """Open boxes, by value, wait on the disk from here on, with where they were written and their depths.

        `deep` is where, the same at each call.

        Raises
        ------
        OSError
            If there is no room; they are where they were.
        """
        with self.lock:
            boxes = np.empty(len(numbers), dtype=deep.record)
            boxes["number"], boxes["place"], boxes["depth"] = numbers, places, depths
            boxes["value"] = [self._open[number][0] for number in numbers]
            boxes["bits"] = [self._open[number][1] for number in numbers]
            deep.add(boxes)
            self._deep = deep
            for number in numbers:
                del self._open[number]
            self._least = [(value, number) for number, (value, _) in self._open.items()]
            heapify(self._least)

    def bring_back(self, count: int) -> NDArray[np.void]:
        """At most so many boxes, the best among them, that waited on the disk are in memory again."""
        with self.lock:
            assert self._deep is not None
            boxes = self._deep.take(count)
            for number, box in zip(boxes["number"].tolist(), boxes, strict=True):
                self._put(number, float(box["value"]), box["bits"].copy())
        return boxes

    def _put(self, number: int, value: float, bits: NDArray[np.uint8]) -> None:
        with self.lock:
            self._open[number] = (value, bits)
            heappush(self._least, (value, number))

    def reserve(self, count: int) -> int:
        """So many numbers that no box will get from here; the first."""
        with self.lock:
            number, self._next = self._next, self._next + count
        return number

    def forget(self, number: int) -> None:
        """An open box is somebody else's matter."""
        del self._open[number]

    def bits(self, number: int) -> NDArray[np.uint8]:
        """Columns of an open box, packed."""
        return self._open[number][1]

    def mirror(self, number: int, value: float, bits: NDArray[np.uint8]) -> None:
        """A box that is open with somebody who told its number."""
        self._put(number, value, bits)

    def count(self, what: str, number: int) -> None:
        """So many more of something."""
        with self.lock:
            self.counts[what] += number

    def number_from(self, number: int) -> None:
        """Number boxes from there on."""
        self._next = number

    def take(self, number: int, n_columns: int) -> tuple[float, BoolArray]:
        """Look at a box."""
        with self.lock:
            value, packed = self._open.pop(number)
            self.taken[number] = value
        return value, np.unpackbits(packed, count=n_columns).astype(bool)

    def put_down(self, number: int, value: float, bits: NDArray[np.uint8]) -> None:
        """A box that was looked at is open again."""
        with self.lock:
            del self.taken[number]
            self._put(number, value, bits)

    def close_at(self, value: float) -> None:
        """Something that is worth at least `value` is not looked at any more."""
        with self.lock:
            self.closed = min(self.closed, value)

    def drop(self, number: int) -> None:
        """Close an open box at its value."""
        with self.lock:
            value, _ = self._open.pop(number)
            self.closed = min(self.closed, value)
            self.counts["closed_boxes"] += 1
            if self.log is not None:
                self.log.close(Kind.DROP, number, value)

    @property
    def bound(self) -> float:
        """What no choice of the program can beat, as loss."""
        with self.lock:
            # Boxes leave the heap when they come to its top: looking through all of them would take longer and longer.
            while self._least and self._open.get(self._least[0][1], (math.nan,))[0] != self._least[0][0]:
                heappop(self._least)
            least = self._least[0][0] if self._least else math.inf
            return min(least, self.deep_least, min(self.taken.values(), default=math.inf), self.closed)
