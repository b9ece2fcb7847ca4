"""What every formulation over label sequences shares."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..._arguments import check_fields, checked_number, shown
from ..._arrays import FloatArray
from ...data.sequences import SequenceDataset
from ...exceptions import InputError, SizeLimitError
from ...networks.hidden_markov import HiddenMarkovClassifier
from ...programs.base import ProgramKind, ProgramSize
from ...programs.chain_operator import ChainOperator, block_starts, chain_index
from ...programs.chain_program import chain_size
from ...results.result import Check
from ..base import Formulation, Start

__all__ = ["SequenceFormulation"]

LOG_ZERO = -700.0
"""In the place of the logarithm of zero, where there is no floor."""


@dataclass(frozen=True, eq=False)
class SequenceFormulation(Formulation):
    """Tables on a chain of labels: initial, transitions, and emissions of each observation.

    Parameters
    ----------
    data : SequenceDataset
    smoothing : float
        Pseudo-count of the maximum-likelihood model that the search starts from.
    max_parameters : int
        Larger tables are refused.
    """

    data: SequenceDataset
    smoothing: float = field(default=1.0, kw_only=True)
    max_parameters: int = field(default=20_000_000, kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self)
        checked_number("smoothing", self.smoothing, open_low=True, open_high=True)
        self.data.require_learnable()
        if self.n_parameters > self.max_parameters:
            raise SizeLimitError(
                f"{self.title} would have {self.n_parameters:,} parameters for {self.data.n_labels} labels and "
                f"{len(self.data.observed_names)} observations a position; the limit is "
                f"max_parameters={self.max_parameters:,}. Merge rare symbols, narrow the window, or raise the limit."
            )

    @property
    def n_samples(self) -> int:
        """Sequences."""
        return self.data.n_sequences

    @property
    def samples(self) -> None:
        """None: sequences are no table."""

    @property
    def source_in_words(self) -> str:
        """What the objective is recomputed from."""
        return f"{self.data.n_sequences:,} sequences of {self.data.n_positions:,} positions"

    @property
    def n_parameters(self) -> int:
        """Entries of all tables."""
        k = self.data.n_labels
        return k + k * k + k * sum(self.data.observed_cardinalities)

    @cached_property
    def chains(self) -> ChainOperator:
        """From a vector of all tables to scores of labellings."""
        data = self.data
        cards = data.observed_cardinalities
        index = chain_index(data.observed_codes, data.label_codes, data.starts, data.n_labels, cards)
        return ChainOperator(index, block_starts(data.n_labels, cards))

    @cached_property
    def maximum_likelihood(self) -> HiddenMarkovClassifier:
        """Smoothed maximum-likelihood model."""
        return HiddenMarkovClassifier.fit(self.data, self.smoothing)

    def estimate_size(self, kind: ProgramKind) -> ProgramSize:
        """One column an entry of the tables; rows of the tables and sequences; entries that are looked up."""
        if kind is ProgramKind.NONLINEAR:
            return ProgramSize(self.n_parameters, 0, 0, 0)
        return chain_size(self.chains)

    def recover(self, solution: FloatArray) -> HiddenMarkovClassifier:
        """Model of a vector, its rows as they are (`HiddenMarkovClassifier.normalize` makes a normalised one)."""
        return HiddenMarkovClassifier.of_vector(self.data.features, self.data.target, self.data.window, solution)

    def log_parameters(self, model: HiddenMarkovClassifier, log_zero: float = LOG_ZERO) -> FloatArray:
        """Vector of a model over the same observations and labels, `log_zero` in place of the logarithm of zero."""
        own = (self.data.features, self.data.target, tuple(self.data.window))
        if (model.features, model.target, tuple(model.window)) != own:
            raise InputError(
                f"The model must be one over the features, labels and window of the data, got {shown(model)}."
            )
        if model.log_end is not None:
            raise InputError("A model with an end state has no vector here; use the model that it was normalised from.")
        return np.where(np.isneginf(model.vector), log_zero, model.vector)

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """Nothing beyond the trivial start."""
        return iter(())

    def check(self, model: Any) -> tuple[Check, ...]:
        """The share of positions that Viterbi's algorithm labels rightly."""
        paths = self.chains.best(self.log_parameters(model)).paths
        right = float((paths == self.chains.index.labels).mean())
        return (Check("labels of the training sequences", None, f"{right:.4f} of the positions right", claims=False),)
