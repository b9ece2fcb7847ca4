"""Constrained maximum margin as a scikit-learn classifier: any number of classes, tau and K chosen inside `fit`."""

import logging
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mmbn_opt._arguments import check_arguments, choice_of, whole
from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import Budget, OutOfTime, leaving_when, noting_signals, now, stop_asked
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.results.result import Result
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.scores.calibration import Calibration
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver
from mmbn_opt.solving.job import CHECK_GRACE_SEC
from mmbn_opt.solving.parts import solve_parts
from mmbn_opt.tuning.calibration import TRAINED_SHARE, given_calibration
from mmbn_opt.tuning.many_runs import run_until_interrupted
from mmbn_opt.tuning.mixtures import calibrate_mixture

from ._base import FittedHTML, WeightedScore, checked_verbosity, end_if_interrupted, seconds_left, tell, warn_of_limits
from ._cmm_part import CMMPart, parts_of
from ._cmm_settings import CMMSettings, candidate_settings, held_out_rows
from ._explaining import Explaining
from ._input import as_repeated, read_labels, read_numbers, rows_that_count, seed_of, with_class_weights

__all__ = ["CMMClassifier", "CMMPart"]

logger = logging.getLogger(__name__)

_CUT_OFF = (TerminationStatus.INTERRUPTED, TerminationStatus.TIME_LIMIT)


