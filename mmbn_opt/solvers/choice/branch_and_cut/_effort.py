"""Work in counted steps that stand for time, so that what depends on it repeats from run to run.

A step is about a nanosecond of one thread. The rates below were measured on some data sets; they need be right within a
factor of two or so, since they only decide how often the heuristic is called and when two trees have done as much.
"""

from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from ...._arrays import FloatArray
from ....programs.choice import ConcaveTerm
from ._tableau import Tableau

__all__ = [
    "Effort",
    "Tally",
    "child_steps",
    "cut_steps",
    "making_steps",
    "pivot_steps",
    "pricing_steps",
    "round_steps",
    "widening_steps",
]

FREE_CALLS = 4
"""Calls of the heuristic that are made whatever they take: those at the root, which find most."""

EARLY_STEPS = 5e9
"""So long the heuristic has a larger share: what it finds then prunes all that comes."""

EARLY_SHARE = 0.3
LATE_SHARE = 0.1
LUCKY_SHARE = 0.25

LUCKY_STEPS = 3e9
"""So long after a success the heuristic has `LUCKY_SHARE`, or for a tenth of all that was done."""

BOX_STEPS = 1e6
"""What a box takes beside its kernels."""


@dataclass
class Effort:
    """Steps of the search and of the heuristic within it.

    Examples
    --------
    >>> effort = Effort(search=1e9, calls=4)
    >>> effort.may_try()
    True
    >>> effort.tried(2_000_000_000, success=False)
    >>> effort.may_try(), effort.total
    (False, 3000000000.0)
    """

    search: float = 0.0
    heuristic: int = 0
    last_success: float = -1e30
    calls: int = 0
    factor: float = 1.0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def total(self) -> float:
        """All steps."""
        return self.search + self.heuristic

    @property
    def share(self) -> float:
        """Share of all steps that the heuristic may have now."""
        total = self.total
        if total < EARLY_STEPS:
            return self.factor * EARLY_SHARE
        lucky = total - self.last_success < max(LUCKY_STEPS, 0.1 * total)
        return self.factor * (LUCKY_SHARE if lucky else LATE_SHARE)

    def may_try(self) -> bool:
        """Whether the heuristic has had no more than its share."""
        return self.calls < FREE_CALLS or self.heuristic <= self.share * self.total

    def searched(self, steps: float) -> None:
        """Count steps of the search, of any thread."""
        with self._lock:
            self.search += steps

    def tried(self, steps: int, *, success: bool) -> None:
        """Count a call of the heuristic."""
        self.calls += 1
        self.heuristic += steps
        if success:
            self.last_success = self.total


@dataclass
class Tally:
    """What was done in one tree, by all its searchers.

    Attributes
    ----------
    nodes : int
        Boxes that were looked at, each counted once.
    done : int
        Boxes that were closed or parted, which is what the tree is made of.
    set_aside : int
        How often a box was left for later.
    widened : int
        How often columns came into a program because they were missed.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add(nodes=1, pivots=3)
    >>> tally.nodes, tally.pivots
    (1, 3)
    """

    nodes: int = 0
    done: int = 0
    set_aside: int = 0
    widened: int = 0
    children: int = 0
    pivots: int = 0
    ties: int = 0
    work: float = 0.0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def add(self, **counted: int | float) -> None:
        """So much more of each."""
        with self._lock:
            for what, count in counted.items():
                setattr(self, what, getattr(self, what) + count)

    def figures(self) -> dict[str, int | float]:
        """All but the ties, which are each searcher's own."""
        told = ("nodes", "done", "set_aside", "widened", "children", "pivots", "work")
        return {what: getattr(self, what) for what in told}

    @property
    def box_work(self) -> float:
        """Steps that a box of the tree took on the average."""
        return self.work / (self.done + 1)


def making_steps(height: int, width: int) -> float:
    """A tableau made from its basis, by dense linear algebra."""
    return 0.1 * height * height * (width + height / 3.0)


def pivot_steps(tableau: Tableau, pivots: int) -> float:
    """Pivots on a dense tableau, which is brought up to date after some of them."""
    return pivots * (0.1 * tableau.height * tableau.width + 4.0 * (tableau.height + tableau.width))


def pricing_steps(tableau: Tableau, pivots: int) -> float:
    """Pivots of a primal simplex, each of which moves the whole tableau."""
    return 2.0 * pivots * tableau.height * tableau.width


def widening_steps(tableau: Tableau, columns: int) -> float:
    """Columns that come into a tableau, by a product of matrices."""
    return 0.1 * tableau.height**2 * columns


def child_steps(tableau: Tableau, pivots: int) -> float:
    """Pivots of the revised simplex on top of a tableau."""
    return 12.0 * pivots * (tableau.height + tableau.width)


def cut_steps(term: ConcaveTerm | None, support: int, n_columns: int, passes: int = 1) -> float:
    """Passes over the samples at points of so many columns, and the pieces there."""
    return 0.0 if term is None else passes * term.n_parts * (4.0 * support + 0.7 * n_columns)


def round_steps(term: ConcaveTerm | None, x: FloatArray, n_groups: int) -> float:
    """A round at the root: two passes, and pivots by the rows that there may be."""
    pivoting = 4.0 * len(x) * n_groups**2
    return cut_steps(term, int(np.count_nonzero(x)), len(x), passes=2) + pivoting
