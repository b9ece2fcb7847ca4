"""Labels of sequences: `SequenceClassifier` on rows that are positions."""

import tempfile
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from mmbn_opt._arguments import choice_of
from mmbn_opt.estimators import SequenceClassifier
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction.methods.groups import Groups
from mmbn_opt.reproduction.methods.registry import Context
from mmbn_opt.reproduction.sources import SEQUENCE

__all__ = ["CrfsuitePositions", "Positions", "crfsuite", "sequences"]


def sequences(
    context: Context,
    *,
    method: str = "max-margin",
    gamma: float | None = None,
    alpha: float = 0.1,
    C: float = 0.1,
    l2: float = 1.0,
    smoothing: float = 1.0,
    window: int = 0,
    rel_gap: float = 1e-2,
    groups: int = 0,
) -> "Positions":
    """A classifier of sequences; `window` is how many positions before and after a label looks at.

    `groups`: rounds of `Groups`, after which that many features are one observation.
    """
    if groups < 0:
        raise InputError(f"groups must be a number of rounds >= 0, got {groups}.")
    if window < 0:
        raise InputError(f"window must be a number of positions >= 0, got {window}.")
    chosen: Any = method
    return Positions(
        SequenceClassifier(
            chosen, gamma=gamma, alpha=alpha, C=C, l2=l2, smoothing=smoothing, window=(window, window), rel_gap=rel_gap,
            time_limit=context.time_limit, unseen="missing",
        ),
        groups,
    )  # fmt: skip


class Positions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of sequences whose rows are positions, with the number of their sequence in a column."""

    def __init__(self, classifier: SequenceClassifier, groups: int = 0) -> None:
        self.classifier = classifier
        self.groups = groups

    def fit(self, X: pd.DataFrame, y: Any) -> "Positions":
        """Learn."""
        values, lengths = _apart(X)
        labels = np.asarray(y)
        if self.groups:
            self.groups_ = Groups(self.groups).fit(values, labels)
        self.classifier.fit(self._grouped(values), labels, lengths)
        self.result_ = self.classifier.result_
        self.classes_ = self.classifier.classes_
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        """Labels, the most probable of each sequence together."""
        values, lengths = _apart(X)
        return self.classifier.predict(self._grouped(values), lengths)

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Posterior of each position's label."""
        values, lengths = _apart(X)
        found: NDArray[np.float64] = self.classifier.predict_proba(self._grouped(values), lengths)
        return found

    def _grouped(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.groups_.transform(values) if self.groups else values


def crfsuite(
    context: Context, *, algorithm: str = "lbfgs", c2: float = 1.0, iterations: int = 100
) -> "CrfsuitePositions":
    """A conditional random field of python-crfsuite, a feature a cell; `c2` and `iterations` are of "lbfgs"."""
    choice_of("algorithm", algorithm, ["lbfgs", "averaged-perceptron"])
    return CrfsuitePositions(algorithm, c2, iterations)


class CrfsuitePositions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """python-crfsuite on rows that are positions; attributes are cells, those of "0" left out, and a constant."""

    def __init__(self, algorithm: str, c2: float, iterations: int) -> None:
        self.algorithm = algorithm
        self.c2 = c2
        self.iterations = iterations

    def fit(self, X: pd.DataFrame, y: Any) -> "CrfsuitePositions":
        """Learn."""
        labels = np.asarray(y).tolist()
        trainer = import_module("pycrfsuite").Trainer(self.algorithm, verbose=False)
        at = 0
        for sequence in _attributes(X):
            trainer.append(sequence, labels[at : at + len(sequence)])
            at += len(sequence)
        if self.algorithm == "lbfgs":
            trainer.set_params({"c1": 0.0, "c2": self.c2, "max_iterations": self.iterations})
        with tempfile.TemporaryDirectory() as folder:
            trainer.train(str(Path(folder) / "model"))
            self.model_ = (Path(folder) / "model").read_bytes()
        self.classes_ = np.unique(labels)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        """Labels, the most probable of each sequence together."""
        tagger = import_module("pycrfsuite").Tagger()
        tagger.open_inmemory(self.model_)
        return np.array([label for sequence in _attributes(X) for label in tagger.tag(sequence)])


def _attributes(X: pd.DataFrame) -> list[list[list[str]]]:
    values, lengths = _apart(X)
    shown = [
        [f"{j}={x}" for j, x in enumerate(row) if x not in (0, "0") and x == x] + ["bias"] for row in values.tolist()
    ]
    ends = np.cumsum([0, *lengths])
    return [shown[a:b] for a, b in pairwise(ends)]


def _apart(X: pd.DataFrame) -> tuple[NDArray[Any], list[int]]:
    """Cells, and how many rows each sequence has; the rows of one follow each other."""
    if SEQUENCE not in X:
        raise InputError("the rows are no positions of sequences; the kind 'sequences' is for sets that have some.")
    numbers = X[SEQUENCE].to_numpy()
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    return X.drop(columns=SEQUENCE).to_numpy(), np.diff(np.append(starts, len(numbers))).tolist()
