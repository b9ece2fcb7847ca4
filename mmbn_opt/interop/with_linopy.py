"""The row form of a structure problem as a model of linopy: two variables and one block of rows, by name."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.exceptions import MissingDependencyError
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram

__all__ = ["linopy_model"]


def linopy_model(program: MixedIntegerProgram) -> Any:
    """A ``linopy.Model``: ``x`` has the integer columns, ``y`` the others, by their names, and ``row`` the rows.

    Their dimensions are ``column`` and ``continuous``; of one name, ``model.solution`` would join them, with NaN.
    Rows with two different sides have the upper one in ``row_upper``; a constant of the objective is a variable
    ``one`` that is fixed at 1.
    """
    try:
        import linopy
    except ImportError:
        raise MissingDependencyError(
            "linopy, which to_linopy hands a problem over to, is not installed; run: pip install 'mmbn-opt[linopy]'"
        ) from None
    import pandas as pd

    program = program.canonical()
    model = linopy.Model()
    names = np.array(program.column_names, dtype=object)
    labels = np.empty(program.c.size, dtype=np.int64)
    for letter, own, dimension in (("x", program.integrality, "column"), ("y", ~program.integrality, "continuous")):
        if own.any():
            added = model.add_variables(
                program.col_lower[own],
                program.col_upper[own],
                coords=[pd.Index(names[own], name=dimension)],
                name=letter,
                integer=letter == "x",
            )
            labels[own] = added.labels.values
    _add_rows(model, program, labels)
    used = np.flatnonzero(program.c)
    costs, columns = program.c[used], labels[used]
    if program.offset:
        one = model.add_variables(1.0, 1.0, name="one")
        costs, columns = np.append(costs, program.offset), np.append(columns, int(one.labels))
    model.add_objective(_expression(model, costs[None], columns[None], None))
    return model


def _add_rows(model: Any, program: MixedIntegerProgram, labels: NDArray[np.int64]) -> None:
    import pandas as pd
    import xarray as xr

    counts = np.diff(program.A.indptr)
    shape = (len(counts), int(counts.max(initial=1)))
    row, place = np.repeat(np.arange(len(counts)), counts), np.arange(program.A.nnz)
    place = place - np.repeat(program.A.indptr[:-1], counts)
    values, columns = np.full(shape, np.nan), np.full(shape, -1, dtype=np.int64)
    values[row, place], columns[row, place] = program.A.data, labels[program.A.indices]
    lower, upper = program.row_lower, program.row_upper
    equal, below, above = lower == upper, np.isfinite(lower), np.isfinite(upper)
    index = pd.Index(program.row_names, name="row")
    both = below & above & ~equal
    for name, kept, sign, side in (
        ("row", below | above, np.where(equal, "=", np.where(below, ">=", "<=")), np.where(below, lower, upper)),
        ("row_upper", both, np.full(len(counts), "<="), upper),
    ):
        if kept.any():
            at = {"row": index[kept]}
            model.add_constraints(
                _expression(model, values[kept], columns[kept], index[kept]),
                xr.DataArray(sign[kept], dims="row", coords=at),
                xr.DataArray(side[kept], dims="row", coords=at),
                name=name,
            )


def _expression(model: Any, values: NDArray[Any], columns: NDArray[np.int64], rows: Any) -> Any:
    import linopy
    import xarray as xr

    dims = ("_term",) if rows is None else ("row", "_term")
    if rows is None:
        values, columns = values[0], columns[0]
    terms = xr.Dataset(
        {"coeffs": (dims, values), "vars": (dims, columns)}, coords={} if rows is None else {"row": rows}
    )
    return linopy.LinearExpression(terms, model)
