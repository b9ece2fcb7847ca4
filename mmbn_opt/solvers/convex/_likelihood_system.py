"""Newton systems of an interior point on a conditional likelihood: factored, or by passes over the samples."""

import logging

import numpy as np

from ..._arrays import FloatArray
from ..._budget import leave_in_time
from ...programs.likelihood import LikelihoodProgram
from ._lattice_holders import TableHold
from ._newton_system import SMALLEST_RIDGE, NewtonSystem

__all__ = ["DenseSystem", "PassSystem"]

logger = logging.getLogger(__name__)

ACCURACY, MOST_PASSES = 1e-2, 300
"""Share of the right side that conjugate gradients leave, and most of their steps."""


class DenseSystem:
    """The Hessian, factored.

    Parameters
    ----------
    program : LikelihoodProgram
    weighted : float64 array (n_samples, n_classes)
        Posteriors times weights.
    holder : TableHold
    damping : float
        Added to the diagonal.
    prune, least_ridge : float
        See `NewtonSystem`.
    """

    def __init__(
        self,
        program: LikelihoodProgram,
        weighted: FloatArray,
        holder: TableHold,
        damping: float,
        prune: float,
        least_ridge: float,
    ) -> None:
        self._system = NewtonSystem(
            program, weighted, holder.diagonal + damping, holder.share, holder.weight, 0.0, prune, holder.free,
            least_ridge,
        )  # fmt: skip
        # Where the smallest one was needed, the systems to come, which are worse, need it too.
        self.next_ridge = min(self._system.ridge, SMALLEST_RIDGE)

    def solve(self, right: FloatArray) -> FloatArray:
        """Step of w."""
        return self._system.solve(right)[0]


class PassSystem:
    """The Hessian as a pass over the samples; its diagonal and the rows precondition conjugate gradients.

    Parameters
    ----------
    program, weighted, holder, damping
        As for `DenseSystem`.
    """

    def __init__(self, program: LikelihoodProgram, weighted: FloatArray, holder: TableHold, damping: float) -> None:
        margins = program.margins
        self._program, self._weighted, self._holder = program, weighted, holder
        self._share_of = weighted / margins.weight[:, None]
        self._diagonal = holder.diagonal + damping
        spread = weighted * np.maximum(1.0 - self._share_of, 0.0)
        curvature = margins.lookups(spread)
        self._scaling = self._diagonal + np.where(holder.free, curvature, 0.0)
        self._first, self._sizes = program.row_ptr[:-1], np.diff(program.row_ptr)
        inner = np.add.reduceat(holder.share**2 / self._scaling, self._first)
        self._factor = holder.weight / (1.0 + holder.weight * inner)

    def _along(self, x: FloatArray, weight: FloatArray) -> FloatArray:
        return np.repeat(weight * np.add.reduceat(self._holder.share * x, self._first), self._sizes)

    def _times(self, x: FloatArray) -> FloatArray:
        scores = self._program.margins.scores(x)
        mean = (self._share_of * scores).sum(axis=1, keepdims=True)
        found = self._program.margins.lookups(self._weighted * (scores - mean))
        found += self._diagonal * x + self._holder.share * self._along(x, self._holder.weight)
        return np.where(self._holder.free, found, 0.0)

    def _scaled(self, x: FloatArray) -> FloatArray:
        scaled = np.where(self._holder.free, x / self._scaling, 0.0)
        return scaled - self._holder.share / self._scaling * self._along(scaled, self._factor)

    def solve(self, right: FloatArray) -> FloatArray:
        """Step of w, by preconditioned conjugate gradients."""
        x = np.zeros_like(right)
        rest = np.where(self._holder.free, right, 0.0)
        z = self._scaled(rest)
        direction, square = z, float(rest @ z)
        least = ACCURACY**2 * square
        steps = 0
        while square > least and steps < MOST_PASSES:
            leave_in_time()
            steps += 1
            image = self._times(direction)
            length = square / float(direction @ image)
            x += length * direction
            rest -= length * image
            z = self._scaled(rest)
            before, square = square, float(rest @ z)
            direction = z + square / before * direction
        logger.debug("%d steps of conjugate gradients", steps)
        return x
