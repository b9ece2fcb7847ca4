"""Rows in loss form under numbers that the search, its tableaux and the proof share."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
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

__all__ = ["Recipe", "RowPool", "Slots"]

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


@dataclass
class RowPool:
    """Rows ``rows[t] . x + s[group[t]] >= rhs[t]``; a row lives as long as somebody holds it.

    The proof makes every row from its origin (a point, a node set, a row of the program) and owns its numbers; here
    slots are given out and taken back.
    """

    program: ChoiceProgram
    term: ConcaveTerm | None
    separator: ClusterSeparator
    proof: TreeProof
    holders: NDArray[np.int64] = field(init=False)
    _free: list[int] = field(default_factory=list)
    _known: dict[Hashable, int] = field(default_factory=dict)
    _name_of: dict[int, Hashable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = 256
        self.holders = np.zeros(size, dtype=np.int64)
        self._free = list(range(size - 1, -1, -1))
        self.upper = np.zeros(0) if self.term is None else self.term.upper

    def fork(self) -> "RowPool":
        """Another pool with the same rows under the same numbers, and a proof of its own."""
        twin = RowPool(self.program, self.term, self.separator, self.proof.fork())
        twin.holders = self.holders.copy()
        twin._free = list(self._free)
        twin._known = dict(self._known)
        twin._name_of = dict(self._name_of)
        return twin

    @property
    def n_groups(self) -> int:
        """Number of loss groups."""
        return len(self.upper)

    @property
    def n_rows(self) -> int:
        """Rows alive."""
        return len(self.holders) - len(self._free)

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

    def _take(self, count: int) -> Slots:
        if len(self._free) < count:
            size = len(self.holders)
            more = max(count, size // 2)
            self.holders = np.concatenate([self.holders, np.zeros(more, dtype=np.int64)])
            self._free[:0] = range(size + more - 1, size - 1, -1)
        slots = np.array([self._free.pop() for _ in range(count)], dtype=np.int64)
        self.holders[slots] = 1
        return slots

    def hold(self, slots: Slots) -> None:
        """One more holder of each row."""
        self.holders[slots] += 1

    def release(self, slots: Slots) -> None:
        """One holder less; rows without a holder are forgotten."""
        self.holders[slots] -= 1
        for slot in slots[self.holders[slots] == 0]:
            key = self._name_of.pop(int(slot), None)
            if key is not None:
                del self._known[key]
            self.proof.store.forget(int(slot))
            self._free.append(int(slot))

    def program_rows(self) -> Slots:
        """The program's own rows."""
        slots = self._take(self.program.A.shape[0])
        for row, slot in enumerate(slots):
            self.proof.set_program_row(int(slot), row)
        return slots

    def cluster(self, members: NDArray[np.bool_]) -> int:
        """Row of a cluster, held once more when it is known already."""
        return self._named(members.tobytes(), lambda slot: self.proof.set_cluster_row(slot, members))

    def _named(self, key: Hashable, make: Callable[[int], None]) -> int:
        """The row of a name, made or held once more."""
        if key in self._known:
            self.holders[self._known[key]] += 1
            return self._known[key]
        slot = int(self._take(1)[0])
        make(slot)
        self._known[key], self._name_of[slot] = slot, key
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
            elif share > 1e-9 and slot in self._name_of:
                names.append(self._name_of[slot])
        found = []
        for key in sorted(points, key=lambda each: -weight[each]):
            x = np.zeros(self.program.n_columns)
            x[points[key].columns] = points[key].values
            found.append(x)
        return found, tuple(names)

    def rows_named(self, names: Iterable[Hashable]) -> Slots:
        """Rows of another pool of the same program, by the names that they have there."""
        slots = []
        for name in names:
            if isinstance(name, SideRow):
                slots.append(self._named(name, partial(self.proof.set_side_row, wanted=name)))
            elif isinstance(name, bytes):
                slots.append(self.cluster(np.frombuffer(name, dtype=np.bool_)))
        return np.array(slots, dtype=np.int64)

    def structure_rows(self, x: FloatArray, tolerance: float | None = None) -> Slots:
        """Cluster rows and rows of side constraints that `x` violates."""
        members = self.separator.separate(x) if tolerance is None else self.separator.separate(x, tolerance)
        slots = [self.cluster(cluster) for cluster in members]
        if self.program.side is not None:
            broken = self.program.side.violated(x, SIDE_TOLERANCE if tolerance is None else tolerance)
            slots += [self._named(row, partial(self.proof.set_side_row, wanted=row)) for row in broken]
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
        slots = self._take(len(places))
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
            new = []
            for place in np.flatnonzero(names.points == number).tolist():
                key = (number, int(names.groups[place]))
                if key in self._known:
                    slots[place] = self._known[key]
                    self.holders[slots[place]] += 1
                else:
                    new.append(place)
            if not new:
                continue
            groups = names.groups[new].astype(np.intp)
            self.proof.ask_again(point_of(number), _always(groups))
            slots[new] = self._keep(np.arange(len(new)))
            for slot, group in zip(slots[new].tolist(), groups.tolist(), strict=True):
                self._known[number, group], self._name_of[slot] = slot, (number, group)
        return slots

    def other_row(self, number: int, origin: Mapping[str, Any]) -> int:
        """A row by what a tree file says of it under a number."""
        match origin["kind"]:
            case "cluster":
                members = np.zeros(self.program.n_nodes, dtype=bool)
                members[origin["nodes"]] = True
                slot = self.cluster(members)
            case "program":
                row = int(origin["row"])
                slot = self._named(("program", row), partial(self.proof.set_program_row, row=row))
            case _:
                kind, which, key = origin["row"]
                wanted = SideRow(kind, which, tuple(key))
                slot = self._named(wanted, partial(self.proof.set_side_row, wanted=wanted))
        self.proof.store.others[slot].number = number
        return slot

    def loss(self, x: FloatArray) -> float:
        """``c'x`` plus the loss of all groups at `x`."""
        linear = float(self.program.c @ x)
        return linear if self.term is None else linear + float((self.upper - self.term.values(x)).sum())
