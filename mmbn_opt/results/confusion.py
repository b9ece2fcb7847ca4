"""Which classes are taken for which: labels against predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmbn_opt._arrays import FloatArray

__all__ = ["Confusion"]


@dataclass(frozen=True, eq=False)
class Confusion:
    """A confusion matrix.

    Parameters
    ----------
    classes : tuple
        Labels, in the order of rows and columns.
    counts : float64 array (n_classes, n_classes)
        Weight of the rows of class i (row) that are taken for class j (column).

    Examples
    --------
    >>> confusion = Confusion.of(["a", "a", "b"], ["a", "b", "b"], ["a", "b"])
    >>> confusion.counts.tolist(), confusion.accuracy
    ([[1.0, 1.0], [0.0, 1.0]], 0.6666666666666666)
    """

    classes: tuple[Any, ...]
    counts: FloatArray

    @classmethod
    def of(
        cls, labels: Any, predicted: Any, classes: Sequence[Any], *, weight: FloatArray | None = None
    ) -> "Confusion":
        """Count labels against predictions; a label that is no class of the model has a row of its own at the end.

        Parameters
        ----------
        labels, predicted : array-like (n_rows,)
        classes : sequence
            What the model can predict.
        weight : float64 array (n_rows,) or None
        """
        place = {label: k for k, label in enumerate(classes)}
        for label in labels:
            place.setdefault(label, len(place))
        counts = np.zeros((len(place), len(place)))
        codes = [[place[value] for value in column] for column in (labels, predicted)]
        np.add.at(counts, (codes[0], codes[1]), 1.0 if weight is None else weight)
        return cls(tuple(place), counts)

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """Share of the rows whose class is their own; NaN where there are none."""
        return float(np.trace(self.counts) / self.total) if self.total else float("nan")
