"""Models side by side on held-out rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.predictive import classification_rate, soft_margin

__all__ = ["Accuracy", "compare_accuracy"]


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of one model on held-out rows.

    Parameters
    ----------
    name : str
    accuracy : float
    standard_error : float
        ``sqrt(a (1 - a) / n)`` of the accuracy.
    n_test : int
    soft_margin : float
        On the training rows, in nats.
    """

    name: str
    accuracy: float
    standard_error: float
    n_test: int
    soft_margin: float


def compare_accuracy(
    models: Mapping[str, BayesianNetwork], train: DiscreteDataset, test: DiscreteDataset, gamma: float
) -> list[Accuracy]:
    """Held-out accuracy and training soft margin of several networks over the same variables."""
    rows = []
    for name, model in models.items():
        rate = classification_rate(model, test)
        error = float(np.sqrt(rate * (1 - rate) / test.n_samples))
        rows.append(Accuracy(name, rate, error, test.n_samples, soft_margin(model, train, gamma)))
    return rows
