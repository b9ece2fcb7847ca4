"""Rows and bounds of a program that contradict each other, as few as HiGHS finds."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from highspy._core import IisBoundStatus, IisStrategy
from numpy.typing import NDArray

from ..._budget import Budget
from ...exceptions import InputError
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.status import TerminationStatus
from .highs import HighsSolver
from .highs_model import fresh_scheduler, load_program, quiet_highs, set_option

__all__ = ["Conflict", "find_conflict"]

_SIDES = {
    int(IisBoundStatus.kIisBoundStatusLower): "lower",
    int(IisBoundStatus.kIisBoundStatusUpper): "upper",
    int(IisBoundStatus.kIisBoundStatusBoxed): "both",
}
"""Anything else is no part of the conflict."""


@dataclass(frozen=True)
class Conflict:
    """Rows and bounds of columns that no point keeps together.

    Parameters
    ----------
    rows, columns : tuple of (int, str)
        Number, and the side that is in conflict: ``lower``, ``upper`` or ``both``.
    whole : bool
        Whether whole numbers are needed for the conflict: the linear relaxation has points then, rows were left out one
        after the other, and bounds and whole numbers stayed.
    least : bool
        Whether without any one of them there is a point.
    """

    rows: tuple[tuple[int, str], ...]
    columns: tuple[tuple[int, str], ...]
    whole: bool
    least: bool


def find_conflict(program: MixedIntegerProgram, time_limit: float | None = None) -> Conflict:
    """An irreducible infeasible subsystem of the linear relaxation, or else rows left by a deletion filter.

    Raises
    ------
    InputError
        Where the program has a feasible point, or none was disproved in time.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> program = MixedIntegerProgram(
    ...     c=np.zeros(2), A=sp.csr_array(np.array([[1.0, 1.0], [1.0, -1.0]])),
    ...     row_lower=np.array([3.0, -np.inf]), row_upper=np.array([np.inf, 9.0]),
    ...     col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.ones(2, dtype=bool))
    >>> found = find_conflict(program)
    >>> found.rows, found.columns, found.whole
    (((0, 'lower'),), ((0, 'upper'), (1, 'upper')), False)
    """
    budget = Budget(time_limit)
    found = _of_relaxation(program, budget)
    return _of_whole_numbers(program, budget) if found is None else found


def _of_relaxation(program: MixedIntegerProgram, budget: Budget) -> Conflict | None:
    highs = quiet_highs()
    fresh_scheduler()
    relaxed = replace(program.canonical(), c=np.zeros(program.c.size), integrality=np.zeros(program.c.size, dtype=bool))
    load_program(highs, relaxed)
    set_option(highs, "threads", 1)
    set_option(highs, "iis_strategy", int(IisStrategy.kIisStrategyFromLp) | int(IisStrategy.kIisStrategyIrreducible))
    if budget.limit is not None:
        set_option(highs, "time_limit", max(budget.left(), 0.0))
    _, iis = highs.getIis()
    rows, columns = _sides(iis.row_index_, iis.row_bound_), _sides(iis.col_index_, iis.col_bound_)
    return Conflict(rows, columns, whole=False, least=True) if iis.valid_ and (rows or columns) else None


def _sides(places: Any, bounds: Any) -> tuple[tuple[int, str], ...]:
    found = ((int(place), _SIDES.get(int(bound))) for place, bound in zip(places, bounds, strict=True))
    return tuple((place, side) for place, side in found if side is not None)


def _of_whole_numbers(program: MixedIntegerProgram, budget: Budget) -> Conflict:
    """What is left when rows are left out as long as no point appears."""
    kept = np.ones(program.A.shape[0], dtype=np.bool_)
    if _status(program, kept, budget) is not TerminationStatus.INFEASIBLE:
        raise InputError("The program is not known to be infeasible, so that nothing in it is in conflict.")
    least = True
    for row in range(len(kept)):
        kept[row] = False
        status = _status(program, kept, budget)
        kept[row] = status is not TerminationStatus.INFEASIBLE
        least = least and status in (TerminationStatus.INFEASIBLE, TerminationStatus.OPTIMAL)
    rows = tuple((int(row), _leaning(program, int(row))) for row in np.flatnonzero(kept))
    return Conflict(rows, (), whole=True, least=least)


def _leaning(program: MixedIntegerProgram, row: int) -> str:
    below, above = np.isfinite(program.row_lower[row]), np.isfinite(program.row_upper[row])
    return "both" if below and above else "lower" if below else "upper"


def _status(program: MixedIntegerProgram, kept: NDArray[np.bool_], budget: Budget) -> TerminationStatus:
    part = MixedIntegerProgram(
        c=np.zeros(program.c.size),
        A=program.A[np.flatnonzero(kept)],
        row_lower=program.row_lower[kept],
        row_upper=program.row_upper[kept],
        col_lower=program.col_lower,
        col_upper=program.col_upper,
        integrality=program.integrality,
    )
    limit = None if budget.limit is None else max(budget.left(), 0.01)
    return HighsSolver(time_limit=limit).solve(part).termination_status
