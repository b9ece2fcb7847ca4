"""What a trade-off curve leaves for the next call: its points, and where the trees of those that are open lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mmbn_opt.results.status import TerminationStatus

__all__ = ["KeptCurve", "KeptPoint", "Parents"]

Parents = tuple[tuple[int, ...], ...]
"""Of each node, by numbers; the class is the last node."""


@dataclass(frozen=True)
class KeptPoint:
    """What a search under one limit has told, over all calls.

    Parameters
    ----------
    parents : Parents or None
        Of the best structure.
    primal_bound, dual_bound : float or None
    status : TerminationStatus
        Of the last call.
    seconds : float
        Of all calls.
    """

    parents: Parents | None
    primal_bound: float | None
    dual_bound: float | None
    status: TerminationStatus
    seconds: float

    @property
    def closed(self) -> bool:
        """Whether there is nothing left to search."""
        return self.status in (TerminationStatus.OPTIMAL, TerminationStatus.INFEASIBLE)


class KeptCurve(Protocol):
    """Where a curve is kept; points go by their place, from the tightest limit to the loosest."""

    def bind(self, formulation: Any, settings: Mapping[str, Any], limits: Sequence[tuple[float, Any, Any]]) -> None:
        """Keep the curve of this problem here, and of no other one.

        Parameters
        ----------
        formulation : Formulation
            Without a limit.
        settings : mapping
            As a run has them, and the name of the ``solver``.
        limits : sequence of (value, constraint, formulation under it)
        """

    @property
    def starts(self) -> list[Parents | None] | None:
        """Where the searches begin; None before that is known."""

    def keep_starts(self, starts: Sequence[Parents | None]) -> None:
        """Begin there from now on."""

    def alone(self, place: int, alone: bool) -> bool:
        """Whether the search there begins at given structures alone: as asked the first time."""

    def point(self, place: int) -> KeptPoint | None:
        """What earlier calls have told."""

    def keep(self, place: int, point: KeptPoint) -> None:
        """What is told now."""

    def tree_of(self, place: int) -> Path:
        """The folder of a search tree."""

    def close(self) -> None:
        """Let others write here."""
