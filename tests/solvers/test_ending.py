"""Which status can be answered for: a limit is never OPTIMAL, and a claim is worth what was proved."""

import pytest
from conformance.fake_engines import BEST, FIRST, INFEASIBLE, KNAPSACK, FakeSolver
from conformance.programs import make_program

from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import TraceRecord
from mmbn_opt.solvers import ending
from mmbn_opt.solvers.base import program_bounds
from mmbn_opt.solvers.ending import Tolerances
from mmbn_opt.solvers.hosting.link import EngineAnswer
from mmbn_opt.solvers.incumbents import IncumbentPool

STATUS = TerminationStatus


def conclude(answer, *, program=KNAPSACK, offers=(), start_dual=None, **tolerances):
    pool = IncumbentPool(program, 1e-6)
    for vector in [*offers, *([answer.solution] if answer.solution is not None else [])]:
        pool.offer(vector, "solver")
    settings = {"rel_gap": 0.0, "abs_gap": 0.0} | tolerances
    return ending.conclude(
        solver_name="fake",
        tolerances=Tolerances(**settings),
        pool=pool,
        records=[TraceRecord(0.0, None, start_dual, None, None, "start", "box")],
        claims=(),
        answer=answer,
        time_sec=1.0,
        stats={},
    )


def test_a_proof_is_optimal() -> None:
    result = conclude(EngineAnswer(STATUS.OPTIMAL, "optimal", BEST, -9.0))
    assert result.termination_status is STATUS.OPTIMAL
    assert result.bounds.gap_abs == 0.0
    assert result.raw_status == "optimal"


@pytest.mark.parametrize("limit", [status for status in STATUS if status.is_limit], ids=str)
def test_a_limit_is_never_optimal_even_when_the_bounds_meet(limit) -> None:
    result = conclude(EngineAnswer(limit, "limit", BEST, -9.0))
    assert result.termination_status is limit
    assert result.bounds.gap_abs == 0.0


def test_a_claim_with_a_gap_is_not_optimal_and_says_why() -> None:
    result = conclude(EngineAnswer(STATUS.OPTIMAL, "optimal", FIRST, -9.0))
    assert result.termination_status is STATUS.SLOW_PROGRESS
    assert "the proved gap of 1 " in result.raw_status
    assert result.bounds.gap_abs == 1.0


def test_a_gap_that_was_asked_for_is_optimal_and_stays_visible() -> None:
    answer = EngineAnswer(STATUS.OPTIMAL, "optimal", FIRST, -9.0)
    assert conclude(answer, rel_gap=0.12).termination_status is STATUS.OPTIMAL
    assert conclude(answer, abs_gap=1.0).termination_status is STATUS.OPTIMAL
    assert conclude(answer, abs_gap=0.9).termination_status is STATUS.SLOW_PROGRESS
    assert conclude(answer, rel_gap=0.12).bounds.gap_abs == 1.0


@pytest.mark.parametrize(("difference", "closed"), [(0.0, True), (8e-6, True), (1.1e-5, False)])
def test_zero_means_the_exact_gap_relative_to_the_objective(difference, closed) -> None:
    bounds = program_bounds(-9.0, -9.0 - difference)
    assert Tolerances(0.0, 0.0).closed(bounds) is closed
    assert not Tolerances(1.0, 1.0).closed(program_bounds(None, -9.0))


def test_an_infeasible_vector_is_not_taken() -> None:
    result = conclude(EngineAnswer(STATUS.OPTIMAL, "optimal", INFEASIBLE, -12.0))
    assert result.termination_status is STATUS.NUMERICAL_ERROR
    assert result.solution is None
    assert "no vector that satisfies the constraints" in result.raw_status


def test_a_nearly_feasible_vector_is_returned_under_its_name() -> None:
    program = make_program([-1.0], [[1.0]], [float("-inf")], [1.0], [0.0], [9.0], [])
    nearly = BEST[:1] + 3e-5
    result = conclude(EngineAnswer(STATUS.OPTIMAL, "optimal", nearly, -1.00003), program=program)
    assert result.termination_status is STATUS.NUMERICAL_ERROR
    assert result.solution_status is SolutionStatus.NEARLY_FEASIBLE
    assert "violates a constraint by 3e-05" in result.raw_status


def test_infeasible_with_a_known_solution_is_a_contradiction() -> None:
    result = conclude(EngineAnswer(STATUS.INFEASIBLE, "infeasible"), offers=[FIRST])
    assert result.termination_status is STATUS.NUMERICAL_ERROR
    assert result.bounds.primal_bound == -8.0


def test_unbounded_with_a_known_bound_is_a_contradiction() -> None:
    result = conclude(EngineAnswer(STATUS.UNBOUNDED, "unbounded"), start_dual=-12.0)
    assert result.termination_status is STATUS.NUMERICAL_ERROR
    assert "cannot fall below -12.0" in result.raw_status


def test_a_bound_above_a_known_solution_costs_the_engine_its_bounds() -> None:
    result = conclude(EngineAnswer(STATUS.OPTIMAL, "optimal", FIRST, -8.0), offers=[BEST])
    assert result.termination_status is STATUS.NUMERICAL_ERROR
    assert result.bounds.dual_bound is None
    assert result.trace.bounds == result.bounds
    assert result.bounds.primal_bound == -9.0
    assert result.stats["raw_dual_bound"] == -8.0


def test_rounding_in_the_bound_is_cut_back_to_the_solution() -> None:
    result = conclude(EngineAnswer(STATUS.OPTIMAL, "optimal", BEST, -9.0 + 1e-8))
    assert result.termination_status is STATUS.OPTIMAL
    assert result.bounds.dual_bound == -9.0
    assert result.stats["raw_dual_bound"] == -9.0 + 1e-8


def test_the_weaker_last_word_does_not_replace_a_better_bound() -> None:
    result = conclude(EngineAnswer(STATUS.TIME_LIMIT, "time", BEST, -11.0), start_dual=-10.0)
    assert result.bounds.dual_bound == -10.0


def test_a_final_bound_better_than_all_before_is_in_the_trace() -> None:
    result = conclude(EngineAnswer(STATUS.TIME_LIMIT, "time", FIRST, -9.5), start_dual=-12.0)
    assert [record.dual_bound for record in result.trace] == [-12.0, -9.5]
    assert result.trace.records[-1].event == "final"


@pytest.mark.parametrize(
    ("engine", "status"),
    [
        ("lie_about_the_objective", STATUS.SLOW_PROGRESS),
        ("lie_about_the_bound", STATUS.NUMERICAL_ERROR),
        ("lie_about_infeasibility", STATUS.NUMERICAL_ERROR),
    ],
)
def test_liars_are_found_out_against_the_start(engine, status) -> None:
    result = FakeSolver(engine=engine, isolate=False).solve(KNAPSACK, start=BEST)
    assert result.termination_status is status
    assert result.bounds.primal_bound == -9.0
    assert all(r.dual_bound is None or r.dual_bound <= -9.0 for r in result.trace)
