"""Classifiers in the hands of scikit-learn: labels, pipelines, searches, copies, weights, choices, what they show."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.results.status import TerminationStatus

ALL = [
    mm.NaiveBayesClassifier(),
    mm.TANClassifier(),
    mm.MaxMarginBayesClassifier("tan-cr", "cg-mm", iterations=20),
    mm.MaxMarginBayesClassifier("nb", "relaxation", rel_gap=1e-2),
    mm.MaxMarginStructureClassifier(max_parents=1),
    mm.MaxMarginStructureClassifier(max_parents=1, parameters="cg-cl", iterations=20),
]
NUMERIC = mm.CMMClassifier(iterations=10)


def weather(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Text, a category with an unused state, bools, few integers and numbers, all of which tell of the class."""
    rng = np.random.default_rng(seed)
    rain = rng.random(n) < 0.5
    noisy = rain ^ (rng.random(n) < 0.15)
    frame = pd.DataFrame(
        {
            "sky": np.where(noisy, "grey", "blue"),
            "wind": pd.Categorical(np.where(rng.random(n) < 0.5, "N", "S"), categories=["N", "E", "S"]),
            "umbrella": rain ^ (rng.random(n) < 0.2),
            "clouds": rng.integers(0, 4, n) + 2 * rain,
            "pressure": rng.normal(size=n) - 2.5 * rain,
        }
    )
    return frame, pd.Series(np.where(rain, "rain", "dry"), name="weather")


@pytest.mark.parametrize("model", ALL, ids=repr)
def test_mixed_columns_are_learned_and_the_class_keeps_its_name(model: Any) -> None:
    X, y = weather()
    model = clone(model).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.training_accuracy_ == pytest.approx(model.score(X, y))
    assert model.network_.structure.class_name == "weather"
    assert model.preparation_.kinds == {
        "sky": "categorical", "wind": "categorical", "umbrella": "categorical", "clouds": "categorical",
        "pressure": "numeric",
    }  # fmt: skip
    assert model.network_.features[1].states == ("N", "E", "S")
    assert model.certificate_.ok, str(model.certificate_)
    assert (model.trace_ is None) == (model.result_ is None)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


LABELS = {
    "text": np.array(["b", "a", "c"]),
    "object text": np.array(["b", "a", "c"], dtype=object),
    "integers": np.array([7, 0, 2]),
    "one-byte integers": np.array([7, 0, 2], dtype=np.int8),
    "bools": np.array([True, False, True]),
    "whole floats": np.array([1.0, 3.0, 2.0]),
}


@pytest.mark.parametrize("model", [*ALL[:1], ALL[2], ALL[4], NUMERIC], ids=repr)
@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back_with_their_type(model: Any, kind: str) -> None:
    X, codes = load_iris(return_X_y=True)
    y = LABELS[kind][codes]
    model = clone(model).fit(X, y)
    assert model.classes_.dtype == y.dtype
    assert model.predict(X).dtype == y.dtype
    assert model.classes_.tolist() == sorted(set(y.tolist()))
    assert (model.predict(X) == y).mean() > 0.6


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (lambda y: pd.Series(y).astype("category"), "O"),
        (lambda y: pd.Categorical(y, categories=["virginica", "setosa", "none", "versicolor"]), "O"),
        (lambda y: pd.Series(y, dtype="string"), "O"),
        (lambda y: pd.Series(y == "setosa", dtype="boolean"), "b"),
        (lambda y: pd.Series(np.char.str_len(y.astype(str)), dtype="Int64"), "i"),
        (lambda y: pd.Series(np.char.str_len(y.astype(str)), dtype="int64[pyarrow]"), "i"),
    ],
    ids=["category", "category with an unused one", "string", "boolean", "Int64", "pyarrow"],
)
def test_labels_of_pandas_types_come_back_as_their_elements(labels: Any, kind: str) -> None:
    if "pyarrow" in str(labels.__code__.co_consts):
        pytest.importorskip("pyarrow")
    X, codes = load_iris(return_X_y=True)
    y = labels(np.array(["setosa", "versicolor", "virginica"])[codes])
    model = mm.NaiveBayesClassifier().fit(X, y)
    assert model.classes_.dtype.kind == kind
    assert model.predict(X).tolist()[:3] == list(y)[:3]
    assert set(model.classes_.tolist()) == set(y)  # an unused category is no class


