"""Discriminative parameters by conditional likelihood."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..._arrays import FloatArray
from ...data.mapped import MappedDataset
from ...networks.network import BayesianNetwork
from ...networks.renormalization import normalized_tables
from ...programs.base import ProgramKind
from ...programs.convex_bounds import support_function
from ...programs.likelihood import LikelihoodProgram
from ...programs.margin_operator import MarginOperator
from ...results.result import Check
from ...results.status import BoundKind
from ...scores.predictive import conditional_log_likelihood
from ._factor_index import FactorIndex, margin_operator
from ._margin_passes import MarginsInBlocks, margins_of
from ._softmax_objective import SamplePass
from .base import HELD_MARGINS, MAX_MARGINS
from .softmax import SoftmaxParameters

__all__ = ["ConditionalLikelihood"]

LOG_LEAST = float(np.log(1e-100))
"""Log of the least probability of a CPT: with zeros, separable data would have no optimum and no bound.

It takes nothing that shows from the optimum, while 1e-10 takes .3 % on `vehicle` and `letter`."""


@dataclass(frozen=True, eq=False)
class ConditionalLikelihood(SoftmaxParameters):
    """Parameters of a structure with the largest conditional likelihood (the objective of CG-CL).

    maximise  ``sum_m n_m log P(c_m | x_m)``  over all CPTs whose entries are at least 1e-100.

    Variables: beta, one a CPT entry of the class and its children, ``theta = softmax(beta)`` in each row.
    Program: `NonlinearProgram`, no constraints; `LikelihoodProgram`, over log-probabilities in rows that sum to at most
    1.   Bound: RELAXATION, from any network by one pass: see `bound_from`; from multipliers: see `prove_bound`.
    Source: Greiner, Su, Shen, Zhou 2005; Pernkopf, Wohlmayr, Tschiatschek 2012, eq. 2 and appendix; Guo, Wilkinson &
    Schuurmans 2005, eq. 5. On separable data the optimum is as good as 0, with many parameters at the floor: stop early
    on validation data.

    In the logarithms of the CPTs the objective is concave, and on a renormalizable structure rows that sum to less than
    1 add nothing to it (Wettig et al. 2003): a descent then ends at the global optimum, and the bound says so. There
    the interior point of the second program has six digits in some tens of Newton steps; it is what ``auto`` takes
    unless validation data choose the iterate. Its answer is made a network by shifts between the rows, which leave
    every ``P(c | x)``. On other structures that is a best effort, and the bound need not be met.

    Parameters
    ----------
    data : DiscreteDataset
    structure : Structure
        Any DAG; factors without the class keep their maximum-likelihood CPTs.
    smoothing : float or Smoothing
        Of the maximum-likelihood start and of the factors without the class.
    validation : DiscreteDataset or None
        Its classification rate decides which iterate is kept; see `with_validation`.
    threads : int
        For the passes over the samples; the numbers do not depend on it.
    max_parameters : int

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    >>> formulation = ConditionalLikelihood(data, mm.naive_bayes(data))
    >>> round(formulation.evaluate(formulation.trivial_start().model), 3)
    -3.788
    >>> result = mm.solve(formulation)
    >>> result.solver_name, result.bounds.dual_bound - result.bounds.primal_bound < 1e-8
    ('interior_point', True)
    """

    title: ClassVar[str] = "Conditional likelihood"
    value_name: ClassVar[str] = "Conditional log-likelihood, nats"
    bound_kind: ClassVar[BoundKind] = BoundKind.RELAXATION

    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.NONLINEAR, ProgramKind.LIKELIHOOD})

    @property
    def kinds(self) -> frozenset[ProgramKind]:
        """The nonlinear program alone where validation data choose, or where no number a sample and class is held."""
        most = HELD_MARGINS if isinstance(self.data, MappedDataset) else MAX_MARGINS
        held = self.data.n_samples * self.data.n_classes <= most
        return self.emits if held and not self.watched else frozenset({ProgramKind.NONLINEAR})

    @property
    def _default_kind(self) -> ProgramKind:
        return ProgramKind.NONLINEAR

    @property
    def attains_relaxation(self) -> bool:
        """Whether rows that sum to less than 1 can be made CPTs."""
        return bool(self.structure.is_renormalizable())

    @property
    def scale(self) -> float:
        """The objective where every class is as probable as the others."""
        return self.data.n_samples * float(np.log(self.data.n_classes))

    def trivial_bound(self) -> float:
        """Zero: no posterior is above 1."""
        return 0.0

    @cached_property
    def _margins(self) -> MarginOperator | MarginsInBlocks:
        return margins_of(self.layout, self.merged)

    if TYPE_CHECKING:

        def build(self, kind: ProgramKind | None = None) -> Any:
            """Minus the objective with its gradient and its bound, or the convex program."""

    def _build(self, kind: ProgramKind) -> Any:
        """Minus the objective with its gradient and its bound; `monitor` is there with validation data."""
        if kind is ProgramKind.LIKELIHOOD:
            return self.convex_program
        return replace(super()._build(kind), bound=lambda beta: -self.bound_from(self.recover(beta)))

    @cached_property
    def convex_program(self) -> LikelihoodProgram:
        """The program over log-probabilities of at least ``log 1e-100`` whose rows may sum to less than 1."""
        return LikelihoodProgram(margin_operator(self.layout, self.merged), self.layout.row_ptr, LOG_LEAST)

    def prove_bound(self, multipliers: FloatArray) -> float:
        """Upper bound of all networks with probabilities of at least 1e-100, computed afresh from multipliers.

        Parameters
        ----------
        multipliers : float64 array (n_merged_samples, n_classes)
            Any; what is not admissible is clipped.
        """
        return -self.convex_program.dual_value(multipliers)

    def recover_from(self, solution: FloatArray, kind: ProgramKind) -> BayesianNetwork:
        """`recover`, or the network with the posteriors of the convex program's vector (elsewhere the nearest)."""
        if kind is not ProgramKind.LIKELIHOOD:
            return self.recover(solution)
        classifier = self.log_linear(solution)
        cards = (*self.data.cardinalities,)
        tables, _ = normalized_tables(self.structure, cards, classifier.log_factors)
        return replace(self.maximum_likelihood, log_cpts=tuple(tables))

    def adopt(self, model: Any, kind: ProgramKind) -> Any:
        """A network on this structure; for the convex program with what lies below its floor lifted to it."""
        network = super().adopt(model, kind)
        if kind is not ProgramKind.LIKELIHOOD:
            return network
        return self.recover_from(self.convex_program.project(self.encode(network)), kind)

    def bound_from(self, model: BayesianNetwork) -> float:
        """No network whose probabilities are at least 1e-100 (or the least of this one) has a larger objective.

        The objective f is concave in ``w = log theta``, so that ``f(w') <= f(w) + g.(w' - w)`` with its gradient g, and
        the rows of any network sum to 1: the largest ``g.w'`` has a closed form, row by row (`support_function`). The
        bound is tight where w is optimal among rows that sum to at most 1. It is never above 0, where all is certain.

        Parameters
        ----------
        model : BayesianNetwork
            Any on the structure: the better, the tighter.
        """
        w = self.encode(model)
        none_asked = np.zeros((1, self.data.n_classes))
        loss, _, _, gradient = self._margins.smooth_hinge(w, none_asked, 0.0, 1.0)
        most, _ = support_function(gradient, self.layout.row_ptr, min(LOG_LEAST, float(w.min())))
        return min(0.0, most - float(gradient @ w) - loss)

    def check(self, model: BayesianNetwork) -> tuple[Check, ...]:
        """What softmax formulations check, and whether the bound can be met."""
        checks = super().check(model)
        allowed = self.structure.is_renormalizable()
        detail = "over probabilities of at least 1e-100; rows that sum to less than 1 add nothing on this structure"
        if not allowed:
            detail = f"{allowed}: rows that sum to less than 1 may have a larger objective than any network"
        return (*checks, Check("bound can be met", True if allowed else None, detail))

    @property
    def _upper(self) -> float:
        return 0.0

    @property
    def _pass(self) -> SamplePass:
        return partial(_posterior_pass, n_classes=self.data.n_classes)

    def evaluate(self, model: BayesianNetwork) -> float:
        """Conditional log-likelihood of a network on the data, in nats."""
        return conditional_log_likelihood(model, self.data)


def _posterior_pass(
    index: FactorIndex, table: FloatArray, part: slice, gradient: FloatArray | None, *, n_classes: int
) -> FloatArray:
    from ._softmax_kernels import posterior_pass

    return np.array(
        posterior_pass(
            index.index, index.start, table, index.labels, index.weight, n_classes, part.start, part.stop,
            table if gradient is None else gradient, gradient is not None,
        )
    )  # fmt: skip
