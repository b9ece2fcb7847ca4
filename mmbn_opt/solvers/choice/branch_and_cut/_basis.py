"""The square matrix of what is basic in a linear program, and systems in it."""

import numpy as np

from ...._arrays import FloatArray, Int32Array, IntArray

__all__ = ["Basis"]

MANY_LOSSES = 48
"""From so many basic losses on systems are solved without them, and they from the solution."""


class Basis:
    """What the rows of a program are in terms of its basic variables.

    A basic loss is in the rows of its group and nowhere else: one of these says what it is, and is taken off the
    others, which leaves a system in the basic columns alone, a fourth as high where groups are many.

    Parameters
    ----------
    matrix : float64 array (height, height)
        Rows of the nodes, then others; a column for each basic variable.
    basic : int array (height,)
        Columns of the program below `n_columns`, losses of groups above.
    n_columns : int
    groups : int array (height - n_nodes,)
        Of the rows after those of the nodes; -1 for none.
    n_groups : int

    Examples
    --------
    >>> basis = Basis(np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([0, 3]), 3, np.array([0], dtype=np.int32), 1)
    >>> basis.solve(np.array([[1.0], [5.0]])).ravel(), basis.multipliers(np.array([4.0, 1.0]))
    (array([1., 3.]), array([2., 1.]))
    """

    def __init__(self, matrix: FloatArray, basic: IntArray, n_columns: int, groups: Int32Array, n_groups: int) -> None:
        self._matrix = self._core = matrix
        self._own, self._losses = np.flatnonzero(basic < n_columns), np.flatnonzero(basic >= n_columns)
        self._told = len(self._losses) >= MANY_LOSSES
        self._singular = False
        if not self._told:
            return
        height, nodes = len(matrix), len(matrix) - len(groups)
        last_row = np.full(n_groups + 1, -1)  # of every group; rows of none, which is -1, share the last entry
        last_row[groups] = np.arange(nodes, height)
        self._telling = last_row[basic[self._losses] - n_columns]
        self._singular = bool((self._telling < 0).any())
        tells = np.full(n_groups + 1, -1)
        tells[basic[self._losses] - n_columns] = self._telling
        self._others = np.setdiff1d(np.arange(height), self._telling)
        told_by = np.concatenate([np.full(nodes, -1), tells[groups]])[self._others]
        self._after, self._by = np.flatnonzero(told_by >= 0), told_by[told_by >= 0]
        self._core = self._without_losses(matrix[:, self._own])
        self._in_telling = matrix[np.ix_(self._telling, self._own)]

    def _without_losses(self, matrix: FloatArray) -> FloatArray:
        """The rows of the others, less those that tell their losses."""
        left: FloatArray = matrix[self._others]
        left[self._after] -= matrix[self._by]
        return left

    def solve(self, right: FloatArray) -> FloatArray | None:
        """Solution of ``matrix @ y = right``, a column for each of `right`; None where there is none."""
        if self._singular:
            return None
        try:
            if not self._told:
                solution = np.asarray(np.linalg.solve(self._matrix, right), dtype=np.float64)
            else:
                solution = np.empty_like(right)
                columns = np.linalg.solve(self._core, self._without_losses(right))
                solution[self._own] = columns
                solution[self._losses] = right[self._telling] - self._in_telling @ columns
        except np.linalg.LinAlgError:
            return None
        return solution if np.isfinite(solution).all() else None

    def multipliers(self, cost: FloatArray) -> FloatArray | None:
        """Solution of ``y @ matrix = cost``; None where there is none."""
        if self._singular:
            return None
        try:
            if not self._told:
                return np.asarray(np.linalg.solve(self._matrix.T, cost), dtype=np.float64)
            below = cost[self._losses]
            of_others = np.linalg.solve(self._core.T, cost[self._own] - below @ self._in_telling)
        except np.linalg.LinAlgError:
            return None
        found = np.zeros(len(cost))
        found[self._telling] = below
        np.subtract.at(found, self._by, of_others[self._after])
        found[self._others] = of_others
        return found
