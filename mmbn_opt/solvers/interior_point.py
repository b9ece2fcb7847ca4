"""A centred primal-dual interior-point method that finishes what the first-order method began."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from .._convex_kernels import center_slacks
from ..convex_program import ConvexProgram
from ..status import TerminationStatus
from ._built_in_convex import DenseConvexSolver
from ._convex_run import ConvexRun
from ._newton_system import NewtonSystem
from .base import SolverCallback, SolverEvent, SolverResult
from .first_order import FirstOrderSolver
from .log_barrier import interior, refuse_dense, slack_demands

__all__ = ["InteriorPointSolver", "expected_warm_seconds"]

FloatArray = NDArray[np.float64]

NEAREST = 0.99
"""Share of the way to the boundary that a step goes."""
NEAR_FLOOR = 0.1
"""A starting point's entries within this distance (nats) of the floor count as lying on it."""
LARGEST_RISE, LARGEST_FALL = 2.0, 8.0
"""Most that a log-parameter moves in a step: exp(w) is far from linear beyond. Small probabilities may rise further, up
to their square root."""


@dataclass(frozen=True)
class InteriorPointSolver(DenseConvexSolver):
    """Mehrotra's predictor-corrector method with slacks and multipliers eliminated.

    Variables w, gamma where it is free, one slack a sample, with multipliers that sum to the sample's weight at every
    iteration, so that each is a dual point; the row sums may be off by a residual that closes with the rest. The system
    is dense in w. Started from `warm_seconds` of `FirstOrderSolver`, all complementarity pairs centred.

    Parameters
    ----------
    warm_seconds : float or None
        Of the first-order method; 0 starts cold. None: about what ten iterations will take, 1 to 30 seconds.
    warm_gap : float
        Relative gap at which the first-order method is left.
    prune : float
        Leave classes of a sample out of the system whose curvature is below this times what the barrier adds a
        sample; 0 keeps them all.
    max_iterations, max_parameters : int

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> from mmbn_opt.formulations.max_margin_relaxation import MaxMarginRelaxation
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    >>> program = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0).build()
    >>> result = InteriorPointSolver().solve(program)
    >>> result.termination_status, result.bounds.gap_rel < 1e-6
    (TerminationStatus.OPTIMAL, True)
    """

    warm_seconds: float | None = None
    warm_gap: float = 1e-2
    prune: float = 1.0
    max_iterations: int = 200
    max_parameters: int = 4000

    name: ClassVar[str] = "interior_point"
    title: ClassVar[str] = "Primal-dual interior point"
    own_settings: ClassVar[str] = "warm_seconds, warm_gap, prune"

    def _solve(self, program: Any, callback: SolverCallback | None, start: FloatArray | None) -> SolverResult:
        run = ConvexRun(self, program, callback, start)
        refuse_dense(program, self.max_parameters, self.name)
        status, raw, iterations = TerminationStatus.ITERATION_LIMIT, "iteration limit", 0
        warm = 0.0
        try:
            warm = self._warm(run)
            assert run.best is not None
            state = _State(program, run.best, run.bounds.gap_abs, self.prune)
            idle, gap, merit = 0, math.inf, math.inf
            while not run.should_stop() and iterations < self.max_iterations:
                state.iterate()
                iterations += 1
                run.heartbeat(iterations)
                run.offer(state.w, iterations=iterations)
                run.offer_multipliers(state.y, iterations=iterations)
                # Far from the end the books do not move while the method works its way back to their point.
                idle = 0 if run.bounds.gap_abs < 0.99 * gap or state.merit() < 0.99 * merit else idle + 1
                gap, merit = min(gap, run.bounds.gap_abs), min(merit, state.merit())
                if idle >= 15 or state.step_lengths < 1e-7:
                    status, raw = TerminationStatus.SLOW_PROGRESS, "the gap no longer falls"
                    break
        except LinAlgError as error:
            status, raw = TerminationStatus.NUMERICAL_ERROR, str(error)
        except KeyboardInterrupt:
            run.stopped_by_user, raw = True, "interrupted"
        if run.closed():
            raw = "gap closed"
        return run.result(status, raw, iterations=iterations, stats={"warm_sec": warm})

    def _warm(self, run: ConvexRun) -> float:
        """Seconds spent on the first-order method; its point and its bound go into the books."""
        seconds = expected_warm_seconds(run.program) if self.warm_seconds is None else self.warm_seconds
        if seconds <= 0 or run.should_stop():
            return 0.0

        def on_event(event: SolverEvent) -> bool:
            if event.solution is not None:
                run.offer(event.solution, source="first_order")
            if event.dual_bound is not None:
                run.offer_bound(event.dual_bound, source="first_order")
            return run.stopped_by_user

        first = FirstOrderSolver(
            time_limit=min(seconds, run.time_left),
            rel_gap=max(self.warm_gap, self.rel_gap),
            abs_gap=self.abs_gap,
        )
        answer = first.solve(run.program, callback=on_event, start=run.best)
        if answer.termination_status is TerminationStatus.INTERRUPTED:
            run.stopped_by_user = True
        return float(answer.stats["solve_sec"])


