"""Nonlinear conjugate gradients: the optimizer of CG-MM and CG-CL."""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..program import NonlinearProgram
from ..status import TerminationStatus
from ._descent import Descent, DescentSolver, Finished
from ._line_search import LineStep, strong_wolfe
from .base import Availability, SolverCallback, SolverResult

__all__ = ["ConjugateGradientSolver"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ConjugateGradientSolver(DescentSolver):
    """Polak-Ribiere+ conjugate gradients with a line search for the strong Wolfe conditions.

    ``d_0 = -g_0``, ``d_{k+1} = -g_{k+1} + max(0, g_{k+1}.(g_{k+1} - g_k) / g_k.g_k) d_k``; a direction that does not go
    down is replaced by ``-g``.

    Source: Pernkopf, Wohlmayr, Tschiatschek 2012, section 3.2 (Polak-Ribiere with line search); Gilbert & Nocedal 1992
    for the + and the line search that makes it converge.

    Parameters
    ----------
    c1, c2 : float
        Sufficient decrease and curvature of the line search, ``0 < c1 < c2 < 1/2``.
    max_iterations, gradient_tol, rel_change, patience
        Stop rules, the same for `lbfgs` and `scipy_cg`; `options` takes them by name.

    Examples
    --------
    >>> import numpy as np
    >>> from mmbn_opt.program import NonlinearProgram
    >>> scale = np.array([1.0, 10.0])
    >>> bowl = NonlinearProgram(lambda x: (float(x @ (scale * x)) / 2, scale * x), x0=np.array([3.0, 4.0]))
    >>> result = ConjugateGradientSolver().solve(bowl)
    >>> result.termination_status, bool(np.abs(result.solution).max() < 1e-6)
    (TerminationStatus.LOCALLY_OPTIMAL, True)
    """

    c1: float = 1e-4
    c2: float = 0.1

    name: ClassVar[str] = "conjugate_gradient"
    title: ClassVar[str] = "Conjugate gradients (Polak-Ribiere+)"
    licence: ClassVar[str] = "BSD-3-Clause (this package)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.c1 < self.c2 < 0.5:
            raise InputError(f"The line search needs 0 < c1 < c2 < 1/2, got c1={self.c1!r} and c2={self.c2!r}.")

    @classmethod
    def availability(cls) -> Availability:
        """Look whether it solves a one-variable model (cached)."""
        return _probe()

    def solve(
        self, program: Any, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a `NonlinearProgram` without constraints; see `Solver.solve`."""
        settings = self.with_options()
        return settings.descend(program, callback, start, settings._search)

    def _search(self, run: Descent, x: FloatArray, value: float, gradient: FloatArray) -> None:
        direction = -gradient
        slope = -float(gradient @ gradient)
        length = 1.0 / float(np.abs(gradient).max())  # the first trial moves the parameters by one at most
        while True:
            step = strong_wolfe(
                run.evaluate, LineStep(0.0, x, value, gradient, slope), direction, length, c1=self.c1, c2=self.c2
            )
            if step is None:
                if slope == -float(gradient @ gradient):
                    raise Finished(TerminationStatus.SLOW_PROGRESS, "no decrease along the steepest descent")
                direction, slope = -gradient, -float(gradient @ gradient)
                length = 1.0 / float(np.abs(gradient).max())
                continue
            change = step.gradient - gradient
            beta = max(0.0, float(step.gradient @ change) / float(gradient @ gradient))
            x, value, gradient = step.x, step.value, step.gradient
            run.accept(x, value, gradient)  # raises when a stop rule fires, so that g.g is not zero above
            direction = beta * direction - gradient
            last_slope, slope = slope, float(gradient @ direction)
            if slope > -1e-6 * float(np.linalg.norm(gradient) * np.linalg.norm(direction)):
                direction, slope = -gradient, -float(gradient @ gradient)
            # Expect the change of the last step to first order (Nocedal & Wright 2006, eq. 3.60).
            length = step.length * min(10.0, last_slope / slope)


@cache
def _probe() -> Availability:
    import mmbn_opt

    bowl = NonlinearProgram(lambda x: (float((x - 1) @ (x - 1)), 2 * (x - 1)), x0=np.zeros(1))
    answer = ConjugateGradientSolver().solve(bowl)
    if answer.solution is None or abs(answer.solution[0] - 1.0) > 1e-6:
        return Availability(False, mmbn_opt.__version__, "conjugate gradients did not solve a one-variable model.")
    return Availability(True, mmbn_opt.__version__)
