"""What is measured of a method on one split: rates, probabilities, size, time, and what it proves."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt.reproduction.sizes import size_of
from mmbn_opt.results.result import Result
from mmbn_opt.scores import Reliability

__all__ = ["CLAIMED", "MEASURES", "Measure", "Measured", "Removal", "measure", "rate_without"]

CLAIMED = "claimed"
"""What a model of another package says of itself: that it is the best; nobody has checked it."""


@dataclass(frozen=True)
class Measure:
    """A number that is kept of every run.

    Parameters
    ----------
    words : str
    factor : float
        Of the number as it is shown: 100 for per cent.
    digits : int
        That are shown.
    chosen : tuple of str
        The names of the setting that it is, as it was chosen; the cell has the median over the splits.
    """

    words: str
    factor: float = 1.0
    digits: int = 2
    chosen: tuple[str, ...] = ()


MEASURES: Mapping[str, Measure] = {
    "accuracy": Measure("accuracy on held-out rows, %", 100.0),
    "error": Measure("error on held-out rows, %", 100.0),
    "train_accuracy": Measure("accuracy on the training rows, %", 100.0),
    "generalization": Measure("accuracy on held-out rows / on training rows, %", 100.0),
    "log_loss": Measure("log loss on held-out rows, nats", digits=4),
    "calibration_error": Measure("calibration error on held-out rows", digits=4),
    "gap": Measure("proved gap, %", 100.0),
    "parameters": Measure("free parameters, or nodes of trees, or numbers in support vectors", digits=0),
    "edges": Measure("edges between features", digits=0),
    "rules": Measure("leaves of trees, or terms of a sum", digits=0),
    "support_vectors": Measure("support vectors", digits=0),
    "components": Measure("components a class, as chosen", digits=0, chosen=("n_components", "components")),
    "least_variance": Measure("least variance of a component, as chosen", digits=6, chosen=("tau",)),
    "fit_seconds": Measure("processor seconds to learn"),
    "predict_seconds": Measure("processor seconds to classify the held-out rows"),
}


@dataclass(frozen=True)
class Measured:
    """The numbers of a run, what was chosen on training rows, and what is proved of the model.

    Parameters
    ----------
    numbers : mapping from a name of `MEASURES` to float
        Those that the method has.
    certificate : str
        "proved", "gap 1.2 %", "claimed", "none", or what failed.
    chosen : mapping of setting to text
    """

    numbers: Mapping[str, float]
    certificate: str
    chosen: Mapping[str, str]


@dataclass(frozen=True)
class Removal:
    """Cells that are taken out of held-out rows before they are classified.

    Parameters
    ----------
    shares : sequence of float
        Of the features of each row; which ones is drawn for each row, the same for all methods.
    patterns : int
        How often; the rate is the mean.
    """

    shares: tuple[float, ...]
    patterns: int

    def rates(self, model: Any, X: pd.DataFrame, labels: Any) -> dict[str, float]:
        """Accuracy by `rate_without` of each share."""
        found: dict[str, list[float]] = {rate_without(share): [] for share in self.shares}
        for pattern in range(self.patterns):
            ranks = np.random.default_rng(pattern).random(X.shape).argsort(axis=1).argsort(axis=1)
            for share in self.shares:
                given = X.mask(ranks < round(share * X.shape[1]))
                found[rate_without(share)].append(float((np.asarray(model.predict(given)) == labels).mean()))
        return {name: float(np.mean(rates)) for name, rates in found.items()}


def rate_without(share: float) -> str:
    """What the accuracy without a share of the cells is called.

    Examples
    --------
    >>> rate_without(0.25)
    'accuracy@25%'
    """
    return f"accuracy@{100 * share:g}%"


def measure(
    model: Any, train: tuple[pd.DataFrame, Any], test: tuple[pd.DataFrame, Any], removal: Removal | None = None
) -> Measured:
    """Fit a model to training rows and hold it against the others.

    Parameters
    ----------
    model : estimator
    train, test : (features, labels)
    removal : Removal or None
    """
    began = _processor_seconds()
    model.fit(*train)
    fitted = _processor_seconds()
    found, labels = np.asarray(model.predict(test[0])), np.asarray(test[1])
    told = _processor_seconds()
    accuracy = float((found == labels).mean())
    on_train = float((np.asarray(model.predict(train[0])) == np.asarray(train[1])).mean())
    numbers = {
        "accuracy": accuracy,
        "error": 1.0 - accuracy,
        "train_accuracy": on_train,
        "fit_seconds": fitted - began,
        "predict_seconds": told - fitted,
    }
    if on_train > 0:
        numbers["generalization"] = accuracy / on_train
    numbers |= _probabilities(model, test[0], labels) | size_of(model)
    if removal is not None:
        numbers |= removal.rates(model, test[0], labels)
    result = _result(model)
    if result is not None and np.isfinite(result.bounds.gap_rel):
        numbers["gap"] = float(result.bounds.gap_rel)
    chosen = {str(key): str(value) for key, value in getattr(model, "chosen_", {}).items()}
    return Measured(numbers, _certificate(model, result), chosen)


def _processor_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def _probabilities(model: Any, X: pd.DataFrame, labels: Any) -> dict[str, float]:
    try:
        shares = np.asarray(model.predict_proba(X), float)
    except AttributeError:  # support vector machines and trees of some packages have none
        return {}
    known = {label: k for k, label in enumerate(np.asarray(model.classes_).tolist())}
    codes = np.array([known.get(label, -1) for label in labels.tolist()])
    if (codes < 0).any():
        return {}
    with np.errstate(divide="ignore"):
        found = Reliability.of(np.log(np.clip(shares, 1e-15, None)), codes)
    return {"log_loss": found.log_loss, "calibration_error": found.calibration_error}


def _result(model: Any) -> Result | None:
    """Of the search that the model's claim is about: the structure where there was one."""
    result = vars(model).get("result_")
    return result if isinstance(result, Result) else None


def _certificate(model: Any, result: Result | None) -> str:
    if result is None:
        return CLAIMED if hasattr(model, "claims_optimum") and model.claims_optimum() else "none"
    if not result.certificate.ok:
        return "failed: " + "; ".join(str(check) for check in result.certificate.failures)[:120]
    gap = result.bounds.gap_rel
    if result.bounds.dual_bound is None or not np.isfinite(gap):
        return "none"
    return "proved" if gap <= 1e-9 else f"gap {gap:.2%}"
