"""Convex programs as models of cvxpy: blocks vectorised, the weights as parameters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.programs.convex import ConvexProgram
from mmbn_opt.programs.log_rows import LogRows
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram

__all__ = ["CvxpyModel", "cvxpy_linear_model", "cvxpy_model"]


@dataclass(frozen=True, eq=False)
class CvxpyModel:
    """A cvxpy problem and where its parts are.

    The objective is divided by the total weight: interior-point solvers break on the unscaled one from about a thousand
    samples on.

    Parameters
    ----------
    problem : cvxpy.Problem
    w, slack, gamma : cvxpy variables
        Log-parameters (n,), slacks (n_samples,), and the margin, which is None where the program fixes it.
    hinge_weight, linear_weight : cvxpy parameters
        Weights of the slacks (B, or 1) and of the likelihood term (B, or 1); change them and solve again.
    margin_rows : cvxpy constraint
        ``Delta w + slack >= gamma delta``; its dual values are the multipliers times ``scale``.
    scale : float
        What the objective was divided by.
    sample, rival : int arrays
        Of each margin row.
    log_rows : tuple of cvxpy constraints
        Linear rows on ``w``: those that are equalities, the lower sides of the others, and the upper ones.
    """

    problem: Any
    w: Any
    slack: Any
    gamma: Any
    hinge_weight: Any
    linear_weight: Any
    margin_rows: Any
    scale: float
    sample: NDArray[np.intp]
    rival: NDArray[np.intp]
    log_rows: tuple[Any, ...] = ()

    def multipliers(self, program: ConvexProgram) -> FloatArray | None:
        """Multipliers of the fixed-gamma form, packed where there are linear rows; None when the solver gave none."""
        values = self.margin_rows.dual_value
        if values is None:
            return None
        y = np.zeros((program.margins.n_samples, program.margins.n_classes))
        factor = self.scale / program.loss_weight
        y[self.sample, self.rival] = np.asarray(values) * factor
        if program.rows is None:
            return y
        z = np.zeros(len(program.rows.names))
        for sign, kept, row in zip((-1.0, 1.0, -1.0), _sides(program.rows), self.log_rows, strict=True):
            if len(kept):  # an empty row is not part of the problem
                z[kept] += sign * factor * np.asarray(row.dual_value)
        return program.packed(y, z)


def _sides(rows: LogRows) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Rows that are equalities, those with a lower side, those with an upper one."""
    equal = rows.lower == rows.upper
    below, above = (np.flatnonzero(np.isfinite(side) & ~equal) for side in (rows.lower, rows.upper))
    return np.flatnonzero(equal), below, above


def cvxpy_model(program: ConvexProgram) -> CvxpyModel:
    """Write a convex program down for cvxpy (extra: none, cvxpy is a core dependency).

    Raises
    ------
    SizeLimitError
        When the margin matrix would have more non-zeros than the program allows.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> from mmbn_opt import MaxMarginRelaxation
    >>> data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"]] * 5, [0, 1, 1] * 5)
    >>> model = cvxpy_model(MaxMarginRelaxation(data, mm.naive_bayes(data), B=1.0).build())
    >>> model.problem.is_dpp(), model.w.shape, model.gamma is not None
    (True, (6,), True)
    """
    import cvxpy as cp

    margins = program.margins
    matrix, sample, rival = margins.matrix(program.max_nonzeros)
    n_blocks, n = len(program.row_ptr) - 1, margins.n_parameters
    w, slack = cp.Variable(n, name="w"), cp.Variable(margins.n_samples, nonneg=True, name="slack")
    asked = np.broadcast_to(program.delta, (margins.n_samples, margins.n_classes))[sample, rival]
    scale = float(margins.weight.sum())
    strength = 1.0 if program.strength is None else program.strength
    hinge_weight = cp.Parameter(nonneg=True, value=strength, name="hinge_weight")
    linear_weight = cp.Parameter(nonneg=True, value=strength, name="linear_weight")
    gamma: Any = None if program.gamma is not None else cp.Variable(pos=True, name="gamma")
    objective = hinge_weight * ((margins.weight / scale) @ slack)
    if program.linear.any():
        objective = objective - linear_weight * ((program.linear / scale) @ w)
    if gamma is not None:
        objective = objective + (0.5 / scale) * cp.power(gamma, -2)
    spread = sp.csr_array(
        (np.ones(len(sample)), (np.arange(len(sample)), sample)), shape=(len(sample), len(margins.weight))
    )
    right = asked * gamma if program.gamma is None else asked * program.gamma
    margin_rows = matrix @ w + spread @ slack >= right
    sums = sp.csr_array((np.ones(n), np.arange(n), program.row_ptr), shape=(n_blocks, n))
    constraints = [margin_rows, sums @ cp.exp(w) <= 1]
    if np.isfinite(program.log_floor):
        constraints.append(w >= program.log_floor)
    own: tuple[Any, ...] = ()
    if program.rows is not None:
        equal, below, above = _sides(program.rows)
        matrix, lower, upper = program.rows.A, program.rows.lower, program.rows.upper
        own = (
            matrix[equal] @ w == lower[equal],
            matrix[below] @ w >= lower[below],
            matrix[above] @ w <= upper[above],
        )
    problem = cp.Problem(cp.Minimize(objective), [*constraints, *(row for row in own if row.size)])
    return CvxpyModel(
        problem, w, slack, gamma, hinge_weight, linear_weight, margin_rows, scale, sample.astype(np.intp), rival, own
    )


def cvxpy_linear_model(program: MixedIntegerProgram) -> Any:
    """A mixed-integer program as a problem of cvxpy with one variable ``x``, a minimum.

    Examples
    --------
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0]), A=sp.csr_array(np.array([[1.0, 1.0]])),
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([1.0]),
    ...     col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.ones(2, dtype=bool))
    >>> problem = cvxpy_linear_model(program)
    >>> round(float(problem.solve(solver="HIGHS")), 6), problem.var_dict["x"].value.round().tolist()
    (-2.0, [0.0, 1.0])
    """
    import cvxpy as cp

    whole = np.nonzero(program.integrality)
    x = cp.Variable(program.c.size, name="x", integer=whole if len(whole[0]) else False)
    constraints = []
    for lower, upper, body in (
        (program.row_lower, program.row_upper, program.A),
        (program.col_lower, program.col_upper, None),
    ):
        equal = np.flatnonzero((lower == upper) & np.isfinite(lower))
        above = np.flatnonzero(np.isfinite(lower) & (lower != upper))
        below = np.flatnonzero(np.isfinite(upper) & (lower != upper))
        for rows, side, sign in ((equal, lower, 0), (above, lower, 1), (below, upper, -1)):
            if len(rows):
                left = x[rows] if body is None else body[rows] @ x
                constraints.append(left == side[rows] if sign == 0 else sign * left >= sign * side[rows])
    return cp.Problem(cp.Minimize(program.c @ x + program.offset), constraints)
