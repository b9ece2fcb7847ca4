"""Pivots of a dual simplex that leave a tableau as it is: a revised simplex on top of it, compiled.

A program pivots on some rows of the tableau T that it begins with, and only these are ever updated: with R the rows
pivoted on so far, the present tableau is ``M T``, where M is the identity but for its columns R. A pivot costs
``|R| (width + 2 height)`` steps instead of ``height width``. Children of a box end there; a box's own program has T
brought up to date after every few rows, by a product of matrices, which moves a fraction of the memory.
"""

from typing import NamedTuple

import numpy as np

from ...._arrays import BoolArray, FloatArray, IntArray, kernel

__all__ = [
    "CUTOFF",
    "FULL",
    "INFEASIBLE",
    "LIMIT",
    "OPTIMAL",
    "Scratch",
    "allowed_columns",
    "pivot_on",
    "scratch",
    "settle",
]

OPTIMAL, CUTOFF, INFEASIBLE, LIMIT, FULL = 0, 1, 2, 3, 4

PRIMAL_TOLERANCE = 1e-9
PIVOT_TOLERANCE = 1e-8

TILE = 512
"""So many columns of the rows pivoted on stay in the nearest cache while all of the tableau passes by."""

_FAST = {"reassoc", "contract", "nsz", "arcp"}


class Scratch(NamedTuple):
    """Where pivots are noted; the first `rank` rows of those with K of them count.

    Parameters
    ----------
    rows : float64 array (K, width)
        Rows of T that were pivoted on.
    moved : float64 array (K, height)
        Their columns of M.
    row_cost : float64 array (K,)
        Reduced costs of what was basic in them at first; inf while it is basic.
    row_of : int64 array (K,)
    rank_of : int64 array (height,)
        Number among R of every row, or -1.
    holder : int64 array (height,)
        What is basic: a column of T, or -1 - i for what was basic in row i.
    stuck : bool array (height,)
        Whether that is forbidden.
    column, alpha : float64 arrays (height,), (width,)
        The column and the row of the last pivot.
    """

    rows: FloatArray
    moved: FloatArray
    row_cost: FloatArray
    row_of: IntArray
    rank_of: IntArray
    holder: IntArray
    stuck: BoolArray
    column: FloatArray
    alpha: FloatArray


@kernel(nogil=True)
def scratch(rows: FloatArray, moved: FloatArray, height: int, width: int) -> Scratch:
    """Space for pivots on as many rows of a tableau as `rows` and `moved` have room for."""
    K = len(rows)
    return Scratch(
        rows,
        moved,
        np.empty(K),
        np.empty(K, dtype=np.int64),
        np.empty(height, dtype=np.int64),
        np.empty(height, dtype=np.int64),
        np.empty(height, dtype=np.bool_),
        np.empty(height),
        np.empty(width),
    )


@kernel(nogil=True)
def allowed_columns(nonbasic: IntArray, width: int, banned: BoolArray, source: IntArray) -> int:
    """Fill `source` with the columns of a tableau whose variables are not forbidden; how many there are."""
    n_columns = len(banned)
    narrow = 0
    for j in range(width):
        if nonbasic[j] < n_columns and banned[nonbasic[j]]:
            continue
        source[narrow] = j
        narrow += 1
    return narrow


@kernel(nogil=True, fastmath=_FAST)
def _add_combination(factors: FloatArray, vectors: FloatArray, length: int, total: FloatArray) -> None:
    """Add ``sum_k factors[k] vectors[k]`` to `total`, the first `length` entries of each, four vectors at a time."""
    count = len(factors)
    k = 0
    while k + 4 <= count:
        f0, f1, f2, f3 = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        v0, v1, v2, v3 = vectors[k], vectors[k + 1], vectors[k + 2], vectors[k + 3]
        for j in range(length):
            total[j] += f0 * v0[j] + f1 * v1[j] + f2 * v2[j] + f3 * v3[j]
        k += 4
    while k < count:
        factor, vector = factors[k], vectors[k]
        for j in range(length):
            total[j] += factor * vector[j]
        k += 1


@kernel(nogil=True, fastmath=_FAST)
def _add_product(moved: FloatArray, rank: int, rows: FloatArray, height: int, width: int, T: FloatArray) -> None:
    """Add ``moved[:rank].T @ rows[:rank]`` to T: two rows at a time, four terms of the sum, a tile of columns."""
    even = height - height % 2
    whole = rank - rank % 4
    for low in range(0, width, TILE):
        tile = slice(low, min(low + TILE, width))
        for i in range(0, even, 2):
            above, below = T[i, tile], T[i + 1, tile]
            length = len(above)
            for k in range(0, whole, 4):
                f0, f1, f2, f3 = moved[k, i], moved[k + 1, i], moved[k + 2, i], moved[k + 3, i]
                g0, g1, g2, g3 = moved[k, i + 1], moved[k + 1, i + 1], moved[k + 2, i + 1], moved[k + 3, i + 1]
                v0, v1, v2, v3 = rows[k, tile], rows[k + 1, tile], rows[k + 2, tile], rows[k + 3, tile]
                for j in range(length):
                    above[j] += f0 * v0[j] + f1 * v1[j] + f2 * v2[j] + f3 * v3[j]
                    below[j] += g0 * v0[j] + g1 * v1[j] + g2 * v2[j] + g3 * v3[j]
            for k in range(whole, rank):
                f, g, v = moved[k, i], moved[k, i + 1], rows[k, tile]
                for j in range(length):
                    above[j] += f * v[j]
                    below[j] += g * v[j]
    if even < height:
        _add_combination(moved[:rank, even], rows, width, T[even])


