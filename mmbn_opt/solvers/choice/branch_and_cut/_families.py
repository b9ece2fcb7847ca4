"""What open boxes start from, and what they are to others."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._pool import Slots
from ._recipes import Recipe

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
    bases : int array (n_boxes, height) or None
        In the numbers of `tableau_of`. None: the boxes start from the root's tableau.
    depth, open_boxes : int
    least : float
        Least bound of the boxes.
    place : int
        Where the parting of the parent stands in the tree file; -1 for nowhere.
    """

    rows: Slots | Recipe | Written
    ages: NDArray[np.int8]
    bases: NDArray[np.integer] | None
    depth: int
    open_boxes: int
    least: float
    place: int = -1


class Parted(NamedTuple):
    """A box that changes hands.

    Parameters
    ----------
    number : int
    value : float
    place : int
        Where its parent was parted in the tree file; -1 for nowhere.
    depth : int
    rows : Recipe or None
        That it starts from.
    """

    number: int
    value: float
    place: int
    depth: int
    rows: Recipe | None = None


Families = dict[tuple[int, int, int], Family]
"""By place, depth and rows of the boxes."""


def family_of(families: Families, box: Parted, slots: Slots) -> Family:
    """The family of a box that was made elsewhere; `slots` are its rows where it has no others."""
    key = (box.place, box.depth, id(box.rows))
    family = families.get(key)
    if family is None:
        rows = (slots if box.place < 0 else Written(box.place)) if box.rows is None else box.rows
        ages = np.zeros(0, dtype=np.int8)
        family = families[key] = Family(rows, ages, None, box.depth - 1, 0, box.value, box.place)
    family.open_boxes += 1
    family.least = min(family.least, box.value)
    return family
