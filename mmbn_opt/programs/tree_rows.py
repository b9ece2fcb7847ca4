"""Rows of a tree proof under numbers (slots), each made from its origin: a point, a node set, a row of the program."""

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, FloatArray
from mmbn_opt.programs.boxes import cluster_row
from mmbn_opt.programs.choice import ChoiceProgram, GroupCuts
from mmbn_opt.programs.lagrangian import choicewise_bound, choicewise_bounds
from mmbn_opt.programs.side import SideRow

__all__ = ["NAMELESS", "OtherRow", "Point", "TreeRows"]


NAMELESS = np.iinfo(np.int64).min
"""Of a row that was not named in the tree file yet."""


class Point:
    """Where cuts were taken: the entries that are not zero.

    Attributes
    ----------
    columns : uint32 array
    values : float64 array
    number : int
        Its number in the tree file; -1 as long as it is not there.
    """

    __slots__ = ("__weakref__", "_key", "columns", "number", "values")

    def __init__(self, columns: NDArray[np.uint32], values: FloatArray, number: int = -1) -> None:
        self.columns, self.values, self.number = columns, values, number
        self._key = b""

    @property
    def key(self) -> bytes:
        """The same for equal points, whatever their numbers."""
        if not self._key:
            self._key = blake2b(self.columns.tobytes() + self.values.tobytes(), digest_size=16).digest()
        return self._key

    @classmethod
    def of(cls, x: FloatArray) -> "Point":
        """From all entries."""
        index = np.flatnonzero(x)
        return cls(index.astype(np.uint32), x[index])

    def full(self, n_columns: int) -> FloatArray:
        """All entries."""
        x = np.zeros(n_columns)
        x[self.columns] = self.values
        return x


class OtherRow:
    """A row that is no cut, by what it is made from.

    Attributes
    ----------
    origin : mapping
        ``kind`` and what that takes, as JSON has it.
    number : int
        In the tree file; -1 as long as it is not there.
    """

    __slots__ = ("number", "origin")

    def __init__(self, origin: dict[str, Any], number: int = -1) -> None:
        self.origin, self.number = origin, number


