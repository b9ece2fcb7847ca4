"""What classifiers share whose probabilities are calibrated: prediction by them or by costs, and the saved model."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mmbn_opt._arrays import FloatArray
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.calibrated import CalibratedModel
from mmbn_opt.scores.calibration import Calibration
from mmbn_opt.scores.costs import cost_matrix, expected_cost

__all__ = ["Believable"]


class Believable:
    """Mixin: probabilities that went through ``calibration_``, decisions by probability or by expected cost."""

    calibration: Any = "auto"
    class_weight: Any = None
    calibration_: Calibration
    classes_: NDArray[Any]

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, (n_samples, n_classes)."""

    @abstractmethod
    def _own_model(self) -> BayesianNetwork | MixtureClassifier:
        """The fitted model as it is without a calibration."""

    def predict_file(self, data: str | Path, out: str | Path, **settings: Any) -> Any:
        """Classify the rows of a file into a CSV file, in constant memory; see `mmbn_opt.predict_file`."""
        return self.calibrated_model_.predict_file(data, out, **settings)

    @property
    def calibrated_model_(self) -> CalibratedModel:
        """Model and calibration in one, which predicts without scikit-learn."""
        check_is_fitted(self, "calibration_")
        return CalibratedModel(self._own_model(), self.calibration_)

    def predict(self, X: Any, *, cost: Any = None) -> NDArray[Any]:
        """Most probable class of each row, with the labels' own type; the first one on a tie.

        Parameters
        ----------
        X : table or array (n_samples, n_features)
        cost : array (n_classes, n_classes), DataFrame, mapping or None
            What mistakes cost: the class with the least expected cost is predicted. Rows are true classes, columns what
            is said; or ``{(true, said): cost}``, where mistakes that are not named cost 1.
        """
        if cost is None:
            codes = np.argmax(self.predict_proba(X), axis=1)
        else:
            codes = np.argmin(self.expected_cost(X, cost), axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def expected_cost(self, X: Any, cost: Any) -> FloatArray:
        """What it costs on average to say each class, shape (n_samples, n_classes); see `predict`."""
        check_is_fitted(self, "calibration_")
        return expected_cost(self.predict_proba(X), cost_matrix(cost, self.classes_.tolist()))

    def save(self, path: str | Path) -> None:
        """Write the model with its calibration as JSON (no pickle); `mmbn_opt.load_model` reads it."""
        self.calibrated_model_.save(path)

    def to_bif(self, path: str | Path) -> None:
        """Write the network as BIF, without its calibration, which the log says; not for mixtures."""
        self.calibrated_model_.to_bif(path)