def expected_warm_seconds(program: ConvexProgram) -> float:
    """About ten iterations: 1e10 operations a second in the factorization, 5e8 additions in the assembly."""
    margins = program.margins
    factorization = float(np.count_nonzero(~program.at_floor)) ** 3 / 3e10
    assembly = margins.n_samples * (margins.n_classes * margins.n_factors) ** 2 / 4 / 5e8
    return float(np.clip(10 * (factorization + assembly), 1.0, 30.0))


class _State:
    """Primal and dual variables of the method and one iteration on them."""

    def __init__(self, program: ConvexProgram, w: FloatArray, gap: float, prune: float) -> None:
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
        self._center(mu)
        v = program.linear + margins.adjoint(self._rivals(self.y))
        self._balance(v, mu)
        self._center(mu)
        self.step_lengths, self.excess = 1.0, math.inf

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
        exp_w = np.exp(self.w)
        above = self.w - program.log_floor if self.has_floor else np.ones_like(self.w)
        far = above > NEAR_FLOOR
        mass = np.add.reduceat(np.where(far, exp_w, 0.0), program.row_ptr[:-1])
        pull = np.add.reduceat(np.where(far, v, 0.0), program.row_ptr[:-1])
        slack = np.maximum(1.0 - np.add.reduceat(exp_w, program.row_ptr[:-1]), 1e-3)
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

    def _rivals(self, table: FloatArray) -> FloatArray:
        """The table with the own class emptied."""
        rivals = table.copy()
        rivals[self.rows, self.program.margins.labels] = 0.0
        return rivals

    def _mu(self) -> float:
        """Mean complementarity."""
        total = float((self.s * self.y).sum() + self.r @ self.lam + (self.t @ self.z if self.has_floor else 0.0))
        pairs = int(self.s.size) + len(self.r) + (int(self.free.sum()) if self.has_floor else 0)
        return total / pairs

    def merit(self) -> float:
        """Mean complementarity and the largest excess of a row."""
        return self._mu() * float(self.s.size) + float(self.program.margins.weight.sum()) * self.excess

    def iterate(self) -> None:
        """One predictor and corrector step on the same factorization."""
        program, mu = self.program, self._mu()
        exp_w = np.exp(self.w)
        self.exp_w = np.where(self.free, exp_w, 0.0)  # only what moves
        self.residual = np.add.reduceat(exp_w, program.row_ptr[:-1]) + self.r - 1.0
        self.excess = float(np.abs(self.residual).max())
        self.d = self.y / self.s
        rivals = self._rivals(self.y)
        lam_exp = np.repeat(self.lam, self.sizes) * self.exp_w
        self.stationarity = -program.linear - program.margins.adjoint(rivals) + lam_exp - self.z
        self.slope = 0.0
        curvature = 0.0
        if program.strength is not None:
            self.slope = -(self.gamma**-3.0) / program.strength + float((program.delta * rivals).sum())
            curvature = 3 * self.gamma**-4.0 / program.strength
        system = NewtonSystem(
            program, self.d, lam_exp + self.z / self.t, self.exp_w, self.lam / self.r, curvature, self.prune, self.free
        )
        zero_s, zero_r, zero_t = np.zeros_like(self.s), np.zeros_like(self.r), np.zeros_like(self.t)
        aim = self._direction(system, 0.0, zero_s, zero_r, zero_t)
        primal, dual = self._lengths(aim)
        after = float(((self.s + primal * aim["s"]) * (self.y + dual * aim["y"])).sum())
        after += float((self.r + primal * aim["r"]) @ (self.lam + dual * aim["lam"]))
        pairs = self.s.size + len(self.r)
        if self.has_floor:
            after += float((self.t + primal * aim["t"]) @ (self.z + dual * aim["z"]))
            pairs += int(self.free.sum())
        sigma = min(1.0, max(after / pairs / mu, 0.0)) ** 3
        sigma = max(sigma, 1e-3)
        step = self._direction(
            system, sigma * mu, primal * dual * aim["s"] * aim["y"], primal * dual * aim["r"] * aim["lam"],
            primal * dual * aim["t"] * aim["z"],
        )  # fmt: skip
        primal, dual = self._lengths(step)
        self._move(step, primal, dual)
        self.step_lengths = max(primal, dual)

    def _direction(
        self, system: NewtonSystem, target: float, cross_s: FloatArray, cross_r: FloatArray, cross_t: FloatArray
    ) -> dict[str, FloatArray]:
        """Newton step towards complementarity `target`, with second-order terms of an earlier step."""
        program, margins = self.program, self.program.margins
        a = (target - cross_s) / self.s - self.y
        total = self.d.sum(axis=1, keepdims=True)
        shifted = a - self.d * (a.sum(axis=1, keepdims=True) / total)
        to_lam = (target - cross_r) / self.r - self.lam
        to_z = np.zeros_like(self.t)
        if self.has_floor:
            to_z = np.where(self.free, (target - cross_t) / self.t - self.z, 0.0)
        right = -self.stationarity + margins.adjoint(self._rivals(shifted))
        right -= self.exp_w * np.repeat(to_lam + self.lam * self.residual / self.r, self.sizes)
        right += to_z
        right_gamma = -self.slope - float((program.delta * self._rivals(shifted)).sum())
        dw, dgamma = system.solve(right, right_gamma)
        scores = margins.scores(dw)
        dg = dgamma * program.delta + scores - scores[self.rows, margins.labels][:, None]
        dg[self.rows, margins.labels] = 0.0
        dxi = (a.sum(axis=1) + (self.d * dg).sum(axis=1)) / total[:, 0]
        ds = dxi[:, None] - dg
        dy = a - self.d * ds
        dr = -np.add.reduceat(self.exp_w * dw, program.row_ptr[:-1]) - self.residual
        dlam = to_lam - self.lam / self.r * dr
        dz = to_z - self.z / self.t * dw if self.has_floor else np.zeros_like(dw)
        dt = dw if self.has_floor else np.zeros_like(dw)
        return {"w": dw, "gamma": np.array([dgamma]), "s": ds, "y": dy, "r": dr, "lam": dlam, "t": dt, "z": dz}

    def _lengths(self, step: dict[str, FloatArray]) -> tuple[float, float]:
        """Longest primal and dual steps that stay inside."""
        rise = float((step["w"] / np.maximum(LARGEST_RISE, -0.5 * self.w)).max())
        fall = float(-step["w"].min()) / LARGEST_FALL
        primal = min(
            1.0,
            1.0 / max(rise, fall, 1e-300),
            *(_to_boundary(x, step[k]) for k, x in (("s", self.s), ("r", self.r), ("t", self.t))),
            _to_boundary(np.array([self.gamma]), step["gamma"]),
        )
        dual = min(1.0, *(_to_boundary(x, step[k]) for k, x in (("y", self.y), ("lam", self.lam), ("z", self.z))))
        return primal, dual

    def _move(self, step: dict[str, FloatArray], primal: float, dual: float) -> None:
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


def _to_boundary(x: FloatArray, step: FloatArray) -> float:
    """Share of the step after which an entry of x has lost nearly all it has."""
    ratio = float((-step / np.where(x > 0, x, np.inf)).max())
    return NEAREST / ratio if ratio > 0 else math.inf
