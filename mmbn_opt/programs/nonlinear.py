"""Smooth nonlinear programs as functions, and as formulas for solvers that want to read them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.base import ProgramKind, ProgramSize

__all__ = ["AlgebraicModel", "ConstraintTargets", "NonlinearProgram", "PointEvaluation"]


@dataclass(frozen=True, eq=False)
class PointEvaluation:
    """Objective and constraints at a point, and the gradient of any combination of them.

    Parameters
    ----------
    value : float
    constraints : float64 array (m,)
    pull : callable w -> float64 array (n,)
        ``gradient(value) + w @ jacobian(constraints)``, without the Jacobian being formed.
    """

    value: float
    constraints: FloatArray
    pull: Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class ConstraintTargets:
    """Right-hand sides of constraints ``activity(x) - values >= 0`` that a solver may raise once they are met.

    Parameters
    ----------
    values : float64 array (m,)
    growth : float
        Factor by which to raise them, above 1; 1 leaves them as they are.
    penalize_activity : bool
        Penalise ``activity^2`` instead of ``(activity - values)^2`` where a constraint is violated, as Guo et al. 2018
        print it.
    """

    values: FloatArray
    growth: float = 1.0
    penalize_activity: bool = False

    def __post_init__(self) -> None:
        if not 1.0 <= self.growth < float("inf"):
            raise InputError(f"growth must be a finite number of at least 1, got {self.growth!r}.")


@dataclass(frozen=True, eq=False)
class NonlinearProgram:
    """``min f(x)  s.t.  g(x) >= 0,  lower <= x <= upper``; smooth, not convex in general.

    Parameters
    ----------
    value_and_gradient : callable x -> (float, float64 array (n,))
        Fused objective and gradient.
    x0 : float64 array (n,)
        Where to start.
    lower, upper : float64 arrays (n,) or None
    constraints : callable x -> float64 array (m,), or None
        Feasible where all entries are >= 0.
    jacobian : callable x -> array or CSR array (m, n), or None
    monitor : callable x -> float, or None
        Validation score of a point, larger is better; a solver may keep the best point by it.
    n_constraints : int
    evaluate : callable x -> PointEvaluation, or None
        Everything in one pass, for solvers that need no Jacobian; it agrees with the other callables.
    targets : ConstraintTargets or None
        What a solver may raise in the constraints; a solver that cannot ignores it.
    bound : callable x -> float, or None
        Rigorous lower bound of the optimum that follows from what is known at `x`; a solver reports the one of its
        answer.
    algebraic : callable x -> AlgebraicModel, or None
        The same program in formulas, its variables at `x`, for solvers that read them.

    Examples
    --------
    >>> import numpy as np
    >>> bowl = NonlinearProgram(lambda x: (float(x @ x), 2 * x), x0=np.array([3.0, 4.0]))
    >>> bowl.value(bowl.x0), bowl.violation(bowl.x0)
    (25.0, 0.0)
    """

    value_and_gradient: Callable[[FloatArray], tuple[float, FloatArray]]
    x0: FloatArray
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    constraints: Callable[[FloatArray], FloatArray] | None = None
    jacobian: Callable[[FloatArray], Any] | None = None
    monitor: Callable[[FloatArray], float] | None = None
    n_constraints: int = 0
    evaluate: Callable[[FloatArray], PointEvaluation] | None = None
    targets: ConstraintTargets | None = None
    bound: Callable[[FloatArray], float] | None = None
    algebraic: "Callable[[FloatArray], AlgebraicModel] | None" = None

    @property
    def kind(self) -> ProgramKind:
        """Always `ProgramKind.NONLINEAR`."""
        return ProgramKind.NONLINEAR

    @property
    def size(self) -> ProgramSize:
        """Columns and constraints; the non-zeros are those of a dense Jacobian."""
        return ProgramSize(len(self.x0), 0, self.n_constraints, self.n_constraints * len(self.x0))

    def value(self, x: FloatArray) -> float:
        """Objective at `x`."""
        return float(self.value_and_gradient(x)[0])

    def dense_jacobian(self, x: FloatArray) -> FloatArray:
        """The Jacobian at `x`, shape (n_constraints, n); row by row from `evaluate` where there is no `jacobian`."""
        if self.jacobian is not None:
            rows = self.jacobian(x)
            return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
        if self.n_constraints == 0 or self.evaluate is None:
            return np.zeros((0, len(x)))
        pull = self.evaluate(x).pull
        objective = pull(np.zeros(self.n_constraints))
        return np.array([pull(unit) - objective for unit in np.eye(self.n_constraints)])

    def violation(self, x: FloatArray) -> float:
        """Largest violation of a constraint or a bound at `x`."""
        parts = [np.zeros(1)]
        if self.lower is not None:
            parts.append(self.lower - x)
        if self.upper is not None:
            parts.append(x - self.upper)
        if self.constraints is not None:
            parts.append(-self.constraints(x))
        return max(float(part.max()) for part in parts if part.size)


@dataclass(frozen=True, eq=False)
class AlgebraicModel:
    """A Pyomo model of a program, and which of its variables are the program's.

    Parameters
    ----------
    model : pyomo.ConcreteModel
        Its objective is the program's once the auxiliary variables satisfy their defining equations.
    columns : sequence of Pyomo variables
        The program's vector, in order.
    activities : sequence of Pyomo expressions
        The program's constraints, each at least 0.
    """

    model: Any
    columns: Sequence[Any]
    activities: Sequence[Any]
