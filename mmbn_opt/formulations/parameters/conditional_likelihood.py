"""Discriminative parameters by conditional likelihood."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from ..._arrays import FloatArray
from ...networks.network import BayesianNetwork
from ...programs.base import ProgramKind
from ...programs.convex_bounds import support_function
from ...programs.margin_operator import MarginOperator
from ...programs.nonlinear import NonlinearProgram
from ...results.status import BoundKind
from ...scores.predictive import conditional_log_likelihood
from ._factor_index import FactorIndex
from ._margin_passes import MarginsInBlocks, margins_of
from ._softmax_objective import SamplePass
from .softmax import SoftmaxParameters

__all__ = ["ConditionalLikelihood"]

LOG_LEAST = float(np.log(1e-10))
"""The bound is over probabilities that are at least this: with a probability of zero there would be none."""


@dataclass(frozen=True, eq=False)
class ConditionalLikelihood(SoftmaxParameters):
    """Parameters of a structure with the largest conditional likelihood (the objective of CG-CL).

    maximise  ``sum_m n_m log P(c_m | x_m)``  over all CPTs.

    Variables: beta, one a CPT entry of the class and its children, ``theta = softmax(beta)`` in each row.
    Program: `NonlinearProgram`, no constraints.   Bound: RELAXATION, from any network by one pass: see `bound_from`.
    Source: Greiner, Su, Shen, Zhou 2005; Pernkopf, Wohlmayr, Tschiatschek 2012, eq. 2 and appendix; Guo, Wilkinson &
    Schuurmans 2005, eq. 5. On separable data the supremum 0 is not attained and the parameters run away: stop early on
    validation data.

    In the logarithms of the CPTs the objective is concave, and on a renormalizable structure rows that sum to less than
    1 add nothing to it (Wettig et al. 2003): a descent then ends at the global optimum, and the bound says so.

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
    >>> result = mm.solve(formulation, "lbfgs")
    >>> result.bounds.dual_bound - result.bounds.primal_bound < 0.01
    True
    """

    title: ClassVar[str] = "Conditional likelihood"
    value_name: ClassVar[str] = "Conditional log-likelihood, nats"
    bound_kind: ClassVar[BoundKind] = BoundKind.RELAXATION

    @cached_property
    def _margins(self) -> MarginOperator | MarginsInBlocks:
        return margins_of(self.layout, self.merged)

    def _build(self, kind: ProgramKind) -> NonlinearProgram:
        """Minus the objective with its gradient and its bound; `monitor` is there with validation data."""
        return replace(super()._build(kind), bound=lambda beta: -self.bound_from(self.recover(beta)))

    def bound_from(self, model: BayesianNetwork) -> float:
        """No network whose probabilities are at least 1e-10 (or the least of this one) has a larger objective.

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
