"""When a method that goes on in small steps is told to have stopped."""

import math

__all__ = ["Patience"]

STEPS = 15
"""So many are waited for."""

FALL = 0.99
"""A measure has fallen where it is at most this share of the least so far."""

ROUNDING = 1e-16
"""As a share of the program's scale: measures below it say nothing of the objective any more."""


class Patience:
    """Counts steps after which no measure of what is missing has fallen.

    Parameters
    ----------
    scale : float
        What measures are compared with: see `ROUNDING`.
    steps : int

    Examples
    --------
    >>> patience = Patience(1.0, steps=2)
    >>> [patience.is_over(missing) for missing in (1.0, 0.5, 0.5, 0.5)]
    [False, False, False, True]
    >>> patience = Patience(1.0, steps=2)
    >>> [patience.is_over(missing) for missing in (1e-16, 1e-18, 1e-20)]
    [False, False, True]
    """

    def __init__(self, scale: float, steps: int = STEPS) -> None:
        self._steps, self._least_told = steps, ROUNDING * scale
        self.begin_again()

    def begin_again(self) -> None:
        """What comes is no longer comparable with what was."""
        self._idle = 0
        self._least: tuple[float, ...] = ()

    def is_over(self, *missing: float) -> bool:
        """Whether too many steps have passed; the measures are those after one more, the same ones each time."""
        told = tuple(max(one, self._least_told) for one in missing)
        least = self._least or (math.inf,) * len(told)
        self._idle = 0 if any(new < FALL * old for new, old in zip(told, least, strict=True)) else self._idle + 1
        self._least = tuple(map(min, told, least))
        return self._idle >= self._steps
