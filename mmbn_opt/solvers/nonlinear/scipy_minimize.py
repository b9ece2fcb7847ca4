"""SciPy's L-BFGS and conjugate gradients under the same stop rules, trace and monitor."""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..._arguments import whole
from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.nonlinear import NonlinearProgram
from ...results.status import TerminationStatus
from ..base import Availability, SolverCallback, SolverResult
from ..journal import Ended
from .descent import Descent, DescentSolver

__all__ = ["LbfgsSolver", "ScipyCgSolver"]

_NEVER = 10**9


@dataclass(frozen=True)
class _ScipyMinimize(DescentSolver):
    """`scipy.optimize.minimize` with its own stop rules switched off."""

    method: ClassVar[str]

    def solve(
        self, program: NonlinearProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a `NonlinearProgram` without constraints; see `Solver.solve`."""
        settings = self.with_options()
        return settings.descend(program, callback, start, settings._search)

    def _scipy_options(self) -> dict[str, Any]:
        raise InputError(f"{type(self).__name__} names no options.")

    def _search(self, run: Descent, x: FloatArray, value: float, gradient: FloatArray) -> None:
        from scipy import optimize

        minimize: Any = optimize.minimize
        recent: list[tuple[FloatArray, float, FloatArray]] = [(x, value, gradient)]

        def evaluate(point: FloatArray) -> tuple[float, FloatArray]:
            if np.array_equal(point, recent[0][0]):
                return recent[0][1:]  # SciPy asks for the start again
            recent.append((point.copy(), *run.evaluate(point)))
            return recent[-1][1:]

        def accepted(intermediate_result: Any) -> None:
            point = intermediate_result.x
            known = next((r for r in reversed(recent) if np.array_equal(r[0], point)), None)
            recent[:] = [known if known is not None else (point.copy(), *run.evaluate(point))]
            run.accept(*recent[0])

        answer = minimize(evaluate, x, method=self.method, jac=True, callback=accepted, options=self._scipy_options())
        raise Ended(TerminationStatus.SLOW_PROGRESS, f"SciPy: {answer.message}")


@dataclass(frozen=True)
class LbfgsSolver(_ScipyMinimize):
    """Limited-memory BFGS (SciPy's L-BFGS-B without bounds).

    Parameters
    ----------
    memory : int
        Corrections that are kept.
    max_iterations, gradient_tol, rel_change, patience
        Stop rules, the same for `conjugate_gradient` and `scipy_cg`; `options` takes them by name.

    Examples
    --------
    >>> import numpy as np
    >>> from mmbn_opt.programs import NonlinearProgram
    >>> bowl = NonlinearProgram(lambda x: (float(x @ x), 2 * x), x0=np.array([3.0, 4.0]))
    >>> LbfgsSolver().solve(bowl).termination_status
    TerminationStatus.LOCALLY_OPTIMAL
    """

    memory: int = 10

    name: ClassVar[str] = "lbfgs"
    title: ClassVar[str] = "L-BFGS (SciPy)"
    licence: ClassVar[str] = "BSD-3-Clause"
    method: ClassVar[str] = "L-BFGS-B"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "memory", whole("memory", self.memory, 1))

    @classmethod
    def availability(cls) -> Availability:
        """Look whether it solves a one-variable model (cached)."""
        return _probe(cls)

    def _scipy_options(self) -> dict[str, Any]:
        return {"maxcor": self.memory, "maxiter": _NEVER, "maxfun": _NEVER, "ftol": 0.0, "gtol": 0.0, "maxls": 40}


@dataclass(frozen=True)
class ScipyCgSolver(_ScipyMinimize):
    """SciPy's Polak-Ribiere conjugate gradients: what `conjugate_gradient` is measured against.

    Parameters
    ----------
    max_iterations, gradient_tol, rel_change, patience
        Stop rules, the same for `conjugate_gradient` and `lbfgs`; `options` takes them by name.

    Examples
    --------
    >>> import numpy as np
    >>> from mmbn_opt.programs import NonlinearProgram
    >>> bowl = NonlinearProgram(lambda x: (float(x @ x), 2 * x), x0=np.array([3.0, 4.0]))
    >>> ScipyCgSolver().solve(bowl).termination_status
    TerminationStatus.LOCALLY_OPTIMAL
    """

    name: ClassVar[str] = "scipy_cg"
    title: ClassVar[str] = "Conjugate gradients (SciPy)"
    licence: ClassVar[str] = "BSD-3-Clause"
    method: ClassVar[str] = "CG"

    @classmethod
    def availability(cls) -> Availability:
        """Look whether it solves a one-variable model (cached)."""
        return _probe(cls)

    def _scipy_options(self) -> dict[str, Any]:
        return {"maxiter": _NEVER, "gtol": 0.0}


@cache
def _probe(solver: type[_ScipyMinimize]) -> Availability:
    import scipy

    bowl = NonlinearProgram(lambda x: (float((x - 1) @ (x - 1)), 2 * (x - 1)), x0=np.zeros(1))
    answer = solver().solve(bowl)
    if answer.solution is None or abs(answer.solution[0] - 1.0) > 1e-6:
        return Availability(False, scipy.__version__, "scipy.optimize.minimize did not solve a one-variable model.")
    return Availability(True, scipy.__version__)
