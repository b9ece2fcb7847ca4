"""Mixed-integer programs as .nl files, which solvers with an AMPL interface read; written by Pyomo."""

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from mmbn_opt.exceptions import InputError
from mmbn_opt.program import MixedIntegerProgram

from .atomic import write_bytes_atomic, write_text_atomic

__all__ = ["pyomo_linear_model", "write_nl"]


def pyomo_linear_model(program: MixedIntegerProgram) -> Any:
    """The program as a model of Pyomo with variables ``x[j]``, constraints ``row[i]`` and a minimum ``objective``.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0]), A=sp.csr_array(np.array([[1.0, 1.0]])),
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([1.0]),
    ...     col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.ones(2, dtype=bool))
    >>> model = pyomo_linear_model(program)
    >>> str(model.row[0].expr), str(model.objective.expr)
    ('x[0] + x[1]  <=  1.0', '- x[0] - 2.0*x[1]')
    """
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    model = pyo.ConcreteModel()
    model.x = pyo.Var(
        range(program.c.size),
        domain=lambda _, j: pyo.Integers if program.integrality[j] else pyo.Reals,
        bounds=lambda _, j: (_side(float(program.col_lower[j])), _side(float(program.col_upper[j]))),
    )
    columns = [model.x[j] for j in range(program.c.size)]

    def row(_: Any, i: int) -> Any:
        part = slice(program.A.indptr[i], program.A.indptr[i + 1])
        total = LinearExpression(
            linear_coefs=program.A.data[part].tolist(), linear_vars=[columns[j] for j in program.A.indices[part]]
        )
        lower, upper = _side(float(program.row_lower[i])), _side(float(program.row_upper[i]))
        if lower is None and upper is None:
            return pyo.Constraint.Skip
        return total == lower if lower == upper else (lower, total, upper)

    model.row = pyo.Constraint(range(program.A.shape[0]), rule=row)
    used = np.flatnonzero(program.c)
    model.objective = pyo.Objective(
        expr=LinearExpression(
            constant=program.offset, linear_coefs=program.c[used].tolist(), linear_vars=[columns[j] for j in used]
        )
    )
    return model


def write_nl(program: MixedIntegerProgram, path: str | Path) -> Path:
    """Write the program, and the names of its columns in the file's order beside it; returns the path of the names.

    An .nl file has no names and puts integer columns last, so a solver's answer is read with the help of the ``.col``
    file, one name a line, as AMPL writes it. Columns that are in no row and not in the objective are left out.

    Raises
    ------
    InputError
        Where nothing is left to write, or a row without columns can't hold.
    """
    from pyomo.common.errors import InfeasibleConstraintException

    from mmbn_opt.solvers.pyomo_ipopt import write_nl as write_model

    target = Path(path)
    column_file = target.with_suffix(".col")
    if column_file == target:
        raise InputError(f"{target.name} is where the names of the columns go; let the name of the program end in .nl.")
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "program.nl"
        try:
            variables, _ = write_model(pyomo_linear_model(program), str(draft))
        except InfeasibleConstraintException as error:
            raise InputError(f"The program has no solution, as a row without columns shows: {error}") from error
        text = draft.read_bytes()
    if not variables:
        raise InputError("The program has no columns in its rows and its objective; there is nothing to solve.")
    names = program.column_names or tuple(f"x{j}" for j in range(program.c.size))
    write_text_atomic(column_file, "".join(f"{names[variable.index()]}\n" for variable in variables))
    write_bytes_atomic(target, text)
    return column_file


def _side(value: float) -> float | None:
    return value if math.isfinite(value) else None
