"""Weights: up to a factor unless they are whole numbers (A3), and rows of weight 0 that may hold anything (B17)."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seldom import mostly_slow
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier

import mmbn_opt as mm
from mmbn_opt import estimators
from mmbn_opt.data.discretize import mdlp_cut_points
from mmbn_opt.data.weights import as_counts, whole_counts

CLASSIFIERS = [getattr(estimators, name)() for name in estimators.__all__ if name != "SequenceClassifier"]  # no rows
everyone = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
on_columns = pytest.mark.parametrize(
    "model", [m for m in CLASSIFIERS if not isinstance(m, mm.CMMClassifier)], ids=lambda model: type(model).__name__
)
FACTORS = (1 / 150, 0.1, 0.3, 1.5, 1e-12, 1e-310, 1e300 / 7)

X, y = load_iris(return_X_y=True)


def cuts_of(model: Any) -> list[Any]:
    return [variable.cuts for variable in model.preparation_.data.features]


WEIGHTS = {
    "none": None,
    "whole": np.random.default_rng(0).integers(0, 5, 150).astype(float),
    "fractions": np.random.default_rng(0).uniform(0.01, 3.0, 150),
}


@cache
def learned(model: Any, weights: str) -> Any:
    """Fitted once for all factors."""
    return clone(model).fit(X, y, sample_weight=WEIGHTS[weights])


# -- A3: the unit of weights --------------------------------------------------------------------------------------


def test_a3_the_line_of_the_list() -> None:
    weighted = mm.NaiveBayesClassifier().fit(X, y, sample_weight=np.full(150, 1 / 150))
    assert round(weighted.score(X, y), 3) == 0.947


@everyone
@pytest.mark.parametrize("factor", mostly_slow(FACTORS, 3))
def test_a3_equal_weights_say_nothing(model: Any, factor: float) -> None:
    plain, weighted = learned(model, "none"), clone(model).fit(X, y, sample_weight=np.full(150, factor))
    np.testing.assert_array_equal(weighted.predict_proba(X), plain.predict_proba(X))


@on_columns
@pytest.mark.parametrize("factor", mostly_slow(FACTORS, 3))
@pytest.mark.parametrize("kind", ["whole", "fractions"])
def test_a3_a_factor_changes_neither_cuts_nor_tables(model: Any, kind: str, factor: float) -> None:
    one, other = learned(model, kind), clone(model).fit(X, y, sample_weight=WEIGHTS[kind] * factor)
    assert cuts_of(one) == cuts_of(other)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-6)


@on_columns
@pytest.mark.parametrize("weights", ["twice", "mixed"])
def test_a3_whole_numbers_are_repeated_rows(model: Any, weights: str) -> None:
    weight = np.full(150, 2) if weights == "twice" else np.random.default_rng(1).integers(0, 4, 150)
    rows = np.repeat(np.arange(150), weight)
    weighted, repeated = clone(model).fit(X, y, sample_weight=weight), clone(model).fit(X[rows], y[rows])
    assert cuts_of(weighted) == cuts_of(repeated)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


@everyone
def test_a3_boosting_is_not_worse_than_what_it_boosts(model: Any) -> None:
    alone = clone(model).fit(X, y).score(X, y)
    boosted = AdaBoostClassifier(clone(model), n_estimators=5, random_state=0).fit(X, y)
    assert alone > 0.94
    assert boosted.score(X, y) >= alone


def test_a3_bagging_by_weights_is_bagging_by_rows() -> None:
    bagged = BaggingClassifier(mm.NaiveBayesClassifier(), n_estimators=5, random_state=0).fit(X, y)
    assert bagged.score(X, y) > 0.93


counts = st.lists(st.integers(0, 6), min_size=4, max_size=40)


@given(counts, st.floats(1e-6, 1e6))
def test_a3_counts_that_were_divided_are_counts_again(whole: list[int], factor: float) -> None:
    weight = np.array([1, *whole], dtype=float)
    np.testing.assert_array_equal(as_counts(weight), weight)
    scaled = weight * factor
    if (scaled != np.round(scaled)).any():
        np.testing.assert_array_equal(as_counts(scaled), weight)


@given(st.lists(st.one_of(st.just(0.0), st.floats(0.01, 50.0)), min_size=3, max_size=30), st.floats(0.01, 100.0))
def test_a3_other_weights_have_a_mean_of_one(weight: list[float], factor: float) -> None:
    given_weight = np.array([np.pi, *weight, np.e])
    counted = as_counts(given_weight)
    np.testing.assert_allclose(counted[given_weight > 0].mean(), 1.0)
    np.testing.assert_allclose(counted, as_counts(given_weight * factor), rtol=1e-9)
    np.testing.assert_allclose(counted / counted.sum(), given_weight / given_weight.sum(), rtol=1e-9)


@given(st.lists(st.floats(0.01, 50.0), min_size=3, max_size=30))
def test_a3_rows_that_stand_for_weights_meet_them(weight: list[float]) -> None:
    given_weight = np.array([np.pi, *weight, np.e])
    whole, counted = whole_counts(given_weight), as_counts(given_weight)
    assert (whole == np.round(whole)).all()
    assert whole.sum() == 4 * len(given_weight)
    assert np.abs(whole - 4 * counted).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("factor", FACTORS)
def test_a3_cut_points_by_themselves(factor: float) -> None:
    for column in X.T:
        plain = mdlp_cut_points(column, y, 3)
        assert len(plain)
        assert mdlp_cut_points(column, y, 3, np.full(150, factor)).tolist() == plain.tolist()
        scaled = mm.MDLPDiscretizer().fit(column[:, None], y, sample_weight=np.full(150, factor))
        assert scaled.cut_points_[0].tolist() == plain.tolist()
        frame = pd.DataFrame({"x": column, "class": y})
        (prepared,) = mm.prepare(frame, "class", sample_weight=np.full(150, factor)).data.features
        assert prepared.cuts == tuple(plain)


def test_a3_the_data_set_itself_takes_weights_as_they_are() -> None:
    """What a formulation sums is what was given: its value scales with the weights, as its page says."""
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 2, [0, 1, 1, 0], sample_weight=[0.25, 0.5, 0.25, 0.5])
    assert data.sample_weight.tolist() == [0.25, 0.5, 0.25, 0.5]


# -- B17: weight 0 ------------------------------------------------------------------------------------------------

Spoil = Callable[[pd.DataFrame, pd.Series], tuple[pd.DataFrame, pd.Series]]


def spoiled(cell: Any, label: Any) -> Spoil:
    def spoil(frame: pd.DataFrame, labels: pd.Series) -> tuple[pd.DataFrame, pd.Series]:
        row = pd.DataFrame([[cell] * frame.shape[1]], columns=frame.columns, dtype=object)
        more = pd.concat([frame.astype(object), row], ignore_index=True)
        return more, pd.concat([labels.astype(object), pd.Series([label], dtype=object)], ignore_index=True)

    return spoil


SPOILED = {
    "NaN label": spoiled(1.0, np.nan),
    "no label": spoiled(1.0, None),
    "other kind of label": spoiled(1.0, "junk"),
    "infinity": spoiled(np.inf, 1),
    "missing cell": spoiled(np.nan, 1),
    "text": spoiled("abc", 1),
    "a label of its own": spoiled(1.0, 7),
    "a list": spoiled([1, 2], 1),
    "all": spoiled("abc", np.nan),
}


@everyone
@pytest.mark.parametrize("what", SPOILED)
@pytest.mark.parametrize("form", ["frame", "array", "list"])
def test_b17_a_row_of_weight_zero_is_not_there(model: Any, what: str, form: str) -> None:
    frame, labels = pd.DataFrame(X[::5], columns=list("abcd")), pd.Series(y[::5])
    more, more_labels = SPOILED[what](frame, labels)
    weight = np.append(np.ones(len(frame)), 0.0)
    expected = (
        clone(model)
        .fit(frame if form == "frame" else X[::5], labels)
        .predict_proba(frame if form == "frame" else X[::5])
    )
    as_given: Any = {"frame": more, "array": more.to_numpy(), "list": more.to_numpy().tolist()}[form]
    labels_given: Any = {"frame": more_labels, "array": more_labels.to_numpy(), "list": more_labels.tolist()}[form]
    fitted = clone(model).fit(as_given, labels_given, sample_weight=weight)
    np.testing.assert_array_equal(fitted.predict_proba(frame if form == "frame" else X[::5]), expected)
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.classes_.dtype.kind == "i"
    right = fitted.score(as_given, labels_given, sample_weight=weight)
    assert right == fitted.score(frame if form == "frame" else X[::5], labels)


@pytest.mark.parametrize("what", SPOILED)
def test_b17_nor_is_it_for_data_sets_and_discretizers(what: str) -> None:
    frame, labels = pd.DataFrame(X[::5], columns=list("abcd")), pd.Series(y[::5])
    more, more_labels = SPOILED[what](frame, labels)
    weight = np.append(np.ones(len(frame)), 0.0)
    plain = mm.prepare(frame.assign(label=labels), "label").data
    prepared = mm.prepare(more.assign(label=more_labels), "label", sample_weight=weight).data
    assert prepared.features == plain.features
    assert prepared.target == plain.target
    assert prepared.n_dropped == 1
    np.testing.assert_array_equal(prepared.codes, plain.codes)
    again = mm.DiscreteDataset.from_variables(
        more.assign(label=more_labels), plain.features, plain.target, sample_weight=weight
    )
    np.testing.assert_array_equal(again.codes, plain.codes)
    whole, whole_more = frame.round().astype(int), SPOILED[what](frame.round().astype(int), labels)[0]
    for one, other in ((whole.assign(label=labels), whole_more.assign(label=more_labels)),):
        a = mm.DiscreteDataset.from_frame(one, "label")
        b = mm.DiscreteDataset.from_frame(other, "label", sample_weight=weight)
        assert [v.states for v in a.features] == [v.states for v in b.features]
        c = mm.DiscreteDataset.from_arrays(other.drop(columns="label"), other["label"], sample_weight=weight)
        np.testing.assert_array_equal(a.codes, c.codes)
    cuts = mm.MDLPDiscretizer().fit(frame, labels).cut_points_
    found = mm.MDLPDiscretizer().fit(more.to_numpy(), more_labels, sample_weight=weight).cut_points_
    assert [c.tolist() for c in found] == [c.tolist() for c in cuts]


def test_b17_multiclass_margins_look_at_rows_that_count() -> None:
    spoilt, labels = np.vstack([X[::5], [[np.inf] * 4]]), np.append(y[::5], 9)
    problem = mm.MulticlassMargin(spoilt, labels, 1, sample_weight=np.append(np.ones(30), 0))
    np.testing.assert_array_equal(problem.data.z, mm.MulticlassMargin(X[::5], y[::5], 1).data.z)
