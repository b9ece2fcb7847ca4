"""What is measured of a method on one split: rates, probabilities, size, time, and what it proves."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.results.result import Result
from mmbn_opt.scores import Reliability

__all__ = ["MEASURES", "Measure", "Measured", "measure"]


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
    """

    words: str
    factor: float = 1.0
    digits: int = 2


MEASURES: Mapping[str, Measure] = {
    "accuracy": Measure("accuracy on held-out rows, %", 100.0),
    "error": Measure("error on held-out rows, %", 100.0),
    "train_accuracy": Measure("accuracy on the training rows, %", 100.0),
    "generalization": Measure("accuracy on held-out rows / on training rows, %", 100.0),
    "log_loss": Measure("log loss on held-out rows, nats", digits=4),
    "calibration_error": Measure("calibration error on held-out rows", digits=4),
    "gap": Measure("proved gap, %", 100.0),
    "parameters": Measure("free parameters, or nodes of trees", digits=0),
    "edges": Measure("edges between features", digits=0),
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
        "proved", "gap 1.2 %", "none", or what failed.
    chosen : mapping of setting to text
    """

    numbers: Mapping[str, float]
    certificate: str
    chosen: Mapping[str, str]


def measure(model: Any, train: tuple[pd.DataFrame, Any], test: tuple[pd.DataFrame, Any]) -> Measured:
    """Fit a model to training rows and hold it against the others.

    Parameters
    ----------
    model : estimator
    train, test : (features, labels)
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
    numbers |= _probabilities(model, test[0], labels) | _size(model)
    result = _result(model)
    if result is not None and np.isfinite(result.bounds.gap_rel):
        numbers["gap"] = float(result.bounds.gap_rel)
    chosen = {str(key): str(value) for key, value in getattr(model, "chosen_", {}).items()}
    return Measured(numbers, _certificate(model, result), chosen)


def _processor_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


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


def _size(model: Any) -> dict[str, float]:
    network = vars(model).get("network_")
    if isinstance(network, BayesianNetwork):
        inside = sum(
            parent != network.structure.class_index for parents in network.structure.parents for parent in parents
        )
        return {"parameters": float(network.n_parameters), "edges": float(inside)}
    return {}


def _result(model: Any) -> Result | None:
    """Of the search that the model's claim is about: the structure where there was one."""
    result = vars(model).get("result_")
    return result if isinstance(result, Result) else None


def _certificate(model: Any, result: Result | None) -> str:
    if result is None:
        return "none"
    if not result.certificate.ok:
        return "failed: " + "; ".join(str(check) for check in result.certificate.failures)[:120]
    gap = result.bounds.gap_rel
    if result.bounds.dual_bound is None or not np.isfinite(gap):
        return "none"
    return "proved" if gap <= 1e-9 else f"gap {gap:.2%}"
