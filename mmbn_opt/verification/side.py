"""Side constraints over the candidates: what they take from a box, and the rows that follow from them.

All coefficients are whole numbers, of a unit that is chosen for each constraint, so that sums of them are exact.
"""

from fractions import Fraction
from itertools import chain, pairwise
from math import floor, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.exceptions import FormatError
from mmbn_opt.rigour.enclosed import Floats
from mmbn_opt.verification.limits import Limits

__all__ = ["Row", "Side"]

Marks = NDArray[np.bool_]

Row = tuple[Floats, float, float]
"""Coefficients, right side, and what a multiplier of the row as the search has it is to be divided by."""

SLACK = Fraction(1, 10**9)
EXACT = 2**52
"""Sums of doubles that are whole numbers are exact up to there."""
LARGE = Fraction(10**300)


class Side:
    """Constraints over columns; `owner` is the node of each, `offsets` the first of each node, `parents` a row each.

    `said` is what the search has of them (``side`` in the header): it tells which constraint a row is of, and no
    number of it is used.
    """

    def __init__(
        self, limits: Limits, said: Any, owner: NDArray[np.intp], offsets: NDArray[np.intp], parents: Marks
    ) -> None:
        self._said, self._owner, self._offsets, self._parents = said, owner, offsets, parents
        self._c = c = parents.shape[1] - 1
        sets = [frozenset(np.flatnonzero(row).tolist()) for row in parents]
        columns = list(zip(owner.tolist(), sets, strict=True))
        rows = [_whole([Fraction(of(*column)) for column in columns], most, c + 1) for of, most in limits.rows]
        self._rows = [row for row in rows if np.maximum.reduceat(row[0], offsets).sum() > row[1]]  # others never bind
        self._items = items = list(dict.fromkeys(chain(*(of for of, _ in limits.caps), *limits.groups)))
        brings = [self._brings(*column, *item) for column in columns for item in items]
        self._cover = np.array(brings, dtype=bool).reshape(len(columns), len(items))
        weights = [[of.get(item, Fraction(0)) for item in items] for of, _ in limits.caps]
        self._caps = [_whole(of, most, len(items)) for of, (_, most) in zip(weights, limits.caps, strict=True)]
        self._groups = [[items.index(item) for item in group] for group in limits.groups]
        self._above, self._apart = limits.above, limits.apart

    def _brings(self, node: int, parents: frozenset[int], what: int, parent: int) -> bool:
        """Whether a node with these parents brings an item about: parents of the class, its children, and theirs."""
        if parent >= 0:
            return node == what and parent in parents
        return (node == self._c and what in parents) or (self._c in parents and (node == what or what in parents))

    def narrow(self, boxes: Marks, common: Marks) -> tuple[Marks, Marks]:
        """Columns that no choice of a box can have (n_boxes, n_columns), and which boxes have no choice.

        ``common[box, node, j]`` says whether j is above the node in every choice. A box of a single choice has none
        just if that breaks something.
        """
        gone, dead = np.zeros(boxes.shape, dtype=bool), np.zeros(len(boxes), dtype=bool)
        for row, most, _ in self._rows:
            least = np.minimum.reduceat(np.where(boxes, row, np.inf), self._offsets, axis=1)
            room = most - least.sum(axis=1)
            dead |= room < 0
            gone |= row - least[:, self._owner] > room[:, None]
        if self._items:
            lacks: Marks = np.logical_and.reduceat(~boxes[:, :, None] | self._cover, self._offsets, axis=1)
            forced: Marks = np.any(lacks, axis=1)
            for weights, most, _ in self._caps:
                room = most - forced @ weights
                dead |= room < 0
                gone |= ((self._cover & ~forced[:, None]) @ weights) > room[:, None]
            for group in self._groups:
                short: Marks = np.any(~(boxes @ self._cover[:, group]), axis=1)
                dead |= short & forced[:, group].any(axis=1)
                gone |= short[:, None] & self._cover[:, group].any(axis=1)
        if self._above:
            possible: Marks = np.logical_or.reduceat(boxes[:, :, None] & self._parents, self._offsets, axis=1)
            for middle in range(self._c + 1):
                possible |= possible[:, :, middle, None] & possible[:, None, middle, :]
            for a, b in self._above:
                dead |= ~possible[:, b, a]
        itself = np.eye(self._c + 1, dtype=bool)
        for a, b in self._apart:
            dead |= common[:, b, a]
            gone |= (common[:, b] | itself[b])[:, self._owner] & ((common[:, :, a] | itself[a]) @ self._parents.T)
        return gone, dead

    def row(self, kind: str, number: int, key: list[int]) -> Row:
        """``row @ x >= rhs`` of what the search says that it has a row of, made from what is declared."""
        make = getattr(self, f"_{kind}_row", None)
        found = None if make is None or self._said is None else make(number, key)
        if found is None:
            raise FormatError(f"The tree file has a row of the kind {kind!r} that none of its limits implies.")
        coefficients, rhs, unit = found
        return coefficients.astype(np.float64), float(rhs), unit

    def _row_row(self, number: int, key: list[int]) -> Row | None:
        given = np.array(self._said["rows"][number])
        fits = ((-row, -most, unit) for row, most, unit in self._rows if np.allclose(row / unit, given, 1e-9, 1e-9))
        return next(fits, None)

    def _cap_row(self, number: int, key: list[int]) -> Row | None:
        """Each item is counted where one node brings it about."""
        named = list(map(tuple, self._said["items"]))
        where, given = (dict(zip(named, of, strict=True)) for of in (key, self._said["weights"][number]))
        at = np.array([where.get(item, -1) for item in self._items])
        wanted = np.array([given.get(item, 0.0) for item in self._items])
        for weights, most, unit in self._caps:
            if np.allclose(weights / unit, wanted, 1e-9, 1e-9):
                return -((self._cover & (self._owner[:, None] == at)) @ weights), -most, unit
        return None

    def _group_row(self, number: int, key: list[int]) -> Row | None:
        """What one node brings about of an item, all together do of another one."""
        node, *pair = key
        item, other = (self._items.index(tuple(self._said["items"][j])) for j in pair)
        together = any(item in group and other in group for group in self._groups)
        row = self._cover[:, other].astype(np.float64) - (self._cover[:, item] & (self._owner == node))
        return (row, 0.0, 1.0) if together else None

    def _path_row(self, number: int, key: list[int]) -> Row | None:
        """Of the edges of a path that must not be there one is missing."""
        row = np.zeros(len(self._owner))
        for parent, child in pairwise(key):
            row -= (self._owner == child) & self._parents[:, parent]
        return (row, 2.0 - len(key), 1.0) if (key[0], key[-1]) in self._apart else None

    def _cut_row(self, number: int, key: list[int]) -> Row | None:
        """A path enters a set that it ends in and doesn't begin in."""
        inside = np.isin(np.arange(self._c + 1), key)
        row = (inside[self._owner] & (self._parents & ~inside).any(axis=1)).astype(np.float64)
        return (row, 1.0, 1.0) if any(inside[b] and not inside[a] for a, b in self._above) else None


def _whole(weights: list[Fraction], limit: Fraction, count: int) -> Row:
    """Whole numbers, a limit and a unit: `count` weights that keep the limit are numbers that keep this one."""
    most = limit + SLACK * max(Fraction(1), abs(limit))
    largest = max(map(abs, weights), default=Fraction(0))
    unit = Fraction(lcm(*(weight.denominator for weight in weights)))
    room = Fraction(EXACT, max(1, count))
    if unit * largest > room:
        unit = room / largest
    numbers = np.array([floor(weight * unit) for weight in weights], dtype=np.float64)
    scale = float(min(unit, LARGE))  # of multipliers, which may be any
    return numbers, float(min(max(floor(most * unit), -2 * EXACT), 2 * EXACT)), scale
