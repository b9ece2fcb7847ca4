"""Structures by a sum of one score a node: a linear objective over parent sets."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..._arrays import FloatArray
from ...heuristics.local_search import LocalSearch
from ...heuristics.objectives import LinearLoss
from ...heuristics.order_search import OrderSearch
from ...networks.candidates import CandidateParents
from ...programs.base import ProgramKind
from .parent_sets import Choice, ParentSetFormulation

__all__ = ["SumOfScores"]


class SumOfScores(ParentSetFormulation):
    """What follows from the candidates and their scores, wherever these are from."""

    emits: ClassVar[frozenset[ProgramKind]] = ParentSetFormulation.emits | {ProgramKind.LINEAR_CHOICE}

    @property
    @abstractmethod
    def _scored(self) -> tuple[CandidateParents, FloatArray]:
        """Candidates that no subset of theirs equals or beats, and their scores."""

    @cached_property
    def candidates(self) -> CandidateParents:
        """Parent sets that a structure may choose from; dominated ones are left out."""
        return self._scored[0]

    @property
    def column_scores(self) -> FloatArray:
        """Local score of every column."""
        return self._scored[1]

    def _loss(self) -> LinearLoss:
        return LinearLoss(self.column_scores)

    def _searched(self, start: Choice, seed: int, deadline: float | None) -> Iterator[tuple[Choice, str]]:
        """Better choices and who found them: a search over orders, or over choices where constraints tie these."""
        if self.side is None:
            orders = OrderSearch(self.candidates, -self.column_scores, seed=seed, deadline=deadline)
            yield from ((choice, "order_search") for choice, _ in orders.run(start))
        else:
            local = LocalSearch(self.candidates, self._loss(), seed=seed, deadline=deadline, side=self.side)
            yield from ((choice, "local_search") for choice, _ in local.run(start))

    def _best_per_node(self) -> FloatArray:
        return np.maximum.reduceat(self.column_scores, self.candidates.offsets[:-1])

    def _score_part(self) -> tuple[None, FloatArray, FloatArray, FloatArray, float]:
        """Costs are the distances to each node's best set: small numbers, and an offset that undoes the shift."""
        best = self._best_per_node()
        cost = np.repeat(best, np.diff(self.candidates.offsets)) - self.column_scores
        return None, cost, np.zeros(0), np.zeros(0), -float(best.sum())

    def trivial_bound(self) -> float:
        """Every node with its best parent set, cycles or not."""
        return float(self._best_per_node().sum())
