"""HiGHS and its traps, each seen by running it; the expected answers are those of the conformance programs."""

import _thread
import logging
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from conformance.programs import PROGRAMS, complete_choice, make_program, soft_margin_program

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations import SoftMarginStructure
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers import HighsSolver
from mmbn_opt.solvers.mixed_integer import highs as module
from mmbn_opt.solvers.mixed_integer.highs_model import load_program, quiet_highs

STATUS = TerminationStatus
CASES = {case.name: case for case in PROGRAMS}
INF = float("inf")


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
    """`highspy.Highs()` prints a banner before its output can be turned off."""
    HighsSolver(isolate=False).solve(CASES["knapsack"].program)
    HighsSolver(isolate=True).solve(CASES["knapsack"].program)
    assert capfd.readouterr() == ("", "")


def test_the_log_goes_to_logging_when_it_is_wanted(caplog, capfd) -> None:
    with caplog.at_level(logging.INFO, logger="mmbn_opt.solvers"):
        HighsSolver(verbose=True).solve(CASES["soft_margin"].program)
    assert "Solving report" in caplog.text
    assert capfd.readouterr().out == ""


def test_zero_gaps_are_passed_as_zero(monkeypatch) -> None:
    seen = {}
    keep = module.set_option
    monkeypatch.setattr(module, "set_option", lambda h, name, value: (seen.update({name: value}), keep(h, name, value)))
    HighsSolver().solve(CASES["knapsack"].program)
    assert seen["mip_rel_gap"] == 0.0
    assert seen["mip_abs_gap"] == 0.0
    assert quiet_highs().getOptionValue("mip_rel_gap")[1] == 1e-4


def test_the_bound_of_an_early_stop_is_honest() -> None:
    program = CASES["soft_margin"].program
    result = HighsSolver(rel_gap=0.5).solve(program)
    assert result.termination_status is STATUS.OPTIMAL
    assert result.bounds.gap_rel <= 0.5
    assert result.bounds.dual_bound <= CASES["soft_margin"].optimum + 1e-7


def test_a_program_without_integers_gets_an_integrality_of_full_length() -> None:
    highs = quiet_highs()
    load_program(highs, CASES["lp"].program)
    assert len(highs.getLp().integrality_) == 2


def test_threads_may_change_between_runs_in_one_thread() -> None:
    for threads in (1, 2, 1):
        result = HighsSolver(threads=threads, isolate=False).solve(CASES["weak_bound"].program)
        assert result.termination_status is STATUS.OPTIMAL


def test_threads_may_change_between_engine_calls_in_the_same_thread() -> None:
    """What would fail without resetting the scheduler: it belongs to the thread and keeps its number of threads."""
    from mmbn_opt.solvers.hosting.link import EngineJob, EngineLink

    for threads in (1, 2, 1):
        job = EngineJob("", CASES["weak_bound"].program, None, 0.0, None, 0.0, 0.0, 1e-6, threads, 0, False, {})
        answer = module.run(job, EngineLink(lambda message: None, 0.0))
        assert answer.termination_status is STATUS.OPTIMAL, answer.raw_status


def test_two_runs_in_two_threads() -> None:
    results = {}

    def work(name: str) -> None:
        results[name] = HighsSolver(isolate=False).solve(CASES[name].program)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("soft_margin", "weak_bound")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, result in results.items():
        assert result.bounds.primal_bound == pytest.approx(CASES[name].optimum)


def test_an_exception_inside_highs_callback_is_raised_and_keeps_the_incumbent(monkeypatch, caplog) -> None:
    """HiGHS swallows it and loses its solution; here it comes out as the reason, with the solution."""
    hear = module._Watch._hear

    def break_down(self, kind, message, out, into) -> None:
        hear(self, kind, message, out, into)
        if kind == self._improving and out.mip_node_count >= 0:
            raise ArithmeticError("inside the callback")

    monkeypatch.setattr(module._Watch, "_hear", break_down)
    with caplog.at_level(logging.ERROR):
        result = HighsSolver(isolate=False).solve(CASES["soft_margin"].program)
    assert result.termination_status is STATUS.SOLVER_ERROR
    assert result.raw_status == "ArithmeticError: inside the callback"
    assert result.solution_status is SolutionStatus.FEASIBLE


@pytest.mark.parametrize("isolate", [True, False])
def test_the_callback_stops_it_and_the_bounds_are_kept(hard, isolate) -> None:
    result = HighsSolver(isolate=isolate).solve(hard, callback=lambda event: event.solution is not None)
    assert result.termination_status is STATUS.INTERRUPTED
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.bounds.dual_bound is not None
    assert result.bounds.dual_bound <= result.bounds.primal_bound


@pytest.mark.parametrize("isolate", [True, False])
def test_control_c(hard, isolate) -> None:
    def callback(event) -> None:
        if event.solution is not None:
            _thread.interrupt_main()

    result = HighsSolver(isolate=isolate).solve(hard, callback=callback)
    assert result.termination_status is STATUS.INTERRUPTED
    assert result.solution_status is SolutionStatus.FEASIBLE