def test_arrays_lists_and_frames_give_one_model() -> None:
    X, y = load_iris(return_X_y=True)
    expected = mm.TANClassifier().fit(X, y).predict_proba(X)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(4)])
    np.testing.assert_array_equal(mm.TANClassifier().fit(frame, y).predict_proba(frame), expected)
    np.testing.assert_array_equal(mm.TANClassifier().fit(X.tolist(), y.tolist()).predict_proba(X.tolist()), expected)
    objects = X.astype(object)
    np.testing.assert_array_equal(mm.TANClassifier().fit(objects, y).predict_proba(objects), expected)


# -- scikit-learn's machinery ---------------------------------------------------------------------------------------


def test_a_pipeline_with_a_column_transformer_and_pandas_output() -> None:
    X, y = weather()
    X.loc[::9, "pressure"] = np.nan
    columns = ColumnTransformer(
        [("numbers", SimpleImputer(), make_column_selector(dtype_include="number"))],
        remainder="passthrough", verbose_feature_names_out=False,
    )  # fmt: skip
    pipeline = make_pipeline(columns, mm.MaxMarginStructureClassifier(max_parents=1)).set_output(transform="pandas")
    pipeline.fit(X, y)
    assert pipeline.score(X, y) > 0.85
    assert set(pipeline[-1].feature_names_in_) == set(X.columns)
    assert pipeline[-1].preparation_.kinds["sky"] == "categorical"


def test_a_pipeline_of_arrays() -> None:
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(FunctionTransformer(np.log1p), mm.TANClassifier()).fit(X, y)
    assert pipeline.score(X, y) > 0.9
    # MDLP and TAN look at ranks alone.
    np.testing.assert_allclose(pipeline.predict_proba(X), mm.TANClassifier().fit(X, y).predict_proba(X), atol=0.2)


def test_a_grid_search_in_two_processes() -> None:
    X, y = weather()
    search = GridSearchCV(
        mm.MaxMarginBayesClassifier(iterations=20), {"structure": ["nb", "tan-cmi"], "method": ["ml", "cg-mm"]},
        n_jobs=2, cv=3, scoring=["accuracy", "neg_log_loss"], refit="accuracy", error_score="raise",
    ).fit(X, y)  # fmt: skip
    alone = GridSearchCV(
        mm.MaxMarginBayesClassifier(iterations=20), {"structure": ["nb", "tan-cmi"], "method": ["ml", "cg-mm"]}, cv=3
    ).fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_accuracy"], alone.cv_results_["mean_test_score"])
    assert search.best_params_ == alone.best_params_
    assert search.best_score_ > 0.8
    assert np.isfinite(search.cv_results_["mean_test_neg_log_loss"]).all()


@pytest.mark.parametrize("model", [*ALL, NUMERIC], ids=repr)
def test_copies_answer_alike(model: Any, tmp_path: Path) -> None:
    X, y = weather() if model is not NUMERIC else load_iris(return_X_y=True)
    model = clone(model).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        assert str(other.certificate_) == str(model.certificate_)
    fresh = clone(model)
    assert not hasattr(fresh, "classes_")
    assert fresh.get_params() == model.get_params()


def test_weights_find_their_way_through_a_pipeline_and_a_search() -> None:
    X, y = weather()
    weight = np.where(y == "rain", 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = mm.TANClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), model)
        pipeline.fit(X, y, sample_weight=weight)
        scores = cross_validate(pipeline, X, y, params={"sample_weight": weight}, cv=3, error_score="raise")
    expected = mm.TANClassifier().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(pipeline.predict_proba(X), expected.predict_proba(X))
    assert expected.predict_proba(X)[:, 1].mean() > mm.TANClassifier().fit(X, y).predict_proba(X)[:, 1].mean()
    assert len(scores["test_score"]) == 3


