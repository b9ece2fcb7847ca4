"""Rows that contradict each other are named, as few as are needed."""

import numpy as np
import pytest
import scipy.sparse as sp

import mmbn_opt as mm
from mmbn_opt.programs import MixedIntegerProgram
from mmbn_opt.results.status import TerminationStatus


def program(matrix, lower, upper, top, whole, names=()):
    matrix = np.array(matrix, dtype=float)
    n = matrix.shape[1]
    return MixedIntegerProgram(
        c=np.ones(n), A=sp.csr_array(matrix), row_lower=np.array(lower, dtype=float),
        row_upper=np.array(upper, dtype=float), col_lower=np.zeros(n), col_upper=np.full(n, top),
        integrality=np.full(n, whole), row_names=tuple(names),
    )  # fmt: skip


def left_out(asked, names):
    """Whether a point appears when each of the named rows is left out alone."""
    for name in names:
        keep = np.array([row != name for row in asked.row_names])
        rest = program(
            asked.A.toarray()[keep], asked.row_lower[keep], asked.row_upper[keep], asked.col_upper[0],
            bool(asked.integrality[0]), np.array(asked.row_names)[keep],
        )  # fmt: skip
        yield mm.solve(rest, "highs").termination_status is TerminationStatus.OPTIMAL


INF = np.inf
CASES = {
    "relaxation": (
        [[1, 1, 0], [1, -1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]], [3, -INF, -INF, -INF, -INF], [INF, 5, 1, 0.5, 2], 9.0,
        False, {"row 0", "row 3", "row 4"},
    ),
    "whole numbers": (
        [[2, 2, 0], [0, 0, 1], [1, 0, 0]], [3, -INF, -INF], [3, 1, 4], 9.0, True, {"row 0"},
    ),
    "whole numbers, two rows": (
        [[1, 1, 0], [1, -1, 0], [0, 1, 1]], [1, 0, -INF], [1, 0, 5], 9.0, True, {"row 0", "row 1"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_rows_that_contradict_each_other_are_named_and_no_others(name):
    matrix, lower, upper, top, whole, expected = CASES[name]
    asked = program(matrix, lower, upper, top, whole, [f"row {i}" for i in range(len(matrix))])
    result = mm.solve(asked, "highs")
    assert result.termination_status is TerminationStatus.INFEASIBLE
    table = result.conflict()
    assert set(table[table.kind == "row"].name) == expected
    assert table.attrs == {"whole": whole, "least": True}
    assert all(left_out(asked, expected))


def test_bounds_of_columns_are_part_of_it_with_their_sides():
    table = mm.solve(program([[1, 1], [1, -1]], [3, -INF], [INF, 9], 1.0, True)).conflict()
    assert table[["kind", "name", "side"]].to_numpy().tolist() == [
        ["row", "row[0]", "lower"], ["bound", "x[0]", "upper"], ["bound", "x[1]", "upper"],
    ]  # fmt: skip
    assert table.upper.tolist() == [INF, 1.0, 1.0]


def test_what_has_no_conflict_says_so():
    fine = mm.solve(program([[1, 1]], [1], [INF], 1.0, True))
    with pytest.raises(mm.InputError, match="OPTIMAL; only an INFEASIBLE one has a conflict"):
        fine.conflict()
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    convex = mm.solve(mm.MaxMarginRelaxation(data, mm.naive_bayes(data)), rel_gap=0.1)
    with pytest.raises(mm.InputError, match="MaxMarginRelaxation has no rows that could contradict"):
        convex.conflict()
