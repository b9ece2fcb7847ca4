"""Side constraints on structures: what each one says, as a test of a structure, and in what parts it is written down.

`objection` follows the definition on the graph alone; certificates use it. `write` is what programs are made of, and
the two share nothing, so that one can be held against the other.
"""

import math
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mmbn_opt._arguments import check_fields, checked_number, is_number, listed, shown, whole
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.constraint_form import ConstraintForm, ModelNodes
from mmbn_opt.networks.structure import Structure

__all__ = ["DegreeLimit", "LinearRow", "MaxEdges", "MaxParameters", "StructureConstraint", "ruled_out", "within"]

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
    lone = [constraint for constraint in constraints if constraint.closed]
    if not lone:
        return False
    structure = Structure(tuple(features), last, only)
    return any(constraint.objection(structure, nodes) is not None for constraint in lone)


@dataclass(frozen=True)
class MaxEdges(StructureConstraint):
    """At most so many edges, those from and to the class counted.

    Parameters
    ----------
    most : int

    Examples
    --------
    >>> print(MaxEdges(7))
    at most 7 edges
    """

    most: int

    closed = True
    turns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", whole("most", self.most))

    def __str__(self) -> str:
        return f"at most {self.most} edge{'s' if self.most != 1 else ''}"

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
class MaxParameters(StructureConstraint):
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

    most: int

    closed = True
    turns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", whole("most", self.most))

    def __str__(self) -> str:
        return f"at most {self.most} free parameter{'s' if self.most != 1 else ''}"

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


Terms = Mapping[Any, float] | Callable[[str, tuple[str, ...]], float]


@dataclass(frozen=True)
class LinearRow(StructureConstraint):
    """``lower <= sum of coefficients <= upper``, by edges, by parent sets, or by a function of one's own.

    Parameters
    ----------
    terms : mapping or callable
        ``{("age", "bp"): 2.0}`` counts 2 where the edge from age to bp is there; ``{("bp", ("age", "sex")): 2.0}``
        counts 2 where the parents of bp are exactly these; a function gets each node's name and its parents' names,
        in the order of the columns, and returns what that counts.
    upper, lower : float or None
        At least one.
    label : str
        What it is called in messages and in the program.

    Examples
    --------
    >>> print(LinearRow({("age", "bp"): 1.0, ("sex", "bp"): 1.0}, upper=1.0))
    at most 1 in a linear row over 2 terms
    """

    terms: Terms
    upper: float | None = None
    lower: float | None = None
    label: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("upper", "lower"):
            value = getattr(self, name)
            if value is not None:
                finite = checked_number(
                    name, value, -math.inf, open_low=True, open_high=True, expected="a finite number or None"
                )
                object.__setattr__(self, name, float(finite))
        if self.upper is None and self.lower is None:
            raise InputError("LinearRow needs upper, lower or both.")
        if self.upper is not None and self.lower is not None and self.lower > self.upper:
            raise InputError(f"LinearRow has lower={self.lower:g} above upper={self.upper:g}; exchange them.")
        if isinstance(self.terms, Mapping):
            object.__setattr__(self, "terms", dict(self.terms))
            for key, value in self.terms.items():
                self._check_term(key, value)
        object.__setattr__(self, "closed", self._loses_nothing())

    @staticmethod
    def _check_term(key: Any, value: Any) -> None:
        pair = isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str)
        if not pair or not isinstance(key[1], (str, tuple, frozenset)):
            raise InputError(
                f'A term of LinearRow is ("parent", "child"), or ("node", ("parent", ...)) for exactly these parents; '
                f"got {shown(key)}."
            )
        if not is_number(value) or not math.isfinite(value):
            raise InputError(f"The coefficient of {shown(key)} must be a finite number, got {shown(value)}.")

    def _loses_nothing(self) -> bool:
        """Whether fewer edges keep it: limits of one direction on edges of one sign."""
        if not isinstance(self.terms, Mapping) or not all(isinstance(of, str) for _, of in self.terms):
            return False
        signs = [value >= 0 for value in self.terms.values()], [value <= 0 for value in self.terms.values()]
        return (self.lower is None and all(signs[0])) or (self.upper is None and all(signs[1]))

    def __str__(self) -> str:
        sides = [f"at least {self.lower:g}" if self.lower is not None else ""]
        sides += [f"at most {self.upper:g}" if self.upper is not None else ""]
        of = f"over {len(self.terms)} terms" if isinstance(self.terms, Mapping) else "of a function"
        row = f"{shown(self.label)}" if self.label else f"a linear row {of}"
        return f"{' and '.join(filter(None, sides))} in {row}"

    def __getstate__(self) -> dict[str, Any]:
        """Say so where the function cannot travel to another process."""
        if callable(self.terms):
            try:
                pickle.dumps(self.terms)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise InputError(
                    f"The function of LinearRow cannot be sent to another process ({error}); define it by def in a "
                    "module that can be imported, or give a mapping of terms."
                ) from error
        return dict(self.__dict__)

    def check(self, nodes: ModelNodes) -> None:
        """All names must be known."""
        if isinstance(self.terms, Mapping):
            for first, second in self.terms:
                for name in (first, *((second,) if isinstance(second, str) else second)):
                    nodes.number(name, self)

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Add up what each node's parents count."""
        parts = []
        for node, parents in enumerate(structure.parents):
            name, names = nodes.names[node], tuple(nodes.names[p] for p in parents)
            if callable(self.terms):
                parts.append(self._called(name, names))
                continue
            for (first, second), value in self.terms.items():
                edge = isinstance(second, str) and second == name and first in names
                exact = not isinstance(second, str) and first == name and set(second) == set(names)
                parts += [value] if edge or exact else []
        total = math.fsum(parts)
        if self.upper is not None and not within(total, self.upper):
            return f"{self.label or 'a linear row'} is {total:g}, at most {self.upper:g} is allowed"
        if self.lower is not None and not within(-total, -self.lower):
            return f"{self.label or 'a linear row'} is {total:g}, at least {self.lower:g} is asked for"
        return None

    def _called(self, node: str, parents: tuple[str, ...]) -> float:
        assert callable(self.terms)
        value = self.terms(node, parents)
        if not is_number(value) or not math.isfinite(value):
            raise InputError(
                f"The function of LinearRow must return a finite number; for {shown(node)} with the parents "
                f"[{listed(parents)}] it returned {shown(value)}."
            )
        return float(value)

    def write(self, form: ConstraintForm) -> None:
        """One row of two sides."""
        sides = {
            "lower": -math.inf if self.lower is None else self.lower,
            "upper": math.inf if self.upper is None else self.upper,
        }
        names = form.nodes.names
        if callable(self.terms):
            form.row(lambda node, parents: self._called(names[node], tuple(names[p] for p in parents)), **sides)
            return
        weights, exact = np.zeros((len(names), len(names))), dict[tuple[int, tuple[int, ...]], float]()
        for (first, second), value in self.terms.items():
            if isinstance(second, str):
                weights[form.nodes.number(second, self), form.nodes.number(first, self)] += value
            else:
                some = tuple(sorted({form.nodes.number(p, self) for p in second}))
                key = (form.nodes.number(first, self), some)
                exact[key] = exact.get(key, 0.0) + value
        if not exact:
            form.edge_row(weights, **sides)
            return
        form.row(lambda node, ps: exact.get((node, ps), 0.0) + math.fsum(weights[node, p] for p in ps), **sides)
