"""What classifiers share that say why: terms of one row, changes that would flip it, what each feature is worth."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mmbn_opt._arguments import listed, shown
from mmbn_opt._lazy import delegate
from mmbn_opt.data.frames import as_pandas
from mmbn_opt.exceptions import InputError
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.results.confusion import Confusion
from mmbn_opt.results.result import Result
from mmbn_opt.scores.calibration import Reliability
from mmbn_opt.scores.explanation import Explanation, explain_mixture, explain_network
from mmbn_opt.scores.flips import Flip, smallest_flip
from mmbn_opt.scores.importance import margins_lost

from ._believable import Believable
from ._input import rows_that_count

__all__ = ["Explaining"]


class Explaining(Believable):
    """Mixin: why a row is taken for what it is."""

    n_features_in_: int

    @abstractmethod
    def _encoded(self, X: Any) -> NDArray[Any]:
        """Rows in the numbers of the model: codes, or values."""

    def explain(self, row: Any, rival: Any = None, label: Any = None) -> Explanation:
        """Split the log-odds of a prediction into one term a node, which add up to them.

        Parameters
        ----------
        row : Series, mapping of feature to value, one-row table, or list of values
            What a mapping leaves out is missing, and is summed out.
        rival : label or None
            The class that the terms speak against; by default the most probable one but `label`.
        label : label or None
            The class that they speak for; by default the predicted one.

        Returns
        -------
        Explanation
            With ``to_frame()``, ``plot()``, ``to_svg()``, and for another pair ``against(rival, label)``.
        """
        codes = self._encoded(self._one_row(row))[0]
        model = self._own_model()
        if isinstance(model, BayesianNetwork):
            found = explain_network(model, codes, self.calibration_)
        else:
            found = explain_mixture(model, codes, self.calibration_)
            found = replace(found, names=(found.names[0], *self._names()))
        if label is not None and rival is None:
            proba = found.proba.copy()
            proba[found.against(found.label, label).first] = -1.0
            rival = found.classes[int(proba.argmax())]
        return found if rival is None else found.against(rival, label)

    def flip(self, row: Any, to: Any = None, *, max_changes: int | None = None) -> Flip:
        """The fewest cells of a row whose change makes another class, or the class `to`, the most probable one.

        Parameters
        ----------
        row : Series, mapping, one-row table or list
            As in `explain`. To learn the value of a missing cell is a change too.
        to : label or None
        max_changes : int or None

        Returns
        -------
        Flip
            With the changes, and whether it is proved that fewer do not do.

        Raises
        ------
        InputError
            For mixtures: numbers can be changed by as little as one likes.
        """
        model = self._own_model_fitted()
        if isinstance(model, MixtureClassifier):
            raise InputError("flip looks for the fewest changed cells of discrete features; mixtures have none.")
        codes = self._encoded(self._one_row(row))[0]
        number = None if to is None else self._numbers_of([to])[0]
        return smallest_flip(model, codes, to=number, max_changes=max_changes)

    def importance(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """Mean log-margin and accuracy that are lost where a feature is summed out, a row a feature.

        Parameters
        ----------
        X : table or array (n_samples, n_features)
            Best rows that were held out.
        y : array-like (n_samples,)
        sample_weight : array-like (n_samples,) or None
        """
        model = self._own_model_fitted()
        rows = rows_that_count(X, y, sample_weight)
        codes = self._encoded(rows.X)
        temperature = self.calibration_.temperature
        table = margins_lost(model, codes, self._numbers_of(rows.y), rows.weight, temperature=temperature)
        if isinstance(model, MixtureClassifier):
            table = table.rename(index=dict(zip(model.feature_names, self._names(), strict=True)))
        return table

    def summary(self) -> str:
        """Status, figures, calibration and certificate as lines of text."""
        self._own_model_fitted()
        text: str = delegate("classifier_summary")(self)
        return text

    def report(self, path: str | Path | None = None, X: Any = None, y: Any = None) -> str:
        """The report as one HTML page that opens without network; written where a path is given.

        Parameters
        ----------
        path : str, Path or None
        X, y : table and labels, or None
            Rows that were held out: accuracy, confusion matrix, log loss and calibration error on them are told, some
            of them are explained, and the worth of each feature is computed.
        """
        self._own_model_fitted()
        known: dict[str, Any] = {"title": type(self).__name__}
        if X is not None and y is not None:
            rows = rows_that_count(X, y, None)
            labels = np.asarray(rows.y).ravel()
            known["held_out"] = Confusion.of(labels.tolist(), self.predict(rows.X).tolist(), self.classes_.tolist())
            with np.errstate(divide="ignore"):
                log_proba = np.log(self.predict_proba(rows.X))
            codes = self._numbers_of(labels).astype(np.int64)
            known["reliability"] = Reliability.of(log_proba, codes)
            known["reasons"] = delegate("reasons_of")(
                self.calibrated_model_, self._encoded(rows.X), codes, log_proba, names=self._names(),
                numbers=rows.X.index if isinstance(rows.X, pd.DataFrame) else None,
            )  # fmt: skip
        html: str = delegate("classifier_report")(self._own_result(), self.calibration_, path, **known)
        return html

    @abstractmethod
    def _own_result(self) -> Result:
        """The result of the run that the model is from."""

    def _own_model_fitted(self) -> BayesianNetwork | MixtureClassifier:
        check_is_fitted(self, "calibration_")
        return self._own_model()

    def _names(self) -> tuple[str, ...]:
        """Names of the features, as they were given or by position."""
        check_is_fitted(self, "calibration_")
        known = vars(self).get("feature_names_in_")
        return tuple(f"x{j}" for j in range(self.n_features_in_)) if known is None else tuple(map(str, known))

    def _numbers_of(self, labels: Any) -> NDArray[np.intp]:
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        found = np.asarray(labels).ravel().tolist()
        unknown = [label for label in found if label not in number]
        if unknown:
            raise InputError(
                f"{shown(unknown[0])} is no class of this classifier; the classes are [{listed(list(number))}]."
            )
        return np.array([number[label] for label in found], dtype=np.intp)

    def _one_row(self, row: Any) -> Any:
        """One row as a table that prediction reads."""
        names, row = self._names(), as_pandas(row)
        if isinstance(row, pd.DataFrame) or (isinstance(row, np.ndarray) and row.ndim == 2):
            if len(row) != 1:
                raise InputError(f"row must be one row, got {len(row)}; take it by X.iloc[[0]].")
            return row
        if isinstance(row, pd.Series) and not all(isinstance(name, str) for name in row.index):
            row = row.tolist()
        if isinstance(row, (Mapping, pd.Series)):
            given = {str(name): row[name] for name in (row.index if isinstance(row, pd.Series) else row)}
            if unknown := [name for name in given if name not in names]:
                raise InputError(f"row names [{listed(unknown)}]; the features are [{listed(names)}].")
            values = [given.get(name) for name in names]
        else:
            values = list(np.atleast_1d(np.asarray(row, dtype=object)))
            if len(values) != len(names):
                raise InputError(f"row has {len(values)} values; there are {len(names)} features [{listed(names)}].")
        values = [np.nan if value is None else value for value in values]
        if "feature_names_in_" in vars(self):
            frame = pd.DataFrame([values], columns=list(self.feature_names_in_), dtype=object)  # type: ignore[attr-defined]
            return frame.infer_objects()
        return pd.DataFrame([values], dtype=object).infer_objects().to_numpy()
