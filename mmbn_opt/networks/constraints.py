"""Side constraints on structures: what each one says, as a test of a structure, and in what parts it is written down.

`objection` follows the definition on the graph alone; certificates use it. `write` is what programs are made of, and
the two share nothing, so that one can be held against the other.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mmbn_opt._arguments import check_fields, listed, whole
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.constraint_form import ConstraintForm, ModelNodes
from mmbn_opt.networks.structure import Structure

__all__ = ["AtMost", "DegreeLimit", "MaxEdges", "MaxParameters", "StructureConstraint", "ruled_out", "within"]

SLACK = 1e-9
"""Relative; by so much a sum may exceed its limit, since sums of decimal fractions are not exact."""


def within(total: float, upper: float) -> bool:
    """Whether a sum keeps its limit but for rounding.

    Examples
    --------
    >>> within(0.1 + 0.2, 0.3), within(0.31, 0.3)
    (True, False)
    """
    return total <= upper + SLACK * max(1.0, abs(upper))


class StructureConstraint(ABC):
    """Something that a structure has to keep besides being acyclic; subclasses are frozen dataclasses.

    A constraint of one's own derives from this class, says what it objects to, and writes itself down in the parts that
    `ConstraintForm` offers. See "A constraint of one's own" in the documentation.
    """

    closed: bool = False
    """Whether taking edges away never breaks it. Parent sets that some subset of theirs replaces are left out then."""

    turns: ClassVar[bool] = False
    """Whether it makes no difference from which node a tree of features hangs."""

    filters: ClassVar[bool] = False
    """Whether it says of each node's parents alone whether they are allowed, so that every solver can keep it."""

    def closed_part(self) -> "StructureConstraint | None":
        """What it says that taking edges away never breaks: itself where it is `closed`, or a weaker constraint.

        One that forbids parent sets, and is not closed for what it says besides, has to tell that part.
        """
        return self if self.closed else None

    @abstractmethod
    def __str__(self) -> str:
        """The constraint in words, as they stand after "with"."""

    @abstractmethod
    def check(self, nodes: ModelNodes) -> None:
        """Raise `InputError` where it names what is not there."""

    @abstractmethod
    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Why a structure does not keep it, by its definition; None where it does."""

    @abstractmethod
    def write(self, form: ConstraintForm) -> None:
        """Write it down."""


def ruled_out(
    constraints: Iterable[StructureConstraint], nodes: ModelNodes, node: int, parents: tuple[int, ...]
) -> bool:
    """Whether some constraint alone says that no structure gives a node these parents.

    Of a constraint that fewer edges never break: then the structure without any other edge breaks it too.
    """
    *features, last = nodes.names
    only = tuple(tuple(parents) if v == node else () for v in range(len(nodes.names)))
    lone = [part for constraint in constraints if (part := constraint.closed_part()) is not None]
    if not lone:
        return False
    structure = Structure(tuple(features), last, only)
    return any(constraint.objection(structure, nodes) is not None for constraint in lone)


@dataclass(frozen=True)
class AtMost(StructureConstraint):
    """At most so many of what is counted."""

    most: int

    closed = True
    turns: ClassVar[bool] = True
    counted: ClassVar[str]
    """One of them, in words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", whole("most", self.most))

    def __str__(self) -> str:
        return f"at most {self.most} {self.counted}{'s' if self.most != 1 else ''}"


@dataclass(frozen=True)
class MaxEdges(AtMost):
    """At most so many edges, those from and to the class counted.

    Parameters
    ----------
    most : int

    Examples
    --------
    >>> print(MaxEdges(7))
    at most 7 edges
    """

    counted: ClassVar[str] = "edge"

    def check(self, nodes: ModelNodes) -> None:
        """It names nothing."""

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Count the edges."""
        count = len(structure.edges)
        return None if count <= self.most else f"it has {count} edges, at most {self.most} are allowed"

    def write(self, form: ConstraintForm) -> None:
        """One row."""
        n = len(form.nodes.names)
        form.edge_row(np.ones((n, n)), upper=float(self.most))


@dataclass(frozen=True)
class MaxParameters(AtMost):
    """At most so many free parameters in the tables of all nodes together.

    A node of r states has ``(r - 1)`` times the product of its parents' states.

    Parameters
    ----------
    most : int

    Examples
    --------
    >>> print(MaxParameters(50))
    at most 50 free parameters
    """

    counted: ClassVar[str] = "free parameter"

    def check(self, nodes: ModelNodes) -> None:
        """States must be known."""
        nodes.require_states(self)

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Count the free entries of the tables."""
        states = nodes.require_states(self)
        count = 0
        for node, parents in enumerate(structure.parents):
            configurations = 1
            for p in parents:
                configurations *= states[p]
            count += configurations * (states[node] - 1)
        return None if count <= self.most else f"it has {count:,} free parameters, at most {self.most:,} are allowed"

    def write(self, form: ConstraintForm) -> None:
        """One row."""
        states = form.nodes.require_states(self)
        form.row(
            lambda node, parents: float((states[node] - 1) * math.prod(states[p] for p in parents)),
            upper=float(self.most),
        )


