"""Numbers with a bound on their error: float64 arrays, and how far each entry may be from the number it stands for.

A sum of n products is off by at most ``gamma(n)`` times the sum of their absolute values, in any order (Higham,
Accuracy and Stability of Numerical Algorithms, 2002, 3.1). What rounding does to a bound itself is far less than `SAFE`
adds. Logarithms are enclosed one by one: each different argument is computed to 40 digits and compared.
"""

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["SAFE", "TINY", "Enclosed", "Floats", "gamma", "log", "log_rising", "n_log_n"]

Floats = NDArray[np.float64]
SAFE = 1.0 + 2.0**-30
DIGITS = Context(prec=40)
TINY = 1e-300
"""More than products lose that are too small for a double."""
LEFT_OPEN = 1e-30
"""More than 40 digits leave open of a number below a billion."""


def gamma(n: int) -> float:
    """Relative error of n roundings one after another, with room to spare."""
    return SAFE * (n + 2) * 2.0**-53 / (1.0 - (n + 2) * 2.0**-53)


class Enclosed(NamedTuple):
    """Values, and by how much each may be wrong at most."""

    value: Floats
    error: Floats

    def minus(self, other: "Enclosed") -> "Enclosed":
        """The differences, rounding included."""
        value = self.value - other.value
        return Enclosed(value, SAFE * (self.error + other.error + gamma(0) * np.abs(value)))

    def times(self, factor: Floats | float) -> "Enclosed":
        """Products with numbers that are exact, rounding included."""
        value = factor * self.value
        return Enclosed(value, SAFE * (np.abs(factor) * self.error + gamma(0) * np.abs(value)) + TINY)

    def total(self) -> "Enclosed":
        """The sum of all entries, rounding included."""
        error = self.error.sum() + gamma(self.value.size) * np.abs(self.value).sum()
        return Enclosed(self.value.sum(), SAFE * error)


@cache
def _ln(number: Fraction) -> Decimal:
    return DIGITS.ln(DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator)))


def _looked_up(counts: Floats, values: Callable[[Floats], Floats], exact: Callable[[int], Decimal]) -> Enclosed:
    """A function of whole numbers: its values, and how far they are from its exact ones."""
    different, place = np.unique(counts, return_inverse=True)
    found = values(different)
    pairs = zip(different.tolist(), found.tolist(), strict=True)
    far = [float(DIGITS.abs(DIGITS.subtract(Decimal(value), exact(int(n))))) for n, value in pairs]
    error = SAFE * np.array(far) + LEFT_OPEN
    return Enclosed(found[place].reshape(counts.shape), error[place].reshape(counts.shape))


def log(counts: Floats, extra: Fraction) -> Enclosed:
    """Logarithms of ``counts + extra``."""
    return _looked_up(counts, lambda n: np.log(n + float(extra)), lambda n: _ln(n + extra))


def n_log_n(counts: Floats) -> Enclosed:
    """``n log n``, 0 for 0."""
    return log(np.maximum(counts, 1.0), Fraction(0)).times(counts)


def log_rising(counts: Floats, start: Fraction) -> Enclosed:
    """``log(start (start + 1) ... (start + n - 1))``: what log-gamma gains from start to start + n."""
    sums = [Decimal(0)]
    for n in range(int(counts.max(initial=0.0))):
        sums.append(DIGITS.add(sums[-1], _ln(start + n)))
    return _looked_up(counts, lambda n: np.array([float(sums[int(k)]) for k in n]), sums.__getitem__)
