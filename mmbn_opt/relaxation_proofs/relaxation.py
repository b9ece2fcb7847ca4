"""The convex relaxation of the maximum margin on a structure: what multipliers prove, and what tables cost.

Log-probabilities w cost ``sum_m n_m max(0, gamma - min_c (Delta w)_mc) - alpha n . w``. For any multipliers ``y >= 0``
with ``sum_c y_mc <= n_m`` no w costs less than ``gamma sum y - h(alpha n + Delta' y)``. Multipliers are rounded to
whole numbers of a small unit: sums of them are exact.
"""

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor as whole_part
from math import inf, log2, nextafter, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.relaxation_proofs.support import CHARGE, ZERO, Floor, support
from mmbn_opt.rigour.enclosed import DIGITS, SAFE, Enclosed, Floats, gamma
from mmbn_opt.rigour.samples import Samples

__all__ = ["Relaxation"]

WITHOUT_FLOOR = Decimal(-1000)
"""The bound of a problem without a floor is over logarithms that are no less."""
MOST_ENTRIES = 10**8


class _Table(NamedTuple):
    """Where a conditional table begins in w, its shape, and where a sample finds its entry of the first class."""

    start: int
    family: tuple[int, ...]
    shape: tuple[int, int]
    first: NDArray[np.int64]
    stride: int

    @property
    def end(self) -> int:
        return self.start + prod(self.shape)