@dataclass(frozen=True)
class DegreeLimit(StructureConstraint):
    """Limits on the numbers of parents (``in``) and of children (``out``) of some nodes, or of each one.

    Parameters
    ----------
    nodes : str, list of str or None
        None: all nodes, the class included.
    max_in, max_out, min_in, min_out : int or None

    Examples
    --------
    >>> print(DegreeLimit("age", max_in=0, max_out=2))
    at most 0 parents and at most 2 children of 'age'
    """

    nodes: Collection[str] | str | None = None
    max_in: int | None = None
    max_out: int | None = None
    min_in: int | None = None
    min_out: int | None = None

    turns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.nodes is not None:
            given = (self.nodes,) if isinstance(self.nodes, str) else tuple(map(str, self.nodes))
            object.__setattr__(self, "nodes", given)
        for name in ("max_in", "max_out", "min_in", "min_out"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, whole(name, value))
        if not self._limits:
            raise InputError("DegreeLimit needs max_in, max_out, min_in or min_out.")
        # Fewer edges keep what is a limit from above.
        object.__setattr__(self, "closed", self.min_in is None and self.min_out is None)

    def closed_part(self) -> StructureConstraint | None:
        """Its limits from above."""
        if self.max_in is None and self.max_out is None:
            return None
        return DegreeLimit(self.nodes, self.max_in, self.max_out)

    @property
    def _limits(self) -> list[tuple[str, int, str]]:
        every = (
            ("at most", self.max_in, "parent"), ("at most", self.max_out, "child"),
            ("at least", self.min_in, "parent"), ("at least", self.min_out, "child"),
        )  # fmt: skip
        return [(side, count, what) for side, count, what in every if count is not None]

    def __str__(self) -> str:
        plural = {"parent": "parents", "child": "children"}
        limits = [f"{side} {n} {what if n == 1 else plural[what]}" for side, n, what in self._limits]
        return f"{' and '.join(limits)} of {'each node' if self.nodes is None else listed(self.nodes)}"

    def check(self, nodes: ModelNodes) -> None:
        """All names must be known."""
        self._numbers(nodes)

    def _numbers(self, nodes: ModelNodes) -> list[int]:
        if self.nodes is None:
            return list(range(len(nodes.names)))
        return [nodes.number(name, self) for name in self.nodes]

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Count parents and children."""
        for node in self._numbers(nodes):
            parents = len(structure.parents[node])
            children = sum(node in of for of in structure.parents)
            for side, limit, what in self._limits:
                count = parents if what == "parent" else children
                if count > limit if side == "at most" else count < limit:
                    plural = "parents" if what == "parent" else "children"
                    return f"{nodes.names[node]!r} has {count} {plural}, {side} {limit} are asked for"
        return None

    def write(self, form: ConstraintForm) -> None:
        """A limit on parents from above is a matter of each column, the others take a row."""
        numbers, n = self._numbers(form.nodes), len(form.nodes.names)
        some = set(numbers)
        if self.max_in is not None:
            most = self.max_in
            form.forbid(lambda node, parents: node in some and len(parents) > most)
        if self.min_in is not None:
            for node in numbers:
                weights = np.zeros((n, n))
                weights[node] = 1.0
                form.edge_row(weights, lower=float(self.min_in))
        if self.max_out is None and self.min_out is None:
            return
        for node in numbers:
            weights = np.zeros((n, n))
            weights[:, node] = 1.0
            form.edge_row(
                weights,
                lower=-np.inf if self.min_out is None else float(self.min_out),
                upper=np.inf if self.max_out is None else float(self.max_out),
            )
