"""Gaussian mixtures for numeric features: by EM, and with the constrained maximum margin of Guo et al. 2018."""

import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from mmbn_opt.estimators import CMMClassifier
from mmbn_opt.exceptions import InputError
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.reproduction.methods.encoding import as_numbers
from mmbn_opt.reproduction.methods.folds import as_list, some_rows
from mmbn_opt.reproduction.methods.registry import Context

__all__ = ["cmm", "mixture"]

_TAUS = (0.0025, 0.025, 0.25, 2.5)


def mixture(
    context: Context, *, components: Any = (1, 2, 4), tau: Any = _TAUS, folds: int = 3, rows: int | None = 1500
) -> "Mixture":
    """A mixture a class, by EM."""
    return Mixture(context, tuple(as_list(components)), tuple(as_list(tau)), folds, rows)


def cmm(
    context: Context,
    *,
    components: Any = (1, 2, 4),
    tau: Any = _TAUS,
    iterations: Any = (10, 100),
    start: Any = ("k-means", "em"),
    strategy: str = "one-vs-one",
    folds: int = 3,
    rows: int | None = 1500,
) -> "ConstrainedMargin":
    """Constrained maximum margin; 0 iterations are its start."""
    return ConstrainedMargin(
        context, tuple(as_list(components)), tuple(as_list(tau)), tuple(as_list(iterations)), tuple(as_list(start)),
        strategy, folds, rows,
    )  # fmt: skip


def _components_for(components: tuple[int, ...], y: NDArray[Any]) -> list[int]:
    """The components that every class has samples for."""
    least = int(np.unique(y, return_counts=True)[1].min())
    return [k for k in components if k <= least] or [min(components)]


class _Numeric(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model on numbers; categories become indicators."""

    context: Context
    model_: Any

    def _numbers(self, X: pd.DataFrame, *, fit: bool = False) -> NDArray[np.float64]:
        if all(kind == "numeric" for kind in self.context.kinds.values()) and not X.isna().to_numpy().any():
            return X.to_numpy(float)
        if fit:
            self.encoder_ = as_numbers(self.context.kinds, scaled=False).fit(X)
        return np.asarray(self.encoder_.transform(X), float)

    def predict(self, X: pd.DataFrame) -> Any:
        """Classes."""
        return self.model_.predict(self._numbers(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Probabilities."""
        return self.model_.predict_proba(self._numbers(X))


class Mixture(_Numeric):
    """Components and least variance are chosen by cross-validation."""

    def __init__(
        self, context: Context, components: tuple[int, ...], tau: tuple[float, ...], folds: int, rows: int | None
    ) -> None:
        self.context, self.components, self.tau, self.folds, self.rows = context, components, tau, folds, rows

    def fit(self, X: pd.DataFrame, y: Any) -> "Mixture":
        """Choose and fit."""
        values, labels = self._numbers(X, fit=True), np.asarray(y)
        rows = some_rows(labels, self.rows, self.context.seed)
        parts = list(StratifiedKFold(self.folds, shuffle=True, random_state=0).split(values[rows], labels[rows]))

        def rate(k: int, tau: float) -> float:
            rates = []
            for train, test in parts:
                a, b = rows[train], rows[test]
                try:
                    rates.append(MixtureClassifier.fit(values[a], labels[a], k, tau=tau).score(values[b], labels[b]))
                except InputError:  # a class with fewer samples than components
                    return -1.0
            return float(np.mean(rates))

        grid = list(product(_components_for(self.components, labels), sorted(self.tau, reverse=True)))
        k, tau = grid[0] if len(grid) == 1 else max(grid, key=lambda point: rate(*point))
        self.chosen_ = {"n_components": k, "tau": tau}
        self.model_ = MixtureClassifier.fit(values, labels, k, tau=tau)
        self.classes_ = self.model_.classes
        return self


class ConstrainedMargin(_Numeric):
    """Start, components, least variance and iterations are chosen by cross-validation."""

    def __init__(
        self,
        context: Context,
        components: tuple[int, ...],
        tau: tuple[float, ...],
        iterations: tuple[int, ...],
        start: tuple[str, ...],
        strategy: str,
        folds: int,
        rows: int | None,
    ) -> None:
        self.context, self.components, self.tau, self.iterations = context, components, tau, iterations
        self.start, self.strategy, self.folds, self.rows = start, strategy, folds, rows

    def fit(self, X: pd.DataFrame, y: Any) -> "ConstrainedMargin":
        """Choose and fit."""
        values, labels = self._numbers(X, fit=True), np.asarray(y)
        rows = some_rows(labels, self.rows, self.context.seed)
        grid = (_components_for(self.components, labels[rows]), self.tau, self.iterations)
        share = self.context.time_limit / (len(self.start) + 1)
        tables = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # parts without a feasible point are told below
            for start in self.start:
                model = self._classifier(*grid, start, share).fit(values[rows], labels[rows])
                if model.cv_results_ is not None:
                    tables.append(model.cv_results_.assign(start=start))
            if tables:
                table = pd.concat(tables, ignore_index=True)
                best = table.iloc[int(table["rate"].to_numpy(float).argmax())]
                point = int(best["n_components"]), float(best["tau"]), int(best["iterations"]), str(best["start"])
            else:
                point = grid[0][0], self.tau[0], self.iterations[0], self.start[0]
            self.chosen_ = dict(zip(("n_components", "tau", "iterations", "start"), point, strict=True))
            self.model_ = self._classifier(*point, share).fit(values, labels)
        self.infeasible_parts_ = sum(not part.feasible for part in self.model_.parts_)
        self.classes_ = self.model_.classes_
        return self

    def _classifier(self, components: Any, tau: Any, iterations: Any, start: Any, seconds: float) -> CMMClassifier:
        strategy: Any = self.strategy
        return CMMClassifier(
            components, tau, iterations, start=start, strategy=strategy, cv=self.folds, calibration=None,
            time_limit=seconds, random_state=self.context.seed,
        )  # fmt: skip
