"""Open boxes of a search in the order of their bounds, and what each starts from."""

import heapq
import math
from collections.abc import Collection, Iterable, Mapping
from threading import Condition

import numpy as np

from ...._arrays import FloatArray
from ....programs.deep_boxes import DeepBoxes
from ....programs.tree_ledger import TreeLedger
from ....programs.tree_replay import Origin
from ....results.status import TerminationStatus
from ...journal import Ended
from ._families import Families, Family, Parted, Written, family_of
from ._keeping import Keeper
from ._pool import RowPool, Slots
from ._recipes import Recipe, Start

__all__ = ["Frontier", "Waiting"]

RECIPES = 4096
"""So many boxes at most take with them what they start from, where many go at once."""

Waiting = tuple[float, int, int, Family]
"""Bound, number, place in the family, family."""

_NO_ROWS: Slots = np.zeros(0, dtype=np.int64)


class Frontier:
    """Boxes that wait, for any number of searchers.

    Parameters
    ----------
    pool : RowPool
    row_limit : int
        Rows alive at most; above, those of the least promising boxes are dropped, to be made again when needed.
    keeper : Keeper or None
        Of the tree file.
    box_limit : int
        Boxes in memory at most; above, the less promising half of those that were written waits on the disk.

    Attributes
    ----------
    deep : int
        Boxes that were put away so.
    busy : int
        Boxes that were popped and are not done.
    away : int
        Boxes of the tree that others search.
    """

    def __init__(self, pool: RowPool, row_limit: int, keeper: Keeper | None, box_limit: int = 10**9) -> None:
        self._pool, self._row_limit, self._keeper = pool, row_limit, keeper
        self._box_limit = box_limit
        self._ledger = pool.proof.ledger
        self._deep = DeepBoxes(pool.program.n_columns, None if keeper is None else keeper.folder)
        self._next_look = box_limit
        self.deep = 0
        self._heap: list[Waiting] = []
        self._lock = Condition()
        self.busy = self.away = 0
        self.dropped = 0
        self.remade = 0

    def __len__(self) -> int:
        return len(self._heap)

    def resume(self, ledger: TreeLedger, origins: Mapping[int, Origin], slots: Slots) -> None:
        """The open boxes of a tree that was written before; `slots` are the rows of the root."""
        boxes = (Parted(n, value, origins[n].place, origins[n].depth) for n, value in ledger.values())
        self.take_in(boxes, slots)

    def take_in(self, boxes: Iterable[Parted], slots: Slots) -> None:
        """Boxes that were made elsewhere.

        Those that bring no rows, and are in no file, start from the rows of the root, which are `slots`. Who searched
        them lets go of them.
        """
        with self._lock:
            families: Families = {}
            for box in boxes:
                family = family_of(families, box, slots)
                heapq.heappush(self._heap, (box.value, box.number, family.open_boxes - 1, family))
            for family in families.values():
                if isinstance(family.rows, np.ndarray):
                    self._pool.hold(slots)
            self._keep_few()
            self._lock.notify_all()

    def deal(self, count: int, most: int) -> list[list[Parted]]:
        """So many piles of at most so many waiting boxes for others, who have them from here on.

        Of the best boxes as many stay as go into each pile.
        """
        with self._lock:
            self._heap.sort()
            best, rest = self._heap[: most * (count + 1)], self._heap[most * (count + 1) :]
            piles = [best[which :: count + 1] for which in range(count + 1)]
            self._heap = piles.pop(0) + rest
            self.away += sum(map(len, piles))
            return [self._let_go(pile) for pile in piles]

    def give_back(self, numbers: Collection[int]) -> list[Parted]:
        """Let go of those of the boxes that wait here."""
        with self._lock:
            mine = [waiting for waiting in self._heap if waiting[1] in numbers]
            self._heap = [waiting for waiting in self._heap if waiting[1] not in numbers]
            heapq.heapify(self._heap)
            return self._let_go(mine)

    def best(self, count: int) -> list[Parted]:
        """So many of the boxes that wait, best first; they wait on."""
        with self._lock:
            return self._described(heapq.nsmallest(count, self._heap))

    def _let_go(self, boxes: list[Waiting]) -> list[Parted]:
        described = self._described(boxes)
        for *_, family in boxes:
            self._one_less(family)
        return described

    def _described(self, boxes: list[Waiting]) -> list[Parted]:
        """As others need to know them; the best with how to make their rows."""
        recipes: dict[int, Recipe] = {}
        for *_, family in heapq.nsmallest(RECIPES, boxes):
            if id(family) not in recipes:
                recipes[id(family)] = self._recipe(family)
        described = []
        for value, number, place, family in boxes:
            rows = recipes.get(id(family))
            basis = None if family.bases is None else family.bases[place]
            start = None if rows is None else Start(rows, basis)
            described.append(Parted(number, value, family.place, family.depth + 1, start))
        return described

    def _recipe(self, family: Family) -> Recipe:
        """How to make the rows that bind at the parent."""
        match family.rows:
            case Written(place):
                assert self._keeper is not None
                return self._keeper.rows_at(place, self._pool)
            case Recipe():
                return family.rows
        return self._pool.recipe(family.rows if family.bases is None else family.rows[family.ages == 0])

    def are_away(self, count: int) -> None:
        """So many boxes of the tree are searched by others."""
        with self._lock:
            self.away = count
            self._lock.notify_all()

    def push(self, family: Family, bounds: FloatArray, numbers: list[int]) -> None:
        """Boxes of a family, whose rows are held from here on."""
        with self._lock:
            assert isinstance(family.rows, np.ndarray)
            self._pool.hold(family.rows)
            for place, (bound, number) in enumerate(zip(bounds.tolist(), numbers, strict=True)):
                heapq.heappush(self._heap, (bound, number, place, family))
            if self._pool.n_rows > self._row_limit:
                self._drop_rows()
            self._keep_few()
            self._lock.notify_all()

    def pop(self) -> Waiting | None:
        """The box with the least bound."""
        with self._lock:
            if self._ledger.deep_least < (self._heap[0][0] if self._heap else math.inf):
                self._bring_back()
            if not self._heap:
                return None
            self.busy += 1
            return heapq.heappop(self._heap)

    def depths(self) -> dict[int, int]:
        """Of each box that waits here."""
        with self._lock:
            return {number: family.depth + 1 for _, number, _, family in self._heap}

    @property
    def exhausted(self) -> bool:
        """Whether no box waits and nobody is at one, here or elsewhere."""
        with self._lock:
            return not (self._heap or self.busy or self.away) and math.isinf(self._ledger.deep_least)

    @property
    def least(self) -> float:
        """Least bound of the boxes that wait in memory."""
        with self._lock:
            return self._heap[0][0] if self._heap else math.inf

    @property
    def hungry(self) -> bool:
        """Whether nothing waits."""
        with self._lock:
            return not self._heap and math.isinf(self._ledger.deep_least)

    def wait(self, seconds: float) -> None:
        """Until boxes come or go, or so long."""
        with self._lock:
            if not self._heap and math.isinf(self._ledger.deep_least):
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
        if isinstance(rows, Written):
            assert self._keeper is not None
            rows = self._keeper.rows_at(rows.place, pool)
        made = pool.make(rows)
        with self._lock:
            if not isinstance(family.rows, np.ndarray):
                family.rows = made
                self.remade += 1
                pool.hold(made)
                return made
        pool.release(made)  # another searcher made them meanwhile: his rows count
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
            self._one_less(family)
            self._lock.notify_all()

    def _one_less(self, family: Family) -> None:
        family.open_boxes -= 1
        if family.open_boxes == 0 and isinstance(family.rows, np.ndarray):
            self._pool.release(family.rows)

    def _drop_rows(self) -> None:
        """Drop the rows of that half of the families whose boxes have the weakest claim to be looked at."""
        families = {id(family): family for *_, family in self._heap if isinstance(family.rows, np.ndarray)}
        live = sorted(families.values(), key=lambda family: family.least)
        for family in live[len(live) // 2 :]:
            assert isinstance(family.rows, np.ndarray)
            family.rows = self._pool.put_away(family.rows)
            self.dropped += 1

    @property
    def most(self) -> float:
        """Boxes that may be in memory before some wait on the disk; inf where there is none for them."""
        return math.inf if self._keeper is None else self._box_limit

    def _keep_few(self) -> None:
        if len(self._heap) > self._next_look and self._keeper is not None:
            self._put_away()

    def _put_away(self) -> None:
        """Let the weaker half of the boxes wait on the disk, as far as their rows are written."""
        self._heap.sort()
        half = self._box_limit // 2
        weak = self._heap[half:]
        gone = [waiting for waiting in weak if waiting[3].place >= 0]
        self._heap[half:] = [waiting for waiting in weak if waiting[3].place < 0]
        # What cannot go is not looked through again at each box.
        self._next_look = max(self._box_limit, 2 * len(self._heap))
        numbers, families = [number for _, number, _, _ in gone], [family for *_, family in gone]
        places, depths = [family.place for family in families], [family.depth for family in families]
        try:
            self._ledger.put_away(numbers, places, depths, self._deep)
        except OSError as error:
            self._heap += gone
            heapq.heapify(self._heap)
            words = f"open boxes beyond the memory limit could not be written: {error.strerror or error}"
            raise Ended(TerminationStatus.INTERRUPTED, words) from error
        self.deep += len(gone)
        for family in families:
            self._one_less(family)

    def _bring_back(self) -> None:
        """Boxes that waited on the disk, the best of all among them."""
        boxes = self._ledger.bring_back(max(1, self._box_limit // 8))
        families: Families = {}
        for value, number, place, depth in boxes[["value", "number", "place", "depth"]].tolist():
            family = family_of(families, Parted(number, value, place, depth + 1), _NO_ROWS)
            heapq.heappush(self._heap, (value, number, 0, family))
