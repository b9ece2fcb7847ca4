"""Numeric samples with labels: checked once, standardised, and kept with what undoes the standardisation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown, whole
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.cells import moments_as_numbers
from mmbn_opt.data.findings import Finding, tell
from mmbn_opt.data.frames import as_pandas, with_columns
from mmbn_opt.data.inspection import matrix_findings, refuse_quantity
from mmbn_opt.data.weights import checked_weight
from mmbn_opt.exceptions import InputError

__all__ = ["NumericDataset", "as_matrix", "check_components", "plain", "repeated_rows"]

LARGEST = 1e150
"""Squares of larger values overflow."""


@dataclass(frozen=True, eq=False)
class NumericDataset:
    """Standardised features and class codes.

    Parameters
    ----------
    z : float64 array (n_samples, n_features)
        ``(x - location) / scale``: mean 0 and variance 1 in each feature; NaN marks a missing value.
    codes : int array (n_samples,)
        Indices into `classes`.
    classes : array (n_classes,)
        Labels in ascending order, of the type that was given.
    feature_names : tuple of str
    location, scale : float64 arrays (n_features,)
        A constant feature has scale 1.
    n_dropped : int
        Rows that the caller left out before.
    remarks : tuple of Finding
        What was odd about the table.

    Examples
    --------
    >>> data = NumericDataset.from_arrays([[1.0, 5.0], [3.0, 5.0]], ["b", "a"])
    >>> data.z.tolist(), data.codes.tolist(), data.classes.tolist()
    ([[-1.0, 0.0], [1.0, 0.0]], [1, 0], ['a', 'b'])
    """

    z: FloatArray = field(repr=False)
    codes: NDArray[np.intp] = field(repr=False)
    classes: NDArray[Any]
    feature_names: tuple[str, ...]
    location: FloatArray = field(repr=False)
    scale: FloatArray = field(repr=False)
    n_dropped: int = 0
    remarks: tuple[Finding, ...] = field(default=(), repr=False, metadata={"content": False})

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        missing: Literal["error", "marginalize"] = "error",
        n_dropped: int = 0,
        class_name: str = "class",
        tells: bool = True,
    ) -> "NumericDataset":
        """Check and standardise.

        Parameters
        ----------
        X : DataFrame or array (n_samples, n_features)
        y : array (n_samples,)
            At least two different labels.
        missing : {"error", "marginalize"}
            What NaN in `X` means: an error, or a value to be summed out of the densities.
        n_dropped : int
            Told in reports.
        class_name : str
            What the labels are called in messages.
        tells : bool
            False where what is odd was logged before: the table is a part of another.

        Raises
        ------
        InputError
            For anything that cannot be learned from; the message names the column or the row.
        """
        if missing not in ("error", "marginalize"):
            raise InputError(f'missing must be "error" or "marginalize", got {shown(missing)}.')
        X, y = as_pandas(X), as_pandas(y)
        names = _names_of(X)
        x = as_matrix(X, names)
        _refuse_missing(x, names, missing)
        classes, codes = _labels(y, len(x))
        if tells:
            refuse_quantity(pd.Series(classes[codes]), class_name)
        # Summed in ascending order: the order of the rows must not matter, not even in the last digit.
        ascending = np.sort(x, axis=0)
        location = np.nanmean(ascending, axis=0)
        scale = np.nanstd(ascending - location, axis=0)
        constant = ~(scale > 1e-14 * np.maximum(np.abs(location), np.finfo(float).tiny))
        scale = np.where(constant, 1.0, scale)
        z = np.where(constant & ~np.isnan(x), 0.0, (x - location) / scale)
        z.flags.writeable = False
        remarks = matrix_findings(x, names, constant, pd.Series(classes[codes]), class_name)
        if tells:
            tell(remarks)
        return cls(z, codes, classes, names, location, scale, n_dropped, remarks)

    @property
    def n_samples(self) -> int:
        """Rows."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Columns."""
        return len(self.feature_names)

    @property
    def n_classes(self) -> int:
        """Different labels."""
        return len(self.classes)

    @property
    def has_missing(self) -> bool:
        """Whether a value is NaN."""
        return bool(np.isnan(self.z).any())

    def counts(self) -> NDArray[np.intp]:
        """Samples of each class."""
        return np.bincount(self.codes, minlength=self.n_classes)

    def require_members(self, n_components: int, classes: Sequence[int] | None = None) -> None:
        """Raise `InputError` unless each class has as many different samples as a mixture has components."""
        check_components(n_components)
        counts = self.counts()
        for c in range(self.n_classes) if classes is None else classes:
            if counts[c] < n_components:
                raise InputError(
                    f"Class {shown(plain(self.classes[c]))} has {counts[c]} samples, fewer than "
                    f"n_components={n_components}; lower n_components or merge classes."
                )


def check_components(n_components: Any) -> None:
    """Raise `InputError` unless `n_components` is a whole number of at least 1."""
    whole("n_components", n_components, 1, expected="a whole number of at least 1")


