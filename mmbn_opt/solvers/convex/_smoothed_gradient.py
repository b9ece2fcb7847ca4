"""Accelerated projected gradient on the smoothed hinge."""

import math

import numpy as np

from ..._arrays import FloatArray
from ...programs.chain_program import ChainProgram
from ...programs.convex import ConvexProgram
from ...programs.convex_passes import ConvexPassProgram
from ...programs.labellings import soft_labellings
from .run import ConvexRun

__all__ = ["SmoothedGradient"]

SHARE, PATIENCE = 0.5, 300
"""The smoothing is cut when its error is this share of the gap, or when the gap has not moved for so many
iterations."""
CUT = 0.3
"""Factor on the smoothing when it, and no longer the optimization, is what keeps the gap open."""


class SmoothedGradient:
    """FISTA with restarts on ``sum n_m tau log(1 + sum_c exp((gamma - margin_mc) / tau))``.

    Over sequences the sum goes over all labellings, by the forward-backward algorithm.

    The softmax weights are multipliers, so that each gradient is a dual point; bounds come from the last ones and from
    their average, points from an exact row projection. tau starts at `tau` gamma and is cut when the smoothing error
    exceeds the gap.

    References
    ----------
    .. [1] Y. Nesterov, "Smooth minimization of non-smooth functions", Mathematical Programming 103 (2005).
    .. [2] B. O'Donoghue, E. Candes, "Adaptive restart for accelerated gradient schemes", Found. Comput. Math. 15
       (2015).
    """

    check_every = 10

    def __init__(self, program: ConvexProgram | ConvexPassProgram | ChainProgram, run: ConvexRun, tau: float) -> None:
        assert run.best is not None
        self.program, self.run = program, run
        self.w: FloatArray = run.best.copy()
        self.z: FloatArray = self.w.copy()
        self.gamma = program.best_gamma(self.w)
        self.tau = tau * self.gamma
        self.metric = np.sqrt(program.frequency + 1e-3)
        self.lipschitz = program.mass / self.tau
        self.row_multipliers = np.zeros(len(program.row_ptr) - 1)
        self.iterations = self.passes = self.since = 0
        self.gap_then = math.inf
        self._forget()

    def begin_like(self, other: "SmoothedGradient") -> None:
        """Begin where the method has come on a similar program, with its smoothing and steps."""
        assert other.run.best is not None
        self.w = other.run.best.copy()
        self.tau, self.lipschitz = other.tau, other.lipschitz
        self._forget()

    def _forget(self) -> None:
        """Restart momentum and averages."""
        self.z = self.w.copy()
        self.momentum = 1.0
        self.mean_margin, self.mean_v, self.mean_weight = 0.0, np.zeros_like(self.w), 0.0

    def _pass(self, w: FloatArray) -> tuple[float, float, float, FloatArray]:
        self.passes += 1
        smooth, hinge, dual, v = self.program.smooth_hinge(w, self.gamma, self.tau)
        along = float(self.program.linear @ w)
        return smooth - along, hinge - along, dual / self.gamma, v + self.program.linear

    @property
    def exhausted(self) -> bool:
        """Whether the smoothing is at its limit."""
        return self.tau < 1e-9 * self.gamma

    @property
    def stats(self) -> dict[str, float]:
        """Figures for the result."""
        return {"tau": self.tau, "passes": self.passes}

    def step(self) -> None:
        """One accelerated step, every tenth with backtracking; the gradient is ``-v``."""
        backtrack = self.iterations % self.check_every == 0
        value, hinge, dual_margin, v = self._pass(self.z)
        self.smoothing_error, self.last = value - hinge, (dual_margin, v)
        self.last_z, self.last_gamma, self.last_tau = self.z, self.gamma, self.tau
        if backtrack:
            self.lipschitz *= 0.9
        while True:
            scale = self.lipschitz * self.metric
            new = self.program.step_from(self.z + v / scale, scale, self.metric, self.row_multipliers)
            if not backtrack:
                break
            moved = new - self.z
            model = value - float(v @ moved) + 0.5 * float(scale @ moved**2)
            if self._pass(new)[0] <= model + 1e-12 * abs(value):
                break
            self.lipschitz *= 2.0
        self._average(dual_margin, v)
        if float((self.metric * (self.z - new)) @ (new - self.w)) > 0:
            self.momentum = 1.0  # the gradient points back: start over
            self.w = self.z = new
        else:
            momentum = 0.5 * (1 + math.sqrt(1 + 4 * self.momentum**2))
            self.z = new + (self.momentum - 1) / momentum * (new - self.w)
            self.w, self.momentum = new, momentum
        self.iterations += 1

    def _average(self, dual_margin: float, v: FloatArray) -> None:
        """Add to the mean of dual points, later ones with more weight."""
        weight = self.momentum
        self.mean_weight += weight
        share = weight / self.mean_weight
        self.mean_margin += share * (dual_margin - self.mean_margin)
        self.mean_v += share * (v - self.mean_v)

    def check(self) -> None:
        """Look at the gap; cut the smoothing, or move gamma, when they are what holds it up."""
        value = self.run.offer(self.w)
        self._offer_bounds()
        bounds = self.run.bounds
        assert value is not None
        dual = bounds.dual_bound if bounds.dual_bound is not None else -math.inf
        gap = (bounds.primal_bound or 0.0) - dual
        if self.program.gamma is None and self._move_gamma():
            return
        if gap < 0.97 * self.gap_then:
            self.gap_then, self.since = gap, self.iterations
        stalled = self.iterations - self.since >= PATIENCE
        share = self.program.loss_weight * self.smoothing_error / max(gap, 1e-300)
        if share > SHARE or (stalled and share > 0.4 * SHARE):
            self.since = self.iterations
            self.tau *= CUT
            self.lipschitz /= CUT
            self._forget()

    def _offer_bounds(self) -> None:
        if not isinstance(self.program, ConvexProgram):
            # The weights of a single pass take one vector to write down, so that anyone can compute the bound again.
            if self.run.raise_bound(self.program.bound_of(*self.last)):
                self.run.multipliers = soft_labellings(self.last_z, self.last_gamma, self.last_tau)
            return
        for dual_margin, v in (self.last, (self.mean_margin, self.mean_v)):
            self.run.raise_bound(self.program.bound_of(dual_margin, v))

    def _move_gamma(self) -> bool:
        """Towards ``gamma^3 B S = 1``; whether it moved so much that the method starts over."""
        assert self.program.strength is not None
        if self.mean_margin <= 0:
            return False
        wanted = (self.program.strength * self.mean_margin) ** (-1 / 3)
        change = float(np.clip(math.log(wanted / self.gamma), -1.0, 1.0))
        if abs(change) < 1e-7:
            return False
        factor = math.exp(0.5 * change)
        self.gamma *= factor
        if abs(change) < 0.05:
            return False  # the averages go on: a bound holds for any multipliers
        self.tau *= factor
        self._forget()
        return True

    def last_look(self) -> None:
        """Value and bound of where the run ended."""
        if self.iterations:
            self.run.offer(self.w)
            self._offer_bounds()
