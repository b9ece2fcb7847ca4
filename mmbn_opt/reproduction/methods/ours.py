"""Methods of this package on discrete data, their settings chosen inside `fit`."""

from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import KBinsDiscretizer

from mmbn_opt._arguments import choice_of
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.preparation import prepare
from mmbn_opt.estimators import (
    MaxMarginBayesClassifier,
    MaxMarginStructureClassifier,
    NaiveBayesClassifier,
    TANClassifier,
)
from mmbn_opt.formulations import MaxMarginMarkovNetwork
from mmbn_opt.heuristics import from_independence_tests, tan_cmi
from mmbn_opt.heuristics.named import STRUCTURES, make_structure
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.reproduction.methods.folds import as_list, held_out_folds
from mmbn_opt.reproduction.methods.registry import Context
from mmbn_opt.solving.dispatch import solve

__all__ = [
    "markov_network", "markov_network_by_tests", "naive_bayes", "parameters", "parameters_by_tests", "structure", "tan",
    "tan_bins",
]  # fmt: skip

_BY_TESTS = "independence-tests"


def _table(context: Context) -> dict[str, Any]:
    missing = "error" if context.missing == "drop" else "state"
    return {"kinds": dict(context.kinds), "missing": missing, "unseen": "missing"}


def naive_bayes(context: Context, *, smoothing: float = 1.0) -> NaiveBayesClassifier:
    """Naive Bayes with counts."""
    return NaiveBayesClassifier(smoothing=smoothing, **_table(context))


def tan(context: Context, *, smoothing: float = 1.0) -> TANClassifier:
    """Tree-augmented naive Bayes with counts."""
    return TANClassifier(smoothing=smoothing, **_table(context))


def structure(
    context: Context,
    *,
    criterion: str = "sm",
    max_parents: Any = 2,
    p: Any = 0.9,
    parameters: Any = "ml",
    parent_sets: Literal["all", "margin"] = "all",
) -> MaxMarginStructureClassifier:
    """Exact structure."""
    return MaxMarginStructureClassifier(
        criterion, max_parents, p, parameters=parameters, parent_sets=parent_sets, time_limit=context.time_limit,
        calibration=None, random_state=context.seed, **_table(context),
    )  # fmt: skip


def parameters(
    context: Context,
    *,
    structure: str = "nb",
    method: Any = "cg-mm",
    lam: Any = None,
    iterations: Any = None,
    kappa: float = 0.1,
    normalization: str = "hybrid",
    alpha: float = 0.03,
    min_prob: float = 1e-6,
    calibration: Any = None,
) -> MaxMarginBayesClassifier:
    """Trained parameters of a structure: its name, or its edges as "class>x1 x1>x2"."""
    if isinstance(calibration, str) and calibration == "none":
        calibration = None
    return MaxMarginBayesClassifier(
        _edges(structure), method, lam=lam, iterations=iterations, kappa=kappa, normalization=normalization,
        alpha=alpha, min_prob=min_prob, calibration=calibration, time_limit=context.time_limit,
        random_state=context.seed, **_table(context),
    )  # fmt: skip


def _edges(structure: str) -> Any:
    if structure == _BY_TESTS:
        return lambda data: from_independence_tests(data).augmented
    return [tuple(edge.split(">", 1)) for edge in structure.split()] if ">" in structure else structure


def markov_network(context: Context, *, structure: str = "nb", C: Any = (0.03, 0.1, 0.3, 1.0)) -> "MarkovNetwork":
    """Maximum-margin Markov network on a structure's factors."""
    if ">" not in structure and structure != _BY_TESTS:
        choice_of("structure", structure, list(STRUCTURES))
    return MarkovNetwork(context, structure, tuple(as_list(C)))


class MarkovNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """`MaxMarginMarkovNetwork` as a classifier; C is chosen on held-out training rows."""

    def __init__(self, context: Context, structure: str, C: tuple[float, ...]) -> None:
        self.context = context
        self.structure = structure
        self.C = C

    def fit(self, X: pd.DataFrame, y: "pd.Series[Any]") -> "MarkovNetwork":
        """Choose C and learn."""
        frame, seconds = X.assign(**{"class": y.to_numpy()}), self.context.time_limit
        best = self.C[0]
        if len(self.C) > 1:
            folds = [
                (a, b)
                for a, b in held_out_folds(len(y), self.context.seed, _possible_folds(y)).split(X, y)
                if y.iloc[a].nunique() > 1 and y.iloc[a].duplicated().any()  # few rows may leave nothing to learn from
            ]
            share = seconds / 2 / max(1, len(folds) * len(self.C))
            rates = {C: np.mean([self._rate(frame.iloc[a], frame.iloc[b], C, share) for a, b in folds]) for C in self.C}
            if folds:
                best, seconds = max(rates, key=lambda C: rates[C]), seconds / 2
        self.chosen_ = {"C": best}
        self.model_, self.modes_ = self._learn(frame, best, seconds)
        self.classes_ = np.array(self.model_.target.states)
        return self

    def _learn(self, frame: pd.DataFrame, C: float, seconds: float) -> tuple[Any, list[int]]:
        missing: Any = "state" if self.context.missing == "state" else "error"
        kinds: Any = dict(self.context.kinds)
        data = prepare(frame, "class", kinds=kinds, missing=missing).data
        result = solve(
            MaxMarginMarkovNetwork(data, make_structure(_edges(self.structure), data), C=C), time_limit=seconds
        )
        result.raise_for_status()
        return result.model, [int(np.bincount(column[column >= 0]).argmax()) for column in data.codes.T]

    def _rate(self, train: pd.DataFrame, held_out: pd.DataFrame, C: float, seconds: float) -> float:
        model, modes = self._learn(train, C, seconds)
        found = _joint(model, modes, held_out.drop(columns="class")).argmax(axis=1)
        return float(np.mean(np.array(model.target.states)[found] == held_out["class"].to_numpy()))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Probabilities; a cell that is missing or new is filled in, since these factors cannot sum it out."""
        joint = _joint(self.model_, self.modes_, X)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: pd.DataFrame) -> Any:
        """Classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _joint(model: Any, modes: list[int], X: pd.DataFrame) -> Any:
    """Log-scores of the classes; the most frequent code stands for a cell that is missing or new."""
    columns = [feature.encode(X[feature.name], unseen="missing") for feature in model.features]
    codes = np.column_stack([np.where(c < 0, modes[j], c) for j, c in enumerate(columns)])
    return model.log_joint(codes.astype(np.int32))


def _possible_folds(y: "pd.Series[Any]") -> int | None:
    """Fewer folds where the smallest class has fewer rows than five."""
    least = int(y.value_counts().min())
    return None if least >= 5 else max(2, least)


def parameters_by_tests(
    context: Context,
    *,
    method: Any = "cg-mm",
    lam: Any = None,
    iterations: Any = None,
    normalization: str = "hybrid",
    min_prob: float = 1e-6,
) -> MaxMarginBayesClassifier:
    """Trained parameters of the structure that independence tests give, the class linked to all features."""
    return parameters(
        context, structure=_BY_TESTS, method=method, lam=lam, iterations=iterations, normalization=normalization,
        min_prob=min_prob,
    )  # fmt: skip


def markov_network_by_tests(context: Context, *, C: Any = (0.03, 0.1, 0.3, 1.0)) -> "MarkovNetwork":
    """Maximum-margin Markov network on the factors of that structure."""
    return markov_network(context, structure=_BY_TESTS, C=C)


def tan_bins(context: Context, *, bins: int = 10) -> "BinnedTan":
    """TAN on bins of equal width, as Guo et al. 2018 have it."""
    return BinnedTan(bins)


class BinnedTan(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """TAN on bins of equal width; for numeric features."""

    def __init__(self, bins: int = 10) -> None:
        self.bins = bins

    def fit(self, X: pd.DataFrame, y: Any) -> "BinnedTan":
        """Cut and count."""
        values = X.to_numpy(float)
        self.cuts_ = KBinsDiscretizer(self.bins, encode="ordinal", strategy="uniform").fit(values)
        data = DiscreteDataset.from_arrays(self.cuts_.transform(values).astype(int), np.asarray(y))
        self.states_ = [np.array(v.states).astype(int) for v in data.features]
        self.network_ = BayesianNetwork.fit(tan_cmi(data), data)
        self.classes_ = self.network_.classes
        return self

    def _codes(self, X: pd.DataFrame) -> Any:
        codes = self.cuts_.transform(X.to_numpy(float)).astype(int)
        # A bin without training rows stands for the nearest one that has some.
        return np.column_stack([s[np.abs(codes[:, j, None] - s).argmin(axis=1)] for j, s in enumerate(self.states_)])

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Probabilities."""
        return self.network_.predict_proba(self._codes(X))

    def predict(self, X: pd.DataFrame) -> Any:
        """Classes."""
        return self.network_.predict(self._codes(X))
