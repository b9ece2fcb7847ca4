"""Nonlinear programs that can also be written out term by term, for solvers that want formulas and not functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.program import NonlinearProgram

__all__ = ["AlgebraicModel", "AlgebraicProgram"]

FloatArray = NDArray[np.float64]


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


@dataclass(frozen=True, eq=False)
class AlgebraicProgram(NonlinearProgram):
    """A `NonlinearProgram` with ``algebraic``: a callable from a start x to its `AlgebraicModel`."""

    algebraic: Callable[[FloatArray], AlgebraicModel] | None = None
