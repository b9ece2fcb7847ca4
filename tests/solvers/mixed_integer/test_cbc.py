"""The CBC executable: both builds that wheels bring, their logs, their files, and how they are stopped."""

import itertools
import logging
import os
import stat
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from conformance.programs import PROGRAMS, complete_choice, soft_margin_program
from conformance.test_matrix import check_result

from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers import CbcSolver
from mmbn_opt.solvers.mixed_integer import cbc
from mmbn_opt.solvers.mixed_integer._cbc_executable import _candidates, executable_version, find_executable
from mmbn_opt.solvers.mixed_integer._cbc_log import CbcLog

STATUS = TerminationStatus
CASES = {case.name: case for case in PROGRAMS}
# The first of these is the one of the conformance matrix.
FOUND = list(
    dict.fromkeys(filter(None, [find_executable(), *(str(p) for p in _candidates() if os.access(p, os.X_OK))]))
)

needs_cbc = pytest.mark.skipif(not CbcSolver.is_available(), reason=CbcSolver.availability().reason or "available")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="shell scripts")
each_build = pytest.mark.parametrize("executable", FOUND, ids=lambda path: executable_version(path) or path)


@pytest.fixture(scope="module")
def medium():
    """A few hundred nodes, about a second."""
    return soft_margin_program(seed=1, samples=40, groups=5, choices=8, rivals=2)


@pytest.fixture(scope="module")
def hard():
    """Incumbents within a second, a proof not within several."""
    return soft_margin_program(seed=0, samples=60, groups=7, choices=12, rivals=2)


@pytest.mark.skipif(len(FOUND) < 2, reason="one build of CBC, which the conformance matrix runs")
def test_further_builds_solve_every_program_too() -> None:
    for executable, case in itertools.product(FOUND[1:], PROGRAMS):
        result = CbcSolver(executable=executable, time_limit=60.0).solve(case.program)
        assert result.termination_status is case.status, (case.name, result.raw_status)
        check_result(result, case)


@needs_cbc
@each_build
@pytest.mark.parametrize("isolate", [True, False])
def test_it_keeps_its_limit_and_tells_bounds(executable, hard, isolate) -> None:
    events = []
    result = CbcSolver(executable=executable, time_limit=4.0, isolate=isolate).solve(hard, callback=events.append)
    assert result.termination_status is STATUS.TIME_LIMIT
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.bounds.dual_bound <= result.bounds.primal_bound
    # Claims arrive while it runs, and the trace shows them once the last vector has confirmed them.
    assert any(event.primal_bound is not None and event.time_sec < 4.0 for event in events)
    assert result.trace.first_incumbent_sec() < 4.0


@needs_cbc
@each_build
def test_a_stop_returns_in_time_with_the_start(executable, hard) -> None:
    start = complete_choice(hard, [int(group[0]) for group in hard.choice_groups])
    began = time.monotonic()
    result = CbcSolver(executable=executable).solve(hard, callback=lambda event: event.time_sec > 1.0, start=start)
    assert time.monotonic() - began < 20.0
    assert result.termination_status is STATUS.INTERRUPTED
    assert result.bounds.primal_bound <= hard.value(start)


@needs_cbc
@each_build
def test_the_start_is_known_to_cbc(executable) -> None:
    case = CASES["soft_margin"]
    best = CbcSolver(executable=executable).solve(case.program).solution
    events = []
    result = CbcSolver(executable=executable).solve(case.program, start=best, callback=events.append)
    assert result.termination_status is STATUS.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(case.optimum)


@needs_cbc
@each_build
def test_all_digits_of_the_solution_are_kept(executable) -> None:
    """CBC's text file has 8 digits, too few for rows that are checked to 1e-6 and objectives to 1e-9."""
    case = CASES["soft_margin"]
    result = CbcSolver(executable=executable).solve(case.program)
    assert case.program.violation(result.solution) <= 1e-12
    assert result.bounds.primal_bound == pytest.approx(case.optimum, rel=1e-12)


@needs_cbc
@each_build
def test_a_gap_is_measured_as_everywhere_else(executable) -> None:
    result = CbcSolver(executable=executable, rel_gap=0.3).solve(CASES["soft_margin"].program)
    assert result.termination_status is STATUS.OPTIMAL
    assert result.bounds.gap_rel <= 0.3


