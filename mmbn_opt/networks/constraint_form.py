"""In what parts a side constraint can be written down, so that every program and every engine knows how to keep it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mmbn_opt._arguments import listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError

__all__ = ["CapPart", "ConstraintForm", "Item", "ModelNodes", "RowPart"]

ParentSet = tuple[int, ...]

Coefficient = Callable[[int, ParentSet], float]
"""Node and parent set (numbers, ascending) in, the coefficient of that column out."""


class Item(NamedTuple):
    """Something that is there or not in a structure, and that each single column can bring about.

    Parameters
    ----------
    node : int
        A feature that is used, or the child of an edge that is there.
    parent : int
        The parent of the edge; -1: the item is the feature.
    """

    node: int
    parent: int = -1


class ModelNodes(NamedTuple):
    """The nodes that a constraint speaks of, by name.

    Parameters
    ----------
    names : tuple of str
    cardinalities : tuple of int or None
        Numbers of states; None where there is no table.
    class_index : int or None
        None where no node is the class.
    """

    names: tuple[str, ...]
    cardinalities: tuple[int, ...] | None = None
    class_index: int | None = None

    def number(self, name: str, who: object) -> int:
        """Number of a node; `InputError` for an unknown name, in the words of the constraint `who`."""
        try:
            return self.names.index(str(name))
        except ValueError:
            raise InputError(
                f"The constraint {shown(str(who))} names the unknown node {shown(name)}; known: [{listed(self.names)}]."
            ) from None

    def feature(self, name: str, who: object) -> int:
        """Number of a node that is a feature."""
        node = self.number(name, who)
        if node == self.require_class(who):
            raise InputError(
                f"The constraint {shown(str(who))} counts features, and {shown(name)} is the class; leave it out."
            )
        return node

    def require_class(self, who: object) -> int:
        """Number of the class; `InputError` where there is none."""
        if self.class_index is None:
            raise InputError(
                f"The constraint {shown(str(who))} is about what a class makes use of, and local scores have no class; "
                "leave it out, or limit edges instead."
            )
        return self.class_index

    def require_states(self, who: object) -> tuple[int, ...]:
        """Numbers of states; `InputError` where there is no table."""
        if self.cardinalities is None:
            raise InputError(
                f"The constraint {shown(str(who))} counts parameters, and local scores say nothing of the states; give "
                "it as LinearRow with a coefficient for each parent set."
            )
        return self.cardinalities


class RowPart(NamedTuple):
    """``lower <= sum over nodes of the coefficient of what each node chose <= upper``."""

    coefficient: Coefficient | FloatArray
    lower: float
    upper: float
    said: str = ""


class CapPart(NamedTuple):
    """The weights of the items that are there sum to at most `upper`."""

    weights: dict[Item, float]
    upper: float
    said: str = ""


@dataclass
class ConstraintForm:
    """Collects the parts of constraints; what `StructureConstraint.write` writes to.

    Parameters
    ----------
    nodes : ModelNodes

    Attributes
    ----------
    said : str
        The constraint that writes, in words; rows are named by it.
    forbidden, rows, caps, together, above, apart
        What was written; see the methods.
    """

    nodes: ModelNodes
    said: str = ""
    forbidden: list[Callable[[int, ParentSet], bool]] = field(default_factory=list)
    rows: list[RowPart] = field(default_factory=list)
    caps: list[CapPart] = field(default_factory=list)
    together: list[tuple[Item, ...]] = field(default_factory=list)
    above: list[tuple[int, int]] = field(default_factory=list)
    apart: list[tuple[int, int]] = field(default_factory=list)

    def forbid(self, parents_of: Callable[[int, ParentSet], bool]) -> None:
        """No node may have parents of which this is true."""
        self.forbidden.append(parents_of)

    def row(self, coefficient: Coefficient, *, lower: float = -np.inf, upper: float = np.inf) -> None:
        """A linear row: one coefficient for each node and parent set."""
        self.rows.append(RowPart(coefficient, lower, upper, self.said))

    def edge_row(self, weights: FloatArray, *, lower: float = -np.inf, upper: float = np.inf) -> None:
        """A linear row in edges: ``weights[child, parent]`` for each edge that is there."""
        self.rows.append(RowPart(weights, lower, upper, self.said))

    def cap(self, weights: Mapping[Item, float], upper: float) -> None:
        """The weights (>= 0) of the items that are there sum to at most `upper`."""
        self.caps.append(CapPart(dict(weights), upper, self.said))

    def all_or_none(self, items: Sequence[Item]) -> None:
        """Either all of the items are there or none is."""
        self.together.append(tuple(items))

    def ancestor(self, above: int, below: int) -> None:
        """A directed path leads from `above` to `below`."""
        self.above.append((above, below))

    def no_ancestor(self, above: int, below: int) -> None:
        """No directed path leads from `above` to `below`."""
        self.apart.append((above, below))
