"""Conditional likelihood of label sequences: what a conditional random field maximises."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._arguments import checked_number
from ..._arrays import FloatArray
from ...networks.hidden_markov import HiddenMarkovClassifier
from ...programs.base import ProgramKind
from ...programs.nonlinear import NonlinearProgram
from ...results.result import Check
from ...results.status import BoundKind, Sense
from ..base import Start
from .base import SequenceFormulation

__all__ = ["SequenceConditionalLikelihood"]


@dataclass(frozen=True, eq=False)
class SequenceConditionalLikelihood(SequenceFormulation):
    """Scores on a chain with the largest conditional likelihood of the labels, less a penalty on their length.

    minimise  ``- sum_i log P(y_i | x_i) + l2 |w|^2``   over all scores w

    on the tables of `SequenceMaxMargin`: a linear-chain conditional random field on the same observations, with the
    penalty of CRFsuite's ``c2``. It is strongly convex, so that the slope g at any point proves the lower bound
    ``value - |g|^2 / (4 l2)``.

    Variables: w.   Program: `NonlinearProgram`, convex and without constraints.   Bound: EXACT.
    Source: Guo, Wilkinson & Schuurmans 2005, section 9 (MCL); Lafferty, McCallum & Pereira 2001.

    Parameters
    ----------
    data : SequenceDataset
    l2 : float

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.SequenceDataset.from_lists(["aab", "abb", "bba"] * 3, ["XXY", "XYY", "YXX"] * 3)
    >>> result = mm.solve(SequenceConditionalLikelihood(data), rel_gap=1e-6)
    >>> result.termination_status, result.model.predict(["aabb"])
    (TerminationStatus.OPTIMAL, [['X', 'X', 'Y', 'Y']])
    """

    l2: float = 1.0

    title: ClassVar[str] = "Conditional likelihood on a chain"
    value_name: ClassVar[str] = "Objective: lost log-likelihood, nats"
    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.NONLINEAR})
    sense: ClassVar[Sense] = Sense.MINIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.EXACT

    def __post_init__(self) -> None:
        checked_number("l2", self.l2, 0.0, 1e12, open_low=True)
        super().__post_init__()

    def value_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Objective and its slope."""
        soft = self.chains.soft(w)
        value = float((soft.logs - self.chains.own_scores(w)).sum()) + self.l2 * float(w @ w)
        return value, soft.features - self.chains.own + 2.0 * self.l2 * w

    def lower_bound(self, w: FloatArray) -> float:
        """What the slope at a point proves of the optimum."""
        value, slope = self.value_and_gradient(w)
        return value - float(slope @ slope) / (4.0 * self.l2)

    def _build(self, kind: ProgramKind) -> NonlinearProgram:
        return NonlinearProgram(self.value_and_gradient, x0=np.zeros(self.n_parameters), bound=self.lower_bound)

    @property
    def scale(self) -> float:
        """Objective where all scores are 0."""
        return self.data.n_positions * float(np.log(self.data.n_labels))

    def encode(self, model: HiddenMarkovClassifier, kind: ProgramKind = ProgramKind.NONLINEAR) -> FloatArray:
        """Vector of a model."""
        return self.log_parameters(model)

    def trivial_start(self) -> Start:
        """All scores 0."""
        return Start(self.recover(np.zeros(self.n_parameters)), "all scores 0")

    def trivial_bound(self) -> float:
        """Zero."""
        return 0.0

    def evaluate(self, model: HiddenMarkovClassifier) -> float:
        """Objective of a model."""
        return self.value_and_gradient(self.encode(model))[0]

    def check(self, model: HiddenMarkovClassifier) -> tuple[Check, ...]:
        """How far from the optimum the slope lets the model be, and the training labels."""
        w = self.encode(model)
        value, bound = self.evaluate(model), self.lower_bound(w)
        detail = f"{bound:.6f} follows from the slope at the model, {value - bound:.2e} below its objective"
        return (Check("bound by strong convexity", bound <= value, detail), *super().check(model))
