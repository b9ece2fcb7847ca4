"""Side constraints on the features that a classifier makes use of, and on groups of features or edges.

A feature is used when it is in the Markov blanket of the class: nothing else moves the posterior of a complete row.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mmbn_opt._arguments import check_fields, checked_number, listed, shown
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.constraint_form import ConstraintForm, Item, ModelNodes
from mmbn_opt.networks.constraints import AtMost, StructureConstraint, within
from mmbn_opt.networks.structure import Structure

__all__ = ["AllOrNone", "AtMostOne", "FeatureBudget", "MaxFeatures"]

Member = str | tuple[str, str]
"""A feature by its name, or an edge as (parent, child)."""


@dataclass(frozen=True)
class MaxFeatures(AtMost):
    """At most so many features are used, that is, lie in the Markov blanket of the class.

    Parameters
    ----------
    most : int

    Examples
    --------
    >>> print(MaxFeatures(5))
    at most 5 used features
    """

    counted: ClassVar[str] = "used feature"

    def check(self, nodes: ModelNodes) -> None:
        """There must be a class."""
        nodes.require_class(self)

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Count the Markov blanket."""
        used = sorted(structure.markov_blanket(structure.class_index))
        if len(used) <= self.most:
            return None
        told = listed(nodes.names[v] for v in used)
        return f"it uses {len(used)} features ({told}), at most {self.most} are allowed"

    def write(self, form: ConstraintForm) -> None:
        """A cap."""
        c = form.nodes.require_class(self)
        form.cap({Item(v): 1.0 for v in range(len(form.nodes.names)) if v != c}, float(self.most))


@dataclass(frozen=True)
class FeatureBudget(StructureConstraint):
    """The costs of the features that are used sum to at most a budget.

    Parameters
    ----------
    costs : mapping of feature name to float
        At least 0. Features that are not in it cost nothing.
    budget : float

    Examples
    --------
    >>> print(FeatureBudget({"age": 1.0, "mri": 20.0}, 12.0))
    used features that cost at most 12 together
    """

    costs: Mapping[str, float]
    budget: float

    closed = True
    turns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        for name, cost in self.costs.items():
            checked_number(f"The cost of {shown(name)}", cost, open_high=True, expected="a finite number >= 0")
        object.__setattr__(self, "costs", {str(name): float(cost) for name, cost in self.costs.items()})
        budget = checked_number("budget", self.budget, open_high=True, expected="a finite number >= 0")
        object.__setattr__(self, "budget", float(budget))

    def __str__(self) -> str:
        return f"used features that cost at most {self.budget:g} together"

    def check(self, nodes: ModelNodes) -> None:
        """All names must be features."""
        nodes.require_class(self)
        for name in self.costs:
            nodes.feature(name, self)

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Add up the costs of the Markov blanket."""
        costs = [self.costs.get(nodes.names[v], 0.0) for v in structure.markov_blanket(structure.class_index)]
        total = math.fsum(costs)
        if within(total, self.budget):
            return None
        return f"the features that it uses cost {total:g} together, at most {self.budget:g} is allowed"

    def write(self, form: ConstraintForm) -> None:
        """A cap."""
        weights = {Item(form.nodes.feature(name, self)): cost for name, cost in self.costs.items() if cost > 0}
        form.cap(weights, self.budget)


@dataclass(frozen=True)
class _Group(StructureConstraint):
    """A group of features (used or not) and edges (there or not)."""

    members: Collection[Member]

    def __post_init__(self) -> None:
        kind = type(self).__name__
        given: Any = self.members  # of whatever kind it was given
        if isinstance(given, str) or not isinstance(given, Collection):
            raise InputError(f"{kind} needs a list of features or of (parent, child) edges, got {shown(self.members)}.")
        for member in given:
            edge = isinstance(member, tuple) and len(member) == 2 and all(isinstance(name, str) for name in member)
            if not edge and not isinstance(member, str):
                raise InputError(f"A member of {kind} is a feature's name or (parent, child), got {shown(member)}.")
        object.__setattr__(self, "members", tuple(dict.fromkeys(self.members)))
        if len(self.members) < 2:
            raise InputError(f"{kind} needs two members or more, got {shown(list(self.members))}.")

    def check(self, nodes: ModelNodes) -> None:
        """All names must be known, and those that stand alone must be features."""
        self._items(nodes)

    def _items(self, nodes: ModelNodes) -> list[Item]:
        found = []
        for member in self.members:
            if isinstance(member, str):
                found.append(Item(nodes.feature(member, self)))
            else:
                parent, child = (nodes.number(name, self) for name in member)
                found.append(Item(child, parent))
        return found

    def _there(self, structure: Structure, nodes: ModelNodes) -> list[Member]:
        used: set[int] = set()
        if any(isinstance(member, str) for member in self.members):
            used = structure.markov_blanket(structure.class_index)
        names = {nodes.names[v] for v in used}
        edges = set(structure.edges)
        return [m for m in self.members if (m in names if isinstance(m, str) else m in edges)]

    def _said(self) -> str:
        return listed((m if isinstance(m, str) else f"{m[0]} -> {m[1]}" for m in self.members), show=str)


@dataclass(frozen=True)
class AllOrNone(_Group):
    """All members of a group are there, or none: features that are used, edges as ``(parent, child)``.

    Parameters
    ----------
    members : list of str and pairs of str

    Examples
    --------
    >>> print(AllOrNone(["sodium", "potassium"]))
    all or none of sodium, potassium
    """

    def __str__(self) -> str:
        return f"all or none of {self._said()}"

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Count those that are there."""
        there = self._there(structure, nodes)
        if len(there) in (0, len(self.members)):
            return None
        return f"of {self._said()} it has {len(there)}, all or none are asked for"

    def write(self, form: ConstraintForm) -> None:
        """Members that go together."""
        form.all_or_none(self._items(form.nodes))


@dataclass(frozen=True)
class AtMostOne(_Group):
    """At most one member of a group is there: features that are used, edges as ``(parent, child)``.

    Parameters
    ----------
    members : list of str and pairs of str

    Examples
    --------
    >>> print(AtMostOne(["ct", "mri", ("age", "bp")]))
    at most one of ct, mri, age -> bp
    """

    closed = True

    def __str__(self) -> str:
        return f"at most one of {self._said()}"

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Count those that are there."""
        there = self._there(structure, nodes)
        return None if len(there) <= 1 else f"of {self._said()} it has {len(there)}, at most one is allowed"

    def write(self, form: ConstraintForm) -> None:
        """A cap of one."""
        form.cap(dict.fromkeys(self._items(form.nodes), 1.0), 1.0)
