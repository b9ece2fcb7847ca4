"""Smoothed maximum likelihood on label sequences: tables in closed form, as a result like that of a search."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from mmbn_opt._arguments import check_fields, checked_number
from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.data.counts import n_log_n
from mmbn_opt.data.sequences import SequenceDataset
from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier
from mmbn_opt.programs.chain_operator import ChainOperator, block_starts, chain_index
from mmbn_opt.results.result import Check, Result
from mmbn_opt.results.status import Sense
from mmbn_opt.results.trace import TraceRecorder
from mmbn_opt.tuning.likelihood import in_closed_form

__all__ = ["SequenceMaximumLikelihood"]

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class SequenceMaximumLikelihood:
    """Tables on a chain under which the smoothed counts of the labelled sequences are most probable.

    The maximum is at the smoothed frequencies, row by row, so there is nothing to search. A cell that is missing is
    counted nowhere.

    Parameters
    ----------
    data : SequenceDataset
    smoothing : float
        Pseudo-count of each entry.

    Examples
    --------
    >>> data = SequenceDataset.from_lists(["aab", "abb"], ["XXY", "XYY"])
    >>> result = SequenceMaximumLikelihood(data).learn()
    >>> result.termination_status, round(result.bounds.primal_bound, 4), result.certificate.ok
    (TerminationStatus.OPTIMAL, -12.528, True)
    """

    data: SequenceDataset
    smoothing: float = 1.0

    title: ClassVar[str] = "Smoothed maximum likelihood on a chain"
    value_name: ClassVar[str] = "Smoothed log-likelihood, nats"

    def __post_init__(self) -> None:
        check_fields(self)
        checked_number("smoothing", self.smoothing, open_high=True)
        self.data.require_learnable()

    @property
    def samples(self) -> None:
        """None: sequences are no table."""

    @property
    def row_ptr(self) -> IntArray:
        """Where each row of the tables begins in a vector of them."""
        return block_starts(self.data.n_labels, self.data.observed_cardinalities)

    @cached_property
    def counts(self) -> FloatArray:
        """How often the labelled sequences look each entry up, and the pseudo-count."""
        data = self.data
        index = chain_index(
            data.observed_codes, data.label_codes, data.starts, data.n_labels, data.observed_cardinalities
        )
        return ChainOperator(index, self.row_ptr).own + self.smoothing

    def evaluate(self, model: HiddenMarkovClassifier) -> float:
        """The objective of any model over these observations and labels, in nats."""
        seen = self.counts > 0  # 0 log 0 = 0
        return float(self.counts[seen] @ model.vector[seen])

    def bound(self) -> float:
        """What no tables exceed: the entropies of the smoothed counts, from the counts alone."""
        return n_log_n(self.counts) - n_log_n(np.add.reduceat(self.counts, self.row_ptr[:-1]))

    def learn(self) -> Result:
        """The tables, with their checks, as a result whose gap is closed."""
        recorder = TraceRecorder(Sense.MAXIMIZE)
        model = HiddenMarkovClassifier.fit(self.data, self.smoothing)
        return in_closed_form(self, model, self.check(model), recorder)

    def check(self, model: HiddenMarkovClassifier) -> tuple[Check, ...]:
        """That the rows sum to 1, and how many training labels Viterbi's algorithm finds."""
        off = float(np.abs(np.add.reduceat(np.exp(model.vector), self.row_ptr[:-1]) - 1.0).max())
        found = [label for labels in model.predict(self.data) for label in labels]
        given = [label for labels in self.data.decode(self.data.label_codes) for label in labels]
        right = float(np.mean([a == b for a, b in zip(found, given, strict=True)]))
        told = f"{right:.4f} of the positions right"
        return (
            Check("rows normalised", off <= _TOLERANCE, f"largest |row sum - 1| is {off:.1e}"),
            Check("labels of the training sequences", None, told, claims=False),
        )
