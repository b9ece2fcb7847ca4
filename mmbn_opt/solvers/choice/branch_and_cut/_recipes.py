"""Rows without their coefficients: what it takes to make them again, here or in another process."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....programs.tree_rows import Point

__all__ = ["Recipe", "renumbered"]


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


def renumbered(recipes: Iterable[Recipe | None], number: Callable[[int], int]) -> list[Recipe | None]:
    """The recipes with other numbers of their points; what they have in common they have in common afterwards."""
    points: dict[int, Point] = {}
    made: dict[int, Recipe] = {}
    answer: list[Recipe | None] = []
    for recipe in recipes:
        if recipe is not None and id(recipe) not in made:
            for point in recipe.points:
                if id(point) not in points:
                    points[id(point)] = Point(point.columns, point.values, number(point.number))
            moved = [points[id(point)] for point in recipe.points]
            made[id(recipe)] = Recipe(moved, recipe.names, recipe.which, recipe.group)
        answer.append(None if recipe is None else made[id(recipe)])
    return answer
