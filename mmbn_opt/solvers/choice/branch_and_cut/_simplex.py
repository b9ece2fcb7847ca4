"""Dual simplex on a dense tableau, compiled: many small programs that differ by forbidden columns and a few rows.

The tableau writes each basic variable and the objective in the nonbasic ones: ``x_B = b - T x_N``, ``z = z0 + d x_N``.
Variables are numbered ``0..n-1`` columns, ``n..n+G-1`` losses of groups, ``n+G+t`` the slack of row t of the pool.
A column that may not be used keeps to 0: it never enters, and leaves when it is basic away from 0.
"""

import numpy as np

from ...._arrays import BoolArray, FloatArray, Int32Array, IntArray, kernel
from ._pivoting import CUTOFF, FULL, INFEASIBLE, LIMIT, OPTIMAL, allowed_columns, pivot_on, scratch, settle

__all__ = [
    "CUTOFF",
    "INFEASIBLE",
    "LIMIT",
    "OPTIMAL",
    "ROWS_TO_SETTLE",
    "add_rows",
    "copy_tableau",
    "dual_simplex",
    "read_multipliers",
]

ROWS_TO_SETTLE = 32
"""The tableau is brought up to date after pivots on so many of its rows."""


@kernel(nogil=True)
def _without_banned(
    T: FloatArray, d: FloatArray, nonbasic: IntArray, height: int, width: int, banned: BoolArray
) -> int:
    """Close the gaps that forbidden columns leave; how many columns are left."""
    source = np.empty(width, dtype=np.int64)
    narrow: int = allowed_columns(nonbasic, width, banned, source)
    if narrow < width:
        for j in range(narrow):
            nonbasic[j], d[j] = nonbasic[source[j]], d[source[j]]
        for i in range(height):
            for j in range(narrow):
                T[i, j] = T[i, source[j]]
    return narrow


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
    rows: FloatArray,
    moved: FloatArray,
) -> tuple[int, float, int, int]:
    """Pivot until optimal, until the objective reaches `cutoff`, or `max_pivots`; status, objective, pivots, width.

    Every objective on the way is a bound. `banned` is by variable number; such columns are dropped. When no column can
    repair a row, ``ray[0]`` is the row and ``ray[1]`` its sign: adding that row to the objective raises the bound
    without end. `rows` and `moved` are scratch space of as many rows each as there may be to settle.
    """
    total = 0
    work = scratch(rows, moved, height, width)
    source = np.arange(width)
    while True:
        width = _without_banned(T, d, nonbasic, height, width, banned)
        status, z, pivots, rank, r, sign, _ = pivot_on(
            T, source, b, d, weights, basic, banned, height, width, z, cutoff, max_pivots - total, work
        )
        settle(T, d, basic, nonbasic, height, width, rank, work)
        total += pivots
        if status != FULL:
            ray[0], ray[1] = r, sign
            return status, z, total, width


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
def _add_row(
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
def add_rows(
    T: FloatArray,
    b: FloatArray,
    weights: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: int,
    width: int,
    n_columns: int,
    first_slack: int,
    rows: FloatArray,
    rhs: FloatArray,
    groups: Int32Array,
    slots: IntArray,
) -> None:
    """Put rows of a pool below the tableau, one after the other, each with its slack basic."""
    for slot in slots:
        _add_row(
            T, b, weights, basic, nonbasic, height, width, n_columns, rows[slot], rhs[slot], groups[slot],
            first_slack + slot,
        )  # fmt: skip
        height += 1


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
    source = np.empty(width, dtype=np.int64)
    narrow = allowed_columns(nonbasic, width, banned, source)
    for j in range(narrow):
        nonbasic2[j], d2[j] = nonbasic[source[j]], d[source[j]]
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
