"""The loop that owns a run: callbacks, interruptions, starts, heuristics, and the wall budget."""

import _thread
import logging
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from conformance.fake_engines import BEST, FIRST, KNAPSACK, FakeSolver
from conformance.programs import make_program

from mmbn_opt.exceptions import InputError
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers.mixed_integer.run import ISOLATE_NONZEROS, wants_child

both_hosts = pytest.mark.parametrize("isolate", [True, False])


@both_hosts
def test_a_true_answer_of_the_callback_stops_the_run(isolate) -> None:
    result = FakeSolver(engine="work_until_stopped", isolate=isolate).solve(
        KNAPSACK, callback=lambda event: event.solution is not None
    )
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.bounds.primal_bound == -8.0
    assert result.bounds.dual_bound == -9.5
    assert result.raw_status == "stopped"


@both_hosts
def test_an_exception_of_the_callback_is_raised_with_the_incumbent(isolate) -> None:
    def callback(event) -> None:
        if event.solution is not None:
            raise LookupError("the user's own mistake")

    with pytest.raises(LookupError, match="own mistake") as caught:
        FakeSolver(engine="work_until_stopped", isolate=isolate).solve(KNAPSACK, callback=callback)
    result = caught.value.solver_result
    assert result.termination_status is TerminationStatus.INTERRUPTED
    np.testing.assert_array_equal(result.solution, FIRST)
    assert result.bounds.dual_bound == -9.5


def test_the_callback_runs_in_the_calling_thread_and_time_moves_on() -> None:
    threads, times = set(), []

    def callback(event) -> bool:
        threads.add(threading.get_ident())
        times.append(event.time_sec)
        return len(times) == 4

    FakeSolver(engine="work_until_stopped", isolate=False).solve(KNAPSACK, callback=callback)
    assert threads == {threading.get_ident()}
    assert times == sorted(times)


def test_events_tell_checked_incumbents_only() -> None:
    events = []
    FakeSolver(engine="lie_about_feasibility", isolate=False).solve(KNAPSACK, callback=events.append, start=FIRST)
    assert all(event.solution is None for event in events)
    assert {event.primal_bound for event in events} == {-8.0}


@both_hosts
def test_interrupt_of_the_main_thread_is_an_answer_not_an_exception(isolate) -> None:
    def callback(event) -> None:
        if event.solution is not None:
            _thread.interrupt_main()

    result = FakeSolver(engine="work_until_stopped", isolate=isolate).solve(KNAPSACK, callback=callback)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    np.testing.assert_array_equal(result.solution, FIRST)


def test_what_comes_within_the_grace_period_counts() -> None:
    result = FakeSolver(engine="stop_late").solve(KNAPSACK, callback=lambda event: event.solution is not None)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert (result.bounds.primal_bound, result.bounds.dual_bound) == (-9.0, -9.25)


def test_a_limit_has_the_limit_as_cause() -> None:
    result = FakeSolver(engine="work_until_stopped", time_limit=0.5, isolate=False).solve(KNAPSACK)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.bounds.primal_bound == -8.0


def test_a_deaf_thread_is_left_behind_with_a_warning(caplog) -> None:
    with caplog.at_level(logging.WARNING):
        result = FakeSolver(engine="hang_for_two_seconds", time_limit=0.2, isolate=False).solve(KNAPSACK)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert "left behind" in result.raw_status
    assert result.bounds.primal_bound == -8.0
    assert "isolate=True" in caplog.text


def test_the_budget_includes_the_start_of_the_child() -> None:
    began = time.monotonic()
    result = FakeSolver(engine="best", time_limit=0.001).solve(KNAPSACK, start=FIRST)
    assert time.monotonic() - began < 5.0
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.bounds.primal_bound == -8.0


def test_a_better_start_survives_a_worse_answer() -> None:
    result = FakeSolver(engine="claim_what_is_not_shown", isolate=False).solve(KNAPSACK, start=BEST)
    np.testing.assert_array_equal(result.solution, BEST)
    assert result.stats["incumbent_source"] == "start"
    assert [record.source for record in result.trace if record.event == "start"] == ["start"]


def test_an_infeasible_start_is_told_and_not_used(caplog) -> None:
    with caplog.at_level(logging.WARNING):
        result = FakeSolver(engine="best", isolate=False).solve(KNAPSACK, start=np.ones(3))
    assert result.stats["start"] == "infeasible"
    assert result.trace.records[0].primal_bound is None
    assert "violates a constraint by 1" in caplog.text


