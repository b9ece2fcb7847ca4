"""Processes that help to search a tree: what they prove counts, and none outlives the search or takes a box with it."""

import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import SolverError
from mmbn_opt.formulations.structure.margin_term import MarginTerm
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut, _race
from mmbn_opt.solvers.choice.branch_and_cut import _process_crew as crew
from mmbn_opt.solvers.choice.branch_and_cut._run import Run
from mmbn_opt.solvers.choice.branch_and_cut._settings import Branching
from mmbn_opt.solvers.hosting.link import EngineFailure
from tests.solving.test_checkpoint import BRANCH, proved, same, solve, table
from tests.solving.test_threads import fill_the_disk, hard, larger

DUAL = {"branching": "dual", "helpers": "processes"}


@pytest.fixture(scope="module")
def alone() -> mm.Result:
    return mm.solve(larger(), BRANCH)


def long() -> mm.SoftMarginStructure:
    """Some thousand boxes."""
    return mm.SoftMarginStructure(table(1, 100, 8), gamma=mm.log_odds(0.9))


@cache
def undisturbed() -> mm.Result:
    """Its optimum, searched for by one, who lets no box wait and leaves no column out."""
    return mm.solve(long(), BRANCH, options={"branching": "dual", "ahead": math.inf, "reach": math.inf})


@pytest.fixture(scope="module")
def optimum() -> mm.Result:
    """Known before anything is slowed down."""
    return undisturbed()


@pytest.fixture(autouse=True)
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Their numbers; afterwards none of them lives."""
    monkeypatch.setattr(_race, "LAP_BOXES", 20)
    monkeypatch.setattr(_race, "LAP_WORK", 0.0)
    numbers: list[int] = []
    init = crew._Host.__init__

    def noted(self: crew._Host, job: object) -> None:
        init(self, job)
        numbers.append(self.pid)

    monkeypatch.setattr(crew._Host, "__init__", noted)
    yield numbers
    assert not [number for number in numbers if _alive(number)]


def _alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that searches here waits for the others before each box."""
    look_at = crew.Search.look_at

    def later(self: crew.Search, waiting: object) -> None:
        time.sleep(0.01)
        look_at(self, waiting)

    monkeypatch.setattr(crew.Search, "look_at", later)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("rule", ["race", "dual", "mixture"])
def test_they_look_at_boxes_and_the_answer_is_that_of_one(
    rule: str, alone: mm.Result, processes: list[int], tmp_path: Path
) -> None:
    result = solve(larger(), tmp_path, threads=3, options={"branching": rule, "helpers": "processes"})
    assert len(processes) == 2
    assert result.stats["boxes_by_processes"] > 50
    same(result, alone, larger(), tmp_path)


@pytest.mark.parametrize(
    "limit", [mm.MaxFeatures(4), mm.MaxParameters(90), mm.Ancestor("x0", "x3")], ids=lambda limit: type(limit).__name__
)
def test_rows_of_limits_go_with_boxes_that_change_hands_often(
    limit: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(crew, "LEVEL_SEC", 0.0)
    monkeypatch.setattr(crew, "LAG", 0.0)
    monkeypatch.setattr(crew, "PILE", 8)
    problem = mm.SoftMarginStructure(table(4, 80, 7), gamma=mm.log_odds(0.9)).with_constraints(limit)
    one = mm.solve(problem, BRANCH)
    result = solve(problem, tmp_path, threads=3, options=DUAL)
    assert result.stats["boxes_by_processes"] > 20
    assert result.bounds.primal_bound == pytest.approx(one.bounds.primal_bound, rel=1e-12)
    assert result.model.structure == one.model.structure
    assert -proved(problem, tmp_path).bound == pytest.approx(result.bounds.dual_bound, abs=1e-7)


def test_ties_are_settled_by_the_canonical_rule() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (60, 5))
    X[:, 1] = X[:, 0]  # twins: whatever hangs from one may hang from the other
    y = np.where(rng.random(60) < 0.3, rng.integers(0, 2, 60), X[:, 0] ^ X[:, 2])
    problem = mm.SoftMarginStructure(mm.DiscreteDataset.from_arrays(X, y), gamma=mm.log_odds(0.9))
    results = [mm.solve(problem, BRANCH, threads=n, options={"helpers": "processes"}) for n in (1, 2, 4)]
    assert all(result.stats["ties_settled"] for result in results)
    assert len({tuple(sorted(result.model.structure.edges)) for result in results}) == 1
    assert len({result.bounds.primal_bound for result in results}) == 1


