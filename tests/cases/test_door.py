"""What comes in at the door of classifiers and data sets: frames of all libraries, odd names, labels never seen.

B4, B5, B7, B11 and B18; weights are in test_weights (A3, B17), wrong types in test_wrong_types (B9).
"""

import json
import keyword
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from seldom import mostly_slow
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

import mmbn_opt as mm
from mmbn_opt import estimators

CLASSIFIERS = [getattr(estimators, name)() for name in estimators.__all__ if name != "SequenceClassifier"]  # no rows
everyone = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
on_columns = pytest.mark.parametrize(
    "model", [m for m in CLASSIFIERS if not isinstance(m, mm.CMMClassifier)], ids=lambda model: type(model).__name__
)

X, y = load_iris(return_X_y=True)
NAMES = ["width", "depth", "a b", "größe"]
FRAME = pd.DataFrame(X, columns=NAMES)
CARS = mm.load_dataset("car").sample(200, random_state=0)

WITHOUT_NAMES = "X does not have valid feature names, but {} was fitted with feature names"
WITH_NAMES = "X has feature names, but {} was fitted without feature names"


# -- B4: frames and arrays mixed ----------------------------------------------------------------------------------


@everyone
@pytest.mark.parametrize("form", [np.asarray, lambda frame: frame.to_numpy().tolist()], ids=["array", "list"])
def test_b4_fitted_on_a_frame_and_asked_with_an_array(model: Any, form: Any) -> None:
    fitted = clone(model).fit(FRAME, y)
    name = type(model).__name__
    for method in ("predict_proba", "predict", "predict_log_proba"):
        with pytest.warns(UserWarning, match=WITHOUT_NAMES.format(name)):
            got = getattr(fitted, method)(form(FRAME))
        np.testing.assert_array_equal(got, getattr(fitted, method)(FRAME))
    with pytest.warns(UserWarning, match=WITHOUT_NAMES.format(name)):
        assert fitted.score(form(FRAME), y) == fitted.score(FRAME, y)


@everyone
def test_b4_fitted_on_an_array_and_asked_with_a_frame(model: Any) -> None:
    fitted = clone(model).fit(X, y)
    with pytest.warns(UserWarning, match=WITH_NAMES.format(type(model).__name__)):
        got = fitted.predict_proba(FRAME)
    np.testing.assert_array_equal(got, fitted.predict_proba(X))


@on_columns
def test_b4_text_goes_by_position_too(model: Any) -> None:
    features, labels = CARS.drop(columns="class"), CARS["class"]
    fitted = clone(model).fit(features, labels)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        got = fitted.predict_proba(features.to_numpy())
    np.testing.assert_array_equal(got, fitted.predict_proba(features))


@everyone
@pytest.mark.parametrize("names", [NAMES, [3, 1, 2, 0], [("a", 1), ("a", 2), ("b", 1), ("b", 2)]], ids=str)
def test_b4_another_order_of_the_columns_is_no_other_data(model: Any, names: Any) -> None:
    frame = pd.DataFrame(X)
    frame.columns = pd.Index(names, tupleize_cols=False)
    fitted = clone(model).fit(frame, y)
    np.testing.assert_array_equal(fitted.predict_proba(frame.iloc[:, ::-1]), fitted.predict_proba(frame))


@everyone
def test_b4_numbers_as_names_go_by_position_with_arrays(model: Any) -> None:
    fitted = clone(model).fit(pd.DataFrame(X), y)
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.predict_proba(pd.DataFrame(X)))


@everyone
def test_b4_more_fewer_and_other_columns_are_refused_as_by_scikit_learn(model: Any) -> None:
    by_name, by_position = clone(model).fit(FRAME, y), clone(model).fit(X, y)
    for frame in (FRAME.assign(more=1.0), FRAME.iloc[:, :3], FRAME.rename(columns={"width": "breadth"})):
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            by_name.predict(frame)
    for array in (X[:, :3], np.c_[X, X]):
        with pytest.raises(ValueError, match="is expecting 4 features as input"):
            by_position.predict(array)
    with pytest.raises(mm.InputError, match=r"repeated: \['width'\]"):
        by_name.predict(FRAME.set_axis(["width", "width", "a b", "größe"], axis=1))


