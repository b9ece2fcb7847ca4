"""What a box starts from, without coefficients: what it takes to make it again, here or in another process."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....programs.tree_rows import Point

__all__ = ["Recipe", "Start", "renumbered"]


@dataclass(frozen=True, eq=False)
class Recipe:
    """Cuts by point and group, other rows by name, in the order of the rows.

    Parameters
    ----------
    points : list of Point
    names : list
        As `RowPool.name_of` gives them.
    which : int32 array (n_rows,)
        Place in `points`, or ``-1 - place`` in `names`.
    group : int32 array (n_rows,)
        Of a cut.
    """

    points: list[Point]
    names: list[Hashable]
    which: NDArray[np.int32]
    group: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.which)


class Start(NamedTuple):
    """What a box starts from.

    Parameters
    ----------
    rows : Recipe
    basis : int array (height,) or None
        In the numbers of `tableau_of`, which counts the slacks of the rows in their order. None: from the root's.
    """

    rows: Recipe
    basis: NDArray[np.integer] | None = None


def renumbered(starts: Iterable[Start | None], number: Callable[[int], int]) -> list[Start | None]:
    """The same with other numbers of the points; what they have in common they have in common afterwards."""
    points: dict[int, Point] = {}
    made: dict[int, Recipe] = {}
    answer: list[Start | None] = []
    for start in starts:
        if start is None:
            answer.append(None)
            continue
        recipe, basis = start
        if id(recipe) not in made:
            for point in recipe.points:
                if id(point) not in points:
                    points[id(point)] = Point(point.columns, point.values, number(point.number))
            moved = [points[id(point)] for point in recipe.points]
            made[id(recipe)] = Recipe(moved, recipe.names, recipe.which, recipe.group)
        answer.append(Start(made[id(recipe)], basis))
    return answer