@pytest.mark.usefixtures("slow")
def test_boxes_of_a_process_that_is_killed_are_searched_by_another(
    optimum: mm.Result,
    processes: list[int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    give, killed = crew.ProcessCrew._give, []

    def killing(self: crew.ProcessCrew, mates: list[crew._Mate]) -> None:
        give(self, mates)
        if not killed and mates[0].boxes:
            killed.append(mates[0].host.pid)
            os.kill(mates[0].host.pid, signal.SIGKILL)

    monkeypatch.setattr(crew.ProcessCrew, "_give", killing)
    result = solve(long(), tmp_path, threads=3, options=DUAL)
    assert "is gone" in caplog.text
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(optimum.bounds.primal_bound, rel=1e-12)
    assert result.model.structure == optimum.model.structure
    found = proved(long(), tmp_path)
    assert found.overstated <= 1e-9 * max(1.0, abs(found.bound))
    assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-8)


def test_a_run_goes_on_with_another_number_of_them_each_time(optimum: mm.Result, tmp_path: Path) -> None:
    for session in range(40):
        result = solve(long(), tmp_path, threads=1 + session % 3, options={**DUAL, "node_limit": 300 * (session + 1)})
        found = proved(long(), tmp_path)
        assert found.overstated <= 1e-9 * max(1.0, abs(found.bound))
        assert -found.bound <= result.bounds.dual_bound + 1e-8  # what was told last is in the file
        if result.termination_status is mm.TerminationStatus.OPTIMAL:
            break
    assert session > 0
    assert result.bounds.primal_bound == pytest.approx(optimum.bounds.primal_bound, rel=1e-12)
    assert result.bounds.dual_bound == pytest.approx(result.bounds.primal_bound, rel=1e-9)
    assert result.model.structure == optimum.model.structure


def test_boxes_beyond_the_memory_limit_wait_on_the_disk_and_all_are_searched(
    optimum: mm.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, count = [0], crew.ProcessCrew._count_away

    def counted(self: crew.ProcessCrew) -> None:
        most[0] = max([most[0], *(len(mate.boxes) for mate in self._mates)])
        count(self)

    monkeypatch.setattr(crew.ProcessCrew, "_count_away", counted)
    result = solve(long(), tmp_path, threads=2, options={**DUAL, "memory_limit": 40_000})
    assert result.stats["boxes_put_away"] > 100
    assert most[0] < 1500  # what is made in the time between two reports comes on top
    assert result.bounds.primal_bound == pytest.approx(optimum.bounds.primal_bound, rel=1e-12)
    assert result.model.structure == optimum.model.structure
    assert proved(long(), tmp_path).overstated <= 1e-7


def test_what_one_fails_with_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    hear = crew.ProcessCrew._hear

    def failing(self: crew.ProcessCrew) -> bool:
        self._mates[0].host._deliver(EngineFailure("ValueError", "odd", "", False))
        return hear(self)

    monkeypatch.setattr(crew.ProcessCrew, "_hear", failing)
    with pytest.raises(SolverError, match="a process that helped to search failed: ValueError: odd"):
        mm.solve(long(), BRANCH, threads=2, options=DUAL)


def test_a_disk_that_is_full_ends_the_run_with_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_the_disk(monkeypatch)
    result = solve(larger(), tmp_path, threads=3, options=DUAL)
    assert result.termination_status is mm.TerminationStatus.INTERRUPTED
    assert "No space left" in result.raw_status


def test_where_all_are_lost_the_search_goes_on_alone(monkeypatch: pytest.MonkeyPatch, alone: mm.Result) -> None:
    monkeypatch.setattr(crew, "LEVEL_SEC", 0.0)

    def lost(self: crew._Host, order: object) -> None:
        self.kill()

    monkeypatch.setattr(crew._Host, "tell", lost)
    result = mm.solve(larger(), BRANCH, threads=3, options=DUAL)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.model.structure == alone.model.structure


def test_all_end_at_the_limit_and_the_file_proves_the_bound(tmp_path: Path) -> None:
    begin = time.monotonic()
    result = solve(hard(), tmp_path, threads=3, time_limit=6.0, options={"helpers": "processes"})
    assert time.monotonic() - begin < 10.0
    assert result.termination_status is mm.TerminationStatus.TIME_LIMIT
    found = proved(hard(), tmp_path)
    assert -found.bound <= result.bounds.dual_bound + 1e-8


def test_all_stop_when_the_caller_says_so() -> None:
    def hear(event: object) -> bool:
        return event.nodes is not None and event.nodes > 100

    result = mm.solve(hard(), BRANCH, threads=3, callback=hear, time_limit=60.0, options={"helpers": "processes"})
    assert result.termination_status is mm.TerminationStatus.INTERRUPTED


def test_a_program_that_cannot_be_sent_is_searched_by_threads(
    processes: list[int], monkeypatch: pytest.MonkeyPatch, alone: mm.Result
) -> None:
    monkeypatch.setattr("mmbn_opt.solvers.choice.branch_and_cut._run.packed_size", lambda content: None)
    result = mm.solve(larger(), BRANCH, threads=3, options=DUAL)
    assert not processes
    assert result.stats["boxes_by_processes"] == 0
    assert result.model.structure == alone.model.structure


class OfATest(MarginTerm):
    """A term whose class the processes are to find, or not."""


@pytest.mark.parametrize(
    ("module", "started", "words"),
    [("__main__", 0, ""), ("nowhere", 2, "ModuleNotFoundError: No module named 'nowhere'")],
    ids=["of a notebook", "that cannot be imported"],
)
def test_a_class_that_other_processes_do_not_have(
    module: str, started: int, words: str, processes: list[int], monkeypatch: pytest.MonkeyPatch,
    alone: mm.Result, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    holder = sys.modules.get(module) or ModuleType(module)
    monkeypatch.setitem(sys.modules, module, holder)
    monkeypatch.setattr(holder, "OfATest", OfATest, raising=False)
    monkeypatch.setattr(OfATest, "__module__", module)
    problem = larger()
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    term = object.__new__(OfATest)
    vars(term).update(vars(program.term))
    result = BranchAndCut(threads=3, options=DUAL).solve(replace(program, term=term))
    assert len(processes) == started
    assert words in caplog.text
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(-alone.bounds.primal_bound)


def test_they_start_while_the_root_is_solved(processes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbn_opt.solvers.choice.branch_and_cut._rooting.LONG_SEC", 0.0)
    begun: list[int] = []
    begin_tree = Run._begin_tree

    def noted(self: Run, rules: tuple[Branching, ...]) -> str:
        begun.append(len(processes))
        return begin_tree(self, rules)

    monkeypatch.setattr(Run, "_begin_tree", noted)
    mm.solve(larger(), BRANCH, threads=3, options=DUAL)
    assert begun == [2]


def test_they_are_let_go_where_the_root_closes_the_search(
    processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmbn_opt.solvers.choice.branch_and_cut._rooting.LONG_SEC", 0.0)
    result = mm.solve(larger(), BRANCH, threads=3, rel_gap=0.3, options=DUAL)
    assert len(processes) == 2
    assert result.trace.records[-1].nodes == 0


def test_where_no_process_can_be_started_threads_help(
    monkeypatch: pytest.MonkeyPatch, alone: mm.Result, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(self: crew._Host, job: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(crew._Host, "__init__", refused)
    result = mm.solve(larger(), BRANCH, threads=3, options=DUAL)
    assert "threads help instead" in caplog.text
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.model.structure == alone.model.structure


def test_a_setting_that_there_is_not_is_named() -> None:
    with pytest.raises(mm.InputError, match="helpers must be one of 'auto', 'processes', 'threads', got 'people'"):
        mm.solve(larger(), BRANCH, threads=2, options={"helpers": "people"})
