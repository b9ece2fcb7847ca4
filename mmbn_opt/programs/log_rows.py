"""Linear rows on log-parameters, beside blocks and floor: their share of a bound, and the nearest point of all.

For any multipliers z of the rows ``lower <= A w <= upper``, positive where the lower side is meant and negative where
the upper one is, ``min { f(w) } >= min { f(w) - z . (A w - b(z)) }`` over the rest of the feasible set, with b(z) the
side that is meant. So a bound ``-h(v)`` of blocks and floor becomes ``-h(v + A' z) + z . b(z)``: v is shifted, and
nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.convex_bounds import nearest_feasible, support_function

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["LogRows"]

EXACT = 1e-12
"""Violation of a row, in nats, at which a point counts as found."""

NEWTON_STEPS = 40

Concave = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True, eq=False)
class LogRows:
    """``lower <= A w <= upper``.

    Parameters
    ----------
    A : CSR array (n_rows, n)
    lower, upper : float64 arrays (n_rows,)
        Infinities where a side is free.
    names : tuple of str

    Examples
    --------
    Two entries of a row of three that must be equal: the nearest point to (log .5, log .2, log .3).

    >>> import scipy.sparse as sp
    >>> rows = LogRows(sp.csr_array(np.array([[1.0, -1.0, 0.0]])), np.zeros(1), np.zeros(1), ("tied",))
    >>> w = rows.nearest(np.log([0.5, 0.2, 0.3]), np.array([0, 3]), np.log(1e-3))
    >>> np.exp(w).round(3).tolist(), rows.violation(w) < 1e-12
    ([0.316, 0.316, 0.3], True)
    """

    A: "sp.csr_array"
    lower: FloatArray
    upper: FloatArray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if (self.lower > self.upper).any():
            place = int(np.argmax(self.lower > self.upper))
            raise InputError(f"Row {self.names[place]!r} has its lower side above its upper one.")

    def violation(self, w: FloatArray) -> float:
        """Largest violation of a side."""
        activity = self.A @ w
        return float(np.maximum(self.lower - activity, activity - self.upper).max(initial=0.0))

    def admissible(self, z: FloatArray) -> FloatArray:
        """Multipliers with 0 in place of what leans on a side that is free, or is no number."""
        known = np.nan_to_num(z, nan=0.0, posinf=0.0, neginf=0.0)
        free = ((known > 0) & np.isneginf(self.lower)) | ((known < 0) & np.isposinf(self.upper))
        return np.where(free, 0.0, known)

    def side(self, z: FloatArray) -> FloatArray:
        """The side that each multiplier leans on; 0 where that is none."""
        return np.where(z > 0, self.lower, np.where(z < 0, self.upper, 0.0))

    def shift(self, z: FloatArray) -> tuple[FloatArray, float]:
        """What admissible multipliers add to v, and to the bound."""
        return self.A.T @ z, float(z @ self.side(z))

    def best_multipliers(self, v: FloatArray, row_ptr: IntArray, log_floor: float) -> FloatArray:
        """Multipliers that make ``-h(v + A' z) + z . b(z)`` large; any would do for a bound."""

        def bound(t: FloatArray) -> tuple[float, FloatArray]:
            value, point = support_function(v + self._sides.T @ t, row_ptr, log_floor)
            return float(t @ self._limits) - value, self._limits - self._sides @ point

        return self._merged(self._ascend(bound))

    def contradict(self, row_ptr: IntArray, log_floor: float) -> bool:
        """Whether some multipliers prove that no point keeps rows, blocks and floor: 0 has a bound above 0."""
        # From ones, where the bound is smooth; where nothing holds it, it rises along the multipliers of the proof.
        z = self.admissible(self.best_multipliers(np.ones(self.A.shape[1]), row_ptr, log_floor))
        shifted, own = self.shift(z)
        value, _ = support_function(shifted, row_ptr, log_floor)
        return own - value > 1e-9 * float(np.abs(z) @ np.abs(self.side(z))) + EXACT

    def nearest(self, w: FloatArray, row_ptr: IntArray, log_floor: float) -> FloatArray:
        """The nearest point that keeps blocks, floor and rows, these up to 1e-12 where there is such a point."""
        point = self._newton(w, row_ptr, log_floor, np.zeros(len(self._limits)))
        if self.violation(point) <= EXACT:
            return point

        def dual(t: FloatArray) -> tuple[float, FloatArray]:
            point = nearest_feasible(w + self._sides.T @ t, row_ptr, log_floor)
            missing = self._limits - self._sides @ point
            return 0.5 * float((point - w) @ (point - w)) + float(t @ missing), missing

        other = self._newton(w, row_ptr, log_floor, self._ascend(dual))
        return min(point, other, key=self.violation)

    # Each side as a row of its own, ``sides w >= limits``; multipliers are >= 0 but for equalities.

    @cached_property
    def _equal(self) -> NDArray[np.bool_]:
        return np.asarray(self.lower == self.upper)

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows with a lower side, equalities included; rows with an upper one."""
        return np.flatnonzero(np.isfinite(self.lower)), np.flatnonzero(np.isfinite(self.upper) & ~self._equal)

    @cached_property
    def _sides(self) -> "sp.csr_array":
        import scipy.sparse as sp

        below, above = self._places
        return sp.csr_array(sp.vstack([self.A[below], -self.A[above]], format="csr"))

    @cached_property
    def _limits(self) -> FloatArray:
        below, above = self._places
        return np.concatenate([self.lower[below], -self.upper[above]])

    @cached_property
    def _free(self) -> NDArray[np.bool_]:
        below, above = self._places
        return np.concatenate([self._equal[below], np.zeros(len(above), dtype=np.bool_)])

    def _merged(self, t: FloatArray) -> FloatArray:
        """Multipliers of the rows from those of their sides."""
        below, above = self._places
        z = np.zeros(len(self.lower))
        z[below] += t[: len(below)]
        z[above] -= t[len(below) :]
        return z

    def _ascend(self, concave: Concave) -> FloatArray:
        """A maximum over the multipliers of the sides, nearly."""
        from scipy.optimize import minimize  # deferred, with the sparse arrays: commands without rows load neither

        def falling(t: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = concave(t)
            return -value, -gradient

        boxes = [(None, None) if free else (0.0, None) for free in self._free]
        found = minimize(
            falling,
            np.zeros(len(self._limits)),
            jac=True,
            method="L-BFGS-B",
            bounds=boxes,
            options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-11},
        )
        return np.asarray(found.x, dtype=np.float64)

    def _newton(self, w: FloatArray, row_ptr: IntArray, log_floor: float, t: FloatArray) -> FloatArray:
        """The best point of semismooth Newton steps on the sides that are missed or leant on."""
        owner = np.repeat(np.arange(len(row_ptr) - 1), np.diff(row_ptr))
        best, least = w, np.inf
        for _ in range(NEWTON_STEPS):
            pull = np.zeros(len(row_ptr) - 1)
            point = nearest_feasible(w + self._sides.T @ t, row_ptr, log_floor, None, pull)
            violation = self.violation(point)
            if violation < least:
                best, least = point, violation
            missing = self._limits - self._sides @ point
            used = np.flatnonzero(self._free | (t > 0) | (missing > 0))
            if violation <= EXACT or not len(used):
                break
            sides = self._sides[used]
            slope = sides @ _moved(sides.T.toarray(), point, pull, owner, log_floor)
            slope[np.diag_indices(len(used))] += 1e-12 * max(1.0, float(np.trace(slope)) / len(used))
            step = np.linalg.lstsq(slope, missing[used], rcond=1e-13)[0]
            if not np.isfinite(step).all():
                break
            t = t.copy()
            t[used] += step
            t = np.where(self._free, t, np.maximum(t, 0.0))
        return best


def _moved(
    direction: FloatArray, point: FloatArray, pull: FloatArray, owner: NDArray[np.intp], log_floor: float
) -> FloatArray:
    """How the nearest point of blocks and floor moves with what it is nearest to, for each column of `direction`.

    Off the floor ``w + pull exp(w) = z`` and the exponentials of a block that binds keep their sum.
    """
    share = np.where(point > log_floor, np.exp(point), 0.0)
    ease = np.where(point > log_floor, 1.0 / (1.0 + pull[owner] * share), 0.0)
    binds = pull > 0
    total = np.bincount(owner, weights=share * share * ease, minlength=len(pull))
    loss = np.zeros((len(pull), direction.shape[1]))
    np.add.at(loss, owner, (share * ease)[:, None] * direction)
    rate = np.where(binds & (total > 0), 1.0 / np.maximum(total, 1e-300), 0.0)
    moved: FloatArray = ease[:, None] * (direction - share[:, None] * (rate[:, None] * loss)[owner])
    return moved