@everyone
def test_b4_a_copy_and_a_pickle_know_the_names(model: Any) -> None:
    fitted = pickle.loads(pickle.dumps(clone(model).fit(FRAME, y)))
    np.testing.assert_array_equal(fitted.predict(FRAME.iloc[:, ::-1]), fitted.predict(FRAME))


def test_b4_the_discretizer_goes_by_position_too() -> None:
    fitted = mm.MDLPDiscretizer().fit(FRAME, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(fitted.transform(X), fitted.transform(FRAME))


# -- B5: names that are words of Python ---------------------------------------------------------------------------

WORDS = [
    "self", "cls", "data", "target", "name", "kwargs", "args", "frame", "features", "class", "columns", "index",
    "values", "sample_weight", "unseen", "missing", "X", "y", "x0", *sorted({*keyword.kwlist} - {"class", "None"}),
    "None",
]  # fmt: skip


@everyone
@pytest.mark.parametrize("word", mostly_slow(["self", "lambda", "target", "kwargs", "cls", "data"], 2))
def test_b5_a_feature_or_the_label_may_be_called_so(model: Any, word: str) -> None:
    model = clone(model).set_params(calibration=None)  # it knows no names, and learns five times over
    plain = clone(model).fit(FRAME, pd.Series(y, name="label")).predict_proba(FRAME)
    frame = FRAME.rename(columns={"width": word})
    np.testing.assert_array_equal(clone(model).fit(frame, y).predict_proba(frame), plain)
    np.testing.assert_array_equal(clone(model).fit(frame, pd.Series(y, name=word)).predict_proba(frame), plain)
    np.testing.assert_array_equal(clone(model).fit(FRAME, pd.Series(y, name=word)).predict_proba(FRAME), plain)


def worded() -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.choice(list("uvw"), (60, len(WORDS))), columns=WORDS)
    labels = random.choice(["n", "p"], 60)
    return frame.assign(numbers=random.normal(size=60), **{"class": labels})


def test_b5_all_words_at_once_as_frame_file_and_network(tmp_path: Any, travel: Any) -> None:
    frame = worded().drop(columns="numbers")  # not every format keeps cut points
    path = tmp_path / "words.csv"
    frame.to_csv(path, index=False)
    for table in (frame, mm.read_table(path)):
        data = mm.prepare(table, "class").data
        assert set(data.feature_names) == set(frame.columns) - {"class"}
        network = travel(mm.BayesianNetwork.fit(mm.naive_bayes(data), data))
        assert network.predict_proba(table).shape == (60, 2)


@pytest.mark.parametrize("word", mostly_slow(["self", "None", "data", "target", "kwargs", "cls", "lambda"], 2))
def test_b5_the_class_may_be_called_so_on_the_command_line(command: Any, tmp_path: Any, word: str) -> None:
    frame = worded()[["name", "frame", "numbers", "class"]].rename(columns={"class": word})
    frame.to_csv(tmp_path / "words.csv", index=False)
    out = tmp_path / "run"
    done = command(
        "structure", "--data", tmp_path / "words.csv", "--target", word, "--max-parents", "1", "--time-limit", "20",
        "--out", out,
    )  # fmt: skip
    assert done.status == 0, done.err
    done = command("predict", "--model", out, "--data", tmp_path / "words.csv", "--out", tmp_path / "p.csv")
    assert done.status == 0, done.err
    assert "optimal" in json.loads((out / "result.json").read_text())["termination_status"].lower()


# -- B7: frames of every library ----------------------------------------------------------------------------------


def to_polars(frame: pd.DataFrame) -> Any:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    columns = {}
    for name in frame.columns:
        cells = frame[name]
        if isinstance(cells.dtype, pd.CategoricalDtype):
            kind = polars.Enum([str(c) for c in cells.cat.categories])
            columns[name] = polars.Series(name, [None if pd.isna(v) else str(v) for v in cells], dtype=kind)
        else:
            columns[name] = polars.Series(name, [None if pd.isna(v) else v for v in cells.tolist()])
    return polars.DataFrame(columns)


