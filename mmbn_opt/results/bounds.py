"""The pair of bounds that a run has proved, and the one formula for its gap."""

import math
from dataclasses import dataclass

from mmbn_opt.results.status import Sense

__all__ = ["ObjectiveBounds"]


@dataclass(frozen=True)
class ObjectiveBounds:
    """Primal and dual bound of one objective, in its own sense.

    Parameters
    ----------
    sense : Sense
        For a maximum the dual bound is the upper one.
    primal_bound, dual_bound : float or None
        None where nothing is known; never an infinity dressed as a value.

    Examples
    --------
    The gap is the paper's ``(zbar - z) / zbar`` for a positive maximum:

    >>> from mmbn_opt import ObjectiveBounds
    >>> from mmbn_opt.results import Sense
    >>> bounds = ObjectiveBounds(Sense.MAXIMIZE, primal_bound=90.0, dual_bound=100.0)
    >>> bounds.gap_abs, bounds.gap_rel
    (10.0, 0.1)
    """

    sense: Sense
    primal_bound: float | None = None
    dual_bound: float | None = None

    def __str__(self) -> str:
        """Both bounds and the gap, as results and runs show them."""
        primal, dual = ("none" if b is None else format(b, ".6f") for b in (self.primal_bound, self.dual_bound))
        return f"primal={primal}, dual={dual}, gap={self.gap_rel:.3%}"

    @property
    def gap_abs(self) -> float:
        """``|dual - primal|``; inf when a bound is missing."""
        if self.primal_bound is None or self.dual_bound is None:
            return math.inf
        return abs(self.dual_bound - self.primal_bound)

    @property
    def gap_rel(self) -> float:
        """``gap_abs / max(|primal|, |dual|)``; 0 when the bounds meet, inf when one is missing."""
        gap = self.gap_abs
        if gap == 0.0 or math.isinf(gap):
            return gap
        return gap / max(abs(self.primal_bound or 0.0), abs(self.dual_bound or 0.0))

    def is_consistent(self, tolerance: float = 1e-6) -> bool:
        """Whether the dual bound is on the right side of the primal one, up to a relative `tolerance`."""
        if self.primal_bound is None or self.dual_bound is None:
            return True
        slack = tolerance * max(1.0, abs(self.primal_bound), abs(self.dual_bound))
        return self.sense.sign * (self.primal_bound - self.dual_bound) >= -slack

    def better_primal(self, value: float) -> bool:
        """Whether `value` improves on the primal bound."""
        return self.primal_bound is None or self.sense.sign * (value - self.primal_bound) < 0

    def better_dual(self, value: float) -> bool:
        """Whether `value` tightens the dual bound."""
        return self.dual_bound is None or self.sense.sign * (value - self.dual_bound) > 0
