"""SciPy's milp: no callback and no way to stop it, so that its process is what is stopped."""

import logging
import time

import pytest
from conformance.programs import PROGRAMS, complete_choice, soft_margin_program

from mmbn_opt.exceptions import InputError
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers import ScipyMilpSolver

STATUS = TerminationStatus
CASES = {case.name: case for case in PROGRAMS}


@pytest.fixture(scope="module")
def medium():
    """A few hundred nodes, about a second."""
    return soft_margin_program(seed=1, samples=40, groups=5, choices=8, rivals=2)


@pytest.fixture(scope="module")
def hard():
    """Incumbents within a second, a proof not within several."""
    return soft_margin_program(seed=0, samples=60, groups=7, choices=12, rivals=2)


def test_it_always_has_a_process_of_its_own(capfd) -> None:
    result = ScipyMilpSolver().solve(CASES["knapsack"].program)
    assert result.stats["host"] == "child process"
    assert capfd.readouterr() == ("", "")


def test_at_its_own_limit_it_hands_over_what_it_has(hard) -> None:
    result = ScipyMilpSolver(time_limit=3.0).solve(hard)
    assert result.termination_status is STATUS.TIME_LIMIT
    assert result.bounds.dual_bound <= result.bounds.primal_bound
    assert result.stats["nodes"] is not None


def test_a_stop_leaves_the_start(hard) -> None:
    start = complete_choice(hard, [int(group[0]) for group in hard.choice_groups])
    began = time.monotonic()
    result = ScipyMilpSolver().solve(hard, callback=lambda event: event.time_sec > 1.0, start=start)
    assert time.monotonic() - began < 20.0
    assert result.termination_status is STATUS.INTERRUPTED
    assert result.bounds.primal_bound == hard.value(start)


def test_a_node_limit_is_told_from_a_time_limit(medium) -> None:
    result = ScipyMilpSolver(options={"node_limit": 1}).solve(medium)
    assert result.termination_status is STATUS.NODE_LIMIT


def test_a_bound_that_lags_behind_the_proof_is_brought_up_to_it() -> None:
    """milp says "optimal" with the bound of the relaxation when presolve solves the program."""
    result = ScipyMilpSolver().solve(CASES["negative_upper_maximised"].program)
    assert result.termination_status is STATUS.OPTIMAL
    assert result.bounds.gap_abs <= 1.01e-6


def test_the_log_goes_to_logging_when_it_is_wanted(caplog, capfd) -> None:
    with caplog.at_level(logging.INFO, logger="mmbn_opt.solvers"):
        ScipyMilpSolver(verbose=True).solve(CASES["soft_margin"].program)
    assert "Solving report" in caplog.text
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 2}, "has no option 'threads' to set; it takes presolve, node_limit"),
        ({"time_limit": 2.0}, "has no option 'time_limit'"),
        ({"presolve": "off"}, "takes a bool, got 'off'"),
        ({"node_limit": True}, "takes a int, got True"),
    ],
)
def test_options_are_checked_before_anything_runs(options, message) -> None:
    with pytest.raises(InputError, match=message):
        ScipyMilpSolver(options=options).solve(CASES["knapsack"].program)
