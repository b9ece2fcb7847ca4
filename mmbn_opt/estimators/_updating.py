"""Classifiers whose parameters are counts: further rows are added to them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mmbn_opt._arguments import listed
from mmbn_opt.data.cells import as_state
from mmbn_opt.data.discrete import DiscreteDataset, named_by_text
from mmbn_opt.data.frames import with_columns
from mmbn_opt.data.preparation import Preparation
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.checks import check_acyclic
from mmbn_opt.networks.family_counts import FamilyCounts
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.results.result import Certificate, Check
from mmbn_opt.scores.calibration import Calibration, choose_temperature
from mmbn_opt.scores.predictive import classification_rate
from mmbn_opt.tuning.calibration import LEAST_ROWS, given_calibration

from ._input import read_features, read_labels, rows_that_count, with_class_weights

__all__ = ["CountUpdates"]


def _counts(estimator: Any) -> bool:
    if estimator._is_counted:
        return True
    raise AttributeError(
        f"{type(estimator).__name__} with trained parameters cannot add rows to them: fit all rows again, with "
        "warm_start=True to begin where the last fit ended."
    )


class CountUpdates:
    """Mixin: `partial_fit` and `update`, where parameters are smoothed counts."""

    if TYPE_CHECKING:
        calibration: Any
        class_weight: Any
        missing: Any
        smoothing: Any
        calibration_: Calibration
        classes_: NDArray[Any]
        network_: BayesianNetwork
        preparation_: Preparation
        family_counts_: FamilyCounts
        certificate_: Certificate
        training_accuracy_: float

        @property
        def _is_trained(self) -> bool: ...

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self: ...

    @property
    def _is_counted(self) -> bool:
        """Whether the parameters are counts."""
        return True

    @available_if(_counts)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further rows: the tables become those of all rows so far, exactly.

        The first call is `fit`. Structure, kinds of columns and cut points stay those of the first rows; labels that
        are new become states, as if they had been there from the start.

        Parameters
        ----------
        X : table or array (n_samples, n_features)
        y : array-like (n_samples,)
        classes : array-like or None
            Classes that are still to come, where they are known.
        sample_weight : array-like (n_samples,) or None
            Whole numbers: counts are added up.

        Returns
        -------
        self
        """
        if "network_" not in vars(self):
            self.fit(X, y, sample_weight=sample_weight)
            self.family_counts_ = FamilyCounts.of(self.network_.structure, self.preparation_.data)
            return self if classes is None else self._take_up(*self._grown(None, np.asarray(classes)), None)
        if "family_counts_" not in vars(self):
            self.family_counts_ = FamilyCounts.of(self.network_.structure, self.preparation_.data)
        given = rows_that_count(X, y, sample_weight)
        frame = read_features(self, given.X, reset=False)
        labels = read_labels(self, given.y, frame).values
        weight = with_class_weights(given, labels, self.class_weight).weight
        if isinstance(self.class_weight, str) or (weight is not None and (weight != np.round(weight)).any()):
            raise InputError(
                "partial_fit adds counts: sample_weight and class_weight must be whole numbers. Fit all rows at once "
                "for weights that are known up to a factor only."
            )
        target = self.network_.target.name
        table = with_columns(named_by_text(frame), {target: labels})
        coming = labels if classes is None else np.concatenate([labels, np.asarray(classes)])
        features, label, every = self._grown(table, coming)
        data = DiscreteDataset.from_variables(table, features, label, missing=self.missing, sample_weight=weight)
        return self._take_up(features, label, every, data)

    @available_if(_counts)
    def update(self, frame: Any) -> Self:
        """`partial_fit` on a table that has the class column too.

        Parameters
        ----------
        frame : DataFrame (pandas, polars, pyarrow, ...)
        """
        check_is_fitted(self, "network_")
        table, target = named_by_text(frame), self.network_.target.name
        if target not in table.columns:
            raise InputError(f"There is no column {target!r}; the columns are [{listed(map(str, table.columns))}].")
        updated: Self = self.partial_fit(table.drop(columns=target), table[target])
        return updated

    def _grown(self, table: Any, labels: NDArray[Any]) -> tuple[tuple[DiscreteVariable, ...], DiscreteVariable, Any]:
        """The variables with the labels that are new, and the classes in the labels' own type."""
        features = self.family_counts_.features
        if table is not None:
            state = self.missing == "state"
            features = tuple(v.extended(table[v.name], missing_state=state) for v in features)
        target = self.family_counts_.target
        new = labels[target.encode(labels, unseen="missing") < 0]
        classes = np.unique(np.concatenate([self.classes_, new])) if len(new) else self.classes_
        states = tuple(as_state(label) for label in classes)
        return features, DiscreteVariable(target.name, states) if len(new) else target, classes

    def _take_up(
        self,
        features: tuple[DiscreteVariable, ...],
        target: DiscreteVariable,
        classes: NDArray[Any],
        data: DiscreteDataset | None,
    ) -> Self:
        counts = self.family_counts_.with_variables(features, target)
        if data is not None:
            self.calibration_ = self._on_new_rows(counts, data)
            counts = counts.plus(data)
        if len(self.calibration_.shares) != len(classes):  # of the classes that were known then
            self.calibration_ = replace(self.calibration_, shares=())
        self.family_counts_, self.classes_ = counts, classes
        self.network_ = counts.network(self.smoothing)
        rows = sum(float(table.sum()) for table in counts.counts[-1:])
        self.certificate_ = Certificate(
            (check_acyclic(self.network_), Check("tables from counts", True, f"made anew from {rows:,.6g} rows"))
        )
        if data is not None:
            self.preparation_ = Preparation(data, self.preparation_.kinds, self.preparation_.missing)
            self.training_accuracy_ = classification_rate(self.network_, data)
        return self

    def _on_new_rows(self, counts: FamilyCounts, data: DiscreteDataset) -> Calibration:
        """A temperature from what was predicted of the new rows before they were learned from."""
        given = given_calibration(self.calibration, trained=self._is_trained)
        if given is not None or data.total_weight < LEAST_ROWS:
            return self.calibration_ if given is None else given
        scores = counts.network(self.smoothing).predict_log_proba(data)
        return choose_temperature(scores, data.target_codes.astype(np.int64), data.sample_weight)
