"""From what scikit-learn users pass to a frame with named columns, labels and weights; every refusal says why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from mmbn_opt._arguments import described, is_whole, listed, whole
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.cells import has_moments, moments_as_numbers
from mmbn_opt.data.discrete import check_columns, named_by_text
from mmbn_opt.data.frames import as_pandas, n_rows_of, objects_of, rows_of, with_columns
from mmbn_opt.data.weights import class_weights, row_weights, whole_counts
from mmbn_opt.exceptions import InputError, WrongTypeError

__all__ = [
    "Labels",
    "Rows",
    "as_repeated",
    "named_kinds",
    "read_features",
    "read_labels",
    "read_numbers",
    "rows_that_count",
    "seed_of",
    "with_class_weights",
]

_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")


@dataclass(frozen=True, eq=False)
class Labels:
    """Class labels as they came, and the name of their column.

    Parameters
    ----------
    values : array (n_samples,)
    name : str
        Of the Series, else "class"; never a feature's name.
    """

    values: NDArray[Any]
    name: str


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples and labels without the rows of weight 0, pandas' own where they came as frames of another library.

    Parameters
    ----------
    X, y : as they came
    weight : float64 array or None
        Of the rows that are left.
    kept : bool array or None
        Which of the rows that were given are left; None without weights.
    """

    X: Any
    y: Any
    weight: FloatArray | None = None
    kept: NDArray[np.bool_] | None = None


def rows_that_count(X: Any, y: Any, sample_weight: Any) -> Rows:
    """Samples and labels without the rows of weight 0, whatever stands in them."""
    X, y = as_pandas(X), as_pandas(y)
    n_rows = n_rows_of(y)
    if sample_weight is None or n_rows is None:
        return Rows(X, y)
    weight = row_weights(sample_weight, n_rows)
    kept = weight > 0
    if kept.all() or n_rows_of(X) != n_rows:  # unequal lengths are told by `read_labels`
        return Rows(X, y, weight, np.ones(n_rows, dtype=np.bool_))
    return Rows(rows_of(X, kept), rows_of(y, kept), weight[kept], kept)


def with_class_weights(rows: Rows, labels: NDArray[Any], class_weight: Any) -> Rows:
    """The same rows, their weights times those of their classes, as `class_weights` has them; None changes nothing."""
    if class_weight is None:
        return rows
    ones = np.ones(len(labels))
    weight = class_weights(class_weight, labels, ones if rows.weight is None else rows.weight)
    return replace(rows, weight=weight, kept=ones.astype(np.bool_) if rows.kept is None else rows.kept)


def as_repeated(rows: Rows, x: FloatArray, labels: NDArray[Any]) -> tuple[FloatArray, NDArray[Any], FloatArray | None]:
    """Samples, labels and whole weights for programs that know rows only; the rows keep the numbers they came by."""
    if rows.weight is None or rows.kept is None:
        return x, labels, None
    # What fills the rows of weight 0 is never looked at.
    filled, weight = np.maximum(np.cumsum(rows.kept) - 1, 0), rows.kept.astype(np.float64)
    weight[rows.kept] = whole_counts(rows.weight, labels=labels)
    return x[filled], labels[filled], weight


def read_features(estimator: BaseEstimator, X: Any, *, reset: bool) -> pd.DataFrame:
    """X as a frame whose columns bear text names; sets ``n_features_in_`` and ``feature_names_in_`` when `reset`.

    Columns of a frame are matched by name, so that another order is no error; arrays are matched by position and
    their columns are called x0, x1, ... Where one of training and prediction had names and the other has none, columns
    are matched by position, with scikit-learn's warning. Numbers in object columns become number columns.

    Raises
    ------
    InputError
        No rows, no columns, repeated names, complex numbers, infinite values.
    ValueError
        What scikit-learn itself refuses, in its own words.
    """
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        check_columns(X, None)
        X = X if reset else _in_training_order(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _refuse_empty(X)
        frame = named_by_text(X)
    else:
        array = validate_data(
            estimator, _as_array(moments_as_numbers(X)), reset=reset, dtype=None, ensure_all_finite="allow-nan"
        )
        frame = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])], copy=False)
    if reset:
        _note_columns(estimator, frame.columns)
    else:
        frame = frame.set_axis(list(estimator._columns), axis=1)
    numbers = {c: n for c in frame.columns if (n := _object_numbers(frame[c])) is not None}
    return with_columns(frame, numbers)


def named_kinds(kinds: Mapping[Any, Any], frame: pd.DataFrame) -> dict[str, Any]:
    """Kinds by the text of the column's name; a whole number that is no name is a position, as in an array."""
    by_name = {}
    for key, kind in kinds.items():
        name = str(key)
        if name not in frame.columns and is_whole(key) and 0 <= int(key) < frame.shape[1]:
            name = str(frame.columns[int(key)])
        by_name[name] = kind
    return by_name


