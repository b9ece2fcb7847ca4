"""Dual simplex on a dense tableau, compiled: many small programs that differ by forbidden columns and a few rows.

The tableau writes each basic variable and the objective in the nonbasic ones: ``x_B = b - T x_N``, ``z = z0 + d x_N``.
Variables are numbered ``0..n-1`` columns, ``n..n+G-1`` losses of groups, ``n+G+t`` the slack of row t of the pool.
A column that may not be used keeps to 0: it never enters, and leaves when it is basic away from 0.
"""

import numpy as np

from ...._arrays import BoolArray, FloatArray, IntArray, kernel

OPTIMAL, CUTOFF, INFEASIBLE, LIMIT = 0, 1, 2, 3

PRIMAL_TOLERANCE = 1e-9
PIVOT_TOLERANCE = 1e-8

_FAST = {"reassoc", "contract", "nsz", "arcp"}


@kernel(nogil=True, fastmath=_FAST)
def pivot(
    T: FloatArray, b: FloatArray, d: FloatArray, weights: FloatArray, height: int, width: int, r: int, q: int
) -> float:
    """Exchange basic row r and nonbasic column q; returns the change of the objective.

    `weights` follow the rows' squared lengths from above (dual Devex; Forrest & Goldfarb 1992).
    """
    inverse = 1.0 / T[r, q]
    heavy = weights[r] * inverse * inverse
    for j in range(width):
        T[r, j] *= inverse
    T[r, q] = inverse
    b[r] *= inverse
    value = b[r]
    for i in range(height):
        factor = T[i, q]
        if i == r or factor == 0.0:
            continue
        T[i, q] = 0.0
        for j in range(width):
            T[i, j] -= factor * T[r, j]
        b[i] -= factor * value
        weights[i] = max(weights[i], factor * factor * heavy)
    weights[r] = max(heavy, 1.0)
    factor = d[q]
    d[q] = 0.0
    for j in range(width):
        d[j] -= factor * T[r, j]
    return float(factor * value)


@kernel(nogil=True)
def dual_simplex(
    T: FloatArray,
    b: FloatArray,
    d: FloatArray,
    weights: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: int,
    width: int,
    banned: BoolArray,
    z: float,
    cutoff: float,
    max_pivots: int,
    ray: FloatArray,
) -> tuple[int, float, int]:
    """Pivot until optimal, until the objective reaches `cutoff`, or `max_pivots`; status, objective, pivots.

    Every objective on the way is a bound. `banned` is by variable number. When no column can repair a row,
    ``ray[0]`` is the row and ``ray[1]`` its sign: adding that row to the objective raises the bound without end.
    """
    n_columns = len(banned)
    pivots = 0
    while True:
        if z >= cutoff:
            return CUTOFF, z, pivots
        if pivots >= max_pivots:
            return LIMIT, z, pivots
        r = -1
        worst = 0.0
        sign = 1.0
        for i in range(height):
            v = b[i]
            if v < -PRIMAL_TOLERANCE or (v > PRIMAL_TOLERANCE and basic[i] < n_columns and banned[basic[i]]):
                score = v * v / weights[i]
                if score > worst:
                    worst = score
                    r = i
                    sign = 1.0 if v < 0.0 else -1.0
        if r < 0:
            return OPTIMAL, z, pivots
        q = -1
        best = np.inf
        size = 0.0
        row = T[r]
        for j in range(width):
            entry = -sign * row[j]
            if entry > PIVOT_TOLERANCE:
                if nonbasic[j] < n_columns and banned[nonbasic[j]]:
                    continue
                dj = max(0.0, d[j])
                ratio = dj / entry
                if ratio < best - 1e-12 or (ratio <= best + 1e-12 and entry > size):
                    best = ratio
                    q = j
                    size = entry
        if q < 0:
            ray[0] = r
            ray[1] = sign
            return INFEASIBLE, z, pivots
        if d[q] < 0.0:
            d[q] = 0.0
        z += pivot(T, b, d, weights, height, width, r, q)
        leaving = basic[r]
        basic[r] = nonbasic[q]
        nonbasic[q] = leaving
        pivots += 1


@kernel(nogil=True)
def read_multipliers(
    T: FloatArray,
    d: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: int,
    width: int,
    first_slack: int,
    place: IntArray,
    status: int,
    ray: FloatArray,
    step: float,
    lam: FloatArray,
) -> None:
    """Multipliers of the rows from the reduced costs of their slacks; ``place[t]`` is where row t goes in `lam`.

    For an infeasible program the ray is added with length `step`.
    """
    lam[:] = 0.0
    for j in range(width):
        if nonbasic[j] >= first_slack:
            value = d[j]
            if status == INFEASIBLE:
                value += step * ray[1] * T[int(ray[0]), j]
            if value > 0.0:
                lam[place[nonbasic[j] - first_slack]] = value
    if status == INFEASIBLE:
        r = int(ray[0])
        if basic[r] >= first_slack:
            lam[place[basic[r] - first_slack]] = step


@kernel(nogil=True)
def add_row(
    T: FloatArray,
    b: FloatArray,
    weights: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: int,
    width: int,
    n_columns: int,
    row: FloatArray,
    rhs: float,
    group: int,
    slack: int,
) -> None:
    """Put ``row . x + s[group] >= rhs`` below the tableau with its slack basic."""
    target = T[height]
    value = -rhs
    for j in range(width):
        variable = nonbasic[j]
        entry = 0.0
        if variable < n_columns:
            entry = row[variable]
        elif group >= 0 and variable == n_columns + group:
            entry = 1.0
        target[j] = -entry
    for i in range(height):
        variable = basic[i]
        entry = 0.0
        if variable < n_columns:
            entry = row[variable]
        elif group >= 0 and variable == n_columns + group:
            entry = 1.0
        if entry != 0.0:
            value += entry * b[i]
            for j in range(width):
                target[j] += entry * T[i, j]
    norm = 1.0
    for j in range(width):
        norm += target[j] * target[j]
    weights[height] = norm
    b[height] = value
    basic[height] = slack


@kernel(nogil=True)
def copy_tableau(
    T: FloatArray,
    b: FloatArray,
    d: FloatArray,
    weights: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: int,
    width: int,
    banned: BoolArray,
    keep_row: BoolArray,
    T2: FloatArray,
    b2: FloatArray,
    d2: FloatArray,
    weights2: FloatArray,
    basic2: IntArray,
    nonbasic2: IntArray,
) -> tuple[int, int]:
    """Copy without banned nonbasic columns and without rows not in `keep_row`; height and width of the copy."""
    n_columns = len(banned)
    narrow = 0
    source = np.empty(width, dtype=np.int64)
    for j in range(width):
        if nonbasic[j] < n_columns and banned[nonbasic[j]]:
            continue
        source[narrow] = j
        nonbasic2[narrow] = nonbasic[j]
        d2[narrow] = d[j]
        narrow += 1
    low = 0
    for i in range(height):
        if not keep_row[i]:
            continue
        for j in range(narrow):
            T2[low, j] = T[i, source[j]]
        weights2[low] = weights[i]
        b2[low] = b[i]
        basic2[low] = basic[i]
        low += 1
    return low, narrow
