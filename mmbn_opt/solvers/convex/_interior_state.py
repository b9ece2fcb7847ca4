"""Variables of the primal-dual interior point and one iteration on them."""

import math
from collections.abc import Mapping
from copy import copy
from functools import partial

import numpy as np

from ..._arrays import FloatArray
from ...programs.convex import ConvexProgram
from ...programs.likelihood import LikelihoodProgram
from ...programs.margin_kernels import center_slacks
from ...programs.sequence import SequenceProgram
from ._corrections import Step, mehrotra_step, to_boundary
from ._newton_system import SMALLEST_RIDGE, NewtonSystem
from ._primal_dual import with_own_class
from .log_barrier import interior, slack_demands

__all__ = ["InteriorState", "believed", "row_shares"]

NEAR_FLOOR = 0.1
"""A starting point's entries within this distance (nats) of the floor count as lying on it."""
LARGEST_RISE, LARGEST_FALL = 2.0, 8.0
"""Most that a log-parameter moves in a step: exp(w) is far from linear beyond. Small probabilities may rise further, up
to their square root."""
CENTRED_SHARE = 0.5
"""Share of the centred multipliers in the first ones, where others are known."""
PAIRS = (("s", "y"), ("r", "lam"), ("t", "z"))
"""Slacks and their multipliers."""
RESET = (0.5, 2.0)
"""Least and most that a row's slack is multiplied by to fit its sum."""


