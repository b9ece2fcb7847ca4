"""Maximum-margin Markov networks: the undirected rival of the relaxation."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..._arguments import checked_number
from ..._arrays import FloatArray
from ...networks.log_linear import LogLinearClassifier
from ...networks.network import BayesianNetwork
from ...programs.base import ProgramKind, ProgramSize
from ...programs.convex_bounds import admissible_multipliers
from ...programs.markov import MarkovProgram
from ...results.duals import DualRows
from ...results.result import Check
from ...results.status import BoundKind, Sense
from ..base import Start
from ._checks import check_structure
from ._dual_rows import margin_rows
from ._factor_index import margin_operator
from .base import StructureParameters

__all__ = ["MaxMarginMarkovNetwork"]

Model = LogLinearClassifier | BayesianNetwork


@dataclass(frozen=True, eq=False)
class MaxMarginMarkovNetwork(StructureParameters):
    """Log-linear parameters on a structure's factors with the largest margin for their Euclidean length.

    minimise  ``1/2 |w|^2 + C sum_m n_m max(0, 1 - min_c (Delta w)_mc)``   over log-factors w

    with one factor a CPT of the class and of its children, so that the only difference from `MaxMarginRelaxation` is
    what holds the parameters: one length for all of them instead of a sum for each CPT row. Every sample looks up one
    entry of each factor: this is the multi-class support vector machine of Crammer and Singer on indicator features.

    Variables: w.   Program: `MarkovProgram`, quadratic.   Bound: EXACT.
    Source: Guo, Wilkinson & Schuurmans 2005, eq. 11; Taskar, Guestrin & Koller 2003.

    Parameters
    ----------
    data : DiscreteDataset
    structure : Structure
        Any DAG. Factors without the class cancel in the posterior and keep their maximum-likelihood values.
    C : float
        Weight of the slacks.
    smoothing : float or Smoothing
        Of the factors without the class.
    max_nonzeros, max_parameters : int
        Sizes above which the call is refused.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    >>> result = mm.solve(MaxMarginMarkovNetwork(data, mm.naive_bayes(data), C=1.0), rel_gap=1e-6)
    >>> result.termination_status, round(result.bounds.primal_bound, 4)
    (TerminationStatus.OPTIMAL, 1.125)
    >>> type(result.model).__name__, result.model.predict([["a", "u"], ["b", "v"]]).tolist()
    ('LogLinearClassifier', [0, 1])
    """

    C: float = 1.0
    max_nonzeros: int = field(default=30_000_000, kw_only=True)

    title: ClassVar[str] = "Maximum-margin Markov network"
    value_name: ClassVar[str] = "Objective (no unit)"
    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.QUADRATIC})
    sense: ClassVar[Sense] = Sense.MINIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.EXACT

    def __post_init__(self) -> None:
        checked_number("C", self.C, 0.0, 1e12, open_low=True)
        super().__post_init__()

    @cached_property
    def program(self) -> MarkovProgram:
        """The quadratic program."""
        self._refuse_margins()
        return MarkovProgram(margin_operator(self.layout, self.merged), float(self.C), max_nonzeros=self.max_nonzeros)

    def estimate_size(self, kind: ProgramKind = ProgramKind.QUADRATIC) -> ProgramSize:
        """One column a parameter, a row a sample and rival."""
        rows = self.merged.n_samples * (self.data.n_classes - 1)
        return ProgramSize(self.layout.size, 0, rows, 2 * rows * len(self.layout.nodes))

    def refuse_oversized(self, kind: ProgramKind) -> None:
        """Raise `SizeLimitError` when the multipliers would be over the limit; solvers with a matrix look at theirs."""
        self._refuse_margins()

    if TYPE_CHECKING:

        def build(self, kind: ProgramKind | None = None) -> MarkovProgram:
            """The quadratic program."""

    def _build(self, kind: ProgramKind) -> MarkovProgram:
        return self.program

    def prove_bound(self, multipliers: FloatArray) -> float:
        """Lower bound of the optimum, computed afresh from multipliers (``multipliers`` of a result)."""
        return self.program.dual_value(multipliers)

    def dual_rows(self, multipliers: FloatArray, solution: FloatArray) -> tuple[DualRows, ...]:
        """Margins, each with its weight in the bound."""
        margins = self.program.margins
        y = admissible_multipliers(np.array(multipliers), margins.labels, self.C * margins.weight)
        return (margin_rows(self.program, self.data, solution, y, 1.0),)

    def recover(self, solution: FloatArray) -> LogLinearClassifier:
        """Classifier of a vector."""
        return self.log_linear(solution)

    def encode(self, model: Model, kind: ProgramKind = ProgramKind.QUADRATIC) -> FloatArray:
        """Log-factors of a model on this structure; a factor of zero counts as 1e-10."""
        return self.log_parameters(model, math.log(1e-10))

    def trivial_start(self) -> Start:
        """All factors 1."""
        return Start(self.recover(self.program.first_point()), "all factors 1")

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """Nothing: the program is convex."""
        return iter(())

    def trivial_bound(self) -> float:
        """Zero."""
        return 0.0

    def evaluate(self, model: Model) -> float:
        """Objective of a model, from its log-joints."""
        w = self.encode(model)
        joint = self.recover(w).log_joint(self.data.codes)
        rows = np.arange(self.data.n_samples)
        own = joint[rows, self.data.target_codes].copy()
        joint[rows, self.data.target_codes] = -np.inf
        loss = np.maximum(1.0 - (own - joint.max(axis=1)), 0.0)
        return 0.5 * float(w @ w) + self.C * float(self.data.sample_weight @ loss)

    def check(self, model: Model) -> tuple[Check, ...]:
        """The given structure."""
        return (check_structure(self.structure, model),)