class CMMClassifier(FittedHTML, WeightedScore, Explaining, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian mixtures with constrained maximum margins, one program a pair of classes or a class.

    Parameters
    ----------
    n_components : int, sequence of int, or "cv"
        Gaussians a class, K. Of several values one is chosen by cross-validation inside `fit`; "cv" stands for 1 to 5.
        A class with fewer samples than K is an error, except inside the cross-validation, where it gets fewer.
    tau : float, sequence of float, or "cv"
        Lower limit of the variances, in units of each feature's own variance; "cv": 0.000025 to 2.5 by tens.
    iterations : int, None, a sequence of these, or "cv"
        Stop each program after so many inner iterations; 0 is the start itself, None goes on to the end of the
        sequence. On separable data the margin has no maximum inside the model, so an early stop is what regularises;
        "cv": 0, 10, 30, 100, 300.
    h, xi, penalty, xi_growth
        As in `ConstrainedMaximumMargin`.
    strategy : {"one-vs-one", "one-vs-rest"}
        Max Wins among the pairs (ties: see `MixtureClassifier`), or the largest log-odds against the rest.
    start : {"k-means", "em"}
        The paper starts at k-means; "em" at maximum likelihood, and at k-means where values are missing or a class has
        fewer different samples than components.
    inner : {"lbfgs", "golden-section"}
    missing : {"error", "marginalize"}
        NaN: an error, or dropped from the diagonal Gaussians, in training and prediction alike.
    cv : int, or list of (train, test) row numbers
        Folds of the choice.
    calibration : {"auto", "temperature"}, float or None
        Probabilities are the softmax of `MixtureClassifier.decision_values` over a temperature, which is chosen on
        rows held out as in `MaxMarginBayesClassifier` (three folds). None leaves them as the model defines them.
    class_weight : mapping of label to weight, "balanced" or None
        Multiplied into the weights of the rows.
    warm_start : bool
        Begin where the last `fit` ended, where it had the same classes, features, number of components and strategy:
        each program starts at the better of that and its own start.
    time_limit : float or None
        Seconds for `fit`. The choice gets half of them at most, and is made among the candidates that are complete by
        then (without one the first is taken). What it leaves is for the final programs; those without time left keep
        their start, or stand at one Gaussian a class.
    n_jobs : int or None
        Processes of the choice (joblib).
    random_state : int
    verbose : int
        As in `MaxMarginBayesClassifier`.

    Attributes
    ----------
    classes_ : array (n_classes,)
    model_ : MixtureClassifier
    parts_ : tuple of CMMPart
        One a program: status, margin, violated samples.
    result_ : Result
        What `solve_parts` returned: the worst status of the parts, the sum of their margins, ``parts`` with the result
        of each; ``trace_`` and ``certificate_`` are its own.
    termination_status_ : TerminationStatus
        The worst of the parts.
    training_accuracy_ : float
        NaN where the time limit left no time to classify the training rows.
    n_components_, tau_, iterations_
        What was chosen.
    calibration_ : Calibration
        As in `MaxMarginBayesClassifier`; ``model_`` knows nothing of it.
    cv_results_ : DataFrame or None
        Mean classification rate of each candidate; the choice is the highest, ties go to the first (fewest components,
        largest tau, fewest iterations).

    References
    ----------
    Guo, Liu, Guo, Li, Geng 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CMMClassifier(n_components=1, tau=0.025, iterations=30).fit(X, y)
    >>> model.score(X, y) > 0.95, len(model.parts_)
    (True, 3)
    """

    def __init__(
        self,
        n_components: int | Sequence[int] | Literal["cv"] = 1,
        tau: float | Sequence[float] | Literal["cv"] = 0.0025,
        iterations: int | Sequence[int | None] | Literal["cv"] | None = None,
        *,
        h: float = 10.0,
        xi: float = 2.6,
        penalty: Literal["exterior", "printed"] = "exterior",
        xi_growth: float = 1.0,
        strategy: Literal["one-vs-one", "one-vs-rest"] = "one-vs-one",
        start: Literal["k-means", "em"] = "k-means",
        inner: Literal["lbfgs", "golden-section"] = "lbfgs",
        missing: Literal["error", "marginalize"] = "error",
        cv: Any = 5,
        calibration: Any = "auto",
        class_weight: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.tau = tau
        self.iterations = iterations
        self.h = h
        self.xi = xi
        self.penalty = penalty
        self.xi_growth = xi_growth
        self.strategy = strategy
        self.start = start
        self.inner = inner
        self.missing = missing
        self.cv = cv
        self.calibration = calibration
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "CMMClassifier":
        """Choose what is to be chosen, then solve one program a pair of classes (or a class).

        Parameters
        ----------
        X : DataFrame or array of numbers (n_samples, n_features)
            Columns of a frame are matched by name at prediction.
        y : array-like (n_samples,)
        sample_weight : array-like (n_samples,) or None
            Weight 2 is the row twice, weight 0 the row removed. The program knows rows only: weights with fractions are
            rounded to four times as many rows, see `mmbn_opt.data.weights.whole_counts`.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, with what was found stored; see `DiscreteClassifier.fit`.
        """
        began = now()
        self._check_settings()
        budget = Budget(self.time_limit, began)
        self._seed = seed_of(self.random_state)  # once: what a RandomState draws next is another number
        with noting_signals() as noted:
            x, labels, weight = self._read(X, y, sample_weight)
            candidates = candidate_settings(self.n_components, self.tau, self.iterations)
            problem = self._problem(x, labels, candidates[0], missing=self.missing, sample_weight=weight)
            for candidate in candidates:
                problem.data.require_members(candidate.n_components)
            self.cv_results_: pd.DataFrame | None = None
            chosen = candidates[0] if len(candidates) == 1 else self._choose(problem, candidates, budget.within(0.5))
            self.n_components_, self.tau_, self.iterations_ = chosen.n_components, chosen.tau, chosen.iterations
            if (chosen.n_components, chosen.tau) != (problem.n_components, problem.tau):
                problem = replace(problem, n_components=chosen.n_components, tau=chosen.tau, tells=False)
            calibration = given_calibration(self.calibration, trained=True)
            share = 0.0 if calibration is not None or self.time_limit is None else TRAINED_SHARE * self.time_limit
            left = seconds_left(self.time_limit, began)
            seconds = None if left is None else max(0.0, left - share)
            self.result_ = self._solved(problem, chosen, seconds, former=self._former(problem))
            self.model_: MixtureClassifier = self.result_.model
            self.parts_ = parts_of(problem, self.result_)
            self.classes_ = problem.data.classes
            self.trace_, self.certificate_ = self.result_.trace, self.result_.certificate
            self.termination_status_ = self.result_.termination_status
            self.training_accuracy_ = math.nan
            with suppress(OutOfTime), leaving_when(lambda: budget.over(CHECK_GRACE_SEC)):
                right = self.model_.predict(x[problem.rows]) == labels[problem.rows]
                self.training_accuracy_ = float(right.mean())
            tell(self, "%s; chosen: %s", self.result_, chosen)
            self.calibration_ = self._calibrated(problem.data, chosen, began) if calibration is None else calibration
            tell(self, "%s", self.calibration_)
            end_if_interrupted(bool(noted), self.result_)
            warn_of_limits(self, self.result_)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, which went through ``calibration_``."""
        x = self._validated(X)
        return self.calibrated_model_.predict_proba(x)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of `predict_proba`."""
        x = self._validated(X)
        return self.calibrated_model_.predict_log_proba(x)

    def _own_model(self) -> MixtureClassifier:
        return self.model_

    def _own_result(self) -> Result:
        return self.result_

    def _encoded(self, X: Any) -> NDArray[Any]:
        return self._validated(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the classes; for two classes the log-odds of the second."""
        x = self._validated(X)
        scores = self.model_.decision_values(x)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn whether NaN may stand in X."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "marginalize"
        return tags

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[FloatArray, NDArray[Any], FloatArray | None]:
        """Samples, labels and whole weights; the rows keep the numbers that they were given by."""
        given = rows_that_count(X, y, sample_weight)
        x = read_numbers(self, given.X, reset=True, allow_nan=self.missing == "marginalize")
        labels = read_labels(self, given.y, pd.DataFrame(x)).values
        given = with_class_weights(given, labels, self.class_weight)
        return as_repeated(given, x, labels)

    def _validated(self, X: Any) -> FloatArray:
        check_is_fitted(self, "model_")
        return read_numbers(self, X, reset=False, allow_nan=self.missing == "marginalize")

    def _check_settings(self) -> None:
        seconds_left(self.time_limit, now())
        checked_verbosity(self.verbose)
        given_calibration(self.calibration, trained=True)
        check_arguments(type(self).__init__, vars(self))
        choice_of("strategy", self.strategy, ("one-vs-one", "one-vs-rest"))
        choice_of("start", self.start, ("k-means", "em"))
        if not np.iterable(self.cv):
            whole("cv", self.cv, 2, expected="a number of folds of at least 2, or a list of (train, test) row numbers")

    def _choose(self, problem: MulticlassMargin, candidates: list[CMMSettings], ends: float | None) -> CMMSettings:
        data = problem.data
        held_out = [part for part in held_out_rows(data, problem.rows, self.cv, self._seed) if part.any()]
        tasks = [(data, candidate, part, ends) for candidate in candidates for part in held_out]
        counts = run_until_interrupted(self._rightly_classified, tasks, self.n_jobs)
        first = candidates[0]
        candidates = candidates[: len(counts) // max(1, len(held_out))]
        if not candidates:
            if ends is None or stop_asked():
                raise KeyboardInterrupt
            logger.warning("the time limit left no time to try any candidate: %s is taken", first)
            return first
        counts = counts[: len(candidates) * len(held_out)]
        right = np.array(counts, dtype=np.float64).reshape(len(candidates), len(held_out))
        rates = right.sum(axis=1) / max(1, sum(int(part.sum()) for part in held_out))
        self.cv_results_ = pd.DataFrame(
            [(c.n_components, c.tau, c.iterations) for c in candidates],
            columns=["n_components", "tau", "iterations"],
            dtype=object,
        ).assign(rate=rates)
        return candidates[int(rates.argmax())]

    def _rightly_classified(
        self, data: NumericDataset, settings: CMMSettings, held_out: NDArray[np.bool_], ends: float | None
    ) -> int | None:
        """Rows held out that are classified rightly; None when Ctrl-C or the end of the time cut the programs off."""
        left = None if ends is None else ends - now()
        if left is not None and left <= 0:
            return None
        problem = self._problem(data.z[~held_out], data.codes[~held_out], settings, fewer_components=True, tells=False)
        result = self._solved(problem, settings, left)
        cut = any(part.termination_status in _CUT_OFF for part in result.parts)
        if cut or stop_asked():
            return None
        with suppress(OutOfTime), leaving_when(lambda: ends is not None and now() >= ends):
            return int((result.model.predict(data.z[held_out]) == data.codes[held_out]).sum())
        return None

    def _calibrated(self, data: NumericDataset, chosen: CMMSettings, began: float) -> Calibration:
        def learn(z: FloatArray, codes: NDArray[np.intp], seconds: float | None) -> MixtureClassifier | None:
            problem = self._problem(z, codes, chosen, fewer_components=True, tells=False)
            result = self._solved(problem, chosen, seconds, quiet=True)
            model: MixtureClassifier | None = result.model
            return (
                None
                if any(part.termination_status is TerminationStatus.INTERRUPTED for part in result.parts)
                else model
            )

        left = seconds_left(self.time_limit, began)
        return calibrate_mixture(data, learn, own=self.model_, seed=self._seed, n_jobs=self.n_jobs, seconds=left)

    def _problem(
        self, X: FloatArray, y: NDArray[Any], chosen: CMMSettings, *, missing: Any = "marginalize", **further: Any
    ) -> MulticlassMargin:
        return MulticlassMargin(
            X, y, chosen.n_components, self.h, self.xi, chosen.tau, self.penalty, strategy=self.strategy,
            xi_growth=self.xi_growth, missing=missing, start=self.start, seed=self._seed, **further,
        )  # fmt: skip

    def _former(self, problem: MulticlassMargin) -> MixtureClassifier | None:
        """The classifier of the last `fit` where this one is to begin at it."""
        former: MixtureClassifier | None = vars(self).get("model_") if self.warm_start else None
        if former is None or not problem.fits(former):
            return None
        tell(self, "begins at the mixtures of the last fit")
        return former

    def _solved(
        self,
        problem: MulticlassMargin,
        chosen: CMMSettings,
        time_limit: float | None,
        *,
        quiet: bool = False,
        former: MixtureClassifier | None = None,
    ) -> Result:
        solver = ExteriorPenaltySolver(inner=self.inner, max_iterations=chosen.iterations, restarts=0)
        verbose = True if checked_verbosity(self.verbose) > 1 and not quiet else None
        return solve_parts(problem, solver, time_limit=time_limit, seed=problem.seed, verbose=verbose, starts=former)
