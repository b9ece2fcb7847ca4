"""Sliding windows: observations of the positions before and after, beside those of a position itself."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import shown, whole
from mmbn_opt._arrays import IntArray
from mmbn_opt.exceptions import InputError

__all__ = ["Window", "checked_window", "windowed_codes", "windowed_names"]

Codes = NDArray[np.int32]
Window = tuple[int, int]
"""Positions before and after whose observations count too."""


def checked_window(window: Any) -> Window:
    """The pair of whole numbers itself.

    Examples
    --------
    >>> checked_window((3, 3))
    (3, 3)
    >>> checked_window(3)
    Traceback (most recent call last):
    mmbn_opt.exceptions.InputError: window must be a pair (before, after) of whole numbers >= 0, got 3.
    """
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise InputError(f"window must be a pair (before, after) of whole numbers >= 0, got {shown(window)}.")
    before, after = (whole("window", n, expected="a pair (before, after) of whole numbers >= 0") for n in window)
    return before, after


def windowed_codes(codes: Codes, starts: IntArray, window: Window) -> Codes:
    """Codes with those of the positions before and after beside them; -1 beyond the ends of a sequence.

    Examples
    --------
    >>> windowed_codes(np.array([[5], [6], [7]], dtype=np.int32), np.array([0, 2, 3]), (1, 0)).tolist()
    [[-1, 5], [5, 6], [-1, 7]]
    """
    before, after = window
    if not before and not after:
        return codes
    n, place = len(codes), np.arange(len(codes))
    sequence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    parts = []
    for offset in range(-before, after + 1):
        there = place + offset
        inside = (there >= starts[sequence]) & (there < starts[sequence + 1])
        parts.append(np.where(inside[:, None], codes[np.clip(there, 0, n - 1)], np.int32(-1)))
    return np.concatenate(parts, axis=1)


def windowed_names(names: Sequence[str], window: Window) -> tuple[str, ...]:
    """Names of observations at the positions of a window, in the order of `windowed_codes`."""
    before, after = window
    return tuple(f"{name}[{at:+d}]" if at else name for at in range(-before, after + 1) for name in names)
