"""Rows added to counts are a refit of all rows; trained parameters begin where they ended."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.family_counts import FamilyCounts

COUNTED = [
    mm.NaiveBayesClassifier(missing="state"),
    mm.TANClassifier(missing="state", smoothing=0.3),
    mm.MaxMarginBayesClassifier("tan-cmi", "ml", missing="state"),
    mm.MaxMarginStructureClassifier(max_parents=1, missing="state"),
]


def vote() -> tuple[pd.DataFrame, pd.Series]:
    frame = mm.load_dataset("vote")
    return frame.drop(columns="class"), frame["class"]


@pytest.mark.parametrize("model", COUNTED, ids=lambda model: type(model).__name__)
def test_tables_are_those_of_all_rows_to_the_last_bit(model: Any) -> None:
    X, y = vote()
    model = clone(model).partial_fit(X[:40], y[:40])
    for start in range(40, len(X), 77):
        model.partial_fit(X[start : start + 77], y[start : start + 77])
    data = mm.prepare(X.assign(**{"class": y}), "class", missing="state").data
    refit = mm.BayesianNetwork.fit(model.network_.structure, data, model.smoothing)
    assert model.network_.variables == refit.variables
    for ours, theirs in zip(model.network_.log_cpts, refit.log_cpts, strict=True):
        assert np.array_equal(ours, theirs)
    assert (model.predict(X) == refit.predict(X)).all()
    assert model.certificate_.ok


def test_naive_bayes_in_parts_is_naive_bayes() -> None:
    X, y = vote()
    parts = mm.NaiveBayesClassifier(missing="state")
    for start in range(0, len(X), 50):
        parts.partial_fit(X[start : start + 50], y[start : start + 50], classes=["democrat", "republican"])
    whole = mm.NaiveBayesClassifier(missing="state").fit(X, y)
    assert np.array_equal(parts.predict_proba(X), whole.predict_proba(X))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_labels_and_classes_that_come_later_are_as_if_they_had_been_there(data: Any) -> None:
    cell, label = st.sampled_from(["a", "b", "c", "d"]), st.sampled_from(["k", "m", "l"])
    rows = data.draw(st.lists(st.tuples(cell, cell, label, st.integers(1, 3)), min_size=4, max_size=14))
    cut = data.draw(st.integers(2, len(rows) - 1))
    frame = pd.DataFrame(rows, columns=["p", "q", "y", "w"])
    parts = mm.NaiveBayesClassifier()
    for part in (frame[:cut], frame[cut:]):
        parts.partial_fit(part[["p", "q"]], part["y"], sample_weight=part["w"])
    whole = mm.NaiveBayesClassifier().fit(frame[["p", "q"]], frame["y"], sample_weight=frame["w"])
    assert parts.classes_.tolist() == whole.classes_.tolist()
    assert parts.network_.variables == whole.network_.variables
    for ours, theirs in zip(parts.network_.log_cpts, whole.network_.log_cpts, strict=True):
        assert np.array_equal(ours, theirs)


def test_cut_points_stay_those_of_the_first_rows() -> None:
    frame = mm.load_dataset("iris").sample(frac=1.0, random_state=0, ignore_index=True)
    X, y = frame.drop(columns="class"), frame["class"]
    model = mm.NaiveBayesClassifier().partial_fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    first = mm.prepare(frame[:80], "class")
    data = mm.DiscreteDataset.from_variables(frame, first.data.features, first.data.target)
    refit = mm.BayesianNetwork.fit(model.network_.structure, data)
    for ours, theirs in zip(model.network_.log_cpts, refit.log_cpts, strict=True):
        assert np.array_equal(ours, theirs)


def test_a_fit_begins_anew_and_a_table_can_be_given_whole() -> None:
    X, y = vote()
    frame = X.assign(**{"class": y})
    model = mm.TANClassifier(missing="state").fit(X[:200], y[:200]).update(frame[200:])
    data = mm.prepare(frame, "class", missing="state").data
    assert np.array_equal(
        model.network_.log_cpts[-1], mm.BayesianNetwork.fit(model.network_.structure, data).log_cpts[-1]
    )
    model.fit(X[:200], y[:200]).update(frame[:10])
    assert model.family_counts_.counts[-1].sum() == 210
    with pytest.raises(InputError, match="no column 'class'"):
        model.update(X)


def test_weights_that_are_no_counts_are_refused_where_counts_are_added() -> None:
    X, y = vote()
    model = mm.NaiveBayesClassifier(missing="state").fit(X, y)
    with pytest.raises(InputError, match="whole numbers"):
        model.partial_fit(X[:10], y[:10], sample_weight=np.linspace(0.1, 0.9, 10))
    model = mm.NaiveBayesClassifier(missing="state", class_weight="balanced").fit(X, y)
    with pytest.raises(InputError, match="whole numbers"):
        model.partial_fit(X[:10], y[:10])


@pytest.mark.parametrize(
    "model",
    [mm.MaxMarginBayesClassifier(), mm.MaxMarginStructureClassifier(parameters="cg-mm"), mm.CMMClassifier()],
    ids=lambda model: type(model).__name__,
)
def test_trained_parameters_are_not_counts(model: Any) -> None:
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model, "update")


def test_the_temperature_comes_from_what_was_predicted_before_the_rows_were_learned() -> None:
    X, y = vote()
    model = mm.NaiveBayesClassifier(missing="state", calibration="temperature").fit(X[:200], y[:200])
    known = model.network_.predict_log_proba(X[200:])
    model.partial_fit(X[200:], y[200:])
    assert model.calibration_.rows == len(X) - 200
    codes = (y[200:] == "republican").to_numpy().astype(np.int64)
    assert model.calibration_.before is not None
    assert model.calibration_.before.log_loss == pytest.approx(-known[np.arange(len(codes)), codes].mean())
    kept = model.calibration_
    assert len(kept.shares) == 2
    assert model.partial_fit(X[:5], y[:5]).calibration_ == kept


def test_counts_of_other_variables_are_refused() -> None:
    X, y = vote()
    a, b = (mm.prepare(X[k:60].assign(**{"class": y[k:60]}), "class", missing="state").data for k in (0, 50))
    counts = FamilyCounts.of(mm.naive_bayes(a), a)
    with pytest.raises(InputError, match="other variables"):
        counts.plus(b)


@pytest.mark.parametrize("method", ["cg-mm", "cg-cl", "relaxation"])
def test_a_warm_start_begins_where_the_last_fit_ended(method: Any) -> None:
    frame = mm.load_dataset("car")
    X, y = frame.drop(columns="class"), frame["class"]
    settings = {"iterations": 3, "calibration": None, "warm_start": True, "rel_gap": 1e-2}
    model = mm.MaxMarginBayesClassifier("nb", method, **settings).fit(X, y)
    first = model.result_
    cold = mm.MaxMarginBayesClassifier("nb", method, **settings).fit(X, y).result_
    assert cold.bounds.primal_bound == first.bounds.primal_bound
    warm = model.fit(X, y).result_
    sign = 1 if warm.sense.value.startswith("max") else -1
    assert sign * warm.trace.records[0].primal_bound <= sign * warm.bounds.primal_bound + 1e-9
    assert sign * warm.bounds.primal_bound >= sign * first.bounds.primal_bound - 1e-6
    if method != "relaxation":
        assert warm.bounds.primal_bound > first.bounds.primal_bound


def test_a_warm_start_of_other_columns_is_a_cold_one() -> None:
    frame = mm.load_dataset("car")
    X, y = frame.drop(columns="class"), frame["class"]
    for model in (
        mm.MaxMarginBayesClassifier("nb", "cg-mm", iterations=3, warm_start=True, calibration=None),
        mm.MaxMarginStructureClassifier(max_parents=1, warm_start=True, calibration=None),
    ):
        model.fit(X, y).fit(X.drop(columns="doors"), y)
        cold = clone(model).fit(X.drop(columns="doors"), y)
        assert model.result_.bounds.primal_bound == pytest.approx(cold.result_.bounds.primal_bound, rel=1e-9)


def test_a_warm_structure_search_has_the_last_structure_at_hand() -> None:
    frame = mm.load_dataset("corral")
    X, y = frame.drop(columns="class"), frame["class"]
    model = mm.MaxMarginStructureClassifier(warm_start=True, parameters="cg-mm", iterations=2).fit(X, y)
    best = model.result_.bounds.primal_bound
    assert "given start" in {record.source for record in model.fit(X, y).trace_.records} or (
        model.result_.bounds.primal_bound == pytest.approx(best)
    )


def test_a_class_that_is_new_has_no_share_yet_and_a_calibration_all_the_same() -> None:
    X, y = vote()
    model = mm.NaiveBayesClassifier(missing="state", calibration="temperature")
    model.partial_fit(X[:200], y[:200], classes=["democrat", "independent", "republican"])
    assert (model.calibration_.changes, model.calibration_.shares) == (True, ())
    assert model.predict_proba(X[:3]).shape == (3, 3)
    model.partial_fit(X[200:210], ["whig"] * 10)
    assert model.predict_proba(X[:3]).shape == (3, 4)
