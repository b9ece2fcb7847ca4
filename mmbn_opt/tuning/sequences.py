"""How a model of sequences is learned: the method by name, its settings, and the problem that they make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mmbn_opt._arguments import check_fields, choice_of, whole
from mmbn_opt.data.sequences import SequenceDataset
from mmbn_opt.formulations import (
    Formulation,
    SequenceConditionalLikelihood,
    SequenceMarkovNetwork,
    SequenceMaxMargin,
    SequenceSmoothMargin,
)
from mmbn_opt.solvers.base import Solver

__all__ = ["SEQUENCE_METHODS", "SequenceMethod", "SequenceSettings"]

SequenceMethod = Literal["max-margin", "markov-network", "conditional-likelihood", "cg-mm", "ml"]
SEQUENCE_METHODS = ("max-margin", "markov-network", "conditional-likelihood", "cg-mm", "ml")

DEFAULT_GAMMA = 5.0
WIDE_GAP = 1e-2


@dataclass(frozen=True)
class SequenceSettings:
    """Settings of all methods; each takes those that it knows.

    Parameters
    ----------
    method : {"max-margin", "markov-network", "conditional-likelihood", "cg-mm", "ml"}
    gamma, B, normalization, alpha, min_prob
        Of "max-margin"; `gamma` of "cg-mm" too.
    C : float
        Of "markov-network".
    l2 : float
        Of "conditional-likelihood".
    smoothing : float
    iterations : int
        Limit of "cg-mm" and "conditional-likelihood".
    solver : str or Solver
    """

    method: SequenceMethod = "max-margin"
    gamma: float | None = None
    B: float | None = None
    normalization: Literal["hybrid", "floor", "published"] = "hybrid"
    alpha: float = 0.1
    min_prob: float | None = None
    C: float = 0.1
    l2: float = 1.0
    smoothing: float = 1.0
    iterations: int = 100
    solver: str | Solver = "auto"

    def __post_init__(self) -> None:
        check_fields(self)
        choice_of("method", self.method, SEQUENCE_METHODS)
        whole("iterations", self.iterations, 1)

    def formulation(self, data: SequenceDataset) -> Formulation:
        """The problem of the method; "ml" has none, and is answered by that of the margin."""
        if self.method == "markov-network":
            return SequenceMarkovNetwork(data, self.C, smoothing=self.smoothing)
        if self.method == "conditional-likelihood":
            return SequenceConditionalLikelihood(data, self.l2, smoothing=self.smoothing)
        if self.method == "cg-mm":
            gamma = DEFAULT_GAMMA if self.gamma is None else self.gamma
            return SequenceSmoothMargin(data, gamma, smoothing=self.smoothing)
        return SequenceMaxMargin(
            data, self.gamma, self.B, self.normalization, self.alpha, self.min_prob, smoothing=self.smoothing
        )

    def engine(self, rel_gap: float | None) -> str | Solver:
        """The solver that is called, by the certified gap that is asked for.

        A gap that is wide, the usual one too, is closed soonest by first-order steps, whatever the size.

        Examples
        --------
        >>> SequenceSettings().engine(1e-2), SequenceSettings().engine(1e-6)
        ('first_order', 'auto')
        """
        if self.solver != "auto":
            return self.solver
        if self.method == "cg-mm":
            return "conjugate_gradient"
        bounded = self.method == "markov-network" or (self.method == "max-margin" and self.normalization != "published")
        return "first_order" if bounded and rel_gap is not None and rel_gap >= WIDE_GAP else "auto"

    @property
    def options(self) -> Mapping[str, Any] | None:
        """The limit of iterations, for solvers that have one and are chosen by us."""
        counted = self.method in ("cg-mm", "conditional-likelihood") and self.solver == "auto"
        return {"max_iterations": self.iterations} if counted else None
