"""Weights of rows: what may be one, and how many rows they stand for."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import is_number, listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.cells import as_state
from mmbn_opt.exceptions import InputError

__all__ = ["as_counts", "checked_weight", "class_weights", "row_weights", "whole_counts"]

LARGEST_MULTIPLE = 100
"""Counts that somebody divided by their sum are rarely larger; what a boosting step multiplies by often is."""

MOST_ROWS = 2.0**53


def checked_weight(sample_weight: Any, n_rows: int) -> FloatArray:
    """Weights as float64 (n_rows,), ones by default; `InputError` names the first bad one."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight must be one number a row, got {sample_weight!r:.60}: {error}.") from None
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {weight.shape}; it needs one number for each of the {n_rows} rows.")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise InputError(
            f"sample_weight must be finite and >= 0; row {bad[0]} has {float(weight[bad[0]])!r} ({len(bad)} such rows)."
            " Use 0 to leave a row out."
        )
    return weight


def row_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Weights (n_rows,) as scikit-learn takes them: ones by default, one number for all; at least one is positive."""
    if sample_weight is not None and np.asarray(sample_weight).ndim == 0:
        sample_weight = [sample_weight] * n_rows
    weight = checked_weight(sample_weight, n_rows)
    if n_rows and not weight.any():
        raise InputError(
            "sample_weight is zero in every row, so that no sample of any class is left to learn from (no non-zero "
            "sample weights)."
        )
    return weight


def as_counts(weight: FloatArray) -> FloatArray:
    """Weights as numbers of rows, since log N, a stopping rule and pseudo-counts need to know how many rows there are.

    Whole numbers are counts: weight 2 is the row twice. Other weights are known up to a factor: where all of them are
    whole multiples of the smallest (1/150 each, or counts that were divided by their sum) they are counts in its unit,
    and else they are scaled to a mean of 1 over the rows of positive weight. A factor that leaves fractions thus
    changes nothing. (A double above 2^53 is always whole, and says nothing by it.)

    Parameters
    ----------
    weight : float64 array (n_rows,)
        Finite and not negative.

    Examples
    --------
    >>> as_counts(np.array([2.0, 0.0, 1.0])).tolist(), as_counts(np.array([0.2, 0.0, 0.1])).tolist()
    ([2.0, 0.0, 1.0], [2.0, 0.0, 1.0])
    >>> as_counts(np.array([0.3, 0.0, 0.2])).tolist()
    [1.2, 0.0, 0.8]
    """
    positive = weight[weight > 0]
    if not positive.size or bool((positive == np.round(positive)).all() and positive.max() < MOST_ROWS):
        return weight
    # Divided by a weight before anything is summed: 1e-320 each or 1e308 each are weights too.
    ratio = weight / positive.max()
    smallest = float(ratio[weight > 0].min())
    if smallest * LARGEST_MULTIPLE >= 0.5:
        multiple: FloatArray = np.round(ratio / smallest)
        if multiple.max() <= LARGEST_MULTIPLE and np.allclose(ratio, multiple * smallest, rtol=1e-9, atol=0.0):
            return multiple
    scaled: FloatArray = ratio * (positive.size / ratio.sum())
    return scaled


def whole_counts(weight: FloatArray, *, per_row: int = 4, labels: NDArray[Any] | None = None) -> FloatArray:
    """Weights as whole numbers of rows, for programs that know rows only.

    Counts stay what they are (see `as_counts`); others become the nearest whole numbers that add up to `per_row` times
    the rows of positive weight, largest remainders first, so that a weight is met to within a row of these. With
    `labels`, a class whose rows would all go keeps those of positive weight once.

    Examples
    --------
    >>> whole_counts(np.array([0.3, 0.0, 0.2]), per_row=5).tolist()
    [6.0, 0.0, 4.0]
    """
    counts = as_counts(weight)
    if (counts == np.round(counts)).all():
        return counts
    wanted = counts * per_row
    whole: FloatArray = np.floor(wanted)
    missing = round(float(wanted.sum() - whole.sum()))
    largest: NDArray[np.intp] = np.argsort(whole - wanted, kind="stable")[:missing]
    whole[largest] += 1.0
    for label in () if labels is None else np.unique(labels):
        rows = labels == label
        if not whole[rows].any():
            whole[rows & (weight > 0)] = 1.0
    return whole


def class_weights(class_weight: Any, labels: Any, weight: FloatArray) -> FloatArray:
    """Weights of rows times those of their classes.

    Parameters
    ----------
    class_weight : mapping of label to weight, or "balanced"
        Classes that a mapping leaves out have weight 1. "balanced" gives every class the same total weight.
    labels : array (n_samples,)
    weight : float64 array (n_samples,)

    Raises
    ------
    InputError

    Examples
    --------
    >>> class_weights("balanced", np.array(["a", "b", "b", "b"]), np.ones(4)).round(3).tolist()
    [2.0, 0.667, 0.667, 0.667]
    >>> class_weights({"a": 5}, np.array(["a", "b"]), np.ones(2)).tolist()
    [5.0, 1.0]
    """
    found, codes = np.unique(labels, return_inverse=True)
    if isinstance(class_weight, str) and class_weight == "balanced":
        total = np.bincount(codes.ravel(), weights=weight, minlength=len(found))
        with np.errstate(divide="ignore"):
            factor = weight.sum() / (len(found) * total)
        return np.asarray(weight * np.where(total > 0, factor, 0.0)[codes.ravel()])
    if not isinstance(class_weight, Mapping):
        raise InputError(
            f'class_weight must be "balanced", a mapping of label to weight, or None, got {shown(class_weight)}.'
        )
    known = {as_state(label): k for k, label in enumerate(found.tolist())}
    factor = np.ones(len(found))
    unknown = []
    for label, value in class_weight.items():
        if not is_number(value) or not 0.0 <= value < np.inf:
            raise InputError(f"The class weight of {shown(label)} must be a finite number >= 0, got {shown(value)}.")
        if as_state(label) in known:
            factor[known[as_state(label)]] = float(value)
        else:
            unknown.append(label)
    # A part of the rows may lack a class; a label that is misspelt leaves another one without a weight.
    if unknown and len(class_weight) - len(unknown) < len(found):
        raise InputError(f"class_weight names [{listed(unknown)}]; the classes are [{listed(found.tolist())}].")
    if not factor.any():
        raise InputError("class_weight is 0 for every class, so that no row is left to learn from.")
    return np.asarray(weight * factor[codes.ravel()])
