"""What the classifiers on discrete features share: input, missing cells, prediction, and how they show themselves."""

import logging
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mmbn_opt._arguments import check_arguments, checked_number, choice_of, shown, whole
from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import interruptible, noting_signals, now
from mmbn_opt._lazy import delegate
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.frames import with_columns
from mmbn_opt.data.preparation import Preparation, prepare
from mmbn_opt.data.unseen import UNSEEN
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.result import Certificate, Result
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.scores.calibration import Calibration
from mmbn_opt.scores.predictive import classification_rate
from mmbn_opt.tuning.calibration import calibrate, given_calibration
from mmbn_opt.tuning.likelihood import MaximumLikelihood

from ._explaining import Explaining
from ._input import named_kinds, read_features, read_labels, rows_that_count, seed_of, with_class_weights
from ._updating import CountUpdates

__all__ = [
    "DiscreteClassifier",
    "FittedHTML",
    "Learned",
    "WeightedScore",
    "checked_verbosity",
    "end_if_interrupted",
    "tell",
    "warn_of_failures",
    "warn_of_limits",
]

logger = logging.getLogger(__name__)


class FittedHTML:
    """Mixin: a fitted classifier shows its network and its certificate, an unfitted one its parameters."""

    def _repr_html_inner(self) -> str:
        if not hasattr(self, "certificate_"):
            unfitted: str = super()._repr_html_inner()  # type: ignore[misc]
            return unfitted
        html: str = delegate("classifier_html")(self)
        return html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_inner()
        return bundle


_RAN_OUT = (TerminationStatus.TIME_LIMIT, TerminationStatus.NODE_LIMIT)


class WeightedScore:
    """Mixin: what stands in a row of weight 0 doesn't matter to `score` either."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows that are classified rightly.

        Parameters
        ----------
        X : table or array (n_samples, n_features)
        y : array-like (n_samples,)
        sample_weight : array-like (n_samples,) or None
        """
        rows = rows_that_count(X, y, sample_weight)
        rate: float = super().score(rows.X, rows.y, sample_weight=rows.weight)  # type: ignore[misc]
        return rate


_POLICIES = {"missing": ("error", "drop", "state"), "unseen": UNSEEN}


@dataclass(frozen=True, eq=False)
class Learned:
    """What a classifier's own part of `fit` hands back.

    Parameters
    ----------
    network : BayesianNetwork
    certificate : Certificate
    result : Result or None
        None where the parameters have a closed form and nothing was solved.
    attributes : dict
        Further fitted attributes by name.
    again : callable (data, seconds) -> BayesianNetwork, or None
        Learns from other rows with the settings that were chosen; None where nothing is calibrated.
    """

    network: BayesianNetwork
    certificate: Certificate
    result: Result | None
    attributes: dict[str, Any]
    again: Callable[[DiscreteDataset, float | None], BayesianNetwork] | None = None


