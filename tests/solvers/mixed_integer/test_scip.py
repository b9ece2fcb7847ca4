"""SCIP and its traps, each seen by running it."""

import _thread
import logging
import time

import numpy as np
import pytest
from conformance.programs import PROGRAMS, complete_choice, soft_margin_program

from mmbn_opt.exceptions import InputError
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers import ScipSolver
from mmbn_opt.solvers.hosting.link import EngineJob, EngineLink
from mmbn_opt.solvers.mixed_integer import scip_engine

STATUS = TerminationStatus
CASES = {case.name: case for case in PROGRAMS}

pytestmark = pytest.mark.skipif(not ScipSolver.is_available(), reason=ScipSolver.availability().reason or "available")


@pytest.fixture(scope="module")
def medium():
    """A few hundred nodes, about a second."""
    return soft_margin_program(seed=1, samples=40, groups=5, choices=8, rivals=2)


@pytest.fixture(scope="module")
def hard():
    """Incumbents within a second, a proof not within several."""
    return soft_margin_program(seed=0, samples=60, groups=7, choices=12, rivals=2)


@pytest.fixture(scope="module")
def hard_start(hard):
    return complete_choice(hard, [int(group[0]) for group in hard.choice_groups])


def test_nothing_is_printed(capfd) -> None:
    ScipSolver(isolate=False).solve(CASES["knapsack"].program)
    ScipSolver(isolate=True).solve(CASES["knapsack"].program)
    assert capfd.readouterr() == ("", "")


def test_the_log_goes_to_logging_when_it_is_wanted(caplog, capfd) -> None:
    with caplog.at_level(logging.INFO, logger="mmbn_opt.solvers"):
        ScipSolver(verbose=True).solve(CASES["soft_margin"].program)
    assert "SCIP Status" in caplog.text
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("isolate", [True, False])
def test_it_streams_incumbents_and_bounds(hard, isolate) -> None:
    events = []
    result = ScipSolver(time_limit=2.0, isolate=isolate).solve(hard, callback=events.append)
    assert result.termination_status is STATUS.TIME_LIMIT
    assert any(event.solution is not None for event in events)
    assert result.bounds.dual_bound > result.trace.records[0].dual_bound
    assert result.bounds.dual_bound <= result.bounds.primal_bound


@pytest.mark.parametrize("isolate", [True, False])
def test_the_callback_stops_it(hard, isolate) -> None:
    result = ScipSolver(isolate=isolate).solve(hard, callback=lambda event: event.solution is not None)
    assert result.termination_status is STATUS.INTERRUPTED
    assert result.solution_status is SolutionStatus.FEASIBLE


@pytest.mark.parametrize("isolate", [True, False])
def test_control_c(hard, isolate) -> None:
    def callback(event) -> None:
        if event.solution is not None:
            _thread.interrupt_main()

    result = ScipSolver(isolate=isolate).solve(hard, callback=callback)
    assert result.termination_status is STATUS.INTERRUPTED
    assert result.solution_status is SolutionStatus.FEASIBLE


def test_an_exception_inside_the_event_handler_is_told_and_keeps_the_incumbent(monkeypatch, caplog) -> None:
    """SCIP would turn it into "unspecified error"."""
    report = EngineLink.report

    def break_down(self, **news) -> None:
        report(self, **news)
        if news.get("solution") is not None:
            raise ArithmeticError("inside the event handler")

    monkeypatch.setattr(EngineLink, "report", break_down)
    with caplog.at_level(logging.ERROR):
        result = ScipSolver(isolate=False).solve(CASES["soft_margin"].program)
    assert result.termination_status is STATUS.SOLVER_ERROR
    assert result.raw_status == "ArithmeticError: inside the event handler"
    assert result.solution_status is SolutionStatus.FEASIBLE


def test_the_start_is_never_lost(hard, hard_start) -> None:
    result = ScipSolver(time_limit=0.3).solve(hard, start=hard_start)
    assert result.trace.records[0].primal_bound == hard.value(hard_start)
    assert result.bounds.primal_bound <= hard.value(hard_start)


def test_it_can_be_stopped_while_the_model_is_built() -> None:
    job = EngineJob("", CASES["knapsack"].program, None, time.monotonic(), None, 0.0, 0.0, 1e-6, 1, 0, False, {})
    link = EngineLink(lambda message: None, job.origin)
    link.request_stop()
    answer = scip_engine.run(job, link)
    assert answer.termination_status is STATUS.INTERRUPTED
    assert "built" in answer.raw_status


def test_a_node_limit_is_a_node_limit(medium) -> None:
    options = {
        "limits/nodes": 1,
        "presolving/maxrounds": 0,
        "separating/maxroundsroot": 0,
        "heuristics/emphasis": "off",
    }
    options = {"limits/totalnodes": 1, "presolving/maxrounds": 0, "separating/maxroundsroot": 0}
    result = ScipSolver(options=options).solve(CASES["soft_margin"].program)
    assert result.termination_status in (STATUS.NODE_LIMIT, STATUS.OPTIMAL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits/nods": 3}, "SCIP has no parameter 'limits/nods'. Did you mean 'limits/nodes'"),
        ({"limits/nodes": "many"}, "refuses the value 'many'"),
        ({"limits/gap": 0.1}, "is set by rel_gap"),
    ],
)
def test_options_are_checked_before_anything_runs(options, message) -> None:
    with pytest.raises(InputError, match=message):
        ScipSolver(options=options).solve(CASES["knapsack"].program)


def test_the_same_seed_gives_the_same_run() -> None:
    first, second = (ScipSolver(seed=3).solve(CASES["soft_margin"].program) for _ in range(2))
    assert first.stats["nodes"] == second.stats["nodes"]
    np.testing.assert_array_equal(first.solution, second.solution)


def test_gaps_are_passed_as_they_are() -> None:
    result = ScipSolver(rel_gap=0.5).solve(CASES["soft_margin"].program)
    assert result.termination_status is STATUS.OPTIMAL
    assert result.bounds.gap_rel <= 0.5
