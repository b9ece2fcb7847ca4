"""A discrete variable: its name, its state labels in order, and how raw values become codes."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown
from mmbn_opt._arrays import Int32Array
from mmbn_opt.data.cells import as_state, finite_numbers
from mmbn_opt.exceptions import InputError

__all__ = ["MISSING_LABEL", "DiscreteVariable"]

MISSING_LABEL = "<missing>"
"""Label of the state that stands for a missing cell under ``missing="state"``."""

Unseen = Literal["error", "missing"]


@dataclass(frozen=True)
class DiscreteVariable:
    """A named variable with finitely many states.

    Parameters
    ----------
    name : str
    states : tuple of hashable
        Labels in code order; kept as they came (str, int, bool, float, pandas.Interval, ...).
    cuts : tuple of float or None
        For a discretized numeric column: state k is the interval ``(cuts[k-1], cuts[k]]``.
    has_missing_state : bool
        Whether the last state stands for a missing cell.

    Examples
    --------
    >>> colour = DiscreteVariable("colour", ("blue", "red"))
    >>> colour.encode(["red", None, "blue"]).tolist()
    [1, -1, 0]
    >>> width = DiscreteVariable("width", ("(-inf, 0.5]", "(0.5, inf)"), cuts=(0.5,))
    >>> width.encode([0.5, 0.6]).tolist()
    [0, 1]
    """

    name: str
    states: tuple[Hashable, ...]
    cuts: tuple[float, ...] | None = None
    has_missing_state: bool = False

    def __post_init__(self) -> None:
        if not self.states:
            raise InputError(f"Column {shown(self.name)} has no states: every cell is missing. Drop the column.")
        if len(set(self.states)) != len(self.states):
            raise InputError(f"Column {shown(self.name)} lists a state twice: {listed(self.states)}.")
        if self.cuts is not None:
            expected = len(self.cuts) + 1 + self.has_missing_state
            if len(self.states) != expected:
                raise InputError(
                    f"Column {shown(self.name)}: {len(self.cuts)} cut points need {expected} states, got "
                    f"{len(self.states)}."
                )
            if list(self.cuts) != sorted(set(self.cuts)):
                raise InputError(
                    f"Column {shown(self.name)}: cut points must be strictly increasing, got {listed(self.cuts)}."
                )

    @property
    def cut_texts(self) -> tuple[str, ...]:
        """Cut points as the states tell them: numbers, or moments where these are what was cut."""
        return tuple(str(s).rpartition(", ")[2].rstrip("])") for s in self.states[: len(self.cuts or ())])

    @property
    def cardinality(self) -> int:
        """Number of states."""
        return len(self.states)

    @classmethod
    def infer(cls, name: str, values: Any, *, missing_state: bool = False) -> "DiscreteVariable":
        """Read the states off a column: declared categories in their order, else the observed values sorted."""
        series = values if isinstance(values, pd.Series) else pd.Series(values)
        if isinstance(series.dtype, pd.CategoricalDtype):
            states = tuple(as_state(v) for v in series.cat.categories)
        else:
            states = _sorted_labels(as_state(v) for v in _factorized(name, series)[1])
        if missing_state and bool(series.isna().any()):
            return cls(name, (*states, MISSING_LABEL), has_missing_state=True)
        return cls(name, states)

    def extended(self, values: Any, *, missing_state: bool = False) -> "DiscreteVariable":
        """The variable with the further labels of a column; one with cut points keeps its states.

        States in ascending order stay so, as if the column had been read with the rows before; declared ones come
        first.

        Examples
        --------
        >>> DiscreteVariable("colour", ("blue", "red")).extended(["green", "red"]).states
        ('blue', 'green', 'red')
        >>> DiscreteVariable("size", ("small", "large")).extended(["huge"]).states
        ('small', 'large', 'huge')
        """
        series = values if isinstance(values, pd.Series) else pd.Series(values)
        known = self.states[:-1] if self.has_missing_state else self.states
        if self.cuts is None:
            new = pd.Series(series.dropna().unique(), dtype=object)
            new = new[DiscreteVariable(self.name, known).encode(new, unseen="missing") < 0]
            further = tuple(as_state(value) for value in new)
            if further and known == _sorted_labels(known):
                known = _sorted_labels((*known, *further))
            else:
                known = (*known, *_sorted_labels(further))
        if self.has_missing_state or (missing_state and bool(series.isna().any())):
            return DiscreteVariable(self.name, (*known, MISSING_LABEL), self.cuts, True)
        return DiscreteVariable(self.name, known, self.cuts)

    def encode(self, values: Any, *, unseen: Unseen = "error") -> Int32Array:
        """Codes of raw values, shape (n,), int32; -1 where missing (unless that is a state) or never seen.

        Parameters
        ----------
        values : array-like of labels, or of numbers when the variable has cut points
        unseen : {"error", "missing"}
            What to do with a label that is not among the states: refuse it, or code it -1.
        """
        series = values if isinstance(values, pd.Series) else pd.Series(values)
        return self._encode_numbers(series) if self.cuts is not None else self._encode_labels(series, unseen)

    def decode(self, codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Labels of codes; the array has the labels' own type."""
        decoded: NDArray[Any] = self.labels[codes]
        return decoded

    @property
    def labels(self) -> NDArray[Any]:
        """States as an array: bool, int or float where all labels are of that type, else object."""
        kinds = {type(s) for s in self.states}
        if len(kinds) == 1 and kinds <= {bool, int, float}:
            return np.array(self.states)
        out = np.empty(len(self.states), dtype=object)
        out[:] = self.states
        return out

    def _encode_labels(self, series: pd.Series, unseen: Unseen) -> Int32Array:
        codes, uniques = _factorized(self.name, series)
        exact = {state: k for k, state in enumerate(self.states)}
        by_token = _token_index(self.states)
        table = np.full(len(uniques) + 1, -1, dtype=np.int32)
        table[-1] = self._missing_code
        unknown: list[Hashable] = []
        for k, value in enumerate(uniques):
            label = as_state(value)
            code = exact.get(label)
            if code is None or isinstance(label, bool) != isinstance(self.states[code], bool):
                code = by_token.get(_token(label))
            if code is None:
                unknown.append(label)
            else:
                table[k] = code
        if unknown and unseen == "error":
            raise InputError(
                f"Column {shown(self.name)} holds {listed(unknown, 5)}, never seen in training; known states: "
                f"{listed(self.states, 12)}. "
                'Correct the value, or pass unseen="missing" to treat it as missing.'
            )
        encoded: Int32Array = table[codes]
        return encoded

    def _encode_numbers(self, series: pd.Series) -> Int32Array:
        assert self.cuts is not None
        cure = (
            "Correct or remove the value, or have it read as missing: na_values of read_table (--na on the command "
            "line)."
        )
        numbers = finite_numbers(self.name, series, cure)
        codes = np.searchsorted(np.asarray(self.cuts, dtype=np.float64), numbers, side="left").astype(np.int32)
        codes[np.isnan(numbers)] = self._missing_code
        return codes

    @property
    def _missing_code(self) -> int:
        return len(self.states) - 1 if self.has_missing_state else -1