def to_lazy(frame: pd.DataFrame) -> Any:
    return to_polars(frame).lazy()


def to_arrow(frame: pd.DataFrame) -> Any:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


LIBRARIES = {"polars": to_polars, "lazy polars": to_lazy, "pyarrow": to_arrow, "pandas": lambda frame: frame}
other = pytest.mark.parametrize("library", LIBRARIES)


def mixed() -> tuple[pd.DataFrame, pd.Series]:
    """Text, declared states, booleans, whole and broken numbers, each with missing cells."""
    random = np.random.default_rng(3)
    labels = random.choice(["no", "yes"], 90)
    frame = pd.DataFrame({
        "text": np.where(labels == "yes", "ä", random.choice(["ä", "b"], 90)),
        "state": pd.Categorical(random.choice(["u", "v"], 90), categories=["w", "v", "u"]),
        "flag": random.choice([True, False], 90),
        "whole": random.integers(0, 4, 90),
        "number": random.normal(size=90) + (labels == "yes"),
    })  # fmt: skip
    frame.loc[3, "text"] = None
    frame.loc[4, "state"] = None
    frame["number"] = frame["number"].where(frame.index != 5)
    return frame, pd.Series(labels, name="self")


@on_columns
@other
def test_b7_learned_on_one_and_asked_with_another(model: Any, library: str) -> None:
    frame, labels = mixed()
    convert = LIBRARIES[library]
    expected = clone(model).set_params(missing="state").fit(frame, labels)
    column = labels if library == "pandas" else to_polars(labels.to_frame())["self"]
    fitted = clone(model).set_params(missing="state").fit(convert(frame), column)
    assert fitted.feature_names_in_.tolist() == list(frame.columns)
    assert fitted.network_.target.name == "self"
    assert [v.states for v in fitted.network_.features] == [v.states for v in expected.network_.features]
    for name, ask in LIBRARIES.items():
        np.testing.assert_array_equal(fitted.predict_proba(ask(frame)), expected.predict_proba(frame), err_msg=name)
        got = fitted.predict(ask(frame))
        assert isinstance(got, np.ndarray)
        assert fitted.score(ask(frame), column) == expected.score(frame, labels)
    back = fitted.predict_proba(convert(frame[list(frame.columns[::-1])]))
    np.testing.assert_array_equal(back, expected.predict_proba(frame))


@other
def test_b7_gaussian_mixtures_and_the_discretizer(library: str) -> None:
    convert = LIBRARIES[library]
    expected = mm.CMMClassifier(iterations=10).fit(FRAME, y)
    fitted = mm.CMMClassifier(iterations=10).fit(convert(FRAME), y)
    np.testing.assert_array_equal(fitted.predict_proba(FRAME), expected.predict_proba(FRAME))
    np.testing.assert_array_equal(fitted.predict_proba(convert(FRAME)), expected.predict_proba(FRAME))
    problem = mm.MulticlassMargin(convert(FRAME), y, 1, sample_weight=np.arange(150) % 3)
    assert problem.data.feature_names == tuple(NAMES)
    discretizer = mm.MDLPDiscretizer().fit(convert(FRAME), y)
    np.testing.assert_array_equal(
        discretizer.transform(convert(FRAME)), mm.MDLPDiscretizer().fit(FRAME, y).transform(FRAME)
    )


def test_b7_the_discretizer_answers_in_polars_when_asked_to() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    discretizer = mm.MDLPDiscretizer().fit(to_polars(FRAME), y)
    assert isinstance(discretizer.transform(to_polars(FRAME)), np.ndarray)
    answer = discretizer.set_output(transform="polars").transform(to_polars(FRAME))
    assert isinstance(answer, polars.DataFrame)
    assert answer.columns == NAMES


