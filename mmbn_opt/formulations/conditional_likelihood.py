"""Discriminative parameters by conditional likelihood."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..network import BayesianNetwork
from ..scores import conditional_log_likelihood
from ._factor_index import FactorIndex
from .softmax_parameters import SoftmaxParameters

__all__ = ["ConditionalLikelihood"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConditionalLikelihood(SoftmaxParameters):
    """Parameters of a structure with the largest conditional likelihood (the objective of CG-CL).

    maximise  ``sum_m n_m log P(c_m | x_m)``  over all CPTs.

    Variables: beta, one a CPT entry of the class and its children, ``theta = softmax(beta)`` in each row.
    Program: `NonlinearProgram`, no constraints.   Bound: none (HEURISTIC).
    Source: Greiner, Su, Shen, Zhou 2005; Pernkopf, Wohlmayr, Tschiatschek 2012, eq. 2 and appendix. On separable data
    the supremum 0 is not attained and the parameters run away: stop early on validation data.

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
    """

    title: ClassVar[str] = "Conditional likelihood"

    @property
    def _upper(self) -> float:
        return 0.0

    def _pass(self, index: FactorIndex, table: FloatArray, part: slice, gradient: FloatArray | None) -> FloatArray:
        from ._cg_kernels import posterior_pass

        return np.array(
            posterior_pass(
                index.index, index.start, table, index.labels, index.weight, self.data.n_classes, part.start, part.stop,
                table if gradient is None else gradient, gradient is not None,
            )
        )  # fmt: skip

    def evaluate(self, model: BayesianNetwork) -> float:
        """Conditional log-likelihood of a network on the data, in nats."""
        return conditional_log_likelihood(model, self.data)
