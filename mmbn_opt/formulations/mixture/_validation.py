"""Held-out samples of CMM: drawn, checked against the training data, and never learned from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mmbn_opt._arguments import listed

from ..._arrays import FloatArray
from ...data.numeric import NumericDataset, as_matrix
from ...exceptions import InputError

__all__ = ["HeldOut"]


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
                f"got {len(z)} rows, {len(labels)} labels, new classes [{listed(unknown)}]."
            )
        if np.isnan(z).any() and missing == "error":
            raise InputError('The validation data hold NaN; fill them, or use missing="marginalize".')
        return cls(z, np.where(labels == data.classes[0], 1.0, -1.0))