@needs_cbc
@pytest.mark.parametrize("isolate", [True, False])
def test_no_files_are_left_behind(isolate, hard) -> None:
    """Folders of other tests that run meanwhile are there for a while, those that are left behind for good."""
    before = set(Path(tempfile.gettempdir()).glob("mmbn_opt_cbc_*"))
    CbcSolver(isolate=isolate).solve(CASES["knapsack"].program)
    CbcSolver(isolate=isolate, time_limit=0.6).solve(hard)
    new = set(Path(tempfile.gettempdir()).glob("mmbn_opt_cbc_*")) - before
    end = time.monotonic() + 60.0
    while any(folder.exists() for folder in new) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [folder for folder in new if folder.exists()]


@needs_cbc
def test_nothing_is_printed_but_logged_when_wanted(capfd, caplog) -> None:
    CbcSolver().solve(CASES["knapsack"].program)
    with caplog.at_level(logging.INFO, logger="mmbn_opt.solvers"):
        CbcSolver(verbose=True).solve(CASES["knapsack"].program)
    assert capfd.readouterr() == ("", "")
    assert "Optimal solution found" in caplog.text


@needs_cbc
@each_build
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nonsense": 3}, "CBC has no parameter 'nonsense'"),
        ({"cuts": "wobble"}, "CBC refuses the value 'wobble' for its parameter 'cuts'"),
        ({"ratioGap": 0.1}, "is set by rel_gap"),
        ({"SECONDS": 3}, "is set by time_limit"),
    ],
)
def test_options_are_checked_before_anything_runs(executable, options, message) -> None:
    with pytest.raises(InputError, match=message):
        CbcSolver(executable=executable, options=options).solve(CASES["knapsack"].program)


@needs_cbc
@each_build
def test_a_node_limit_is_a_node_limit(executable, medium) -> None:
    result = CbcSolver(executable=executable, options={"maxNodes": 1}).solve(medium)
    assert result.termination_status is STATUS.NODE_LIMIT


@needs_cbc
@each_build
def test_known_options_are_passed_on(executable) -> None:
    result = CbcSolver(executable=executable, options={"cuts": "off"}).solve(CASES["soft_margin"].program)
    assert result.bounds.primal_bound == pytest.approx(CASES["soft_margin"].optimum)


def test_an_executable_that_is_not_there_is_an_input_error(tmp_path) -> None:
    with pytest.raises(InputError, match="where there is no file"):
        CbcSolver(executable=str(tmp_path / "cbc")).solve(CASES["knapsack"].program)


@pytest.fixture
def fake_cbc(tmp_path):
    def write(script: str) -> str:
        path = tmp_path / "cbc"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return write


@needs_posix
def test_a_cbc_that_fails_is_a_solver_error(fake_cbc) -> None:
    result = CbcSolver(executable=fake_cbc("exit 7")).solve(CASES["knapsack"].program)
    assert result.termination_status is STATUS.SOLVER_ERROR
    assert "code 7" in result.raw_status


@needs_posix
@pytest.mark.parametrize("isolate", [True, False])
def test_a_cbc_that_is_deaf_is_killed_at_the_limit(fake_cbc, isolate) -> None:
    executable = fake_cbc("trap '' INT\nwhile true; do sleep 0.05; done")
    began = time.monotonic()
    result = CbcSolver(executable=executable, time_limit=0.5, isolate=isolate).solve(
        CASES["knapsack"].program, start=np.array([1.0, 0.0, 1.0])
    )
    assert time.monotonic() - began < 10.0
    assert result.termination_status is STATUS.TIME_LIMIT
    assert result.bounds.primal_bound == -8.0


@needs_posix
def test_an_executable_that_does_not_solve_is_not_available(fake_cbc, monkeypatch) -> None:
    executable = fake_cbc("echo hello")
    monkeypatch.setattr(cbc, "find_executable", lambda: executable)
    cbc._probe.cache_clear()
    try:
        found = CbcSolver.availability()
        assert not found.available
        assert "did not solve a one-variable model" in found.reason
    finally:
        cbc._probe.cache_clear()


