"""Labels of sequences: `SequenceClassifier` on rows that are positions."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from mmbn_opt.estimators import SequenceClassifier
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction.methods.registry import Context
from mmbn_opt.reproduction.sources import SEQUENCE

__all__ = ["Positions", "sequences"]


def sequences(
    context: Context,
    *,
    method: str = "max-margin",
    gamma: float | None = None,
    C: float = 0.1,
    l2: float = 1.0,
    smoothing: float = 1.0,
    window: int = 0,
    rel_gap: float = 1e-2,
) -> "Positions":
    """A classifier of sequences; `window` is how many positions before and after a label looks at."""
    if window < 0:
        raise InputError(f"window must be a number of positions >= 0, got {window}.")
    chosen: Any = method
    return Positions(
        SequenceClassifier(
            chosen, gamma=gamma, C=C, l2=l2, smoothing=smoothing, window=(window, window), rel_gap=rel_gap,
            time_limit=context.time_limit, unseen="missing",
        )
    )  # fmt: skip


class Positions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of sequences whose rows are positions, with the number of their sequence in a column."""

    def __init__(self, classifier: SequenceClassifier) -> None:
        self.classifier = classifier

    def fit(self, X: pd.DataFrame, y: Any) -> "Positions":
        """Learn."""
        features, lengths = _apart(X)
        self.classifier.fit(features, np.asarray(y), lengths)
        self.result_ = self.classifier.result_
        self.classes_ = self.classifier.classes_
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        """Labels, the most probable of each sequence together."""
        return self.classifier.predict(*_apart(X))

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Posterior of each position's label."""
        found: NDArray[np.float64] = self.classifier.predict_proba(*_apart(X))
        return found


def _apart(X: pd.DataFrame) -> tuple[pd.DataFrame, list[int]]:
    """Features, and how many rows each sequence has; the rows of one follow each other."""
    if SEQUENCE not in X:
        raise InputError("the rows are no positions of sequences; the kind 'sequences' is for sets that have some.")
    numbers = X[SEQUENCE].to_numpy()
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    return X.drop(columns=SEQUENCE), np.diff(np.append(starts, len(numbers))).tolist()
