"""Maximum-margin parameters by a smooth objective."""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ..._arguments import checked_number
from ..._arrays import FloatArray
from ...networks.network import BayesianNetwork
from ...scores.predictive import smooth_margin
from ._factor_index import FactorIndex
from ._softmax_objective import SamplePass
from .softmax import SoftmaxParameters

__all__ = ["SmoothMargin"]


@dataclass(frozen=True, eq=False)
class SmoothMargin(SoftmaxParameters):
    """Parameters of a structure with the largest smooth margin (the objective of CG-MM).

    maximise  ``sum_m n_m h(lam log d_m)``  over all CPTs, where

    * ``log d_m = log P(c_m, x_m) - 1/eta log sum_{c != c_m} P(c, x_m)^eta``, a soft maximum over the rivals,
    * ``h(y) = y + kappa`` for ``y <= 1 - 2 kappa``, ``1 - (y - 1)^2 / (4 kappa)`` up to 1, and 1 beyond: a hinge whose
      corner is rounded.

    Variables: beta, one a CPT entry of the class and its children, ``theta = softmax(beta)`` in each row.
    Program: `NonlinearProgram`, no constraints, not convex.   Bound: none (HEURISTIC).
    Source: Pernkopf, Wohlmayr, Tschiatschek 2012, eq. 4-8; started at maximum likelihood, stopped early on validation
    data. ``kappa=0`` is the hinge itself and ``eta=inf`` the maximum itself; both have corners.

    Parameters
    ----------
    data : DiscreteDataset
    structure : Structure
        Any DAG; factors without the class keep their maximum-likelihood CPTs.
    lam : float
        Scale: margins above ``1 / lam`` nats count no more (the paper tunes .001 to .5).
    kappa : float
        Half-width of the rounded corner (the paper tunes .01 to .5).
    eta : float
        Exponent of the soft maximum, at least 1.
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
    >>> formulation = SmoothMargin(data, mm.naive_bayes(data), lam=0.1)
    >>> start = formulation.trivial_start().model
    >>> formulation.evaluate(start) > 0, formulation.estimate_size().columns
    (True, 10)
    """

    lam: float = 0.05
    kappa: float = 0.1
    eta: float = 10.0

    title: ClassVar[str] = "Smooth margin"
    value_name: ClassVar[str] = "Smooth margin (no unit)"

    def __post_init__(self) -> None:
        checked_number("lam", self.lam, 0.0, 1e6, open_low=True)
        checked_number("kappa", self.kappa, 0.0, 1e6)
        checked_number("eta", self.eta, 1.0, math.inf)
        super().__post_init__()

    @property
    def _upper(self) -> float:
        return 1.0

    @property
    def _pass(self) -> SamplePass:
        lam, kappa, eta = float(self.lam), float(self.kappa), float(self.eta)
        return partial(_margin_pass, n_classes=self.data.n_classes, lam=lam, kappa=kappa, eta=eta)

    def evaluate(self, model: BayesianNetwork) -> float:
        """Smooth margin of a network on the data."""
        return smooth_margin(model, self.data, lam=self.lam, kappa=self.kappa, eta=self.eta)


def _margin_pass(
    index: FactorIndex, table: FloatArray, part: slice, gradient: FloatArray | None, *, n_classes: int,
    lam: float, kappa: float, eta: float,
) -> FloatArray:  # fmt: skip
    from ._softmax_kernels import margin_pass

    return np.array(
        margin_pass(
            index.index, index.start, table, index.labels, index.weight, n_classes, part.start, part.stop,
            lam, kappa, eta, table if gradient is None else gradient, gradient is not None,
        )
    )  # fmt: skip
