"""Values of a program's columns from elsewhere: a vector, a list, or a mapping from names."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._arguments import described, listed, shown
from .._arrays import FloatArray
from ..exceptions import InputError

__all__ = ["given_values"]


def given_values(values: Any, names: Sequence[str]) -> FloatArray:
    """The values of the first columns of a program, those that are called `names`.

    Parameters
    ----------
    values : array-like or mapping
        One for each of these columns, in their order, and of any that follow; or by name, 0 where a name is missing. A
        Series is taken by name where its index holds texts.
    names : sequence of str

    Raises
    ------
    InputError
        For an unknown name, too few values, and values that are no finite numbers.

    Examples
    --------
    >>> given_values([0, 1, 7], ["a", "b"]).tolist(), given_values({"b": 1}, ["a", "b"]).tolist()
    ([0.0, 1.0], [0.0, 1.0])
    """
    if _is_series(values) and all(isinstance(name, str) for name in values.index):
        values = values.to_dict()
    if isinstance(values, Mapping):
        known = set(names)
        taken = {name: value for name, value in values.items() if name in known}
        if not taken:
            raise InputError(f"None of the names [{listed(values, 3)}] is a column; columns are [{listed(names, 3)}].")
        values = [taken.get(name, 0.0) for name in names]
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"values must be numbers, one a column, or a mapping from names; got {described(values)}."
        ) from None
    if vector.ndim != 1 or len(vector) < len(names):
        raise InputError(
            f"values must be at least {len(names):,} numbers, one for each of the first columns of the program; got "
            f"an array of shape {vector.shape}."
        )
    vector = vector[: len(names)]
    if len(bad := np.flatnonzero(~np.isfinite(vector))):
        raise InputError(f"The value of {shown(names[int(bad[0])])} is {vector[bad[0]]}; it must be a finite number.")
    return vector


def _is_series(values: Any) -> bool:
    """Whether it is a Series, found without pandas."""
    return hasattr(values, "index") and hasattr(values, "to_dict") and getattr(values, "ndim", 0) == 1
