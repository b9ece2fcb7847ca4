"""Sequences of positions, each with discrete observations and a label, as codes beside the names they stand for."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, check_fields, listed, shown
from mmbn_opt._arrays import IntArray
from mmbn_opt.data._sequence_input import joined_labels, joined_observations, sorted_groups
from mmbn_opt.data.discrete import encode_features, named_by_text
from mmbn_opt.data.inspection import refuse_fractions
from mmbn_opt.data.unseen import Unseen
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.data.windows import Window, checked_window, windowed_codes, windowed_names
from mmbn_opt.exceptions import InputError

__all__ = [
    "SequenceDataset",
    "encode_sequences",
    "grouped_frame",
    "joined_labels",
]

logger = logging.getLogger(__name__)

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SequenceDataset:
    """Label sequences with discrete observations at each position.

    Parameters
    ----------
    codes : int32 array (n_positions, n_features)
        State numbers of all sequences, one after the other; -1 marks a missing cell.
    label_codes : int32 array (n_positions,)
    starts : int64 array (n_sequences + 1,)
        Where each sequence begins, and the end.
    features : tuple of DiscreteVariable
    target : DiscreteVariable
        The label.
    window : (int, int)
        Observations of so many positions before and after count at each position too (Guo et al. 2005, Figure 8);
        beyond the ends of a sequence they are missing.

    Notes
    -----
    The term of a missing cell is left out of the score of a labelling; in a normalised model that is to sum it out.

    Examples
    --------
    >>> data = SequenceDataset.from_lists([["a", "b", "a"], ["b"]], [["X", "Y", "X"], ["Y"]])
    >>> data
    SequenceDataset(2 sequences of 1 to 3 positions, 4 in all, 1 feature, 2 labels)
    >>> data.features[0].states, data.codes.ravel().tolist()
    (('a', 'b'), [0, 1, 0, 1])
    >>> data.with_window(1, 0).observed_names
    ('x0[-1]', 'x0')
    """

    codes: Codes
    label_codes: Codes
    starts: IntArray = field(repr=False)
    features: tuple[DiscreteVariable, ...]
    target: DiscreteVariable
    window: Window = (0, 0)

    def __post_init__(self) -> None:
        check_fields(self)
        n = len(self.label_codes) if self.label_codes.ndim == 1 else -1
        if self.codes.shape != (n, len(self.features)) or self.starts.ndim != 1 or len(self.starts) < 2:
            raise InputError(
                f"SequenceDataset shapes disagree: codes {self.codes.shape}, labels {self.label_codes.shape}, "
                f"{len(self.features)} features, starts {self.starts.shape}."
            )
        if any(a.dtype.kind not in "iu" for a in (self.codes, self.label_codes, self.starts)):
            raise InputError("codes, label_codes and starts must be arrays of whole numbers.")
        sizes = np.array([v.cardinality for v in self.features])
        if (self.codes < -1).any() or (self.codes >= sizes).any():
            raise InputError("codes must lie between -1 (missing) and the number of states of their feature less 1.")
        if (self.label_codes < 0).any() or (self.label_codes >= self.target.cardinality).any():
            raise InputError(
                f"label_codes must lie between 0 and {self.target.cardinality - 1}; every position has one."
            )
        if self.starts[0] != 0 or self.starts[-1] != n or (np.diff(self.starts) < 1).any():
            raise InputError("starts must rise from 0 to the number of positions: every sequence has a position.")
        checked_window(self.window)

    def __repr__(self) -> str:
        low, high = int(self.lengths.min()), int(self.lengths.max())
        of = f"{low}" if low == high else f"{low} to {high}"
        window = f", window {self.window}" if any(self.window) else ""
        return (
            f"SequenceDataset({self.n_sequences} sequence{'s' * (self.n_sequences > 1)} of {of} positions, "
            f"{self.n_positions} in all, {len(self.features)} feature{'s' * (len(self.features) > 1)}, "
            f"{self.n_labels} labels{window})"
        )

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.starts) - 1

    @property
    def n_positions(self) -> int:
        """Number of positions of all sequences."""
        return len(self.label_codes)

    @property
    def n_labels(self) -> int:
        """Number of different labels."""
        return self.target.cardinality

    @property
    def lengths(self) -> IntArray:
        """Number of positions of each sequence."""
        return np.diff(self.starts)

    @property
    def n_missing(self) -> int:
        """Missing cells, those beyond the ends of a sequence not counted."""
        return int((self.codes < 0).sum())

    @cached_property
    def observed_codes(self) -> Codes:
        """Codes of all observations that count at a position, those of the window included."""
        return windowed_codes(self.codes, self.starts, self.window)

    @property
    def observed_names(self) -> tuple[str, ...]:
        """Names of the observations that count at a position, such as ``x0[-1]`` for the one before."""
        return windowed_names([v.name for v in self.features], self.window)

    @property
    def observed_cardinalities(self) -> tuple[int, ...]:
        """Symbols of each of them."""
        return tuple(v.cardinality for v in self.features) * (1 + sum(self.window))

    @classmethod
    def from_lists(
        cls,
        X: Any,
        y: Any,
        *,
        feature_names: Sequence[str] | None = None,
        label_name: str = "label",
        window: Window = (0, 0),
    ) -> "SequenceDataset":
        """From a list of sequences and a list of their labels.

        Parameters
        ----------
        X : list of sequences
            Each an array (L, n_features) of labels, a list of L symbols (one feature), a text (a symbol a character), a
            table with named columns, or a list of L mappings from feature to symbol. None and NaN are missing cells.
        y : list of label sequences
            As long as those of X.
        feature_names : sequence of str or None
            ``x0, x1, ...`` unless the sequences have names themselves.
        label_name : str
        window : (int, int)

        Raises
        ------
        InputError
            An empty sequence, sequences of X and y of unequal length or number, a missing label, other features in one
            sequence than in the first, quantities in place of symbols; each with the number of the sequence.
        """
        check_arguments(cls.from_lists, locals())
        frame, starts = joined_observations(X, feature_names)
        labels = joined_labels(y, starts, label_name)
        return cls._of(frame, labels, starts, label_name, window)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str,
        *,
        group: str,
        order: str | None = None,
        features: Iterable[str] | None = None,
        window: Window = (0, 0),
    ) -> "SequenceDataset":
        """From a long table: a row a position.

        Parameters
        ----------
        frame : DataFrame (pandas, polars, pyarrow, ...)
        target : str
            Column of the labels.
        group : str
            Column that tells the sequences apart; they come in the order of their first rows.
        order : str or None
            Column by which the rows of a sequence are sorted; None takes them as they stand.
        features : iterable of str or None
            Columns of the observations; all others by default.
        window : (int, int)

        Raises
        ------
        InputError
            Unknown columns, a missing group, place or label, the same place twice in a group.

        Examples
        --------
        >>> table = pd.DataFrame({"word": [1, 1, 2], "place": [1, 0, 0], "seen": list("bac"), "label": list("YXX")})
        >>> data = SequenceDataset.from_frame(table, "label", group="word", order="place")
        >>> data.decode(data.label_codes)
        [['X', 'Y'], ['X']]
        """
        check_arguments(cls.from_frame, locals())
        frame, starts = sorted_groups(
            named_by_text(frame), str(target), str(group), None if order is None else str(order)
        )
        rest = [c for c in frame.columns if c not in {str(target), str(group), str(order)}]
        wanted = rest if features is None else [str(c) for c in features]
        absent = [c for c in wanted if c not in frame.columns]
        if absent:
            raise InputError(
                f"features names unknown columns [{listed(absent)}]; the table has [{listed(frame.columns)}]."
            )
        if not wanted:
            raise InputError("There is no column of observations beside label, group and order; features names them.")
        return cls._of(frame[wanted], frame[str(target)], starts, str(target), window)

    @classmethod
    def _of(
        cls, frame: pd.DataFrame, labels: pd.Series, starts: IntArray, label_name: str, window: Window
    ) -> "SequenceDataset":
        refuse_fractions(label_name, labels)
        for name in frame.columns:
            refuse_fractions(name, frame[name])
        variables = tuple(DiscreteVariable.infer(name, frame[name]) for name in frame.columns)
        target = DiscreteVariable.infer(label_name, labels)
        codes = encode_features(frame, variables)
        data = cls(codes, target.encode(labels), starts, variables, target, checked_window(window))
        if data.n_missing:
            logger.warning(
                "%d of %d cells are missing; their terms are left out of the scores", data.n_missing, codes.size
            )
        return data

    def with_window(self, before: int, after: int) -> "SequenceDataset":
        """The same sequences, with observations of the positions before and after counted at each position."""
        return replace(self, window=checked_window((before, after)))

    def subset(self, sequences: Any) -> "SequenceDataset":
        """Some of the sequences (numbers or a mask), all labels and symbols kept."""
        chosen = np.arange(self.n_sequences)[sequences]
        if not len(chosen):
            raise InputError("No sequence is left; name at least one.")
        rows = np.concatenate([np.arange(self.starts[i], self.starts[i + 1]) for i in chosen])
        starts = np.concatenate([[0], np.cumsum(self.lengths[chosen])]).astype(np.int64)
        return replace(self, codes=self.codes[rows], label_codes=self.label_codes[rows], starts=starts)

    def decode(self, codes: Any) -> list[list[Any]]:
        """Labels of codes of all positions, a list for each sequence."""
        labels = self.target.labels[codes]
        return [labels[a:b].tolist() for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def require_learnable(self) -> None:
        """Raise `InputError` unless there are two labels."""
        found = np.unique(self.label_codes)
        if len(found) < 2:
            raise InputError(
                f"y holds one label only, {shown(self.target.states[int(found[0])])}, at {self.n_positions} positions; "
                "margins need at least two labels. Check the labels."
            )


def grouped_frame(frame: Any, group: str, order: str | None = None) -> tuple[pd.DataFrame, IntArray]:
    """Rows of a long table sequence by sequence, and where each begins; as `SequenceDataset.from_frame`, no labels.

    Examples
    --------
    >>> table = pd.DataFrame({"word": [2, 1, 2], "seen": ["a", "b", "c"]})
    >>> rows, starts = grouped_frame(table, "word")
    >>> rows["seen"].tolist(), starts.tolist()
    (['a', 'c', 'b'], [0, 2, 3])
    """
    return sorted_groups(named_by_text(frame), None, str(group), None if order is None else str(order))


def encode_sequences(
    X: Any, features: Sequence[DiscreteVariable], *, unseen: Unseen = "warn"
) -> tuple[Codes, IntArray]:
    """Codes of raw sequences by known variables, and where each begins.

    Parameters
    ----------
    X : list of sequences, or SequenceDataset
        As in `SequenceDataset.from_lists`. A data set counts by its labels, not by its codes.
    features : sequence of DiscreteVariable
    unseen : {"warn", "missing", "error"}
        Symbols never seen count as missing, with or without a warning, or are refused.
    """
    if isinstance(X, SequenceDataset):
        if X.features == tuple(features):
            return X.codes, X.starts
        cells = {v.name: _labels_of(v, X.codes[:, j]) for j, v in enumerate(X.features)}
        return encode_features(pd.DataFrame(cells), features, unseen=unseen), X.starts
    frame, starts = joined_observations(X, [v.name for v in features], training=False)
    return encode_features(frame, features, unseen=unseen), starts


def _labels_of(variable: DiscreteVariable, codes: Codes) -> NDArray[Any]:
    labels = np.empty(variable.cardinality + 1, dtype=object)
    labels[:-1] = variable.states
    found: NDArray[Any] = labels[codes]  # the last one, None, is what -1 looks up
    return found
