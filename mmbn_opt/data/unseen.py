"""Labels that training never saw: what may be done with them, and the warning that names them."""

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt.data.variable import DiscreteVariable

__all__ = ["UNSEEN", "Unseen", "warn_of_unseen"]

Unseen = Literal["warn", "missing", "error"]
"""Summed out with one warning that names column and label, summed out in silence, or refused."""
UNSEEN = ("warn", "missing", "error")

_SHOWN = 3


def warn_of_unseen(frame: pd.DataFrame, features: Sequence[DiscreteVariable], codes: NDArray[np.int32]) -> None:
    """One `UserWarning` for all cells of code -1 that are not missing.

    Parameters
    ----------
    frame : DataFrame
        The raw cells.
    features : sequence of DiscreteVariable
    codes : int32 array (n_samples, n_features)
    """
    told = []
    for j, variable in enumerate(features):
        if not (codes[:, j] < 0).any():
            continue
        cells = frame[variable.name]
        strange = cells[(codes[:, j] < 0) & cells.notna().to_numpy()]
        if len(strange):
            labels = pd.unique(strange.astype(object))
            first = ", ".join(map(shown, labels[:_SHOWN])) + (", ..." if len(labels) > _SHOWN else "")
            told.append(f"column {variable.name!r} holds {first} ({len(strange)} of {len(frame)} rows)")
    if told:
        more = f"; and {len(told) - _SHOWN} more columns" if len(told) > _SHOWN else ""
        warnings.warn(
            f"Labels never seen in training are summed out: {'; '.join(told[:_SHOWN])}{more}. "
            'unseen="error" refuses them, unseen="missing" is silent.',
            stacklevel=2,
        )
