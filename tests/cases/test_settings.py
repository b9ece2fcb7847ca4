"""Settings of a run: what is given wins, what a configured solver says is kept, what cannot be is named (A13, B15)."""

import json
import math
from typing import ClassVar

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.comparison.plan import Limits, make_plan
from mmbn_opt.solvers import ExteriorPenaltySolver, FirstOrderSolver, HighsSolver, LbfgsSolver
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solving.settings import SolveSettings

SHARED = {"rel_gap": 0.05, "abs_gap": 0.5, "threads": 4, "seed": 7, "verbose": True, "time_limit": 50.0}


@pytest.fixture(scope="module")
def problem() -> mm.SoftMarginStructure:
    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
    return mm.SoftMarginStructure(data, max_parents=2)


class Listening(HighsSolver):
    """Notes what it is asked to run with."""

    heard: ClassVar[list[Solver]] = []

    def solve(self, program, callback=None, start=None):
        self.heard.append(self)
        return super().solve(program, callback, start)


@pytest.fixture
def heard() -> list[Solver]:
    Listening.heard.clear()
    return Listening.heard


# -- A13: settings of a configured solver -------------------------------------------------------------------------


def test_a13_what_a_configured_solver_says_is_kept(problem, heard):
    result = mm.solve(problem, Listening(**SHARED), starts=[])
    assert {name: result.settings[name] for name in SHARED} == SHARED
    (ran,) = heard
    assert (ran.rel_gap, ran.abs_gap, ran.threads, ran.seed, ran.verbose) == (0.05, 0.5, 4, 7, True)
    assert 0 < ran.time_limit <= 50.0


def test_a13_the_line_of_the_list(problem):
    used = mm.solve(problem, HighsSolver(rel_gap=0.05, threads=4)).settings
    assert (used["rel_gap"], used["threads"]) == (0.05, 4)


@pytest.mark.parametrize(("name", "value"), [
    ("rel_gap", 0.0), ("abs_gap", 0.0), ("threads", 1), ("seed", 0), ("verbose", False), ("time_limit", 20.0),
    ("options", {}),
])  # fmt: skip
def test_a13_what_the_call_gives_wins_even_where_it_is_the_default(problem, heard, name, value):
    configured = Listening(**SHARED, options={"presolve": "off"})
    result = mm.solve(problem, configured, starts=[], **{name: value})
    assert result.settings == {**SHARED, "options": {"presolve": "off"}, name: value}
    if name != "time_limit":
        assert getattr(heard[0], name) == value


def test_a13_without_either_the_documented_defaults_hold(problem):
    for solver in ("highs", "auto", HighsSolver()):
        assert mm.solve(problem, solver).settings == {
            "time_limit": None, "rel_gap": 0.0, "abs_gap": 0.0, "threads": 1, "seed": 0, "verbose": False,
            "options": {},
        }  # fmt: skip


def test_a13_a_gap_of_a_configured_solver_is_granted(problem):
    """The judge of the whole call has to ask for what the solver was asked for."""

    class Sloppy(HighsSolver):
        def solve(self, program, callback=None, start=None):
            answer = super().solve(program, None, start)
            bounds = mm.ObjectiveBounds(answer.bounds.sense, answer.bounds.primal_bound, answer.bounds.dual_bound * 1.2)
            return type(answer)(
                answer.termination_status, answer.solution_status, "", answer.solution, bounds, answer.trace
            )

    ends = mm.TerminationStatus
    assert mm.solve(problem, Sloppy(rel_gap=0.5)).termination_status is ends.OPTIMAL
    assert mm.solve(problem, Sloppy(rel_gap=0.5), rel_gap=1e-9).termination_status is ends.SLOW_PROGRESS


def test_a13_runs_in_the_background_do_the_same(problem):
    with mm.start(problem, HighsSolver(rel_gap=0.05, threads=4), seed=3) as run:
        used = run.result().settings
    assert (used["rel_gap"], used["threads"], used["seed"]) == (0.05, 4, 3)


def test_a13_parts_keep_it_and_hand_on_what_is_given():
    X, y = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], ["a", "a", "b", "b", "c", "c"]
    problem = mm.MulticlassMargin(X, y, n_components=1, xi_growth=1.0)
    result = mm.solve_parts(problem, ExteriorPenaltySolver(seed=5, threads=2, restarts=0), threads=1)
    assert [(part.settings["seed"], part.settings["threads"]) for part in result.parts] == [(5, 1)] * 3


