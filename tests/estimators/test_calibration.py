"""Probabilities of classifiers: calibrated by default, decisions as they were, kept in saved models, told where not."""

import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning

import mmbn_opt as mm
from mmbn_opt._budget import now
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.scores import Calibration, Reliability


def vote() -> tuple[pd.DataFrame, pd.Series]:
    frame = mm.load_dataset("vote")
    return frame.drop(columns="class"), frame["class"]


def iris() -> tuple[pd.DataFrame, pd.Series]:
    frame = mm.load_dataset("iris")
    return frame.drop(columns="class"), frame["class"]


TRAINED = [
    mm.MaxMarginBayesClassifier(missing="state"),
    mm.MaxMarginBayesClassifier("tan-cmi", "cg-cl", iterations=20, missing="state"),
    mm.MaxMarginBayesClassifier("nb", "relaxation", rel_gap=1e-2, missing="state"),
    mm.MaxMarginStructureClassifier(max_parents=1, missing="state"),
    mm.MaxMarginStructureClassifier("mdl", 1, parameters="cg-mm", iterations=10, missing="state"),
]
COUNTED = [
    mm.NaiveBayesClassifier(calibration="temperature", missing="state"),
    mm.TANClassifier(calibration="temperature", missing="state"),
    mm.MaxMarginBayesClassifier("tan-cmi", "ml", calibration="temperature", missing="state"),
    mm.MaxMarginStructureClassifier("bic", 1, calibration="temperature", missing="state"),
]


@pytest.mark.parametrize("model", [*TRAINED, *COUNTED], ids=lambda model: repr(model)[:80])
def test_decisions_stay_and_held_out_log_loss_falls(model: Any) -> None:
    X, y = vote()
    model = clone(model).fit(X[:300], y[:300])
    found = model.calibration_
    assert found.rows == 300
    assert found.reason == ""
    assert found.after.log_loss <= found.before.log_loss + 1e-9
    bare = clone(model).set_params(calibration=None).fit(X[:300], y[:300])
    for a, b in zip(bare.network_.log_cpts, model.network_.log_cpts, strict=True):
        assert np.array_equal(a, b)
    rest = X[300:]
    assert (model.predict(rest) == bare.predict(rest)).all()
    assert (model.predict_proba(rest).argmax(axis=1) == bare.predict_proba(rest).argmax(axis=1)).all()
    assert bare.predict_proba(rest) == pytest.approx(model.network_.predict_proba(rest))
    expected = Calibration(found.temperature).log_proba(bare.predict_log_proba(rest))
    assert model.predict_log_proba(rest) == pytest.approx(expected, abs=1e-9)
    assert np.exp(model.predict_log_proba(rest)) == pytest.approx(model.predict_proba(rest))


def test_probabilities_on_rows_never_seen_are_as_good_as_those_that_were_held_out() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    told, seen, raw = [], [], []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[:300], order[300:]
        model = mm.MaxMarginBayesClassifier(iterations=30).fit(X[train], y[train])
        codes = y[test].astype(np.int64)
        told.append(model.calibration_.after.log_loss)
        seen.append(Reliability.of(model.predict_log_proba(X[test]), codes).log_loss)
        raw.append(Reliability.of(model.network_.predict_log_proba(X[test]), codes).log_loss)
    # Cut points that had seen the held-out rows would promise a third of that.
    assert np.mean(told) == pytest.approx(np.mean(seen), abs=0.04)
    assert np.mean(seen) < 0.5 * np.mean(raw)


@pytest.mark.parametrize("strategy", ["one-vs-one", "one-vs-rest"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_mixtures_keep_decisions_and_get_a_monotone_map(strategy: Any, n_classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 2 - n_classes], y[y > 2 - n_classes]
    model = mm.CMMClassifier(iterations=20, strategy=strategy).fit(X, y)
    assert model.calibration_.after.log_loss < model.calibration_.before.log_loss
    grid = np.random.default_rng(0).normal(size=(200, 4)) * X.std(axis=0) + X.mean(axis=0)
    own = model.model_.predict_proba(grid)
    calibrated = model.predict_proba(grid)
    assert (own.argmax(axis=1) == calibrated.argmax(axis=1)).all()
    assert (model.predict(grid) == model.model_.predict(grid)).all()
    for before, after in zip(model.model_.decision_values(grid), calibrated, strict=True):
        assert (np.diff(after[np.argsort(before)]) >= 0).all()


@pytest.mark.parametrize(
    "model",
    [mm.MaxMarginBayesClassifier(), mm.MaxMarginStructureClassifier(), mm.CMMClassifier(iterations=5)],
    ids=lambda model: type(model).__name__,
)
def test_few_rows_have_no_calibration_and_that_is_said(model: Any, caplog: pytest.LogCaptureFixture) -> None:
    X, y = load_iris(return_X_y=True)
    model = clone(model).set_params(verbose=1)
    with caplog.at_level(logging.INFO, "mmbn_opt"):
        model.fit(X[::6], y[::6])
    assert model.calibration_ == Calibration(reason="25 rows, fewer than 30")
    assert "not calibrated: 25 rows, fewer than 30" in caplog.text
    assert model.predict_proba(X).shape == (150, 3)
    assert clone(model).fit(X[::5], y[::5]).calibration_.reason == ""


def test_one_class_has_no_calibration() -> None:
    model = mm.NaiveBayesClassifier(calibration="temperature").fit([["a"], ["b"]] * 20, ["one"] * 40)
    assert model.calibration_.reason == "the rows have one class only"
    assert model.predict_proba([["a"]]).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("setting", "reason"),
    [(None, "calibration=None"), ("auto", "maximum likelihood is left as it is")],
)
def test_what_is_not_calibrated_says_why(setting: Any, reason: str) -> None:
    X, y = iris()
    model = mm.MaxMarginBayesClassifier(method="ml", calibration=setting).fit(X, y)
    assert reason in model.calibration_.reason
    assert not model.calibration_.changes


@pytest.mark.parametrize("bad", ["isotonic", 0.0, -1.0, np.inf, True, [1.0], float("nan")])
@pytest.mark.parametrize("kind", [mm.MaxMarginBayesClassifier, mm.NaiveBayesClassifier, mm.CMMClassifier])
def test_bad_settings_are_refused(kind: Any, bad: Any) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="calibration must be"):
        kind(calibration=bad).fit(X, y)


