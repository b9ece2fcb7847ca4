"""A restarted primal-dual method on the saddle point of log-parameters and multipliers."""

import math

import numpy as np

from ..._arrays import FloatArray
from ...programs.convex import ConvexProgram
from ...programs.convex_bounds import admissible_multipliers, nearest_feasible
from ...programs.margin_kernels import add_adjoint
from ._primal_dual_kernels import anchor, dual_step
from .run import ConvexRun

__all__ = ["PrimalDual", "with_own_class"]

FIRST_BALANCE = 0.03
"""Dual over primal step at the start; restarts adapt it."""
SUFFICIENT, NECESSARY, LONG = 0.2, 0.8, 0.36
"""Restart when the residual fell to the first share of what it was, or to the second and rises, or when the epoch has
taken the third share of all iterations."""
PATIENCE = 10_000
"""Least number of iterations without progress before the method gives up."""
GROWTH, CROWDED, REFUSED = 1.5, 0.5, 0.99
"""Longer steps after an epoch in which the coupling stayed below `CROWDED`; shorter ones as soon as it passes
`REFUSED`."""


def with_own_class(program: ConvexProgram, multipliers: FloatArray) -> FloatArray:
    """Admissible multipliers of the rivals, with what is left of the weight in the slot of the own class."""
    margins = program.margins
    table = admissible_multipliers(np.array(multipliers), margins.labels, margins.weight)
    table[np.arange(margins.n_samples), margins.labels] = np.maximum(margins.weight - table.sum(axis=1), 0.0)
    return table


