"""A trade-off curve with a checkpoint: wherever it is stopped, the same call ends as one that nobody disturbed."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt._file_lock import FileLock
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solving import _point_search, trade_off
from mmbn_opt.verification import verify

VALUES = [0, 2, 4, 5, 9]
BRANCH = "branch_and_cut"


def corral(rows=128, **settings):
    data = mm.prepare(mm.load_dataset("corral").iloc[:rows], "class").data
    return mm.SoftMarginStructure(data, **{"max_parents": 2, "gamma": mm.log_odds(0.9), **settings})


@pytest.fixture(scope="module")
def problem():
    return corral()


def drawn(problem, folder, values=VALUES, limit=mm.MaxEdges, solver=BRANCH, **settings):
    return mm.trade_off(problem, limit, values, solver=solver, checkpoint=folder, **settings)


def told(curve):
    """All that a curve says but seconds."""
    return [
        (p.limit, p.status, p.bounds, None if p.model is None else getattr(p.model, "structure", p.model))
        for p in curve.points
    ]


@pytest.fixture(scope="module")
def whole(problem, tmp_path_factory):
    """A curve to its end, and its folder."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, drawn(problem, folder)


class PowerCut(BaseException):
    pass


def counted(monkeypatch, until=None):
    """The limits that are searched; the power goes at the search number `until`, before it has told anything."""
    searched = []
    solved = _point_search.PointSearch._solved

    def counting(search, *given):
        if len(searched) == until:
            raise PowerCut
        searched.append(search.value)
        return solved(search, *given)

    monkeypatch.setattr(_point_search.PointSearch, "_solved", counting)
    return searched


def test_a_curve_that_is_kept_is_that_which_is_not(problem, whole):
    folder, curve = whole
    assert told(curve) == told(mm.trade_off(problem, mm.MaxEdges, VALUES, solver=BRANCH))
    assert all(point.status is TerminationStatus.OPTIMAL for point in curve.points)
    kept = {path.name for path in folder.iterdir()}
    searched = {str(point.limit) for point in curve.points if point.seconds > 0}
    assert kept == {"curve.json", *searched}, "no lock is left, and each search has a tree"


def test_what_is_proved_is_not_searched_again(problem, whole, monkeypatch):
    folder, curve = whole
    searched = counted(monkeypatch)
    monkeypatch.setattr(trade_off, "scouted", None)
    again = drawn(problem, folder)
    assert (told(again), searched) == (told(curve), [])
    assert [p.seconds for p in again.points] == [p.seconds for p in curve.points]


@pytest.mark.parametrize("solver", [BRANCH, "highs", "auto"])
@pytest.mark.parametrize("until", range(4))
def test_wherever_the_power_goes_the_same_call_searches_the_rest(problem, whole, tmp_path, monkeypatch, solver, until):
    with monkeypatch.context() as patch:
        before = counted(patch, until)
        with pytest.raises(PowerCut):
            drawn(problem, tmp_path, solver=solver)
    after = counted(monkeypatch)
    curve = drawn(problem, tmp_path, solver=solver)
    assert len(before) == until
    assert not set(before) & set(after)
    assert {p.status for p in curve.points} == {TerminationStatus.OPTIMAL}
    if solver != BRANCH:  # equal optima are no matter of a rule there
        values, others = ([p.bounds.primal_bound for p in c.points] for c in (curve, whole[1]))
        assert values == pytest.approx(others, rel=1e-9, abs=1e-9)
    else:
        assert told(curve) == told(whole[1])


def test_a_solver_without_a_tree_leaves_points_alone(problem, tmp_path):
    drawn(problem, tmp_path, solver="highs")
    assert [path.name for path in tmp_path.iterdir()] == ["curve.json"]