def test_missing_cells_are_summed_out_before_the_temperature() -> None:
    X, y = vote()
    model = mm.MaxMarginBayesClassifier("tan-cmi", calibration=4.0, missing="drop").fit(X, y)
    assert str(model.calibration_) == "temperature 4"
    rows = X.mask(np.random.default_rng(0).random(X.shape) < 0.4)
    expected = Calibration(4.0).log_proba(model.network_.predict_log_proba(rows))
    assert model.predict_log_proba(rows) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        mm.MaxMarginBayesClassifier(missing="state"),
        mm.MaxMarginStructureClassifier(max_parents=1, missing="state"),
        mm.NaiveBayesClassifier(missing="state", calibration="temperature"),
    ],
    ids=str,
)
def test_an_empty_row_has_the_shares_of_the_classes(model: Any, tmp_path: Path) -> None:
    X, y = vote()
    model = clone(model).fit(X, y)
    empty = pd.DataFrame([dict.fromkeys(X, "never seen")])
    with pytest.warns(UserWarning, match="never seen"):
        found, decided = model.predict_proba(empty)[0], model.network_.predict(empty)[0]
    shares = y.value_counts(normalize=True).sort_index()
    expected = shares.to_numpy() if decided == shares.idxmax() else [0.5, 0.5]
    assert found == pytest.approx(expected, abs=0.01)
    with pytest.warns(UserWarning, match="never seen"):
        assert model.predict(empty)[0] == decided
    model.save(tmp_path / "model.json")
    with pytest.warns(UserWarning, match="never seen"):
        assert mm.load_model(tmp_path / "model.json").predict_proba(empty)[0] == pytest.approx(found, abs=1e-15)


