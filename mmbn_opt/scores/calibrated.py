"""A model with a calibration: the model's decisions, probabilities that can be believed."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt._lazy import delegate
from mmbn_opt.data.unseen import Unseen
from mmbn_opt.exceptions import InputError
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.calibration import Calibration

__all__ = ["CalibratedModel"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class CalibratedModel:
    """A network or a mixture classifier whose probabilities go through a calibration; its decisions are its own.

    Parameters
    ----------
    model : BayesianNetwork or MixtureClassifier
    calibration : Calibration

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["x"], ["x"], ["y"], ["y"]], [0, 0, 0, 1])
    >>> network = BayesianNetwork.fit(naive_bayes(data), data)
    >>> model = CalibratedModel(network, Calibration(temperature=2.0))
    >>> network.predict_proba([["x"]]).round(3).tolist(), model.predict_proba([["x"]]).round(3).tolist()
    ([[0.783, 0.217]], [[0.655, 0.345]])
    """

    model: BayesianNetwork | MixtureClassifier
    calibration: Calibration

    @property
    def classes(self) -> NDArray[Any]:
        """Class labels in code order."""
        return self.model.classes

    def predict_proba(self, X: Any, *, unseen: Unseen = "warn") -> FloatArray:
        """Calibrated probabilities (n_samples, n_classes), the largest at the model's own decision."""
        if self.calibration.changes:
            proba: FloatArray = np.exp(self.predict_log_proba(X, unseen=unseen))
            return proba
        if isinstance(self.model, BayesianNetwork):
            return self.model.predict_proba(X, unseen=unseen)
        return self.model.predict_proba(X)

    def predict_log_proba(self, X: Any, *, unseen: Unseen = "warn") -> FloatArray:
        """Logarithms of `predict_proba`."""
        if isinstance(self.model, BayesianNetwork):
            joint = self.model.log_joint(self.model.encode(X, unseen=unseen))
            own = self.model.posterior(joint.copy(), log=False) if self.calibration.changes else None
            scores = self.model.posterior(joint, log=True)
            return scores if own is None else _decided(self.calibration.log_proba(scores), own)
        scores = self.model.decision_values(X)
        own = self.model.proba_of(scores)
        if self.calibration.changes:
            return _decided(self.calibration.log_proba(scores), own)
        with np.errstate(divide="ignore"):
            log_proba: FloatArray = np.log(own)
        return log_proba

    def predict(self, X: Any, *, unseen: Unseen = "warn") -> NDArray[Any]:
        """The model's own decisions."""
        if isinstance(self.model, BayesianNetwork):
            return self.model.predict(X, unseen=unseen)
        return self.model.predict(X)

    def save(self, path: str | Path) -> None:
        """Write model and calibration as JSON; `mmbn_opt.load_model` reads both."""
        delegate("save_calibrated")(self, path)

    def to_bif(self, path: str | Path) -> None:
        """Write the network in the Bayesian Interchange Format, which has no place for a calibration; the log says so.

        Raises
        ------
        InputError
            For mixtures, which no BIF holds.
        """
        if not isinstance(self.model, BayesianNetwork):
            raise InputError("BIF holds networks of discrete variables; save a mixture classifier as JSON.")
        self.model.to_bif(path)
        if self.calibration.changes:
            logger.warning(
                "%s holds the network alone, without its calibration (temperature %.4g): decisions from it are the "
                "same, its probabilities are not the calibrated ones. save() keeps both.",
                path,
                self.calibration.temperature,
            )

    def __repr__(self) -> str:
        return f"CalibratedModel({self.model!r}, {replace(self.calibration, before=None, after=None)})"


def _decided(log_proba: FloatArray, own: FloatArray) -> FloatArray:
    """Calibrated probabilities whose largest one stands where the model's own decision is, ties included.

    The map is monotone, but rounding is not: of two scores that differ in the last digit only, one may be the decision.
    """
    decided = own.argmax(axis=1)
    # Two probabilities may be equal where their logarithms differ, and both are asked for their largest.
    differs = (np.exp(log_proba).argmax(axis=1) != decided) | (log_proba.argmax(axis=1) != decided)
    for row in np.flatnonzero(differs):
        largest = log_proba[row].max()
        log_proba[row] = np.minimum(log_proba[row], largest - 1e-13)
        log_proba[row, decided[row]] = largest
    return log_proba
