"""A number of each row, said as one for all, as one for each class, or row by row."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arguments import checked_number, listed, shown
from ..._arrays import FloatArray
from ...data.cells import as_state
from ...data.discrete import DiscreteDataset
from ...exceptions import InputError
from ...scores.row_sums import RowNumbers

__all__ = ["Merged", "RowValues", "row_numbers", "row_values"]

RowValues = float | Mapping[Any, float] | Sequence[float] | FloatArray
"""One number, a mapping from each class's label, or one number a row."""


def row_numbers(name: str, value: RowValues, data: DiscreteDataset, *, zero: bool) -> RowNumbers:
    """The number of each row, as it was said.

    Parameters
    ----------
    name : str
        Of the argument.
    value : float, mapping from labels, or one number a row
    data : DiscreteDataset
    zero : bool
        Whether 0 is allowed.

    Raises
    ------
    InputError
        For classes that are unknown or left out, another number of rows, and numbers out of range.
    """
    expected = f"finite numbers {'>= 0' if zero else '> 0'}"

    def number(what: str, one: Any) -> float:
        return float(checked_number(what, one, open_low=not zero, open_high=True, expected=expected))

    if isinstance(value, Mapping):
        labels = [as_state(state) for state in data.target.states]
        given = {as_state(label): one for label, one in value.items()}
        if unknown := [label for label in given if label not in labels]:
            raise InputError(f"{name} names [{listed(unknown)}], and the classes are [{listed(labels)}].")
        if missing := [label for label in labels if label not in given]:
            raise InputError(f"{name} says nothing of [{listed(missing)}]: it needs a number for each class.")
        return RowNumbers(np.array([number(f"{name}[{shown(label)}]", given[label]) for label in labels]), "class")
    if np.ndim(value) > 0:  # a list, an array, a pandas Series
        rows = list(np.asarray(value))
        if len(rows) != data.n_samples:
            raise InputError(f"{name} has {len(rows):,} numbers, and the data {data.n_samples:,} rows; give one a row.")
        each = (number(f"{name} of row {row}", one) for row, one in enumerate(rows))
        return RowNumbers(np.fromiter(each, dtype=np.float64, count=len(rows)), "row")
    return RowNumbers(np.array([number(name, value)]), "all")


def row_values(name: str, value: RowValues, data: DiscreteDataset, *, zero: bool) -> FloatArray:
    """The number of each row, shape (n_samples,); see `row_numbers`.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"], ["b"]], ["ill", "well", "ill"])
    >>> row_values("gamma", {"ill": 4.0, "well": 1.0}, data, zero=False).tolist()
    [4.0, 1.0, 4.0]
    """
    numbers = row_numbers(name, value, data, zero=zero).of(data.target_codes, slice(None))
    return np.full(data.n_samples, numbers, dtype=np.float64)


class Merged:
    """Rows merged where they are equal and a number of theirs is.

    Parameters
    ----------
    data : DiscreteDataset
    gamma : float64 array (n_samples,)

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a"], ["a"], ["a"], ["b"]], ["y", "y", "y", "n"])
    >>> merged = Merged(data, np.array([1.0, 2.0, 1.0, 1.0]))
    >>> merged.data.sample_weight.tolist(), merged.gamma.tolist(), merged.first.tolist()
    ([1.0, 2.0, 1.0], [1.0, 1.0, 2.0], [3, 0, 1])
    """

    def __init__(self, data: DiscreteDataset, gamma: FloatArray) -> None:
        self._data = data
        rank = np.unique(gamma, return_inverse=True)[1].ravel()
        table = np.column_stack([data.target_codes, data.codes, rank])
        # In the order of `DiscreteDataset.aggregate`, which knows no numbers beside the rows.
        _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
        self.first: NDArray[np.intp] = first
        self._inverse = inverse.ravel()
        self.gamma: FloatArray = gamma[first]

    def summed(self, numbers: FloatArray) -> FloatArray:
        """The sum of the numbers of the rows that were merged."""
        return np.asarray(np.bincount(self._inverse, weights=numbers, minlength=len(self.first)), dtype=np.float64)

    @cached_property
    def data(self) -> DiscreteDataset:
        """The merged rows, with the sum of their weights."""
        return replace(
            self._data,
            codes=np.asfortranarray(self._data.codes[self.first]),
            target_codes=self._data.target_codes[self.first],
            sample_weight=self.summed(self._data.sample_weight),
        )
