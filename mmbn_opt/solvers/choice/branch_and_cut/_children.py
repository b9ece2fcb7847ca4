"""Many linear programs that differ from one tableau by forbidden columns: a revised dual simplex on top of it.

A child pivots on few rows of its parent's tableau, and only these are ever updated: with R the parent's rows pivoted on
so far, the present tableau is ``M T``, where M is the identity but for its columns R. A pivot costs ``|R| (width + 2
height)`` steps instead of ``height width``, and no tableau is copied.
"""

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray, IntArray, kernel
from ._simplex import CUTOFF, INFEASIBLE, LIMIT, OPTIMAL, PIVOT_TOLERANCE, PRIMAL_TOLERANCE

__all__ = ["solve_children"]

_FAST = {"reassoc", "contract", "nsz", "arcp"}


@kernel(nogil=True, fastmath=_FAST)
def _add_combination(factors: FloatArray, vectors: FloatArray, length: int, total: FloatArray) -> None:
    """Add ``sum_k factors[k] vectors[k]`` to `total`, the first `length` entries of each."""
    for k in range(len(factors)):
        factor = factors[k]
        if factor != 0.0:
            for j in range(length):
                total[j] += factor * vectors[k, j]


@kernel(nogil=True, fastmath=_FAST)
def _exchange(
    moved: FloatArray, rank: int, height: int, r: int, column: FloatArray, b: FloatArray, weights: FloatArray
) -> float:
    """Pivot on row r of `column`: M, right side and row weights; returns the entering variable's value."""
    inverse = 1.0 / column[r]
    heavy = weights[r] * inverse * inverse
    value = b[r] * inverse
    column[r] = 0.0
    for i in range(height):
        factor = column[i]
        b[i] -= factor * value
        weights[i] = max(weights[i], factor * factor * heavy)
    b[r] = value
    weights[r] = max(heavy, 1.0)
    for k in range(rank):
        factor = moved[k, r] * inverse
        if factor != 0.0:
            for i in range(height):
                moved[k, i] -= column[i] * factor
            moved[k, r] = factor
    return float(value)


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
    alpha = np.empty(width)
    column = np.empty(height)
    b2 = np.empty(height)
    weights2 = np.empty(height)
    holder = np.empty(height, dtype=np.int64)  # what is basic: a narrow column, or -1 - i for the parent's row i
    stuck = np.empty(height, dtype=np.bool_)  # whether that is forbidden
    rank_of = np.empty(height, dtype=np.int64)
    row_of = np.empty(height, dtype=np.int64)
    row_cost = np.empty(height)  # reduced costs of variables that were basic in the parent
    work = 0.0
    total = 0
    child = first
    while child < len(allowed) and (work < work_limit or child == first):
        banned = ~allowed[child]
        narrow = 0
        for j in range(width):
            if nonbasic[j] < n_columns and banned[nonbasic[j]]:
                continue
            source[narrow] = j
            cost[narrow] = d[j]
            narrow += 1
        for i in range(height):
            b2[i] = b[i]
            weights2[i] = weights[i]
            holder[i] = -1 - i
            stuck[i] = basic[i] < n_columns and banned[basic[i]]
            rank_of[i] = -1
        rank = 0
        value = z
        pivots = 0
        sign = 1.0
        r = -1
        status = LIMIT
        while True:
            if value >= cutoff:
                status = CUTOFF
                break
            if pivots >= max_pivots:
                status = LIMIT
                break
            r = -1
            worst = 0.0
            for i in range(height):
                v = b2[i]
                if v < -PRIMAL_TOLERANCE or (v > PRIMAL_TOLERANCE and stuck[i]):
                    score = v * v / weights2[i]
                    if score > worst:
                        worst = score
                        r = i
                        sign = 1.0 if v < 0.0 else -1.0
            if r < 0:
                status = OPTIMAL
                break
            new = rank_of[r] < 0
            if new:
                target = rows[rank]
                for j in range(narrow):
                    target[j] = T[r, source[j]]
                alpha[:narrow] = target[:narrow]
            else:
                alpha[:narrow] = 0.0
            _add_combination(moved[:rank, r], rows, narrow, alpha)
            q = -1
            best = np.inf
            size = 0.0
            for j in range(narrow):
                entry = -sign * alpha[j]
                if entry > PIVOT_TOLERANCE:
                    ratio = max(0.0, cost[j]) / entry
                    if ratio < best - 1e-12 or (ratio <= best + 1e-12 and entry > size and ratio < np.inf):
                        best = ratio
                        q = j
                        size = entry
            for k in range(rank):
                entry = -sign * moved[k, r]
                if entry > PIVOT_TOLERANCE and row_cost[k] < np.inf:
                    variable = basic[row_of[k]]
                    if variable < n_columns and banned[variable]:
                        continue
                    ratio = max(0.0, row_cost[k]) / entry
                    if ratio < best - 1e-12 or (ratio <= best + 1e-12 and entry > size):
                        best = ratio
                        q = -1 - k
                        size = entry
            if size == 0.0:
                status = INFEASIBLE
                break
            if new:
                rank_of[r] = rank
                row_of[rank] = r
                row_cost[rank] = np.inf
                moved[rank, :height] = 0.0
                moved[rank, r] = 1.0
                rank += 1
            if q >= 0:
                for i in range(height):
                    column[i] = T[i, source[q]] if rank_of[i] < 0 else 0.0
                _add_combination(rows[:rank, q], moved, height, column)
                entering = max(0.0, cost[q])
                variable = q
            else:
                k = -1 - q
                column[:height] = moved[k, :height]
                entering = max(0.0, row_cost[k])
                variable = -1 - row_of[k]
            step = entering / (-sign * size)
            for j in range(narrow):
                cost[j] -= step * alpha[j]
            for k in range(rank):
                row_cost[k] -= step * moved[k, r]
            if q >= 0:
                cost[q] = np.inf
            else:
                row_cost[-1 - q] = np.inf
            leaving = holder[r]
            if leaving >= 0:
                cost[leaving] = -step
            else:
                row_cost[rank_of[-1 - leaving]] = -step
            holder[r] = variable
            stuck[r] = False
            value += entering * _exchange(moved, rank, height, r, column, b2, weights2)
            pivots += 1
            work += rank * (narrow + 2.0 * height) + narrow + height
        lam[child] = 0.0
        length = 0.0
        if status == INFEASIBLE:
            length = (cutoff - value) * 1.5 / max(abs(b2[r]), 1e-12)
            value = np.inf
            variable = basic[-1 - holder[r]] if holder[r] < 0 else nonbasic[source[holder[r]]]
            if variable >= first_slack:
                lam[child, place[variable - first_slack]] = length
        for j in range(narrow):
            variable = nonbasic[source[j]]
            if variable >= first_slack and cost[j] < np.inf:
                multiplier = cost[j]
                if status == INFEASIBLE:
                    multiplier += length * sign * alpha[j]
                if multiplier > 0.0:
                    lam[child, place[variable - first_slack]] = multiplier
        for k in range(rank):
            variable = basic[row_of[k]]
            if variable >= first_slack and row_cost[k] < np.inf:
                multiplier = row_cost[k]
                if status == INFEASIBLE:
                    multiplier += length * sign * moved[k, r]
                if multiplier > 0.0:
                    lam[child, place[variable - first_slack]] = multiplier
        for i in range(height):
            variable = basic[-1 - holder[i]] if holder[i] < 0 else nonbasic[source[holder[i]]]
            bases[child, i] = variable if variable < first_slack else first_slack + place[variable - first_slack]
        values[child] = value
        work += width + height
        total += pivots
        child += 1
    return child, total
