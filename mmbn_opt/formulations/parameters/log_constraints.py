"""Limits on the entries of tables that are linear in their logarithms, so that the relaxation stays convex."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..._arguments import check_fields, checked_number, listed, shown
from ...exceptions import InputError
from .log_entries import LogEntries, ParameterConstraint, Row

__all__ = [
    "EntryBounds",
    "MonotoneEntries",
    "ParameterRow",
    "TiedTables",
]


def _said(given: Mapping[str, Any]) -> str:
    return "".join(f"{' | ' if k == 0 else ', '}{name}={state}" for k, (name, state) in enumerate(given.items()))


@dataclass(frozen=True)
class EntryBounds(ParameterConstraint):
    """Probabilities between two numbers, or fixed where these are equal.

    Parameters
    ----------
    node : str
        The class or a child of it.
    state : object
        None for each state.
    given : mapping
        States of parents by name; the limit holds in every row of the table that has them.
    lower, upper : float or None
        At least one; above 0 and at most 1.

    Examples
    --------
    >>> print(EntryBounds("fever", "yes", {"disease": "flu"}, lower=0.8))
    P[fever=yes | disease=flu] at least 0.8
    """

    node: str
    state: Any = None
    given: Mapping[str, Any] = field(default_factory=dict)
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.lower is None and self.upper is None:
            raise InputError("EntryBounds needs lower, upper or both.")
        for name in ("lower", "upper"):
            if getattr(self, name) is not None:
                checked_number(name, getattr(self, name), 0.0, 1.0, open_low=True, expected="a number in (0, 1]")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise InputError(f"EntryBounds has lower={self.lower:g} above upper={self.upper:g}; exchange them.")

    def __str__(self) -> str:
        what = f"P[{self.node}{'' if self.state is None else f'={self.state}'}{_said(self.given)}]"
        if self.lower == self.upper:
            return f"{what} fixed at {self.lower:g}"
        sides = [
            f"at {word} {side:g}" for word, side in (("least", self.lower), ("most", self.upper)) if side is not None
        ]
        return f"{what} {', '.join(sides)}"

    def rows(self, entries: LogEntries) -> Iterator[Row]:
        """An entry a row."""
        node = entries.node(self.node, self)
        states = range(entries.layout.card[node])
        low = -math.inf if self.lower is None else math.log(self.lower)
        high = math.inf if self.upper is None else math.log(self.upper)
        for row in entries.rows(node, self.given, self):
            for state in states if self.state is None else [entries.state(node, self.state, self)]:
                yield {entries.place(node, row, state): 1.0}, low, high


@dataclass(frozen=True)
class MonotoneEntries(ParameterConstraint):
    """Probabilities that rise (or fall) with the states of a node, or odds of a class that do.

    Parameters
    ----------
    node : str
        Its states are taken in their order.
    toward : object
        A class: not ``P[node=s | ...]`` has to rise with s but its ratio to that under each other class, so that a
        larger state never speaks against this class. None: the probability itself.
    given : mapping
        States of parents by name; None named: every row of the table.
    increasing : bool

    Examples
    --------
    >>> print(MonotoneEntries("stage", toward="ill"))
    odds of ill rise with stage
    """

    node: str
    toward: Any = None
    given: Mapping[str, Any] = field(default_factory=dict)
    increasing: bool = True

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        way = "rise" if self.increasing else "fall"
        if self.toward is not None:
            return f"odds of {self.toward} {way} with {self.node}{_said(self.given)}"
        return f"P[{self.node}{_said(self.given)}] {way} with its states"

    def rows(self, entries: LogEntries) -> Iterator[Row]:
        """A pair of neighbouring states a row, of each row of the table or of each pair of its rows."""
        node = entries.node(self.node, self)
        sign = 1.0 if self.increasing else -1.0
        steps = range(entries.layout.card[node] - 1)
        for row in entries.rows(node, self.given, self):
            for rival in [None] if self.toward is None else self._rivals(entries, node, row):
                for state in steps:
                    terms = {entries.place(node, row, state + 1): sign, entries.place(node, row, state): -sign}
                    if rival is not None:
                        terms |= {entries.place(node, rival, state + 1): -sign, entries.place(node, rival, state): sign}
                    yield terms, 0.0, math.inf

    def _rivals(self, entries: LogEntries, node: int, row: int) -> Iterator[int]:
        """Rows that differ from one of the class `toward` in nothing but the class; none for rows of other classes."""
        label = entries.class_name
        own = entries.parents(node, row)
        if label not in own:
            raise InputError(f"{self}: toward is for children of the class, and {shown(self.node)} is none.")
        target = entries.layout.structure.names.index(label)
        wanted = entries.states(target)[entries.state(target, self.toward, self)]
        if own[label] == wanted:
            for state in entries.states(target):
                if state != wanted:
                    yield from entries.rows(node, own | {label: state}, self)


@dataclass(frozen=True)
class TiedTables(ParameterConstraint):
    """Nodes whose tables are the same, entry by entry.

    Parameters
    ----------
    nodes : sequence of str
        Two or more, of as many states each, whose parents have as many states each, in order.

    Examples
    --------
    >>> print(TiedTables(("left", "right")))
    tables of left, right tied
    """

    nodes: tuple[str, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "nodes", tuple(self.nodes))
        if len(self.nodes) < 2 or len(set(self.nodes)) < len(self.nodes):
            raise InputError(f"TiedTables needs two different nodes at least, got [{listed(self.nodes)}].")

    def __str__(self) -> str:
        return f"tables of {', '.join(self.nodes)} tied"

    def rows(self, entries: LogEntries) -> Iterator[Row]:
        """An entry of each node but the first a row."""
        nodes = [entries.node(name, self) for name in self.nodes]
        layout = entries.layout
        shapes = {tuple(layout.card[p] for p in (*layout.structure.parents[v], v)) for v in nodes}
        if len(shapes) > 1:
            told = listed(("x".join(map(str, shape)) for shape in sorted(shapes)), show=str)
            raise InputError(f"{self}: their tables have different shapes (states of parents, then own): [{told}].")
        n_rows, states = layout.shape(nodes[0])
        for other in nodes[1:]:
            for row in range(n_rows):
                for state in range(states):
                    yield {entries.place(nodes[0], row, state): 1.0, entries.place(other, row, state): -1.0}, 0.0, 0.0


Coefficient = Callable[[str, Any, Mapping[str, Any]], float]


@dataclass(frozen=True)
class ParameterRow(ParameterConstraint):
    """``lower <= sum of coefficients times log P <= upper`` by a function of one's own.

    Parameters
    ----------
    coefficient : callable
        Gets a node's name, a state, and the parents' states by name; returns what log P of that entry counts.
    lower, upper : float or None
        In nats; at least one.
    label : str
        What it is called in messages and in the program.

    Examples
    --------
    >>> print(ParameterRow(lambda node, state, parents: float(node == "age"), lower=-20.0, label="no small ages"))
    no small ages
    """

    coefficient: Coefficient
    lower: float | None = None
    upper: float | None = None
    label: str = "a linear row"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.lower is None and self.upper is None:
            raise InputError("ParameterRow needs lower, upper or both.")
        sides = [s for s in (self.lower, self.upper) if s is not None]
        for side in sides:
            checked_number("A side of ParameterRow", side, -math.inf, open_low=True, open_high=True, expected="finite")
        if len(sides) == 2 and sides[0] > sides[1]:
            raise InputError(f"ParameterRow has lower={sides[0]:g} above upper={sides[1]:g}; exchange them.")

    def __str__(self) -> str:
        return self.label

    def rows(self, entries: LogEntries) -> Iterator[Row]:
        """One row over all entries."""
        terms: dict[int, float] = {}
        for node in entries.layout.nodes:
            name = entries.layout.structure.names[node]
            for row in range(entries.layout.shape(node)[0]):
                parents = entries.parents(node, row)
                for k, state in enumerate(entries.states(node)):
                    terms[entries.place(node, row, k)] = checked_number(
                        f"The coefficient of {self.label}", self.coefficient(name, state, parents), -math.inf,
                        open_low=True, open_high=True, expected="a finite number",
                    )  # fmt: skip
        low = -math.inf if self.lower is None else float(self.lower)
        yield terms, low, math.inf if self.upper is None else float(self.upper)
