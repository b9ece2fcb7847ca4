"""The curve of a score against a limit: each point the optimum under its limit, bounds in order, pictures drawn."""

import math

import pytest

import mmbn_opt as mm
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers import BranchAndCut
from mmbn_opt.solving._scouting import scouted
from mmbn_opt.solving.dispatch import make_job
from mmbn_opt.solving.settings import SolveSettings


@pytest.fixture(scope="module")
def problem():
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    return mm.SoftMarginStructure(data, max_parents=2)


COSTS = {"A0": 1.0, "A1": 2.5, "B0": 4.0, "B1": 0.5, "Correlated": 3.0}
LIMITS = {
    "edges": (mm.MaxEdges, [0, 2, 5, 9, 20]),
    "features": (mm.MaxFeatures, [0, 1, 3, 6]),
    "parameters": (mm.MaxParameters, [8, 12, 25]),
    "money": (lambda money: mm.FeatureBudget(COSTS, money), [0.0, 1.5, 4.0, 7.25]),
}


@pytest.mark.parametrize("name", LIMITS)
def test_each_point_is_the_optimum_under_its_limit(problem, name):
    limit, values = LIMITS[name]
    curve = mm.trade_off(problem, limit, reversed(values))
    assert [point.limit for point in curve.points] == values
    for point in curve.points:
        alone = mm.solve(problem.with_constraints(limit(point.limit)), "highs")
        assert point.status is TerminationStatus.OPTIMAL
        assert point.bounds.primal_bound == pytest.approx(alone.bounds.primal_bound, rel=1e-6, abs=1e-9)
        assert point.bounds.dual_bound == pytest.approx(alone.bounds.primal_bound, rel=1e-6, abs=1e-9)
        assert mm.certify(point.model, problem.with_constraints(limit(point.limit))).ok
    table = curve.to_frame()
    assert table["primal_bound"].is_monotonic_increasing
    assert curve.at(values[-1]) is curve.points[-1]


def test_a_point_that_a_looser_limit_has_told_takes_no_time(problem):
    curve = mm.trade_off(problem, mm.MaxEdges, [9, 10, 11, 50])
    edges = len(curve.points[-1].model.structure.edges)
    told = [point for point in curve.points[:-1] if point.limit >= edges]
    assert told
    assert all(point.seconds == 0.0 for point in told)


def test_limits_that_nothing_keeps_are_said_to_be_infeasible_and_the_rest_is_solved(problem):
    tied = problem.with_constraints(mm.Ancestor("A0", "A1"), mm.Ancestor("A1", "B0"))
    curve = mm.trade_off(tied, mm.MaxEdges, [0, 1, 2, 4])
    assert [point.status for point in curve.points] == [TerminationStatus.INFEASIBLE] * 2 + [
        TerminationStatus.OPTIMAL
    ] * 2
    assert curve.points[0].model is None
    assert math.isnan(curve.to_frame()["primal_bound"].iloc[0])
    assert len(curve.plot().lines) == 2


def test_a_curve_without_time_has_models_and_bounds_in_order(problem):
    curve = mm.trade_off(problem, mm.MaxEdges, range(1, 9), time_limit=0.0)
    table = curve.to_frame()
    assert table["primal_bound"].is_monotonic_increasing
    assert (table["dual_bound"] >= table["primal_bound"] - 1e-9).all()
    assert all(len(point.model.structure.edges) <= point.limit for point in curve.points)
    assert [text.get_text() for text in curve.plot().get_legend().get_texts()] == ["upper bound", "gap", "best found"]


@pytest.mark.parametrize("name", LIMITS)
def test_what_scouts_find_keeps_each_limit_and_is_worth_no_less_than_what_fits_under_a_tighter_one(problem, name):
    limit, values = LIMITS[name]
    limited = [problem.with_constraints(limit(value)) for value in values]
    found = scouted(limited, lambda: False)
    worth = [p.evaluate(p.model_of(s)) for p, s in zip(limited, found, strict=True)]
    assert all(p.broken(s) is None for p, s in zip(limited, found, strict=True))
    best = [point.bounds.primal_bound for point in mm.trade_off(problem, limit, values).points]
    assert all(w <= b + 1e-9 for w, b in zip(worth, best, strict=True))
    assert worth[-1] >= 0.95 * best[-1], "the loosest limit is heard from the next, and kicked"


def test_scouts_find_nothing_without_time_or_under_limits_that_nothing_keeps(problem):
    limited = problem.with_constraints(mm.MaxEdges(3))
    assert scouted([limited], lambda: True) == [None]
    none = limited.with_constraints(mm.LinearRow({("A0", "A1"): 1.0}, lower=2, label="twice the same edge"))
    assert scouted([none, limited], lambda: False)[0] is None


def test_given_scores_have_a_curve_too():
    scores = {"a": [(-10.5, ()), (-8.25, ("b", "c"))], "b": [(-3.0, ()), (-1.0, ("a",))], "c": [(-2.0, ())]}
    curve = mm.trade_off(mm.LocalScoreStructure(scores), mm.MaxEdges, [0, 1, 2])
    assert curve.to_frame()["primal_bound"].tolist() == pytest.approx([-15.5, -13.5, -13.25])
    assert "at most n edges" in curve.plot().get_xlabel()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: mm.trade_off(p, mm.MaxEdges, []), "values must hold at least one number"),
        (lambda p: mm.trade_off(p, mm.MaxEdges, [1, -2]), "A value of trade_off must be a number >= 0, got -2"),
        (lambda p: mm.trade_off(p, lambda value: value, [1]), "limit must make a constraint of a value"),
        (lambda p: mm.trade_off(p, lambda v: mm.FeatureBudget({"Q": 1.0}, v), [1]), "unknown node 'Q'"),
        (
            lambda p: mm.trade_off(mm.SmoothMargin(p.data, mm.naive_bayes(p.data)), mm.MaxEdges, [1]),
            "SmoothMargin takes no limits on a structure",
        ),
        (lambda p: mm.trade_off(p, mm.MaxEdges, [1, 2]).at(7), "The limit 7 was not asked for; there are [1, 2]"),
    ],
)
def test_what_is_wrong_is_told(problem, call, words):
    with pytest.raises(mm.InputError) as error:
        call(problem)
    assert words in str(error.value)


def test_good_starts_alone_leave_heuristics_out_and_the_engine_looks_less_for_its_own(problem):
    best = mm.solve(problem)
    for solver, kept in (
        ("branch_and_cut", {"heuristic": 0.1}),
        (BranchAndCut(options={"strong": 4}), {"heuristic": 0.1, "strong": 4}),
        (BranchAndCut(options={"heuristic": 2.0}), {"heuristic": 2.0}),
        ("highs", {}),
    ):
        job = make_job(problem, solver, SolveSettings(), starts=best, only_given_starts=True)
        assert job.only_given_starts
        assert dict(job.engine.options) == dict(job.settings["options"]) == kept
        result = job.execute()
        assert result.bounds.primal_bound == pytest.approx(best.bounds.primal_bound, rel=1e-9)
        assert {record.source for record in result.trace if record.event == "start"} <= {"empty graph", "given start"}
    assert dict(make_job(problem, "branch_and_cut", SolveSettings(), starts=best).engine.options) == {}
