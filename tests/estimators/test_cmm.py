"""CMMClassifier: scikit-learn's own checks, the parts behind an answer, the choice by cross-validation, odd input."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from mmbn_opt.estimators.cmm import CMMClassifier
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.mixtures.classifier import DecisionRule
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver
from mmbn_opt.solving.parts import solve_parts


def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.mark.parametrize("strategy", ["one-vs-one", "one-vs-rest"])
def test_every_part_is_a_program_with_its_own_answer(strategy: Any) -> None:
    X, y = iris()
    model = CMMClassifier(n_components=2, iterations=200, strategy=strategy).fit(X, y)
    assert len(model.parts_) == 3
    assert {part.negative for part in model.parts_} == (
        {None} if strategy == "one-vs-rest" else {"versicolor", "virginica"}
    )
    for part, mixture in zip(model.parts_, model.model_.parts, strict=True):
        odds = mixture.decision(model.model_.standardize(X))
        own = y == part.positive
        rest = (y != part.positive) if part.negative is None else y == part.negative
        true_odds = np.where(own, odds, -odds)[own | rest]
        assert part.feasible == (true_odds.min() >= model.xi - 1e-6)
        assert len(part.violated) == np.sum(true_odds < model.xi - 1e-6)
        for row, missed in zip(part.violated["row"], part.violated["violation"], strict=True):
            assert missed == pytest.approx(model.xi - (odds[row] if own[row] else -odds[row]), abs=1e-6)
            assert part.violated.set_index("row")["label"][row] == y[row]
    assert model.score(X, y) > 0.97
    assert model.termination_status_ is TerminationStatus.ITERATION_LIMIT


def test_the_result_is_that_of_the_parts_solved_by_hand() -> None:
    X, y = iris()
    model = CMMClassifier(n_components=2, iterations=30, start="em", random_state=3, calibration=None).fit(X, y)
    problem = MulticlassMargin(X, y, 2, xi_growth=1.0, start="em", seed=3)
    result = solve_parts(problem, ExteriorPenaltySolver(max_iterations=30, restarts=0), seed=3)
    assert isinstance(model.result_.formulation, MulticlassMargin)
    assert model.result_.solver_version == result.solver_version != ""
    assert model.result_.bounds == result.bounds
    assert model.result_.certificate.checks == model.certificate_.checks == result.certificate.checks
    np.testing.assert_array_equal(model.predict_proba(X), result.model.predict_proba(X))
    for part, own in zip(model.parts_, result.parts, strict=True):
        assert part.name == part.result.part == own.part == f"{part.positive} against {part.negative}"
        assert part.margin == pytest.approx(own.formulation.evaluate(own.model), rel=1e-9)
        assert part.checks == part.result.certificate.checks


def test_weights_are_repeated_rows_with_the_settings_that_users_run() -> None:
    """CASES A15: rounding errors of sums in another order used to grow to another local optimum."""
    check_sample_weight_equivalence_on_dense_data("CMMClassifier", CMMClassifier())


def test_the_order_of_the_rows_changes_nothing_at_all() -> None:
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    one, other = CMMClassifier(iterations=200).fit(X, y), CMMClassifier(iterations=200).fit(X[order], y[order])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_rows_that_miss_xi_are_named_by_their_number_in_what_was_given() -> None:
    X, y = iris()
    weight = np.repeat([0, 2], [25, 125])
    model = CMMClassifier(n_components=1, iterations=0).fit(X, y, sample_weight=weight)
    rows = model.parts_[2].violated["row"].to_numpy()
    assert len(rows)
    assert (np.unique(rows, return_counts=True)[1] == 2).all()
    assert set(y[rows]) <= {"versicolor", "virginica"}
    assert any(f"row {rows[0]} by" in check.detail for check in model.certificate_.failures)


def test_two_classes_are_one_program_under_either_strategy() -> None:
    X, y = iris()
    X, y = X[50:], y[50:]
    one = CMMClassifier(iterations=20).fit(X, y)
    other = CMMClassifier(iterations=20, strategy="one-vs-rest").fit(X, y)
    assert len(one.parts_) == len(other.parts_) == 1
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    odds = one.decision_function(X)
    np.testing.assert_array_equal(one.predict(X), one.classes_[(odds > 0).astype(int)])


def test_no_iterations_leave_the_start() -> None:
    X, y = iris()
    k_means = CMMClassifier(n_components=2, iterations=0).fit(X, y)
    em = CMMClassifier(n_components=2, iterations=0, start="em").fit(X, y)
    assert all(part.result.stats["iterations"] == 0 for part in k_means.parts_)
    assert k_means.model_.rule is DecisionRule.MAX_WINS
    assert not np.allclose(k_means.predict_proba(X), em.predict_proba(X))


def test_training_lifts_the_margin_of_every_pair() -> None:
    X, y = load_wine(return_X_y=True)
    start = CMMClassifier(iterations=0).fit(X, y)
    trained = CMMClassifier(iterations=50).fit(X, y)
    for before, after in zip(start.parts_, trained.parts_, strict=True):
        assert after.margin > before.margin
    assert trained.score(X, y) == 1.0


# -- choice ---------------------------------------------------------------------------------------------------------


def test_the_best_candidate_is_chosen_and_ties_go_to_the_simplest() -> None:
    X, y = iris()
    model = CMMClassifier(n_components=[2, 1], tau=[0.0025, 0.25], iterations=[10, 0], cv=3).fit(X, y)
    table = model.cv_results_
    assert list(zip(table["n_components"], table["tau"], table["iterations"], strict=True)) == [
        (1, 0.25, 0), (1, 0.25, 10), (1, 0.0025, 0), (1, 0.0025, 10),
        (2, 0.25, 0), (2, 0.25, 10), (2, 0.0025, 0), (2, 0.0025, 10),
    ]  # fmt: skip
    first = table["rate"].to_numpy().argmax()
    assert (model.n_components_, model.tau_, model.iterations_) == tuple(
        table.loc[first, ["n_components", "tau", "iterations"]]
    )
    assert CMMClassifier(iterations=0).fit(X, y).cv_results_ is None


def test_the_rate_of_a_candidate_is_that_of_models_that_never_saw_the_fold() -> None:
    """Labels at random: what is measured inside must be near one half, though the training rate is not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.permutation(np.repeat([0, 1], 30))
    model = CMMClassifier(n_components=[2], tau=[0.0025], iterations=[50, 100], cv=3).fit(X, y)
    assert model.score(X, y) > 0.9
    assert (model.cv_results_["rate"].astype(float) < 0.7).all()