def test_a_start_of_the_wrong_length_is_an_error() -> None:
    with pytest.raises(InputError, match=r"shape \(2,\), but the program has 3 columns"):
        FakeSolver(engine="best", isolate=False).solve(KNAPSACK, start=np.zeros(2))


def test_nan_bounds_are_an_error() -> None:
    program = make_program([1, 1], [[1, 1]], [0], [float("nan")], [0, 0], [1, 1], [])
    with pytest.raises(InputError, match="row_upper holds NaN at position 0"):
        FakeSolver(engine="best", isolate=False).solve(program)


@both_hosts
def test_the_heuristic_works_on_incumbents_and_the_engine_hears_of_it(isolate) -> None:
    here = threading.get_ident()
    seen = []

    def heuristic(point):
        assert threading.get_ident() == here
        seen.append(point.tolist())
        return BEST

    program = replace(KNAPSACK, primal_heuristic=heuristic)
    events = []
    result = FakeSolver(engine="take_offers", isolate=isolate).solve(program, callback=events.append)
    assert seen == [FIRST.tolist()]
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.raw_status == "offered"
    assert result.stats["incumbent_source"] == "primal heuristic"
    assert "primal heuristic" in [record.source for record in result.trace]
    assert BEST.tolist() in [event.solution.tolist() for event in events if event.solution is not None]


def test_an_exception_of_the_heuristic_is_raised_with_the_incumbent() -> None:
    def heuristic(point):
        raise LookupError("heuristic")

    program = replace(KNAPSACK, primal_heuristic=heuristic)
    with pytest.raises(LookupError, match="heuristic") as caught:
        FakeSolver(engine="work_until_stopped", isolate=False).solve(program)
    assert caught.value.solver_result.bounds.primal_bound == -8.0


def test_the_run_ends_as_soon_as_the_gap_that_was_asked_for_is_proved() -> None:
    result = FakeSolver(engine="work_until_stopped", isolate=False, rel_gap=0.21).solve(KNAPSACK)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.gap_rel <= 0.21


def test_logs_of_objectives_become_a_trace_once_the_vector_confirms_them() -> None:
    result = FakeSolver(engine="claim_as_logs_do", isolate=False).solve(KNAPSACK)
    primals = [record.primal_bound for record in result.trace if record.event == "incumbent"]
    assert list(dict.fromkeys(primals)) == pytest.approx([-5.0, -8.00000001, -9.0])
    assert result.trace.records[-1].event == "final"


def test_claims_that_no_vector_confirms_are_not_in_the_trace() -> None:
    result = FakeSolver(engine="claim_what_is_not_shown", isolate=False).solve(KNAPSACK)
    assert {record.primal_bound for record in result.trace} == {None, -8.0}


def test_two_runs_in_two_threads_do_not_disturb_each_other() -> None:
    results = {}

    def work(key: str, isolate: bool) -> None:
        results[key] = FakeSolver(engine="best", isolate=isolate).solve(KNAPSACK)

    threads = [threading.Thread(target=work, args=(str(i), i % 2 == 0)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {result.bounds.primal_bound for result in results.values()} == {-9.0}


def test_first_bound_is_that_of_the_box() -> None:
    result = FakeSolver(engine="claim_what_is_not_shown", isolate=False).solve(KNAPSACK)
    first = result.trace.records[0]
    assert (first.event, first.source, first.dual_bound) == ("start", "box", -12.0)


def test_large_programs_go_to_a_child() -> None:
    side = int(ISOLATE_NONZEROS**0.5) + 2
    large = make_program([1] * side, np.ones((side, side)), [0] * side, [9] * side, [0] * side, [1] * side, [])
    assert wants_child(None, large)
    assert not wants_child(None, KNAPSACK)
    assert wants_child(True, KNAPSACK)
    assert not wants_child(False, large)


def test_status_of_the_vector_is_ours() -> None:
    result = FakeSolver(engine="lie_about_feasibility", isolate=False).solve(KNAPSACK)
    assert result.termination_status is TerminationStatus.NUMERICAL_ERROR
    assert result.solution_status is SolutionStatus.NO_SOLUTION
    assert result.solution is None