@pytest.mark.parametrize("model", [*ALL, NUMERIC], ids=repr)
def test_a_weight_is_so_many_rows(model: Any) -> None:
    X, y = weather(60) if model is not NUMERIC else (pd.DataFrame(load_iris().data), pd.Series(load_iris().target))
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = clone(model).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = clone(model).fit(X.iloc[rows], y.iloc[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


def test_cross_validated_probabilities_have_a_column_a_class() -> None:
    X, y = weather()
    probabilities = cross_val_predict(mm.TANClassifier(), X, y, method="predict_proba", cv=4)
    assert probabilities.shape == (len(y), 2)
    assert (np.array(["dry", "rain"])[probabilities.argmax(axis=1)] == y).mean() > 0.8


# -- structure and parameters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", ["cg-mm", "cg-cl", "relaxation"])
def test_exact_structure_and_trained_parameters_in_one(parameters: Any) -> None:
    frame = mm.load_dataset("corral")
    X, y = frame.drop(columns="class"), frame["class"]
    plain = mm.MaxMarginStructureClassifier(p=0.75).fit(X, y)
    trained = mm.MaxMarginStructureClassifier(p=0.75, parameters=parameters, iterations=30).fit(X, y)
    assert plain.result_.termination_status is TerminationStatus.OPTIMAL
    assert trained.result_.bounds.primal_bound == pytest.approx(plain.result_.bounds.primal_bound)
    assert trained.network_.structure.parents == plain.network_.structure.parents
    assert plain.parameter_result_ is None
    start = trained.parameter_result_.formulation.trivial_start().model
    gain = trained.parameter_result_.bounds.primal_bound - trained.parameter_result_.formulation.evaluate(start)
    assert gain < 0 if parameters == "relaxation" else gain > 0
    names = [check.name for check in trained.certificate_.checks]
    assert any(name.startswith("structure: ") for name in names)
    assert any(name.startswith("parameters: ") for name in names)
    assert not np.allclose(trained.predict_proba(X), plain.predict_proba(X))


def test_parent_sets_of_the_margin_have_the_class_or_are_empty() -> None:
    frame = mm.load_dataset("iris")
    X, y = frame.drop(columns="class"), frame["class"]
    for criterion in ("mdl", "loglik"):
        model = mm.MaxMarginStructureClassifier(criterion, 1, parent_sets="margin").fit(X, y)
        assert {parent for parent, _ in model.network_.structure.edges} == {"class"}
    # With all sets the same limit gives a tree of features, which names the class once.
    tree = mm.MaxMarginStructureClassifier("mdl", 1).fit(X, y).network_.structure
    assert {parent for parent, _ in tree.edges} != {"class"}
    two = mm.MaxMarginStructureClassifier("loglik", 2, parent_sets="margin").fit(X, y).network_.structure
    assert all(4 in parents or not parents for parents in two.parents[:4])
    assert any(len(parents) == 2 for parents in two.parents[:4])
    with pytest.raises(InputError, match="parent_sets must be one of 'all', 'margin', got 'some'"):
        mm.MaxMarginStructureClassifier("mdl", parent_sets="some").fit(X, y)


@pytest.mark.parametrize("criterion", ["sbm", "mdl", "bic", "bdeu", "loglik"])
def test_every_criterion_is_that_of_its_formulation(criterion: Any) -> None:
    X, y = weather(80)
    model = mm.MaxMarginStructureClassifier(criterion, 1).fit(X, y)
    data = model.preparation_.data
    form = (
        mm.BinarySoftMarginStructure(data, max_parents=1, gamma=mm.log_odds(0.9))
        if criterion == "sbm"
        else mm.DecomposableStructure(data, score=criterion, max_parents=1)
    )
    assert model.result_.bounds.primal_bound == pytest.approx(mm.solve(form).bounds.primal_bound)
    assert model.result_.termination_status is TerminationStatus.OPTIMAL


@pytest.mark.parametrize("criterion", ["sm", "bic"])
def test_fewer_candidates_for_wide_data(criterion: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 40))
    X[:, 1:6] = np.where(rng.random((60, 5)) < 0.8, X[:, [0]], X[:, 1:6])
    y = X[:, 0] ^ X[:, 5]
    settings = {"candidates": np.int64(2), "solver": "branch_and_cut", "time_limit": 60}
    model = mm.MaxMarginStructureClassifier(criterion, 2, **settings).fit(X, y)
    kind = {"sm": "margins"}.get(criterion, criterion)
    rule = mm.restrict_candidates(model.preparation_.data, k=2, score=kind)
    assert model.result_.formulation.restriction == rule
    parents = model.network_.structure.parents
    assert all(rule.allows(node, chosen) for node, chosen in enumerate(parents))
    check = next(c for c in model.certificate_.checks if c.name == "within the model class")
    assert check.ok
    assert "a restricted class, every claim is within k = 2" in check.detail


def test_structures_by_name_edges_object_and_function() -> None:
    X, y = weather()
    for name in ("nb", "tan-cmi", "tan-cr", "omi", "omisp", "ro"):
        model = mm.MaxMarginBayesClassifier(name, "ml").fit(X, y)
        assert all(("weather", feature) in model.network_.structure.edges for feature in X.columns)
    edges = [("weather", "sky"), ("sky", "umbrella")]
    given = mm.MaxMarginBayesClassifier(edges, "ml").fit(X, y)
    assert given.network_.structure.edges == edges
    again = mm.MaxMarginBayesClassifier(given.network_.structure, "ml").fit(
        X[["umbrella", *X.columns.drop("umbrella")]], y
    )
    assert set(again.network_.structure.edges) == set(edges)
    by_function = mm.MaxMarginBayesClassifier(mm.tan_cmi, "ml").fit(X, y)
    np.testing.assert_array_equal(by_function.predict_proba(X), mm.TANClassifier().fit(X, y).predict_proba(X))


@pytest.mark.parametrize("method", ["cg-mm", "relaxation"])
def test_lambda_is_chosen_on_held_out_rows(method: Any) -> None:
    X, y = weather()
    model = mm.MaxMarginBayesClassifier("nb", method, lam=[0.02, 0.5], iterations=15, rel_gap=1e-2).fit(X, y)
    table = model.cv_results_
    # Ties go to the larger lambda for the relaxation, whose path comes from there.
    assert table["lam"].tolist() == ([0.02, 0.5] if method == "cg-mm" else [0.5, 0.02])
    assert model.chosen_["lam"] == table["lam"][table["rate"].argmax()]
    other = mm.MaxMarginBayesClassifier("nb", method, lam=[0.02, 0.5], iterations=15, rel_gap=1e-2, n_jobs=2)
    order = np.random.default_rng(0).permutation(len(y))
    other.fit(X.iloc[order], y.iloc[order])
    pd.testing.assert_frame_equal(other.cv_results_, table)


def test_iterations_are_chosen_for_the_conditional_likelihood() -> None:
    X, y = weather()
    model = mm.MaxMarginBayesClassifier("nb", "cg-cl", iterations="cv").fit(X, y)
    assert set(model.chosen_) == {"max_iterations"}
    assert model.chosen_["max_iterations"] == model.cv_results_["iterations"][0]


def test_structure_settings_are_chosen_on_held_out_rows() -> None:
    X, y = weather(60)
    model = mm.MaxMarginStructureClassifier(max_parents="cv", p=[0.6, 0.9]).fit(X, y)
    table = model.cv_results_
    assert list(zip(table["max_parents"], table["p"], strict=True)) == [(1, 0.6), (1, 0.9), (2, 0.6), (2, 0.9)]
    best = table.loc[table["rate"].argmax()]
    assert (model.chosen_["max_parents"], model.chosen_["p"]) == (best["max_parents"], best["p"])
    assert mm.MaxMarginStructureClassifier(p=0.6).fit(X, y).cv_results_ is None


def test_a_time_limit_leaves_a_model_and_says_so() -> None:
    frame = mm.load_dataset("car")
    X, y = frame.drop(columns="class"), frame["class"]
    model = mm.MaxMarginStructureClassifier(time_limit=0.0, parameters="cg-mm")
    with pytest.warns(ConvergenceWarning, match="ended at TIME_LIMIT"):
        model.fit(X, y)
    assert model.result_.termination_status is TerminationStatus.TIME_LIMIT
    assert model.score(X, y) >= y.value_counts(normalize=True).max() - 1e-12


SETTINGS = [
    (mm.NaiveBayesClassifier(missing="guess"), "missing must be one of 'error', 'drop', 'state', got 'guess'"),
    (mm.NaiveBayesClassifier(unseen="prior"), "unseen must be one of 'warn', 'missing', 'error', got 'prior'"),
    (mm.NaiveBayesClassifier(smoothing=-1), "smoothing must be a finite pseudo-count >= 0, got -1"),
    (mm.NaiveBayesClassifier(kinds={"rain": "numeric"}), "kinds names the unknown column 'rain'"),
    (mm.NaiveBayesClassifier(discretize=False), "are numeric and discretization is off"),
    (mm.MaxMarginBayesClassifier(method="em"), "method must be one of 'ml', 'cg-mm', 'cg-cl', 'relaxation', got 'em'"),
    (mm.MaxMarginBayesClassifier("forest"), "structure must be one of nb, tan-cmi, .* got 'forest'"),
    (mm.MaxMarginBayesClassifier([1, 2]), "structure must be edges as pairs"),
    (mm.MaxMarginBayesClassifier(lam=0.0), "lam must be a number > 0, got 0.0"),
    (mm.MaxMarginBayesClassifier(lam="best"), "lam must be a number, a sequence of numbers, or \"cv\", got 'best'"),
    (mm.MaxMarginBayesClassifier(lam=[]), "lam is an empty sequence"),
    (mm.MaxMarginBayesClassifier(iterations=-1), "iterations must be a whole number >= 0"),
    (mm.MaxMarginBayesClassifier(time_limit=-1), "time_limit must be a number of seconds >= 0 or None, got -1"),
    (mm.MaxMarginBayesClassifier(random_state="seed"), "random_state must be"),
    (mm.MaxMarginStructureClassifier("margin"), "criterion must be one of 'sm', 'sbm', .* got 'margin'"),
    (mm.MaxMarginStructureClassifier(parameters="em"), "parameters must be one of"),
    (mm.MaxMarginStructureClassifier(max_parents=0), "max_parents must be a whole number >= 1, got 0"),
    (mm.MaxMarginStructureClassifier(p=0.3), "0.3"),
    (mm.MaxMarginStructureClassifier(candidates=0), "candidates must be a whole number >= 1 or None, got 0"),
    (mm.MaxMarginStructureClassifier(candidates=2.0), "candidates must be a whole number >= 1 or None, got 2.0"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "text"), SETTINGS, ids=[text[:30] for _, text in SETTINGS])
def test_bad_settings_are_refused_at_fit_with_the_reason(model: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        model.fit(*weather(30))


# -- what they show -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*ALL, NUMERIC], ids=repr)
def test_a_fitted_classifier_shows_itself(model: Any) -> None:
    X, y = weather() if model is not NUMERIC else load_iris(return_X_y=True)
    unfitted = clone(model)
    assert 'class="mmbn"' not in unfitted._repr_mimebundle_()["text/html"]
    html = unfitted.fit(X, y)._repr_mimebundle_()["text/html"]
    assert html == unfitted._repr_html_()
    assert f"{100 * unfitted.training_accuracy_:.1f} %" in html
    assert "Accuracy, training rows" in html
    claimed = sum(check.claims for check in unfitted.certificate_.checks)
    assert f"{claimed} checks" in html or "checks passed" in html
    assert ("<svg" in html) == hasattr(unfitted, "network_")
    assert len(re.findall("Upper bound|Lower bound", html)) == int(
        unfitted.result_ is not None and unfitted.result_.bounds.dual_bound is not None
    )
    with sklearn.config_context(display="text"):
        assert set(unfitted._repr_mimebundle_()) == {"text/plain"}


def test_a_failed_check_is_told_when_fitting(monkeypatch: pytest.MonkeyPatch) -> None:
    import mmbn_opt.estimators.generative as generative
    from mmbn_opt.results.result import Certificate, Check

    whole = generative.maximum_likelihood

    def doubtful(*args: Any) -> Any:
        return whole(*args)[0], Certificate((Check("CPTs normalised", False, "off by 1"),))

    monkeypatch.setattr(generative, "maximum_likelihood", doubtful)
    with pytest.warns(UserWarning, match=r"NaiveBayesClassifier: \[FAILED\] CPTs normalised: off by 1"):
        model = mm.NaiveBayesClassifier().fit(*weather(30))
    assert not model.certificate_.ok
