"""A model with a calibration: the model's decisions, probabilities that can be believed."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import check_fields
from mmbn_opt._arrays import FloatArray
from mmbn_opt._lazy import delegate
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.numeric import NumericDataset, as_matrix
from mmbn_opt.data.samples import Samples
from mmbn_opt.data.unseen import Unseen
from mmbn_opt.exceptions import InputError
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.exchange import FilePredicting, Scoring
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.posterior import features_that_tell
from mmbn_opt.scores.calibration import Calibration

__all__ = ["CalibratedModel", "rows_in_numbers", "says_nothing", "training_rows"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class CalibratedModel(Scoring, FilePredicting):
    """A network or a mixture classifier whose probabilities go through a calibration; its decisions are its own.

    What is calibrated is what a row says of its class. A row that says nothing, since no cell that bears on the class
    is known, has the shares of the classes among the rows that the calibration was chosen on, where it was chosen.

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

    def __post_init__(self) -> None:
        check_fields(self)
        n_classes, shares = len(self.model.classes), self.calibration.shares
        if shares and len(shares) != n_classes:
            raise InputError(f"A calibration with shares of {len(shares)} classes does not fit {n_classes} classes.")

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
        rows = rows_in_numbers(self.model, X, unseen=unseen)
        return self.log_proba_of(rows)

    def log_proba_of(self, rows: NDArray[Any]) -> FloatArray:
        """`predict_log_proba` of rows as `rows_in_numbers` has them."""
        if isinstance(self.model, BayesianNetwork):
            joint = self.model.log_joint(rows)
            proba = self.model.posterior(joint.copy(), log=False)
            scores = log_own = self.model.posterior(joint, log=True)
        else:
            scores = self.model.decision_values(rows)
            proba = self.model.proba_of(scores)
            with np.errstate(divide="ignore"):
                log_own = np.log(proba)
        if not self.calibration.changes:
            return log_own
        calibrated = self.calibration.log_proba(scores)
        if self.calibration.shares:
            silent, decided = says_nothing(self.model, rows), proba.argmax(axis=1)
            for k in np.unique(decided[silent]).tolist():
                calibrated[silent & (decided == k)] = self.calibration.of_silence(k)
        return _decided(calibrated, proba)

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
                "%s holds the network alone, without its calibration (%s): decisions from it are the "
                "same, its probabilities are not the calibrated ones. save() keeps both.",
                path,
                replace(self.calibration, before=None, after=None),
            )

    def __repr__(self) -> str:
        return f"CalibratedModel({self.model!r}, {replace(self.calibration, before=None, after=None)})"


def rows_in_numbers(model: BayesianNetwork | MixtureClassifier, X: Any, *, unseen: Unseen = "missing") -> NDArray[Any]:
    """A table as the model reads it: codes, -1 where missing, or numbers, NaN where missing."""
    if isinstance(model, BayesianNetwork):
        return model.encode(X, unseen=unseen)
    return as_matrix(X, model.feature_names)


def training_rows(data: DiscreteDataset | NumericDataset | Samples) -> tuple[NDArray[Any], NDArray[np.integer]]:
    """Rows that were learned from as `rows_in_numbers` has them, and the numbers of their classes."""
    if isinstance(data, Samples):
        data = data.data
    if isinstance(data, NumericDataset):
        return data.z * data.scale + data.location, data.codes
    return data.codes, data.target_codes


def says_nothing(model: BayesianNetwork | MixtureClassifier, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows of which no cell is known that bears on the class while the others are missing.

    Parameters
    ----------
    model : BayesianNetwork or MixtureClassifier
    rows : int array of codes, or float array, (n_samples, n_features)
    """
    if isinstance(model, MixtureClassifier):
        unknown = np.isnan(rows)
    else:
        told = [v for v in features_that_tell(model.structure) if model.features[v].cardinality > 1]
        unknown = rows[:, told] < 0
    silent: NDArray[np.bool_] = unknown.all(axis=1)
    return silent


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
