"""Open boxes of a search in the order of their bounds, and what each starts from."""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Condition
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...._arrays import FloatArray
from ....programs.tree_ledger import TreeLedger
from ....programs.tree_replay import Origin
from ._pool import Recipe, RowPool, Slots

__all__ = ["Family", "Frontier", "Recall", "Waiting", "Written"]


class Written(NamedTuple):
    """Rows that stand in the tree file, where a box was parted."""

    place: int


@dataclass(eq=False)
class Family:
    """What open boxes of one parent start from: rows of the parent, and a basis each.

    Parameters
    ----------
    rows : int array, Recipe or Written
        Slots, held by the family; or how to make them. First those that bind at the parent.
    ages : int8 array (n_rows,)
        At how many boxes, one below the other, a row has been idle; rows that were written are taken to bind.
    bases : int array (n_boxes, height) or None
        In the numbers of `tableau_of`. None: the boxes start from the root's tableau.
    depth, open_boxes : int
    least : float
        Least bound of the boxes.
    """

    rows: Slots | Recipe | Written
    ages: NDArray[np.int8]
    bases: NDArray[np.integer] | None
    depth: int
    open_boxes: int
    least: float


Waiting = tuple[float, int, int, Family]
"""Bound, number, place in the family, family."""

Recall = Callable[[int, RowPool], Slots]
"""Makes the rows that were written at a place of the tree file, for a pool."""


class Frontier:
    """Boxes that wait, for any number of searchers.

    Parameters
    ----------
    pool : RowPool
    row_limit : int
        Rows alive at most; above, those of the least promising boxes are dropped, to be made again when needed.
    recall : Recall or None

    Attributes
    ----------
    busy : int
        Boxes that were popped and are not done.
    """

    def __init__(self, pool: RowPool, row_limit: int, recall: Recall | None) -> None:
        self._pool, self._row_limit, self._recall = pool, row_limit, recall
        self._heap: list[Waiting] = []
        self._lock = Condition()
        self.busy = 0
        self.dropped = 0
        self.remade = 0

    def __len__(self) -> int:
        return len(self._heap)

    def resume(self, ledger: TreeLedger, origins: Mapping[int, Origin], slots: Slots) -> None:
        """The open boxes of a tree that was written before; `slots` are the rows of the root."""
        families: dict[int, Family] = {}
        for number, value in ledger.values():
            place, depth = origins[number].place, origins[number].depth
            if place not in families:
                rows = slots if place < 0 else Written(place)
                families[place] = Family(rows, np.zeros(0, dtype=np.int8), None, depth - 1, 0, value)
            family = families[place]
            family.open_boxes += 1
            family.least = min(family.least, value)
            self._heap.append((value, number, 0, family))
        if -1 in families:
            self._pool.hold(slots)
        heapq.heapify(self._heap)

    def push(self, family: Family, bounds: FloatArray, numbers: list[int]) -> None:
        """Boxes of a family, whose rows are held from here on."""
        with self._lock:
            assert isinstance(family.rows, np.ndarray)
            self._pool.hold(family.rows)
            for place, (bound, number) in enumerate(zip(bounds.tolist(), numbers, strict=True)):
                heapq.heappush(self._heap, (bound, number, place, family))
            if self._pool.n_rows > self._row_limit:
                self._drop_rows()
            self._lock.notify_all()

    def pop(self) -> Waiting | None:
        """The box with the least bound."""
        with self._lock:
            if not self._heap:
                return None
            self.busy += 1
            return heapq.heappop(self._heap)

    @property
    def exhausted(self) -> bool:
        """Whether no box waits and nobody is at one."""
        with self._lock:
            return not self._heap and not self.busy

    def wait(self, seconds: float) -> None:
        """Until boxes come or go, or so long."""
        with self._lock:
            if not self._heap:
                self._lock.wait(seconds)

    def wake(self) -> None:
        """Let all who wait look around."""
        with self._lock:
            self._lock.notify_all()

    def rows_of(self, family: Family, pool: RowPool) -> Slots:
        """Rows that boxes of a family start from, held for who asks; made again, by `pool`, if they were dropped."""
        rows = self._held_rows(family)
        if isinstance(rows, np.ndarray):
            return rows
        if isinstance(rows, Recipe):
            made = pool.make(rows)
        else:
            assert self._recall is not None
            made = self._recall(rows.place, pool)
        with self._lock:
            if family.rows is rows:
                family.rows = made
                self.remade += 1
                pool.hold(made)
                return made
        # Another searcher made them meanwhile: his rows count.
        pool.release(made if isinstance(rows, Written) else made[rows.which >= 0])
        return self.rows_of(family, pool)

    def _held_rows(self, family: Family) -> Slots | Recipe | Written:
        with self._lock:
            if isinstance(family.rows, np.ndarray):
                self._pool.hold(family.rows)
            return family.rows

    def done(self, family: Family) -> None:
        """One box of a family less."""
        with self._lock:
            self.busy -= 1
            family.open_boxes -= 1
            if family.open_boxes == 0 and not isinstance(family.rows, Written):
                self._pool.release(family.rows.held if isinstance(family.rows, Recipe) else family.rows)
            self._lock.notify_all()

    def _drop_rows(self) -> None:
        """Drop the rows of that half of the families whose boxes have the weakest claim to be looked at."""
        families = {id(family): family for *_, family in self._heap if isinstance(family.rows, np.ndarray)}
        live = sorted(families.values(), key=lambda family: family.least)
        for family in live[len(live) // 2 :]:
            assert isinstance(family.rows, np.ndarray)
            family.rows = self._pool.put_away(family.rows)
            self.dropped += 1
