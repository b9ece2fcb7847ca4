"""Small random integer programs against enumeration."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from conformance.programs import Case
from conformance.test_matrix import check_result, installed
from hypothesis import given, settings
from hypothesis import strategies as st

from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.results.status import TerminationStatus

COLUMNS = 3
# SciPy runs the same HiGHS, half a second a program.
QUICK = ("highs", "scip", "cbc")

numbers = st.integers(-4, 4)
sides = st.integers(-12, 12)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A program whose columns are integers from -2 to 2, so that there are 125 points."""

    program: MixedIntegerProgram
    best: float | None


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    n_rows = draw(st.integers(0, 3))
    matrix = np.array(
        [draw(st.lists(numbers, min_size=COLUMNS, max_size=COLUMNS)) for _ in range(n_rows)], dtype=float
    ).reshape(n_rows, COLUMNS)
    lower = np.array([draw(st.one_of(st.just(-np.inf), sides)) for _ in range(n_rows)], dtype=float)
    upper = np.array([draw(st.one_of(st.just(np.inf), sides)) for _ in range(n_rows)], dtype=float)
    swap = lower > upper
    lower[swap], upper[swap] = upper[swap], lower[swap]
    cost = np.array(draw(st.lists(st.integers(-9, 9), min_size=COLUMNS, max_size=COLUMNS))) / 7.0
    program = MixedIntegerProgram(
        c=cost,
        A=sp.csr_array(matrix),
        row_lower=lower,
        row_upper=upper,
        col_lower=np.full(COLUMNS, -2.0),
        col_upper=np.full(COLUMNS, 2.0),
        integrality=np.ones(COLUMNS, dtype=bool),
        offset=draw(st.integers(-3, 3)) / 3.0,
    )
    points = (np.array(point, dtype=float) for point in itertools.product(range(-2, 3), repeat=COLUMNS))
    values = [program.value(point) for point in points if program.is_feasible(point, 1e-9)]
    return Drawn(program, min(values, default=None))


@pytest.mark.parametrize("name", QUICK)
def test_a_row_of_even_numbers_and_an_odd_side(name: str) -> None:
    """CBC's probing cuts lose the optimum, -4/7 + 1 at (-1, -1), and it says optimal."""
    program = MixedIntegerProgram(
        c=np.array([4 / 7, -1.0]),
        A=sp.csr_array([[2.0, -4.0]]),
        row_lower=np.array([1.0]),
        row_upper=np.array([np.inf]),
        col_lower=np.full(2, -2.0),
        col_upper=np.full(2, 2.0),
        integrality=np.ones(2, dtype=bool),
    )
    result = installed(name)(time_limit=60.0).solve(program)
    check_result(result, Case("even", program, TerminationStatus.OPTIMAL, 3 / 7))


@pytest.mark.parametrize("name", QUICK)
@settings(max_examples=40)
@given(drawn())
def test_optimum_is_that_of_enumeration(name: str, case: Drawn) -> None:
    status = TerminationStatus.INFEASIBLE if case.best is None else TerminationStatus.OPTIMAL
    result = installed(name)(time_limit=60.0).solve(case.program)
    assert result.termination_status is status, result.raw_status
    check_result(result, Case("drawn", case.program, status, case.best))
