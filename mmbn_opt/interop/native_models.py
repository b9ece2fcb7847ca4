"""A problem as an object of a modelling library: HiGHS, SCIP, Pyomo, cvxpy; names that speak, rows to be added to.

Columns stand in the order of the program, so that the values of the first ones, in a list, are what `recover` takes.
"""

from typing import Any

import numpy as np

from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.programs.as_cvxpy import cvxpy_linear_model, cvxpy_model
from mmbn_opt.programs.as_pyomo import pyomo_linear_model, pyomo_model
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.solvers.mixed_integer.highs_model import load_program
from mmbn_opt.solvers.mixed_integer.scip import ScipSolver

from .with_linopy import linopy_model

__all__ = ["to_cvxpy", "to_highspy", "to_linopy", "to_pyomo", "to_scip"]


def to_highspy(formulation: Formulation) -> Any:
    """A ``highspy.Highs`` that holds the row form, a minimum, and prints nothing."""
    import highspy

    class Highs(highspy.Highs):  # type: ignore[misc]
        """HiGHS without the banner, which is printed once callbacks are enabled."""

        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    program = _row_form(formulation, "to_highspy").canonical()
    highs = Highs()
    load_program(highs, program)
    for number, name in enumerate(program.column_names):
        highs.passColName(number, name)
    for number, name in enumerate(program.row_names):
        highs.passRowName(number, name)
    return highs


def to_scip(formulation: Formulation) -> Any:
    """A ``pyscipopt.Model`` that holds the row form, a minimum, and prints nothing.

    Raises
    ------
    MissingDependencyError
        Without PySCIPOpt (extra ``scip``).
    """
    found = ScipSolver.availability()
    if not found.available:
        raise MissingDependencyError(found.reason)
    from pyscipopt import Model, quicksum

    program = _row_form(formulation, "to_scip").canonical()
    model = Model()
    model.hideOutput()
    columns = [
        model.addVar(name=name, vtype="I" if whole else "C", lb=_side(low), ub=_side(high), obj=float(cost))
        for name, whole, low, high, cost in zip(
            program.column_names, program.integrality, program.col_lower, program.col_upper, program.c, strict=True
        )
    ]
    model.addObjoffset(program.offset)
    for i, name in enumerate(program.row_names):
        part = slice(program.A.indptr[i], program.A.indptr[i + 1])
        values, numbers = program.A.data[part].tolist(), program.A.indices[part]
        total = quicksum(value * columns[j] for value, j in zip(values, numbers, strict=True))
        lower, upper = _side(program.row_lower[i]), _side(program.row_upper[i])
        if lower is not None and upper is not None:
            model.addCons(total == lower if lower == upper else (lower <= (total <= upper)), name=name)
        elif lower is not None or upper is not None:
            model.addCons(total >= lower if upper is None else total <= upper, name=name)
    return model


def to_pyomo(formulation: Formulation) -> Any:
    """A ``pyomo.environ.ConcreteModel``: of the row form ``x[name]`` and ``row[name]``, of convex ones the parts."""
    if isinstance(formulation, ParentSetFormulation):
        return pyomo_linear_model(_row_form(formulation, "to_pyomo"), named=True)
    program: Any = _convex(formulation, "to_pyomo")
    return pyomo_model(program).model


def to_cvxpy(formulation: Formulation) -> Any:
    """A ``cvxpy.Problem``: of the row form with one variable ``x``, of a convex problem with ``w`` and ``slack``."""
    if isinstance(formulation, ParentSetFormulation):
        return cvxpy_linear_model(_row_form(formulation, "to_cvxpy"))
    program: Any = _convex(formulation, "to_cvxpy")
    return cvxpy_model(program).problem


def to_linopy(formulation: Formulation) -> Any:
    """A ``linopy.Model`` that holds the row form, a minimum, and prints nothing.

    Raises
    ------
    MissingDependencyError
        Without linopy (extra ``linopy``).
    """
    return linopy_model(_row_form(formulation, "to_linopy"))


def _convex(formulation: Formulation, asked: str) -> Any:
    if not formulation.kinds & {ProgramKind.CONVEX, ProgramKind.CONVEX_ROWS}:
        raise InputError(
            f"{type(formulation).__name__} has neither a row form nor a convex program, which {asked} could hand over; "
            "build() gives its program as functions."
        )
    return formulation.build()


def _row_form(formulation: Formulation, asked: str) -> MixedIntegerProgram:
    if not isinstance(formulation, ParentSetFormulation):
        raise InputError(
            f"{type(formulation).__name__} has no row form, which {asked} could hand over; structure formulations have."
        )
    return formulation.named_program()


def _side(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
