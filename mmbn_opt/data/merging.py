"""Equal rows of codes, found by numbers that stand for whole rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray

__all__ = ["equal_rows"]

_LARGEST_NUMBER = 2**63


def equal_rows(
    columns: Sequence[NDArray[np.integer[Any]]], card: Sequence[int], weight: FloatArray
) -> tuple[NDArray[np.intp], FloatArray]:
    """One row of each kind, in ascending order of the columns (missing cells last), and the weight of its equals.

    A row is one 64-bit number where the product of `card` allows it, as it does for thirty columns of four states; else
    a few numbers. Numbers are sorted many times as fast as rows, and take less room than these.

    Parameters
    ----------
    columns : sequence of int arrays (n_samples,)
        The first decides first. -1 is a missing cell.
    card : sequence of int
        States of each column.
    weight : float64 array (n_samples,)

    Returns
    -------
    rows : int array (n_kinds,)
        Number of a row of each kind.
    weight : float64 array (n_kinds,)

    Examples
    --------
    >>> rows, weight = equal_rows([np.array([1, 0, 1])], [2], np.ones(3))
    >>> int(rows[0]), weight.tolist()
    (1, [1.0, 2.0])
    """
    words = _row_numbers(columns, card)
    order: NDArray[np.intp] = np.argsort(words[0]) if len(words) == 1 else np.lexsort(words[::-1])
    starts = np.zeros(len(order), dtype=np.bool_)
    starts[:1] = True
    for word in words:
        arranged = word[order]
        starts[1:] |= arranged[1:] != arranged[:-1]
    kind = np.empty(len(order), dtype=np.intp)
    kind[order] = np.cumsum(starts) - 1
    rows = order[starts]
    return rows, np.bincount(kind, weights=weight, minlength=len(rows)).astype(np.float64, copy=False)


def _row_numbers(columns: Sequence[NDArray[np.integer[Any]]], card: Sequence[int]) -> list[NDArray[np.uint64]]:
    """Numbers that are equal where rows are, those that decide first coming first; at least one."""
    words: list[NDArray[np.uint64]] = []
    room = 0
    for values, states in zip(columns, card, strict=True):
        size = states + 1  # the last one for missing cells
        if room < size:
            words.append(np.zeros(len(values), dtype=np.uint64))
            room = _LARGEST_NUMBER
        word = words[-1]
        word *= np.uint64(size)
        # A missing cell, -1, is `states`, whatever type it comes in.
        word += np.where(values < 0, states, values).astype(np.uint64)
        room //= size
    return words
