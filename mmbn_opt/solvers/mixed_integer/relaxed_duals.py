"""Dual values of the linear relaxation of a mixed-integer program, by HiGHS."""

from dataclasses import dataclass, replace

import numpy as np

from ..._arrays import FloatArray
from ...exceptions import SolverError
from ...programs.mixed_integer import MixedIntegerProgram
from .highs_model import fresh_scheduler, load_program, quiet_highs, set_option

__all__ = ["RelaxedDuals", "relaxed_duals"]


@dataclass(frozen=True, eq=False)
class RelaxedDuals:
    """An optimum of the linear relaxation with its dual values, each the slope of the minimum in the limit that binds.

    Parameters
    ----------
    value : float
        Of the relaxation.
    row_value, row_dual : float64 arrays (n_rows,)
    column_value, column_dual : float64 arrays (n_columns,)
    """

    value: float
    row_value: FloatArray
    row_dual: FloatArray
    column_value: FloatArray
    column_dual: FloatArray


def relaxed_duals(program: MixedIntegerProgram, time_limit: float | None = None) -> RelaxedDuals:
    """Solve the program with all its columns continuous.

    Raises
    ------
    SolverError
        Where HiGHS found no optimum, with its own word for it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0]), A=sp.csr_array(np.array([[1.0, 1.0]])),
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([1.5]),
    ...     col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.ones(2, dtype=bool))
    >>> found = relaxed_duals(program)
    >>> found.value, found.row_dual.tolist(), found.column_dual.tolist()
    (-2.5, [-1.0], [0.0, -1.0])
    """
    highs = quiet_highs()
    fresh_scheduler()
    load_program(highs, replace(program.canonical(), integrality=np.zeros(program.c.size, dtype=np.bool_)))
    set_option(highs, "threads", 1)
    if time_limit is not None:
        set_option(highs, "time_limit", max(time_limit, 0.0))
    highs.run()
    status, solution = highs.getModelStatus(), highs.getSolution()
    if status.name != "kOptimal" or not solution.dual_valid:
        raise SolverError(
            f"The linear relaxation has no dual values: HiGHS ended with {highs.modelStatusToString(status)!r}."
        )
    return RelaxedDuals(
        float(highs.getInfo().objective_function_value),
        np.array(solution.row_value),
        np.array(solution.row_dual),
        np.array(solution.col_value),
        np.array(solution.col_dual),
    )
