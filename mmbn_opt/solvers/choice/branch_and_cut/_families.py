"""What open boxes start from, and what they are to others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._pool import Slots
from ._recipes import Recipe, Start

__all__ = ["Families", "Family", "Parted", "Written", "family_of"]


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
    bases : int arrays (height,), one a box, or None
        In the numbers of `tableau_of`. None: the boxes start from the root's tableau.
    depth, open_boxes : int
    least : float
        Least bound of the boxes.
    place : int
        Where the parting of the parent stands in the tree file; -1 for nowhere.
    rounds : int or None
        Of a box that was looked at and left for later: the cut rounds that it had. It is alone in its family.
    """

    rows: Slots | Recipe | Written
    ages: NDArray[np.int8]
    bases: Sequence[NDArray[np.integer]] | NDArray[np.integer] | None
    depth: int
    open_boxes: int
    least: float
    place: int = -1
    rounds: int | None = None

    @classmethod
    def at(
        cls, slots: Slots, idle: Mapping[int, int], bases: NDArray[np.integer], depth: int, least: float, place: int,
        rounds: int | None = None,
    ) -> "Family":  # fmt: skip
        """Of boxes that start from the rows of a tableau and from idle ones, of which the ages are told."""
        narrow = np.int16 if bases.max() < 2**15 else np.int32
        rows = np.concatenate([slots, np.array(list(idle), dtype=np.int64)])
        ages = np.array([0] * len(slots) + list(idle.values()), dtype=np.int8)
        return cls(rows, ages, bases.astype(narrow), depth, len(bases), least, place, rounds)


class Parted(NamedTuple):
    """A box that changes hands.

    Parameters
    ----------
    number : int
    value : float
    place : int
        Where its parent was parted in the tree file; -1 for nowhere.
    depth : int
    start : Start or None
        That it starts from, if others need to be told.
    """

    number: int
    value: float
    place: int
    depth: int
    start: Start | None = None


Families = dict[tuple[int, int, int, bool], Family]
"""By place, depth and rows of the boxes, and whether their bases are known."""


def family_of(families: Families, box: Parted, slots: Slots) -> Family:
    """The family of a box that was made elsewhere, the last in it; `slots` are its rows where it has no others."""
    rows, basis = (None, None) if box.start is None else box.start
    key = (box.place, box.depth, id(rows), basis is None)
    family = families.get(key)
    if family is None:
        own = (slots if box.place < 0 else Written(box.place)) if rows is None else rows
        ages = np.zeros(0 if rows is None or basis is None else len(rows), dtype=np.int8)
        family = Family(own, ages, None if basis is None else [], box.depth - 1, 0, box.value, box.place)
        families[key] = family
    if basis is not None and isinstance(family.bases, list):
        family.bases.append(basis)
    family.open_boxes += 1
    family.least = min(family.least, box.value)
    return family