def test_neither_the_order_of_rows_nor_the_number_of_processes_matters() -> None:
    X, y = iris()
    order = np.random.default_rng(1).permutation(len(y))
    settings: dict[str, Any] = {"n_components": [1, 2], "iterations": [5], "cv": 2}
    one = CMMClassifier(**settings).fit(X, y)
    two = CMMClassifier(**settings, n_jobs=2).fit(X[order], y[order])
    assert one.n_components_ == two.n_components_
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)


# -- odd input ------------------------------------------------------------------------------------------------------


def test_missing_values_are_dropped_from_the_gaussians() -> None:
    X, y = iris()
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = CMMClassifier(iterations=30, missing="marginalize").fit(holes, y)
    assert model.score(holes, y) > 0.9
    assert np.isfinite(model.predict_proba(np.full((1, 4), np.nan))).all()
    with pytest.raises(ValueError, match="NaN"):
        CMMClassifier().fit(holes, y)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"n_components": 60}, "Class 'setosa' has 50 samples, fewer than n_components=60"),
        ({"n_components": 0}, "n_components must be a whole number of at least 1, got 0"),
        ({"n_components": "all"}, "n_components must be a number, a sequence of numbers, or \"cv\", got 'all'"),
        ({"n_components": []}, "n_components is an empty sequence"),
        ({"tau": -1.0}, "tau must be a number in"),
        ({"xi": 0.0}, "xi must be a number in"),
        ({"iterations": -1}, "iterations must be whole numbers of at least 0 or None, got -1"),
        ({"strategy": "tree"}, "strategy must be one of 'one-vs-one', 'one-vs-rest', got 'tree'"),
        ({"start": "random"}, "start must be one of 'k-means', 'em', got 'random'"),
        ({"time_limit": "5"}, "time_limit must be a number of seconds >= 0 or None, got '5'"),
        ({"random_state": -1}, "random_state must be a whole number >= 0, None or a RandomState, got -1"),
        ({"cv": 1}, "cv must be a number of folds of at least 2, or a list of"),
        ({"inner": "newton"}, "inner must be one of lbfgs, golden-section"),
    ],
)
def test_bad_settings_are_refused_with_the_reason(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        CMMClassifier(**settings).fit(*iris())


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales_constant_features_and_duplicate_rows(scale: float) -> None:
    X, y = iris()
    odd = np.column_stack([np.repeat(X, 2, axis=0) * scale, np.full(300, scale)])
    model = CMMClassifier(iterations=30).fit(odd, np.repeat(y, 2))
    assert model.score(odd, np.repeat(y, 2)) > 0.95


def test_a_feature_constant_in_two_classes_does_not_blind_the_pair() -> None:
    X, y = iris()
    flag = np.where(y == "setosa", 1e12, 0.0)
    model = CMMClassifier(iterations=30).fit(np.column_stack([X, flag]), y)
    assert model.score(np.column_stack([X, flag]), y) > 0.95


def test_a_time_limit_leaves_starts_and_says_so() -> None:
    X, y = iris()
    model = CMMClassifier(n_components=2, time_limit=0.0)
    with pytest.warns(ConvergenceWarning, match="ended at TIME_LIMIT"):
        model.fit(X, y)
    assert model.termination_status_ is TerminationStatus.TIME_LIMIT
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("labels", [[1, 3, 7], [True, False, True], ["a", "b", "c"]])
def test_labels_keep_their_type(labels: list[Any]) -> None:
    X, y = load_iris(return_X_y=True)
    typed = np.array(labels)[y]
    predicted = CMMClassifier(iterations=5).fit(X, typed).predict(X)
    assert predicted.dtype == typed.dtype


def test_it_works_in_pipelines_searches_pickles_and_on_frames() -> None:
    X, y = iris()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = CMMClassifier(iterations=5).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(CMMClassifier(iterations=5), {"tau": [0.0025, 0.25]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    scores = cross_val_score(make_pipeline(StandardScaler(), CMMClassifier(iterations=5)), X, y, cv=2)
    assert scores.min() > 0.9


@pytest.mark.parametrize("strategy", ["one-vs-one", "one-vs-rest"])
def test_a_warm_start_begins_where_the_last_fit_ended(strategy: str) -> None:
    X, y = load_iris(return_X_y=True)
    cold = CMMClassifier(2, strategy=strategy, iterations=40, calibration=None).fit(X, y)
    warm = CMMClassifier(2, strategy=strategy, iterations=40, calibration=None, warm_start=True).fit(X, y)
    assert [p.margin for p in warm.parts_] == [p.margin for p in cold.parts_]  # the first fit has nothing to begin at
    some = np.arange(len(y)) % 3 > 0  # another mean and another variance in every column
    own = CMMClassifier(2, strategy=strategy, iterations=0, calibration=None).fit(X[some], y[some])
    again = warm.set_params(iterations=0).fit(X[some], y[some])
    # Of no iterations the start itself is left: the last fit's model over the new rows, where that is the better one.
    problem = again.result_.formulation
    for k, (start, after) in enumerate(zip(own.parts_, again.parts_, strict=True)):
        former, part = problem.start_parts(cold.model_)[k], problem.binaries[k]
        assert np.allclose(part.log_odds(former), log_odds_in(cold.model_, k, problem, X[some]))
        if part.infeasibility(former) == 0.0 and start.feasible:
            lifted = part.evaluate(part.adopt(former, ProgramKind.NONLINEAR))  # variances below tau are raised to it
            assert after.margin == pytest.approx(max(lifted, start.margin), rel=1e-6)
    assert any(after.margin > start.margin for start, after in zip(own.parts_, again.parts_, strict=True))


def log_odds_in(model: Any, k: int, problem: MulticlassMargin, X: np.ndarray) -> np.ndarray:
    """Log-odds of the true side of each sample of a part, by the classifier over the values as they are."""
    part = problem.parts[k]
    odds = model.parts[k].decision(model.standardize(X[part.rows]))
    return np.where(np.asarray(part.labels) == 0, odds, -odds)


@pytest.mark.parametrize(
    "change",
    [{"n_components": 1}, {"strategy": "one-vs-rest"}, {}],
    ids=["other components", "other programs", "other classes"],
)
def test_a_warm_start_that_does_not_fit_is_none(change: dict[str, Any]) -> None:
    X, y = load_iris(return_X_y=True)
    model = CMMClassifier(2, iterations=20, calibration=None, warm_start=True).fit(X, y)
    rows = y < 2 if not change else np.ones(len(y), dtype=bool)
    warm = model.set_params(**change).fit(X[rows], y[rows])
    cold = CMMClassifier(**{"n_components": 2} | change, iterations=20, calibration=None).fit(X[rows], y[rows])
    assert np.array_equal(warm.decision_function(X), cold.decision_function(X))


def test_parts_refuse_a_start_of_another_problem() -> None:
    X, y = load_iris(return_X_y=True)
    other = CMMClassifier(1, iterations=2, calibration=None).fit(X[:, :3], y).model_
    with pytest.raises(InputError, match="starts is a classifier of the classes"):
        solve_parts(MulticlassMargin(X, y, 1), starts=other)
