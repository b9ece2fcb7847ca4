"""A side constraint that is linear in edges, in parent sets, or in what a function says of them."""

import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmbn_opt._arguments import check_fields, checked_number, is_number, listed, shown
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.constraint_form import ConstraintForm, ModelNodes
from mmbn_opt.networks.constraints import StructureConstraint, within
from mmbn_opt.networks.structure import Structure

__all__ = ["LinearRow"]

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
