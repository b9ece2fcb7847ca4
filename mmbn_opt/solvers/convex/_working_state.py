"""The samples that an interior point works on, what stands for the others, and how the set grows."""

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray
from ...programs.convex import ConvexProgram
from ._interior_state import InteriorState
from .log_barrier import slack_demands

__all__ = ["WorkingState"]

WIDTH = 0.6
"""Samples whose two largest losses are closer than this share of gamma belong to the set."""
CLOSE, CLEAR = 0.1, 0.02
"""Whoever is so close to a kink joins when anybody has to, and the step ends where all are still so far from it."""
FEWEST = 64
"""The nearest to a kink belong to the set whatever their distance."""
SPREAD = 0.15
"""Complementarity at the start; this and the following are shares of the value."""
NEAR = 1e-3
"""Complementarity below which points and multipliers are worth a look."""
SETTLED = 2e-4
"""Complementarity at which the anchor moves to the point and the pull begins to fall."""
FOLLOWED = 1e-4
"""Complementarity below which the anchor follows the point."""
FAR = -1e300
"""Lead of the largest piece over itself: never in the way."""
PULL, FALL, LEAST = 4e-4, 0.13, 1e-9
"""What a distance of 1 in all parameters costs: at first, as a share of the complementarity later, and at least."""
SLOWEST = 0.1
"""Complementarity falls by no more in a step once the anchor has moved: the pull has to keep up with it."""
DONE = 1e-12
"""Complementarity that rounding no longer resolves."""


class WorkingState:
    """An interior point on the samples that may be at a kink; the others are linear, or have no loss.

    A sample far from every kink keeps its multipliers (all on one rival, or none) and enters the reduced program as a
    linear term, so that the multipliers of both kinds together are a dual point of the whole. In flat directions
    nothing holds the point but samples that were left out; there a proximal term does.

    Parameters
    ----------
    program : ConvexProgram
        With gamma fixed.
    w : float64 array (n,)
        Feasible, near the optimum.
    gap : float
        How near, in units of the value.
    multipliers : float64 array (n_samples, n_classes)
        Of the rivals, near the dual optimum.
    """

    def __init__(self, program: ConvexProgram, w: FloatArray, gap: float, multipliers: FloatArray) -> None:
        assert program.gamma is not None
        self.program, self._gamma = program, program.gamma
        self._value = max(abs(program.value(w)), 1e-9 * program.scale)
        margins = program.margins
        demands = slack_demands(program, w, self._gamma)
        rows = np.arange(margins.n_samples)
        known = multipliers.copy()
        known[rows, margins.labels] = margins.weight - known.sum(axis=1)
        shared = np.count_nonzero(known > 1e-9 * margins.weight[:, None], axis=1) > 1
        top = np.partition(demands, -2, axis=1)
        apart = top[:, -1] - top[:, -2]
        inside = shared | (apart < WIDTH * self._gamma)
        inside[np.argsort(apart, kind="stable")[:FEWEST]] = True
        self._piece = demands.argmax(axis=1)
        self._ids, self._outside = np.flatnonzero(inside), ~inside
        self._frozen = np.zeros_like(known)
        lost = np.flatnonzero(self._outside & (self._piece != margins.labels))
        self._frozen[lost, self._piece[lost]] = margins.weight[lost]
        gap = max(SPREAD * self._value / 5.0, gap if np.isfinite(gap) else 0.0)
        self.state = InteriorState(self._reduced(), w, gap, 1.0, multipliers[self._ids])
        self.state.pull, self.state.anchor = self._pull(PULL * self._value), w
        self._moved = False

    def _pull(self, cost: float) -> float:
        return 2.0 * cost / len(self.state.w)

    def _reduced(self) -> ConvexProgram:
        return self.program.part(self._ids, self._frozen)

    @property
    def size(self) -> int:
        """Samples in the set."""
        return len(self._ids)

    @property
    def is_near(self) -> bool:
        """Whether points and multipliers are worth a look."""
        return self.state.spread() < NEAR * self._value

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to gain."""
        return self.state.spread() < DONE * self._value

    def iterate(self) -> None:
        """One iteration on the reduced program, after which the set may be larger."""
        state, spread = self.state, self.state.spread()
        if spread < SETTLED * self._value:
            if not self._moved or spread < FOLLOWED * self._value:
                state.anchor, self._moved, state.slowest = state.w.copy(), True, SLOWEST
            state.pull = self._pull(min(PULL * self._value, max(FALL * spread, LEAST * self._value)))
        before = state.copy()
        state.iterate()
        if self._moved:
            self._grow(before)

    def _grow(self, before: InteriorState) -> None:
        """Take in the samples for which another piece of the loss has become the largest, or nearly so.

        Where they would join now, their multipliers would have to jump; so the step ends where all are still clear.
        """
        ahead = self._lead(self.state.w, slice(None))
        furthest = ahead.max(axis=1)
        if not (self._outside & (furthest > 0.0)).any():
            return
        joined = np.flatnonzero(self._outside & (furthest > -CLOSE * self._gamma))
        first, last = self._lead(before.w, joined), ahead[joined]
        room = np.maximum(-CLEAR * self._gamma - first, 0.0)
        share = np.ones_like(room)
        np.divide(room, last - first, out=share, where=last - first > room)
        self.state.step_back(before, float(share.min()))
        self._ids = np.concatenate([self._ids, joined])
        self._outside[joined] = False
        self._frozen[joined] = 0.0
        self.state.grow(self._reduced())

    def _lead(self, w: FloatArray, samples: NDArray[np.intp] | slice) -> FloatArray:
        """How far each piece of the loss of some samples is above the one that was the largest."""
        demands = slack_demands(self.program, w, self._gamma)[samples]
        piece, rows = self._piece[samples], np.arange(len(demands))
        lead: FloatArray = demands - demands[rows, piece][:, None]
        lead[rows, piece] = FAR
        return lead

    @property
    def multipliers(self) -> FloatArray:
        """Of the whole program, the own class emptied."""
        table = self._frozen.copy()
        table[self._ids] = self.state.rivals(self.state.y)
        return table
