"""A search that is written down can be cut off anywhere and goes on to the same optimum; what it wrote is a proof."""

import errno
import json
import logging
import math
import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from seldom import mostly_slow
from small_proofs import taken_apart
from small_proofs import tree_file as tree_of

import mmbn_opt as mm
from mmbn_opt._file_lock import FileLock
from mmbn_opt.interop import tree_file
from mmbn_opt.interop.tree_file import TreeFile, TreeReader
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.programs.tree_progress import Progress
from mmbn_opt.programs.tree_records import Kind
from mmbn_opt.solvers.choice.branch_and_cut import _race, _rooting
from mmbn_opt.verification import verify
from tests.tree_reader import Proved, prove

BRANCH = "branch_and_cut"


def table(seed: int = 0, rows: int = 60, features: int = 5, classes: int = 3) -> mm.DiscreteDataset:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    x = (rng.integers(0, 3, (rows, features)) + y[:, None] * rng.integers(0, 2, (rows, features))) % 3
    return mm.DiscreteDataset.from_arrays(x, y)


def chained(seed: int) -> mm.DiscreteDataset:
    """Columns that hang together, so that no node has its best parents in the best structure."""
    rng = np.random.default_rng(seed)
    steps = rng.choice(3, size=(300, 9), p=[0.8, 0.1, 0.1])
    x = np.cumsum(steps, axis=1) % 3
    return mm.DiscreteDataset.from_arrays(x[:, :-1], x[:, -1])


def margins(**settings: object) -> mm.SoftMarginStructure:
    return mm.SoftMarginStructure(table(), **{"gamma": mm.log_odds(0.8), **settings})


PROBLEMS = {
    "three classes": lambda: margins(),
    "two classes": lambda: mm.SoftMarginStructure(table(1, classes=2), gamma=mm.log_odds(0.9)),
    "binary margins, Dirichlet": lambda: mm.BinarySoftMarginStructure(table(2), smoothing=mm.Dirichlet(3.0)),
    "three parents": lambda: mm.SoftMarginStructure(table(3, features=4), max_parents=3, gamma=mm.log_odds(0.8)),
    "few edges": lambda: margins().with_constraints(mm.MaxEdges(5)),
    "tiers": lambda: margins().with_constraints(mm.Tiers((("class",), ("x0", "x1"), ("x2", "x3", "x4")))),
    "required edges": lambda: margins(required_edges=(("x0", "x1"),), forbidden_edges=(("x2", "x3"),)),
    "bdeu": lambda: mm.DecomposableStructure(chained(0), score="bdeu", max_parents=3),
    "trees": lambda: mm.DecomposableStructure(chained(1), score="loglik", parent_sets="margin"),
    "few features": lambda: mm.SoftMarginStructure(table(6, features=1)),
}


def solve(problem: object, folder: Path, **settings: object) -> mm.Result:
    return mm.solve(problem, BRANCH, checkpoint=folder, **settings)


def proved(problem: object, folder: Path) -> Proved:
    return prove(folder / "tree.mmbn", problem.build(ProgramKind.IMPLICIT_CONCAVE))


def same(result: mm.Result, other: mm.Result, problem: object, folder: Path) -> Proved:
    """Both are proved, with one structure, and the file proves the bound: what it proves."""
    assert result.termination_status is other.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(other.bounds.primal_bound, rel=1e-12)
    assert result.model.structure == other.model.structure
    found = proved(problem, folder)
    scale = max(1.0, abs(found.bound))
    assert found.overstated <= 1e-9 * scale
    assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=2e-9 * scale)
    return found