def test_a13_a_comparison_runs_configured_solvers_as_they_are(problem):
    solvers = {"one": HighsSolver(threads=1), "four": HighsSolver(threads=4, rel_gap=0.05), "named": "highs"}
    plan = make_plan({"xor": problem}, solvers, [3], Limits(SolveSettings(time_limit=60.0)))
    assert [(run.threads, run.rel_gap, run.seed, run.time_limit) for run in plan.runs] == [
        (1, 0.0, 3, 60.0), (4, 0.05, 3, 60.0), (1, 0.0, 3, 60.0)
    ]  # fmt: skip
    given = make_plan({"xor": problem}, solvers, [3], Limits(SolveSettings(threads=2, rel_gap=0.0)))
    assert {(run.threads, run.rel_gap) for run in given.runs} == {(2, 0.0)}


def test_a13_a_comparison_is_known_by_what_is_used_not_by_who_said_it(problem):
    keys = [
        make_plan({"xor": problem}, {"highs": "highs"}, [0], Limits(settings)).runs[0].key
        for settings in (SolveSettings(), SolveSettings(rel_gap=0.0, abs_gap=0.0, threads=1), SolveSettings(threads=2))
    ]
    assert keys[0] == keys[1] != keys[2]


# -- B15: odd settings --------------------------------------------------------------------------------------------

ODD = [
    ("threads", "2"), ("threads", 1.5), ("threads", 0), ("threads", True), ("threads", 2.0),
    ("seed", -1), ("seed", 1.5), ("seed", "0"), ("seed", True), ("seed", math.nan),
    ("time_limit", "5"), ("time_limit", -1), ("time_limit", math.nan), ("time_limit", math.inf), ("time_limit", True),
    ("rel_gap", "0"), ("rel_gap", -0.1), ("rel_gap", math.nan), ("abs_gap", [0.0]), ("abs_gap", math.inf),
    ("verbose", "yes"), ("options", ["presolve"]), ("options", "presolve=off"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), ODD, ids=lambda x: repr(x))
def test_b15_odd_settings_are_named_with_their_value(problem, name, value):
    for call in (mm.solve, mm.start):
        with pytest.raises(mm.InputError, match=f"^{name} must be .*got {value!r}".replace("[", r"\[")):
            call(problem, **{name: value})
    with pytest.raises(mm.InputError, match=f"^{name} must be"):
        HighsSolver(**{name: value})
    if name in ("threads", "time_limit", "rel_gap", "abs_gap"):
        with pytest.raises(mm.InputError, match=f"^{name} must be"):
            mm.compare(problem, ["highs"], **{name: value})


@pytest.mark.parametrize("name", ["threads", "seed", "rel_gap", "abs_gap", "options", "verbose"])
def test_b15_none_is_no_value_of_a_solver(problem, name):
    """In a call None says nothing; a solver's own setting has to be one."""
    with pytest.raises(mm.InputError, match=f"^{name} must be .*got None"):
        HighsSolver(**{name: None})
    usual = mm.solve(problem, "highs").settings
    assert mm.solve(problem, "highs", **{name: None}).settings == usual


def test_b15_odd_settings_are_told_before_the_parts_begin():
    problem = mm.MulticlassMargin([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"], n_components=1)
    for name, value in ODD:
        with pytest.raises(mm.InputError, match=f"^{name} must be"):
            mm.solve_parts(problem, **{name: value})


def test_numbers_of_numpy_are_taken_and_kept_as_python_writes_them(problem):
    given = {
        "threads": np.int32(1), "seed": np.uint8(3), "rel_gap": np.float32(0.5), "time_limit": np.int64(60),
        "verbose": np.False_,
    }  # fmt: skip
    used = mm.solve(problem, "highs", **given).settings
    assert used == {**given, "abs_gap": 0.0, "options": {}}
    assert json.loads(json.dumps(used)) == used
    assert type(HighsSolver(seed=np.int64(2)).seed) is int


def test_defaults_of_a_caller_give_way_to_what_is_said():
    settings = SolveSettings(seed=1)
    assert settings.otherwise("first_order", rel_gap=1e-4, seed=5) == SolveSettings(rel_gap=1e-4, seed=1)
    assert settings.otherwise(FirstOrderSolver(), rel_gap=1e-4).rel_gap == 1e-4
    assert settings.otherwise(FirstOrderSolver(rel_gap=0.05), rel_gap=1e-4).rel_gap is None
    assert SolveSettings(rel_gap=0.0).otherwise(FirstOrderSolver(rel_gap=0.05), rel_gap=1e-4).rel_gap == 0.0


def test_settings_of_its_own_are_no_business_of_the_call():
    configured = LbfgsSolver(memory=3, max_iterations=7, threads=2)
    assert SolveSettings(seed=4).of(configured) == LbfgsSolver(memory=3, max_iterations=7, threads=2, seed=4)
    assert SolveSettings().of(configured) == configured
