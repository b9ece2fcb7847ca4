"""What the closed form of the relaxation's bound is at most, row by row of the tables, to forty digits.

For any number ``lam >= 0``, and every w with ``sum_i exp(w_i) <= 1`` and ``w >= floor``,

    v . w  <=  lam + sum_i max { v_i t - lam exp(t) : t >= floor },

so that a lam that is rounded, or chosen badly, makes a bound weaker and never false. The maximum is at the floor where
``v_i <= lam exp(floor)``, and elsewhere at ``log(v_i / lam)``.
"""

from decimal import Decimal, localcontext
from typing import NamedTuple

from mmbn_opt.rigour.enclosed import DIGITS

__all__ = ["CHARGE", "Floor", "support"]

CHARGE = Decimal("1e-30")
"""Of the sizes of the terms: far more than 40 digits lose in any sum of theirs that a memory has room for."""

ZERO = Decimal(0)


class Floor(NamedTuple):
    """Logarithm of the least probability, and that probability, to forty digits."""

    log: Decimal
    share: Decimal


def support(values: list[tuple[int, int]], floor: Floor) -> Decimal:
    """What ``v . w`` is at most over a row, with `v` as exact fractions."""
    with localcontext(DIGITS):
        row = [Decimal(above) / Decimal(below) for above, below in values]
        lam = Decimal(_multiplier([above / below for above, below in values], float(floor.share)))
        total, size, cut = lam, lam, lam * floor.share
        sure = cut * (1 - CHARGE)  # near a tie the formula without a floor is true whatever rounding did
        for v in row:
            if v <= sure:
                along, mass = v * floor.log, cut
            else:
                along, mass = v * (v / lam).ln(), v
            total, size = total + along - mass, size + abs(along) + mass
        return total + CHARGE * size


def _multiplier(row: list[float], share: float) -> float:
    """The lam that makes the bound the least: entries on the floor take their share, and others in proportion."""
    cut = 0.0
    while True:
        above = [v for v in row if v > cut]
        room = 1.0 - share * (len(row) - len(above))
        lam = sum(above) / room if room > 0.0 else sum(above)
        if not any(cut < v <= lam * share for v in above):
            return lam
        cut = lam * share
