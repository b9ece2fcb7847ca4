"""The pool believes nobody: what it returns is feasible by our reckoning and never worse than what it was offered."""

from dataclasses import replace

import numpy as np
import pytest
from conformance.fake_engines import KNAPSACK
from conformance.programs import PROGRAMS, make_program
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.results.status import SolutionStatus
from mmbn_opt.solvers.incumbents import IncumbentPool

INF = float("inf")
BIG_M = 1e4
# min -t  s.t.  t <= M z,  t <= 1: a z of 1e-7 buys a t of 1e-3.
SWITCH = make_program([-1.0, 0.0], [[1.0, -BIG_M]], [-INF], [0.0], [0.0, 0.0], [1.0, 1.0], [1])


def test_an_empty_pool_holds_nothing() -> None:
    pool = IncumbentPool(KNAPSACK, 1e-6)
    assert (pool.best, pool.value, pool.result, pool.status) == (None, None, None, SolutionStatus.NO_SOLUTION)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)), max_size=12))
def test_the_best_of_all_offers_is_kept_whatever_their_order(offers) -> None:
    pool = IncumbentPool(KNAPSACK, 1e-6)
    feasible = []
    for vector in offers:
        x = np.array(vector, dtype=float)
        improved = pool.offer(x, "solver")
        if KNAPSACK.is_feasible(x):
            assert improved == (not feasible or KNAPSACK.value(x) < min(feasible))
            feasible.append(KNAPSACK.value(x))
        else:
            assert not improved
    assert pool.value == min(feasible, default=None)


def test_integers_are_rounded_and_the_objective_is_of_the_rounded_vector() -> None:
    pool = IncumbentPool(KNAPSACK, 1e-6)
    assert pool.offer(np.array([1.0 - 1e-7, 1.0 + 1e-8, 1e-9]), "solver")
    assert pool.best.solution.tolist() == [1.0, 1.0, 0.0]
    assert pool.value == -9.0


def test_rounding_that_breaks_a_row_is_undone() -> None:
    """z = 1e-7 rounds to 0, and then t = 5e-4 violates its row: the vector counts as it came, or not at all."""
    pool = IncumbentPool(SWITCH, 1e-6)
    cheat = np.array([5e-4, 1e-7])
    assert SWITCH.is_feasible(cheat)
    assert not SWITCH.is_feasible(SWITCH.polish(cheat))
    assert pool.offer(cheat, "solver")
    np.testing.assert_array_equal(pool.best.solution, cheat)
    assert pool.best.violation <= 1e-6


def test_a_nearly_feasible_vector_is_named_as_such_and_gives_way() -> None:
    free = make_program([-1.0], [[1.0]], [-INF], [1.0], [0.0], [9.0], [])
    pool = IncumbentPool(free, 1e-6)
    assert not pool.offer(np.array([1.0 + 5e-5]), "solver")
    assert pool.status is SolutionStatus.NEARLY_FEASIBLE
    assert pool.value is None
    assert pool.result.value == pytest.approx(-1.00005)
    assert pool.offer(np.array([0.5]), "solver")
    assert pool.status is SolutionStatus.FEASIBLE
    assert pool.result.value == -0.5


@pytest.mark.parametrize(
    "vector", [[1.0, 1.0, 1.0], [0.5, 0.0, 0.0], [np.nan, 0, 0], [np.inf, 0, 0], [1.0, 0.0], [-1e20, 0, 0]]
)
def test_what_is_no_solution_is_refused(vector) -> None:
    pool = IncumbentPool(KNAPSACK, 1e-6)
    assert not pool.offer(np.array(vector), "solver")
    assert pool.status is SolutionStatus.NO_SOLUTION


def test_the_pool_keeps_its_own_copy() -> None:
    pool = IncumbentPool(KNAPSACK, 1e-6)
    x = np.array([1.0, 0.0, 0.0])
    pool.offer(x, "solver")
    x[:] = 7.0
    assert pool.best.solution.tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        pool.best.solution[0] = 0.0


@pytest.mark.parametrize("case", [case for case in PROGRAMS if case.optimum is not None], ids=lambda case: case.name)
def test_the_bound_of_the_box_is_a_bound(case) -> None:
    bound = case.program.box_bound
    assert bound is None or bound <= case.optimum + 1e-9


def test_choice_groups_tighten_the_bound_of_the_box_unless_they_overlap() -> None:
    program = make_program([-1.0, -2.0, -4.0], [[1, 1, 1]], [1], [1], [0] * 3, [1] * 3, range(3))
    assert program.box_bound == -7.0
    assert replace(program, choice_groups=(np.array([0, 1, 2]),)).box_bound == -4.0
    assert replace(program, choice_groups=(np.array([0, 1]), np.array([1, 2]))).box_bound == -6.0
