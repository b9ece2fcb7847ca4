"""The dual values of a result as a labelled table: of its proof, or of the linear relaxation of its program."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.given_program import GivenProgram
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.results.duals import DualRows, duals_frame
from mmbn_opt.results.result import Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["result_duals", "row_form"]


def result_duals(result: Result) -> "pd.DataFrame":
    """See `Result.duals`."""
    formulation: Formulation = result.formulation
    program = row_form(formulation)
    if program is not None:
        return duals_frame(_in_sense(part, formulation) for part in _linear_duals(program))
    if result.solution is None:
        raise InputError("The result holds no point that dual values could be told of; give the solver more time.")
    if result.multipliers is None:
        raise InputError(
            f"{result.solver_name!r} left no multipliers ({result.termination_status}); solve with a time limit that "
            'lets it prove a bound, or by another solver: "auto" leaves some for convex problems.'
        )
    return duals_frame(formulation.dual_rows(result.multipliers, result.solution))


def row_form(formulation: Formulation) -> MixedIntegerProgram | None:
    """The program with rows of a problem, with names where it has some; None where there is none."""
    if isinstance(formulation, ParentSetFormulation):
        return formulation.named_program()
    if isinstance(formulation, GivenProgram) and isinstance(formulation.program, MixedIntegerProgram):
        return formulation.program
    return None


def _in_sense(part: DualRows, formulation: Formulation) -> DualRows:
    """Of the formulation's own objective, where the program has its negative."""
    return replace(part, dual=formulation.sense.sign * part.dual + 0.0)


def _linear_duals(program: MixedIntegerProgram) -> tuple[DualRows, DualRows]:
    """Rows, and the bounds of columns."""
    from mmbn_opt.solvers.mixed_integer.relaxed_duals import relaxed_duals

    found = relaxed_duals(program)
    n_rows, n_columns = program.A.shape
    rows = program.row_names or tuple(f"row[{i}]" for i in range(n_rows))
    columns = program.column_names or tuple(f"x[{j}]" for j in range(n_columns))
    return (
        DualRows(
            "row",
            rows,
            found.row_value,
            _limit(program.row_lower, program.row_upper, found.row_dual, found.row_value),
            found.row_dual,
        ),
        DualRows(
            "bound",
            columns,
            found.column_value,
            _limit(program.col_lower, program.col_upper, found.column_dual, found.column_value),
            found.column_dual,
        ),
    )


def _limit(lower: FloatArray, upper: FloatArray, dual: FloatArray, value: FloatArray) -> FloatArray:
    """The side that a row leans on; where it leans on none, the finite one that is nearer."""
    nearer = np.where(np.abs(value - lower) <= np.abs(upper - value), lower, upper)
    return np.where((dual > 0) & np.isfinite(lower), lower, np.where((dual < 0) & np.isfinite(upper), upper, nearer))