def places(path: Path) -> list[int]:
    return [place for place, _, _ in TreeReader(path).records()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, mm.Result]:
    """A search to its end."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, solve(margins(), folder)


# -- the proof ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_written_proves_the_bound_that_is_reported(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]()
    without = mm.solve(problem, BRANCH)
    result = solve(problem, tmp_path)
    found = same(result, without, problem, tmp_path)
    scale = max(1.0, abs(found.bound))
    assert -found.best.objective == pytest.approx(result.bounds.primal_bound, abs=1e-9 * scale)


def test_a_search_that_was_cut_off_proves_its_bound_too(tmp_path: Path) -> None:
    problem = mm.SoftMarginStructure(table(0, 80, 7), gamma=mm.log_odds(0.8))
    result = solve(problem, tmp_path, options={"node_limit": 200})
    assert result.termination_status is mm.TerminationStatus.NODE_LIMIT
    found = proved(problem, tmp_path)
    assert len(found.boxes) > 100
    assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-9)


@pytest.mark.parametrize(
    "name", mostly_slow(["three classes", "bdeu", "binary margins, Dirichlet", "three parents", "few edges"], 2)
)
@pytest.mark.parametrize("rule", ["race", "dual", "mixture"])
def test_wherever_a_search_is_cut_off_it_reports_what_its_file_proves(name: str, rule: str, tmp_path: Path) -> None:
    problem, ends = PROBLEMS[name](), set()
    for limit in (1, 2, 3, 5, 8, 13, 21, 34):
        folder = tmp_path / str(limit)
        result = solve(problem, folder, options={"node_limit": limit, "branching": rule})
        ends.add(result.termination_status.name)
        scale = max(1.0, abs(result.bounds.dual_bound))
        assert -proved(problem, folder).bound == pytest.approx(result.bounds.dual_bound, abs=2e-9 * scale)
    assert ends <= {"NODE_LIMIT", "OPTIMAL"}


@pytest.fixture
def two_groupings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The root is solved in two groups, and then again in nine."""
    monkeypatch.setattr(_rooting, "FEW_GROUPS", 2)
    monkeypatch.setattr(_rooting, "many_groups", lambda parts: 9)
    monkeypatch.setattr(_rooting, "WIDE_ROOT_GAP", 0.0)


@pytest.mark.usefixtures("two_groupings")
@pytest.mark.parametrize("interrupt", mostly_slow([False, True], 1))
def test_stopped_after_any_news_it_reports_what_its_file_proves(interrupt: bool, tmp_path: Path) -> None:
    """At the root of either grouping, in the race and after: bounds of an earlier grouping stand in the file too."""
    problem, layouts, heard = margins(), [], [0]

    def solved(folder: Path, stop: int) -> mm.Result:
        heard[0] = 0

        def hear(event: object) -> bool:
            heard[0] += 1
            if interrupt and heard[0] == stop:
                signal.raise_signal(signal.SIGINT)
            return heard[0] >= stop

        return solve(problem, folder, callback=hear, starts=[])

    solved(tmp_path / "whole", 10**9)
    for stop in range(2, heard[0]):
        folder = tmp_path / str(stop)
        result = solved(folder, stop)
        found = proved(problem, folder)
        layouts.append(found.layouts)
        if found.layouts:
            assert found.overstated <= 1e-9
            assert -found.bound <= result.bounds.dual_bound + 1e-8
        if found.layouts and not interrupt:  # an interrupt strikes where it will: the file may know more
            assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-8)
        again = solve(problem, folder)
        assert again.termination_status is mm.TerminationStatus.OPTIMAL
        assert -proved(problem, folder).bound == pytest.approx(again.bounds.dual_bound, abs=1e-8)
    assert {1, 2} <= set(layouts)


