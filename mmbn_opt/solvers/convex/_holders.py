"""What holds the parameters of a margin program, as a smooth term of the proximal Newton method.

CPT rows and their floor come as augmented Lagrangian terms, whose multipliers are updated with those of the samples;
the squared length of a Markov network is smooth as it is.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..._arrays import BoolArray, FloatArray, IntArray
from ...programs.convex import ConvexProgram
from ...programs.convex_bounds import support_function

__all__ = ["Held", "LengthHolder", "RowHolder"]

NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Held:
    """Value and gradient of the term at a point, and its Hessian: a diagonal and one direction a row.

    Parameters
    ----------
    value : float
    gradient, diagonal, share : float64 array (n,)
        The Hessian is ``diag(diagonal) + sum over the rows of row_weight share share'``.
    rows : int64 array
        Rows with such a direction.
    row_weight : float64 array
    """

    value: float
    gradient: FloatArray
    diagonal: FloatArray
    share: FloatArray
    rows: IntArray = field(default_factory=lambda: NO_ROWS)
    row_weight: FloatArray = field(default_factory=lambda: np.zeros(0))


class RowHolder:
    """Rows ``log sum exp(w) <= 0`` and the floor, each with a multiplier.

    The logarithm of a row sum is the better constraint for Newton's method: a shift of the row changes it by as much.

    Parameters
    ----------
    program : ConvexProgram
    v : float64 array (n,)
        Slope of the samples and the linear term, from which the first multipliers follow.
    """

    def __init__(self, program: ConvexProgram, v: FloatArray) -> None:
        self.row_ptr = program.row_ptr
        self._first, self._sizes = program.row_ptr[:-1], np.diff(program.row_ptr)
        self._floor = program.log_floor
        self.moving: BoolArray = ~program.at_floor
        self._floored = self.moving & math.isfinite(program.log_floor)
        self.strength = 10.0
        _, point = support_function(v, program.row_ptr, program.bound_floor)
        above = point > program.bound_floor + 1e-12
        mass = np.add.reduceat(np.where(above, np.exp(point), 0.0), self._first)
        pull = np.add.reduceat(np.where(above, v, 0.0), self._first)
        self._lam = np.where(mass > 0.0, np.maximum(pull, 0.0) / np.maximum(mass, 1e-300), 0.0)
        lifted = np.repeat(self._lam, self._sizes) * math.exp(program.log_floor) - v
        self._z = np.where(self._floored & ~above, np.maximum(lifted, 0.0), 0.0)
        self._new: tuple[FloatArray, FloatArray] = (self._lam, self._z)

    def prepare(self, metric: FloatArray) -> None:
        """Fix the penalties of a round; `metric` is that of the samples' curvature."""
        least = 1e-3 * max(float(self._lam.max()), 1e-3)
        self._row_penalty = self.strength * np.maximum(self._lam, least)
        self._floor_penalty = 3.0 * metric

    def _multipliers(self, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Those of rows and floor at `w`, and each entry's share of its row."""
        top = np.maximum.reduceat(w, self._first)
        part = np.exp(w - np.repeat(top, self._sizes))
        total = np.add.reduceat(part, self._first)
        lam = np.maximum(self._lam + self._row_penalty * (top + np.log(total)), 0.0)
        return lam, self._pushed(w), part / np.repeat(total, self._sizes)

    def _pushed(self, w: FloatArray) -> FloatArray:
        if not math.isfinite(self._floor):
            return np.zeros_like(w)
        return np.where(self._floored, np.maximum(self._z + self._floor_penalty * (self._floor - w), 0.0), 0.0)

    def at(self, w: FloatArray) -> Held:
        """The term at a point, whose multipliers `accept` takes."""
        lam, z, share = self._multipliers(w)
        self._new = lam, z
        value = float(((lam**2 - self._lam**2) / (2.0 * self._row_penalty)).sum())
        value += float(((z**2 - self._z**2) / (2.0 * self._floor_penalty)).sum())
        pulled = np.repeat(lam, self._sizes) * share
        rows: NDArray[np.int64] = np.flatnonzero(lam > 0.0)
        return Held(
            value,
            pulled - z,
            pulled + np.where(z > 0.0, self._floor_penalty, 0.0),
            share,
            rows,
            (self._row_penalty - lam)[rows],
        )

    def slope(self, w: FloatArray, step: FloatArray) -> float:
        """Derivative of the term at `w` along `step`."""
        lam, z, share = self._multipliers(w)
        return float((np.repeat(lam, self._sizes) * share - z) @ step)

    def accept(self) -> None:
        """Take the multipliers of the last point."""
        self._lam, self._z = self._new

    def strengthen(self, factor: float) -> None:
        """Change the penalties of the rounds to come."""
        self.strength = min(self.strength * factor, 1e6)


class LengthHolder:
    """``1/2 |w|^2``, smooth and free of multipliers."""

    def __init__(self, n: int) -> None:
        self.row_ptr = NO_ROWS
        self.moving: BoolArray = np.ones(n, dtype=bool)

    def prepare(self, metric: FloatArray) -> None:
        """There is no penalty."""

    def at(self, w: FloatArray) -> Held:
        """The term at a point."""
        return Held(0.5 * float(w @ w), w, np.ones_like(w), np.zeros_like(w))

    def slope(self, w: FloatArray, step: FloatArray) -> float:
        """Derivative of the term at `w` along `step`."""
        return float(w @ step)

    def accept(self) -> None:
        """There is no multiplier."""

    def strengthen(self, factor: float) -> None:
        """There is no penalty."""
