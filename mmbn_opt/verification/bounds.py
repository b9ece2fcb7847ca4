"""Lower bounds of the loss from rows and multipliers, every rounding counted."""

from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.rigour.enclosed import SAFE, TINY, Enclosed, Floats, gamma
from mmbn_opt.verification.margins import Margins
from mmbn_opt.verification.tree_file import Evidence, Row

__all__ = ["Bounds"]

MOST_BYTES = 400_000_000
"""Of rows that are kept."""


class Bounds:
    """Rows, and what they prove: `offsets` are the first columns of the nodes, `owner` the node of each column."""

    def __init__(
        self, cost: Enclosed, offsets: NDArray[np.intp], owner: NDArray[np.intp], margins: Margins | None
    ) -> None:
        self._cost, self._offsets, self._owner, self._margins = cost, offsets, owner, margins
        self._zero = np.zeros(len(owner))
        self._size, self._error = (self._zero, self._zero) if margins is None else (margins.size, margins.error)
        self.start(np.zeros(0, dtype=np.intp))

    def start(self, group: NDArray[np.intp]) -> None:
        """Another grouping of the samples: all points and rows are gone."""
        self._group = group
        self.points: dict[int, tuple[NDArray[np.int64], Floats]] = {}
        self.others: dict[int, tuple[Floats, float, float]] = {}
        # Coefficients, group or -1, what bounds the coefficients, right side, unit of the multipliers.
        self._rows: dict[Row, tuple[Floats, float, float, float, float]] = {}

    def form(self, wanted: set[Row]) -> None:
        """Have these rows at hand; cuts are formed group by group."""
        if 8 * len(self._owner) * len(wanted | self._rows.keys()) > MOST_BYTES:
            self._rows.clear()
        new = sorted(wanted - self._rows.keys(), key=itemgetter(1, 0))
        for number in (g for p, g in new if p < 0):
            coefficients, rhs, unit = self.others[number]
            self._rows[-1, number] = coefficients, -1, np.abs(coefficients).max(), rhs, unit
        cuts = [row for row in new if row[0] >= 0]
        if self._margins is None or not cuts:
            return
        selected = {p: self._margins.select(*self.points[p]) for p in {p for p, _ in cuts}}
        for group, some in groupby(cuts, key=itemgetter(1)):
            members, rows = np.flatnonzero(self._group == group), list(some)
            active, rivals = (np.array([selected[p][part][members] for p, _ in rows]) for part in (0, 1))
            for row, coefficients, weight in zip(rows, *self._margins.cuts(members, active, rivals), strict=True):
                self._rows[row] = coefficients, group, weight, self._margins.gamma * weight, 1.0

    def prove(self, evidence: Evidence, boxes: NDArray[np.bool_], *, empty: bool = False) -> tuple[Floats, ...]:
        """What multipliers, one row of them a box, prove of boxes that have columns of each node.

        Bounds of the boxes, of the choices with each column, and what rounding has taken from the bounds of the boxes.
        With `empty` costs are 0 and rows are those without a loss: a box of a bound above 0 has no choice.
        """
        known = [self._rows[row] for row in evidence.rows]
        rows = np.array([row[0] for row in known]).reshape(-1, len(self._owner))
        group, weight, rhs, unit = np.array([row[1:] for row in known]).reshape(-1, 4).T
        lam = evidence.multipliers / unit
        lam = np.where((lam > 0.0) & (lam < 1e100), lam, 0.0)  # no NaN, and no overflow
        lam = np.where(group < 0, lam, 0.0) if empty else _clipped(lam, group.astype(np.intp))
        cost, n = Enclosed(self._zero, self._zero) if empty else self._cost, len(known)
        reach, other = (lam @ (weight * of)[:, None] for of in (group >= 0, group < 0))
        value = cost.value - lam @ rows
        off = cost.error + reach * self._error
        off = off + gamma(n + 1) * (np.abs(cost.value) + other + reach * (self._size + self._error))
        lower = np.where(boxes, value - SAFE * off - TINY, np.inf)
        least = np.minimum.reduceat(lower, self._offsets, axis=1)
        sizes = lam @ np.abs(rhs) + np.abs(least).sum(axis=1)
        bound = lam @ rhs + least.sum(axis=1) - SAFE * gamma(n + least.shape[1] + 3) * sizes - TINY
        rise = np.where(boxes, lower - least[:, self._owner], 0.0)
        column = bound[:, None] + rise - gamma(4) * (np.abs(bound)[:, None] + rise)
        plain = np.minimum.reduceat(np.where(boxes, value, np.inf), self._offsets, axis=1)
        rounding = np.maximum(lam @ rhs + plain.sum(axis=1) - bound, 0.0)
        return *(np.where(np.isnan(x), -np.inf, x) for x in (bound, column)), rounding


def _clipped(lam: Floats, group: NDArray[np.intp]) -> Floats:
    """Multipliers whose sum over each group is at most 1, whatever rounding does."""
    place = np.unique(group, return_inverse=True)[1]
    totals = lam @ (place[:, None] == np.arange(place.max(initial=0) + 1))
    room = 1.0 + 4.0 * gamma(len(group))
    factor = np.where(totals * room > 1.0, 1.0 / (np.maximum(totals, 1.0) * room), 1.0)
    clipped: Floats = lam * np.where(group < 0, 1.0, factor[:, place])
    return clipped
