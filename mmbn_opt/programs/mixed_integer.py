"""Mixed-integer linear programs: rows, columns, integers, and groups of which one column is chosen."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.base import Improvement, ProgramKind, ProgramSize

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["MixedIntegerProgram"]


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
    >>> from mmbn_opt.programs import MixedIntegerProgram
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0]), A=sp.csr_array(np.array([[1.0, 1.0]])),
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([1.0]),
    ...     col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.ones(2, dtype=bool))
    >>> program.value(np.array([0.0, 1.0])), program.violation(np.array([1.0, 1.0]))
    (-2.0, 1.0)
    """

    c: FloatArray
    A: "sp.csr_array"
    row_lower: FloatArray
    row_upper: FloatArray
    col_lower: FloatArray
    col_upper: FloatArray
    integrality: NDArray[np.bool_]
    offset: float = 0.0
    column_names: tuple[str, ...] = ()
    row_names: tuple[str, ...] = ()
    choice_groups: tuple[NDArray[np.intp], ...] = field(default=())
    primal_heuristic: Improvement | None = None

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

    @property
    def box_bound(self) -> float | None:
        """A lower bound on the objective from column bounds and choice groups alone; None when it is not finite.

        Every column takes its cheapest bound, and every choice group the cheapest of its columns, of which exactly one
        is 1: ``sum_g min_{j in g} c_j + sum_{j in no group} min(c_j l_j, c_j u_j) + offset``.

        Examples
        --------
        >>> import numpy as np, scipy.sparse as sp
        >>> program = MixedIntegerProgram(
        ...     c=np.array([-1.0, -2.0, -3.0]), A=sp.csr_array((0, 3)), row_lower=np.zeros(0), row_upper=np.zeros(0),
        ...     col_lower=np.zeros(3), col_upper=np.array([1.0, 1.0, 4.0]), integrality=np.ones(3, dtype=bool),
        ...     choice_groups=(np.array([0, 1]),))
        >>> program.box_bound
        -14.0
        """
        cost = self.c
        free = np.ones(cost.size, dtype=bool)
        total = self.offset
        for group in self.choice_groups:
            # A column in two groups would be counted twice, which is no bound.
            if free[group].all() and np.unique(group).size == group.size:
                free[group] = False
                total += float(cost[group].min())
        used = free & (cost != 0.0)
        cheapest = np.where(cost[used] > 0, self.col_lower[used], self.col_upper[used])
        total += float(cost[used] @ cheapest)
        return total if np.isfinite(total) else None

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

    def canonical(self) -> Self:
        """The program as engines get it: at most one entry a cell, no NaN, and no heuristic."""
        for name in ("row_lower", "row_upper", "col_lower", "col_upper"):
            bad = np.flatnonzero(np.isnan(getattr(self, name)))
            if bad.size:
                raise InputError(
                    f"MixedIntegerProgram.{name} holds NaN at position {bad[0]}; use an infinity for a side that is "
                    "free."
                )
        matrix = self.A
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return replace(self, A=matrix, primal_heuristic=None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the heuristic behind when the program travels to another process."""
        state = dict(self.__dict__)
        state["primal_heuristic"] = None
        return state