class PrimalDual:
    """Reflected Halpern iteration of the primal-dual hybrid gradient method, restarted.

    ``min over w  max over y  gamma sum delta y - w.(linear + Delta' y)``, w in the rows above the floor, the
    multipliers of each sample in the simplex of its weight. A step is an exact projection of either side. Steps are
    diagonal: 1 over the weight that looks an entry up, and weight over factors of a sample, for which the coupling
    has norm 1 at most. That bound belongs to a direction that hardly ever moves, so the steps grow while
    ``2 <dy, Delta dw>`` stays below the squared length of the step and shrink when it does not.

    Every multiplier that occurs is a dual point and every w a primal one: bounds never depend on the steps.

    References
    ----------
    .. [1] A. Chambolle, T. Pock, "A first-order primal-dual algorithm for convex problems", J. Math. Imaging Vis. 40
       (2011); diagonal steps: Pock and Chambolle, ICCV 2011.
    .. [2] D. Applegate et al., "Faster first-order primal-dual methods for linear programming using restarts and
       sharpness", Mathematical Programming 201 (2023).
    .. [3] H. Lu, J. Yang, "Restarted Halpern PDHG for linear programming", arXiv:2407.16144 (2024).
    """

    check_every = 40

    def __init__(self, program: ConvexProgram, run: ConvexRun, multipliers: FloatArray | None = None) -> None:
        assert run.best is not None
        self.program, self.run = program, run
        margins = program.margins
        self.gamma = program.best_gamma(run.best)
        rows = np.arange(margins.n_samples)
        weight = margins.weight
        own = np.zeros((margins.n_samples, margins.n_classes))
        own[rows, margins.labels] = weight
        total = float(weight.sum())
        self.counts = np.maximum(program.frequency * total, total / margins.n_samples)
        self.at_zero = program.linear + self._looked_up(own)
        self.w: FloatArray = run.best.copy()
        self.y: FloatArray = own if multipliers is None else with_own_class(program, multipliers)
        self.v: FloatArray = self.at_zero - self._looked_up(self.y)
        self.new_y: FloatArray = self.y.copy()
        self.anchor_y: FloatArray = self.y.copy()
        self.anchor_w, self.anchor_v = self.w.copy(), self.v.copy()
        self.balance, self.length, self.growth = FIRST_BALANCE, 1.0, GROWTH
        self.row_multipliers = np.zeros(len(program.row_ptr) - 1)
        self.iterations = self.epoch = self.restarts = 0
        self.first_residual = self.last_residual = math.inf
        self.busiest = 0.0
        self.exhausted = False
        self.gap_then, self.value_then, self.moved_at = math.inf, 1e300, 0

    def _looked_up(self, y: FloatArray) -> FloatArray:
        """Sum of the multipliers over the samples that look an entry up."""
        margins = self.program.margins
        table = np.zeros((margins.patterns.shape[0], margins.n_classes))
        add_adjoint(margins.index, margins.start, y, table)
        return margins.scatter(table)

    def step(self) -> None:
        """One iteration, or one refusal of a step that was too long."""
        program, margins = self.program, self.program.margins
        primal = self.length / (self.balance * self.counts)
        dual = self.length * self.balance / margins.n_factors
        new_w = nearest_feasible(
            self.w + primal * self.v, program.row_ptr, program.log_floor, 1.0 / primal, self.row_multipliers
        )
        table = np.zeros((margins.patterns.shape[0], margins.n_classes))
        self.asked, moved_y = dual_step(
            margins.index, margins.start, margins.table(2.0 * new_w - self.w), margins.labels, margins.weight,
            program.delta, self.gamma, dual, self.y, self.new_y, table,
        )  # fmt: skip
        new_v = self.at_zero - margins.scatter(table)
        self.new_w, self.new_v = new_w, new_v
        moved_w = new_w - self.w
        coupling = 2.0 * float((new_v - self.v) @ moved_w)
        squared = float((moved_w**2 / primal).sum()) + moved_y / dual
        self.iterations += 1
        crowd = abs(coupling) / max(squared, 1e-300)
        if crowd > REFUSED:
            self.length *= 0.7 / crowd
            self.growth = 1.0 + 0.5 * (self.growth - 1.0)
            self._begin(self.w, self.y, self.v)
            return
        self.busiest = max(self.busiest, crowd)
        residual = math.sqrt(max(squared + coupling, 0.0))
        if self.epoch == 0:
            self.first_residual = residual
        if self._is_over(residual):
            self._restart()
            return
        self.last_residual = residual
        share = (self.epoch + 1) / (self.epoch + 2)
        self.w = share * (2.0 * new_w - self.w) + (1.0 - share) * self.anchor_w
        self.v = share * (2.0 * new_v - self.v) + (1.0 - share) * self.anchor_v
        anchor(self.y, self.new_y, self.anchor_y, share)
        self.epoch += 1

    def _is_over(self, residual: float) -> bool:
        """Whether the epoch has done its work."""
        if self.epoch <= 10:
            return False
        fallen = residual / max(self.first_residual, 1e-300)
        rising = residual > self.last_residual
        return fallen <= SUFFICIENT or (fallen <= NECESSARY and rising) or self.epoch >= LONG * self.iterations

    def _restart(self) -> None:
        """Start again from the newest point, with steps balanced by the way that either side has come."""
        margins = self.program.margins
        way_w = float(((self.new_w - self.anchor_w) ** 2 * self.counts).sum())
        way_y = float(((self.new_y - self.anchor_y) ** 2 / margins.weight[:, None]).sum()) * margins.n_factors
        if way_w > 0.0 and way_y > 0.0:
            self.balance = math.sqrt(math.sqrt(way_y / way_w) * self.balance)
        else:
            self.exhausted = way_w == way_y == 0.0
        if self.busiest < CROWDED:
            self.length *= self.growth
        self.restarts += 1
        self._begin(self.new_w, self.new_y, self.new_v)

    def _begin(self, w: FloatArray, y: FloatArray, v: FloatArray) -> None:
        self.w, self.v = w, v
        self.anchor_w, self.anchor_v = w.copy(), v.copy()
        self.y[:] = y
        self.anchor_y[:] = y
        self.epoch, self.busiest, self.last_residual = 0, 0.0, math.inf

    def check(self) -> None:
        """Look at the gap; move gamma where it is free."""
        self.run.heartbeat(self.iterations)
        self.run.offer(self.new_w)
        if self.program.is_linear:  # its multipliers need a repair, which is for the end
            self.run.raise_bound(self.program.bound_of(self.asked, self.new_v))
        else:
            self.run.offer_multipliers(self.new_y)
        if self.program.gamma is None:
            self._move_gamma()
        self._watch_progress()

    def _watch_progress(self) -> None:
        """Give up when neither the gap nor the value has moved for a fifth of all iterations."""
        bounds = self.run.bounds
        gap, value = bounds.gap_abs, bounds.primal_bound or 0.0
        if gap < 0.99 * self.gap_then or value < self.value_then - 1e-6 * abs(self.value_then):
            self.gap_then, self.value_then, self.moved_at = gap, value, self.iterations
        elif self.iterations - self.moved_at > max(PATIENCE, 0.2 * self.iterations):
            self.exhausted = True

    def _move_gamma(self) -> None:
        """Towards ``gamma^3 B S = 1``."""
        assert self.program.strength is not None
        if self.asked <= 0:
            return
        wanted = (self.program.strength * self.asked) ** (-1 / 3)
        change = float(np.clip(math.log(wanted / self.gamma), -1.0, 1.0))
        if abs(change) < 1e-7:
            return
        self.gamma *= math.exp(0.5 * change)
        if abs(change) > 0.05:
            self._begin(self.new_w, self.new_y, self.new_v)

    def last_look(self) -> None:
        """Value and bound of where the run ended."""
        if self.iterations:
            self.run.offer(self.new_w)
            self.run.offer_multipliers(self.new_y)

    @property
    def stats(self) -> dict[str, float]:
        """Figures for the result."""
        return {"passes": self.iterations, "restarts": self.restarts, "step": self.length, "balance": self.balance}
