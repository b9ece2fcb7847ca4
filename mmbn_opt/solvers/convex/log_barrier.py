"""The log-barrier Newton method of the paper that posed the problem."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.convex import ConvexProgram
from ...programs.likelihood import LikelihoodProgram
from ...programs.margin_kernels import center_slacks
from ...results.status import TerminationStatus
from ..base import SolverCallback, SolverResult
from ._built_in import DenseConvexSolver
from ._newton_system import NewtonSystem
from .run import ConvexRun

__all__ = ["LogBarrierSolver"]


@dataclass(frozen=True)
class LogBarrierSolver(DenseConvexSolver):
    """Newton's method on the objective with logarithms of all slacks, their weight mu divided by ten a round.

    Guo, Wilkinson & Schuurmans 2005, eq. 18: mu starts at 1; the paper saw fewer than 20 steps a round and stops
    after 7 rounds, here a round ends when Newton's decrement is small and the certified gap decides. The slack of each
    sample is minimised out exactly, which leaves a dense
    system in w and makes the multipliers ``mu / slack`` admissible at every step.

    Parameters
    ----------
    first_mu : float
        On the scale of a sample's slack in units of gamma.
    newton_steps, max_rounds : int
        Limits, the first over all rounds.
    max_parameters : int
        The system is dense in w; larger programs are refused.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> from mmbn_opt import MaxMarginRelaxation
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    >>> program = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0).build()
    >>> result = LogBarrierSolver().solve(program)
    >>> result.termination_status, result.bounds.gap_rel < 1e-6
    (TerminationStatus.OPTIMAL, True)
    """

    first_mu: float = 1.0
    newton_steps: int = 2000
    max_rounds: int = 14
    max_parameters: int = 4000

    name: ClassVar[str] = "barrier"
    title: ClassVar[str] = "Log-barrier Newton"
    own_settings: ClassVar[str] = "first_mu, newton_steps, max_rounds"

    def _solve(self, program: ConvexProgram, callback: SolverCallback | None, start: FloatArray | None) -> SolverResult:
        run = ConvexRun(self, program, callback, start)
        refuse_dense(program, self.max_parameters, self.name)
        assert run.best is not None
        point = _Point(program, interior(program, run.best), program.best_gamma(run.best))
        status, raw, rounds, steps = TerminationStatus.ITERATION_LIMIT, "round limit", 0, 0
        mu = self.first_mu * point.gamma
        with run.until_ended(LinAlgError) as ends:
            while not run.should_stop() and rounds < self.max_rounds:
                if steps >= self.newton_steps:
                    raw = "limit of Newton steps"
                    break
                # Without a floor the minimum of a round is at infinity (all rows drift to zero mass): 20 steps.
                end = min(self.newton_steps, steps + (20 if program.is_linear else self.newton_steps))
                while not run.should_stop() and steps < end:
                    steps += 1
                    run.heartbeat(steps)
                    if point.newton(mu):
                        break
                run.offer(point.w)
                run.offer_multipliers(point.y)
                mu, rounds = 0.1 * mu, rounds + 1
        return run.concluded(ends, status, raw, stats={"rounds": rounds, "mu": mu})


def refuse_dense(program: ConvexProgram, max_parameters: int, name: str) -> None:
    """Refuse a program whose dense Newton system would be too large."""
    n = program.margins.n_parameters
    if n > max_parameters:
        raise InputError(
            f"{name} solves dense systems in all {n:,} parameters ({n * n * 8 / 1e9:.1f} GB); its limit is "
            f'max_parameters={max_parameters:,}. Use "first_order", or raise the limit.'
        )


def interior(program: ConvexProgram | LikelihoodProgram, w: FloatArray) -> FloatArray:
    """A point strictly inside the blocks and above the floor, a little off `w` towards the uniform one."""
    sizes = np.diff(program.row_ptr)
    middle = np.repeat(-np.log(sizes) - 0.2, sizes)
    if math.isfinite(program.log_floor):
        middle = np.maximum(middle, 0.5 * (program.log_floor - np.repeat(np.log(sizes), sizes)))
    return 0.9 * w + 0.1 * middle


class _Point:
    """w, gamma and the multipliers of the last step."""

    def __init__(self, program: ConvexProgram, w: FloatArray, gamma: float) -> None:
        self.program, self.w, self.gamma = program, w, gamma
        self.y = np.zeros((program.margins.n_samples, program.margins.n_classes))

    def _value(self, w: FloatArray, gamma: float, mu: float, y: FloatArray) -> float:
        """Barrier function, the slacks minimised out; fills the multipliers, the own class included."""
        program = self.program
        rest = 1.0 - np.add.reduceat(np.exp(np.minimum(w, 1.0)), program.row_ptr[:-1])
        above = w - program.log_floor
        if not gamma > 0 or rest.min() <= 0 or above.min() <= 0:
            return math.inf
        g = slack_demands(program, w, gamma)
        weight = program.margins.weight
        xi = center_slacks(g, weight, mu, y)
        value = float(weight @ xi) - mu * float(np.log(mu / y).sum()) - float(program.linear @ w)
        value -= mu * float(np.log(rest).sum())
        if math.isfinite(program.log_floor):
            value -= mu * float(np.log(above).sum())
        if program.strength is not None:
            value += 0.5 / gamma**2 / program.strength - mu * math.log(gamma)
        return value

    def newton(self, mu: float) -> bool:
        """One damped Newton step; whether the round is over."""
        program = self.program
        value = self._value(self.w, self.gamma, mu, self.y)
        exp_w = np.exp(self.w)
        sizes = np.diff(program.row_ptr)
        lam = mu / (1.0 - np.add.reduceat(exp_w, program.row_ptr[:-1]))
        z = mu / (self.w - program.log_floor) if math.isfinite(program.log_floor) else np.zeros_like(self.w)
        spread = np.repeat(lam, sizes) * exp_w
        rivals = self.y.copy()
        rivals[np.arange(len(rivals)), program.margins.labels] = 0.0
        gradient = -program.linear - program.margins.adjoint(rivals) + spread - z
        slope, curvature = 0.0, 0.0
        if program.strength is not None:
            slope = -(self.gamma**-3.0) / program.strength + float((program.delta * rivals).sum()) - mu / self.gamma
            curvature = 3 * self.gamma**-4.0 / program.strength + mu / self.gamma**2
        system = NewtonSystem(program, self.y**2 / mu, spread + z**2 / mu, exp_w, lam**2 / mu, curvature)
        step, step_gamma = system.solve(-gradient, -slope)
        decrement = -(float(gradient @ step) + slope * step_gamma)
        length, y = 1.0, np.empty_like(self.y)
        while length > 1e-10:
            w, gamma = self.w + length * step, self.gamma + length * step_gamma
            if self._value(w, gamma, mu, y) <= value - 0.1 * length * decrement + 1e-13 * abs(value):
                self.w, self.gamma, self.y = w, gamma, y
                return decrement <= 1e-3 * mu
            length *= 0.5
        return True


def slack_demands(program: ConvexProgram, w: FloatArray, gamma: float) -> FloatArray:
    """``g_mc = gamma delta_mc - margin_mc``, what the slack of a sample has to exceed; 0 in the own class."""
    g: FloatArray = gamma * program.delta - program.margins.margins(w)
    g[np.arange(len(g)), program.margins.labels] = 0.0
    return g
