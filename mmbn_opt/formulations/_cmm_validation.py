"""Held-out samples of CMM: drawn, checked against the training data, and never learned from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..exceptions import InputError
from ..mixture_data import NumericDataset, as_matrix

__all__ = ["HeldOut", "check_number", "draw_held_out", "take_rows"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Samples in the coordinates of the training data, with the signs of their classes."""

    z: FloatArray
    signs: FloatArray

    @classmethod
    def of(cls, data: NumericDataset, X: Any, y: Any, *, missing: str) -> "HeldOut":
        """Check and transform."""
        z = (as_matrix(X, data.feature_names) - data.location) / data.scale
        labels = np.asarray(y).ravel()
        unknown = sorted(set(labels.tolist()) - set(data.classes.tolist()), key=str)
        if len(z) == 0 or len(labels) != len(z) or unknown:
            raise InputError(
                "The validation data need at least one row, as many labels as rows, and no new classes; "
                f"got {len(z)} rows, {len(labels)} labels, new classes {unknown}."
            )
        if np.isnan(z).any() and missing == "error":
            raise InputError('The validation data hold NaN; fill them, or use missing="marginalize".')
        return cls(z, np.where(labels == data.classes[0], 1.0, -1.0))


def draw_held_out(data: NumericDataset, fraction: float, *, keep: int, seed: int) -> NDArray[np.bool_]:
    """Rows to hold out, drawn class by class from the sorted rows; each class keeps `keep` rows to be learned from."""
    rng = np.random.default_rng(seed)
    order = np.lexsort([*data.z.T[::-1], data.codes])
    held_out = np.zeros(data.n_samples, dtype=bool)
    for c in range(data.n_classes):
        rows = order[data.codes[order] == c]
        count = min(round(fraction * len(rows)), len(rows) - keep)
        held_out[rng.permutation(rows)[: max(count, 0)]] = True
    if not held_out.any():
        raise InputError(f"A share of {fraction:g} of {data.n_samples} rows leaves no row to validate on; raise it.")
    return held_out


def take_rows(X: Any, y: Any, rows: NDArray[np.bool_]) -> tuple[Any, NDArray[Any]]:
    """Some rows of the samples and of their labels."""
    part = X.loc[rows] if isinstance(X, pd.DataFrame) else np.asarray(X)[rows]
    return part, np.asarray(y)[rows]


def check_number(name: str, value: Any, low: float, high: float, *, open_low: bool = False) -> None:
    """Raise `InputError` unless `value` is a number in the interval."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not low <= value <= high or (open_low and value == low):
        left = "(" if open_low else "["
        raise InputError(f"{name} must be a number in {left}{low:g}, {high:g}], got {value!r}.")