@other
def test_b7_data_sets_preparation_and_networks(library: str) -> None:
    convert = LIBRARIES[library]
    frame, labels = mixed()
    whole = pd.concat([frame.drop(columns="number"), labels], axis=1)
    plain = mm.DiscreteDataset.from_frame(whole, "self", missing="state")
    data = mm.DiscreteDataset.from_frame(convert(whole), "self", missing="state")
    assert data.features == plain.features
    np.testing.assert_array_equal(data.codes, plain.codes)
    prepared = mm.prepare(convert(pd.concat([frame, labels], axis=1)), "self", missing="state")
    assert (
        prepared.data.features[4].cuts
        == mm.prepare(pd.concat([frame, labels], axis=1), "self", missing="state").data.features[4].cuts
    )
    again = prepared.apply(convert(pd.concat([frame, labels], axis=1)))
    np.testing.assert_array_equal(again.codes, prepared.data.codes)
    network = mm.BayesianNetwork.fit(mm.naive_bayes(plain), plain)
    np.testing.assert_array_equal(network.predict_proba(convert(whole)), network.predict_proba(whole))
    arrays = mm.DiscreteDataset.from_arrays(convert(whole.drop(columns="self")), labels, missing="state")
    np.testing.assert_array_equal(arrays.codes, plain.codes)


def test_b7_decimals_and_times_of_polars_are_what_they_are_in_pandas() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    from datetime import date, datetime, timedelta
    from decimal import Decimal

    from mmbn_opt.data.frames import as_pandas

    table = polars.DataFrame({
        "money": [Decimal("1.50"), None], "day": [date(2020, 1, 2), None], "moment": [datetime(2020, 1, 2, 3), None],
        "span": [timedelta(hours=1), None], "none": [None, None], "small": polars.Series([1, 2], dtype=polars.Int8),
    })  # fmt: skip
    frame = as_pandas(table)
    assert frame["money"].tolist()[0] == 1.5
    assert np.isnan(frame["money"].tolist()[1])
    assert [frame[name].dtype.kind for name in ("money", "day", "moment", "span", "small")] == list("fMMmi")
    assert frame["none"].isna().all()
    assert frame.isna().sum().tolist() == [1, 1, 1, 1, 2, 0]


# -- B11: labels never seen ---------------------------------------------------------------------------------------


def once() -> tuple[pd.DataFrame, pd.Series]:
    """A category that one row alone has."""
    frame, labels = CARS.drop(columns="class").astype(object), CARS["class"]
    frame.iloc[7, 0] = "only once"
    return frame, labels


@on_columns
def test_b11_a_category_of_one_row_leaves_no_fold_without_a_score(model: Any) -> None:
    frame, labels = once()
    told = r"never seen in training are summed out: column 'buying' holds 'only once' \(1 of 67 rows\)"
    with pytest.warns(UserWarning, match=told) as warned:
        scores = cross_val_score(clone(model), frame, labels, cv=3, error_score="raise")
    assert np.isfinite(scores).all()
    assert sum("never seen" in str(w.message) for w in warned) == 1
    assert max(len(str(w.message)) for w in warned) < 300


