"""Structures for the points of a curve before any is solved: each limit's best, handed up and down and improved."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import OutOfTime, leaving_when
from mmbn_opt.exceptions import InfeasibleError
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.networks.structure import Structure
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.choice import ChoiceProgram

__all__ = ["Scout", "scouted", "structure_of"]

CALLS = 2
"""Calls of the heuristic from each structure; each kicks what the one before found."""


def structure_of(model: Any) -> Structure:
    """The structure of a network; of a structure itself."""
    structure: Structure = model if isinstance(model, Structure) else model.structure
    return structure


@dataclass
class Scout:
    """The best structure that is known under one limit.

    Parameters
    ----------
    problem : ParentSetFormulation
        With the limit.
    """

    problem: ParentSetFormulation
    best: Structure | None = None
    value: float = field(default=float("inf"))

    def __post_init__(self) -> None:
        self._program: ChoiceProgram = self.problem.build(ProgramKind.IMPLICIT_CONCAVE)
        self._improve = copy(self._program.primal_heuristic)

    def hear(self, structure: Structure) -> None:
        """Begin at what another limit's best leaves under this one."""
        near = self.problem.nearest(structure)
        if self.problem.broken(near) is not None:
            return
        x = self._program.vector(self.problem.choice_of(near))
        self._take(x)
        for _ in range(CALLS):
            better = None if self._improve is None else self._improve(x)
            if better is not None:
                self._take(better)

    def _take(self, x: FloatArray) -> None:
        value = self._program.value(x)
        if value < self.value and self._program.violation(x) <= 0:
            self.best, self.value = self.problem.structure_of(self._program.choice(x)), value


def scouted(problems: Sequence[ParentSetFormulation], over: Callable[[], bool]) -> list[Structure | None]:
    """A structure for each problem; None where nothing was found.

    Parameters
    ----------
    problems : sequence of ParentSetFormulation
        From the tightest limit to the loosest.
    over : callable
        Whether the time for this is up.
    """
    scouts: list[Scout | None] = [None] * len(problems)
    with suppress(OutOfTime), leaving_when(over):
        for place, problem in enumerate(problems):
            with suppress(InfeasibleError):
                scouts[place] = Scout(problem)
        there = [scout for scout in scouts if scout is not None]
        if there:
            there[0].hear(structure_of(there[0].problem.trivial_start().model))
        for way in (there, there[::-1]):
            for one, other in pairwise(way):
                if one.best is not None:
                    other.hear(one.best)
    return [None if scout is None else scout.best for scout in scouts]
