"""Discretization of numeric columns by minimal entropy with the MDL stop of Fayyad and Irani."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mmbn_opt._arguments import choice_of, described, listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data._mdlp import interval_labels, mdlp_cut_points
from mmbn_opt.data.cells import has_moments, moments_as_numbers, numbers_in
from mmbn_opt.data.frames import as_pandas, n_rows_of, rows_of
from mmbn_opt.data.weights import row_weights
from mmbn_opt.exceptions import InputError, WrongTypeError

__all__ = ["MDLPDiscretizer", "interval_labels", "mdlp_cut_points"]


class MDLPDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Numeric columns as intervals chosen by Fayyad and Irani's minimal-entropy partitioning.

    Each column is cut on its own, see :func:`mdlp_cut_points`. Missing cells (NaN, None, pandas.NA) are left out of
    the fit and stay missing. A value equal to a cut belongs to the interval on its left.

    Parameters
    ----------
    output : {"codes", "labels"}, default="codes"
        What `transform` returns: int32 interval numbers with -1 for a missing cell, or interval names (object) with
        None for a missing cell.

    Attributes
    ----------
    cut_points_ : list of float64 arrays
        In column order.
    n_states_ : int array, shape (n_features,)
        Intervals per column, one more than cut points.
    n_features_in_ : int
    feature_names_in_ : str array, shape (n_features,)
        Only when X was a data frame with string column names.

    References
    ----------
    .. [1] Fayyad, U. M., Irani, K. B. (1993). Multi-interval discretization of continuous-valued attributes for
       classification learning. IJCAI, 1022-1027.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"width": [0.2, 0.3, 0.4, 0.4, 1.3, 1.5, 1.8, 2.1]})
    >>> y = ["small"] * 4 + ["large"] * 4
    >>> disc = MDLPDiscretizer(output="labels").fit(X, y)
    >>> disc.transform(X.iloc[[0, 7]]).ravel().tolist()
    ['(-inf, 0.8500000000000001]', '(0.8500000000000001, inf)']
    """

    def __init__(self, output: Literal["codes", "labels"] = "codes") -> None:
        self.output = output

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Find the cut points of every column.

        Parameters
        ----------
        X : data frame or array of numbers, shape (n_samples, n_features)
        y : array-like of labels, shape (n_samples,)
            Strings, ints, bools, categories or whole floats.
        sample_weight : float array, shape (n_samples,), optional
            Weight 2 is the row twice, weight 0 the row removed; weights with fractions are taken up to a factor.

        Returns
        -------
        MDLPDiscretizer

        Raises
        ------
        InputError
            Columns that are not numeric or hold infinite values, missing or fractional labels, bad weights.
        """
        self._check_output()
        X, y = as_pandas(X), as_pandas(y)
        weights = None if sample_weight is None or y is None else row_weights(sample_weight, n_rows_of(y) or 0)
        if weights is not None and not weights.all() and n_rows_of(X) == len(weights):  # other lengths are told below
            kept = weights > 0
            X, y, weights = rows_of(X, kept), rows_of(y, kept), weights[kept]
        matrix = self._matrix(X, reset=True)
        codes, n_classes = _class_codes(y, len(matrix))
        weights = row_weights(weights, len(matrix))
        self.cut_points_ = [mdlp_cut_points(column, codes, n_classes, weights) for column in matrix.T]
        self.n_states_ = np.array([cuts.size + 1 for cuts in self.cut_points_])
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Replace numbers by the intervals that hold them.

        Parameters
        ----------
        X : data frame or array of numbers, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_features)
            int32 codes, or interval names as objects (see `output`).

        Raises
        ------
        InputError
            Columns that are not numeric or hold infinite values.
        """
        check_is_fitted(self)
        self._check_output()
        matrix = self._matrix(X, reset=False)
        codes = np.empty(matrix.shape, dtype=np.int32, order="F")
        for j, cuts in enumerate(self.cut_points_):
            codes[:, j] = np.searchsorted(cuts, matrix[:, j], side="left")
        codes[np.isnan(matrix)] = -1
        if self.output == "codes":
            return codes
        labels = np.empty(codes.shape, dtype=object, order="F")
        for j, cuts in enumerate(self.cut_points_):
            # None stands last, where code -1 finds it.
            labels[:, j] = np.array([*interval_labels(cuts), None], dtype=object)[codes[:, j]]
        return labels

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _check_output(self) -> None:
        choice_of("output", self.output, ("codes", "labels"))

    def _matrix(self, X: Any, *, reset: bool) -> FloatArray:
        """X as floats with NaN for missing cells; columns that can't be are refused by name."""
        X = as_pandas(X)
        if isinstance(X, pd.DataFrame):
            names = [repr(name) for name in X.columns]
            validate_data(self, X, reset=reset, skip_check_array=True)
            if 0 in X.shape:
                raise InputError(
                    f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) (shape={X.shape}) while a "
                    "minimum of 1 is required. Discretize only frames that have rows and numeric columns."
                )
            matrix = _frame_to_floats(X)
        else:
            _refuse_text(X)
            try:
                matrix = validate_data(
                    self, moments_as_numbers(X), reset=reset, dtype=np.float64, ensure_all_finite=False
                )
            except TypeError as error:
                if issparse(X):
                    raise
                raise WrongTypeError(f"X must be a table of numbers, got {described(X)}: {error}.") from error
            names = [str(j) for j in range(matrix.shape[1])]
        infinite = np.isinf(matrix).sum(axis=0)
        if infinite.any():
            told = listed([f"{names[j]} ({infinite[j]} cells)" for j in np.flatnonzero(infinite)], show=str)
            raise InputError(
                f"Infinite values in column {told}: an infinite cell has no midpoint to its neighbour. Replace it by "
                "NaN (missing) or by a finite limit."
            )
        return np.asarray(matrix, dtype=np.float64)