@pytest.fixture
def saved_at_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the root is bounded by is written after every round."""
    monkeypatch.setattr(_rooting, "SAVE_SEC", 0.0)
    monkeypatch.setattr(_rooting, "SAVE_SHARE", 0.0)


def kinds_of(path: Path) -> list[Kind]:
    return [kind for _, kind, _ in TreeReader(path).records()]


def root_places(path: Path) -> list[int]:
    """Places of the records before the first tree was begun."""
    every = [(place, kind) for place, kind, _ in TreeReader(path).records()]
    end = next((k for k, (_, kind) in enumerate(every) if kind is Kind.ROOT), len(every))
    return [place for place, _ in every[1:end]]


@pytest.mark.usefixtures("saved_at_each_round", "two_groupings")
@pytest.mark.parametrize("name", mostly_slow(["three classes", "few edges", "two classes", "bdeu", "three parents"], 2))
def test_cut_off_in_the_root_it_goes_on_with_the_bound_that_it_had(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]()
    result = solve(problem, tmp_path / "whole", starts=[])
    content = (tmp_path / "whole" / "tree.mmbn").read_bytes()
    every = root_places(tmp_path / "whole" / "tree.mmbn")
    assert kinds_of(tmp_path / "whole" / "tree.mmbn").count(Kind.BOUND) > 3
    had, fewer = [], 0
    for place in every[:: max(1, len(every) // 9)]:
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "tree.mmbn").write_bytes(content[:place])
        before = proved(problem, folder)
        had.append(before.bound)
        again = solve(problem, folder, starts=[])
        assert again.termination_status is mm.TerminationStatus.OPTIMAL
        assert again.bounds.primal_bound == pytest.approx(result.bounds.primal_bound, rel=1e-12)
        scale = max(1.0, abs(again.bounds.dual_bound))
        records = TreeReader(folder / "tree.mmbn").records()
        said = [
            Progress.decode(payload).bound for at, kind, payload in records if at >= place and kind is Kind.PROGRESS
        ]
        assert min(bound for bound in said if not math.isnan(bound)) >= before.bound - 1e-9 * scale
        found = proved(problem, folder)
        assert found.overstated <= 1e-9 * scale
        assert -found.bound == pytest.approx(again.bounds.dual_bound, abs=2e-9 * scale)
        fewer += again.stats["root_rounds"] < result.stats["root_rounds"]
    assert len({bound for bound in had if bound > -math.inf}) > 2  # it rose, and every rise was kept
    assert fewer > 0


@pytest.mark.usefixtures("saved_at_each_round")
def test_a_root_that_is_written_as_it_goes_leaves_the_search_as_it_is(
    whole: tuple[Path, mm.Result], tmp_path: Path
) -> None:
    result = solve(margins(), tmp_path)
    assert result.stats["nodes"] == whole[1].stats["nodes"]
    assert result.bounds.dual_bound == whole[1].bounds.dual_bound
    assert result.model.structure == whole[1].model.structure


@pytest.mark.usefixtures("saved_at_each_round")
def test_the_verifier_takes_what_was_left_in_the_root(tmp_path: Path) -> None:
    problem = margins()
    codes, labels = problem.data.codes, problem.data.target_codes
    lines = [",".join([*problem.data.feature_names, problem.data.class_name])]
    lines += [",".join(map(str, [*row, label])) for row, label in zip(codes, labels, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    result = solve(problem, tmp_path / "run")
    content = (tmp_path / "run" / "tree.mmbn").read_bytes()
    bounds = []
    for place in root_places(tmp_path / "run" / "tree.mmbn"):
        (tmp_path / "tree.mmbn").write_bytes(content[:place])
        bounds.append(verify(tmp_path / "tree.mmbn", tmp_path / "rows.csv").bound)
    assert min(bounds) >= result.bounds.primal_bound
    assert sorted(bounds, reverse=True) == bounds
    assert len(set(bounds)) > 2


def test_groups_rules_and_seeds_are_written_as_they_are(tmp_path: Path) -> None:
    problem = margins()
    for number, options in enumerate(({"groups": 7}, {"branching": "mixture"}, {"strong": 1, "rounds": 1})):
        result = solve(problem, tmp_path / str(number), options=options, seed=number)
        found = proved(problem, tmp_path / str(number))
        assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-9)
        assert found.overstated <= 1e-9


@pytest.mark.parametrize("lead", [0.0, 100.0])
def test_of_two_trees_the_one_that_goes_on_counts(lead: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever wins: the second takes the place of the first in the file."""
    monkeypatch.setattr(_race, "LEAD", lead)
    monkeypatch.setattr(_race, "NEAR", 2.0)
    monkeypatch.setattr(_race, "LAP_BOXES", 10)
    monkeypatch.setattr(_race, "LAP_WORK", 0.0)
    problem, options = margins(), {"groups": 48}  # which are not made more: a layout of the root alone is not written
    result = solve(problem, tmp_path, options=options)
    assert result.stats["branching"] == ("mixture" if lead == 0.0 else "dual")
    found = proved(problem, tmp_path)
    assert found.layouts == (2 if lead == 0.0 else 1)
    assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-9)
    # Cut off before the race was decided, in the middle of it, and after.
    whole = (tmp_path / "tree.mmbn").read_bytes()
    every = places(tmp_path / "tree.mmbn")
    for number, place in enumerate(every[:: max(1, len(every) // 9)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "tree.mmbn").write_bytes(whole[:place])
        if place > every[0]:
            again = solve(problem, folder, options=options)
            assert again.bounds.primal_bound == pytest.approx(result.bounds.primal_bound, rel=1e-12)
            assert -proved(problem, folder).bound == pytest.approx(result.bounds.dual_bound, abs=1e-9)


# -- going on ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["three classes", "binary margins, Dirichlet", "three parents", "tiers", "bdeu"])
def test_cut_off_after_any_record_it_goes_on_to_the_same_optimum(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]()
    result = solve(problem, tmp_path / "whole")
    content = (tmp_path / "whole" / "tree.mmbn").read_bytes()
    every = places(tmp_path / "whole" / "tree.mmbn")[1:]
    for place in every[:: max(1, len(every) // 5)]:
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "tree.mmbn").write_bytes(content[:place])
        again = solve(problem, folder)
        assert again.termination_status is mm.TerminationStatus.OPTIMAL
        assert again.bounds.primal_bound == pytest.approx(result.bounds.primal_bound, rel=1e-12)
        if again.stats["ties_settled"] and result.stats["ties_settled"]:
            assert again.model.structure == result.model.structure
        found = proved(problem, folder)
        assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=2e-9 * max(1.0, abs(found.bound)))


def test_a_torn_tail_is_cut_off_at_whatever_byte_it_was_torn(whole: tuple[Path, mm.Result], tmp_path: Path) -> None:
    every = places(whole[0] / "tree.mmbn")[:15]
    content = (whole[0] / "tree.mmbn").read_bytes()[: every.pop()]
    path = tmp_path / "tree.mmbn"
    for end in range(every[-3], len(content)):
        path.write_bytes(content[:end])
        kept = [place for place, after in zip(every, [*every[1:], len(content)], strict=True) if after <= end]
        file = TreeFile(path)
        assert [place for place, _, _ in file.records()] == kept
        file.cut()
        place = file.write(Kind.SESSION, b"{}")
        file.close()
        assert place == path.stat().st_size - 11
        assert path.read_bytes()[:place] == content[:place]
        assert places(path) == [*kept, place]


def test_damage_ends_what_counts(whole: tuple[Path, mm.Result], tmp_path: Path) -> None:
    content = (whole[0] / "tree.mmbn").read_bytes()
    every = places(whole[0] / "tree.mmbn")
    rng = np.random.default_rng(0)
    path = tmp_path / "tree.mmbn"
    for _ in range(200):
        at = int(rng.integers(every[1], len(content)))
        damaged = bytearray(content)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        assert places(path) == [
            place for place, after in zip(every, [*every[1:], len(content)], strict=True) if after <= at
        ]


def test_a_torn_tail_is_told_and_the_search_goes_on(
    whole: tuple[Path, mm.Result], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = (whole[0] / "tree.mmbn").read_bytes()
    (tmp_path / "tree.mmbn").write_bytes(content[: len(content) // 2] + b"\0" * 100)
    with caplog.at_level(logging.WARNING):
        result = solve(margins(), tmp_path)
    assert "were not whole and were cut off" in caplog.text
    assert result.bounds.primal_bound == pytest.approx(whole[1].bounds.primal_bound, rel=1e-12)
    assert result.model.structure == whole[1].model.structure


def test_a_search_that_has_ended_is_not_searched_again(whole: tuple[Path, mm.Result]) -> None:
    result = solve(margins(), whole[0])
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.stats["nodes"] == 0
    assert result.model.structure == whole[1].model.structure
    assert result.bounds.dual_bound == whole[1].bounds.dual_bound


def test_node_limits_add_up_to_the_whole_search(tmp_path: Path) -> None:
    problem = margins()
    boxes = 0
    for _ in range(200):
        result = solve(problem, tmp_path, options={"node_limit": 15})
        boxes += result.stats["nodes"]
        if result.termination_status is not mm.TerminationStatus.NODE_LIMIT:
            break
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert boxes > 30
    saved = mm.load_run(tmp_path)
    assert saved.boxes == boxes
    assert len(saved.sessions) > 2
    assert -proved(problem, tmp_path).bound == pytest.approx(result.bounds.dual_bound, abs=1e-9)


CHILD = """
import sys
import mmbn_opt as mm
data = mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class")
result = mm.solve(mm.SoftMarginStructure(data), "branch_and_cut", checkpoint=sys.argv[1])
print(result.termination_status, repr(result.bounds.primal_bound), repr(result.bounds.dual_bound))
"""

IN_THE_ROOT = """
import time
from mmbn_opt.solvers.choice.branch_and_cut import _rooting
_rooting.SAVE_SEC = _rooting.SAVE_SHARE = 0.0
save = _rooting.RootRun._save_root
def slowly(run):  # so that most kills strike in the root
    save(run)
    time.sleep(0.05)
_rooting.RootRun._save_root = slowly
"""

HEART = """
import json, sys
import mmbn_opt as mm
data = mm.prepare(mm.read_table(sys.argv[2]), "class", missing="drop").data
result = mm.solve(mm.SoftMarginStructure(data, gamma=mm.log_odds(0.6)), "branch_and_cut", checkpoint=sys.argv[1])
bounds, edges = result.bounds, sorted(result.model.structure.edges)
print(json.dumps([result.termination_status.name, bounds.primal_bound, bounds.dual_bound, edges]))
"""


def killed_again_and_again(folder: Path, kills: int, script: str = CHILD, *arguments: str) -> str:
    """Kill the process at random moments, then let it end; what it says then."""
    rng = np.random.default_rng(kills)
    path = folder / "tree.mmbn"
    for left in range(kills, -1, -1):
        before = path.stat().st_size if path.exists() else 0
        command = [sys.executable, "-c", script, str(folder), *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            if left:
                while child.poll() is None and (not path.exists() or path.stat().st_size <= before):
                    time.sleep(0.01)
                time.sleep(float(rng.uniform(0, 0.3)))
                child.send_signal(signal.SIGKILL)
            said, _ = child.communicate()
    return said


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kills", [pytest.param(3, marks=pytest.mark.slow), pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_random_moments_it_ends_with_the_optimum_of_an_undisturbed_run(kills: int, tmp_path: Path) -> None:
    problem = mm.SoftMarginStructure(mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class"))
    status, primal, dual = killed_again_and_again(tmp_path, kills).split()
    undisturbed = mm.solve(problem, BRANCH)
    assert status == "OPTIMAL"
    assert float(primal) == pytest.approx(undisturbed.bounds.primal_bound, rel=1e-12)
    assert float(dual) == pytest.approx(undisturbed.bounds.dual_bound, rel=1e-8)
    found = proved(problem, tmp_path)
    assert not found.boxes
    assert -found.bound == pytest.approx(float(dual), rel=1e-9)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "tree.mmbn"]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("in_the_root", [False, True])
def test_a_search_of_heart_that_is_killed_again_and_again_ends_as_one_that_nobody_disturbs(
    in_the_root: bool, shared_dir: Path, tmp_path: Path
) -> None:
    table = shared_dir / "data" / "heart.csv.gz"
    script = IN_THE_ROOT + HEART if in_the_root else HEART
    status, primal, dual, edges = json.loads(killed_again_and_again(tmp_path / "killed", 12, script, str(table)))
    *_, undisturbed = killed_again_and_again(tmp_path / "whole", 0, HEART, str(table)).splitlines()
    assert [status, edges] == [json.loads(undisturbed)[0], json.loads(undisturbed)[3]]
    assert status == "OPTIMAL"
    assert primal == pytest.approx(json.loads(undisturbed)[1], rel=1e-12)
    found = verify(tmp_path / "killed" / "tree.mmbn", table)
    assert found.holds
    assert found.bound == pytest.approx(dual, rel=1e-9)
    assert found.gap < 1e-9
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == ["run.json", "tree.mmbn"]


# -- what is refused ---------------------------------------------------------------------------------------------------


CHANGES = {
    "gamma": (lambda: margins(gamma=1.0), {}, "gamma is 1.0, and was 1.386"),
    "smoothing": (lambda: margins(smoothing=2.0), {}, "smoothing is {'laplace': 2.0}, and was {'laplace': 1.0}"),
    "score": (
        lambda: mm.BinarySoftMarginStructure(table(), gamma=mm.log_odds(0.8)), {}, "score is 'sbm', and was 'sm'",
    ),
    "max_parents": (lambda: margins(max_parents=1), {}, "max_parents is 1, and was 2"),
    "edges": (lambda: margins(required_edges=(("x0", "x1"),)), {}, "required_edges is [['x0', 'x1']], and was []"),
    "constraints": (lambda: margins().with_constraints(mm.MaxEdges(3)), {}, "constraints is"),
    "terms": (lambda: margins().with_terms(mm.EdgePenalty(0.1)), {}, "terms is"),
    "margin_weight": (lambda: margins(margin_weight={0: 1.0, 1: 2.0, 2: 1.0}), {}, "margin_weight is"),
    "gamma of classes": (lambda: margins(gamma={0: 1.0, 1: 2.0, 2: 1.0}), {}, "gamma is"),
    "rows": (lambda: replace(margins(), data=table(9)), {}, "the rows of the table are others"),
    "weights": (
        lambda: replace(margins(), data=replace(table(), sample_weight=np.full(60, 2.0))), {},
        "the rows of the table are others",
    ),
    "names": (
        lambda: mm.SoftMarginStructure(
            mm.DiscreteDataset.from_arrays(
                table().codes, table().target_codes, feature_names=["a", "b", "c", "d", "e"]
            ), gamma=mm.log_odds(0.8)
        ), {}, "the columns, states or cut points are others",
    ),
    "rel_gap": (margins, {"rel_gap": 0.01}, "rel_gap is 0.01, and was 0.0"),
    "seed": (margins, {"seed": 5}, "seed is 5, and was 0"),
    "options": (margins, {"options": {"groups": 9}}, "options is {'groups': 9}, and was {}"),
}  # fmt: skip


def test_a_search_under_limits_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """Whose header declares no limits, and has no names of what they count."""
    problem = margins().with_constraints(mm.MaxFeatures(3), mm.MaxEdges(5))
    result = solve(problem, tmp_path / "new", options={"node_limit": 5})
    header, records = taken_apart((tmp_path / "new" / "tree.mmbn").read_bytes())
    assert len(header["problem"].pop("limits")) == 2
    del header["side"]["items"]
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "tree.mmbn").write_bytes(tree_of(header, records))
    again = solve(problem, tmp_path / "old")
    assert again.termination_status is mm.TerminationStatus.OPTIMAL
    assert again.bounds.dual_bound <= result.bounds.dual_bound + 1e-9
    with pytest.raises(mm.InputError, match="search of another problem"):
        solve(problem.with_constraints(mm.MaxEdges(4)), tmp_path / "old")


@pytest.mark.parametrize("name", CHANGES)
def test_another_problem_is_refused_by_what_is_different(
    name: str, whole: tuple[Path, mm.Result], tmp_path: Path
) -> None:
    problem, settings, words = CHANGES[name]
    content = (whole[0] / "tree.mmbn").read_bytes()
    (tmp_path / "tree.mmbn").write_bytes(content)
    with pytest.raises(mm.InputError, match="search of another problem") as error:
        solve(problem(), tmp_path, **settings)
    assert words in str(error.value)
    assert (tmp_path / "tree.mmbn").read_bytes() == content


def test_limits_threads_and_order_of_rows_may_change(whole: tuple[Path, mm.Result], tmp_path: Path) -> None:
    (tmp_path / "tree.mmbn").write_bytes((whole[0] / "tree.mmbn").read_bytes())
    shuffled = replace(margins(), data=table().subset(np.random.default_rng(0).permutation(60)))
    for problem, settings in (
        (margins(), {"time_limit": 50.0}), (margins(), {"threads": 2}), (margins(), {"options": {"node_limit": 5}}),
        (shuffled, {}),
    ):  # fmt: skip
        assert solve(problem, tmp_path, **settings).termination_status is mm.TerminationStatus.OPTIMAL


def strange_files(content: bytes) -> dict[str, bytes]:
    head = len(content[: content.index(b'{"format"')])
    first = struct.unpack_from("<I", content, 16)[0]
    cuts = [0, 1, 7, 8, 15, 16, 20, 24, head, head + 1, head + first // 2, head + first - 1]
    return {
        **{f"cut off at byte {end}": content[:end] for end in cuts},
        "newer": content[:8] + struct.pack("<I", 2) + content[12:],
        "text": b"a,b,class\n1,2,3\n" * 50,
        "zeros": bytes(1000),
        "damaged header": content[: head + 5] + b"?" + content[head + 6 :],
    }


def test_a_file_that_is_none_is_refused_and_left_as_it_is(whole: tuple[Path, mm.Result], tmp_path: Path) -> None:
    path = tmp_path / "tree.mmbn"
    for name, content in strange_files((whole[0] / "tree.mmbn").read_bytes()).items():
        path.write_bytes(content)
        words = "version 2; this mmbn_opt reads version 1. Update it" if name == "newer" else "cut off|is not a tree"
        for call in (lambda: solve(margins(), tmp_path), lambda: mm.load_run(tmp_path)):
            with pytest.raises(mm.FormatError, match=words):
                call()
        assert path.read_bytes() == content, name
        assert [p.name for p in tmp_path.iterdir()] == ["tree.mmbn"]


def test_a_kind_of_record_from_later_on_is_refused(whole: tuple[Path, mm.Result], tmp_path: Path) -> None:
    path = tmp_path / "tree.mmbn"
    content = (whole[0] / "tree.mmbn").read_bytes()
    monkey = tree_file._FRAME.pack(0, tree_file.zlib.crc32(bytes([99])), 99)
    path.write_bytes(content + monkey)
    with pytest.raises(mm.FormatError, match="record of kind 99"):
        solve(margins(), tmp_path)
    assert path.read_bytes() == content + monkey


def test_a_record_that_does_not_fit_is_refused(whole: tuple[Path, mm.Result], tmp_path: Path) -> None:
    """A checksum that is right says nothing of what stands in the record."""
    path = tmp_path / "tree.mmbn"
    content = (whole[0] / "tree.mmbn").read_bytes()
    for kind, payload in (
        (Kind.CLOSE, struct.pack("<Qd", 10**6, 1.0)), (Kind.FIX, struct.pack("<QdI", 0, 1.0, 5)), (Kind.ROOT, b"{"),
        (Kind.BOUND, b""), (Kind.LAYOUT, struct.pack("<II", 3, 7)),
    ):  # fmt: skip
        path.write_bytes(content + tree_file.framed(kind, payload))
        with pytest.raises(mm.FormatError):
            solve(margins(), tmp_path)


def test_two_do_not_write_one_checkpoint(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / ".tree-lock", "another")
    with pytest.raises(mm.InputError, match="in use by process"):
        solve(margins(), tmp_path)
    assert mm.TerminationStatus.OPTIMAL
    lock.release()
    assert solve(margins(), tmp_path).termination_status is mm.TerminationStatus.OPTIMAL


def test_who_ended_without_leaving_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    gone = {"pid": 2**22 + 5, "host": __import__("socket").gethostname(), "command": "checkpoint", "since": "yesterday"}
    (tmp_path / ".tree-lock").write_text(json.dumps(gone))
    with caplog.at_level(logging.WARNING):
        solve(margins(), tmp_path)
    assert f"process {2**22 + 5} on " in caplog.text


@pytest.mark.parametrize("solver", ["highs", "subset_search"])
def test_solvers_without_a_tree_are_refused_by_name(solver: str, tmp_path: Path) -> None:
    problem = mm.DecomposableStructure(table(), score="bic")
    with pytest.raises(mm.InputError, match=f"checkpoint must be left out with '{solver}'"):
        mm.solve(problem, solver, checkpoint=tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("given", [5, ["run"], True])
def test_a_checkpoint_is_a_path(given: object) -> None:
    with pytest.raises(mm.InputError, match="checkpoint must be"):
        solve(margins(), given)


def test_a_checkpoint_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("x")
    with pytest.raises(mm.InputError, match="is a file"):
        solve(margins(), tmp_path / "run")


def test_programs_of_ones_own_go_on_where_they_have_no_term(tmp_path: Path) -> None:
    parents = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0]], dtype=bool)
    program = ChoiceProgram(
        c=np.array([0.0, -1.0, 0.0, -2.0, 0.0, -1.0]), offsets=np.array([0, 2, 4, 6]), parents=parents,
        A=sp.csr_array((0, 6)), row_upper=np.zeros(0),
    )  # fmt: skip
    for _ in range(2):
        assert solve(program, tmp_path).bounds.dual_bound == -3.0
    with pytest.raises(mm.InputError, match="local scores are others"):
        solve(replace(program, c=2 * program.c), tmp_path)
    with pytest.raises(mm.InputError, match="term of its own"):
        solve(margins().build(ProgramKind.IMPLICIT_CONCAVE), tmp_path / "other")


# -- trouble -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", [3_000, 20_000, 60_000])
def test_a_full_disk_ends_the_search_and_loses_nothing_before(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def __init__(self, file: object) -> None:
            self._file, self._left = file, room

        def write(self, frame: bytes) -> int:
            if self._left <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            count = self._file.write(bytes(frame)[: self._left])
            self._left -= count
            return count

        def __getattr__(self, name: str) -> object:
            return getattr(self._file, name)

    problem = margins()
    usual = TreeFile.cut

    def begin(self: TreeFile) -> int:
        torn = usual(self)
        self._file = Full(self._file)
        return torn

    with monkeypatch.context() as patch:
        patch.setattr(TreeFile, "cut", begin)
        result = solve(problem, tmp_path)
    assert result.termination_status is mm.TerminationStatus.INTERRUPTED
    assert "No space left on device" in result.raw_status
    assert result.model is not None
    again = TreeReader(tmp_path / "tree.mmbn")
    for _ in again.records():
        pass
    assert again.whole == (tmp_path / "tree.mmbn").stat().st_size
    optimum = solve(problem, tmp_path)
    assert optimum.termination_status is mm.TerminationStatus.OPTIMAL
    assert -proved(problem, tmp_path).bound == pytest.approx(optimum.bounds.dual_bound, abs=1e-9)


@pytest.mark.usefixtures("saved_at_each_round")
@pytest.mark.parametrize("room", [700, 2_500, 6_000])
def test_a_disk_that_is_full_in_the_root_loses_nothing_of_it(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_a_full_disk_ends_the_search_and_loses_nothing_before(room, tmp_path, monkeypatch)
    before = kinds_of(tmp_path / "tree.mmbn")
    assert Kind.BOUND in before[: before.index(Kind.ROOT)]


# -- looking on --------------------------------------------------------------------------------------------------------


def test_a_run_is_looked_at_while_it_goes_on(tmp_path: Path) -> None:
    problem = mm.SoftMarginStructure(table(0, 80, 8), gamma=mm.log_odds(0.9))
    with pytest.raises(mm.InputError, match=r"there is no tree\.mmbn"):
        mm.load_run(tmp_path)
    with mm.start(problem, BRANCH, checkpoint=tmp_path, time_limit=60) as run:
        while not (tmp_path / "tree.mmbn").exists():
            time.sleep(0.01)
        saved = mm.load_run(tmp_path)
        while saved.refresh().boxes < 20 and not run.done():
            time.sleep(0.05)
        assert saved.status == "running"
        assert saved.holder.lives
        seen = saved.bounds
        assert seen.dual_bound >= run.bounds.dual_bound - 1e-9
    result = run.result()
    saved.refresh()
    assert saved.status == str(result.termination_status)
    assert saved.bounds.dual_bound == pytest.approx(result.bounds.dual_bound, rel=1e-12)
    assert saved.bounds.dual_bound <= seen.dual_bound
    found = problem.evaluate(problem.model_of(saved.structure))
    assert found == pytest.approx(result.bounds.primal_bound, rel=1e-12)
    frame = saved.trace.to_frame()
    assert frame.primal_bound.dropna().is_monotonic_increasing
    assert frame.dual_bound.dropna().is_monotonic_decreasing
    assert "INTERRUPTED" in repr(saved)
    told = json.loads((tmp_path / "run.json").read_text())
    assert told["state"] == "INTERRUPTED"
    assert -told["bound"] == pytest.approx(result.bounds.dual_bound, rel=1e-12)


def test_a_run_that_was_cut_off_says_so(whole: tuple[Path, mm.Result], tmp_path: Path) -> None:
    content = (whole[0] / "tree.mmbn").read_bytes()
    every = places(whole[0] / "tree.mmbn")
    (tmp_path / "tree.mmbn").write_bytes(content[: every[len(every) // 2]])
    saved = mm.load_run(tmp_path)
    assert saved.status == "cut off"
    assert saved.holder is None
    assert math.isfinite(saved.bounds.dual_bound)
    assert "cut off" in repr(saved)
    assert "<svg" in saved._repr_html_()