def test_open_points_go_on_from_their_trees_and_from_what_was_known(problem, whole, tmp_path):
    first = drawn(problem, tmp_path, options={"node_limit": 3})
    still = [p for p in first.points if p.status is TerminationStatus.NODE_LIMIT]
    assert len(still) >= 2
    again = drawn(problem, tmp_path)
    assert [(*p[:2], p[3]) for p in told(again)] == [(*p[:2], p[3]) for p in told(whole[1])]
    for point, one in zip(again.points, whole[1].points, strict=True):
        assert point.bounds.primal_bound == pytest.approx(one.bounds.primal_bound, rel=1e-12, abs=1e-12)
    for point in still:
        saved = mm.load_run(tmp_path / str(point.limit))
        assert len(saved.sessions) == 2
        assert saved.status == "OPTIMAL"
        assert again.at(point.limit).seconds > point.seconds, "those of both calls"
    third = drawn(problem, tmp_path, options={"node_limit": 1})
    assert told(third) == told(again)


def test_bounds_of_a_solver_without_a_tree_are_kept_and_never_get_worse(problem, tmp_path):
    drawn(problem, tmp_path, solver="highs", time_limit=0.0)
    content = json.loads((tmp_path / "curve.json").read_text())
    assert content["points"][-1]["status"] == "TIME_LIMIT"
    assert content["points"][-1]["dual_bound"] > 262
    content["points"][-1]["dual_bound"] = 261.5
    (tmp_path / "curve.json").write_text(json.dumps(content))
    again = drawn(problem, tmp_path, solver="highs", time_limit=0.0)
    assert {p.bounds.dual_bound for p in again.points} == {261.5}


def test_a_curve_without_time_is_gone_on_with(problem, whole, tmp_path):
    first = drawn(problem, tmp_path, time_limit=0.0)
    assert len(first.points) == len(VALUES)
    assert told(drawn(problem, tmp_path, time_limit=600.0))[0][:2] == told(whole[1])[0][:2]
    assert [p.status for p in drawn(problem, tmp_path).points] == [TerminationStatus.OPTIMAL] * len(VALUES)


def test_ctrl_c_leaves_what_the_same_call_goes_on_with(problem, whole, tmp_path, monkeypatch):
    solved = _point_search.PointSearch._solved

    def interrupted(search, solver, settings, *given):
        if search.value == 5:
            signal.raise_signal(signal.SIGINT)
        return solved(search, solver, settings, *given)

    monkeypatch.setattr(_point_search.PointSearch, "_solved", interrupted)
    first = drawn(problem, tmp_path)
    assert first.interrupted
    assert 0 < len(first.points) < len(VALUES)
    assert first.points[0].status is TerminationStatus.INTERRUPTED
    monkeypatch.undo()
    again = drawn(problem, tmp_path)
    assert not again.interrupted
    assert [(*p[:2], p[3]) for p in told(again)] == [(*p[:2], p[3]) for p in told(whole[1])]


def test_each_tree_is_a_proof_of_its_point(problem, whole, tmp_path):
    folder, curve = whole
    table = tmp_path / "corral.csv"
    mm.load_dataset("corral").to_csv(table, index=False)
    searched = [point for point in curve.points if point.seconds > 0]
    assert searched
    for point in searched:
        found = verify(folder / str(point.limit) / "tree.mmbn", table)
        assert found.holds
        assert f"limit: edges, most: {point.limit}" in found.statement
        assert found.bound == pytest.approx(point.bounds.dual_bound, rel=1e-9, abs=1e-9)


def test_one_limit_has_one_name_however_it_is_given(problem, tmp_path):
    drawn(problem, tmp_path, [4, 5], options={"node_limit": 1})
    again = drawn(problem, tmp_path, np.array([4.0, 5.0]), lambda v: mm.MaxEdges(int(v)))
    assert {path.name for path in tmp_path.iterdir()} == {"curve.json", "4", "5"}
    assert len(mm.load_run(tmp_path / "5").sessions) == 2
    assert again.at(5).status is TerminationStatus.OPTIMAL
    with pytest.raises(mm.InputError, match=r"values are \[4, 5.5\], and were \[4, 5\]"):
        drawn(problem, tmp_path, [4, 5.5], lambda v: mm.MaxEdges(int(v)))


