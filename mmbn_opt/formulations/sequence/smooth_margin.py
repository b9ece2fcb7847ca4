"""The smooth margin of label sequences over normalised tables: conjugate gradients on a hidden Markov model."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._arguments import checked_number
from ..._arrays import FloatArray, log_softmax_of_parts
from ...networks.hidden_markov import HiddenMarkovClassifier
from ...programs.base import ProgramKind
from ...programs.nonlinear import NonlinearProgram
from ...results.result import Check
from ...results.status import BoundKind, Sense
from ..base import Start
from .base import SequenceFormulation

__all__ = ["SequenceSmoothMargin"]

LOG_ZERO = float(np.log(1e-10))
"""Stands for the logarithm of a probability of zero: a softmax has no zeros."""


@dataclass(frozen=True, eq=False)
class SequenceSmoothMargin(SequenceFormulation):
    """A hidden Markov model, rows normalised throughout, with the smallest smoothed losses of its margins.

    minimise  ``sum_i 1/eta log sum_y exp(eta [ gamma delta(i, y) + log P(x_i, y) - log P(x_i, y_i) ])``

    over beta, where each row of the tables is ``theta_j = exp(beta_j) / sum_l exp(beta_l)``. The losses are those of
    `SequenceMaxMargin` with the maximum smoothed as in CG-MM; nothing has to be normalised afterwards, and nothing is
    convex: the number of iterations regularises, and no bound is claimed.

    Variables: beta.   Program: `NonlinearProgram`.   Bound: HEURISTIC.
    Source: Pernkopf, Wohlmayr & Tschiatschek 2012, section 4, for one class variable; the distance of labellings from
    Guo, Wilkinson & Schuurmans 2005, eq. 19.

    Parameters
    ----------
    data : SequenceDataset
    gamma : float
        Margin in nats that is asked for a wrong label.
    eta : float
        Sharpness of the maximum.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.SequenceDataset.from_lists(["aab", "abb", "bba"] * 3, ["XXY", "XYY", "YXX"] * 3)
    >>> result = mm.solve(SequenceSmoothMargin(data), "conjugate_gradient", options={"max_iterations": 50})
    >>> result.model.is_normalized, result.model.predict(["aabb"])
    (True, [['X', 'X', 'Y', 'Y']])
    """

    gamma: float = 5.0
    eta: float = 1.0

    title: ClassVar[str] = "Smooth margin on a chain"
    value_name: ClassVar[str] = "Objective: smoothed missed margins, nats"
    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.NONLINEAR})
    sense: ClassVar[Sense] = Sense.MINIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.HEURISTIC

    def __post_init__(self) -> None:
        checked_number("gamma", self.gamma, 0.0, 1e12, open_low=True)
        checked_number("eta", self.eta, 0.0, 1e6, open_low=True)
        super().__post_init__()

    def _normalized(self, beta: FloatArray) -> FloatArray:
        return log_softmax_of_parts(beta, self.chains.row_ptr)

    def value_and_gradient(self, beta: FloatArray) -> tuple[float, FloatArray]:
        """Objective and its slope by beta."""
        rows = self.chains.row_ptr
        w = self._normalized(beta)
        soft = self.chains.soft(w, self.gamma, 1.0 / self.eta)
        value = float((soft.logs / self.eta - self.chains.own_scores(w)).sum())
        slope = soft.features - self.chains.own
        moved = np.repeat(np.add.reduceat(slope, rows[:-1]), np.diff(rows))
        return value, slope - np.exp(w) * moved

    def _build(self, kind: ProgramKind) -> NonlinearProgram:
        return NonlinearProgram(self.value_and_gradient, x0=self.encode(self.trivial_start().model))

    def recover(self, solution: FloatArray) -> HiddenMarkovClassifier:
        """Normalised model of a vector."""
        return super().recover(self._normalized(solution))

    def encode(self, model: HiddenMarkovClassifier, kind: ProgramKind = ProgramKind.NONLINEAR) -> FloatArray:
        """Log-probabilities of a model; a probability of zero counts as 1e-10."""
        return self.log_parameters(model, LOG_ZERO)

    def trivial_start(self) -> Start:
        """The maximum-likelihood model."""
        return Start(self.maximum_likelihood, "maximum likelihood")

    def trivial_bound(self) -> None:
        """No bound is claimed: the program is not convex."""
        return

    def evaluate(self, model: HiddenMarkovClassifier) -> float:
        """Objective of a model."""
        return self.value_and_gradient(self.encode(model))[0]

    def check(self, model: HiddenMarkovClassifier) -> tuple[Check, ...]:
        """Normalised rows, and the training labels."""
        off = float(np.abs(model.row_sums - 1.0).max())
        return (Check("rows sum to 1", off <= 1e-9, f"largest |row sum - 1| is {off:.1e}"), *super().check(model))
