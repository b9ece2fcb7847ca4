"""Pivots of a primal simplex on a dense tableau, compiled: for columns that come late and would lower the optimum."""

import numpy as np

from ...._arrays import BoolArray, FloatArray, IntArray, kernel
from ._pivoting import PIVOT_TOLERANCE, PRIMAL_TOLERANCE

__all__ = ["price_in"]

COST_TOLERANCE = 1e-10
"""As a share of the objective: reduced costs above minus that count as none."""


@kernel(nogil=True)
def leaving_row(T: FloatArray, b: FloatArray, stuck: BoolArray, height: int, j: int) -> int:
    """The row that keeps all basic variables from falling below 0 while that of column `j` rises; -1 for none.

    Of rows that stop it within the tolerance that of the largest entry (Harris 1973). What is `stuck` at 0 may move
    neither way.
    """
    first = np.inf
    for i in range(height):
        entry = abs(T[i, j]) if stuck[i] else T[i, j]
        if entry > PIVOT_TOLERANCE:
            value = 0.0 if stuck[i] else max(b[i], 0.0)
            first = min(first, (value + PRIMAL_TOLERANCE) / entry)
    row, largest = -1, 0.0
    for i in range(height):
        entry = abs(T[i, j]) if stuck[i] else T[i, j]
        value = 0.0 if stuck[i] else max(b[i], 0.0)
        if entry > max(PIVOT_TOLERANCE, largest) and value <= first * entry:
            row, largest = i, entry
    return row


@kernel(nogil=True)
def price_in(
    T: FloatArray,
    b: FloatArray,
    d: FloatArray,
    basic: IntArray,
    nonbasic: IntArray,
    height: int,
    width: int,
    stuck: BoolArray,
    z: float,
    max_pivots: int,
) -> tuple[bool, float, int]:
    """Pivot from a basis without a negative value until no reduced cost is negative, or `max_pivots`.

    `stuck` tells of each row whether what is basic there is forbidden, and keeps to 0 until it leaves.

    Returns
    -------
    whether it is optimal, objective, pivots made
    """
    tolerance = COST_TOLERANCE * max(1.0, abs(z))
    for pivots in range(max_pivots + 1):
        j = 0
        for k in range(width):
            if d[k] < d[j]:
                j = k
        if d[j] >= -tolerance:
            return True, z, pivots
        r = leaving_row(T, b, stuck, height, j)
        if r < 0 or pivots == max_pivots:
            return False, z, pivots
        pivot = T[r, j]
        row = T[r]
        for k in range(width):
            row[k] /= pivot
        row[j] = 1.0 / pivot
        b[r] /= pivot
        for i in range(height):
            factor = T[i, j]
            if i == r or factor == 0.0:
                continue
            own = T[i]
            own[j] = 0.0
            for k in range(width):
                own[k] -= factor * row[k]
            b[i] -= factor * b[r]
        cost = d[j]
        d[j] = 0.0
        for k in range(width):
            d[k] -= cost * row[k]
        z += cost * b[r]
        basic[r], nonbasic[j] = nonbasic[j], basic[r]
        stuck[r] = False
    return False, z, max_pivots