def test_starts_that_were_looked_for_to_the_end_alone_are_kept(problem, tmp_path):
    drawn(problem, tmp_path, time_limit=0.0)
    assert json.loads((tmp_path / "curve.json").read_text())["starts"] is None
    drawn(problem, tmp_path, options={"node_limit": 1})
    assert len(json.loads((tmp_path / "curve.json").read_text())["starts"]) == len(VALUES)


SCORES = {"a": [(-10.5, ()), (-8.25, ("b", "c"))], "b": [(-3.0, ()), (-1.0, ("a",))], "c": [(-2.0, ())]}


def test_given_scores_are_kept_too(tmp_path):
    first = drawn(mm.LocalScoreStructure(SCORES), tmp_path, [0, 1, 2])
    assert told(drawn(mm.LocalScoreStructure(SCORES), tmp_path, [0, 1, 2])) == told(first)
    other = {**SCORES, "c": [(-2.5, ())]}
    with pytest.raises(mm.InputError, match="holds the curve of another problem: the local scores are others"):
        drawn(mm.LocalScoreStructure(other), tmp_path, [0, 1, 2])


def test_limits_that_nothing_keeps_are_kept_as_such(problem, tmp_path, monkeypatch):
    tied = problem.with_constraints(mm.Ancestor("A0", "A1"), mm.Ancestor("A1", "B0"))
    first = drawn(tied, tmp_path, [0, 1, 2])
    assert [p.status.name for p in first.points] == ["INFEASIBLE", "INFEASIBLE", "OPTIMAL"]
    searched = counted(monkeypatch)
    assert told(drawn(tied, tmp_path, [0, 1, 2])) == told(first)
    assert searched == []
    never = problem.with_constraints(mm.DegreeLimit("A0", min_in=2), mm.DegreeLimit(max_in=1))
    curve = drawn(never, tmp_path / "never", [0, 1])
    assert [p.status.name for p in curve.points] == ["INFEASIBLE", "INFEASIBLE"]


# -- another curve is refused ------------------------------------------------------------------------------------------


COSTS = {"A0": 1.0, "A1": 2.5, "B0": 4.0}


@dataclass(frozen=True)
class Shy(mm.StructureConstraint):
    """A limit of one's own that forbids parents, which only its author can say in numbers."""

    most: float
    of: str = "A0"
    closed = True

    def __str__(self):
        return "shy"

    def check(self, nodes):
        nodes.feature(self.of, self)

    def objection(self, structure, nodes):
        return "too many parents" if len(structure.parents[nodes.number(self.of, self)]) > self.most else None

    def write(self, form):
        node = form.nodes.number(self.of, self)
        form.forbid(lambda v, parents: v == node and len(parents) > self.most)


def by_row(weight):
    return lambda most: mm.LinearRow(lambda node, parents: weight * len(parents), upper=most, label="weighted")


