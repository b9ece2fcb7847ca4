"""Convex and mixed-integer programs as models of Pyomo, and such models as .nl files."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.programs.convex import ConvexProgram
from mmbn_opt.programs.log_rows import LogRows
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram

__all__ = ["PyomoModel", "pyomo_linear_model", "pyomo_model", "write_nl"]


@dataclass(frozen=True, eq=False)
class PyomoModel:
    """A Pyomo model and where its parts are.

    Parameters
    ----------
    model : pyomo.ConcreteModel
        Components ``w``, ``slack``, ``gamma`` (only where it is free), ``margin``, ``block``, ``objective``, which
        is divided by the total weight, and ``row`` where there are linear rows, by their numbers.
    scale : float
        What the objective was divided by.
    sample, rival : int arrays
        Of each row of ``margin``.
    """

    model: Any
    scale: float
    sample: NDArray[np.intp]
    rival: NDArray[np.intp]

    def multipliers(self, program: ConvexProgram, duals: FloatArray, row_duals: FloatArray) -> FloatArray:
        """Multipliers of the fixed-gamma form from the duals of ``margin``, packed with those of ``row``."""
        y = np.zeros((program.margins.n_samples, program.margins.n_classes))
        factor = self.scale / program.loss_weight
        y[self.sample, self.rival] = np.asarray(duals) * factor
        return y if program.rows is None else program.packed(y, np.asarray(row_duals) * factor)


def pyomo_model(program: ConvexProgram, start: FloatArray | None = None) -> PyomoModel:
    """Write a convex program down for Pyomo.

    Parameters
    ----------
    start : float64 array (n,) or None
        Values of w to start from.

    Raises
    ------
    SizeLimitError
        When the margin matrix would have more non-zeros than the program allows.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> from mmbn_opt import MaxMarginRelaxation
    >>> data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"]] * 5, [0, 1, 1] * 5)
    >>> model = pyomo_model(MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0).build()).model
    >>> len(model.w), len(model.margin), len(model.block)
    (6, 3, 3)
    """
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    margins = program.margins
    matrix, sample, rival = margins.matrix(program.max_nonzeros)
    asked = np.broadcast_to(program.delta, (margins.n_samples, margins.n_classes))[sample, rival]
    scale = float(margins.weight.sum())
    strength = 1.0 if program.strength is None else program.strength
    model = pyo.ConcreteModel()
    floor = program.log_floor if np.isfinite(program.log_floor) else None
    model.w = pyo.Var(range(margins.n_parameters), bounds=(floor, 0.0))
    model.slack = pyo.Var(range(margins.n_samples), bounds=(0.0, None))
    gamma: Any = program.gamma
    if gamma is None:
        gamma = model.gamma = pyo.Var(bounds=(1e-6, None))
    if start is not None:
        first = program.best_gamma(start)
        slack = np.maximum((first * program.delta - margins.margins(start)).max(axis=1), 0.0)
        model.w.set_values(dict(enumerate(start.tolist())))
        model.slack.set_values(dict(enumerate(slack.tolist())))
        if program.gamma is None:
            model.gamma.set_value(first)
    terms = [(strength * margins.weight / scale, model.slack), (-strength * program.linear / scale, model.w)]
    coefficients = [c for values, _ in terms for c in values.tolist()]
    variables = [variable[i] for values, variable in terms for i in range(len(values))]
    objective = LinearExpression(constant=0.0, linear_coefs=coefficients, linear_vars=variables)
    model.objective = pyo.Objective(
        expr=objective + (0.5 / scale * gamma**-2 if program.gamma is None else 0.0), sense=pyo.minimize
    )

    def margin_row(_: Any, r: int) -> Any:
        columns = range(matrix.indptr[r], matrix.indptr[r + 1])
        body = LinearExpression(
            constant=0.0,
            linear_coefs=[*(float(matrix.data[k]) for k in columns), 1.0],
            linear_vars=[*(model.w[int(matrix.indices[k])] for k in columns), model.slack[int(sample[r])]],
        )
        return body - float(asked[r]) * gamma >= 0

    def block_row(_: Any, g: int) -> Any:
        return sum(pyo.exp(model.w[i]) for i in range(int(program.row_ptr[g]), int(program.row_ptr[g + 1]))) <= 1

    model.margin = pyo.Constraint(range(len(sample)), rule=margin_row)
    model.block = pyo.Constraint(range(len(program.row_ptr) - 1), rule=block_row)
    if program.rows is not None:
        _add_log_rows(model, program.rows)
    return PyomoModel(model, scale, sample.astype(np.intp), rival.astype(np.intp))


def _add_log_rows(model: Any, rows: LogRows) -> None:
    """Component ``row`` of ``model.w``."""
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    def row(_: Any, i: int) -> Any:
        part = slice(rows.A.indptr[i], rows.A.indptr[i + 1])
        body = LinearExpression(
            constant=0.0,
            linear_coefs=rows.A.data[part].tolist(),
            linear_vars=[model.w[j] for j in rows.A.indices[part].tolist()],
        )
        lower, upper = _side(float(rows.lower[i])), _side(float(rows.upper[i]))
        return body == lower if lower == upper else (lower, body, upper)

    model.row = pyo.Constraint(range(len(rows.names)), rule=row)


def pyomo_linear_model(program: MixedIntegerProgram, *, named: bool = False) -> Any:
    """The program as a model of Pyomo with variables ``x[j]``, constraints ``row[i]`` and a minimum ``objective``.

    Where it is `named`, the indices are the program's names instead of numbers.

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
    own: Any = program.column_names if named else range(program.c.size)
    rows: Any = program.row_names if named else range(program.A.shape[0])
    place, row_place = {name: j for j, name in enumerate(own)}, {name: i for i, name in enumerate(rows)}
    model.x = pyo.Var(
        own,
        domain=lambda _, j: pyo.Integers if program.integrality[place[j]] else pyo.Reals,
        bounds=lambda _, j: (_side(float(program.col_lower[place[j]])), _side(float(program.col_upper[place[j]]))),
    )
    columns = [model.x[j] for j in own]

    def row(_: Any, name: Any) -> Any:
        i = row_place[name]
        part = slice(program.A.indptr[i], program.A.indptr[i + 1])
        total = LinearExpression(
            linear_coefs=program.A.data[part].tolist(), linear_vars=[columns[j] for j in program.A.indices[part]]
        )
        lower, upper = _side(float(program.row_lower[i])), _side(float(program.row_upper[i]))
        if lower is None and upper is None:
            return pyo.Constraint.Skip
        return total == lower if lower == upper else (lower, total, upper)

    model.row = pyo.Constraint(rows, rule=row)
    used = np.flatnonzero(program.c)
    model.objective = pyo.Objective(
        expr=LinearExpression(
            constant=program.offset, linear_coefs=program.c[used].tolist(), linear_vars=[columns[j] for j in used]
        )
    )
    return model


def _side(value: float) -> float | None:
    return value if math.isfinite(value) else None


def write_nl(model: Any, path: str) -> tuple[list[Any], list[Any]]:
    """Write an NL file; returns the variables and constraints in the order of its columns and rows."""
    from pyomo.repn.plugins.nl_writer import NLWriter

    with open(path, "w", encoding="utf-8", newline="") as stream:
        info = NLWriter().write(model, stream, symbolic_solver_labels=False, linear_presolve=False)
    return list(info.variables), list(info.constraints)