def repeated_rows(sample_weight: Any, n_rows: int) -> NDArray[np.intp]:
    """Row numbers, each as often as its weight says.

    Examples
    --------
    >>> repeated_rows([2, 0, 1], 3).tolist()
    [0, 0, 2]
    """
    weight = checked_weight(sample_weight, n_rows)
    broken = np.flatnonzero(weight != np.round(weight))
    if len(broken):
        raise InputError(
            f"sample_weight must hold whole numbers here, row {broken[0]} has {weight[broken[0]]:g}: the program knows "
            "rows, not weights. Scale and round them."
        )
    return np.repeat(np.arange(n_rows), weight.astype(np.intp))


def plain(label: Any) -> Any:
    """A label as Python writes it, for messages."""
    return label.item() if isinstance(label, np.generic) else label


def as_matrix(X: Any, names: Sequence[str]) -> FloatArray:
    """Features as float64 (n_samples, n_features); columns of a frame are matched by name."""
    X = moments_as_numbers(as_pandas(X))
    if isinstance(X, pd.DataFrame):
        frame = X.set_axis([str(c) for c in X.columns], axis=1)
        repeated = sorted({c for c in frame.columns if list(frame.columns).count(c) > 1})
        if repeated:
            raise InputError(
                f"Column names must be distinct; repeated: [{listed(repeated)}]. Rename or drop the copies."
            )
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise InputError(f"Columns [{listed(absent)}] are absent; the data have [{listed(frame.columns)}].")
        # A column without any value has no type of its own: as a file's column it comes in as text.
        empty = {name: np.nan for name in names if len(frame) and frame[name].isna().all()}
        frame = with_columns(frame, empty)
        bad = [name for name in names if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
        if bad:
            raise InputError(
                f"Columns [{listed(bad)}] are not numeric; Gaussian mixtures need numbers. Encode or drop them."
            )
        x = frame[list(names)].to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        try:
            x = np.array(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"X must hold numbers only: {error}. Encode or drop the other columns.") from error
    if x.ndim != 2:
        raise InputError(f"X must be two-dimensional (n_samples, n_features), got shape {x.shape}.")
    if x.shape[1] != len(names):
        raise InputError(f"X has {x.shape[1]} columns; {len(names)} were learned from: [{listed(names)}].")
    with np.errstate(invalid="ignore"):
        too_large = np.argwhere(np.abs(x) > LARGEST)
    if len(too_large):
        row, column = too_large[0]
        raise InputError(
            f"Column {names[column]!r} holds {float(x[row, column])!r} in row {row}; values must be finite and at most "
            f"{LARGEST:g} in size. Rescale or remove it."
        )
    # Sums round by the order of the cells in memory: a frame and the array of its values have to give the same model.
    return np.ascontiguousarray(x)


def _names_of(X: Any) -> tuple[str, ...]:
    if isinstance(X, pd.DataFrame):
        names = tuple(str(c) for c in X.columns)
    else:
        shape = np.shape(X)
        if len(shape) != 2:
            raise InputError(f"X must be two-dimensional (n_samples, n_features), got shape {shape}.")
        names = tuple(f"x{j}" for j in range(shape[1]))
    if not names:
        raise InputError("X has no columns; nothing can be learned from it.")
    return names


def _refuse_missing(x: FloatArray, names: Sequence[str], missing: str) -> None:
    if not len(x):
        raise InputError("X has no rows; nothing can be learned from it.")
    absent = np.isnan(x).sum(axis=0)
    if absent.any() and missing == "error":
        counted = [f"{shown(name)} ({count})" for name, count in zip(names, absent, strict=True) if count]
        told = listed(counted, show=str)
        raise InputError(
            f"Missing values (NaN) in column {told}; fill them, drop the rows, or sum them out of the densities with "
            'missing="marginalize".'
        )
    empty = [name for name, count in zip(names, absent, strict=True) if count == len(x)]
    if empty:
        raise InputError(f"Columns [{listed(empty)}] have no value at all; drop them.")


def _labels(y: Any, n_samples: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    try:
        given = np.asarray(y)
    except ValueError as error:
        raise InputError(f"y must hold one label a row: {error}.") from None
    if given.ndim != 1 and given.shape[1:] != (1,):
        raise InputError(f"y must hold one label a row, shape ({n_samples},), got shape {given.shape}.")
    labels = pd.Series(given.ravel())
    if len(labels) != n_samples:
        raise InputError(f"y has {len(labels)} labels for {n_samples} rows of X.")
    if labels.isna().any():
        raise InputError(f"y has {int(labels.isna().sum())} missing labels; label or remove these rows.")
    classes, codes = np.unique(np.asarray(y).ravel(), return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"y holds one class only, {shown(plain(classes[0]))}; margins need at least two classes. Check the labels."
        )
    return classes, codes.astype(np.intp)
