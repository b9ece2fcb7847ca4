"""Rows in loss form under numbers that the search, its tableaux and the proof share."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import RLock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ...._arrays import FloatArray
from ....programs.choice import ChoiceProgram, ConcaveTerm, GroupsAlone
from ....programs.side import SideRow
from ....programs.tree_proof import TreeProof
from ....programs.tree_rows import Point
from ._recipes import Recipe
from .clusters import ClusterSeparator

__all__ = ["RowPool", "Shelf", "Slots"]

Slots = NDArray[np.int64]

_NO_ROWS: Slots = np.zeros(0, dtype=np.int64)

SIDE_TOLERANCE = 1e-6
"""Relative violation from which on a row of a side constraint is worth its place at the root."""


class Shelf:
    """Which slots are given out, to how many holders, and the names of rows that have one."""

    def __init__(self, size: int = 256) -> None:
        self.holders = np.zeros(size, dtype=np.int64)
        self._free, self._n_free = np.arange(size - 1, -1, -1), size  # a stack, with room for all
        self.known: dict[Hashable, int] = {}
        self.name_of: dict[int, Hashable] = {}
        self._points: WeakValueDictionary[bytes, Point] = WeakValueDictionary()

    def copy(self) -> "Shelf":
        """The same state, apart from this."""
        twin = Shelf(0)
        twin.holders, twin._free, twin._n_free = self.holders.copy(), self._free.copy(), self._n_free
        twin.known, twin.name_of = dict(self.known), dict(self.name_of)
        return twin

    def take(self, count: int) -> Slots:
        """Free slots, each with one holder from here on."""
        if self._n_free < count:
            size = len(self.holders)
            more = max(count, size // 2)
            self.holders = np.concatenate([self.holders, np.zeros(more, dtype=np.int64)])
            self._free = np.concatenate([np.arange(size + more - 1, size - 1, -1), self._free])
            self._n_free += more
        self._n_free -= count
        slots: Slots = self._free[self._n_free : self._n_free + count][::-1].copy()
        self.holders[slots] = 1
        return slots

    @property
    def in_use(self) -> int:
        """How many slots are given out."""
        return len(self.holders) - self._n_free

    def call(self, slot: int, key: Hashable) -> None:
        """Give a row a name, unless it or the name is taken."""
        if key not in self.known and slot not in self.name_of:
            self.known[key], self.name_of[slot] = slot, key

    def the_one(self, point: Point) -> Point:
        """Of equal points the one that was here first."""
        first = self._points.setdefault(point.key, point)
        if first.number < 0:
            first.number = point.number
        return first

    def give_back(self, slots: Slots) -> None:
        """Slots have no holder any more."""
        for slot in self.name_of.keys() & slots.tolist():
            del self.known[self.name_of.pop(slot)]
        self._free[self._n_free : self._n_free + len(slots)] = slots
        self._n_free += len(slots)


@dataclass
class RowPool:
    """Rows ``rows[t] . x + s[group[t]] >= rhs[t]``; a row lives as long as somebody holds it.

    The proof makes every row from its origin (a point, a node set, a row of the program) and owns its numbers; here
    slots are given out and taken back. Several searchers of one tree share its rows, each through a pool of his own
    that `beside` makes: what changes rows or holders does so under the lock of the tree's ledger, and who reads needs
    none, since a row that somebody holds stays as it is.
    """

    program: ChoiceProgram
    term: ConcaveTerm | None
    separator: ClusterSeparator
    proof: TreeProof
    shelf: Shelf = field(default_factory=Shelf)

    def __post_init__(self) -> None:
        self.upper = np.zeros(0) if self.term is None else self.term.upper

    def fork(self) -> "RowPool":
        """Another pool with the same rows under the same numbers, and a proof of its own."""
        return replace(self, proof=self.proof.fork(), shelf=self.shelf.copy())

    def beside(self) -> "RowPool":
        """The same pool for one more searcher of the same tree."""
        return replace(self, proof=self.proof.beside(self.term))

    def by_one_thread(self) -> None:
        """Compute cuts by the thread that asks: where boxes are looked at side by side, passes need not be parted."""
        if self.term is not None:
            self.term = self.term.regrouped(self.n_groups, 1)
            self.proof.ask_of(self.term)

    @property
    def n_groups(self) -> int:
        """Number of loss groups."""
        return len(self.upper)

    @property
    def n_rows(self) -> int:
        """Rows alive."""
        return self.shelf.in_use

    @property
    def rows(self) -> FloatArray:
        """Coefficients by slot."""
        return self.proof.store.rows

    @property
    def rhs(self) -> FloatArray:
        """Right sides by slot."""
        return self.proof.store.rhs

    @property
    def group(self) -> NDArray[np.int32]:
        """Loss group of each slot, -1 for none."""
        return self.proof.store.group

    @property
    def _lock(self) -> RLock:
        return self.proof.ledger.lock

    def hold(self, slots: Slots) -> None:
        """One more holder of each row."""
        with self._lock:
            self.shelf.holders[slots] += 1

    def release(self, slots: Slots) -> None:
        """One holder less; rows without a holder are forgotten."""
        with self._lock:
            self.shelf.holders[slots] -= 1
            gone = slots[self.shelf.holders[slots] == 0]
            self.proof.store.forget(gone)
            self.shelf.give_back(gone)

    def program_rows(self) -> Slots:
        """The program's own rows."""
        with self._lock:
            slots = self.shelf.take(self.program.A.shape[0])
            for row, slot in enumerate(slots):
                self.proof.store.set_program(int(slot), row)
        return slots

    def cluster(self, members: NDArray[np.bool_]) -> int:
        """Row of a cluster, held once more when it is known already."""
        return self._named(members.tobytes(), lambda slot: self.proof.store.set_cluster(slot, members))

    def _named(self, key: Hashable, make: Callable[[int], None]) -> int:
        """The row of a name, made or held once more."""
        shelf = self.shelf
        with self._lock:
            if key in shelf.known:
                shelf.holders[shelf.known[key]] += 1
                return shelf.known[key]
            slot = int(shelf.take(1)[0])
            make(slot)
            shelf.call(slot, key)
        return slot

    def origins(self, slots: Slots, lam: FloatArray) -> tuple[list[FloatArray], tuple[Hashable, ...]]:
        """Where the binding cuts among the rows were taken, those of most weight first, and the other rows' names."""
        weight: dict[int, float] = {}
        points, names = {}, []
        for slot, share in zip(slots.tolist(), lam.tolist(), strict=True):
            point = self.proof.store.points[slot]
            if share > 1e-9 and point is not None:
                points[id(point)] = point
                weight[id(point)] = weight.get(id(point), 0.0) + share
            elif share > 1e-9 and slot in self.shelf.name_of:
                names.append(self.shelf.name_of[slot])
        found = []
        for key in sorted(points, key=lambda each: -weight[each]):
            x = np.zeros(self.program.n_columns)
            x[points[key].columns] = points[key].values
            found.append(x)
        return found, tuple(names)

    def rows_named(self, names: Iterable[Hashable]) -> Slots:
        """Rows of another pool of the same program, by the names that they have there."""
        return np.array([self._row(name) for name in names if isinstance(name, SideRow | bytes)], dtype=np.int64)

    def _row(self, name: Hashable) -> int:
        """The row of a name, made or held once more."""
        store = self.proof.store
        match name:
            case SideRow():
                return self._named(name, partial(store.set_side, wanted=name))
            case bytes():
                return self.cluster(np.frombuffer(name, dtype=np.bool_))
            case ("program", int(row)):
                return self._named(name, partial(store.set_program, number=row))
        raise AssertionError(name)

    def name_of(self, origin: Mapping[str, Any]) -> Hashable:
        """The name of a row, from what a tree file says of it."""
        match origin["kind"]:
            case "cluster":
                return np.isin(np.arange(self.program.n_nodes), origin["nodes"]).tobytes()
            case "program":
                return "program", int(origin["row"])
        kind, which, key = origin["row"]
        return SideRow(kind, which, tuple(key))

    def structure_rows(self, x: FloatArray, tolerance: float | None = None) -> Slots:
        """Cluster rows and rows of side constraints that `x` violates."""
        members = self.separator.separate(x) if tolerance is None else self.separator.separate(x, tolerance)
        slots = [self.cluster(cluster) for cluster in members]
        if self.program.side is not None:
            broken = self.program.side.violated(x, SIDE_TOLERANCE if tolerance is None else tolerance)
            slots += [self._named(row, partial(self.proof.store.set_side, wanted=row)) for row in broken]
        return np.array(slots, dtype=np.int64)

    def cuts_at(
        self, point: FloatArray, target: FloatArray, losses: FloatArray, tolerance: float
    ) -> tuple[Slots, float]:
        """Rows of the groups whose piece at `point` is violated at `target` with `losses`; also the loss at `point`.

        Returns
        -------
        slots, loss
        """
        if self.term is None:
            return _NO_ROWS, 0.0
        cuts = self.proof.ask(point)
        violation = self.upper - cuts.intercepts - cuts.gradients @ target - losses
        return self._keep(np.flatnonzero(violation > tolerance)), float((self.upper - cuts.values).sum())

    def cuts_above(self, x: FloatArray, losses: FloatArray, tolerance: float) -> Slots:
        """Rows at `x` of the groups that lose more there than `losses` say."""
        if self.term is None:
            return _NO_ROWS
        cuts = self.proof.ask(x, lambda values: np.flatnonzero(self.upper - values - losses > tolerance))
        return self._keep(np.arange(len(cuts.groups)))

    def _keep(self, places: NDArray[np.intp]) -> Slots:
        """Rows of some of the pieces last asked about."""
        with self._lock:
            slots = self.shelf.take(len(places))
            self.proof.set_cut_rows(slots, places)
        return slots

    def recipe(self, slots: Slots) -> Recipe:
        """How to make the rows again."""
        groups = self.group[slots]
        points = self.proof.store.points[slots[groups >= 0]]
        _, first, place = np.unique([id(point) for point in points], return_index=True, return_inverse=True)
        names = [self.name_of(self.proof.store.others[slot].origin) for slot in slots[groups < 0].tolist()]
        which = np.empty(len(slots), dtype=np.int32)
        which[groups >= 0] = np.argsort(np.argsort(first))[place]  # points in the order in which they come
        which[groups < 0] = -1 - np.arange(len(names))
        return Recipe(points[np.sort(first)].tolist(), names, which, groups)

    def put_away(self, slots: Slots) -> Recipe:
        """Release the rows; how to make them again."""
        recipe = self.recipe(slots)
        self.release(slots)
        return recipe

    def make(self, recipe: Recipe) -> Slots:
        """Rows of a recipe, made or held once more: cuts are computed anew, the same to the last digit."""
        slots = np.empty(len(recipe), dtype=np.int64)
        for place, point in enumerate(recipe.points):
            rows = np.flatnonzero(recipe.which == place)
            slots[rows] = self._cuts_again(point, recipe.group[rows])
        for place, name in enumerate(recipe.names):
            slots[recipe.which == -1 - place] = self._row(name)
        return slots

    def _cuts_again(self, point: Point, groups: NDArray[np.int32]) -> Slots:
        """Cuts of some groups at a point, those that are known by it held once more."""
        keys = [(point.key, group) for group in groups.tolist()]
        with self._lock:
            point = self.shelf.the_one(point)
            slots = np.array([self.shelf.known.get(key, -1) for key in keys], dtype=np.int64)
            self.hold(slots[slots >= 0])
        new = np.flatnonzero(slots < 0)
        if len(new):
            self.proof.ask_again(point, GroupsAlone(groups[new].astype(np.intp)))
            with self._lock:
                slots[new] = self._keep(np.arange(len(new)))
                for row in new.tolist():  # another searcher may have made it meanwhile
                    self.shelf.call(int(slots[row]), keys[row])
        return slots

    def know(self, slots: Slots) -> None:
        """Let rows be found by what they are made from, so that they are not made twice."""
        store = self.proof.store
        with self._lock:
            for slot in slots.tolist():
                point = store.points[slot]
                if point is None:
                    self.shelf.call(slot, self.name_of(store.others[slot].origin))
                else:
                    self.shelf.call(slot, (self.shelf.the_one(point).key, int(self.group[slot])))

    def loss(self, x: FloatArray) -> float:
        """``c'x`` plus the loss of all groups at `x`."""
        linear = float(self.program.c @ x)
        return linear if self.term is None else linear + float((self.upper - self.term.values(x)).sum())
