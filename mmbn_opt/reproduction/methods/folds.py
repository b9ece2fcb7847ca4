"""The inner choice of every method: the papers' held-out rows, drawn from the training part alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit

__all__ = ["Chosen", "as_list", "held_out_folds", "some_rows", "strata"]

_LARGE = 1000


def held_out_folds(n_rows: int, seed: int, n_folds: int | None = None) -> Any:
    """A fifth above 1,000 rows, five folds below; or so many folds.

    Examples
    --------
    >>> [held_out_folds(n, 0).get_n_splits() for n in (2000, 200)]
    [1, 5]
    """
    if n_folds is None and n_rows > _LARGE:
        return StratifiedShuffleSplit(1, test_size=0.2, random_state=seed)
    return StratifiedKFold(n_folds or 5, shuffle=True, random_state=seed)


def some_rows(y: Sequence[Any] | NDArray[Any], most: int | None, seed: int) -> NDArray[np.intp]:
    """Rows to choose on: all, or so many with classes in proportion."""
    n = len(y)
    if most is None or n <= most:
        return np.arange(n)
    draw = StratifiedShuffleSplit(1, train_size=most, random_state=seed)
    rows: NDArray[np.intp] = next(draw.split(y, strata(y)))[0]
    return rows


def strata(y: Sequence[Any] | NDArray[Any]) -> NDArray[np.intp]:
    """Numbers of the classes, to part rows in proportion: a class of a single row goes with the commonest.

    Examples
    --------
    >>> strata(["a", "b", "b", "c", "c", "c"]).tolist()
    [2, 1, 1, 2, 2, 2]
    """
    _, codes, counts = np.unique(np.asarray(y), return_inverse=True, return_counts=True)
    numbers: NDArray[np.intp] = np.where(counts[codes] > 1, codes, np.argmax(counts))
    return numbers


def as_list(values: Any) -> list[Any]:
    """A setting as a list of what to choose from."""
    return list(values) if isinstance(values, (list, tuple)) else [values]


class Chosen(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose grid is searched inside `fit`, on training rows; then fitted to all of them.

    Parameters
    ----------
    estimator : estimator
    encoder : transformer or None
        Learned once, on all training rows: one that does not look at the classes.
    grid : mapping or list of mappings
        Of parameters to lists of values. With one point nothing is tried.
    n_folds : int or None
        As in `held_out_folds`.
    rows : int or None
        Most rows that the choice is made on.
    seed : int
    """

    def __init__(
        self,
        estimator: Any,
        encoder: Any,
        grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        n_folds: int | None = None,
        rows: int | None = None,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.encoder = encoder
        self.grid = grid
        self.n_folds = n_folds
        self.rows = rows
        self.seed = seed

    def fit(self, X: pd.DataFrame, y: Any) -> "Chosen":
        """Choose and fit."""
        self.encoder_ = None if self.encoder is None else clone(self.encoder).fit(X)
        encoded, labels = self._encoded(X), np.asarray(y)
        grids = [self.grid] if isinstance(self.grid, Mapping) else list(self.grid)
        first = {name: values[0] for name, values in grids[0].items()}
        self.chosen_ = first
        if len(grids) > 1 or any(len(values) > 1 for values in grids[0].values()):
            rows = some_rows(labels, self.rows, self.seed)
            folds = held_out_folds(len(rows), self.seed, self.n_folds)
            parted = list(folds.split(rows, strata(labels[rows])))
            search = GridSearchCV(self.estimator, [dict(g) for g in grids], cv=parted, refit=False)
            part = encoded.iloc[rows] if isinstance(encoded, pd.DataFrame) else encoded[rows]
            self.chosen_ = search.fit(part, labels[rows]).best_params_
        self.estimator_ = clone(self.estimator).set_params(**self.chosen_).fit(encoded, labels)
        self.classes_ = self.estimator_.classes_
        return self

    def _encoded(self, X: pd.DataFrame) -> Any:
        return X if self.encoder_ is None else self.encoder_.transform(X)

    def predict(self, X: pd.DataFrame) -> Any:
        """Classes."""
        return self.estimator_.predict(self._encoded(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Probabilities, where the estimator has them."""
        return self.estimator_.predict_proba(self._encoded(X))
