"""Open boxes that change hands, as a few long arrays: thousands of small ones take longer to send than to make."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....programs.tree_rows import Point
from ._recipes import Recipe, Start

__all__ = ["Bundle", "OpenBox"]

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class OpenBox:
    """A box that nobody looks at; `start` says from what, if not from the root."""

    number: int
    value: float
    depth: int
    bits: NDArray[np.uint8]
    start: Start | None = field(default=None, repr=False)


class Lists:
    """Arrays one after the other, and how long each is."""

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        self.lengths = np.array([len(array) for array in arrays], dtype=np.int32)
        self.entries = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int32)

    def apart(self) -> list[NDArray[Any]]:
        """The arrays again, each by itself, so that one that is kept for long does not keep the others."""
        ends = np.cumsum(self.lengths).tolist()
        return [self.entries[begin:end].copy() for begin, end in pairwise([0, *ends])]


_NO_BASIS = np.zeros(0, dtype=np.int16)


class Bundle:
    """Boxes, of which many have rows and most rows have points in common.

    Parameters
    ----------
    boxes : sequence of OpenBox

    Examples
    --------
    >>> import pickle
    >>> boxes = [OpenBox(number, 0.5, 3, np.packbits([True, False])) for number in (4, 9)]
    >>> [box.number for box in pickle.loads(pickle.dumps(Bundle(boxes))).boxes()]
    [4, 9]
    """

    def __init__(self, boxes: Sequence[OpenBox]) -> None:
        self.numbers = np.array([box.number for box in boxes], dtype=np.int64)
        self.values = np.array([box.value for box in boxes])
        self.depths = np.array([box.depth for box in boxes], dtype=np.int32)
        self.bits = np.array([box.bits for box in boxes], dtype=np.uint8)
        starts = [box.start for box in boxes]
        recipes, place = _distinct(start.rows for start in starts if start is not None)
        self.recipe_of = np.array([-1 if s is None else place[id(s.rows)] for s in starts], dtype=np.int32)
        self.bases = Lists([_NO_BASIS if s is None or s.basis is None else s.basis for s in starts])
        self.rows = Lists([recipe.which for recipe in recipes])
        self.groups = Lists([recipe.group for recipe in recipes])
        self.names: list[list[Hashable]] = [recipe.names for recipe in recipes]
        points, place = _distinct(point for recipe in recipes for point in recipe.points)
        self.points_of = Lists([np.array([place[id(p)] for p in r.points], dtype=np.int32) for r in recipes])
        self.columns = Lists([point.columns for point in points])
        self.entries = Lists([point.values for point in points])
        self.point_numbers = np.array([point.number for point in points], dtype=np.int64)

    def boxes(self) -> list[OpenBox]:
        """All of them; what they had in common they have in common."""
        three = zip(self.columns.apart(), self.entries.apart(), self.point_numbers.tolist(), strict=True)
        points = [Point(columns, values, number) for columns, values, number in three]
        four = zip(self.points_of.apart(), self.names, self.rows.apart(), self.groups.apart(), strict=True)
        recipes = [Recipe([points[k] for k in own.tolist()], names, which, group) for own, names, which, group in four]
        starts = [
            None if recipe < 0 else Start(recipes[recipe], basis if len(basis) else None)
            for recipe, basis in zip(self.recipe_of.tolist(), self.bases.apart(), strict=True)
        ]
        told = (self.numbers.tolist(), self.values.tolist(), self.depths.tolist(), map(np.copy, self.bits), starts)
        return [OpenBox(*box) for box in zip(*told, strict=True)]


def _distinct(objects: Iterable[_T]) -> tuple[list[_T], dict[int, int]]:
    """Each object once, in the order in which they are met, and the place of each by its id."""
    each = {id(one): one for one in objects}
    return list(each.values()), {number: place for place, number in enumerate(each)}
