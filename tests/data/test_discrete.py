"""Raw tables become codes without losing names, labels, order or weight."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dataset_of, tiny_problems

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.variable import MISSING_LABEL, DiscreteVariable
from mmbn_opt.exceptions import InputError


def table(**columns):
    return pd.DataFrame({**columns, "class": ["no", "yes"] * (len(next(iter(columns.values()))) // 2)})


@pytest.mark.parametrize(
    ("values", "states"),
    [
        (pd.Series(["b", "a", "b", "a"], dtype=object), ("a", "b")),
        (pd.Series(["b", "a", "b", "a"], dtype="string"), ("a", "b")),
        (pd.Series(["b", "a", "b", "a"], dtype="category"), ("a", "b")),
        (pd.Series(pd.Categorical(["lo", "hi", "lo", "hi"], categories=["lo", "mid", "hi"])), ("lo", "mid", "hi")),
        (pd.Series([True, False, True, True]), (False, True)),
        (pd.Series([7, 2, 7, 2]), (2, 7)),
        (pd.Series([7, 2, 7, 2], dtype="Int64"), (2, 7)),
        (pd.Series([7.0, 2.0, 7.0, 2.0]), (2.0, 7.0)),
        (pd.Series(["é, [x]", "", 'q"', "é, [x]"], dtype=object), ("", 'q"', "é, [x]")),
    ],
    ids=["object", "string", "category", "declared", "bool", "int", "Int64", "whole floats", "odd text"],
)
def test_columns_keep_their_labels_in_order(values, states):
    data = DiscreteDataset.from_frame(table(a=values), "class")
    assert data.features[0].states == states
    assert all(type(s) is type(t) for s, t in zip(data.features[0].states, states, strict=True))
    decoded = data.features[0].decode(data.codes[:, 0])
    assert list(decoded) == list(values)


def test_pyarrow_columns_are_read():
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    values = pd.Series(["b", "a", "b", "a"], dtype="string[pyarrow]")
    numbers = pd.Series([3, 1, 3, 1], dtype="int64[pyarrow]")
    data = DiscreteDataset.from_frame(table(a=values, n=numbers), "class")
    assert data.features[0].states == ("a", "b")
    assert data.features[1].states == (1, 3)
    assert data.codes.tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]


def test_intervals_of_pandas_cut_are_states():
    values = pd.cut(pd.Series([1.0, 5.0, 9.0, 5.0]), [0, 3, 6, 10])
    data = DiscreteDataset.from_frame(table(a=values), "class")
    assert data.features[0].states == tuple(values.cat.categories)
    assert data.codes[:, 0].tolist() == [0, 1, 2, 1]


def test_target_types_survive():
    for labels in ([1, 3, 1, 3], [True, False, True, False], ["x", "y", "x", "y"], [0, 2, 7, 7]):
        data = DiscreteDataset.from_arrays([["a"], ["b"], ["a"], ["b"]], labels)
        assert data.target.labels[data.target_codes].tolist() == labels
        assert type(data.target.labels[data.target_codes].tolist()[0]) is type(labels[0])


def test_labels_meet_across_files():
    """A column of digits is text in one file and integers in another."""
    text = DiscreteVariable("doors", ("2", "3", "5more"))
    assert text.encode([3, 2]).tolist() == [1, 0]
    assert text.encode([3.0, np.nan]).tolist() == [1, -1]
    numbers = DiscreteVariable("doors", (2, 3))
    assert numbers.encode(["3", "2"]).tolist() == [1, 0]
    flags = DiscreteVariable("flag", (False, True))
    assert flags.encode(["True", "False"]).tolist() == [1, 0]


def test_missing_cells_follow_the_policy():
    frame = pd.DataFrame({"a": ["x", None, "y", "x"], "b": [1, 2, 2, None], "class": ["n", "n", "p", "p"]})
    with pytest.raises(InputError, match=r"'a' \(1 cells\), 'b' \(1 cells\).*missing=\"drop\""):
        DiscreteDataset.from_frame(frame, "class")
    dropped = DiscreteDataset.from_frame(frame, "class", missing="drop")
    assert (dropped.n_samples, dropped.n_dropped) == (2, 2)
    as_state = DiscreteDataset.from_frame(frame, "class", missing="state")
    assert as_state.features[0].states == ("x", "y", MISSING_LABEL)
    assert as_state.codes[:, 0].tolist() == [0, 2, 1, 0]


def test_dropped_rows_bring_no_states():
    frame = pd.DataFrame({"a": ["x", "only here", "y"], "b": ["u", None, "v"], "class": ["n", "rare", "p"]})
    data = DiscreteDataset.from_frame(frame, "class", missing="drop")
    assert data.features[0].states == ("x", "y")
    assert data.target.states == ("n", "p")


def test_weights_are_checked_and_zero_removes_the_row():
    frame = table(a=["x", "y", "z", "x"])
    data = DiscreteDataset.from_frame(frame, "class", sample_weight=[1, 2, 0, 0.5])
    assert data.features[0].states == ("x", "y")
    assert data.sample_weight.tolist() == [1, 2, 0.5]
    for bad, text in (
        ([1, -1, 1, 1], "row 1 has"),
        ([1, np.nan, 1, 1], "row 1 has"),
        ([1, 1], "one number for each of the 4"),
    ):
        with pytest.raises(InputError, match=text):
            DiscreteDataset.from_frame(frame, "class", sample_weight=bad)


@pytest.mark.parametrize(
    ("frame", "target", "text"),
    [
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "class", r"no target column 'class'; the columns are \['a', 'b'\]"),
        (pd.DataFrame([["x", "y", 0]], columns=["a", "a", "class"]), "class", r"repeated: \['a'\]"),
        (pd.DataFrame({"a": ["x", "y"], "class": ["n", None]}), "class", "missing in 1 of 2 rows"),
        (pd.DataFrame({"a": [], "class": []}), "class", "no rows"),
        (
            pd.DataFrame({"a": [0.5, 1.25], "class": ["n", "p"]}),
            "class",
            "'a' is numeric with 2 distinct values; discretize",
        ),
        (pd.DataFrame({"a": [1.0, np.inf], "class": ["n", "p"]}), "class", "'a' holds an infinite value"),
        (pd.DataFrame({"a": [None, None], "class": ["n", "p"]}, dtype=object), "class", "'a' has no states"),
    ],
    ids=["no target", "duplicate names", "missing label", "zero rows", "fractions", "infinite", "all missing"],
)
def test_bad_tables_are_refused_by_name(frame, target, text):
    with pytest.raises(InputError, match=text):
        DiscreteDataset.from_frame(frame, target)


def test_one_class_and_missing_cells_cannot_be_learned():
    one = DiscreteDataset.from_arrays([["a"], ["b"]], ["same", "same"])
    with pytest.raises(InputError, match="'class' holds only 'same'"):
        one.require_learnable()


def test_unseen_labels_are_named_or_missing():
    data = DiscreteDataset.from_arrays([["a"], ["b"]], [0, 1])
    frame = pd.DataFrame({"x0": ["a", "z"]})
    with pytest.raises(InputError, match="Column 'x0' holds 'z', never seen in training; known states: 'a', 'b'"):
        data.features[0].encode(frame["x0"])
    assert data.features[0].encode(frame["x0"], unseen="missing").tolist() == [0, -1]


def test_numeric_columns_refuse_text_and_infinity():
    width = DiscreteVariable("width", ("(-inf, 0.5]", "(0.5, inf)"), cuts=(0.5,))
    assert width.encode(["0.1", "0.9", None]).tolist() == [0, 1, -1]
    with pytest.raises(InputError, match="Column 'width' is numeric, but row 1 holds 'wide'"):
        width.encode(["0.1", "wide"])
    with pytest.raises(InputError, match=r"Column 'width' holds inf at position 1"):
        width.encode([0.1, np.inf])


@given(tiny_problems(), st.randoms())
def test_aggregate_keeps_the_weight_and_forgets_the_order(problem, random):
    rows, card = problem
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, two = dataset_of(rows, card).aggregate(), dataset_of(shuffled, card).aggregate()
    np.testing.assert_array_equal(one.codes, two.codes)
    np.testing.assert_array_equal(one.target_codes, two.target_codes)
    np.testing.assert_array_equal(one.sample_weight, two.sample_weight)
    assert one.total_weight == len(rows)
    assert len({(*x, y) for x, y in zip(one.codes.tolist(), one.target_codes.tolist(), strict=True)}) == one.n_samples


def test_read_only_and_integer_named_columns():
    X = np.array([["a", "u"], ["b", "v"]])
    X.setflags(write=False)
    data = DiscreteDataset.from_arrays(pd.DataFrame(X), np.array([0, 1]))
    assert data.feature_names == ("0", "1")
    assert data.codes.tolist() == [[0, 0], [1, 1]]
