"""Many classes as binary programs: what the parts hold, what one result says for all, and every way to stop it."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.mixtures.classifier import DecisionRule
from mmbn_opt.mixtures.parts import binary_parts
from mmbn_opt.results.result import CheckSubject, Result
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import TraceRecord
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver
from mmbn_opt.solving.parts import solve_parts, worst_status

QUICK = ExteriorPenaltySolver(restarts=0)


def irises(each: int = 20) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == c)[:each] for c in range(3)])
    return X[rows], np.array(["setosa", "versicolor", "virginica"])[y[rows]]


def problem(each: int = 20, **settings: Any) -> MulticlassMargin:
    return MulticlassMargin(*irises(each), **{"n_components": 1, "xi_growth": 1.0} | settings)


@pytest.mark.parametrize("strategy", ["one-vs-one", "one-vs-rest"])
def test_one_result_speaks_for_all_parts(strategy: Any) -> None:
    whole = problem(strategy=strategy)
    result = solve_parts(whole, QUICK)
    assert [part.part for part in result.parts] == [part.name for part in whole.parts]
    assert result.part == ""
    assert len(result.parts) == 3
    assert result.model.rule is {"one-vs-one": DecisionRule.MAX_WINS, "one-vs-rest": DecisionRule.ONE_VS_REST}[strategy]
    margins = [part.bounds.primal_bound for part in result.parts]
    assert whole.margins(result.model) == pytest.approx(margins, rel=1e-9)
    assert result.bounds.primal_bound == pytest.approx(sum(margins), rel=1e-9)
    assert result.bounds.dual_bound is None
    assert result.termination_status is worst_status(part.termination_status for part in result.parts)
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.certificate.ok, str(result.certificate)
    assert result.stats["iterations"] == sum(part.stats["iterations"] for part in result.parts)
    assert result.program_size is not None
    assert result.solution is not None
    assert result.program_size.columns == len(result.solution)
    assert result.program_size.rows == sum(len(part.rows) for part in whole.parts)
    assert result.raise_for_status() is result
    values = [r.primal_bound for r in result.trace if r.primal_bound is not None]
    assert values == sorted(values)
    work = [r.iterations for r in result.trace if r.iterations is not None]
    assert work == sorted(work)
    assert result.trace.bounds == result.bounds
    assert result.model.score(whole.X, whole.y) == 1.0


def test_two_classes_give_the_answer_of_the_binary_program() -> None:
    from mmbn_opt.solving.dispatch import solve

    X, y = irises()
    X, y = X[20:], y[20:]
    whole = MulticlassMargin(X, y, n_components=1, xi_growth=1.0)
    alone = solve(whole.binary(0), QUICK)
    result = solve_parts(whole, QUICK)
    assert len(result.parts) == 1
    assert result.bounds.primal_bound == pytest.approx(alone.bounds.primal_bound, rel=1e-9)


def test_what_violates_is_told_by_rows_of_the_data() -> None:
    """A versicolor that is also a virginica: the violations of the two copies sum to at least 2 xi."""
    X, y = irises()
    X, y = np.vstack([X, X[25:26]]), np.append(y, "virginica")
    whole = MulticlassMargin(X, y, n_components=1, xi_growth=1.0)
    result = solve_parts(whole, QUICK, time_limit=20)
    assert result.solution_status is SolutionStatus.INFEASIBLE
    assert result.bounds.primal_bound is None
    assert not result.certificate.ok
    table = whole.violated_samples(result.model)
    assert set(table["part"]) == {"versicolor against virginica"}
    assert (table["label"].to_numpy() == y[table["row"]]).all()
    missed = table.set_index("row")["violation"]
    assert missed.get(25, 0.0) + missed.get(60, 0.0) >= 2 * whole.xi - 1e-6
    assert whole.infeasibility(result.model) == pytest.approx(np.sqrt((table["violation"] ** 2).sum()))
    failed = result.certificate.failures
    assert [check.name for check in failed] == ["every sample beyond xi, versicolor against virginica"]
    assert [(check.about, check.part) for check in failed] == [(CheckSubject.SAMPLES, "versicolor against virginica")]
    assert f"row {table['row'][0]} by {table['violation'][0]:.3g}" in failed[0].detail


def test_the_start_is_the_one_that_was_named() -> None:
    def source(**settings: Any) -> list[str]:
        result = solve_parts(problem(50, n_components=2, **settings), replace(QUICK, max_iterations=0))
        assert result.trace.records[0].source == result.parts[0].trace.records[0].source
        return [record.source for record in result.parts[1].trace if record.event == "start"]

    assert source(start="k-means") == ["k-means"]
    assert source(start="em") == ["expectation-maximization"]
    free, named = problem(50, n_components=2).binary(1), problem(50, n_components=2, start="k-means").binary(1)
    assert [free.trivial_start().source, *(s.source for s in free.starts())] == ["k-means", "expectation-maximization"]
    assert not list(named.starts())
    holes = irises()[0]
    holes[0, 0] = np.nan
    gapped = MulticlassMargin(holes, irises()[1], 1, missing="marginalize", start="em")
    assert gapped.binary(0).trivial_start().source == "k-means"
    assert gapped.binary(2).trivial_start().source == "expectation-maximization"


def test_whole_weights_are_repeated_rows_and_rows_keep_their_numbers() -> None:
    X, y = irises()
    weight = np.arange(60) % 3
    weighted = problem(sample_weight=weight)
    repeated = MulticlassMargin(np.repeat(X, weight, axis=0)[::-1], np.repeat(y, weight)[::-1], 1, xi_growth=1.0)
    one, other = solve_parts(weighted, QUICK), solve_parts(repeated, QUICK)
    np.testing.assert_array_equal(one.model.predict_proba(X), other.model.predict_proba(X))
    assert one.bounds == other.bounds
    assert weighted.rows.tolist() == np.repeat(np.arange(60), weight).tolist()
    start = weighted.join([binary.trivial_start().model for binary in weighted.binaries])
    table = weighted.violated_samples(start)
    assert (weight[table["row"]] > 0).all()
    assert (table["label"].to_numpy() == y[table["row"]]).all()


def test_a_part_with_few_samples_gets_fewer_components_where_that_is_allowed() -> None:
    few = problem(n_components=3, sample_weight=np.where(np.arange(60) < 18, 0, 1), fewer_components=True)
    assert [binary.n_components for binary in few.binaries] == [2, 2, 3]
    with pytest.raises(InputError, match="Class 'setosa' has 2 samples, fewer than n_components=3"):
        replace(few, fewer_components=False)


def test_no_time_leaves_the_starts() -> None:
    result = solve_parts(problem(50), QUICK, time_limit=0.0)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.model.score(*irises(50)) > 0.8


@pytest.mark.parametrize("way", ["callback", "interrupt"])
def test_a_stop_ends_all_parts_and_keeps_what_there_is(way: str) -> None:
    told: list[TraceRecord] = []

    def listen(record: TraceRecord) -> bool:
        told.append(record)
        if way == "interrupt" and len(told) == 2:
            raise KeyboardInterrupt
        return len(told) >= 2

    result = solve_parts(problem(), QUICK, callback=listen)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert len(result.parts) == 3
    assert result.model.score(*irises()) > 0.8


def test_ctrl_c_between_two_parts_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    import mmbn_opt.solving.parts as room

    calls: list[float | None] = []
    real = room.solve

    def once(*arguments: Any, **settings: Any) -> Result:
        calls.append(settings["time_limit"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **settings)

    monkeypatch.setattr(room, "solve", once)
    result = solve_parts(problem(), QUICK)
    assert calls == [None, None, 0.0]  # the second is run anew at its start; the third is not run
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.parts[0].termination_status is not TerminationStatus.INTERRUPTED


def test_the_seconds_of_a_configured_solver_are_those_of_all_parts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    import mmbn_opt.solving.parts as room

    calls: list[float] = []
    real = room.solve

    def once(*arguments: Any, **settings: Any) -> Result:
        calls.append(settings["time_limit"])
        return real(*arguments, **settings)

    monkeypatch.setattr(room, "solve", once)
    solve_parts(problem(), replace(QUICK, max_iterations=1, time_limit=600.0))
    assert [limit <= share for limit, share in zip(calls, [200.0, 300.0, 600.0], strict=True)] == [True] * 3


def test_parts_cover_all_samples_and_name_both_sides() -> None:
    data = NumericDataset.from_arrays(*irises())
    pairs, rest = binary_parts(data, "one-vs-one"), binary_parts(data, "one-vs-rest")
    assert [len(part.rows) for part in pairs] == [40, 40, 40]
    assert [len(part.rows) for part in rest] == [60, 60, 60]
    for part in (*pairs, *rest):
        assert ((part.labels == 0) == (data.codes[part.rows] == part.positive)).all()
    assert rest[1].groups(3) == ((1,), (0, 2))
    with pytest.raises(InputError, match="strategy must be one of one-vs-one, one-vs-rest, got 'tree'"):
        binary_parts(data, "tree")


def test_the_worst_status_is_the_one_that_says_most_against_the_answer() -> None:
    order = [
        TerminationStatus.LOCALLY_OPTIMAL, TerminationStatus.SLOW_PROGRESS, TerminationStatus.ITERATION_LIMIT,
        TerminationStatus.TIME_LIMIT, TerminationStatus.INTERRUPTED, TerminationStatus.NUMERICAL_ERROR,
        TerminationStatus.SOLVER_ERROR,
    ]  # fmt: skip
    for better, worse in pairwise(order):
        assert worst_status([worse, better]) is worst_status([better, worse]) is worse


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"n_components": 21}, "Class 'setosa' has 20 samples, fewer than n_components=21"),
        ({"xi": 0.0}, "xi must be a number in"),
        ({"strategy": "tree"}, "strategy must be one of"),
        ({"start": "far"}, "start must be one of best, k-means, em, got 'far'"),
        ({"n_components": "two", "fewer_components": True}, "n_components must be a whole number"),
        ({"sample_weight": [1.0, 2.0]}, r"sample_weight has shape \(2,\); it needs one number for each of the 60 rows"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_solved(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        problem(**settings)
