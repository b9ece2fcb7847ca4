"""Which node to branch on: by what its mixture of columns is worth, or what each would cost after one dual step."""

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray, IntArray, kernel
from ....programs.choice import ChoiceProgram, ConcaveTerm
from . import _simplex as simplex
from ._effort import cut_steps
from ._tableau import Tableau

__all__ = ["branching_order", "spread"]


@kernel(nogil=True)
def column_rises(
    T: FloatArray, b: FloatArray, d: FloatArray, basic: IntArray, nonbasic: IntArray, height: int, width: int,
    n_columns: int, owner: NDArray[np.intp], allowed: BoolArray,
) -> FloatArray:  # fmt: skip
    """What forcing each column to 1 adds to the objective: its reduced cost and the dearest single repair after it."""
    rise = np.full(n_columns, np.inf)
    up = np.full(height, np.inf)  # least cost of raising a basic variable by 1
    down = np.full(height, np.inf)  # ... and of lowering it
    for i in range(height):
        for j in range(width):
            if nonbasic[j] < n_columns and not allowed[nonbasic[j]]:
                continue
            entry = T[i, j]
            if entry < -1e-9:
                ratio = max(d[j], 0.0) / -entry
                if ratio < up[i]:
                    up[i] = ratio
            elif entry > 1e-9:
                ratio = max(d[j], 0.0) / entry
                if ratio < down[i]:
                    down[i] = ratio
    for j in range(width):
        k = nonbasic[j]
        if k >= n_columns or not allowed[k]:
            continue
        dearest = 0.0
        for i in range(height):
            value = b[i] - T[i, j]
            if value < -1e-9:
                cost = -value * up[i]
            elif value > 1e-9 and basic[i] < n_columns and owner[basic[i]] == owner[k]:
                cost = value * down[i]
            else:
                continue
            if cost > dearest:
                dearest = cost
        rise[k] = max(d[j], 0.0) + dearest
    for i in range(height):
        k = basic[i]
        if k >= n_columns or not allowed[k]:
            continue
        dearest = 0.0
        if b[i] < 1.0 - 1e-9:
            dearest = (1.0 - b[i]) * up[i]
        for other in range(height):
            if other != i and basic[other] < n_columns and owner[basic[other]] == owner[k] and b[other] > 1e-9:
                dearest = max(dearest, b[other] * down[other])
        rise[k] = dearest
    return rise


@kernel(nogil=True)
def spread(rises: FloatArray, gap: float) -> float:
    """``sum_k (1 - rise_k / gap)_+^2``: how much of the box is left after branching, the less the better."""
    total = 0.0
    for rise in rises:
        left = 1.0 - rise / gap
        if left > 0.0:
            total += left * left
    return total


@kernel(nogil=True)
def node_scores(rise: FloatArray, allowed: BoolArray, offsets: NDArray[np.intp], gap: float) -> FloatArray:
    """`spread` of each node's allowed columns; inf where at most one is left."""
    nodes = len(offsets) - 1
    scores = np.full(nodes, np.inf)
    for node in range(nodes):
        first, last = offsets[node], offsets[node + 1]
        own = rise[first:last][allowed[first:last]]
        if len(own) > 1:
            scores[node] = spread(own, gap)
    return scores


def branching_order(
    tableau: Tableau, program: ChoiceProgram, allowed: BoolArray, gap: float, term: ConcaveTerm | None, last: int | None
) -> tuple[list[int], bool, float]:
    """Nodes with a choice left, the most promising first, by `mixture_order` if there is a term and some node mixes.

    Returns
    -------
    nodes, whether they are in that order, steps that it took
    """
    steps = 0.0
    if term is not None and tableau.status == simplex.OPTIMAL:
        x, _ = tableau.point()
        steps = cut_steps(term, 2 * int(np.count_nonzero(x)), 0)
        undecided = np.add.reduceat(allowed, program.offsets[:-1], dtype=np.intp) > 1
        if order := [node for node in mixture_order(program, term, x, last) if undecided[node]]:
            return order, True, steps
    return dual_order(tableau, program, allowed, gap), False, steps


def dual_order(tableau: Tableau, program: ChoiceProgram, allowed: BoolArray, gap: float) -> list[int]:
    """Nodes with a choice left, those of which a dual step leaves least first."""
    rise = column_rises(
        tableau.T, tableau.b, tableau.d, tableau.basic, tableau.nonbasic, tableau.height, tableau.width,
        tableau.n_columns, program.owner, allowed,
    )  # fmt: skip
    scores = node_scores(rise, allowed, program.offsets, gap)
    order = np.argsort(scores, kind="stable")
    return [int(node) for node in order[np.isfinite(scores[order])]]


def mixture_order(program: ChoiceProgram, term: ConcaveTerm, x: FloatArray, last: int | None) -> list[int]:
    """Nodes that mix columns at `x`, those whose mixture is worth most first; node `last` after all others.

    What the mixture of node i is worth: ``f(x) - sum_k x_k f(x with node i := k)``. Equal worths go by number.
    """
    worth = np.add.reduceat(x * term.exchanged(x, program.offsets), program.offsets[:-1])
    if last is not None and np.delete(worth, last).max(initial=0.0) > 0.0:
        worth[last] = min(worth[last], 0.0)
    order = np.argsort(-worth, kind="stable")
    return [int(node) for node in order[worth[order] > 0.0]]
