"""Hidden Markov models as classifiers of sequences: tables on a chain of labels, normalised or not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, check_fields, checked_number
from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt._lazy import delegate
from mmbn_opt.data.sequences import SequenceDataset, encode_sequences, joined_labels
from mmbn_opt.data.unseen import Unseen
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.data.windows import Window, checked_window, windowed_codes, windowed_names
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.chain_normalization import normalized_tables
from mmbn_opt.networks.chain_sampling import drawn_positions
from mmbn_opt.networks.draws import RandomState, generator_of
from mmbn_opt.programs.chain_operator import ChainOperator, block_starts, chain_index

__all__ = ["HiddenMarkovClassifier", "SequenceNormalization"]


@dataclass(frozen=True, eq=False)
class HiddenMarkovClassifier:
    """``P(y | x)`` proportional to ``exp`` of the entries that labels and observations look up along a chain.

    ``initial[y_1] + sum_t transition[y_(t-1), y_t] + sum_t sum_f emission_f[y_t, x_tf]``, and ``end[y_L]`` where there
    is an end state. With rows that are logarithms of probabilities this is a hidden Markov model; margin formulations
    return rows that sum to at most 1, Markov networks any rows, and `normalize` makes a hidden Markov model of either
    that has the same ``P(y | x)``. The term of a missing cell is left out, which in a normalised model sums it out.

    Parameters
    ----------
    features : tuple of DiscreteVariable
        What is observed at a position.
    target : DiscreteVariable
        The label.
    log_initial : float64 array (n_labels,)
    log_transition : float64 array (n_labels, n_labels)
        From the row's label to the column's.
    log_emissions : tuple of float64 arrays (n_labels, n_states)
        One for each feature and place of the window: features of the earliest place first.
    log_end : float64 array (n_labels,) or None
    window : (int, int)
        See `SequenceDataset`.

    Examples
    --------
    >>> data = SequenceDataset.from_lists(["aab", "abb", "bba"], ["XXY", "XYY", "YYX"])
    >>> model = HiddenMarkovClassifier.fit(data)
    >>> model.predict(["aabb", "b"])
    [['X', 'X', 'Y', 'Y'], ['Y']]
    >>> model.predict_proba(["ab"])[0].round(3).tolist()
    [[0.897, 0.103], [0.115, 0.885]]
    """

    features: tuple[DiscreteVariable, ...]
    target: DiscreteVariable
    log_initial: FloatArray = field(repr=False)
    log_transition: FloatArray = field(repr=False)
    log_emissions: tuple[FloatArray, ...] = field(repr=False)
    log_end: FloatArray | None = field(default=None, repr=False)
    window: Window = (0, 0)

    def __post_init__(self) -> None:
        check_fields(self)
        checked_window(self.window)
        k, places = self.target.cardinality, 1 + sum(self.window)
        shapes = [(k,), (k, k)] + [(k, v.cardinality) for v in self.features] * places
        tables = [self.log_initial, self.log_transition, *self.log_emissions]
        if self.log_end is not None:
            shapes, tables = [*shapes, (k,)], [*tables, self.log_end]
        found = [np.shape(table) for table in tables]
        if found != shapes:
            raise InputError(
                f"Tables of {k} labels and {len(self.features)} features at {places} places must have the shapes "
                f"{shapes[:6]}, got {found[:6]}."
            )
        if any(np.isnan(table).any() or np.isposinf(table).any() for table in tables):
            raise InputError("A table holds NaN or +inf; entries must be finite, or a probability of zero (-inf).")

    def __repr__(self) -> str:
        window = f", window {self.window}" if any(self.window) else ""
        end = ", end state" if self.log_end is not None else ""
        return (
            f"HiddenMarkovClassifier({self.n_labels} labels, {len(self.features)} "
            f"feature{'s' * (len(self.features) != 1)}{window}{end})"
        )

    @classmethod
    def fit(cls, data: SequenceDataset, smoothing: float = 1.0) -> "HiddenMarkovClassifier":
        """The normalised model of largest likelihood, with a pseudo-count for each entry.

        Parameters
        ----------
        data : SequenceDataset
        smoothing : float
        """
        check_arguments(cls.fit, locals())
        checked_number("smoothing", smoothing, open_high=True)
        index = chain_index(
            data.observed_codes, data.label_codes, data.starts, data.n_labels, data.observed_cardinalities
        )
        rows = block_starts(data.n_labels, data.observed_cardinalities)
        counts = ChainOperator(index, rows).own + float(smoothing)
        sums = np.add.reduceat(counts, rows[:-1])
        sizes = np.diff(rows)
        # A row that nothing was seen of says nothing.
        with np.errstate(divide="ignore", invalid="ignore"):
            w = np.log(counts) - np.repeat(np.log(sums), sizes)
        empty = np.repeat(sums == 0.0, sizes)
        w[empty] = np.repeat(-np.log(sizes), sizes)[empty]
        return cls.of_vector(data.features, data.target, data.window, w)

    @classmethod
    def of_vector(
        cls, features: Sequence[DiscreteVariable], target: DiscreteVariable, window: Window, w: FloatArray
    ) -> "HiddenMarkovClassifier":
        """The model of one vector of all tables, row after row: initial, transitions, emissions."""
        k, places = target.cardinality, 1 + sum(window)
        cards = tuple(v.cardinality for v in features) * places
        ends = np.cumsum([k, k * k, *(k * s for s in cards)])
        if w.shape != (int(ends[-1]),):
            raise InputError(f"The tables have {int(ends[-1])} entries; got a vector of shape {w.shape}.")
        initial, transition, *emissions = np.split(np.array(w, dtype=np.float64), ends[:-1])
        tables = tuple(e.reshape(k, s) for e, s in zip(emissions, cards, strict=True))
        return cls(tuple(features), target, initial, transition.reshape(k, k), tables, window=checked_window(window))

    @cached_property
    def vector(self) -> FloatArray:
        """All tables but the end state as one vector; see `of_vector`."""
        return np.concatenate([self.log_initial, self.log_transition.ravel(), *(t.ravel() for t in self.log_emissions)])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.target.cardinality

    @property
    def classes(self) -> NDArray[Any]:
        """Labels in code order."""
        return self.target.labels

    @property
    def observed_names(self) -> tuple[str, ...]:
        """Names of the observations that the emissions belong to."""
        return windowed_names([v.name for v in self.features], self.window)

    @property
    def row_sums(self) -> FloatArray:
        """Sums of the probabilities of all rows; with an end state, ending counts among the transitions."""
        steps = np.exp(self.log_transition).sum(axis=1)
        if self.log_end is not None:
            steps = steps + np.exp(self.log_end)
        sums = [[np.exp(self.log_initial).sum()], steps, *(np.exp(t).sum(axis=1) for t in self.log_emissions)]
        return np.concatenate(sums)

    @property
    def is_normalized(self) -> bool:
        """Whether every row sums to 1, so that this is a hidden Markov model."""
        return bool((np.abs(self.row_sums - 1.0) <= 1e-9).all())

    # What is asked of sequences.

    def predict(self, X: Any, *, unseen: Unseen = "warn") -> list[list[Any]]:
        """The most probable labels of each sequence, by Viterbi's algorithm.

        Parameters
        ----------
        X : list of sequences, or SequenceDataset
            As in `SequenceDataset.from_lists`.
        unseen : {"warn", "missing", "error"}
            Symbols never seen in training count as missing, with or without a warning, or are refused.
        """
        chains, shift = self._chains(X, unseen)
        return self._as_lists(chains.best(self.vector, shift=shift).paths, chains.index.starts)

    def predict_proba(self, X: Any, *, unseen: Unseen = "warn") -> list[FloatArray]:
        """Posterior of each position's label, an array (length, n_labels) a sequence; columns as in `classes`.

        A sequence that is impossible under every labelling says nothing: all labels are equally probable there.
        """
        chains, shift = self._chains(X, unseen)
        marginals = chains.soft(self.vector, shift=shift).marginals
        marginals[marginals.sum(axis=1) == 0.0] = 1.0
        marginals /= marginals.sum(axis=1, keepdims=True)
        return np.split(marginals, chains.index.starts[1:-1])

    def log_likelihood(self, X: Any, *, unseen: Unseen = "warn") -> FloatArray:
        """``log sum_y exp(score)`` of each sequence, in nats: ``log P(x)`` where the model is normalised."""
        chains, shift = self._chains(X, unseen)
        return chains.soft(self.vector, shift=shift).logs

    def log_joint(self, X: Any, y: Any, *, unseen: Unseen = "warn") -> FloatArray:
        """Score of the given labels of each sequence: ``log P(x, y)`` where the model is normalised."""
        chains, shift = self._chains(X, unseen, y)
        own = chains.own_scores(self.vector)
        return own if shift is None else own + self._at_ends(chains.index.labels, chains.index.starts)

    def log_posterior(self, X: Any, y: Any, *, unseen: Unseen = "warn") -> FloatArray:
        """``log P(y | x)`` of the given labels of each sequence, in nats."""
        return self.log_joint(X, y, unseen=unseen) - self.log_likelihood(X, unseen=unseen)

    def sample(
        self, n: int, length: int | Sequence[int] | None = None, *, random_state: RandomState = None
    ) -> tuple[list[list[list[Any]]], list[list[Any]]]:
        """Draw sequences with their labels from a normalised model.

        Parameters
        ----------
        n : int
        length : int, sequence of n ints, or None
            Of the sequences; None draws it as well, from a model with an end state.
        random_state : int, Generator, RandomState or None

        Returns
        -------
        X : list of n sequences, each a list of positions, each a list of symbols
        y : list of n label sequences

        Raises
        ------
        InputError
            If rows don't sum to 1, or observations count at several positions (a window).

        Examples
        --------
        >>> data = SequenceDataset.from_lists(["aab", "abb", "bba"], ["XXY", "XYY", "YYX"])
        >>> X, y = HiddenMarkovClassifier.fit(data).sample(2, length=3, random_state=0)
        >>> len(X), len(X[0]), len(y[1])
        (2, 3, 3)
        """
        check_arguments(self.sample, locals())
        if not self.is_normalized:
            raise InputError(
                f"Rows of this model sum to {self.row_sums.min():.4g} ... {self.row_sums.max():.4g}, so that there is "
                "nothing to draw from; use normalize().model.sample(...)."
            )
        if any(self.window):
            raise InputError(
                f"With window={self.window} an observation counts at several positions, so that the rows are no "
                "distribution of sequences; draw from a model without a window."
            )
        labels, codes, starts = drawn_positions(
            self.log_initial,
            self.log_transition,
            self.log_emissions,
            self.log_end,
            n,
            length,
            generator_of(random_state),
        )
        cells = [v.labels[codes[:, j]].tolist() for j, v in enumerate(self.features)]
        rows = [list(row) for row in zip(*cells, strict=True)]
        X = [rows[a:b] for a, b in pairwise(starts)]
        return X, self._as_lists(labels, starts)

    def normalize(self, mean_length: float = 10.0) -> "SequenceNormalization":
        """A hidden Markov model with the same ``P(y | x)`` for all sequences without missing cells.

        Parameters
        ----------
        mean_length : float
            About how long sequences of the model are where it needs an end state; it plays no part in ``P(y | x)``.

        Examples
        --------
        >>> data = SequenceDataset.from_lists(["aab", "abb"], ["XXY", "XYY"])
        >>> w = HiddenMarkovClassifier.fit(data).vector - 0.1
        >>> model = HiddenMarkovClassifier.of_vector(data.features, data.target, (0, 0), w)
        >>> done = model.normalize()
        >>> done.form, done.model.is_normalized
        ('without end state', True)
        """
        checked_number("mean_length", mean_length, 1.0, open_low=True, open_high=True)
        tables = normalized_tables(
            self.log_initial, self.log_transition, self.log_emissions, self.log_end, float(mean_length)
        )
        model = HiddenMarkovClassifier(
            self.features, self.target, tables.log_initial, tables.log_transition, tables.log_emissions, tables.log_end,
            self.window,
        )  # fmt: skip
        return SequenceNormalization(model, tables.form, tables.unevenness)

    def save(self, path: str | Path) -> None:
        """Write the model as JSON, whole or not at all; `mmbn_opt.load_model` reads it."""
        delegate("save_sequence_model")(self, path)

    def _chains(self, X: Any, unseen: Unseen, y: Any = None) -> tuple[ChainOperator, FloatArray | None]:
        codes, starts = encode_sequences(X, self.features, unseen=unseen)
        labels = None
        if y is not None:
            labels = self._coded_labels(y, starts)
        cards = tuple(v.cardinality for v in self.features) * (1 + sum(self.window))
        index = chain_index(windowed_codes(codes, starts, self.window), labels, starts, self.n_labels, cards)
        chains = ChainOperator(index, block_starts(self.n_labels, cards))
        if self.log_end is None:
            return chains, None
        shift = np.zeros((len(codes), self.n_labels))
        shift[starts[1:] - 1] = self.log_end
        return chains, shift

    def _coded_labels(self, y: Any, starts: IntArray) -> IntArray:
        return self.target.encode(joined_labels(y, starts, self.target.name)).astype(np.int64)

    def _at_ends(self, labels: IntArray, starts: IntArray) -> FloatArray:
        assert self.log_end is not None
        ended: FloatArray = self.log_end[labels[starts[1:] - 1]]
        return ended

    def _as_lists(self, labels: IntArray, starts: IntArray) -> list[list[Any]]:
        named = self.classes[labels]
        return [named[a:b].tolist() for a, b in pairwise(starts)]


@dataclass(frozen=True, eq=False)
class SequenceNormalization:
    """A normalised model and the form that it needed.

    Parameters
    ----------
    model : HiddenMarkovClassifier
        With rows that sum to 1 and the same posterior of the labels.
    form : {"without end state", "with end state"}
    unevenness : float
        Nats between the largest and the smallest sum of a row of A, which have to be none for the form without an end
        state.
    """

    model: HiddenMarkovClassifier
    form: str
    unevenness: float