class Relaxation:
    """The problem as the header of a proof states it, on samples; nodes are the features in order and the class."""

    def __init__(self, header: dict[str, Any], samples: Samples) -> None:
        said = header["problem"]
        if said["constraints"]:
            raise InputError("Relaxations with constraints on the tables are not verified.")
        self._samples, self._classes = samples, samples.cards[-1]
        self._labels = samples.codes[:, -1]
        if (said["gamma"] is None) == (said["B"] is None):
            raise FormatError("The proof has neither a gamma nor a B, or both.")
        self._free, self._strength = said["gamma"] is None, Fraction(said["B"] if said["gamma"] is None else 1)
        self.gamma = Fraction(1 if self._free else said["gamma"])
        if min(self.gamma, self._strength) <= 0:
            raise FormatError("The proof has a gamma or B that is not above 0.")
        self._alpha, amount, self._dirichlet = Fraction(said["alpha"] or 0), Fraction(0), False
        if self._alpha < 0:
            raise FormatError("The proof has an alpha below 0.")
        if self._alpha:
            ((prior, value),) = said["smoothing"].items()
            self._dirichlet, amount = prior == "dirichlet", Fraction(value)
        self._amount = amount
        if amount < 0:
            raise FormatError("The proof has smoothing below 0.")
        with localcontext(DIGITS):
            share = None if said["min_prob"] is None else Fraction(said["min_prob"])
            if share is None:
                self._floor = Floor(WITHOUT_FLOOR, WITHOUT_FLOOR.exp())
            elif not 0 < share < 1:
                raise FormatError(f"The proof has a min_prob of {float(share)}, which is no probability.")
            else:
                least = Decimal(share.numerator) / Decimal(share.denominator)
                self._floor = Floor(least.ln(), least)
        self._tables = list(self._layout([node["name"] for node in header["nodes"]], said["edges"]))
        self.size = self._tables[-1].end

    def _layout(self, names: list[str], edges: list[list[str]]) -> Iterator[_Table]:
        """The tables of the class and its children that have something to choose, the class last."""
        cards, c, start = self._samples.cards, len(names) - 1, 0
        if len({*names}) < len(names) or cards[c] < 2:
            raise FormatError("The proof has a node twice, or a single class.")
        for node, size in enumerate(cards):
            parents = tuple(sorted({names.index(a) for a, b in edges if b == names[node]} - {node}))
            if size == 1 or (node != c and c not in parents):
                continue
            shape = prod(cards[p] for p in parents), size
            if start + prod(shape) > MOST_ENTRIES:
                raise FormatError(f"The proof has tables of more than {MOST_ENTRIES:,} entries.")
            if node == c:
                first, stride = self._samples.joint(parents) * size, 1
            else:
                first = self._samples.joint(parents[:-1]) * (self._classes * size) + self._samples.codes[:, node]
                stride = size
            table = _Table(start, (*parents, node), shape, first, stride)
            yield table
            start = table.end

    def _extra(self, table: _Table) -> Fraction:
        """What smoothing adds to each count."""
        return self._amount / prod(table.shape) if self._dirichlet else self._amount

    def _whole(self, multipliers: Floats) -> tuple[NDArray[np.int64], int]:
        """Admissible multipliers as whole numbers of a unit, and how many units make 1."""
        weight, rows = self._samples.weight, np.arange(len(self._labels))
        bits = whole_part(61 - log2(weight.sum() * self._classes))
        if bits < 1:
            raise FormatError("The proof has more samples than whole numbers of 64 bits can sum up.")
        y = np.where((multipliers > 0.0) & (multipliers < 1e100), multipliers, 0.0)  # no NaN, and no overflow
        y[rows, self._labels] = 0.0
        totals = y.sum(axis=1)
        y *= np.where(totals > weight, weight / np.maximum(totals, weight), 1.0)[:, None]
        units, most = np.rint(y * 2.0**bits).astype(np.int64), (weight * 2.0**bits).astype(np.int64)
        units[rows, units.argmax(axis=1)] -= np.maximum(units.sum(axis=1) - most, 0)
        units[(units.sum(axis=1) > most) | (units < 0).any(axis=1)] = 0
        return units, 2**bits

    def bound(self, multipliers: Floats) -> float:
        """What no tables on the structure cost less than."""
        units, one = self._whole(multipliers)
        signed = -units
        signed[np.arange(len(units)), self._labels] = units.sum(axis=1)
        reach = Fraction(int(units.sum()), one)
        asked = _two_thirds(reach * self._strength) if self._free else reach * self.gamma
        with localcontext(DIGITS):
            above, size = ZERO, ZERO
            for table in self._tables:
                for row in self._rows(table, signed, one):
                    value = support(row, self._floor)
                    above, size = above + value, size + abs(value)
            first = Decimal(asked.numerator) / Decimal(asked.denominator)
            factor = Decimal(self._strength.numerator) / Decimal(self._strength.denominator)
            above, size = above * factor, size * factor
            found = nextafter(float(first - above - CHARGE * (first + size)), -inf)
            return max(found, 0.0)  # logarithms of probabilities are no more than 0, so that nothing costs less

    def _rows(self, table: _Table, signed: NDArray[np.int64], one: int) -> Iterator[list[tuple[int, int]]]:
        """Rows of ``alpha n + Delta' y`` as exact fractions; those that are all zero add nothing."""
        sums = np.zeros(table.shape, dtype=np.int64)
        for c in range(self._classes):
            some = np.flatnonzero(signed[:, c])
            np.add.at(sums.reshape(-1), table.first[some] + c * table.stride, signed[some, c])
        if not self._alpha:
            yield from ([(v, one) for v in row] for row in sums[sums.any(axis=1)].tolist())
            return
        counts = self._samples.counts(table.family).reshape(table.shape)
        extra = self._extra(table)
        scale = self._alpha.denominator * extra.denominator
        step, base = self._alpha.numerator * extra.denominator * one, self._alpha.numerator * extra.numerator * one
        for row, seen in zip(sums.tolist(), counts.astype(np.int64).tolist(), strict=True):
            yield [(v * scale + step * n + base, one * scale) for v, n in zip(row, seen, strict=True)]

    def cost(self, w: Floats, margin: float) -> tuple[Enclosed, float]:
        """What tables cost, with a margin where that is free, and by how much a row's sum or the floor is missed."""
        if w.shape != (self.size,) or not np.isfinite(w).all():
            raise FormatError(f"The proof has tables of {w.size} entries that are numbers, not {self.size}.")
        asked = margin if self._free else float(self.gamma)
        weight, rows = self._samples.weight, np.arange(len(self._labels))
        scores, largest, violation = np.zeros((len(rows), self._classes)), 0.0, 0.0
        likelihood, sizes = 0.0, 0.0
        for table in self._tables:
            part = w[table.start : table.end]
            scores += part[table.first[:, None] + table.stride * np.arange(self._classes)]
            largest += float(np.abs(part).max())
            violation = max(violation, float(np.exp(part).reshape(table.shape).sum(axis=1).max()) - 1.0)
            if self._alpha:
                counts = self._samples.counts(table.family).reshape(-1) + float(self._extra(table))
                likelihood += float(counts @ part)
                sizes += float(counts @ np.abs(part))
        below = float(self._floor.log) - float(w.min())
        violation = SAFE * max(violation, below, 0.0) + gamma(max(self._samples.cards) + 8) * (1.0 + largest)
        own = scores[rows, self._labels].copy()
        scores[rows, self._labels] = -np.inf
        lost = weight * np.maximum(asked - (own - scores.max(axis=1)), 0.0)
        total = float(lost.sum()) - float(self._alpha) * likelihood
        error = float(weight.sum()) * (2 * gamma(len(self._tables) + 2) * largest + gamma(2) * (asked + largest))
        error += gamma(len(rows) + 3) * float(lost.sum()) + gamma(self.size + 8) * float(self._alpha) * sizes
        if self._free:
            strength, own_term = float(self._strength), 0.5 / asked**2
            error = strength * error + gamma(6) * (own_term + abs(strength * total))
            total = own_term + strength * total
        return Enclosed(np.array(total), np.array(SAFE * (error + gamma(4) * abs(total)))), violation


def _two_thirds(number: Fraction) -> Fraction:
    """At most ``1.5 number^(2/3)``."""
    root = Fraction(float(number) ** (2.0 / 3.0))
    while root**3 > number**2:
        root *= 1 - Fraction(1, 2**50)
    return root * Fraction(3, 2)