class TreeRows:
    """Rows by slot, ``rows[t] . x + s[group[t]] >= rhs[t]``.

    Parameters
    ----------
    program : ChoiceProgram
    upper : float64 array (n_groups,)
        What the parts of the program's term can be at most.

    Attributes
    ----------
    rows : float64 array (n_slots, n_columns)
    rhs : float64 array (n_slots,)
    group : int32 array (n_slots,)
        Whose loss a row holds; -1 for none.
    known : int64 array (n_slots,)
        Name of a row in the tree file, once it was told: the number of its point, or ``-1 - number`` of another row;
        `NAMELESS` before.
    points : object array (n_slots,)
        Of each slot that holds a cut the point, None of others.
    others : dict
        Of each other slot in use what it was made from.
    """

    def __init__(self, program: ChoiceProgram, upper: FloatArray) -> None:
        self._program, self._upper = program, upper
        self._offsets = program.offsets.astype(np.intp)
        self.rows = np.zeros((64, program.n_columns))
        self.rhs = np.zeros(64)
        self.group = np.full(64, -1, dtype=np.int32)
        self.known = np.full(64, NAMELESS, dtype=np.int64)
        self.points = np.full(64, None, dtype=np.object_)
        self.others: dict[int, OtherRow] = {}

    def fork(self) -> "TreeRows":
        """The same rows, apart from these."""
        twin = TreeRows(self._program, self._upper)
        twin.rows, twin.rhs, twin.group = self.rows.copy(), self.rhs.copy(), self.group.copy()
        twin.known = self.known.copy()
        twin.points, twin.others = self.points.copy(), dict(self.others)
        return twin

    @property
    def n_columns(self) -> int:
        """Number of coefficients of a row."""
        return self._program.n_columns

    @property
    def n_groups(self) -> int:
        """Number of losses."""
        return len(self._upper)

    def bound(
        self, allowed: BoolArray, slots: NDArray[np.int64], lam: FloatArray, rise: FloatArray,
        cost: FloatArray | None = None,
    ) -> float:  # fmt: skip
        """What multipliers of rows prove of a box; `rise` is then what each column costs above it."""
        cost = self._program.c if cost is None else cost
        found = choicewise_bound(
            cost, self._offsets, allowed, self.rows, self.rhs, self.group, self.n_groups, slots, lam, rise
        )
        return float(found)

    def bounds(self, boxes: BoolArray, slots: NDArray[np.int64], lam: FloatArray) -> FloatArray:
        """The same of several boxes, with a line of multipliers each."""
        found: FloatArray = choicewise_bounds(
            self._program.c, self._offsets, boxes, self.rows, self.rhs, self.group, self.n_groups, slots, lam
        )
        return found

    def reserve(self, slot: int) -> None:
        """Make room up to a slot."""
        size = len(self.rhs)
        if slot >= size:
            room = max(2 * size, slot + 1)
            self.rows = _grown(self.rows, room, 0.0)
            self.rhs = _grown(self.rhs, room, 0.0)
            self.group = _grown(self.group, room, -1)
            self.known = _grown(self.known, room, NAMELESS)
            self.points = _grown(self.points, room, None)

    def set_cuts(self, slots: NDArray[np.int64], cuts: GroupCuts, places: NDArray[np.intp], point: Point) -> None:
        """Rows of some of the pieces at a point."""
        if not len(slots):
            return
        self.reserve(int(slots.max()))
        groups = cuts.groups[places]
        self.rows[slots] = cuts.gradients[places]
        self.rhs[slots] = self._upper[groups] - cuts.intercepts[places]
        self.group[slots] = groups
        self.known[slots] = NAMELESS
        self.points[slots] = point
        self._drop_others(slots)

    def set_cluster(self, slot: int, members: BoolArray) -> None:
        """Row of a cluster, from the parents."""
        row = cluster_row(members, self._program.owner, self._program.parents, *self._program.hanging)
        self._set(slot, row, 1.0, kind="cluster", nodes=np.flatnonzero(members).tolist())

    def set_program(self, slot: int, number: int) -> None:
        """Row of the program's own matrix."""
        row = self._program.A[[number]].toarray()[0]
        upper, columns = float(self._program.row_upper[number]), np.flatnonzero(row)
        coefficients = row[columns].tolist()
        self._set(
            slot, -row, -upper, kind="program", row=number, columns=columns.tolist(), coefficients=coefficients,
            upper=upper,
        )  # fmt: skip

    def set_side(self, slot: int, wanted: SideRow) -> None:
        """Row of a side constraint, from the constraint."""
        assert self._program.side is not None
        row, least = self._program.side.row(wanted)
        self._set(slot, row, least, kind="side", row=[wanted.kind, int(wanted.number), [int(k) for k in wanted.key]])

    def _set(self, slot: int, row: NDArray[Any], rhs: float, /, **origin: Any) -> None:
        self.reserve(slot)
        self.rows[slot], self.rhs[slot], self.group[slot] = row, rhs, -1
        self.known[slot] = NAMELESS
        self.points[slot] = None
        self.others[slot] = OtherRow(origin)

    def forget_names(self) -> None:
        """The tree file begins again: nothing stands there yet."""
        self.known[:] = NAMELESS
        for point in self.points[self._cuts()]:
            point.number = -1
        for other in self.others.values():
            other.number = -1

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Slots are no longer in use."""
        self._drop_others(slots)
        self.points[slots], self.group[slots] = None, -1

    def _drop_others(self, slots: NDArray[np.int64]) -> None:
        for slot in self.others.keys() & slots.tolist():
            del self.others[slot]

    def in_use(self) -> NDArray[np.int64]:
        """Slots that hold a row, those of cuts first."""
        return np.concatenate([self._cuts(), np.array(list(self.others), dtype=np.int64)])

    def _cuts(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.group >= 0)


def _grown(array: NDArray[Any], room: int, fill: float | None) -> NDArray[Any]:
    """Copy with `room` rows; memory that is not used yet is not touched where `fill` is 0."""
    longer = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    if fill != 0:
        longer[len(array) :] = fill
    return longer