class DiscreteClassifier(FittedHTML, WeightedScore, CountUpdates, Explaining, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers that learn a Bayesian network over discretized features.

    A subclass stores its parameters, among them `kinds`, `discretize`, `missing` and `unseen`, and learns in `_learn`.
    """

    kinds: Any
    discretize: bool
    missing: Any
    unseen: Any
    verbose: Any = 0
    time_limit: Any = None
    n_jobs: Any = None
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Prepare the columns, learn the network, check it.

        Parameters
        ----------
        X : DataFrame (pandas, polars, pyarrow, ...) or array (n_samples, n_features)
            Text, categories, bools and numbers; NaN, None and pandas.NA are missing cells.
        y : array-like (n_samples,)
            Class labels; a Series gives the class its name.
        sample_weight : array-like (n_samples,) or None
            Weight 2 is the row twice, weight 0 the row removed. Weights that are not all whole numbers are taken up to
            a factor, see `mmbn_opt.data.weights.as_counts`.

        Returns
        -------
        self

        Raises
        ------
        InputError
            A `ValueError`: bad settings, missing cells under ``missing="error"``, input that cannot be learned from.
        KeyboardInterrupt
            After Ctrl-C, so that searches and pipelines around it end too. What was found by then is stored: the
            classifier is fitted with it, and ``result_`` says INTERRUPTED.
        """
        began = now()
        self._check_settings()
        with noting_signals() as noted:
            with interruptible():
                preparation, classes = self._prepared(X, y, sample_weight)
            data = preparation.data
            tell(self, "%d rows, %d features, %d classes", data.n_samples, data.n_features, data.n_classes)
            learned = self._learn(preparation.data, began)
            self._store(preparation, classes, learned)
            self.calibration_ = self._calibrated(preparation, learned, began)
            tell(self, "%s", self.calibration_)
            results = learned.result, learned.attributes.get("parameter_result_")
            tell(self, "fitted in %.2f s: %.4f of the training rows right", now() - began, self.training_accuracy_)
            end_if_interrupted(bool(noted), *results)
            warn_of_limits(self, *results)
        return self

    def _store(self, preparation: Preparation, classes: NDArray[Any], learned: Learned) -> None:
        self.classes_ = classes
        if "family_counts_" in vars(self):
            del self.family_counts_
        self.preparation_ = preparation
        self.network_ = learned.network
        self.result_ = learned.result
        self.trace_ = None if learned.result is None else learned.result.trace
        self.certificate_ = warn_of_failures(self, learned.certificate)
        for name, value in learned.attributes.items():
            setattr(self, name, value)
        self.training_accuracy_ = classification_rate(learned.network, preparation.data)

    @abstractmethod
    def _learn(self, data: DiscreteDataset, began: float) -> Learned:
        """Learn from prepared rows; `began` is ``mmbn_opt._budget.now()`` at the start of `fit`."""

    @property
    def _is_trained(self) -> bool:
        """Whether the classifier is trained for its decisions, so that its probabilities are too sure by themselves."""
        return False

    def _calibrated(self, preparation: Preparation, learned: Learned, began: float) -> Calibration:
        given = given_calibration(self.calibration, trained=self._is_trained)
        if given is not None:
            return given
        if learned.again is None:
            return Calibration(reason="nothing can be learned again from parts of the rows")
        return calibrate(
            preparation.data, learned.again, own=learned.network, numbers=preparation.numbers,
            seed=seed_of(self.random_state), n_jobs=self.n_jobs, seconds=seconds_left(self.time_limit, began),
        )  # fmt: skip

    def _former(self, graph: Structure, data: DiscreteDataset) -> BayesianNetwork | None:
        """The network of the last `fit` where this one is to begin at it."""
        former: BayesianNetwork | None = getattr(self, "network_", None) if self.warm_start else None
        if former is None or former.structure != graph or former.variables != (*data.features, data.target):
            return None
        tell(self, "begins at the parameters of the last fit")
        return former

    def _seconds(self, began: float, share: float) -> float | None:
        """What is left for learning, a share of the limit kept back where a calibration is to be chosen after it."""
        left = seconds_left(self.time_limit, began)
        if left is None or given_calibration(self.calibration, trained=self._is_trained) is not None:
            return left
        return max(0.0, left - share * float(self.time_limit))

    def _own_model(self) -> BayesianNetwork:
        return self.network_

    def _own_result(self) -> Result:
        if self.result_ is None:
            return MaximumLikelihood(self.preparation_.data, self.network_.structure, self.smoothing).learn()
        return replace(self.result_, model=self.network_)

    def _encoded(self, X: Any) -> NDArray[Any]:
        return self.network_.encode(self._rows(X), unseen=self.unseen)

    def predict_proba(self, X: Any) -> FloatArray:
        """``P(c | x)``, shape (n_samples, n_classes), columns as in ``classes_``; missing cells are summed out.

        They went through ``calibration_``. A row that is impossible under every class gets the class prior.
        """
        frame = self._rows(X)
        return self.calibrated_model_.predict_proba(frame, unseen=self.unseen)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """``log P(c | x)``, shape (n_samples, n_classes)."""
        frame = self._rows(X)
        return self.calibrated_model_.predict_log_proba(frame, unseen=self.unseen)

    def _tells_bounds(self) -> bool | None:
        """What `solve` is told: True, or nothing, so that a configured solver keeps what it says."""
        return True if checked_verbosity(self.verbose) > 1 else None

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "network_")
        _check_policy(self, "unseen")
        return read_features(self, X, reset=False)

    def _check_settings(self) -> None:
        checked_verbosity(self.verbose)
        check_arguments(type(self).__init__, vars(self))
        given_calibration(self.calibration, trained=True)  # refuses what is none
        for name in _POLICIES:
            _check_policy(self, name)

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> tuple[Preparation, NDArray[Any]]:
        """Prepared training rows, and the labels of the classes in the type that was given."""
        rows = rows_that_count(X, y, sample_weight)
        frame = read_features(self, rows.X, reset=True)
        labels = read_labels(self, rows.y, frame)
        values = labels.values
        kinds = None if self.kinds is None else named_kinds(dict(self.kinds), frame)
        weight = with_class_weights(rows, values, self.class_weight).weight
        preparation = prepare(
            with_columns(frame, {labels.name: values}), labels.name, kinds=kinds, missing=self.missing,
            discretize=self.discretize, sample_weight=weight,
        )  # fmt: skip
        found = np.unique(values)
        codes = preparation.data.target.encode(found, unseen="missing")
        classes: NDArray[Any] = found[codes >= 0]
        return preparation, classes

    def __sklearn_tags__(self) -> Tags:
        """Text and categories are taken; missing cells at prediction always, in training if `missing` says so."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def checked_verbosity(verbose: Any) -> int:
    """How much a fit tells: 0, 1 (steps) or 2 (bounds too); True is 1, as in scikit-learn."""
    if isinstance(verbose, (bool, np.bool_)):
        return int(verbose)
    return whole("verbose", verbose, expected="False, True or a whole number >= 0")


def tell(estimator: Any, message: str, *values: Any) -> None:
    """Log a step of a fit: at INFO where the estimator is verbose, else at DEBUG."""
    level = logging.INFO if checked_verbosity(estimator.verbose) else logging.DEBUG
    logger.log(level, "%s: %s", type(estimator).__name__, message % values)


def warn_of_limits(estimator: BaseEstimator, *results: Result | None) -> None:
    """A `ConvergenceWarning` where time or nodes ran out.

    A limit of iterations is no such end: their number is a setting, which regularises.
    """
    for result in results:
        if result is not None and result.termination_status in _RAN_OUT:
            gap = result.bounds.gap_rel
            proved = f"the proved gap is {gap:.2%}" if np.isfinite(gap) else "nothing is proved"
            what = f"{result.termination_status} ({type(result.formulation).__name__}, {proved})"
            warnings.warn(
                f"{type(estimator).__name__} ended at {what}; the best model by then is kept. Raise time_limit, or "
                "allow a rel_gap.",
                ConvergenceWarning,
                stacklevel=3,
            )


def end_if_interrupted(noted: bool, *results: Result | None) -> None:
    """Raise KeyboardInterrupt after Ctrl-C, once what was found has been stored."""
    if noted or any(r is not None and r.termination_status is TerminationStatus.INTERRUPTED for r in results):
        raise KeyboardInterrupt


def warn_of_failures(estimator: BaseEstimator, certificate: Certificate) -> Certificate:
    """The certificate itself; a `UserWarning` tells of checks that failed, so that nobody relies on it unawares."""
    if certificate.failures:
        failed = "; ".join(map(str, certificate.failures))
        warnings.warn(
            f"{type(estimator).__name__}: {failed}. See certificate_; the model is returned as it is.", stacklevel=5
        )
    return certificate


def _check_policy(estimator: DiscreteClassifier, name: str) -> None:
    choice_of(name, getattr(estimator, name), _POLICIES[name])


def require_two_classes(data: DiscreteDataset) -> None:
    """Raise `InputError` when the labels are all the same."""
    if data.n_classes < 2:
        raise InputError(
            f"y holds one class only, {shown(data.target.states[0])}, in {data.n_samples} rows; margins need at "
            "least two classes. Check the labels."
        )


def seconds_left(time_limit: Any, began: float) -> float | None:
    """What is left of the limit of a `fit` that began at `began` (``mmbn_opt._budget.now``)."""
    if time_limit is None:
        return None
    seconds = checked_number("time_limit", time_limit, expected="a number of seconds >= 0 or None")
    return max(0.0, seconds - (now() - began))
