"""Rivals out of scikit-learn, their settings chosen on the papers' held-out rows."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.svm import SVC

from mmbn_opt.reproduction.methods.encoding import MdlpCodes, as_numbers, as_ordinals
from mmbn_opt.reproduction.methods.folds import Chosen, as_list
from mmbn_opt.reproduction.methods.registry import Context

__all__ = ["categorical_nb", "histogram_boosting", "logistic_regression", "random_forest", "svm"]


def logistic_regression(context: Context, *, C: Any = (0.01, 0.1, 1.0, 10.0)) -> Chosen:
    """Logistic regression with a squared penalty."""
    model = LogisticRegression(max_iter=2000)
    return Chosen(model, as_numbers(context.kinds), {"C": as_list(C)}, seed=context.seed)


def svm(
    context: Context,
    *,
    kernel: Any = "rbf",
    C: Any = (0.125, 0.5, 1.0, 2.0, 8.0, 32.0),
    gamma: Any = ("scale", 0.01, 0.1),
    sigma: Any = (),
    degree: Any = (1, 2, 3),
    folds: int | None = None,
    rows: int | None = None,
) -> Chosen:
    """Support vector machine; `sigma` is the width of the Gaussian kernel, in place of `gamma`."""
    widths = [1.0 / (2.0 * s * s) for s in as_list(sigma)] or as_list(gamma)
    grids: list[dict[str, list[Any]]] = []
    for name in as_list(kernel):
        own: dict[str, list[Any]] = {"kernel": [name], "C": as_list(C)}
        own |= {"degree": as_list(degree), "coef0": [1.0]} if name == "poly" else {"gamma": widths}
        grids.append(own)
    model = SVC(max_iter=1_000_000)
    return Chosen(model, as_numbers(context.kinds), grids, n_folds=folds, rows=rows, seed=context.seed)


def random_forest(context: Context, *, trees: int = 300, min_samples_leaf: Any = (1, 3)) -> Chosen:
    """Random forest."""
    forest = RandomForestClassifier(trees, random_state=context.seed)
    grid = {"min_samples_leaf": as_list(min_samples_leaf)}
    return Chosen(forest, as_numbers(context.kinds, scaled=False), grid, seed=context.seed)


def histogram_boosting(context: Context, *, learning_rate: Any = (0.1,), max_leaf_nodes: Any = (31,)) -> Chosen:
    """Gradient boosting on histograms."""
    numeric = sum(kind == "numeric" for kind in context.kinds.values())
    boosting = Boosting(
        categorical_features=list(range(numeric, len(context.kinds))) or None, random_state=context.seed
    )
    grid = {"learning_rate": as_list(learning_rate), "max_leaf_nodes": as_list(max_leaf_nodes)}
    return Chosen(boosting, as_ordinals(context.kinds), grid, seed=context.seed)


class Boosting(HistGradientBoostingClassifier):  # type: ignore[misc]
    """`HistGradientBoostingClassifier` that holds no rows back to stop early where one class has a single row.

    On more than 10,000 rows it would part them by classes, and refuse.
    """

    def fit(self, X: Any, y: Any, **others: Any) -> "Boosting":
        """As that class does."""
        asked = self.get_params()["early_stopping"]
        if np.unique(y, return_counts=True)[1].min() < 2:
            self.early_stopping = False
        try:
            super().fit(X, y, **others)
        finally:
            self.early_stopping = asked
        return self


def categorical_nb(context: Context, *, alpha: Any = (1.0,)) -> Chosen:
    """Naive Bayes on the codes that our networks see."""
    return Chosen(CodedNaiveBayes(context.kinds), None, {"alpha": as_list(alpha)}, seed=context.seed)


class CodedNaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """`CategoricalNB` that knows of every code, those that no row has too."""

    def __init__(self, kinds: Any, alpha: float = 1.0) -> None:
        self.kinds = kinds
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> "CodedNaiveBayes":
        """Cut and count."""
        self.codes_ = MdlpCodes(self.kinds).fit(X, y)
        self.model_ = CategoricalNB(alpha=self.alpha, min_categories=self.codes_.cardinalities_)
        self.model_.fit(self.codes_.transform(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Classes."""
        return self.model_.predict(self.codes_.transform(X))

    def predict_proba(self, X: Any) -> Any:
        """Probabilities."""
        return self.model_.predict_proba(self.codes_.transform(X))

    def size(self) -> dict[str, int]:
        """Free parameters."""
        k = len(self.classes_)
        return {"parameters": k - 1 + k * sum(r - 1 for r in self.codes_.cardinalities_), "edges": 0}
