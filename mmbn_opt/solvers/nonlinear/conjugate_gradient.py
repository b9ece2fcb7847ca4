"""Nonlinear conjugate gradients: the optimizer of CG-MM and CG-CL."""

import math
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import ClassVar

import numpy as np

from ..._arguments import choice_of, is_number
from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.nonlinear import NonlinearProgram
from ...results.status import TerminationStatus
from ..base import Availability, SolverCallback, SolverResult
from ..journal import Ended
from ._line_search import LineStep, strong_wolfe
from .descent import Descent, DescentSolver

__all__ = ["ConjugateGradientSolver"]

_CURVATURE = {"dai-kou": 0.5, "polak-ribiere": 0.1}
"""c2 of the line search by update."""


@dataclass(frozen=True)
class ConjugateGradientSolver(DescentSolver):
    """Conjugate gradients with a line search for the strong Wolfe conditions.

    ``d_0 = -g_0``, ``d_{k+1} = -g_{k+1} + beta d_k`` with, for ``y = g_{k+1} - g_k``,

    * Polak-Ribiere+, the method of CG-MM: ``beta = max(0, g_{k+1}.y / g_k.g_k)``;
    * Dai-Kou: ``beta = (g_{k+1}.y - (y.y / d_k.y) g_{k+1}.d_k) / d_k.y``, at least ``g_{k+1}.d_k / 2 d_k.d_k``.

    After an exact line search ``g_{k+1}.d_k`` is zero and both are the same. Polak-Ribiere loses its conjugacy with the
    error of the step and so pays two evaluations an iteration for steps that are nearly exact; the second term of
    Dai-Kou makes up for the error, so that most first trials can be kept. A direction that does not go down is replaced
    by ``-g``.

    Source: Pernkopf, Wohlmayr, Tschiatschek 2012, section 3.2 (Polak-Ribiere with line search); Gilbert & Nocedal 1992
    for the + and the line search that makes it converge; Dai & Kou 2013, *A nonlinear conjugate gradient algorithm with
    an optimal property and an improved Wolfe line search*, SIAM J. Optim. 23, 296-320.

    Parameters
    ----------
    update : str
        ``"dai-kou"`` or ``"polak-ribiere"``.
    c1, c2 : float
        Sufficient decrease and curvature of the line search, ``0 < c1 < c2 < 1``; c2 below 1/2 for Polak-Ribiere. None
        for c2 takes .5, and .1 for Polak-Ribiere.
    max_iterations, gradient_tol, rel_change, patience
        Stop rules, the same for `lbfgs` and `scipy_cg`; `options` takes them by name.

    Examples
    --------
    >>> import numpy as np
    >>> from mmbn_opt.programs import NonlinearProgram
    >>> scale = np.array([1.0, 10.0])
    >>> bowl = NonlinearProgram(lambda x: (float(x @ (scale * x)) / 2, scale * x), x0=np.array([3.0, 4.0]))
    >>> result = ConjugateGradientSolver().solve(bowl)
    >>> result.termination_status, bool(np.abs(result.solution).max() < 1e-6)
    (TerminationStatus.LOCALLY_OPTIMAL, True)
    """

    update: str = "dai-kou"
    c1: float = 1e-4
    c2: float | None = None

    name: ClassVar[str] = "conjugate_gradient"
    title: ClassVar[str] = "Conjugate gradients"
    licence: ClassVar[str] = "BSD-3-Clause (this package)"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice_of("update", self.update, tuple(_CURVATURE), expected=" or ".join(map(repr, _CURVATURE)))
        most = 0.5 if self.update == "polak-ribiere" else 1.0
        if not (is_number(self.c1) and is_number(self._curvature()) and 0 < self.c1 < self._curvature() < most):
            raise InputError(f"The line search needs 0 < c1 < c2 < {most:g}, got c1={self.c1!r} and c2={self.c2!r}.")

    def _curvature(self) -> float:
        return _CURVATURE[self.update] if self.c2 is None else self.c2

    @classmethod
    def availability(cls) -> Availability:
        """Look whether it solves a one-variable model (cached)."""
        return _probe()

    def solve(
        self, program: NonlinearProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a `NonlinearProgram` without constraints; see `Solver.solve`."""
        settings = self.with_options()
        return settings.descend(program, callback, start, settings._search)

    def _search(self, run: Descent, x: FloatArray, value: float, gradient: FloatArray) -> None:
        here = LineStep(0.0, x, value, gradient, -float(gradient @ gradient))
        direction = -gradient
        length = 1.0 / float(np.abs(gradient).max())  # the first trial moves the parameters by one at most
        while True:
            step = strong_wolfe(run.evaluate, here, direction, length, c1=self.c1, c2=self._curvature())
            gradient = here.gradient
            if step is None:
                if here.slope == -float(gradient @ gradient):
                    raise Ended(TerminationStatus.SLOW_PROGRESS, "no decrease along the steepest descent")
                direction, here = -gradient, replace(here, slope=-float(gradient @ gradient))
                length = 1.0 / float(np.abs(gradient).max())
                continue
            run.accept(step.x, step.value, step.gradient)  # raises when a stop rule fires: no gradient below is zero
            next_direction = self._factor(here, step, direction) * direction - step.gradient
            slope = float(step.gradient @ next_direction)
            if slope > -1e-6 * float(np.linalg.norm(step.gradient) * np.linalg.norm(next_direction)):
                next_direction, slope = -step.gradient, -float(step.gradient @ step.gradient)
            length = _first_trial(here, step, direction, next_direction, slope)
            here, direction = replace(step, length=0.0, slope=slope), next_direction

    def _factor(self, here: LineStep, step: LineStep, direction: FloatArray) -> float:
        """How much of the last direction goes into the next."""
        change = step.gradient - here.gradient
        if self.update == "polak-ribiere":
            return max(0.0, float(step.gradient @ change) / float(here.gradient @ here.gradient))
        bend = step.slope - here.slope  # d.y, positive under the curvature condition
        if bend <= 0.0:
            return 0.0
        corrected = float(step.gradient @ change) - float(change @ change) / bend * step.slope
        return max(corrected / bend, 0.5 * step.slope / float(direction @ direction))


def _first_trial(
    here: LineStep, step: LineStep, direction: FloatArray, next_direction: FloatArray, slope: float
) -> float:
    """First step to try along the next direction.

    One guess expects the decrease of the last step to first order (Nocedal & Wright 2006, section 3.5) and tends to be
    too long after a short step; the other expects the curvature of the last step (Barzilai & Borwein 1988) and tends to
    be too short where directions get flatter. Their geometric mean is kept as it is more often than either.
    """
    decrease = step.length * min(10.0, here.slope / slope)
    bend = step.slope - here.slope
    if bend <= 0.0:
        return decrease
    squares = float(direction @ direction) / float(next_direction @ next_direction)
    return math.sqrt(decrease * (-slope * step.length * squares / bend))


@cache
def _probe() -> Availability:
    bowl = NonlinearProgram(lambda x: (float((x - 1) @ (x - 1)), 2 * (x - 1)), x0=np.zeros(1))
    answer = ConjugateGradientSolver().solve(bowl)
    if answer.solution is None or abs(answer.solution[0] - 1.0) > 1e-6:
        return Availability(False, version("mmbn-opt"), "conjugate gradients did not solve a one-variable model.")
    return Availability(True, version("mmbn-opt"))