def test_a_limit_without_incumbent_is_no_solution() -> None:
    """HiGHS then holds zeros that would be feasible here: they must not be taken for an answer."""
    zeros_are_feasible = make_program([-1.0] * 3, [[2, 3, 1]], [-INF], [5], [0] * 3, [1] * 3, range(3))
    result = HighsSolver(options={"mip_max_nodes": 0, "presolve": "off", "mip_heuristic_effort": 0.0}).solve(
        CASES["infeasible_integers"].program
    )
    assert result.solution is None
    result = HighsSolver(time_limit=1e-9).solve(zeros_are_feasible)
    assert result.termination_status is STATUS.TIME_LIMIT
    assert (result.solution, result.solution_status) == (None, SolutionStatus.NO_SOLUTION)
    assert result.bounds.primal_bound is None


def test_the_start_is_never_lost(hard, hard_start) -> None:
    result = HighsSolver(time_limit=0.2).solve(hard, start=hard_start)
    assert result.termination_status is STATUS.TIME_LIMIT
    assert result.trace.records[0].primal_bound == hard.value(hard_start)
    assert result.bounds.primal_bound <= hard.value(hard_start)


def test_a_better_vector_is_injected(hard, hard_start) -> None:
    """The heuristic's vector is worth more than the first incumbents; HiGHS must not come back with less."""
    target = HighsSolver(time_limit=1.0).solve(hard, start=hard_start).solution
    offered = []

    def heuristic(point):
        offered.append(point)
        return target

    result = HighsSolver(time_limit=1.0, isolate=False).solve(replace(hard, primal_heuristic=heuristic))
    assert offered
    assert result.bounds.primal_bound <= hard.value(target)


def test_the_final_bound_is_the_last_record(hard) -> None:
    result = HighsSolver(time_limit=1.0).solve(hard)
    last = result.trace.records[-1]
    assert last.event == "final"
    assert last.dual_bound == result.bounds.dual_bound
    assert last.nodes == result.stats["nodes"]


def test_a_node_limit_is_a_node_limit(medium) -> None:
    result = HighsSolver(options={"mip_max_nodes": 1}).solve(medium)
    assert result.termination_status is STATUS.NODE_LIMIT


def test_a_deaf_highs_is_killed_at_the_limit_with_the_start_kept() -> None:
    """The root relaxation of this program hears no callback for minutes."""
    program = soft_margin_program(seed=0, samples=1200, groups=15, choices=25, rivals=5)
    start = complete_choice(program, [int(group[0]) for group in program.choice_groups])
    began = time.monotonic()
    result = HighsSolver(time_limit=3.0).solve(program, start=start)
    assert time.monotonic() - began < 20.0
    assert result.stats["host"] == "child process"
    assert result.termination_status is STATUS.TIME_LIMIT
    assert result.bounds.primal_bound == program.value(start)
    assert result.bounds.dual_bound is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"presolv": "off"}, "HiGHS has no option 'presolv'. Did you mean 'presolve'"),
        ({"presolve": 3}, "takes a string, got 3"),
        ({"mip_max_nodes": 2.5}, "takes a int, got 2.5"),
        ({"mip_max_nodes": True}, "takes a int, got True"),
        ({"presolve": "perhaps"}, "refuses the value 'perhaps'"),
        ({"time_limit": 5.0}, "is set by time_limit"),
        ({"mip_rel_gap": 0.1}, "is set by rel_gap"),
    ],
)
def test_options_are_checked_before_anything_runs(options, message) -> None:
    with pytest.raises(InputError, match=message):
        HighsSolver(options=options).solve(CASES["knapsack"].program)


def test_known_options_are_passed_on() -> None:
    result = HighsSolver(options={"presolve": "off", "mip_heuristic_effort": 0}).solve(CASES["soft_margin"].program)
    assert result.bounds.primal_bound == pytest.approx(CASES["soft_margin"].optimum)


def test_what_highs_cannot_read_is_an_input_error() -> None:
    program = make_program([1.0], [[1e16]], [1.0], [INF], [0.0], [1.0], [])
    with pytest.raises(InputError, match="1e15"):
        HighsSolver(isolate=False).solve(program)


def test_seeds_of_any_size_are_taken() -> None:
    for seed in (0, 2**40 + 3):
        assert HighsSolver(seed=seed).solve(CASES["knapsack"].program).termination_status is STATUS.OPTIMAL


def test_the_same_seed_gives_the_same_run() -> None:
    first, second = (HighsSolver(seed=3).solve(CASES["soft_margin"].program) for _ in range(2))
    assert first.stats["iterations"] == second.stats["iterations"]
    np.testing.assert_array_equal(first.solution, second.solution)


def test_available_with_its_version() -> None:
    found = HighsSolver.availability()
    assert found.available
    assert found.version == quiet_highs().version()
    assert HighsSolver.is_available()
    assert HighsSolver.version() == found.version


@pytest.mark.parametrize("acyclicity", ["order", "cluster"])
def test_the_values_belong_to_the_objective(acyclicity: str) -> None:
    """HiGHS 1.15 ends here with the optimal objective, 15, and the values of the start, worth 8.46."""
    rows = [[0, 0, 0, 0], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]] * 3
    data = DiscreteDataset.from_arrays([row[:3] for row in rows], [row[3] for row in rows])
    formulation = SoftMarginStructure(data, gamma=1.0, acyclicity=acyclicity)
    program = formulation.build(ProgramKind.MIXED_INTEGER)
    result = HighsSolver(isolate=False).solve(program, start=formulation.encode(formulation.trivial_start().model))
    assert result.termination_status is STATUS.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(-15.0, abs=1e-6)
    assert program.value(result.solution) == pytest.approx(-15.0, abs=1e-6)
