"""A held-out part, and models side by side on it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from mmbn_opt.data import DiscreteDataset
from mmbn_opt.network import BayesianNetwork
from mmbn_opt.scores import classification_rate, soft_margin

__all__ = ["Accuracy", "compare_accuracy", "holdout_rows"]

Rows = NDArray[np.intp]


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


def holdout_rows(labels: NDArray[np.integer], *, test_fraction: float = 1 / 3, seed: int = 0) -> tuple[Rows, Rows]:
    """Row numbers of a training and a test part, classes in proportion where each has at least two rows.

    Examples
    --------
    >>> train, test = holdout_rows(np.array([0, 1] * 6), test_fraction=1 / 3)
    >>> len(train), len(test)
    (8, 4)
    """
    rare = np.bincount(labels - labels.min()).min() < 2
    train, test = train_test_split(
        np.arange(len(labels)), test_size=test_fraction, random_state=seed, stratify=None if rare else labels
    )
    return np.sort(train), np.sort(test)


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
