"""Rivals of other packages: networks, and models that are made to be read."""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import OneHotEncoder

from mmbn_opt.reproduction.methods.encoding import MdlpCodes, as_numbers, one_dependence_parameters
from mmbn_opt.reproduction.methods.folds import Chosen, as_list
from mmbn_opt.reproduction.methods.registry import Context

__all__ = ["aode", "explainable_boosting", "optimal_tree", "pyagrum_classifier", "risk_score"]


class _OnCodes(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A model on the codes that our networks see."""

    def __init__(self, context: Context, settings: Any) -> None:
        self.context = context
        self.settings = settings

    def fit(self, X: pd.DataFrame, y: Any) -> "_OnCodes":
        """Cut and learn."""
        self.labels_, numbers = np.unique(np.asarray(y), return_inverse=True)
        self.codes_ = MdlpCodes(self.context.kinds).fit(X, y)
        self.model_ = self._learn(self._table(X), numbers)
        self.classes_ = self.labels_
        return self

    def _table(self, X: pd.DataFrame) -> Any:
        return self.codes_.transform(X)

    @abstractmethod
    def _learn(self, codes: Any, numbers: Any) -> Any:
        """The peer's model of codes and numbers of classes."""

    def predict(self, X: pd.DataFrame) -> Any:
        """Classes."""
        return self.labels_[np.asarray(self.model_.predict(self._table(X))).astype(int)]


class _WithProbabilities(_OnCodes):
    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Probabilities."""
        return self.model_.predict_proba(self._table(X))


class _Aode(_WithProbabilities):
    def _learn(self, codes: Any, numbers: Any) -> Any:
        kind = import_module("skbn").AnDE
        return kind(categorical_features=list(range(codes.shape[1])), **self.settings).fit(codes, numbers)

    def size(self) -> dict[str, int]:
        """The tables of all one-dependence estimators."""
        if self.settings["n_dependence"] != 1:
            return {}
        return {"parameters": one_dependence_parameters(self.codes_.cardinalities_, len(self.labels_))}


class _OptimalTree(_OnCodes):
    def _table(self, X: pd.DataFrame) -> Any:
        codes = super()._table(X)
        if not hasattr(self, "indicators_"):
            self.indicators_ = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.int32).fit(codes)
        return self.indicators_.transform(codes)

    def _learn(self, codes: Any, numbers: Any) -> Any:
        kind = import_module("pystreed").STreeDClassifier
        return kind(time_limit=self.context.time_limit, **self.settings).fit(codes, numbers)

    def size(self) -> dict[str, int]:
        """Nodes and leaves."""
        leaves = int(self.model_.get_n_leaves())
        return {"parameters": 2 * leaves - 1, "rules": leaves}

    def claims_optimum(self) -> bool:
        """Whether the search ended by itself: no tree of that depth has a smaller error, the price of leaves added."""
        return bool(self.model_.fit_result.is_optimal())


class _PyAgrum(_WithProbabilities):
    def _table(self, X: pd.DataFrame) -> Any:
        codes = super()._table(X)
        if not hasattr(self, "known_"):
            self.known_ = [np.unique(column, return_counts=True) for column in codes.T]
        # It refuses what no training row has: the most frequent code stands for that.
        for column, (known, counts) in zip(codes.T, self.known_, strict=True):
            column[~np.isin(column, known)] = known[counts.argmax()]
        return pd.DataFrame(codes, columns=[f"x{j}" for j in range(codes.shape[1])]).astype(str)

    def _learn(self, codes: Any, numbers: Any) -> Any:
        gum, skbn = import_module("pyagrum.lib.discreteTypeProcessor"), import_module("pyagrum.skbn")
        as_it_is = gum.DiscreteTypeProcessor(defaultDiscretizationMethod="NoDiscretization", defaultNumberOfBins=None)
        model = skbn.BNClassifier(type_processor=as_it_is, **self.settings).fit(codes, numbers.astype(str))
        # For two classes it moves the threshold to where the ROC curve is best, and probabilities with it: that costs
        # accuracy and log loss, which are what is compared here.
        model.threshold_ = 0.5
        return model

    def size(self) -> dict[str, int]:
        """Free parameters, and arcs that do not leave the class."""
        network = self.model_.bn_
        target = network.idFromName(self.model_.target_)
        return {"parameters": network.dim(), "edges": sum(target not in arc for arc in network.arcs())}


def aode(context: Context, *, n_dependence: int = 1, alpha: float = 1.0) -> _Aode:
    """Averaged one-dependence estimators of scikit-bayes."""
    return _Aode(context, {"n_dependence": n_dependence, "alpha": alpha})


def optimal_tree(context: Context, *, max_depth: int = 3, cost_complexity: float = 0.001) -> _OptimalTree:
    """Optimal sparse decision tree by dynamic programming (STreeD), on an indicator a code."""
    settings = {
        "max_depth": max_depth,
        "optimization_task": "cost-complex-accuracy",
        "cost_complexity": cost_complexity,
    }
    return _OptimalTree(context, settings)


def explainable_boosting(context: Context, *, interactions: Any = "3x") -> "Boosting":
    """Explainable boosting machine of interpret-core."""
    return Boosting(context, interactions)


class Boosting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Additive model of boosted shapes, with interactions of two features."""

    def __init__(self, context: Context, interactions: Any) -> None:
        self.context = context
        self.interactions = interactions

    def fit(self, X: pd.DataFrame, y: Any) -> "Boosting":
        """Learn."""
        kinds = self.context.kinds
        kind = import_module("interpret.glassbox").ExplainableBoostingClassifier
        self.model_ = kind(
            feature_names=list(X.columns),
            feature_types=["continuous" if kinds[c] == "numeric" else "nominal" for c in X.columns],
            interactions=self.interactions if len(np.unique(np.asarray(y))) == 2 else 0,
            n_jobs=1, random_state=self.context.seed,
        ).fit(X, np.asarray(y))  # fmt: skip
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        """Classes."""
        return self.model_.predict(X)

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Probabilities."""
        return self.model_.predict_proba(X)

    def size(self) -> dict[str, int]:
        """Scores of bins; terms of the sum, and those of two features among them."""
        scores = sum(np.size(term) for term in self.model_.term_scores_) + np.size(self.model_.intercept_)
        terms = self.model_.term_features_
        return {"parameters": scores, "rules": len(terms), "edges": sum(len(features) > 1 for features in terms)}


def risk_score(context: Context, *, k: Any = (5,), max_points: int = 5) -> Chosen:
    """Sparse integer risk scores of imodels, one against the rest where there are several classes."""
    kind = import_module("imodels").FastRiskScoreClassifier
    scores = OneVsRestClassifier(kind(max_points=max_points, time_limit=context.time_limit))
    return Chosen(scores, as_numbers(context.kinds, scaled=False), {"estimator__k": as_list(k)}, seed=context.seed)


def pyagrum_classifier(context: Context, *, learningMethod: str = "TAN") -> _PyAgrum:
    """The classifier of pyAgrum, on the codes that our networks see."""
    return _PyAgrum(context, {"learningMethod": learningMethod})
