"""Labels that training never saw: what may be done with them, and the warning that names them."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt.data.variable import DiscreteVariable

__all__ = ["UNSEEN", "Unseen", "UnseenCells", "warn_of_unseen"]

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
    cells = UnseenCells(features)
    cells.add(frame, codes)
    cells.warn(stacklevel=3)


class UnseenCells:
    """Cells that training never saw, over one or many blocks of rows, for one warning.

    Parameters
    ----------
    features : sequence of DiscreteVariable
    """

    def __init__(self, features: Sequence[DiscreteVariable]) -> None:
        self._features = features
        self._rows = 0
        self._labels: dict[str, dict[Any, None]] = {}
        self._cells: dict[str, int] = {}

    def add(self, frame: pd.DataFrame, codes: NDArray[np.integer[Any]]) -> None:
        """Look at raw cells and their codes (n_samples, n_features)."""
        self._rows += len(frame)
        for j, variable in enumerate(self._features):
            if not (codes[:, j] < 0).any():
                continue
            cells = frame[variable.name]
            strange = cells[(codes[:, j] < 0) & cells.notna().to_numpy()]
            if len(strange):
                known = self._labels.setdefault(variable.name, {})
                if len(known) <= _SHOWN:
                    known.update(dict.fromkeys(pd.unique(strange.astype(object))[: _SHOWN + 1]))
                self._cells[variable.name] = self._cells.get(variable.name, 0) + len(strange)

    def warn(self, stacklevel: int = 2) -> None:
        """One `UserWarning`, where there were such cells."""
        told = []
        for variable in self._features:
            if variable.name not in self._cells:
                continue
            labels = list(self._labels[variable.name])
            first = ", ".join(map(shown, labels[:_SHOWN])) + (", ..." if len(labels) > _SHOWN else "")
            told.append(f"column {variable.name!r} holds {first} ({self._cells[variable.name]} of {self._rows} rows)")
        if told:
            more = f"; and {len(told) - _SHOWN} more columns" if len(told) > _SHOWN else ""
            warnings.warn(
                f"Labels never seen in training are summed out: {'; '.join(told[:_SHOWN])}{more}. "
                'unseen="error" refuses them, unseen="missing" is silent.',
                stacklevel=stacklevel,
            )