def _factorized(name: str, series: pd.Series) -> tuple[NDArray[Any], Any]:
    """Numbers of the different labels, -1 for a missing cell, and the labels."""
    try:
        return pd.factorize(series, use_na_sentinel=True)
    except TypeError:
        for row, cell in series.items():
            try:
                hash(cell)
            except TypeError:
                raise InputError(
                    f"Column {name!r} holds a {type(cell).__name__} in row {row!r}: {str(cell)[:60]}. A cell must be "
                    "one label or number; give its parts columns of their own, or turn it into text."
                ) from None
        raise


def _token(label: Hashable) -> str:
    """Text under which '2', 2 and 2.0 meet, or a day and its moment: one file's numbers are another file's text."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    if isinstance(label, pd.Timestamp) and label.tz is None:
        return str(label).removesuffix(" 00:00:00")  # in any year, also where Python's own dates end
    return str(label)


def _token_index(states: Sequence[Hashable]) -> dict[str, int]:
    tokens = [_token(s) for s in states]
    return (
        {t: k for k, t in enumerate(tokens) if tokens.count(t) == 1}
        if len(set(tokens)) < len(tokens)
        else dict(zip(tokens, range(len(tokens)), strict=True))
    )


def _sorted_labels(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    found = list(labels)
    try:
        return tuple(sorted(found))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(found, key=lambda v: (type(v).__name__, str(v))))
