"""Inputs that break tools like ours, by kind: each gets its right answer or an error that names the cure."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError

GENERATIVE = [mm.NaiveBayesClassifier(), mm.TANClassifier()]
MARGIN = [
    mm.MaxMarginBayesClassifier(iterations=10),
    mm.MaxMarginBayesClassifier("tan-cmi", "relaxation", rel_gap=1e-2),
    mm.MaxMarginStructureClassifier(max_parents=2),
]
ALL = [*GENERATIVE, *MARGIN]
everyone = pytest.mark.parametrize("model", ALL, ids=repr)


def letters(n: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns a (telling), b (less so), c (noise), of the states u, v, w; classes yes and no."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.5
    draw = [np.where(rng.random(n) < share, y + 0, rng.integers(0, 3, n)) for share in (0.9, 0.6, 0.0)]
    frame = pd.DataFrame(np.array(["u", "v", "w"])[np.array(draw).T], columns=["a", "b", "c"])
    return frame, np.where(y, "yes", "no")


# -- states and cells at prediction ---------------------------------------------------------------------------------


@everyone
def test_a_category_never_seen_in_training(model: Any) -> None:
    X, y = letters()
    new = X.head(2).assign(a=["zebra", "u"])
    strict = clone(model).set_params(unseen="error").fit(X, y)
    with pytest.raises(InputError, match=r"Column 'a' holds 'zebra', never seen in training; known states: 'u', 'v'"):
        strict.predict(new)
    lenient = clone(model).set_params(unseen="missing").fit(X, y)
    expected = lenient.predict_proba(new.assign(a=[None, "u"]))
    np.testing.assert_array_equal(lenient.predict_proba(new), expected)


@everyone
@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
def test_a_missing_cell_at_prediction_is_summed_out(model: Any, nothing: Any) -> None:
    X, y = letters()
    model = clone(model).fit(X, y)
    row = pd.DataFrame({"a": pd.Series([nothing], dtype=object), "b": ["v"], "c": ["u"]})
    filled = pd.concat([row.assign(a=state) for state in "uvw"])
    joint = np.exp(model.network_.log_joint(model.network_.encode(filled))).sum(axis=0)
    # The temperature divides log-odds that are summed out already.
    expected = np.exp(model.calibration_.log_proba(np.log(joint)[None, :]))[0]
    np.testing.assert_allclose(model.predict_proba(row)[0], expected, atol=1e-12)
    with pytest.warns(UserWarning, match=r"column 'b' holds 'zebra'"):
        model.predict(row.assign(b="zebra"))


@everyone
def test_a_row_without_any_cell_gets_the_class_prior_of_the_network(model: Any) -> None:
    X, y = letters()
    model = clone(model).set_params(calibration=None).fit(X, y)
    empty = pd.DataFrame({c: pd.Series([None], dtype=object) for c in X.columns})
    everything = pd.MultiIndex.from_product([list("uvw")] * 3, names=list("abc")).to_frame(index=False)
    joint = np.exp(model.network_.log_joint(model.network_.encode(everything))).sum(axis=0)
    np.testing.assert_allclose(model.predict_proba(empty)[0], joint, atol=1e-9)


def test_missing_numbers_in_arrays_at_prediction() -> None:
    X, y = load_iris(return_X_y=True)
    model = mm.NaiveBayesClassifier().fit(X, y)
    holes = X.copy()
    holes[:, 3] = np.nan
    assert (model.predict(holes) == y).mean() > 0.85
    np.testing.assert_allclose(model.predict_proba(holes).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict_proba(holes), model.predict_proba(holes.astype(object)))


def test_an_impossible_row_gets_the_prior() -> None:
    X = pd.DataFrame({"a": ["u", "u", "v"], "b": ["u", "v", "u"]})
    model = mm.MaxMarginBayesClassifier("nb", "ml", smoothing=0.0).fit(X, ["p", "p", "q"])
    probabilities = model.predict_proba(pd.DataFrame({"a": ["v"], "b": ["v"]}))
    np.testing.assert_allclose(probabilities, [[2 / 3, 1 / 3]])
    assert model.predict(pd.DataFrame({"a": ["v"], "b": ["v"]})).tolist() == ["p"]


def test_a_parent_configuration_never_seen_is_uniform() -> None:
    X = pd.DataFrame({"A": [0, 0, 1], "B": [0, 1, 0]})
    edges = [("class", "A"), ("class", "B"), ("A", "B")]
    model = mm.MaxMarginBayesClassifier(edges, "ml", smoothing=0.0).fit(X, [1, 1, 0])
    table = model.network_.cpt("B")
    np.testing.assert_allclose(table.loc[(1, 1)], [0.5, 0.5])  # A = 1 with class 1 does not occur


def test_declared_states_never_seen_keep_their_row() -> None:
    X, y = letters()
    X["a"] = pd.Categorical(X["a"].where(X["a"] != "w", "u"), categories=["u", "v", "w"])
    model = mm.TANClassifier().fit(X, y)
    assert model.network_.features[0].states == ("u", "v", "w")
    assert np.isfinite(model.predict_log_proba(X.head(1).assign(a="w"))).all()


# -- missing cells in training --------------------------------------------------------------------------------------


def holes() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = letters()
    return X.mask(np.random.default_rng(1).random(X.shape) < 0.1), y


@everyone
def test_missing_cells_in_training_are_refused_with_columns_and_counts(model: Any) -> None:
    X, y = holes()
    counts = X.isna().sum()
    with pytest.raises(InputError, match=rf"'a' \({counts['a']} cells\).*missing=\"drop\".*missing=\"state\""):
        clone(model).fit(X, y)


@everyone
def test_rows_with_missing_cells_can_be_left_out(model: Any) -> None:
    X, y = holes()
    whole = X.notna().all(axis=1).to_numpy()
    dropped = clone(model).set_params(missing="drop").fit(X, y)
    expected = clone(model).fit(X[whole], y[whole])
    np.testing.assert_array_equal(dropped.predict_proba(X), expected.predict_proba(X))
    assert dropped.preparation_.data.n_dropped == (~whole).sum()


@everyone
def test_missing_can_be_a_state(model: Any) -> None:
    X, y = holes()
    stated = clone(model).set_params(missing="state").fit(X, y)
    expected = clone(model).fit(X.fillna("zz"), y)  # sorts last, where the state of missing cells stands
    np.testing.assert_allclose(stated.predict_proba(X), expected.predict_proba(X.fillna("zz")), atol=1e-9)


def test_a_column_with_all_cells_missing() -> None:
    X, y = letters()
    for nothing in (pd.Series([None] * len(X), dtype=object), np.full(len(X), np.nan)):
        full = X.assign(d=nothing)
        with pytest.raises(InputError, match=r"'d'"):
            mm.NaiveBayesClassifier().fit(full, y)
        with pytest.raises(InputError, match="No row is left"):
            mm.NaiveBayesClassifier(missing="drop").fit(full, y)
        model = mm.NaiveBayesClassifier(missing="state").fit(full, y)
        expected = mm.NaiveBayesClassifier().fit(X, y)
        np.testing.assert_allclose(model.predict_proba(full), expected.predict_proba(X), atol=1e-12)


def test_bools_with_pandas_na() -> None:
    X, y = letters()
    flag = pd.array(y == "yes", dtype="boolean")
    flag[::5] = pd.NA
    X["flag"] = flag
    with pytest.raises(InputError, match=r"'flag' \(12 cells\)"):
        mm.TANClassifier().fit(X, y)
    model = mm.TANClassifier(missing="state").fit(X, y)
    assert model.network_.features[3].states == (False, True, "<missing>")
    assert model.score(X, y) > 0.9
    known = ~pd.isna(X["flag"])
    plain = mm.TANClassifier().fit(X[known], y[known])
    assert plain.network_.features[3].states == (False, True)
    np.testing.assert_allclose(plain.predict_proba(X).sum(axis=1), 1.0)


# -- labels ---------------------------------------------------------------------------------------------------------


@everyone
@pytest.mark.parametrize("labels", [[0, 2, 7], [-5, 10**15, 3], [2**62, 2**62 + 1, 2**62 + 2], ["", " ", "a,b"]])
def test_odd_labels(model: Any, labels: list[Any]) -> None:
    X, _ = letters()
    codes = np.array([{"u": 0, "v": 1, "w": 2}[s] for s in X["b"]])
    y = np.array(labels)[codes]
    model = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.predict(X).dtype == y.dtype


def test_labels_survive_saving_and_loading(tmp_path: Path) -> None:
    X, _ = letters()
    for labels in ([1, 3], [True, False], ["p", "q"], [1.0, 2.0]):
        y = np.array(labels)[(X["a"] == "u").astype(int)]
        model = mm.NaiveBayesClassifier().fit(X, y)
        model.network_.save(tmp_path / "model.json")
        loaded = mm.BayesianNetwork.load(tmp_path / "model.json").predict(X)
        assert loaded.tolist() == model.predict(X).tolist()
        assert type(loaded.tolist()[0]) is type(labels[0])


def test_labels_that_cannot_be_ordered_or_are_missing() -> None:
    X, _ = letters(4)
    with pytest.raises(InputError, match=r"y mixes labels of the types \['int', 'str'\]"):
        mm.NaiveBayesClassifier().fit(X, np.array(["a", 1, "a", 1], dtype=object))
    with pytest.raises(InputError, match="2 of 4 labels are missing"):
        mm.NaiveBayesClassifier().fit(X, pd.Series(["a", None, "b", None]))
    with pytest.raises(InputError, match="1 of 4 labels are missing"):
        mm.NaiveBayesClassifier().fit(X, pd.array([True, False, pd.NA, True], dtype="boolean"))
    with pytest.raises(ValueError, match="NaN"):
        mm.NaiveBayesClassifier().fit(X, [0.0, 1.0, np.nan, 1.0])
    with pytest.raises(InputError, match="X has 4 rows, y has 3"):
        mm.NaiveBayesClassifier().fit(X, ["a", "b", "a"])


def test_a_class_column_that_is_called_like_a_feature() -> None:
    X, y = letters()
    assert mm.NaiveBayesClassifier().fit(X, pd.Series(y, name="a")).network_.structure.class_name == "a_"
    assert mm.NaiveBayesClassifier().fit(X.rename(columns={"a": "class"}), y).network_.structure.class_name == "class_"


# -- few of everything ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MARGIN, ids=repr)
def test_one_class_has_no_margin(model: Any) -> None:
    X, _ = letters(8)
    with pytest.raises(InputError, match=r"y holds one class only, 'p', in 8 rows"):
        clone(model).fit(X, ["p"] * 8)
    with pytest.raises(InputError, match=r"y holds one class only, 'p', in 1 rows"):
        clone(model).fit(X.head(1), ["p"])


@pytest.mark.parametrize("model", GENERATIVE, ids=repr)
@pytest.mark.parametrize("n", [1, 8])
def test_one_class_or_one_sample_is_always_predicted(model: Any, n: int) -> None:
    X, _ = letters(n)
    model = clone(model).fit(X, ["p"] * n)
    assert model.predict(X).tolist() == ["p"] * n
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((n, 1)))


@everyone
def test_one_feature(model: Any) -> None:
    X, y = letters()
    model = clone(model).fit(X[["a"]], y)
    counts = pd.crosstab(X["a"], y)
    majority = counts.columns[counts.to_numpy().argmax(axis=1)]
    expected = dict(zip(counts.index, majority, strict=True))
    assert model.predict(X[["a"]]).tolist() == [expected[v] for v in X["a"]]


@everyone
def test_no_features_and_no_rows(model: Any) -> None:
    X, y = letters(6)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        clone(model).fit(X[[]], y)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        clone(model).fit(X.head(0), y[:0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        clone(model).fit(np.empty((0, 2)), y[:0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        clone(model).fit(X, y).predict(X.head(0))


@everyone
def test_constant_columns_change_nothing(model: Any) -> None:
    X, y = letters()
    padded = X.assign(k="same", z=0.5)
    expected = clone(model).fit(X, y).predict_proba(X)
    with_constants = clone(model).fit(padded, y)
    np.testing.assert_allclose(with_constants.predict_proba(padded), expected, atol=1e-6)
    assert [v.cardinality for v in with_constants.network_.features[3:]] == [1, 1]


# -- values ---------------------------------------------------------------------------------------------------------


def test_huge_integers_are_told_apart() -> None:
    few = np.array([10**18, 10**18 + 1])
    y = np.array([0, 1] * 20)
    assert mm.NaiveBayesClassifier().fit(few[y][:, None], y).score(few[y][:, None], y) == 1.0
    unsigned = np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)[y][:, None]
    assert mm.NaiveBayesClassifier().fit(unsigned, y).score(unsigned, y) == 1.0
    beyond = pd.DataFrame({"a": np.array([10**30, 10**30 + 1], dtype=object)[y]})
    assert mm.NaiveBayesClassifier().fit(beyond, y).score(beyond, y) == 1.0


def test_text_and_numbers_in_one_column_are_labels() -> None:
    y = np.array([0, 1] * 20)
    X = pd.DataFrame({"a": np.array(["two", 2], dtype=object)[y], "b": np.array([1, True], dtype=object)[y]})
    model = mm.NaiveBayesClassifier().fit(X[["a"]], y)
    assert model.score(X[["a"]], y) == 1.0
    assert set(model.network_.features[0].states) == {"two", 2}


def test_numbers_as_text_stay_labels() -> None:
    y = np.array([0, 1] * 20)
    model = mm.NaiveBayesClassifier().fit(np.array(["1", "2"])[y][:, None], y)
    assert model.network_.features[0].states == ("1", "2")
    assert model.predict([["1"], ["2"]]).tolist() == [0, 1]


@everyone
def test_infinite_values_are_refused_by_name(model: Any) -> None:
    X, y = letters()
    X["d"] = np.linspace(0, 1, len(X))
    fitted = clone(model).fit(X, y)
    X.loc[3, "d"] = np.inf
    with pytest.raises(InputError, match=r"Column 'd' holds inf"):
        clone(model).fit(X, y)
    with pytest.raises(InputError, match=r"Column 'd' holds inf"):
        fitted.predict(X)


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (np.nan, "row 5 has nan"),
        (-1.0, r"row 5 has -1\.0"),
        (np.inf, "row 5 has inf"),
    ],
)
def test_bad_weights_are_refused(weight: float, text: str) -> None:
    X, y = letters()
    weights = np.ones(len(y))
    weights[5] = weight
    with pytest.raises(InputError, match=text):
        mm.TANClassifier().fit(X, y, sample_weight=weights)
    with pytest.raises(InputError, match="zero in every row"):
        mm.TANClassifier().fit(X, y, sample_weight=np.zeros(len(y)))


@everyone
def test_a_row_of_weight_zero_is_no_row(model: Any) -> None:
    X, y = letters()
    more = pd.concat([X, X.head(1).assign(a="zebra")], ignore_index=True)
    labels = np.append(y, "maybe")
    weighted = clone(model).fit(more, labels, sample_weight=[1.0] * len(y) + [0.0])
    assert weighted.classes_.tolist() == ["no", "yes"]
    assert "zebra" not in weighted.network_.features[0].states
    np.testing.assert_array_equal(weighted.predict_proba(X), clone(model).fit(X, y).predict_proba(X))


# -- columns --------------------------------------------------------------------------------------------------------


@everyone
def test_columns_in_another_order_are_matched_by_name(model: Any) -> None:
    X, y = letters()
    model = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X[["c", "a", "b"]]), model.predict_proba(X))


def test_gaussian_mixtures_match_columns_by_name_too() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = mm.CMMClassifier(iterations=5).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X[X.columns[::-1]]), model.predict_proba(X))


@everyone
def test_wrong_columns_are_named(model: Any) -> None:
    X, y = letters()
    model = clone(model).fit(X, y)
    with pytest.raises(ValueError, match=r"(?s)missing.*- c"):
        model.predict(X[["a", "b"]])
    with pytest.raises(ValueError, match=r"(?s)unseen.*- d"):
        model.predict(X.assign(d="u"))
    with pytest.raises(ValueError, match=r"(?s)- C"):
        model.predict(X.rename(columns={"c": "C"}))
    array = clone(model).fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        array.predict(X.to_numpy()[:, :2])


@everyone
def test_repeated_column_names_are_refused(model: Any) -> None:
    X, y = letters()
    with pytest.raises(InputError, match=r"Column names must be distinct; repeated: \['a'\]"):
        clone(model).fit(X.set_axis(["a", "b", "a"], axis=1), y)
    fitted = clone(model).fit(X, y)
    with pytest.raises(InputError, match=r"repeated: \['a'\]"):
        fitted.predict(X.set_axis(["a", "b", "a"], axis=1))


def test_state_names_with_commas_brackets_quotes_and_unicode(tmp_path: Path) -> None:
    X, y = letters()
    odd = {"u": "a, [b] {c}", "v": 'say "ü"\t\\', "w": ""}
    X = X.replace(odd)
    model = mm.TANClassifier().fit(X, y)
    model.network_.save(tmp_path / "odd.json")
    loaded = mm.BayesianNetwork.load(tmp_path / "odd.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_intervals_of_pandas_cut_are_states() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    cut = X.apply(lambda column: pd.cut(column, 4))
    assert mm.TANClassifier().fit(cut, y).score(cut, y) > 0.9


@pytest.mark.parametrize("kind", ["str", "object", "category", "string[pyarrow]", "int64[pyarrow]", "Int64"])
def test_column_types_of_pandas_give_one_model(kind: str) -> None:
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    codes = pd.DataFrame(rng.integers(0, 3, (80, 3)), columns=list("abc"))
    y = (codes["a"] + rng.integers(0, 2, 80)) % 3
    typed = codes.astype(kind) if "int" in kind.lower() else codes.astype(str).astype(kind)
    model = mm.TANClassifier().fit(typed, y)
    np.testing.assert_array_equal(model.predict_proba(typed), mm.TANClassifier().fit(codes, y).predict_proba(codes))


# -- memory ---------------------------------------------------------------------------------------------------------


@everyone
def test_read_only_input_is_left_alone(model: Any, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    frozen = X.copy()
    frozen.setflags(write=False)
    expected = clone(model).fit(X, y).predict_proba(X)
    for same in (mapped, frozen):
        np.testing.assert_array_equal(clone(model).fit(same, y).predict_proba(same), expected)
    frame = pd.DataFrame(X)
    before = frame.copy()
    clone(model).fit(frame, y).predict(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_too_many_parents_are_refused_with_the_size() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 60, (300, 6)).astype(str), columns=list("abcdef"))
    y = rng.integers(0, 2, 300)
    with pytest.raises(mm.SizeLimitError):
        mm.MaxMarginStructureClassifier(max_parents=6, time_limit=5.0).fit(X, y)


def test_a_hundred_thousand_rows_in_one_call() -> None:
    X, y = letters(200)
    model = mm.TANClassifier().fit(X, y)
    rows = np.random.default_rng(0).integers(0, 200, 100_000)
    many = X.iloc[rows].reset_index(drop=True)
    many.loc[::7, "b"] = None
    probabilities = model.predict_proba(many)
    assert probabilities.shape == (100_000, 2)
    some = np.arange(0, 100_000, 997)
    np.testing.assert_allclose(probabilities[some], model.predict_proba(many.iloc[some]), atol=1e-12)