@pytest.mark.parametrize(
    "model",
    [
        mm.MaxMarginBayesClassifier("tan-cmi", iterations=5, missing="state"),
        mm.MaxMarginStructureClassifier(max_parents=1, missing="state"),
        mm.NaiveBayesClassifier(missing="state"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_saved_network_comes_back_with_its_calibration(model: Any, tmp_path: Path) -> None:
    X, y = vote()
    model = clone(model).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = mm.load_model(tmp_path / "model.json")
    assert isinstance(loaded, mm.CalibratedModel)
    assert loaded.calibration == model.calibration_
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (loaded.predict(X) == model.predict(X)).all()
    # Who asks for the bare network gets it.
    assert np.array_equal(
        mm.BayesianNetwork.load(tmp_path / "model.json").predict_proba(X), model.network_.predict_proba(X)
    )
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_saved_mixtures_come_back_with_their_calibration(n_classes: int, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 2 - n_classes], y[y > 2 - n_classes]
    model = mm.CMMClassifier(iterations=5).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = mm.load_model(tmp_path / "model.json")
    assert isinstance(loaded, mm.CalibratedModel)
    assert loaded.calibration == model.calibration_
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(InputError, match="mixture"):
        model.to_bif(tmp_path / "model.bif")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"temperature": ', '"temperature": -', "temperature"),
        ('"temperature": ', '"warmth": ', "keys"),
        ('"bends": []', '"bends": [[1.0, 0.0]]', "bends"),
        ('"bends": []', '"bends": [[2.0, 1.0], [1.0, 2.0]]', "bends"),
        ('"bends": []', '"bends": [[1.0, 2.0], [2.0, 1.0]]', "bends"),
        ('"bends": []', '"bends": [[1.0]]', "bends"),
        ('"bends": []', '"bends": [[1.0, "2"]]', "bends"),
        ('"bends": []', '"bends": [[1.0, 1e999]]', "bends"),
        ('"bends": []', '"bends": 3', "bends"),
        ('"seen": false', '"seen": 0', "seen"),
        ('"shares": [', '"shares": [0.5, ', "shares|classes"),
        ('"shares": [', '"shares": [0], "s": [', "shares|keys"),
        ('"reason": ""', '"reason": 3', "reason"),
        ('"log_loss": ', '"loss": ', "before"),
        ('"calibration": {', '"calibration": [], "c": {', "object"),
    ],
)
def test_a_broken_calibration_is_no_model(old: str, new: str, said: str, tmp_path: Path) -> None:
    X, y = iris()
    path = tmp_path / "model.json"
    mm.MaxMarginBayesClassifier(iterations=2).fit(X, y).save(path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FormatError, match=said):
        mm.load_model(path)


def test_bif_has_no_place_for_it_and_the_log_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    X, y = iris()
    model = mm.MaxMarginBayesClassifier(iterations=5).fit(X, y)
    model.to_bif(tmp_path / "iris.bif")
    assert "without its calibration (temperature" in caplog.text
    caplog.clear()
    bare = mm.MaxMarginBayesClassifier(iterations=5, calibration=None).fit(X, y)
    bare.to_bif(tmp_path / "bare.bif")
    assert "calibration" not in caplog.text
    assert (tmp_path / "iris.bif").read_bytes() == (tmp_path / "bare.bif").read_bytes()


@pytest.mark.parametrize(
    "model",
    [
        mm.MaxMarginBayesClassifier("nb", "relaxation", time_limit=0.6, rel_gap=1e-9),
        mm.MaxMarginStructureClassifier(max_parents=2, time_limit=0.6),
        mm.CMMClassifier(5, time_limit=0.6),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_limit_holds_for_learning_and_calibration_together(model: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    clone(model).set_params(time_limit=None).set_params(time_limit=5.0).fit(X[:60], y[:60])  # compile
    began = now()
    fitted = clone(model).fit(X, y)
    assert now() - began < 0.6 + 1.5
    assert fitted.calibration_.rows > 0 or "time limit" in fitted.calibration_.reason


@pytest.mark.parametrize(
    "model", [mm.MaxMarginBayesClassifier(time_limit=0.0), mm.CMMClassifier(time_limit=0.0)], ids=str
)
def test_a_limit_of_nothing_leaves_what_the_training_rows_say_and_tells_so(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        fitted = clone(model).fit(X, y)
    found = fitted.calibration_
    assert (found.seen, found.rows, found.reason) == (True, 150.0, "")
    assert "no time was left to hold any out" in str(found)
    assert found.after.log_loss <= found.before.log_loss + 0.05
    assert "training rows" in fitted.summary()
    assert fitted.predict(X).tolist() == fitted.set_params(calibration=None)._own_model().predict(X).tolist()


@pytest.mark.parametrize("kind", [mm.NaiveBayesClassifier, mm.MaxMarginBayesClassifier])
def test_class_weights_are_weights_of_rows(kind: Any) -> None:
    X, y = iris()
    X, y = X[:120], y[:120]  # 50, 50, 20
    weights = {"Iris-virginica": 3}
    sample = np.where(y == "Iris-virginica", 3.0, 1.0)
    a, b = kind(class_weight=weights).fit(X, y), kind().fit(X, y, sample_weight=sample)
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))
    balanced = kind(class_weight="balanced").fit(X, y)
    shares = np.bincount(balanced.preparation_.data.target_codes, balanced.preparation_.data.sample_weight)
    assert shares == pytest.approx([40.0] * 3)


def test_costs_move_decisions_towards_the_dear_class() -> None:
    X, y = vote()
    model = mm.MaxMarginBayesClassifier(missing="state").fit(X, y)
    proba = model.predict_proba(X)
    dear = model.predict(X, cost={("republican", "democrat"): 50.0})
    assert (dear == "republican").sum() > (model.predict(X) == "republican").sum()
    assert ((dear == "republican") == (50 * proba[:, 1] >= proba[:, 0])).all()
    assert (model.predict(X, cost=1 - np.eye(2)) == model.predict(X)).all()
    assert model.expected_cost(X, 1 - np.eye(2)) == pytest.approx(proba[:, ::-1])
    with pytest.raises(InputError, match="shape"):
        model.predict(X, cost=np.eye(3))


def test_card_summary_and_report_tell_how_far_to_believe() -> None:
    X, y = iris()
    model = mm.MaxMarginBayesClassifier(iterations=5).fit(X[::2], y[::2])
    after = model.calibration_.after
    assert f"{after.log_loss:.3f}" in model._repr_html_inner()
    assert str(model.calibration_) in model.summary()
    html = model.report(X=X[1::2], y=y[1::2])
    codes = np.searchsorted(model.classes_, y[1::2].to_numpy()).astype(np.int64)
    held_out = Reliability.of(model.predict_log_proba(X[1::2]), codes)
    assert f"{held_out.log_loss:.4f}" in html
    assert f"{held_out.calibration_error:.4f}" in html
    assert f"{after.log_loss:.4f} ({model.calibration_.before.log_loss:.4f} without calibration)" in html