class InteriorState:
    """Primal and dual variables of the method and one iteration on them."""

    def __init__(
        self, program: ConvexProgram, w: FloatArray, gap: float, prune: float, y: FloatArray | None = None
    ) -> None:
        self.program, self.prune = program, prune
        margins = program.margins
        self.sizes = np.diff(program.row_ptr)
        self.rows = np.arange(margins.n_samples)
        pairs = margins.n_samples * margins.n_classes
        scale = gap / (program.strength or 1.0)
        self.gamma = program.best_gamma(w)
        if not math.isfinite(scale):
            scale = float(margins.weight.sum()) * self.gamma
        mu = max(5.0 * scale / pairs, 1e-12)
        self.w = interior(program, w) if not math.isfinite(gap) else 0.999 * w + 0.001 * interior(program, w)
        self.has_floor = math.isfinite(program.log_floor)
        self.free = ~program.at_floor
        self.w[~self.free] = program.log_floor
        self.y: FloatArray
        self.s: FloatArray
        self._center(mu)
        known = None if y is None else with_own_class(program, y)
        if known is not None:
            self.y = (1.0 - CENTRED_SHARE) * known + CENTRED_SHARE * self.y
        v = program.linear + margins.adjoint(self.rivals(self.y))
        self._balance(v, mu)
        self._center(mu)
        if known is not None:
            self.y = (1.0 - CENTRED_SHARE) * known + CENTRED_SHARE * self.y
        self.step_lengths, self.excess, self.least_ridge = 1.0, math.inf, 0.0
        self.pull, self.anchor, self.slowest = 0.0, self.w, 1e-3

    def _center(self, mu: float) -> None:
        """Slacks and multipliers of the samples at the point, all of complementarity `mu`."""
        g = slack_demands(self.program, self.w, self.gamma)
        self.y = np.empty_like(g)
        xi = center_slacks(g, self.program.margins.weight, mu, self.y)
        self.s = xi[:, None] - g

    def _balance(self, v: FloatArray, mu: float) -> None:
        """Multipliers of rows and floor for which ``v = lam exp(w) - z`` nearly holds, of complementarity `mu`.

        Entries that lie close to the floor take the distance from it at which their multiplier is right.
        """
        program = self.program
        exp_w, level = row_shares(program, self.w)
        above = self.w - program.log_floor if self.has_floor else np.ones_like(self.w)
        far = above > NEAR_FLOOR
        mass = np.add.reduceat(np.where(far, exp_w, 0.0), program.row_ptr[:-1])
        pull = np.add.reduceat(np.where(far, v, 0.0), program.row_ptr[:-1])
        slack = np.maximum(-level, 1e-3)
        self.lam = np.maximum(pull / np.maximum(mass, 1e-12), mu / slack)
        self.r = mu / self.lam
        if not self.has_floor:
            self.t, self.z = np.ones_like(self.w), np.zeros_like(self.w)
            return
        wanted = np.repeat(self.lam, self.sizes) * exp_w - v
        closer = ~far & (wanted > 0)
        self.t = np.where(closer, np.clip(mu / np.where(closer, wanted, 1.0), 1e-8, NEAR_FLOOR), above)
        # Entries that stay on the floor have no pair: t = 1 and z = 0 keep them out of every sum.
        self.t = np.where(self.free, self.t, 1.0)
        self.w = np.where(self.free, program.log_floor + self.t, program.log_floor)
        self.z = np.where(self.free, mu / self.t, 0.0)

    def rivals(self, table: FloatArray) -> FloatArray:
        """The table with the own class emptied."""
        rivals = table.copy()
        rivals[self.rows, self.program.margins.labels] = 0.0
        return rivals

    def _mu(self) -> float:
        """Mean complementarity."""
        total = float((self.s * self.y).sum() + self.r @ self.lam + (self.t @ self.z if self.has_floor else 0.0))
        return total / self._pairs()

    def _pairs(self) -> int:
        """Number of complementarity pairs."""
        return int(self.s.size) + len(self.r) + (int(self.free.sum()) if self.has_floor else 0)

    def copy(self) -> "InteriorState":
        """Another state that goes its own way."""
        return copy(self)

    def step_back(self, before: "InteriorState", share: float) -> None:
        """Go only a share of the last step, which began at `before`; all variables move along lines."""
        for name in ("w", "y", "s", "r", "t", "lam", "z"):
            first = getattr(before, name)
            setattr(self, name, first + share * (getattr(self, name) - first))
        self.gamma = before.gamma + share * (self.gamma - before.gamma)

    def grow(self, program: ConvexProgram) -> None:
        """Go on with a program of more samples, the first of them those of before; the others begin centred."""
        mu, old, self.program = self._mu(), len(self.y), program
        new = slack_demands(program, self.w, self.gamma)[old:]
        y = np.empty_like(new)
        xi = center_slacks(new, program.margins.weight[old:], mu, y)
        self.y, self.s = np.vstack([self.y, y]), np.vstack([self.s, xi[:, None] - new])
        self.rows = np.arange(len(self.y))

    def spread(self) -> float:
        """Sum of all complementarity products."""
        return self._mu() * self._pairs()

    def merit(self) -> float:
        """Mean complementarity and the largest excess of a row."""
        return self._mu() * float(self.s.size) + float(self.program.margins.weight.sum()) * self.excess

    def iterate(self) -> None:
        """One predictor and corrector step on the same factorization."""
        program = self.program
        share, level = row_shares(program, self.w)
        self.share = np.where(self.free, share, 0.0)  # only what moves
        self.residual = level + self.r
        self.excess = float(np.abs(self.residual).max())
        self.d = self.y / self.s
        rivals = self.rivals(self.y)
        lam_exp = np.repeat(self.lam, self.sizes) * self.share
        self.stationarity = -program.linear - program.margins.adjoint(rivals) + lam_exp - self.z
        pull = np.where(self.free, self.pull, 0.0)
        self.stationarity += pull * (self.w - self.anchor)
        self.slope = 0.0
        curvature = 0.0
        if program.strength is not None:
            self.slope = -(self.gamma**-3.0) / program.strength + float((program.delta * rivals).sum())
            curvature = 3 * self.gamma**-4.0 / program.strength
        system = NewtonSystem(
            program,
            self.d,
            lam_exp + self.z / self.t + pull,
            self.share,
            self.lam / self.r - self.lam,
            curvature,
            self.prune,
            self.free,
            self.least_ridge,
        )
        # Where the smallest one was needed, the systems to come, which are worse, need it too.
        self.least_ridge = min(system.ridge, SMALLEST_RIDGE)
        self.bent, self.swerve = np.zeros_like(self.r), np.zeros_like(self.w)
        step = mehrotra_step(
            [(getattr(self, key), getattr(self, partner), key, partner) for key, partner in PAIRS],
            self._pairs(),
            partial(self._direction, system),
            self._lengths,
            slowest=self.slowest,
            look=self._bend,
        )
        primal, dual = self._lengths(step)
        self._move(step, primal, dual)
        self.step_lengths = max(primal, dual)

    def _direction(self, system: NewtonSystem, target: float, crossed: Mapping[str, FloatArray]) -> Step:
        """Newton step towards complementarity `target`, with second-order terms of an earlier step by pair."""
        program, margins = self.program, self.program.margins
        a = (target - crossed["s"]) / self.s - self.y
        total = self.d.sum(axis=1, keepdims=True)
        shifted = a - self.d * (a.sum(axis=1, keepdims=True) / total)
        to_lam = (target - crossed["r"]) / self.r - self.lam
        to_z = np.zeros_like(self.t)
        if self.has_floor:
            to_z = np.where(self.free, (target - crossed["t"]) / self.t - self.z, 0.0)
        right = -self.stationarity + margins.adjoint(self.rivals(shifted))
        residual = self.residual + self.bent
        right -= self.share * np.repeat(to_lam + self.lam * residual / self.r, self.sizes) + self.swerve
        right += to_z
        right_gamma = -self.slope - float((program.delta * self.rivals(shifted)).sum())
        dw, dgamma = system.solve(right, right_gamma)
        scores = margins.scores(dw)
        dg = dgamma * program.delta + scores - scores[self.rows, margins.labels][:, None]
        dg[self.rows, margins.labels] = 0.0
        dxi = (a.sum(axis=1) + (self.d * dg).sum(axis=1)) / total[:, 0]
        ds = dxi[:, None] - dg
        dy = a - self.d * ds
        dr = -np.add.reduceat(self.share * dw, program.row_ptr[:-1]) - residual
        dlam = to_lam - self.lam / self.r * dr
        dz = to_z - self.z / self.t * dw if self.has_floor else np.zeros_like(dw)
        dt = dw if self.has_floor else np.zeros_like(dw)
        return {"w": dw, "gamma": np.array([dgamma]), "s": ds, "y": dy, "r": dr, "lam": dlam, "t": dt, "z": dz}

    def _bend(self, step: Step, primal: float, dual: float) -> None:
        """How far the rows and their pull leave their tangents along a step, for the next one to make up for."""
        dw, sizes, first = step["w"], self.sizes, self.program.row_ptr[:-1]
        share, level = row_shares(self.program, self.w + primal * dw)
        along = np.add.reduceat(self.share * dw, first)
        self.bent = np.maximum((level + self.r - self.residual) / primal - along, 0.0)
        straight = np.repeat(self.lam, sizes) * (1.0 + primal * (dw - np.repeat(along, sizes)))
        straight = self.share * (straight + dual * np.repeat(step["lam"], sizes))
        pulled = np.repeat(self.lam + dual * step["lam"], sizes) * share
        self.swerve = np.where(self.free, (pulled - straight) / primal, 0.0)

    def _lengths(self, step: Step) -> tuple[float, float]:
        """Longest primal and dual steps that stay inside."""
        primal = min(
            1.0,
            believed(self.w, step["w"]),
            *(to_boundary(x, step[k]) for k, x in (("s", self.s), ("r", self.r), ("t", self.t))),
            to_boundary(np.array([self.gamma]), step["gamma"]),
        )
        dual = min(1.0, *(to_boundary(x, step[k]) for k, x in (("y", self.y), ("lam", self.lam), ("z", self.z))))
        return primal, dual

    def _move(self, step: Step, primal: float, dual: float) -> None:
        self.w = self.w + primal * step["w"]
        self.gamma += primal * float(step["gamma"][0])
        self.s = self.s + primal * step["s"]
        self.r = self.r + primal * step["r"]
        self.t = self.t + primal * step["t"]
        self.y = self.y + dual * step["y"]
        # The sums are kept by every step; what rounding adds is taken off again.
        self.y *= (self.program.margins.weight / self.y.sum(axis=1))[:, None]
        self.lam = self.lam + dual * step["lam"]
        self.z = self.z + dual * step["z"]
        # Along a step the sums are above their tangents: where a row has room for the difference, its slack gives way.
        self.r = np.clip(-row_shares(self.program, self.w)[1], RESET[0] * self.r, RESET[1] * self.r)


def believed(w: FloatArray, step: FloatArray) -> float:
    """Share of a step of the log-parameters up to which exp(w) is nearly linear."""
    rise = float((step / np.maximum(LARGEST_RISE, -0.5 * w)).max())
    fall = float(-step.min()) / LARGEST_FALL
    return 1.0 / max(rise, fall, 1e-300)


def row_shares(
    program: ConvexProgram | SequenceProgram | LikelihoodProgram, w: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Share of each entry in the sum of its row's exponentials, and the logarithms of these sums."""
    first, sizes = program.row_ptr[:-1], np.diff(program.row_ptr)
    top = np.maximum.reduceat(w, first)
    part = np.exp(w - np.repeat(top, sizes))
    total = np.add.reduceat(part, first)
    return part / np.repeat(total, sizes), top + np.log(total)
