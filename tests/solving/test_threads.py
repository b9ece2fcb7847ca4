"""Several threads or processes search one tree: answer, proof, file and ways to end are those of one thread."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.choice.branch_and_cut import _race
from mmbn_opt.solvers.choice.branch_and_cut._search import Search
from tests.solving.test_checkpoint import BRANCH, PROBLEMS, proved, solve, table

FEW, MANY = 2, 5


def larger(seed: int = 0) -> mm.SoftMarginStructure:
    """Some hundred boxes."""
    return mm.SoftMarginStructure(table(seed, 60, 6), gamma=mm.log_odds(0.8))


def alive() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("tree ")]


@pytest.fixture(scope="module")
def alone() -> mm.Result:
    return mm.solve(larger(), BRANCH)


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the threads that looked at boxes, one entry a box."""
    seen: list[str] = []
    look_at = Search.look_at

    def noted(self: Search, waiting: object) -> None:
        seen.append(threading.current_thread().name)
        look_at(self, waiting)

    monkeypatch.setattr(Search, "look_at", noted)
    return seen


@pytest.mark.parametrize(("threads", "helpers"), [(FEW, "threads"), (MANY, "threads"), (3, "processes")])
@pytest.mark.parametrize("name", PROBLEMS)
def test_any_number_of_threads_gives_the_optimum_and_the_structure_of_one(
    name: str, threads: int, helpers: str, tmp_path: Path
) -> None:
    problem = PROBLEMS[name]()
    one = mm.solve(problem, BRANCH)
    several = solve(problem, tmp_path, threads=threads, options={"helpers": helpers})
    assert several.termination_status is mm.TerminationStatus.OPTIMAL
    assert several.bounds.primal_bound == pytest.approx(one.bounds.primal_bound, rel=1e-12)
    if one.stats["ties_settled"]:
        assert several.model.structure == one.model.structure
    assert several.certificate.ok
    found = proved(problem, tmp_path)
    scale = max(1.0, abs(found.bound))
    assert found.overstated <= 1e-9 * scale
    assert -found.bound == pytest.approx(several.bounds.dual_bound, abs=2e-9 * scale)


@pytest.mark.parametrize("rule", ["race", "dual", "mixture"])
def test_all_threads_look_at_boxes_and_leave_when_the_tree_is_done(
    rule: str, helpers: list[str], alone: mm.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_race, "LAP_BOXES", 20)
    monkeypatch.setattr(_race, "LAP_WORK", 0.0)
    result = mm.solve(larger(), BRANCH, threads=3, options={"branching": rule, "helpers": "threads"})
    assert set(helpers) == {threading.current_thread().name, "tree 1", "tree 2"}
    assert result.bounds.primal_bound == pytest.approx(alone.bounds.primal_bound, rel=1e-12)
    assert result.model.structure == alone.model.structure
    assert len(helpers) > 100
    assert not alive()


@pytest.mark.parametrize("seed", range(6))
def test_ties_are_settled_by_the_canonical_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (60, 5))
    X[:, 1] = X[:, 0]  # twins: whatever hangs from one may hang from the other
    y = np.where(rng.random(60) < 0.3, rng.integers(0, 2, 60), X[:, 0] ^ X[:, 2])
    problem = mm.SoftMarginStructure(mm.DiscreteDataset.from_arrays(X, y), gamma=mm.log_odds(0.9))
    results = [mm.solve(problem, BRANCH, threads=n, options={"helpers": "threads"}) for n in (1, FEW, MANY)]
    assert all(result.stats["ties_settled"] for result in results)
    assert len({tuple(sorted(result.model.structure.edges)) for result in results}) == 1
    assert len({result.bounds.primal_bound for result in results}) == 1


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_threads_each_time(tmp_path: Path, alone: mm.Result) -> None:
    for sessions, threads in enumerate((1, 3, 2, 1, 4, 2) * 20):
        result = solve(
            larger(),
            tmp_path,
            threads=threads,
            options={"branching": "dual", "node_limit": 25 + sessions % 2, "helpers": "threads"},
        )
        found = proved(larger(), tmp_path)
        assert found.overstated <= 1e-9 * max(1.0, abs(found.bound))
        assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-8)
        if result.termination_status is mm.TerminationStatus.OPTIMAL:
            break
    assert sessions > 2
    assert result.bounds.primal_bound == pytest.approx(alone.bounds.primal_bound, rel=1e-12)
    assert result.bounds.dual_bound == pytest.approx(result.bounds.primal_bound, rel=1e-9)
    assert result.model.structure == alone.model.structure


