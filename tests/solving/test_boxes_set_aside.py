"""Boxes that are left for later in the middle: answer, proof, file and effort are those of a search without."""

import os
import signal
from pathlib import Path

import pytest

import mmbn_opt as mm
from mmbn_opt.solvers.choice.branch_and_cut import _process_crew as crew
from tests.solving.test_checkpoint import BRANCH, PROBLEMS, proved, same, solve, table
from tests.solving.test_processes import long, undisturbed
from tests.solving.test_threads import larger

EAGER, NEVER = {"ahead": 0.0}, {"ahead": float("inf")}


@pytest.mark.parametrize("name", PROBLEMS)
def test_whenever_a_box_can_wait_the_answer_is_the_same(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]()
    never = mm.solve(problem, BRANCH, options=NEVER)
    eager = solve(problem, tmp_path, options=EAGER)
    same(eager, never, problem, tmp_path)
    assert never.stats["boxes_set_aside"] == 0
    if never.stats["nodes"] > 20 and name not in ("bdeu", "trees"):
        assert eager.stats["boxes_set_aside"] > 5


def test_a_box_that_waited_is_counted_once() -> None:
    problem = larger()
    eager, never = (mm.solve(problem, BRANCH, options=given) for given in (EAGER, NEVER))
    assert eager.stats["boxes_set_aside"] > eager.stats["nodes"] / 4
    assert eager.stats["nodes"] < 1.5 * never.stats["nodes"]


@pytest.mark.parametrize("rule", ["race", "dual", "mixture"])
def test_wherever_it_is_cut_off_the_file_proves_the_bound(rule: str, tmp_path: Path) -> None:
    problem = PROBLEMS["three classes"]()
    for limit in (1, 2, 3, 5, 8, 13, 21, 34):
        folder = tmp_path / str(limit)
        result = solve(problem, folder, options={"node_limit": limit, "branching": rule, **EAGER})
        scale = max(1.0, abs(result.bounds.dual_bound))
        assert -proved(problem, folder).bound == pytest.approx(result.bounds.dual_bound, abs=2e-9 * scale)


def test_it_is_gone_on_with_session_by_session(tmp_path: Path) -> None:
    for session in range(60):
        options = {"node_limit": 300 * (session + 1), "branching": "dual", **EAGER}
        result = solve(long(), tmp_path, threads=1 + session % 3, options=options)
        found = proved(long(), tmp_path)
        assert found.overstated <= 1e-9 * max(1.0, abs(found.bound))
        assert -found.bound <= result.bounds.dual_bound + 1e-8
        if result.termination_status is mm.TerminationStatus.OPTIMAL:
            break
    assert session > 0
    same(result, undisturbed(), long(), tmp_path)


@pytest.mark.parametrize("helpers", ["threads", "processes"])
def test_boxes_that_wait_change_hands(helpers: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(crew, "LEVEL_SEC", 0.0)
    monkeypatch.setattr(crew, "LAG", 0.0)
    monkeypatch.setattr(crew, "PILE", 8)
    options = {"branching": "dual", "helpers": helpers, **EAGER}
    result = solve(long(), tmp_path, threads=3, options=options)
    assert result.stats["boxes_set_aside"] > 50
    same(result, undisturbed(), long(), tmp_path)


def test_they_outlive_the_process_that_had_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    take, killed = crew.ProcessCrew._take, []

    def killing(self: crew.ProcessCrew, mate: crew._Mate, report: object) -> None:
        take(self, mate, report)
        if not killed and len(mate.boxes) > 20:
            killed.append(mate.host.pid)
            os.kill(mate.host.pid, signal.SIGKILL)

    monkeypatch.setattr(crew.ProcessCrew, "_take", killing)
    options = {"branching": "dual", "helpers": "processes", **EAGER}
    result = solve(long(), tmp_path, threads=3, options=options)
    assert killed
    same(result, undisturbed(), long(), tmp_path)


def test_they_wait_on_the_disk_too(tmp_path: Path) -> None:
    options = {"branching": "dual", "memory_limit": 40_000, **EAGER}
    result = solve(long(), tmp_path, options=options)
    assert result.stats["boxes_put_away"] > 100
    same(result, undisturbed(), long(), tmp_path)


def test_without_a_limit_on_time_a_table_is_proved_as_before(tmp_path: Path) -> None:
    """By default boxes wait where the tree is far from its end."""
    problem = mm.SoftMarginStructure(table(5, 90, 8), gamma=mm.log_odds(0.9))
    result = solve(problem, tmp_path)
    same(result, mm.solve(problem, BRANCH, options=NEVER), problem, tmp_path)
