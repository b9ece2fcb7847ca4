"""Generative baselines: naive Bayes and TAN with smoothed maximum-likelihood tables."""

from collections.abc import Mapping
from typing import Any, ClassVar

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.heuristics.named import make_structure
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.tuning.likelihood import maximum_likelihood

from ._base import DiscreteClassifier, Learned

__all__ = ["NaiveBayesClassifier", "TANClassifier"]


class _GenerativeClassifier(DiscreteClassifier):
    """A named structure and counts."""

    _structure: ClassVar[str]

    def __init__(
        self,
        *,
        smoothing: Any = 1.0,
        kinds: Mapping[Any, str] | None = None,
        discretize: bool = True,
        missing: Any = "error",
        unseen: Any = "warn",
        calibration: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.smoothing = smoothing
        self.kinds = kinds
        self.discretize = discretize
        self.missing = missing
        self.unseen = unseen
        self.calibration = calibration
        self.class_weight = class_weight

    def _learn(self, data: DiscreteDataset, began: float) -> Learned:
        network, certificate = maximum_likelihood(data, make_structure(self._structure, data), self.smoothing)

        def again(part: DiscreteDataset, seconds: float | None) -> BayesianNetwork:
            return BayesianNetwork.fit(make_structure(self._structure, part), part, self.smoothing)

        return Learned(network, certificate, None, {}, again)


class NaiveBayesClassifier(_GenerativeClassifier):
    """Naive Bayes: every feature depends on the class alone, tables are smoothed counts.

    Learns from one class too, which it then always predicts.

    Parameters
    ----------
    smoothing : float or Smoothing
        Pseudo-count of each table cell (1 is Laplace's), or ``Dirichlet(ess=...)``.
    kinds, discretize, missing, unseen, class_weight
        As in `MaxMarginBayesClassifier`.
    calibration : {"temperature"}, float or None
        As there; None, the default, leaves the counts' own probabilities.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, network_, certificate_, preparation_, training_accuracy_, calibration_
        As in `MaxMarginBayesClassifier`; ``result_`` and ``trace_`` are None, since nothing is searched.

    Examples
    --------
    >>> X = [["sun", 21.0], ["sun", 24.5], ["rain", 11.5], ["rain", 14.0]] * 5
    >>> model = NaiveBayesClassifier().fit(X, [True, True, False, False] * 5)
    >>> model.predict([["rain", None], [None, 30.0]]).tolist()
    [False, True]
    """

    _structure = "nb"


class TANClassifier(_GenerativeClassifier):
    """Tree-augmented naive Bayes by conditional mutual information, tables are smoothed counts.

    Parameters
    ----------
    smoothing, kinds, discretize, missing, unseen, calibration, class_weight
        As in `NaiveBayesClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, network_, certificate_, preparation_, training_accuracy_, calibration_
        As in `NaiveBayesClassifier`.

    References
    ----------
    Friedman, Geiger & Goldszmidt 1997.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> frame = mm.load_dataset("car")
    >>> X, y = frame.drop(columns="class"), frame["class"]
    >>> round(TANClassifier().fit(X, y).score(X, y), 2)
    0.95
    """

    _structure = "tan-cmi"