OTHERS = {
    "gamma": ({"problem": lambda: corral(gamma=1.0)}, "gamma is 1.0, and was 2.19"),
    "parents": ({"problem": lambda: corral(max_parents=1)}, "max_parents is 1, and was 2"),
    "rows": ({"problem": lambda: corral(rows=100)}, "the rows of the table are others"),
    "constraint": ({"problem": lambda: corral().with_constraints(mm.MaxFeatures(3))}, "constraints is ['at most 3"),
    "values": ({"values": [0, 2, 4, 5]}, "values are [0, 2, 4, 5], and were [0, 2, 4, 5, 9]"),
    "limit": ({"limit": mm.MaxFeatures}, "the limit at 0 is 'at most 0 used features', and was 'at most 0 edges'"),
    "solver": ({"solver": "highs"}, "solver is 'highs', and was 'branch_and_cut'"),
    "gap": ({"rel_gap": 0.1}, "rel_gap is 0.1, and was 0.0"),
    "options": ({"options": {"strong": 3}}, "options is {'strong': 3}, and was {}"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_curve_is_refused_by_what_differs(problem, whole, name):
    folder, _ = whole
    before = (folder / "curve.json").read_bytes()
    change, words = OTHERS[name]
    given = {"problem": problem, "folder": folder, **change}
    if callable(given["problem"]):
        given["problem"] = given["problem"]()
    with pytest.raises(mm.InputError) as error:
        drawn(**given)
    assert "holds the curve of another problem: " in str(error.value)
    assert words in str(error.value)
    assert "give another folder" in str(error.value)
    assert (folder / "curve.json").read_bytes() == before
    assert not (folder / ".curve-lock").exists()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda v: mm.FeatureBudget(COSTS, v), lambda v: mm.FeatureBudget({**COSTS, "B0": 0.5}, v)),
        (by_row(1.0), by_row(2.0)),
        (Shy, lambda v: Shy(v, "B1")),
    ],
)
def test_limits_of_the_same_words_and_other_numbers_are_told_apart(problem, tmp_path, first, second):
    drawn(problem, tmp_path, [1, 2], first, options={"node_limit": 1})
    drawn(problem, tmp_path, [1, 2], first, options={"node_limit": 1})
    with pytest.raises(mm.InputError, match=r"the limit at 1 is .* stands for other numbers now"):
        drawn(problem, tmp_path, [1, 2], second, options={"node_limit": 1})


def test_a_folder_that_is_in_use_or_of_a_single_search_is_refused(problem, tmp_path):
    lock = FileLock(tmp_path / ".curve-lock", "another curve")
    with pytest.raises(mm.InputError, match=r"is in use by process .*another curve"):
        drawn(problem, tmp_path)
    lock.release()
    mm.solve(mm.LocalScoreStructure(SCORES), BRANCH, checkpoint=tmp_path / "single")
    with pytest.raises(mm.InputError, match="holds the search of one problem; give the curve another folder"):
        drawn(problem, tmp_path / "single")
    (tmp_path / "file").write_text("x")
    with pytest.raises(mm.InputError, match="is a file"):
        drawn(problem, tmp_path / "file")


def changed(content, path, value):
    *way, last = path
    for step in way:
        content = content[step]
    content[last] = value


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["format"], "mmbn_opt/network", 'it is no object with "format"'),
        (["version"], 2, "it has version 2, and this mmbn_opt reads 1"),
        (["of"], [], '"of" names no problem'),
        (["of", "nodes"], 7, '"of" names no problem'),
        (["of", "problem"], [1], '"of" has no problem or no settings'),
        (["of", "settings"], None, '"of" has no problem or no settings'),
        (["of", "data"], "all", '"of" has a part that is no object'),
        (["of", "candidates"], [[]], '"of" has a part that is no object'),
        (["points", 4, "status"], ["OPTIMAL"], 'number 4 of "points" is none'),
        (["points", 4], {"status": "OPTIMAL"}, 'number 4 of "points" is none'),
        (["limits"], [{}], "are no lists of one length"),
        (["points", 0], 3, "hold what is no object"),
        (["starts"], [[[0]]], '"starts" are no graphs'),
        (["points", 4, "status"], "FINE", 'number 4 of "points" is none'),
        (["points", 4, "parents"], [[9]] * 7, 'number 4 of "points" is none'),
        (["points", 4, "seconds"], "long", 'number 4 of "points" is none'),
        (["points", 4, "dual_bound"], True, 'number 4 of "points" is none'),
        (["points", 4, "alone"], 1, 'number 4 of "points" is none'),
    ],
)
def test_what_is_no_curve_file_is_refused_by_the_part_that_is_wrong(problem, whole, tmp_path, path, value, words):
    content = json.loads((whole[0] / "curve.json").read_text())
    changed(content, path, value)
    (tmp_path / "curve.json").write_text(json.dumps(content))
    with pytest.raises(mm.FormatError) as error:
        drawn(problem, tmp_path)
    assert words in str(error.value)
    assert not (tmp_path / ".curve-lock").exists()


