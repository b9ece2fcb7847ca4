"""What contradicts each other in a program without a feasible point, by name."""

from typing import TYPE_CHECKING

from mmbn_opt.exceptions import InputError
from mmbn_opt.results.result import Result
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solving.duals import row_form

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["result_conflict"]


def result_conflict(result: Result, time_limit: float | None) -> "pd.DataFrame":
    """See `Result.conflict`."""
    import pandas as pd

    from mmbn_opt.solvers.mixed_integer.conflict import find_conflict

    program = row_form(result.formulation)
    if program is None:
        raise InputError(f"{type(result.formulation).__name__} has no rows that could contradict each other.")
    if result.termination_status is not TerminationStatus.INFEASIBLE:
        raise InputError(f"The result is {result.termination_status}; only an INFEASIBLE one has a conflict.")
    found = find_conflict(program, time_limit)
    n_rows, n_columns = program.A.shape
    rows = program.row_names or tuple(f"row[{i}]" for i in range(n_rows))
    columns = program.column_names or tuple(f"x[{j}]" for j in range(n_columns))
    told = [("row", rows[i], side, program.row_lower[i], program.row_upper[i]) for i, side in found.rows]
    told += [("bound", columns[j], side, program.col_lower[j], program.col_upper[j]) for j, side in found.columns]
    table = pd.DataFrame(told, columns=["kind", "name", "side", "lower", "upper"])
    table.attrs.update(whole=found.whole, least=found.least)
    return table
