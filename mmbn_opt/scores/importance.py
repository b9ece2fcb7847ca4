"""What a classifier owes to each feature: the margin that is lost when the feature is summed out."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["margins_lost"]


def margins_lost(
    model: BayesianNetwork | MixtureClassifier,
    rows: Any,
    labels: NDArray[np.integer],
    weight: FloatArray | None = None,
    *,
    temperature: float = 1.0,
) -> pd.DataFrame:
    """Mean log-margin and accuracy that are lost where a feature is not known, a row a feature, the largest loss first.

    The margin of a row is the score of its own class minus that of the best other class; a missing feature is summed
    out exactly. What two features tell alike is lost by neither alone.

    Parameters
    ----------
    model : BayesianNetwork or MixtureClassifier
        Of mixtures the scores are those of `MixtureClassifier.decision_values`.
    rows : int array (n_samples, n_features) of codes, or float array of numbers
    labels : int array (n_samples,)
    weight : float64 array (n_samples,) or None
    temperature : float
        Divides the margins.

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["a", "u"], ["b", "v"], ["a", "v"], ["b", "v"]] * 5, [0, 1, 0, 1] * 5)
    >>> network = BayesianNetwork.fit(naive_bayes(data), data)
    >>> margins_lost(network, data.codes, data.target_codes).round(3).reset_index()
      feature  margin_lost  accuracy_lost
    0      x0        2.398           0.25
    1      x1        0.599           0.00
    """
    known, accuracy = _margins(model, np.asarray(rows), labels, weight)
    names = model.feature_names if isinstance(model, MixtureClassifier) else tuple(v.name for v in model.features)
    lost = []
    for feature in range(len(names)):
        leave_in_time()
        masked = np.array(rows)
        masked[:, feature] = np.nan if isinstance(model, MixtureClassifier) else -1
        without, rate = _margins(model, masked, labels, weight)
        lost.append(((known - without) / temperature, accuracy - rate))
    table = pd.DataFrame(lost, columns=["margin_lost", "accuracy_lost"], index=pd.Index(names, name="feature"))
    return table.sort_values("margin_lost", ascending=False, kind="stable")


def _margins(
    model: BayesianNetwork | MixtureClassifier, rows: Any, labels: NDArray[np.integer], weight: FloatArray | None
) -> tuple[float, float]:
    """Mean margin, and the share that is right."""
    scores = model.decision_values(rows) if isinstance(model, MixtureClassifier) else model.log_joint(rows)
    right = scores.argmax(axis=1) == labels
    at = np.arange(len(labels))
    own = scores[at, labels]
    rivals = scores.copy()
    rivals[at, labels] = -np.inf
    with np.errstate(invalid="ignore"):
        margin = own - rivals.max(axis=1)
    return float(np.average(margin, weights=weight)), float(np.average(right, weights=weight))