def _class_codes(y: Any, n_rows: int) -> tuple[NDArray[np.int64], int]:
    if y is None:
        raise InputError("MDLPDiscretizer requires y to be passed, but the target y is None. Pass the class labels.")
    labels = y if isinstance(y, (pd.Series, pd.Categorical, pd.Index)) else np.asarray(y)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise InputError(f"y should be a 1d array with one label a row, shape ({n_rows},), got shape {labels.shape}.")
    codes, classes = pd.factorize(labels)
    missing = int((codes < 0).sum())
    if missing:
        raise InputError(f"{missing} of {n_rows} labels in y are missing. Drop those rows first.")
    if pd.api.types.is_float_dtype(classes):
        fractional = [value for value in np.asarray(classes, dtype=np.float64) if not value.is_integer()]
        if fractional:
            raise InputError(
                f"y holds numbers that are not classes, for example {float(fractional[0])}. Unknown label type: "
                "continuous; pass class labels (strings, ints, bools)."
            )
    return codes.astype(np.int64), len(classes)


def _frame_to_floats(frame: pd.DataFrame) -> FloatArray:
    refused = []
    matrix = np.empty(frame.shape, dtype=np.float64, order="F")
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        if _is_numeric(column):
            matrix[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        elif has_moments(column):
            matrix[:, j] = numbers_in(column)
        else:
            refused.append(f"{shown(name)} ({column.dtype})")
    if refused:
        raise InputError(_not_numeric(refused))
    return matrix


def _is_numeric(column: "pd.Series[Any]") -> bool:
    if column.dtype == object:
        found = pd.api.types.infer_dtype(column, skipna=True)
        return found in ("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty")
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype)


def _refuse_text(X: Any) -> None:
    """Refuse text cells of an array by column: scikit-learn's own message names only the cell."""
    if getattr(X, "ndim", 2) != 2 or not isinstance(X, (np.ndarray, list, tuple)):
        return
    cells = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else X
    if cells.dtype.kind not in "OUS" or cells.ndim != 2:
        return
    refused = []
    for j in range(cells.shape[1]):
        text = next((cell for cell in cells[:, j] if isinstance(cell, (str, bytes))), None)
        if text is not None:
            refused.append(f"{j} (holds {shown(str(text))})")
    if refused:
        raise InputError(_not_numeric(refused))


def _not_numeric(columns: Sequence[str]) -> str:
    return (
        f"Columns that are not numeric: {listed(columns, show=str)}. Pass only numeric columns: categorical ones "
        "need no "
        "discretization; numbers stored as text can be converted by pandas.to_numeric."
    )
