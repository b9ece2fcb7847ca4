"""Newton systems of interior-point methods on convex programs: slacks and multipliers eliminated, dense in w.

    Phi' E Phi + diag(a) + sum over the rows g of b_g e_g e_g',     E_m = diag(d_m) - d_m d_m' / sum d_m,

with ``e_g`` the entries ``exp(w)`` of row g, bordered by one column for gamma where it is free.
"""

import logging

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..._arrays import FloatArray
from ...programs.convex import ConvexProgram
from ...programs.likelihood import LikelihoodProgram
from ...programs.margin_kernels import add_curvature

__all__ = ["NewtonSystem", "factorize"]

logger = logging.getLogger(__name__)

SMALLEST_RIDGE = 1e-14
RIDGES = (0.0, SMALLEST_RIDGE, 1e-13, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1e-1)
"""Shares of the diagonal that are added when the factorization fails: more than is
needed hides the curvature of the flattest directions."""


class NewtonSystem:
    """One factorised system.

    Parameters
    ----------
    program : ConvexProgram or LikelihoodProgram
    d : float64 array (n_samples, n_classes)
        Curvatures of the slacks, the own class included.
    diagonal : float64 array (n,)
    exp_w : float64 array (n,)
    row_weight : float64 array (n_blocks,)
    gamma_curvature : float
        Of the objective in gamma; used where gamma is free.
    free : bool array (n,) or None
        Entries of w that move; the others have a step of zero.
    prune : float
        Classes of a sample are left out whose curvature is below this times the 2 % quantile of diagonal over count.
    least_ridge : float
        Smaller ones are not tried.

    Attributes
    ----------
    ridge : float
        Share of the diagonal that was added.
    """

    def __init__(
        self,
        program: ConvexProgram | LikelihoodProgram,
        d: FloatArray,
        diagonal: FloatArray,
        exp_w: FloatArray,
        row_weight: FloatArray,
        gamma_curvature: float = 0.0,
        prune: float = 0.0,
        free: NDArray[np.bool_] | None = None,
        least_ridge: float = 0.0,
    ) -> None:
        margins = program.margins
        n = margins.n_parameters
        self._n = n
        self._moving = np.arange(n) if free is None else np.flatnonzero(free)
        # What a class of a sample adds to entries where the barrier adds far more can be left out.
        counts = np.maximum(margins.n_samples * program.frequency, 1.0)
        least = prune * float(np.quantile((diagonal / counts)[self._moving], 0.02)) if prune > 0.0 else 0.0
        place = np.full(n, -1, dtype=np.intp)
        place[self._moving] = np.arange(len(self._moving))
        matrix = np.zeros((len(self._moving), len(self._moving)))
        add_curvature(margins.factor_rows, place[margins.gather], d, least, matrix)
        for g, (low, high) in enumerate(zip(program.row_ptr[:-1], program.row_ptr[1:], strict=True)):
            inside = place[low:high] >= 0
            part, at = exp_w[low:high][inside], place[low:high][inside]
            if len(at):  # moving entries of a row are neighbours
                matrix[at[0] : at[-1] + 1, at[0] : at[-1] + 1] += row_weight[g] * np.outer(part, part)
        matrix[np.diag_indices(len(matrix))] += diagonal[self._moving]
        self._factor, self.ridge = factorize(matrix, least_ridge)
        self._free = False
        if isinstance(program, ConvexProgram) and program.gamma is None:
            self._free = True
            scaled = np.broadcast_to(program.delta, d.shape).copy()
            scaled[np.arange(margins.n_samples), margins.labels] = 0.0
            total = d.sum(axis=1, keepdims=True)
            e_delta = d * (scaled - (d * scaled).sum(axis=1, keepdims=True) / total)
            # Sums over the classes vanish, so that Phi' is minus Delta' on the rivals.
            self._border = -margins.adjoint(e_delta)[self._moving]
            self._across = cho_solve(self._factor, self._border, check_finite=False)
            self._corner = float((scaled * e_delta).sum()) + gamma_curvature - float(self._border @ self._across)

    def solve(self, right: FloatArray, right_gamma: float = 0.0) -> tuple[FloatArray, float]:
        """Steps in w and in gamma (0 where it is fixed)."""
        moved: FloatArray = cho_solve(self._factor, right[self._moving], check_finite=False)
        gamma = 0.0
        if self._free:
            gamma = (right_gamma - float(self._border @ moved)) / max(self._corner, 1e-300)
            moved = moved - gamma * self._across
        step = np.zeros(self._n)
        step[self._moving] = moved
        return step, gamma


def factorize(matrix: FloatArray, least: float = 0.0) -> tuple[tuple[FloatArray, bool], float]:
    """Cholesky factor of a matrix, which is overwritten, and the ridge of at least so much that it needed."""
    if not len(matrix):
        return (matrix, True), least
    diagonal = np.array(matrix.diagonal())
    floor = 1e-300 + 1e-16 * float(diagonal.max())
    for ridge in (ridge for ridge in RIDGES if ridge >= least):
        matrix[np.diag_indices(len(matrix))] = diagonal * (1 + ridge) + (floor if ridge else 0.0)
        try:
            factor, lower = cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            logger.debug("the Newton system is not positive definite with a ridge of %g", ridge)
            continue
        if np.isfinite(factor.diagonal()).all():
            return (factor, lower), ridge
    raise LinAlgError("the Newton system is not positive definite, even with a ridge of a tenth of its diagonal")
