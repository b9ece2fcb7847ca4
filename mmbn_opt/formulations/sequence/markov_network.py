"""Maximum-margin Markov networks on a chain: the undirected rival."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..._arguments import checked_number
from ..._arrays import FloatArray
from ...networks.hidden_markov import HiddenMarkovClassifier
from ...programs.base import ProgramKind
from ...programs.sequence import SequenceMarkovProgram
from ...results.status import BoundKind, Sense
from ..base import Start
from .base import SequenceFormulation

__all__ = ["SequenceMarkovNetwork"]


@dataclass(frozen=True, eq=False)
class SequenceMarkovNetwork(SequenceFormulation):
    """Scores on a chain with the largest margin for their Euclidean length: a structured support vector machine.

    minimise  ``1/2 |w|^2 + C sum_i max_y [ delta(i, y) - Delta(i, y).w ]``   over all scores w

    on the tables of `SequenceMaxMargin`, so that the only difference is what holds the parameters.

    Variables: w.   Program: `SequenceMarkovProgram`.   Bound: EXACT.
    Source: Guo, Wilkinson & Schuurmans 2005, eq. 11 and 19; Taskar, Guestrin & Koller 2003.

    Parameters
    ----------
    data : SequenceDataset
    C : float
        Weight of the losses.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.SequenceDataset.from_lists(["aab", "abb", "bba"] * 3, ["XXY", "XYY", "YXX"] * 3)
    >>> result = mm.solve(SequenceMarkovNetwork(data, C=1.0), rel_gap=1e-4)
    >>> result.termination_status, result.model.predict(["aabb"])
    (TerminationStatus.OPTIMAL, [['X', 'X', 'Y', 'Y']])
    """

    C: float = 0.1

    title: ClassVar[str] = "Maximum-margin Markov network on a chain"
    value_name: ClassVar[str] = "Objective (no unit)"
    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.SEQUENCE})
    sense: ClassVar[Sense] = Sense.MINIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.EXACT

    def __post_init__(self) -> None:
        checked_number("C", self.C, 0.0, 1e12, open_low=True)
        super().__post_init__()

    @cached_property
    def program(self) -> SequenceMarkovProgram:
        """The quadratic program."""
        return SequenceMarkovProgram(self.chains, float(self.C))

    def _build(self, kind: ProgramKind) -> SequenceMarkovProgram:
        return self.program

    @property
    def scale(self) -> float:
        """Objective where all scores are 0."""
        return self.program.scale

    def prove_bound(self, multipliers: FloatArray) -> float:
        """Lower bound of the optimum, computed afresh from distributions over labellings."""
        return self.program.dual_value(multipliers)

    def encode(self, model: HiddenMarkovClassifier, kind: ProgramKind = ProgramKind.SEQUENCE) -> FloatArray:
        """Vector of a model."""
        return self.log_parameters(model)

    def trivial_start(self) -> Start:
        """All scores 0."""
        return Start(self.recover(self.program.first_point()), "all scores 0")

    def trivial_bound(self) -> float:
        """Zero."""
        return 0.0

    def evaluate(self, model: HiddenMarkovClassifier) -> float:
        """Objective of a model."""
        return self.program.value(self.encode(model))