def test_b11_a_search_has_no_hole() -> None:
    frame, labels = once()
    search = GridSearchCV(mm.NaiveBayesClassifier(), {"smoothing": [0.5, 1.0]}, cv=3)
    with pytest.warns(UserWarning, match="'only once'"):
        search.fit(frame, labels)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_b11_the_three_answers_are_the_same_everywhere(command: Any, tmp_path: Any) -> None:
    frame, labels = once()
    seen, odd = frame.drop(index=frame.index[7]), frame.iloc[[7]]
    model = mm.NaiveBayesClassifier().fit(seen, labels.drop(index=labels.index[7]))
    unknown = odd.assign(buying=None)
    expected = model.predict_proba(unknown)
    model.network_.save(tmp_path / "model.json")
    odd.to_csv(tmp_path / "odd.csv", index=False)
    call = ("predict", "--model", tmp_path / "model.json", "--data", tmp_path / "odd.csv", "--out", tmp_path / "p.csv")

    def on_the_command_line(*more: str) -> tuple[Any, str]:
        done = command(*call, *more)
        table = pd.read_csv(tmp_path / "p.csv") if done.status == 0 else pd.DataFrame()
        return table.filter(like="P(").to_numpy(), done.err

    text = "column 'buying' holds 'only once' (1 of 1 rows)"
    for one in (model, model.network_):
        with pytest.warns(UserWarning, match="summed out") as warned:
            np.testing.assert_allclose(one.predict_proba(odd), expected, rtol=1e-14)
        assert text in str(warned[0].message)
        assert len(warned) == 1
    got, said = on_the_command_line()
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert text in said
    assert "--unseen error" in said
    assert "unseen=" not in said

    np.testing.assert_allclose(model.network_.predict_proba(odd, unseen="missing"), expected, rtol=1e-14)
    np.testing.assert_allclose(model.set_params(unseen="missing").predict_proba(odd), expected, rtol=1e-14)
    got, said = on_the_command_line("--unseen", "missing")
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert "never seen" not in said

    for refuse in (
        lambda: model.network_.predict(odd, unseen="error"),
        lambda: model.set_params(unseen="error").predict(odd),
    ):
        with pytest.raises(mm.InputError, match="Column 'buying' holds 'only once', never seen in training"):
            refuse()
    assert "'only once', never seen" in on_the_command_line("--unseen", "error")[1]


def test_b11_long_labels_and_many_columns_are_told_in_short() -> None:
    frame = pd.DataFrame({f"c{j}": list("uvuv") for j in range(40)})
    model = mm.NaiveBayesClassifier().fit(frame, [0, 1, 0, 1])
    strange = pd.DataFrame({f"c{j}": ["x" * 10_000, *(f"{k}" for k in range(50))] for j in range(40)})
    with pytest.warns(UserWarning, match="and 37 more columns") as warned:
        model.predict(strange)
    assert len(str(warned[0].message)) < 700


def test_b11_missing_cells_are_not_told_as_labels() -> None:
    frame = pd.DataFrame({"a": list("uvuv"), "b": [0.5, 1.5, 2.5, 3.5]})
    model = mm.NaiveBayesClassifier().fit(frame, [0, 1, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(pd.DataFrame({"a": ["u", None, "v"], "b": [None, 1e9, -1e9]}))


# -- B18: missing meets unseen ------------------------------------------------------------------------------------


@on_columns
@pytest.mark.parametrize("unseen", ["warn", "missing"])
def test_b18_a_label_never_seen_is_not_the_missing_state(model: Any, unseen: str) -> None:
    frame, labels = CARS.drop(columns="class").astype(object), CARS["class"]
    frame.iloc[:60:2, 0] = None
    fitted = clone(model).set_params(missing="state", unseen=unseen, calibration=None).fit(frame, labels)
    network = fitted.network_
    (buying,) = [v for v in network.features if v.name == "buying"]
    assert buying.states[-1] == "<missing>"
    row = frame.iloc[[1]]
    every = pd.concat([row.assign(buying=None if s == "<missing>" else s) for s in buying.states])
    joint = np.exp(network.log_joint(network.encode(every))).sum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        got = fitted.predict_proba(row.assign(buying="zebra"))[0]
    np.testing.assert_allclose(got, joint / joint.sum(), rtol=1e-9)
    missing = fitted.predict_proba(row.assign(buying=None))[0]
    assert np.abs(np.log(got / missing)).max() > 0.01


def test_b18_a_prepared_table_keeps_the_two_apart() -> None:
    frame = pd.DataFrame({"a": ["u", None, "v", "u"], "class": [0, 1, 1, 0]})
    preparation = mm.prepare(frame, "class", missing="state")
    new = pd.DataFrame({"a": ["zebra", None, "u"], "class": [0, 1, 0]})
    assert preparation.apply(new, unseen="missing").codes.ravel().tolist() == [-1, 2, 0]
    with pytest.warns(UserWarning, match="'zebra'"):
        assert preparation.apply(new, unseen="warn").codes.ravel().tolist() == [-1, 2, 0]
    with pytest.raises(mm.InputError, match="'zebra', never seen"):
        preparation.apply(new)
