"""Rows in loss form under numbers that the search, its tableaux and the proof share."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...._arrays import FloatArray
from ....programs.choice import ChoiceProgram, ConcaveTerm, WantedGroups
from ....programs.side import SideRow
from ....programs.tree_proof import TreeProof
from ....programs.tree_records import RowNames
from ....programs.tree_rows import Point
from .clusters import ClusterSeparator

__all__ = ["Recipe", "RowPool", "Shelf", "Slots"]

Slots = NDArray[np.int64]

_NO_ROWS: Slots = np.zeros(0, dtype=np.int64)

SIDE_TOLERANCE = 1e-6
"""Relative violation from which on a row of a side constraint is worth its place at the root."""


class Recipe(NamedTuple):
    """Rows without their coefficients: cuts by point and group; other rows stay where they are.

    Parameters
    ----------
    points : list
    which : int array (n_rows,)
        Place in `points`, or -1.
    name : int array (n_rows,)
        Group of a cut; slot of another row.
    """

    points: list[Point]
    which: NDArray[np.int32]
    name: NDArray[np.int32]

    @property
    def held(self) -> Slots:
        """Rows that are no cuts: they stay where they are, and held."""
        return self.name[self.which < 0].astype(np.int64)


def _always(groups: NDArray[np.intp]) -> WantedGroups:
    return lambda values: groups


class Shelf:
    """Which slots are given out, to how many holders, and the names of rows that have one."""

    def __init__(self, size: int = 256) -> None:
        self.holders = np.zeros(size, dtype=np.int64)
        self.free = list(range(size - 1, -1, -1))
        self.known: dict[Hashable, int] = {}
        self.name_of: dict[int, Hashable] = {}

    def copy(self) -> "Shelf":
        """The same state, apart from this."""
        twin = Shelf(0)
        twin.holders, twin.free = self.holders.copy(), list(self.free)
        twin.known, twin.name_of = dict(self.known), dict(self.name_of)
        return twin

    def take(self, count: int) -> Slots:
        """Free slots, each with one holder from here on."""
        if len(self.free) < count:
            size = len(self.holders)
            more = max(count, size // 2)
            self.holders = np.concatenate([self.holders, np.zeros(more, dtype=np.int64)])
            self.free[:0] = range(size + more - 1, size - 1, -1)
        slots = np.array([self.free.pop() for _ in range(count)], dtype=np.int64)
        self.holders[slots] = 1
        return slots

    def give_back(self, slot: int) -> None:
        """A slot has no holder any more."""
        key = self.name_of.pop(slot, None)
        if key is not None:
            del self.known[key]
        self.free.append(slot)


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
        return len(self.shelf.holders) - len(self.shelf.free)

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
            for slot in slots[self.shelf.holders[slots] == 0].tolist():
                self.proof.store.forget(slot)
                self.shelf.give_back(slot)

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
            shelf.known[key], shelf.name_of[slot] = slot, key
        return slot

    def origins(self, slots: Slots, lam: FloatArray) -> tuple[list[FloatArray], tuple[Hashable, ...]]:
        """Where the binding cuts among the rows were taken, those of most weight first, and the other rows' names."""
        weight: dict[int, float] = {}
        points, names = {}, []
        for slot, share in zip(slots.tolist(), lam.tolist(), strict=True):
            point = self.proof.store.points.get(slot)
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

    def put_away(self, slots: Slots) -> Recipe:
        """Release the cuts among the rows; how to make them again."""
        found = [self.proof.store.points.get(slot) for slot in slots.tolist()]
        points = {id(point): point for point in found if point is not None}
        place = dict(zip(points, range(len(points)), strict=True))
        which = np.array([-1 if point is None else place[id(point)] for point in found], dtype=np.int32)
        name = np.where(which < 0, slots, self.group[slots]).astype(np.int32)
        self.release(slots[which >= 0])
        return Recipe(list(points.values()), which, name)

    def make(self, recipe: Recipe) -> Slots:
        """Rows of a recipe, the cuts among them computed anew and held once: the same to the last digit."""
        slots = recipe.name.astype(np.int64)
        for number, point in enumerate(recipe.points):
            wanted = np.flatnonzero(recipe.which == number)
            self.proof.ask_again(point, _always(recipe.name[wanted].astype(np.intp)))
            slots[wanted] = self._keep(np.arange(len(wanted)))
        return slots

    def named_cuts(self, names: RowNames, point_of: Callable[[int], Point]) -> Slots:
        """Cuts by the numbers of their points and by their groups, made or held once more."""
        slots = np.empty(len(names.points), dtype=np.int64)
        for number in np.unique(names.points).tolist():
            mine = np.flatnonzero(names.points == number)
            known = [(number, int(group)) for group in names.groups[mine]]
            with self._lock:
                held = [self.shelf.known.get(key, -1) for key in known]
                slots[mine] = held
                self.hold(slots[mine[slots[mine] >= 0]])
            new = mine[slots[mine] < 0]
            if not len(new):
                continue
            groups = names.groups[new].astype(np.intp)
            self.proof.ask_again(point_of(number), _always(groups))
            with self._lock:
                slots[new] = self._keep(np.arange(len(new)))
                for slot, group in zip(slots[new].tolist(), groups.tolist(), strict=True):
                    if (number, group) not in self.shelf.known:  # another searcher may have made it meanwhile
                        self.shelf.known[number, group], self.shelf.name_of[slot] = slot, (number, group)
        return slots

    def other_row(self, number: int, origin: Mapping[str, Any]) -> int:
        """A row by what a tree file says of it under a number."""
        slot = self._row(self.name_of(origin))
        self.proof.store.others[slot].number = number
        return slot

    def loss(self, x: FloatArray) -> float:
        """``c'x`` plus the loss of all groups at `x`."""
        linear = float(self.program.c @ x)
        return linear if self.term is None else linear + float((self.upper - self.term.values(x)).sum())
