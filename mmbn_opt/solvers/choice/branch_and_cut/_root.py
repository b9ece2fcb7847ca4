"""The root bound: in-out cutting planes (Ben-Ameur & Neto 2007) over grouped cuts and cluster rows."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...._arrays import FloatArray
from ...._budget import Budget
from ._effort import cut_steps
from ._master import Master
from ._pool import RowPool, Slots
from ._recipes import Recipe

__all__ = ["RootPoint", "root_rounds"]

ROOT_TOLERANCE = 1e-7
"""Relative violation from which on a cut is worth its place at the root."""


@dataclass(frozen=True, eq=False)
class RootPoint:
    """State of the root after one round.

    Parameters
    ----------
    value : float
        Value of the linear program.
    loss : float
        Loss at `x`, which the value approaches.
    x : float64 array (n_columns,)
    slots, lam
        Rows of the program and their multipliers.
    centre : float64 array (n_columns,) or None
        The best point known after the round, whole or not.
    done : bool
        Whether no cut is left that would move the value.
    """

    value: float
    loss: float
    x: FloatArray
    slots: Slots
    lam: FloatArray
    centre: FloatArray | None
    done: bool


ROW_STEPS = 60.0
"""What an entry of a new row takes, in the pool and in the program."""

FIRST_POINTS = 3
"""Given points after which there is a first value, which many samples make dear to wait for."""


def root_rounds(
    pool: RowPool,
    allowed: NDArray[np.bool_],
    centre: FloatArray | None,
    *,
    budget: Budget,
    tolerance: float = ROOT_TOLERANCE,
    points: Sequence[FloatArray] = (),
    rows: Sequence[Hashable] = (),
    left: Recipe | None = None,
) -> Iterator[RootPoint]:
    """Solve, cut half-way between the point and the best point known, repeat; ends when the value stands still.

    The caller stops it by not asking for the next round. Where no point satisfies the rows, the proof is told why.
    Cuts are taken at `points` too before the first round, as long as there is time, and `rows` are named ones that hold
    from the start, as are those that a root was `left` with. Where points are many, a first round comes after a few.
    """
    size = pool.program.n_columns
    if budget.left() < 1e-9 * (cut_steps(pool.term, pool.program.n_nodes, size) + ROW_STEPS * pool.n_groups * size):
        return  # a first round could not end
    master = Master(pool, allowed)
    master.add(pool.program_rows())
    master.add(pool.rows_named(rows))
    if left is not None:
        master.add(pool.make(left))
    nothing, never = np.zeros(pool.program.n_columns), np.full(pool.n_groups, -np.inf)
    if centre is not None:
        master.add(pool.cuts_at(centre, nothing, never, 0.0)[0])
    best_loss = np.inf if centre is None else pool.loss(centre)
    for number, point in enumerate(points, start=1):
        if budget.over():
            break
        slots, loss = pool.cuts_at(point, nothing, never, 0.0)
        loss += float(pool.program.c @ point)
        master.add(slots)
        if loss < best_loss:
            centre, best_loss = point, loss
        if number == FIRST_POINTS < len(points) and master.solve(budget.left()):
            value, x, _, lam = master.read()
            yield RootPoint(value, best_loss, x, master.slots.copy(), lam, centre, done=False)
    stalled, last = 0, -np.inf
    while not budget.over():
        if not master.solve(budget.left()):
            pool.proof.rule_out(master.slots, master.ray)
            return
        value, x, losses, lam = master.read()
        scale = max(1.0, abs(value))
        new = [pool.structure_rows(x)]
        slots, loss = pool.cuts_at(x, x, losses, tolerance * scale)
        true_loss = loss + float(pool.program.c @ x)
        query = x if centre is None else 0.5 * (x + centre)
        if centre is not None and len(slots):
            deep, query_loss = pool.cuts_at(query, x, losses, tolerance * scale)
            query_loss += float(pool.program.c @ query)
            new.append(deep)
            if query_loss < best_loss:
                centre, best_loss = query, query_loss
        elif true_loss < best_loss:
            centre, best_loss = x, true_loss
        new.append(slots)
        added = np.concatenate(new)
        stalled = stalled + 1 if value - last < 1e-5 * max(best_loss - value, tolerance * scale) else 0
        last = value
        done = not len(added) or stalled >= 5
        yield RootPoint(value, true_loss, x, master.slots.copy(), lam, centre, done)
        if done:
            pool.release(added)
            return
        if len(master.slots) > 30 + 3 * pool.program.n_nodes + 8 * pool.n_groups:
            master.purge(patience=3)
        master.add(added)