def test_rows_that_were_dropped_for_memory_are_made_again_by_whoever_needs_them(
    alone: mm.Result, tmp_path: Path
) -> None:
    result = solve(
        larger(), tmp_path, threads=3, options={"memory_limit": 20_000, "branching": "dual", "helpers": "threads"}
    )
    assert result.stats["families_dropped"] > 5
    assert result.stats["families_remade"] > 5
    assert result.bounds.primal_bound == pytest.approx(alone.bounds.primal_bound, rel=1e-12)
    assert result.model.structure == alone.model.structure
    assert proved(larger(), tmp_path).overstated <= 1e-7


@pytest.mark.parametrize("error", [MemoryError("full"), ValueError("odd"), KeyError("gone")])
def test_what_one_thread_fails_with_ends_the_run_and_is_raised(
    error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    look_at = Search.look_at

    def failing(self: Search, waiting: object) -> None:
        if self.helps:
            raise error
        look_at(self, waiting)

    monkeypatch.setattr(Search, "look_at", failing)
    with pytest.raises(type(error), match=str(error.args[0])):
        solve(larger(), tmp_path, threads=3, options={"helpers": "threads"})
    assert not alive()
    monkeypatch.undo()
    assert solve(larger(), tmp_path, threads=2).termination_status is mm.TerminationStatus.OPTIMAL


def fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some hundred records there is no room for more."""
    from mmbn_opt.interop.tree_file import TreeFile

    write, count = TreeFile.write, [0]

    def filling(self: TreeFile, *record: object) -> int:
        count[0] += 1
        if count[0] > 400:
            raise OSError(28, "No space left on device")
        return write(self, *record)

    monkeypatch.setattr(TreeFile, "write", filling)


def test_a_disk_that_is_full_ends_the_run_with_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_the_disk(monkeypatch)
    result = solve(larger(), tmp_path, threads=3, options={"branching": "dual", "helpers": "threads"})
    assert result.termination_status is mm.TerminationStatus.INTERRUPTED
    assert "No space left" in result.raw_status
    assert not alive()


def test_news_come_from_the_thread_that_called(alone: mm.Result) -> None:
    callers = set()

    def hear(event: object) -> None:
        callers.add(threading.get_ident())

    result = mm.solve(
        larger(), BRANCH, threads=4, callback=hear, starts=[], options={"heuristic": 0.0, "helpers": "threads"}
    )
    assert callers == {threading.get_ident()}
    assert result.bounds.primal_bound == pytest.approx(alone.bounds.primal_bound, rel=1e-12)


def hard() -> mm.SoftMarginStructure:
    """Takes minutes."""
    rng = np.random.default_rng(0)
    return mm.SoftMarginStructure(
        mm.DiscreteDataset.from_arrays(rng.integers(0, 3, (200, 12)), rng.integers(0, 3, 200)), gamma=mm.log_odds(0.9)
    )


def test_all_threads_end_at_the_limit(tmp_path: Path) -> None:
    begin = time.monotonic()
    result = solve(hard(), tmp_path, threads=3, time_limit=8.0, options={"helpers": "threads"})
    assert time.monotonic() - begin < 12.0
    assert result.termination_status is mm.TerminationStatus.TIME_LIMIT
    assert not alive()
    found = proved(hard(), tmp_path)
    assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-8)


def test_all_threads_stop_when_the_caller_says_so() -> None:
    def hear(event: object) -> bool:
        return event.nodes is not None and event.nodes > 40

    result = mm.solve(hard(), BRANCH, threads=3, callback=hear, time_limit=60.0, options={"helpers": "threads"})
    assert result.termination_status is mm.TerminationStatus.INTERRUPTED
    assert not alive()


def test_cuts_asked_for_by_many_threads_at_once_are_those_of_one() -> None:
    problem = larger()
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    term = program.term.regrouped(9)
    points = np.random.default_rng(0).random((40, program.n_columns))
    expected = [term.cuts(x) for x in points]
    wrong = []

    def ask(turn: int) -> None:
        for number in np.random.default_rng(turn).permutation(np.tile(np.arange(40), 5)):
            got = term.cuts(points[number])
            if not (
                np.array_equal(got.gradients, expected[number].gradients)
                and np.array_equal(got.intercepts, expected[number].intercepts)
            ):
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
