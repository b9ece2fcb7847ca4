"""Programs: what formulations emit and solvers accept. Pure data; always a minimum."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mmbn_opt.exceptions import InputError, SizeLimitError

__all__ = [
    "ConstraintTargets",
    "MixedIntegerProgram",
    "NonlinearProgram",
    "PointEvaluation",
    "PrimalHeuristic",
    "Program",
    "ProgramKind",
    "ProgramSize",
]

FloatArray = NDArray[np.float64]

PrimalHeuristic = Callable[[FloatArray], FloatArray | None]
"""Point in, a better integral point out, or None."""


class ProgramKind(Enum):
    """The kinds of program that dispatch matches between formulations and solvers."""

    MIXED_INTEGER = "mixed-integer linear program"
    IMPLICIT_CONCAVE = "choice program with an implicit concave term"
    LINEAR_CHOICE = "choice program with a linear objective"
    NONLINEAR = "nonlinear program"
    CONVEX = "convex program"
    QUADRATIC = "quadratic margin program"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class ProgramSize:
    """Size of a program, known before it is built.

    Parameters
    ----------
    columns, integers, rows, nonzeros : int
        Counts; `nonzeros` may be an upper estimate.
    """

    columns: int
    integers: int
    rows: int
    nonzeros: int

    def refuse_over(self, *, max_rows: int, max_nonzeros: int, what: str) -> None:
        """Raise `SizeLimitError` with the figures when a limit is exceeded."""
        if self.rows > max_rows or self.nonzeros > max_nonzeros:
            raise SizeLimitError(
                f"{what} would have {self.rows:,} rows and up to {self.nonzeros:,} non-zeros in "
                f"{self.columns:,} columns; "
                f"the limits are max_rows={max_rows:,} and max_nonzeros={max_nonzeros:,}. "
                "Lower max_parents, use the binary soft margin (one row a sample), forbid edges, or raise the limits."
            )


@dataclass(frozen=True, eq=False)
class MixedIntegerProgram:
    """``min c'x + offset  s.t.  row_lower <= A x <= row_upper,  col_lower <= x <= col_upper,  x_j integer for j in I``.

    Parameters
    ----------
    c : float64 array (n_columns,)
    A : scipy CSR array (n_rows, n_columns)
    row_lower, row_upper : float64 arrays (n_rows,); infinities where a side is free
    col_lower, col_upper : float64 arrays (n_columns,)
    integrality : bool array (n_columns,)
    offset : float
    column_names, row_names : tuple of str, or empty
    choice_groups : tuple of int arrays
        Columns of which exactly one is 1 (one parent set per node).
    primal_heuristic : callable or None
        Optional: turns a fractional point into a better integral one; a solver that cannot use it ignores it.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from mmbn_opt.program import MixedIntegerProgram
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0]), A=sp.csr_array(np.array([[1.0, 1.0]])),
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([1.0]),
    ...     col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.ones(2, dtype=bool))
    >>> program.value(np.array([0.0, 1.0])), program.violation(np.array([1.0, 1.0]))
    (-2.0, 1.0)
    """

    c: FloatArray
    A: sp.csr_array
    row_lower: FloatArray
    row_upper: FloatArray
    col_lower: FloatArray
    col_upper: FloatArray
    integrality: NDArray[np.bool_]
    offset: float = 0.0
    column_names: tuple[str, ...] = ()
    row_names: tuple[str, ...] = ()
    choice_groups: tuple[NDArray[np.intp], ...] = field(default=())
    primal_heuristic: PrimalHeuristic | None = None

    def __post_init__(self) -> None:
        n_rows, n_columns = self.A.shape
        expected = {"c": n_columns, "col_lower": n_columns, "col_upper": n_columns, "integrality": n_columns}
        expected |= {"row_lower": n_rows, "row_upper": n_rows}
        for name, length in expected.items():
            shape = getattr(self, name).shape
            if shape != (length,):
                raise InputError(f"MixedIntegerProgram.{name} has shape {shape}, but A calls for ({length},).")
        if self.column_names and len(self.column_names) != n_columns:
            raise InputError(f"{len(self.column_names)} column names for {n_columns} columns.")
        if not np.isfinite(self.c).all() or not np.isfinite(self.A.data).all():
            raise InputError("MixedIntegerProgram coefficients must be finite: c or A holds NaN or inf.")

    @property
    def kind(self) -> ProgramKind:
        """Always `ProgramKind.MIXED_INTEGER`."""
        return ProgramKind.MIXED_INTEGER

    @property
    def size(self) -> ProgramSize:
        """Exact size of the program."""
        n_rows, n_columns = self.A.shape
        return ProgramSize(n_columns, int(self.integrality.sum()), n_rows, int(self.A.nnz))

    def value(self, x: FloatArray) -> float:
        """Objective ``c'x + offset`` at `x`."""
        return float(self.c @ x) + self.offset

    def violation(self, x: FloatArray) -> float:
        """Largest violation of a row, a column bound or integrality at `x`."""
        activity = np.asarray(self.A @ x)
        parts = [
            self.row_lower - activity,
            activity - self.row_upper,
            self.col_lower - x,
            x - self.col_upper,
            np.abs(x - np.round(x))[self.integrality],
        ]
        return max((float(part.max()) for part in parts if part.size), default=0.0)

    def is_feasible(self, x: FloatArray, tolerance: float = 1e-6) -> bool:
        """Whether `x` satisfies all rows, bounds and integrality within `tolerance`."""
        return bool(np.isfinite(x).all()) and self.violation(x) <= tolerance

    def polish(self, x: FloatArray, tolerance: float = 1e-5) -> FloatArray:
        """Round the integer columns of a nearly integral `x`; the others stay as they are."""
        polished = np.array(x, dtype=np.float64)
        rounded = np.round(polished[self.integrality])
        close = np.abs(rounded - polished[self.integrality]) <= tolerance
        polished[np.flatnonzero(self.integrality)[close]] = rounded[close]
        return polished

    def __getstate__(self) -> dict[str, Any]:
        """Leave the heuristic behind when the program travels to another process."""
        state = dict(self.__dict__)
        state["primal_heuristic"] = None
        return state


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


class Program(Protocol):
    """What every kind of program can say of itself; solvers ask for the rest by kind."""

    @property
    def kind(self) -> ProgramKind:
        """Kind that dispatch matches."""

    @property
    def size(self) -> ProgramSize:
        """Exact size."""

    def value(self, x: FloatArray) -> float:
        """Objective at `x`, a minimum."""

    def violation(self, x: FloatArray) -> float:
        """Largest violation of a constraint at `x`."""
