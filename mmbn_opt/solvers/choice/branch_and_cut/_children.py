"""Many linear programs that differ from one tableau by forbidden columns, each by pivots on top of it (`_pivoting`)."""

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray, IntArray, kernel
from ._pivoting import INFEASIBLE, allowed_columns, pivot_on, scratch

__all__ = ["solve_children"]


@kernel(nogil=True)
def solve_children(
    T: FloatArray,
    b: FloatArray,
    d: FloatArray,
    weights: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: int,
    width: int,
    z: float,
    cutoff: float,
    max_pivots: int,
    allowed: BoolArray,
    first: int,
    work_limit: float,
    n_groups: int,
    place: IntArray,
    rows: FloatArray,
    moved: FloatArray,
    lam: FloatArray,
    values: FloatArray,
    bases: NDArray[np.int32],
) -> tuple[int, int]:
    """Linear programs of child boxes from number `first` on, until `work_limit` table entries were touched.

    Returns the number of the next child and the pivots made; ``values`` are dual objectives, ``lam`` multipliers,
    ``bases`` the variables basic at the end, with slacks numbered by their place.
    ``rows`` (height, width) and ``moved`` (height, height) are scratch space.
    """
    n_columns = allowed.shape[1]
    first_slack = n_columns + n_groups
    source = np.empty(width, dtype=np.int64)
    cost = np.empty(width)
    b2 = np.empty(height)
    weights2 = np.empty(height)
    space = scratch(rows, moved, height, width)
    work = 0.0
    total = 0
    child = first
    while child < len(allowed) and (work < work_limit or child == first):
        banned = ~allowed[child]
        narrow = allowed_columns(nonbasic, width, banned, source)
        for j in range(narrow):
            cost[j] = d[source[j]]
        b2[:] = b[:height]
        weights2[:] = weights[:height]
        status, value, pivots, rank, r, sign, steps = pivot_on(
            T, source, b2, cost, weights2, basic, banned, height, narrow, z, cutoff, max_pivots, space
        )
        lam[child] = 0.0
        length = 0.0
        if status == INFEASIBLE:
            length = (cutoff - value) * 1.5 / max(abs(b2[r]), 1e-12)
            value = np.inf
            variable = basic[-1 - space.holder[r]] if space.holder[r] < 0 else nonbasic[source[space.holder[r]]]
            if variable >= first_slack:
                lam[child, place[variable - first_slack]] = length
        for j in range(narrow):
            variable = nonbasic[source[j]]
            if variable >= first_slack and cost[j] < np.inf:
                multiplier = cost[j]
                if status == INFEASIBLE:
                    multiplier += length * sign * space.alpha[j]
                if multiplier > 0.0:
                    lam[child, place[variable - first_slack]] = multiplier
        for k in range(rank):
            variable = basic[space.row_of[k]]
            if variable >= first_slack and space.row_cost[k] < np.inf:
                multiplier = space.row_cost[k]
                if status == INFEASIBLE:
                    multiplier += length * sign * moved[k, r]
                if multiplier > 0.0:
                    lam[child, place[variable - first_slack]] = multiplier
        for i in range(height):
            holder = space.holder[i]
            variable = basic[-1 - holder] if holder < 0 else nonbasic[source[holder]]
            bases[child, i] = variable if variable < first_slack else first_slack + place[variable - first_slack]
        values[child] = value
        work += steps + width + height
        total += pivots
        child += 1
    return child, total
