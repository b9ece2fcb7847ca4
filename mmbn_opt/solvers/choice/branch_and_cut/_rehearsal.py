"""The root rehearsed on a sample of the samples: where cuts are worth taking, before any pass over all of them.

Pieces of a sampled term bound nothing, and none of them is kept. What is kept are the points at which they were taken:
the whole term's pieces at a few of these are most of what its root needs, for a few passes instead of dozens.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from ...._arrays import FloatArray
from ...._budget import Budget
from ....programs.tree_proof import TreeProof
from ._pool import RowPool
from ._root import RootPoint, root_rounds

__all__ = ["Rehearsal", "rehearse"]

MANY_PARTS = 131_072
"""Samples above which the root is rehearsed on half as many."""

_MOST_POINTS = 8
"""Passes over all samples before the first bound; those that follow are two a round."""

_MOST_ROUNDS = 60

_SHARE = 0.2
"""Of the time that is left when it begins, that a rehearsal may take."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What a rehearsal has found.

    Parameters
    ----------
    points : tuple of float64 arrays (n_columns,)
        Where the whole term should be asked for its pieces, the best centre of the in-out method first.
    rows : tuple
        Names, in a `RowPool`, of the other rows that hold the sampled program's point.
    gap : float
        Of the sampled program, as a share of the sampled objective.
    """

    points: tuple[FloatArray, ...]
    rows: tuple[Hashable, ...]
    gap: float


def rehearse(
    whole: RowPool, centre: FloatArray | None, *, budget: Budget, check: Callable[[], None]
) -> Rehearsal | None:
    """Solve the root over a sample of the parts of the term; None where there are few, or no round was possible.

    Parameters
    ----------
    whole : RowPool
        That of the search, which stays as it is.
    centre : float64 array (n_columns,) or None
        The best choice known.
    budget : Budget
    check : callable
        Called after every round; ends the search by raising.
    """
    if whole.term is None or whole.term.n_parts <= MANY_PARTS:
        return None
    program, sampled = whole.program, whole.term.sampled(MANY_PARTS // 2)
    pool = RowPool(program, sampled, whole.separator, TreeProof(program, sampled))
    least = np.inf if centre is None else pool.loss(centre)
    last: RootPoint | None = None
    rounds = root_rounds(pool, pool.proof.allowed, centre, budget=budget)
    ending = (1.0 - _SHARE) * budget.left()
    for count, last in enumerate(rounds, start=1):
        check()
        if last.done or count >= _MOST_ROUNDS or budget.left() < ending:
            break
    if last is None:
        return None
    points, rows = pool.origins(last.slots, last.lam)
    found = [point for point in (last.centre, last.x, *points) if point is not None]
    distinct = {point.tobytes(): point for point in found}
    gap = (least - last.value) / max(1e-9, abs(least + pool.proof.constant))
    return Rehearsal(tuple(distinct.values())[:_MOST_POINTS], rows, gap)