def test_without_an_executable_the_reason_names_the_extra(monkeypatch) -> None:
    monkeypatch.setattr(cbc, "find_executable", lambda: None)
    cbc._probe.cache_clear()
    try:
        assert 'pip install "mmbn_opt[cbc]"' in CbcSolver.availability().reason
        with pytest.raises(MissingDependencyError, match=r"mmbn_opt\[cbc\]"):
            CbcSolver().solve(CASES["knapsack"].program)
    finally:
        cbc._probe.cache_clear()


# Lines as CBC 2.10.3 and 3 (devel) printed them.
@pytest.mark.parametrize(
    ("line", "primal", "dual"),
    [
        ("Cbc0012I Integer solution of 18.1361 found by DiveCoefficient after 0 iterations", 18.1361, None),
        ("Cbc0013I At root node, 9 cuts changed objective from -74.6 to -73.106706 in 10 passes", None, -73.106707),
        ("Cbc0010I After 9 nodes, 1 on tree, 1.97 best solution, best possible -6.4104 (0.5 seconds)", 1.97, -6.4105),
        ("Cbc0010I After 0 nodes, 1 on tree, 1e+50 best solution, best possible -6.41 (0.56 seconds)", None, -6.42),
        ("Cbc0005I Partial search - best objective 18.13 (best possible -73.1), took 14 iterations", 18.13, -73.2),
        # Programs inside heuristics print with codes from 3000 on.
        ("Cbc3010I After 0 nodes, 1 on tree, 1.9 best solution, best possible 1.8 (0.56 seconds)", None, None),
        ("Cuts at root node changed objective from -62.0833 to -1.79769e+308", None, None),
        ("         0        1      0         1.97594               -6.31581  419.64%     0.680", 1.97594, -6.31582),
        (" ★     120        9      7         1.97594 DiveCoefficient   -2.5  226.64%     1.680", 1.97594, -2.6),
        ("         0        1      0                               -6.31581        -     0.680", None, None),
        ("Continuous objective value is -74.6652 - 0.50 seconds", None, -74.6653),
        ("✔ LP Optimal — Frac: 21/30 (70.0%)   Obj: -7.79028   Iters: 143   Time: 0.009s", None, -7.79029),
        ("✔ Feasibility pump — best 6.6552 in 0.069s (3 rounds, 34 passes)", 6.6552, None),
        ("✔ Root node heuristics — best 1.97594 in 0.075s", 1.97594, None),
        ("✔ Cut generation complete — 9 cuts, obj -7.79028 → -6.31581 in 100 passes", None, -6.31582),
        ("✔ Stopped (time limit) — BestSol: 10.8656   Bound: -73.1906   Gap: 773.60%", 10.8656, -73.1907),
        ("     1      608        0     89          8         -74.6652     3.42", None, None),
    ],
)
def test_lines_of_both_logs(line, primal, dual) -> None:
    log = CbcLog()
    assert log.read(line) is (primal is not None or dual is not None)
    assert log.primal_bound == primal
    assert log.dual_bound == pytest.approx(dual)
    if dual is not None:
        assert log.dual_bound <= dual + 1e-12


def test_the_log_keeps_the_best_and_counts() -> None:
    log = CbcLog()
    for line in (
        "Cbc0012I Integer solution of 5 found by x",
        "Cbc0012I Integer solution of 7 found by x",
        "Enumerated nodes:               72",
        "Total iterations:               6416",
        "Result - Stopped on time limit",
    ):
        log.read(line)
    assert (log.primal_bound, log.nodes, log.iterations, log.result) == (5.0, 72, 6416, "Stopped on time limit")


def test_a_bound_beyond_the_incumbent_says_that_nothing_is_better() -> None:
    """CBC 2.10 can end with its cutoff as "best possible", an increment beyond the optimum."""
    log = CbcLog()
    log.read("Cbc0010I After 3 nodes, 0 on tree, 0.42857143 best solution, best possible 0.57142857 (0.01 seconds)")
    assert (log.primal_bound, log.dual_bound) == (
        0.42857143,
        pytest.approx(0.42857142, abs=1e-15),
    )  # as printed, less a digit
