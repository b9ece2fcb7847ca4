"""Label sequences as a classifier: fit on lists of sequences, predict lists of label sequences."""

from collections.abc import Iterable, Sized
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mmbn_opt._arguments import check_arguments, choice_of, shown, whole
from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import interruptible, noting_signals, now
from mmbn_opt.data.frames import as_pandas
from mmbn_opt.data.sequences import SequenceDataset, joined_labels
from mmbn_opt.data.unseen import UNSEEN
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solving.dispatch import solve
from mmbn_opt.tuning.sequences import SequenceMethod, SequenceSettings

from ._base import checked_verbosity, end_if_interrupted, seconds_left, tell, warn_of_failures, warn_of_limits

__all__ = ["SequenceClassifier"]


class SequenceClassifier(BaseEstimator):  # type: ignore[misc]
    """Labels for each position of a sequence, by tables on a chain that are trained for the largest margin.

    In the manner of sklearn-crfsuite: X is a list of sequences, y a list of label sequences, and `score` the share of
    positions that are right. With `lengths`, X and y are the positions of all sequences one after the other, as
    hmmlearn and seqlearn have them.

    Parameters
    ----------
    method : {"max-margin", "markov-network", "conditional-likelihood", "cg-mm", "ml"}
        `SequenceMaxMargin` (convex, with a certified gap), `SequenceMarkovNetwork` (a structured support vector
        machine), `SequenceConditionalLikelihood` (a conditional random field), `SequenceSmoothMargin` (conjugate
        gradients), or the tables of largest likelihood by counting.
    gamma : float or None
        Margin in nats that is asked for a wrong label, for "max-margin" and "cg-mm"; None is 5.
    B : float or None
        The paper's weight of the losses in place of `gamma`, for "max-margin".
    normalization, alpha, min_prob
        As in `SequenceMaxMargin`.
    C : float
        Weight of the losses of "markov-network".
    l2 : float
        Penalty of "conditional-likelihood".
    window : (int, int)
        Observations of so many positions before and after count at each position too.
    smoothing : float
        Pseudo-count of the maximum-likelihood tables, of the likelihood term and of the start.
    iterations : int
        Limit of "cg-mm" and "conditional-likelihood".
    solver : str or Solver
    time_limit : float or None
        Seconds.
    rel_gap : float
        Certified gap at which training stops.
    unseen : {"warn", "missing", "error"}
        Symbols in prediction that training never saw: count as missing with one warning, in silence, or are refused.
    verbose : int
        1 logs the steps of `fit` at INFO, 2 each better bound too.

    Attributes
    ----------
    classes_ : array (n_labels,)
        Labels in ascending order, of the type that was given.
    model_ : HiddenMarkovClassifier
        Predicts by itself, is normalised and drawn from, saves as JSON.
    result_ : Result or None
        None for "ml".
    certificate_ : Certificate or None
    feature_names_ : tuple of str

    Examples
    --------
    >>> X = ["aab", "abb", "bba", "bab"] * 3
    >>> y = ["XXY", "XYY", "YXX", "YXY"] * 3
    >>> tagger = SequenceClassifier(gamma=1.0).fit(X, y)
    >>> tagger.predict(["abba", "a"]), tagger.score(X, y)
    ([['X', 'Y', 'Y', 'X'], ['X']], 0.9166666666666666)
    """

    def __init__(
        self,
        method: SequenceMethod = "max-margin",
        *,
        gamma: float | None = None,
        B: float | None = None,
        normalization: Literal["hybrid", "floor", "published"] = "hybrid",
        alpha: float = 0.1,
        min_prob: float | None = None,
        C: float = 0.1,
        l2: float = 1.0,
        window: tuple[int, int] = (0, 0),
        smoothing: float = 1.0,
        iterations: int = 100,
        solver: str | Solver = "auto",
        time_limit: float | None = None,
        rel_gap: float = 1e-2,
        unseen: Literal["warn", "missing", "error"] = "warn",
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.gamma = gamma
        self.B = B
        self.normalization = normalization
        self.alpha = alpha
        self.min_prob = min_prob
        self.C = C
        self.l2 = l2
        self.window = window
        self.smoothing = smoothing
        self.iterations = iterations
        self.solver = solver
        self.time_limit = time_limit
        self.rel_gap = rel_gap
        self.unseen = unseen
        self.verbose = verbose

    def fit(self, X: Any, y: Any, lengths: Any = None) -> Self:
        """Learn from sequences with their labels.

        Parameters
        ----------
        X : list of sequences, or SequenceDataset
            As in `SequenceDataset.from_lists`; with `lengths`, the positions of all of them, (n_positions, n_features).
        y : list of label sequences
            With `lengths`, (n_positions,). None where X is a `SequenceDataset`.
        lengths : sequence of int or None

        Returns
        -------
        self

        Raises
        ------
        InputError
            A `ValueError`: bad settings, or sequences that can't be learned from.
        KeyboardInterrupt
            After Ctrl-C; what was found by then is stored.
        """
        began = now()
        settings = self._checked_settings()
        with noting_signals() as noted:
            with interruptible():
                data = self._data(X, y, lengths)
                data.require_learnable()
                tell(self, "%r", data)
            result = None
            if self.method == "ml":
                self.model_ = HiddenMarkovClassifier.fit(data, self.smoothing)
            else:
                result = solve(
                    settings.formulation(data), settings.engine(self.rel_gap),
                    time_limit=seconds_left(self.time_limit, began), rel_gap=self.rel_gap,
                    verbose=checked_verbosity(self.verbose) > 1, options=settings.options,
                )  # fmt: skip
                self.model_ = result.model
                tell(self, "%s", result)
            self.result_ = result
            self.certificate_ = None if result is None else warn_of_failures(self, result.certificate)
            self.classes_ = data.target.labels
            self.feature_names_ = tuple(v.name for v in data.features)
            end_if_interrupted(bool(noted), result)
            warn_of_limits(self, result)
        return self

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The most probable labels of each sequence: a list of lists, or one array where `lengths` are given."""
        found = self._model().predict(_split(X, lengths), unseen=self.unseen)
        if lengths is None:
            return found
        return np.concatenate([np.array(labels, dtype=self.classes_.dtype) for labels in found])

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """Posterior of each position's label, an array (length, n_labels) a sequence; columns as in ``classes_``."""
        found: list[FloatArray] = self._model().predict_proba(_split(X, lengths), unseen=self.unseen)
        return found if lengths is None else np.concatenate(found)

    def score(self, X: Any, y: Any, lengths: Any = None) -> float:
        """Share of the positions that are labelled rightly."""
        model = self._model()
        found = model.predict(_split(X, lengths), unseen=self.unseen)
        starts = np.cumsum([0, *map(len, found)])
        given = joined_labels(_split(y, lengths), starts, model.target.name).tolist()
        return float(np.mean([a == b for a, b in zip(chain(*found), given, strict=True)]))

    def save(self, path: str | Path) -> None:
        """Write the model as JSON; `mmbn_opt.load_model` reads it."""
        self._model().save(path)

    def _model(self) -> HiddenMarkovClassifier:
        check_is_fitted(self, "model_")
        choice_of("unseen", self.unseen, UNSEEN)
        model: HiddenMarkovClassifier = self.model_
        return model

    def _checked_settings(self) -> SequenceSettings:
        checked_verbosity(self.verbose)
        check_arguments(type(self).__init__, vars(self))
        choice_of("unseen", self.unseen, UNSEEN)
        return SequenceSettings(
            self.method, self.gamma, self.B, self.normalization, self.alpha, self.min_prob, self.C, self.l2,
            self.smoothing, self.iterations, self.solver,
        )  # fmt: skip

    def _data(self, X: Any, y: Any, lengths: Any) -> SequenceDataset:
        if isinstance(X, SequenceDataset):
            return X.with_window(*self.window)
        if y is None:
            raise InputError("y must be a list of label sequences, as long as those of X; got None.")
        return SequenceDataset.from_lists(_split(X, lengths), _split(y, lengths), window=self.window)


def _split(values: Any, lengths: Any) -> Any:
    """The sequences whose positions follow one another, or the values themselves where no lengths are given."""
    if lengths is None:
        return values
    values = as_pandas(values)
    if not isinstance(lengths, Iterable) or not isinstance(values, Sized):
        what = ("lengths", lengths) if isinstance(values, Sized) else ("X and y", values)
        raise InputError(f"{what[0]} must be lists where lengths are given, got {shown(what[1])}.")
    counts = [whole("lengths", n, 1) for n in lengths]
    total = len(values)
    if sum(counts) != total:
        raise InputError(f"lengths add up to {sum(counts)}, but there are {total} positions: {shown(list(counts))}.")
    ends = np.cumsum([0, *counts])
    rows: Any = values.iloc if isinstance(values, (pd.DataFrame, pd.Series)) else values
    return [rows[a:b] for a, b in pairwise(ends)]
