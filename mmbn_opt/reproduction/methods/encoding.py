"""Tables for methods that want numbers, or codes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from mmbn_opt.data.preparation import prepare

__all__ = ["MdlpCodes", "as_numbers", "as_ordinals", "one_dependence_parameters"]


def as_numbers(kinds: Mapping[str, str], *, scaled: bool = True) -> Any:
    """Numbers, standardised or not, and an indicator a category; missing numbers are the median, texts a category."""
    numeric, others = _columns(kinds)
    numbers = [SimpleImputer(strategy="median"), *([StandardScaler()] if scaled else [])]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    filled = SimpleImputer(strategy="constant", fill_value="?")
    return make_column_transformer((make_pipeline(*numbers), numeric), (make_pipeline(filled, one_hot), others))


def as_ordinals(kinds: Mapping[str, str]) -> Any:
    """Numbers first, as they are, then a number a category; missing and new ones are NaN."""
    numeric, others = _columns(kinds)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    return make_column_transformer(("passthrough", numeric), (codes, others))


def _columns(kinds: Mapping[str, str]) -> tuple[list[str], list[str]]:
    numeric = [c for c, kind in kinds.items() if kind == "numeric"]
    return numeric, [c for c in kinds if c not in numeric]


class MdlpCodes(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Codes as our networks see them: numbers cut by MDLP on the training rows; the code 0 is "missing or new".

    Parameters
    ----------
    kinds : mapping
    """

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self.kinds = kinds

    def fit(self, X: pd.DataFrame, y: Any) -> "MdlpCodes":
        """Find the cut points."""
        frame = X.assign(**{"class": np.asarray(y)})
        kinds: Any = dict(self.kinds)
        self.features_ = prepare(frame, "class", kinds=kinds, missing="state").data.features
        self.cardinalities_ = [feature.cardinality + 1 for feature in self.features_]
        return self

    def transform(self, X: pd.DataFrame) -> NDArray[np.int64]:
        """Codes from 0."""
        columns = [feature.encode(X[feature.name], unseen="missing") + 1 for feature in self.features_]
        return np.column_stack(columns).astype(np.int64)


def one_dependence_parameters(cardinalities: Sequence[int], n_classes: int) -> int:
    """Free parameters of averaged one-dependence estimators: a joint table and d - 1 conditional ones a parent.

    Examples
    --------
    >>> one_dependence_parameters([2, 3], 2)  # P(y, a): 3, P(b | y, a): 8; P(y, b): 5, P(a | y, b): 6
    22
    """
    r, k = np.array(cardinalities), n_classes
    return int(sum(k * own - 1 + k * own * ((r - 1).sum() - (own - 1)) for own in r))
