"""Variables of an interior point on a conditional likelihood, and one iteration on them."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ..._arrays import FloatArray
from ...programs.likelihood import LikelihoodProgram
from ._corrections import Step, mehrotra_step, to_boundary
from ._interior_state import row_shares
from ._lattice_holders import TableHold
from ._likelihood_system import DenseSystem, PassSystem
from .log_barrier import interior

__all__ = ["LikelihoodState"]

DAMPING = 0.1
"""Curvature in all directions, in units of the complementarity: where only far barriers hold a direction on which the
objective does not depend, steps along it are not to end those of all others."""
LEAST = 1e-2
"""Complementarity in all falls to no less than this share of the gap that is asked for: Newton's steps are quick as
long as the barrier is smooth on their scale."""
RESET = (0.5, 2.0)
"""Least and most that a row's slack is multiplied by to fit its sum."""


class LikelihoodState:
    """Parameters with the pairs of rows and floor; the multipliers of the samples are the posteriors at w.

    Parameters
    ----------
    program : LikelihoodProgram
    w : float64 array (n,)
        Feasible.
    wanted : callable
        The gap that is asked for, in units of the value.
    prune : float
        See `NewtonSystem`.
    max_dense : int
        Moving parameters up to which systems are factored; beyond it they are solved by conjugate gradients.
    """

    def __init__(
        self, program: LikelihoodProgram, w: FloatArray, wanted: Callable[[], float], prune: float, max_dense: int
    ) -> None:
        self.program, self._wanted, self._prune = program, wanted, prune
        free = ~program.at_floor
        self.dense = np.count_nonzero(free) <= max_dense
        self.w = np.where(free, interior(program, w), program.log_floor)
        self._look()
        pairs = len(program.row_ptr) - 1 + int(free.sum())
        mu = max(self._value / pairs, LEAST * wanted() / pairs)
        self.holder = TableHold(program, free, self.w, np.zeros_like(w), mu)
        self.step_lengths, self._off, self._least_ridge = 1.0, np.inf, 0.0

    def _look(self) -> None:
        self._value, self._weighted = self.program.posteriors(self.w)

    @property
    def y(self) -> FloatArray:
        """Multipliers of the samples."""
        return self.program.rivals(self._weighted)

    def _pairs(self) -> list[tuple[FloatArray, FloatArray, str, str]]:
        values = self.holder.values
        return [(values[a], values[b], a, b) for a, b in self.holder.pairs]

    def spread(self) -> float:
        """Sum of all complementarity products."""
        return sum(float(slacks @ multipliers) for slacks, multipliers, _, _ in self._pairs())

    def merit(self) -> float:
        """The same, and what stationarity is off by."""
        return self.spread() + self._off

    def iterate(self) -> None:
        """One predictor and corrector step on the same system."""
        program, holder = self.program, self.holder
        mu = self.spread() / holder.n_pairs
        held = holder.look(self.w)
        self._stationarity = np.where(holder.free, held + program.gradient(self._weighted), 0.0)
        self._off = float(np.abs(self._stationarity).sum())
        system: DenseSystem | PassSystem
        if self.dense:
            system = DenseSystem(program, self._weighted, holder, DAMPING * mu, self._prune, self._least_ridge)
            self._least_ridge = system.next_ridge
        else:
            system = PassSystem(program, self._weighted, holder, DAMPING * mu)
        step = mehrotra_step(
            self._pairs(),
            holder.n_pairs,
            partial(self._direction, system),
            self._lengths,
            least=LEAST * self._wanted() / holder.n_pairs,
        )
        self._move(step, *self._lengths(step))

    def _direction(self, system: "DenseSystem | PassSystem", target: float, crossed: Mapping[str, FloatArray]) -> Step:
        """Newton step towards complementarity `target`, with second-order terms of an earlier step by pair."""
        dw = system.solve(self.holder.right(target, crossed) - self._stationarity)
        return {"w": dw, **self.holder.steps(dw)}

    def _lengths(self, step: Step) -> tuple[float, float]:
        """Longest steps of slacks and of multipliers that stay inside."""
        pairs = self._pairs()
        primal = min(
            1.0,
            self.holder.longest(self.w, step["w"]),
            *(to_boundary(slacks, step[key]) for slacks, _, key, _ in pairs),
        )
        return primal, min(1.0, *(to_boundary(multipliers, step[partner]) for _, multipliers, _, partner in pairs))

    def _move(self, step: Step, primal: float, dual: float) -> None:
        self.w = self.w + primal * step["w"]
        values = self.holder.values
        for slacks, multipliers in self.holder.pairs:
            values[slacks] = values[slacks] + primal * step[slacks]
            values[multipliers] = values[multipliers] + dual * step[multipliers]
        # Where a row has room for what its sum is above the tangent, its slack gives way.
        values["r"] = np.clip(-row_shares(self.program, self.w)[1], RESET[0] * values["r"], RESET[1] * values["r"])
        self.step_lengths = max(primal, dual)
        self._look()