def test_a_curve_file_needs_starts_though_they_may_be_unknown(problem, whole, tmp_path):
    content = json.loads((whole[0] / "curve.json").read_text())
    del content["starts"]
    (tmp_path / "curve.json").write_text(json.dumps(content))
    with pytest.raises(mm.FormatError, match='it has no "starts"'):
        drawn(problem, tmp_path)


@pytest.mark.parametrize("text", ["", "[", "[" * 5000, '{"format": "mmbn_opt/curve", "format": 2}', "\x00\xff"])
def test_what_is_no_json_is_refused(problem, tmp_path, text):
    (tmp_path / "curve.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(mm.FormatError, match=r"curve\.json"):
        drawn(problem, tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["points", 4, "primal_bound"], 1000.0, "is worth 261.1.*, and not 1000.0. Give another folder"),
        (["points", 4, "parents"], [[6], [6], [6], [6], [6], [6], []], "is worth"),
        (
            ["points", 1, "parents"],
            [[6], [6], [6], [6], [6], [6], []],
            r"at 2 is no answer\. The structure is outside the model class",
        ),
        (["points", 4, "parents"], [[1], [0], [], [], [], [], []], "The edges form a cycle"),
    ],
)
def test_structures_of_the_file_are_held_against_the_data(problem, whole, tmp_path, path, value, words):
    content = json.loads((whole[0] / "curve.json").read_text())
    changed(content, path, value)
    (tmp_path / "curve.json").write_text(json.dumps(content))
    with pytest.raises(mm.InputError, match=words):
        drawn(problem, tmp_path)


# -- killed ------------------------------------------------------------------------------------------------------------


CHILD = """
import json, sys
import mmbn_opt as mm
data = mm.prepare(mm.load_dataset("corral"), "class").data
problem = mm.SoftMarginStructure(data, max_parents=2, gamma=mm.log_odds(0.9))
curve = mm.trade_off(problem, mm.MaxEdges, range(10), solver="branch_and_cut", checkpoint=sys.argv[1])
found = [(p.status.name, p.bounds, p.model.structure) for p in curve.points]
print(json.dumps([(status, b.primal_bound, b.dual_bound, sorted(s.edges)) for status, b, s in found]))
"""


def written(folder: Path) -> int:
    sizes = []
    for path in folder.rglob("*"):
        if path.suffix in (".json", ".mmbn"):
            try:
                sizes.append(path.stat().st_size)
            except FileNotFoundError:
                continue
    return sum(sizes)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_again_and_again_it_ends_as_one_that_nobody_disturbed(problem, tmp_path, kills):
    rng = np.random.default_rng(kills)
    for left in range(kills, -1, -1):
        before = written(tmp_path)
        with subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
            if left:
                while child.poll() is None and written(tmp_path) <= before:
                    time.sleep(0.005)
                time.sleep(float(rng.uniform(0, 0.5)))
                child.send_signal(signal.SIGKILL)
            said, _ = child.communicate()
    curve = mm.trade_off(problem, mm.MaxEdges, range(10), solver=BRANCH)
    for (status, primal, dual, edges), point in zip(json.loads(said), curve.points, strict=True):
        assert status == "OPTIMAL"
        assert primal == pytest.approx(point.bounds.primal_bound, rel=1e-12, abs=1e-12)
        assert dual == pytest.approx(point.bounds.dual_bound, rel=1e-8, abs=1e-9)
        assert [tuple(edge) for edge in edges] == sorted(point.model.structure.edges)
    assert not (tmp_path / ".curve-lock").exists()
