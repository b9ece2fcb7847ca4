"""CMM as a Pyomo model whose log-sum-exps neither over- nor underflow.

Written down naively, ``log sum_k exp(t_k)`` is the logarithm of 0 as soon as all ``t_k`` are below -745, which samples
of most data reach. Here every sum is a chain of links of two, each a variable of its own, with

``log(exp(a) + exp(b)) = (a + b + |a - b|) / 2 + log(1 + exp(-|a - b|))``,

which is exact, smooth as a whole, and holds no exponent above 0. A solver may so step wherever it likes.
"""

from typing import Any

import numpy as np

from ..._arrays import FloatArray
from ...exceptions import SizeLimitError
from ...programs.nonlinear import AlgebraicModel
from ._objective import CmmObjective

__all__ = ["cmm_model"]

MAX_TERMS = 2_000_000
"""Most Gaussian terms (samples x components x features x 2) that are written out."""


def cmm_model(
    objective: CmmObjective, lower: FloatArray, upper: FloatArray, start: FloatArray, max_terms: int = MAX_TERMS
) -> AlgebraicModel:
    """Write the program down for Pyomo, every variable at its value at `start`.

    Parameters
    ----------
    objective : CmmObjective
    lower, upper, start : float64 arrays (n,)
    max_terms : int

    Raises
    ------
    SizeLimitError
        For programs that are too large to be written out term by term.
    """
    terms = 2 * objective.layout.n_components * int(np.prod(objective.z.shape))
    if terms > max_terms:
        raise SizeLimitError(
            f"The model would hold {terms:,} Gaussian terms; at most {max_terms:,} are written out. "
            "Use a solver that takes functions, or raise max_terms."
        )
    return _Writer(objective, start, lower, upper).write()


class _Writer:
    """The model while it is written: equations that define auxiliary variables, with their values at the start."""

    def __init__(self, objective: CmmObjective, start: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        import pyomo.environ as pyo

        self.pyo: Any = pyo
        self.objective = objective
        self.model = pyo.ConcreteModel()
        limits = {j: (float(lower[j]), float(upper[j])) for j in range(len(start))}
        self.model.x = pyo.Var(range(len(start)), bounds=limits, initialize=dict(enumerate(start.tolist())))
        self.model.auxiliary = pyo.VarList()
        self.model.defined = pyo.ConstraintList()

    def write(self) -> AlgebraicModel:
        """Densities, targets, and the two soft minima."""
        objective, model, pyo = self.objective, self.model, self.pyo
        n, h = len(objective.z), objective.h
        first, second = self._densities(0), self._densities(1)
        signs = objective.signs.tolist()
        ratio = [self._define(first[i] - second[i]) for i in range(n)]
        activities = [signs[i] * (model.x[0] + ratio[i]) - objective.xi for i in range(n)]
        model.target = pyo.Constraint(range(n), rule=lambda _, i: activities[i] >= 0)
        soft = [
            self._log_sum_exp([-sign * h * ratio[i] for i in np.flatnonzero(objective.signs == sign).tolist()]) / h
            for sign in (1, -1)
        ]
        model.objective = pyo.Objective(expr=soft[0] + soft[1], sense=pyo.minimize)
        return AlgebraicModel(model, [model.x[j] for j in range(len(model.x))], activities)

    def _define(self, expression: Any, lower: float | None = None) -> Any:
        """A variable that equals an expression."""
        variable = self.model.auxiliary.add()
        variable.set_value(float(self.pyo.value(expression)))
        variable.setlb(lower)
        self.model.defined.add(variable == expression)
        return variable

    def _log_sum_exp(self, terms: list[Any]) -> Any:
        total = terms[0]
        for term in terms[1:]:
            gap = self._define(total - term)
            size = abs(gap)
            total = self._define(term + 0.5 * (gap + size) + self.pyo.log(1.0 + self.pyo.exp(-size)))
        return total

    def _densities(self, mixture: int) -> list[Any]:
        """Log-density of every sample under one mixture."""
        objective, model, pyo = self.objective, self.model, self.pyo
        layout = objective.layout
        numbers = layout.views(np.arange(layout.size, dtype=np.float64), mixture)
        weights, means, scales = ([[model.x[int(j)] for j in row] for row in np.atleast_2d(v)] for v in numbers)
        components, features = range(layout.n_components), range(layout.n_features)
        variance = [
            [self._define(pyo.exp(scales[k][j]) + objective.tau, objective.tau) for j in features] for k in components
        ]
        half = [[0.5 * pyo.log(2.0 * np.pi * variance[k][j]) for j in features] for k in components]
        normalizer = self._log_sum_exp(weights[0])
        # What all samples share is written once: log w_k - 1/2 sum_j log(2 pi var_kj).
        constant = [self._define(weights[0][k] - normalizer - sum(half[k])) for k in components]
        densities = []
        for row in objective.z:
            seen, absent = np.flatnonzero(~np.isnan(row)).tolist(), np.flatnonzero(np.isnan(row)).tolist()
            terms = [
                self._define(
                    constant[k]
                    + sum(half[k][j] for j in absent)
                    - 0.5 * sum((float(row[j]) - means[k][j]) ** 2 / variance[k][j] for j in seen)
                )
                for k in components
            ]
            densities.append(self._log_sum_exp(terms))
        return densities