def read_numbers(estimator: BaseEstimator, X: Any, *, reset: bool, allow_nan: bool) -> FloatArray:
    """X as float64 (n_samples, n_features), columns matched as by `read_features`.

    Raises
    ------
    InputError
        Repeated names.
    ValueError
        What scikit-learn itself refuses, in its own words.
    """
    X = as_pandas(X)
    named = isinstance(X, pd.DataFrame)
    if named:
        check_columns(X, None)
        X = X if reset else _in_training_order(estimator, X)
    finite: Any = "allow-nan" if allow_nan else True
    try:
        x: FloatArray = validate_data(
            estimator, moments_as_numbers(X), reset=reset, ensure_all_finite=finite, dtype=np.float64
        )
    except TypeError as error:
        if sparse.issparse(X):
            raise
        raise WrongTypeError(
            f"X must be a table of numbers (n_samples, n_features), got {described(X)}: {error}."
        ) from error
    if reset:
        _note_columns(estimator, X.columns if named else range(x.shape[1]))
    return x


def _note_columns(estimator: BaseEstimator, columns: Iterable[Any]) -> None:
    """Remember what the columns of training are called; scikit-learn does so only for names that are text."""
    estimator._columns = tuple(str(c) for c in columns)


def _in_training_order(estimator: BaseEstimator, X: pd.DataFrame) -> pd.DataFrame:
    """The frame with its columns in the order of training, if it has the very same ones."""
    known, names = list(estimator._columns), [str(c) for c in X.columns]
    if names == known or sorted(names) != sorted(known):
        return X
    return X.iloc[:, [names.index(name) for name in known]]


def read_labels(estimator: BaseEstimator, y: Any, frame: pd.DataFrame) -> Labels:
    """Class labels with the element type that was given, pandas' own and categorical types included.

    Raises
    ------
    InputError
        No labels, missing labels, as many labels as there are not rows, text and numbers mixed.
    ValueError
        Labels that are no classes (fractions, several columns), in scikit-learn's words.
    """
    if y is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. Pass the class labels."
        )
    name = y.name if isinstance(y, pd.Series) and isinstance(y.name, str) and y.name else "class"
    while name in frame.columns:
        name += "_"
    if isinstance(y, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        missing = int(pd.isna(y).sum())
        if missing:
            raise InputError(f"Input y contains NaN: {missing} of {len(y)} labels are missing. Label or drop the rows.")
        y = _plain_labels(y)
    values: NDArray[Any] = column_or_1d(y, warn=True)
    assert_all_finite(values, estimator_name=type(estimator).__name__, input_name="y")
    if values.dtype == object:
        kinds = sorted({type(v).__name__ for v in values})
        if len(kinds) > 1:
            raise InputError(f"y mixes labels of the types {kinds}, which have no order; turn all of them into text.")
    moments = has_moments(pd.Series(values))
    if moments and pd.isna(values).any():
        raise InputError(
            f"Input y contains NaN: {int(pd.isna(values).sum())} labels are missing. Label or drop the rows."
        )
    if not moments or values.dtype.kind in "mM":  # of other moments scikit-learn does not know that they are labels
        check_classification_targets(values)
    if len(values) != len(frame):
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: X has {len(frame)} rows, y has {len(values)}."
        )
    return Labels(values, name)


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn takes as a random state; None is 0, so that equal input gives equal models."""
    if random_state is None:
        return 0
    if isinstance(random_state, (np.random.RandomState, np.random.Generator)):
        draw = random_state.randint if isinstance(random_state, np.random.RandomState) else random_state.integers
        return int(draw(2**31 - 1))
    return whole("random_state", random_state, expected="a whole number >= 0, None or a RandomState")


def _as_array(X: Any) -> Any:
    """Lists with text in them as objects: NumPy would turn their numbers into text too."""
    if not isinstance(X, (list, tuple)):
        return X
    return objects_of(X)


def _refuse_empty(frame: pd.DataFrame) -> None:
    for count, what in zip(frame.shape, ("sample(s)", "feature(s)"), strict=True):
        if not count:
            raise InputError(
                f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is required. "
                "Pass a table that has rows and columns."
            )
    bad = [str(c) for c, dtype in frame.dtypes.items() if pd.api.types.is_complex_dtype(dtype)]
    if bad:
        raise InputError(f"Complex data not supported: columns [{listed(bad)}]. Split them into real columns.")


def _object_numbers(values: pd.Series) -> pd.Series | None:
    """An object column of numbers as a number column; None where nothing is to be changed."""
    if values.dtype != object or pd.api.types.infer_dtype(values, skipna=True) not in _NUMBERS:
        return None
    try:
        numbers = pd.to_numeric(values)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if numbers.dtype == object else numbers


def _plain_labels(y: Any) -> NDArray[Any]:
    numpy_type = getattr(y.dtype, "numpy_dtype", None)
    if numpy_type is not None and numpy_type.kind in "biuf":
        plain: NDArray[Any] = np.asarray(y.to_numpy(dtype=numpy_type))
        return plain
    return np.asarray(y)
