"""Terms that a structure's objective may have beside its score: linear in the chosen parent sets.

`value` follows the definition on the structure that comes back, and is what certificates recompute; `gains` says what
each candidate parent set adds, and is what programs are made of. The two share nothing.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._arguments import check_fields, checked_number, choice_of
from ..._arrays import FloatArray
from ...data.discrete import DiscreteDataset
from ...exceptions import InputError
from ...networks.candidates import CandidateParents
from ...networks.structure import Structure
from ...scores.local import local_scores
from ...scores.predictive import DecomposableScore, family_score, structure_score

__all__ = ["EdgePenalty", "ObjectiveTerm", "ParameterPenalty", "ScoreTerm", "checked_gains"]

_SCORES: dict[str, str] = {"loglik": "the log-likelihood", "bic": "BIC", "mdl": "MDL", "bdeu": "BDeu"}


class ObjectiveTerm(ABC):
    """What is added to a score that is maximised; subclasses are frozen dataclasses.

    A term of one's own derives from this class, says what it is worth on a structure, and what the parents of a single
    node add. The value must be the sum of what the nodes add.
    """

    closed: bool = False
    """Whether taking edges away never makes it worse. Parent sets that change no margin are left out then."""

    turns: bool = False
    """Whether it makes no difference from which node a tree of features hangs."""

    @abstractmethod
    def __str__(self) -> str:
        """The term in words, as they stand after "plus" or "minus"."""

    @abstractmethod
    def value(self, structure: Structure, data: DiscreteDataset) -> float:
        """What it adds to the objective, by its definition."""

    @abstractmethod
    def gain(self, node: int, parents: tuple[int, ...], data: DiscreteDataset) -> float:
        """What a node with these parents adds; numbers as in `data`, the class last."""

    def gains(self, candidates: CandidateParents, data: DiscreteDataset) -> FloatArray:
        """`gain` of every candidate, shape (n_columns,)."""
        return np.array([self.gain(node, parents, data) for node, parents in candidates.columns])


@dataclass(frozen=True)
class _Penalty(ObjectiveTerm):
    """A price for each of what is counted."""

    price: float

    closed = True
    turns = True
    counted: ClassVar[str]
    """One of them, in words."""

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(
            self, "price", float(checked_number("price", self.price, open_high=True, expected="a finite number >= 0"))
        )

    def __str__(self) -> str:
        return f"minus {self.price:g} for each {self.counted}"


@dataclass(frozen=True)
class EdgePenalty(_Penalty):
    """Each edge costs a price, those from and to the class counted.

    Parameters
    ----------
    price : float
        In the unit of the score, nats for the soft margin; at least 0.

    Examples
    --------
    >>> print(EdgePenalty(0.5))
    minus 0.5 for each edge
    """

    counted: ClassVar[str] = "edge"

    def value(self, structure: Structure, data: DiscreteDataset) -> float:
        """Minus the price of all edges."""
        return -self.price * len(structure.edges)

    def gain(self, node: int, parents: tuple[int, ...], data: DiscreteDataset) -> float:
        """Minus the price of the edges to the node."""
        return -self.price * len(parents)


@dataclass(frozen=True)
class ParameterPenalty(_Penalty):
    """Each free parameter of the tables costs a price.

    A node of r states has ``(r - 1)`` times the product of its parents' states.

    Parameters
    ----------
    price : float
        In the unit of the score; at least 0.

    Examples
    --------
    >>> print(ParameterPenalty(0.1))
    minus 0.1 for each free parameter
    """

    counted: ClassVar[str] = "free parameter"

    def value(self, structure: Structure, data: DiscreteDataset) -> float:
        """Minus the price of all free entries of the tables."""
        count = 0
        for node, parents in enumerate(structure.parents):
            rows = 1
            for p in parents:
                rows *= data.cardinalities[p]
            count += rows * (data.cardinalities[node] - 1)
        return -self.price * count

    def gain(self, node: int, parents: tuple[int, ...], data: DiscreteDataset) -> float:
        """Minus the price of the node's table."""
        card = data.cardinalities
        return -self.price * float((card[node] - 1) * math.prod(card[p] for p in parents))


@dataclass(frozen=True)
class ScoreTerm(ObjectiveTerm):
    """A decomposable score, times a weight: a mixture of margin and likelihood, say.

    Parameters
    ----------
    score : {"loglik", "bic", "mdl", "bdeu"}
        In nats; "loglik" is the log-likelihood with maximum-likelihood parameters.
    weight : float
        At least 0.
    ess : float
        Equivalent sample size of "bdeu".

    Examples
    --------
    >>> print(ScoreTerm("loglik", 0.1))
    plus 0.1 times the log-likelihood
    """

    score: DecomposableScore = "loglik"
    weight: float = 1.0
    ess: float = 1.0

    turns = True

    def __post_init__(self) -> None:
        check_fields(self)
        choice_of("score", self.score, tuple(_SCORES))
        weight = checked_number("weight", self.weight, open_high=True, expected="a finite number >= 0")
        object.__setattr__(self, "weight", float(weight))
        checked_number("ess", self.ess, open_low=True, open_high=True, expected="a finite number > 0")

    def __str__(self) -> str:
        return f"plus {self.weight:g} times {_SCORES[self.score]}"

    def value(self, structure: Structure, data: DiscreteDataset) -> float:
        """The score of the structure, by its definition."""
        return self.weight * structure_score(structure, data, self.score, self.ess)

    def gain(self, node: int, parents: tuple[int, ...], data: DiscreteDataset) -> float:
        """The local score of the node."""
        return self.weight * family_score(data, node, parents, self.score, self.ess)

    def gains(self, candidates: CandidateParents, data: DiscreteDataset) -> FloatArray:
        """The local score of every candidate."""
        return self.weight * local_scores(data, candidates, self.score, self.ess)


def checked_gains(term: ObjectiveTerm, candidates: CandidateParents, data: DiscreteDataset) -> FloatArray:
    """What a term adds for each candidate.

    Raises
    ------
    InputError
        Where a term of the caller's own gives something else than finite numbers.
    """
    gains = np.asarray(term.gains(candidates, data), dtype=np.float64)
    if gains.shape != (candidates.n_columns,) or not np.isfinite(gains).all():
        raise InputError(
            f"The term {str(term)!r} must give a finite number for each of the {candidates.n_columns:,} parent sets; "
            f"it gave shape {gains.shape}, with {int((~np.isfinite(gains)).sum())} that are not finite."
        )
    return gains
