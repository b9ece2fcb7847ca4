"""Newton systems of the proximal method, solved by conjugate gradients on the samples at a kink."""

from collections.abc import Iterator

import numpy as np

from ..._arrays import FloatArray
from ...programs.margin_operator import MarginOperator
from ._holders import Held, LengthHolder, RowHolder
from ._proximal_kernels import conjugate_steps, find_ties, tie_diagonal

__all__ = ["TieSystem"]

ACCURACY = 0.1
"""Of a Newton direction: its residual over the gradient, in the norm of the diagonal."""
MOST_STEPS = 600
AT_ONCE = 4_000_000
"""Look-ups between two pauses: some milliseconds."""


class TieSystem:
    """``(sum over ties of s n_m Phi_m' (I - 1 1' / count) Phi_m + rows + diagonal) direction = right``.

    Parameters
    ----------
    margins : MarginOperator
    y : float64 array (n_samples, n_classes)
        Multipliers, the own class included.
    curvature : float64 array (n_samples,)
    held : Held
    pull : float64 array (n,)
        Added to the diagonal.
    holder : RowHolder or LengthHolder
    """

    def __init__(
        self,
        margins: MarginOperator,
        y: FloatArray,
        curvature: FloatArray,
        held: Held,
        pull: FloatArray,
        holder: RowHolder | LengthHolder,
    ) -> None:
        n = margins.n_parameters
        self._n = n
        self._moving = np.flatnonzero(holder.moving)
        count = len(self._moving)
        place = np.full(n, count, dtype=np.int64)  # what stays has the last slot, always zero
        place[self._moving] = np.arange(count)
        self._ptr, sample, self._entries = find_ties(y, margins.factor_rows, place[margins.gather])
        self._curvature = curvature[sample]
        before = np.concatenate([[0], np.cumsum(holder.moving)])
        self._low = self._high = held.rows
        if len(held.rows):
            self._low, self._high = before[holder.row_ptr[held.rows]], before[holder.row_ptr[held.rows + 1]]
        self._row_weight, self._share = held.row_weight, held.share[self._moving]
        self._diagonal = (held.diagonal + pull)[self._moving]
        self.steps = 0
        self.direction: FloatArray = np.zeros(n)

    def solve(self, right: FloatArray) -> Iterator[None]:
        """Fill `direction`, with pauses."""
        count = len(self._moving)
        diagonal = np.append(self._diagonal, 1.0)
        tie_diagonal(self._ptr, self._entries, self._curvature, diagonal)
        for low, high, weight in zip(self._low, self._high, self._row_weight, strict=True):
            diagonal[low:high] += max(float(weight), 0.0) * self._share[low:high] ** 2
        inverse = 1.0 / diagonal
        x, work = np.zeros(count + 1), np.zeros(count + 1)
        residual = np.append(right[self._moving], 0.0)
        direction = inverse * residual
        scores = np.empty(int(np.diff(self._ptr).max(initial=1)))
        left = float(residual @ direction)
        least = ACCURACY**2 * left
        at_once = max(1, AT_ONCE // (2 * self._entries.size + 10 * count + 1))
        while self.steps < MOST_STEPS and left > least:
            done, left = conjugate_steps(
                self._ptr, self._entries, self._curvature, self._diagonal, self._low, self._high, self._row_weight,
                self._share, inverse, min(at_once, MOST_STEPS - self.steps), least, x, residual, direction, work,
                scores, left,
            )  # fmt: skip
            self.steps += done
            yield
        self.direction[self._moving] = x[:count]
