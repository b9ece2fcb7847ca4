"""A column of numbers as a variable whose states are the intervals between its cut points."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.data._mdlp import interval_labels, mdlp_cut_points
from mmbn_opt.data.variable import MISSING_LABEL, DiscreteVariable

__all__ = ["cut_variable"]


def cut_variable(
    name: str,
    numbers: FloatArray,
    codes: NDArray[np.integer[Any]],
    n_classes: int,
    weight: FloatArray,
    *,
    has_missing: bool,
    text: Callable[[float], str] | None = None,
) -> DiscreteVariable:
    """The variable of a column, cut so that its intervals tell the classes apart.

    Parameters
    ----------
    name : str
    numbers : float64 array (n_samples,)
        NaN where a cell is missing.
    codes : int array (n_samples,)
        Of the classes.
    n_classes : int
    weight : float64 array (n_samples,)
    has_missing : bool
        Whether missing cells have a state of their own, the last one.
    text : callable or None
        How a cut is written where that tells all intervals apart; by default as a number.

    Examples
    --------
    >>> import numpy as np
    >>> numbers, codes = np.arange(1.0, 9.0), np.repeat([0, 1], 4)
    >>> cut_variable("size", numbers, codes, 2, np.ones(8), has_missing=False).states
    ('(-inf, 4.5]', '(4.5, inf)')
    """
    cuts = mdlp_cut_points(numbers, codes, n_classes, weight)
    labels = interval_labels(cuts)
    if text is not None and len(set(told := interval_labels(cuts, text))) == len(labels):
        labels = told
    states = (*labels, MISSING_LABEL) if has_missing else labels
    return DiscreteVariable(name, states, tuple(map(float, cuts)), has_missing)