@kernel(nogil=True, fastmath=_FAST)
def _exchange(
    moved: FloatArray, rank: int, height: int, r: int, column: FloatArray, b: FloatArray, weights: FloatArray
) -> float:
    """Pivot on row r of `column`: M, right side and row weights; returns the entering variable's value.

    `weights` follow the rows' squared lengths from above (dual Devex; Forrest & Goldfarb 1992).
    """
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
def pivot_on(
    T: FloatArray,
    source: IntArray,
    b: FloatArray,
    cost: FloatArray,
    weights: FloatArray,
    basic: IntArray,
    banned: BoolArray,
    height: int,
    width: int,
    value: float,
    cutoff: float,
    max_pivots: int,
    work: Scratch,
) -> tuple[int, float, int, int, int, float, float]:
    """Pivot until optimal, until the objective reaches `cutoff`, `max_pivots`, or no room is left for another row.

    Column j is column ``source[j]`` of T, and its reduced cost ``cost[j]``; none of them is forbidden. `banned` is by
    variable number. `b`, `cost` and `weights` change in place, T does not.

    Returns status, objective, pivots, rank, the last row looked at and its sign, and the steps taken. When no column
    can repair that row the program is infeasible: adding sign times that row to the objective raises the bound
    without end. Every objective on the way is a bound.
    """
    n_columns = len(banned)
    rows, moved, row_cost, alpha, column = work.rows, work.moved, work.row_cost, work.alpha, work.column
    for i in range(height):
        work.holder[i] = -1 - i
        work.stuck[i] = basic[i] < n_columns and banned[basic[i]]
        work.rank_of[i] = -1
    rank, pivots, steps = 0, 0, 0.0
    r, sign = -1, 1.0
    while True:
        if value >= cutoff:
            return CUTOFF, value, pivots, rank, r, sign, steps
        if pivots >= max_pivots:
            return LIMIT, value, pivots, rank, r, sign, steps
        r = -1
        worst = 0.0
        for i in range(height):
            v = b[i]
            if v < -PRIMAL_TOLERANCE or (v > PRIMAL_TOLERANCE and work.stuck[i]):
                score = v * v / weights[i]
                if score > worst:
                    worst = score
                    r = i
                    sign = 1.0 if v < 0.0 else -1.0
        if r < 0:
            return OPTIMAL, value, pivots, rank, r, sign, steps
        new = work.rank_of[r] < 0
        if new:
            if rank == len(rows):
                return FULL, value, pivots, rank, r, sign, steps
            target = rows[rank]
            for j in range(width):
                target[j] = T[r, source[j]]
            alpha[:width] = target[:width]
        else:
            alpha[:width] = 0.0
        _add_combination(moved[:rank, r], rows, width, alpha)
        q = -1
        best = np.inf
        size = 0.0
        for j in range(width):
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
                variable = basic[work.row_of[k]]
                if variable < n_columns and banned[variable]:
                    continue
                ratio = max(0.0, row_cost[k]) / entry
                if ratio < best - 1e-12 or (ratio <= best + 1e-12 and entry > size):
                    best = ratio
                    q = -1 - k
                    size = entry
        if size == 0.0:
            return INFEASIBLE, value, pivots, rank, r, sign, steps
        if new:
            work.rank_of[r] = rank
            work.row_of[rank] = r
            row_cost[rank] = np.inf
            moved[rank, :height] = 0.0
            moved[rank, r] = 1.0
            rank += 1
        if q >= 0:
            for i in range(height):
                column[i] = T[i, source[q]] if work.rank_of[i] < 0 else 0.0
            _add_combination(rows[:rank, q], moved, height, column)
            entering = max(0.0, cost[q])
            variable = q
        else:
            k = -1 - q
            column[:height] = moved[k, :height]
            entering = max(0.0, row_cost[k])
            variable = -1 - work.row_of[k]
        step = entering / (-sign * size)
        for j in range(width):
            cost[j] -= step * alpha[j]
        for k in range(rank):
            row_cost[k] -= step * moved[k, r]
        if q >= 0:
            cost[q] = np.inf
        else:
            row_cost[-1 - q] = np.inf
        leaving = work.holder[r]
        if leaving >= 0:
            cost[leaving] = -step
        else:
            row_cost[work.rank_of[-1 - leaving]] = -step
        work.holder[r] = variable
        work.stuck[r] = False
        value += entering * _exchange(moved, rank, height, r, column, b, weights)
        pivots += 1
        steps += rank * (width + 2.0 * height) + width + height


@kernel(nogil=True)
def settle(
    T: FloatArray,
    cost: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: int,
    width: int,
    rank: int,
    work: Scratch,
) -> None:
    """Bring a tableau up to date with the pivots noted, whose columns were its own, in their order."""
    if rank == 0:
        return
    for i in range(height):
        if work.rank_of[i] >= 0:
            T[i, :width] = 0.0
    _add_product(work.moved, rank, work.rows, height, width, T)
    held = basic[:height].copy()
    k = 0
    for i in range(height):
        holder = work.holder[i]
        if holder < 0:
            basic[i] = held[-1 - holder]
            continue
        basic[i] = nonbasic[holder]
        while work.row_cost[k] == np.inf:
            k += 1
        for other in range(height):  # its column goes to the next variable that is basic no more
            T[other, holder] = work.moved[k, other]
        cost[holder] = work.row_cost[k]
        nonbasic[holder] = held[work.row_of[k]]
        k += 1
