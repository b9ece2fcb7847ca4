"""Sequences from lists and from long tables: what they may look like, and what is said of those that can't be used."""

from collections import deque

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mmbn_opt as mm
from mmbn_opt.data.sequences import encode_sequences
from mmbn_opt.data.windows import windowed_codes


def codes_of(data):
    return [data.codes[a:b].tolist() for a, b in zip(data.starts[:-1], data.starts[1:], strict=True)]


SAME = {
    "texts": ["ab", "b"],
    "lists of symbols": [["a", "b"], ["b"]],
    "tuples": (("a", "b"), ("b",)),
    "lists of rows": [[["a"], ["b"]], [["b"]]],
    "arrays": [np.array([["a"], ["b"]]), np.array([["b"]])],
    "flat arrays": [np.array(["a", "b"]), np.array(["b"])],
    "series": [pd.Series(["a", "b"]), pd.Series(["b"])],
    "pandas tables": [pd.DataFrame({"x0": ["a", "b"]}), pd.DataFrame({"x0": ["b"]})],
    "polars tables": [pl.DataFrame({"x0": ["a", "b"]}), pl.DataFrame({"x0": ["b"]})],
    "mappings": [[{"x0": "a"}, {"x0": "b"}], [{"x0": "b"}]],
    "a ragged array of objects": np.array([np.array(["a", "b"]), np.array(["b"])], dtype=object),
}


@pytest.mark.parametrize("form", SAME)
def test_sequences_of_every_form_are_the_same_data(form):
    data = mm.SequenceDataset.from_lists(SAME[form], [["X", "Y"], ["Y"]])
    assert codes_of(data) == [[[0], [1]], [[1]]]
    assert data.features[0].name == "x0"
    assert data.features[0].states == ("a", "b")
    assert data.decode(data.label_codes) == [["X", "Y"], ["Y"]]
    codes, starts = encode_sequences(SAME[form], data.features)
    assert codes.tolist() == data.codes.tolist()
    assert starts.tolist() == [0, 2, 3]


def test_labels_and_symbols_keep_their_types():
    data = mm.SequenceDataset.from_lists([np.array([[1, 0], [2, 1]]), np.array([[1, 1]])], [[True, False], [False]])
    assert [v.states for v in data.features] == [(1, 2), (0, 1)]
    assert data.decode(data.label_codes) == [[True, False], [False]]


def test_positions_of_mixed_types_keep_them_apart():
    data = mm.SequenceDataset.from_lists([[["a", 1], [None, 2]]], ["XY"])
    assert data.features[0].states == ("a",)
    assert data.features[1].states == (1, 2)
    assert codes_of(data) == [[[0, 0], [-1, 1]]]
    assert data.n_missing == 1


def test_an_absent_feature_of_a_mapping_is_missing():
    data = mm.SequenceDataset.from_lists([[{"word": "the", "caps": True}, {"word": "dog"}]], [["D", "N"]])
    assert codes_of(data) == [[[1, 0], [0, -1]]]


def test_missing_cells_are_told(caplog):
    mm.SequenceDataset.from_lists([["a", None, "b"]], ["XYX"])
    assert "1 of 3 cells are missing; their terms are left out of the scores" in caplog.text


AB = [["a", "b"], ["b"]]
WRONG = {
    "no list": ("ab", ["XY"], "X must be a list of sequences.*got 'ab'.*goes into a list"),
    "one array": (np.arange(3), [["X"] * 3], r"X must be a list of sequences.*goes into a list: \[X\]"),
    "no sequences": ([], [], "X holds no sequence"),
    "an empty sequence": ([["a"], []], [["X"], []], r"X\[1\] is an empty sequence"),
    "a number": ([["a"], 5], ["X", "Y"], r"X\[1\] must be a sequence of positions, got 5"),
    "fewer labels than sequences": (AB, [["X", "Y"]], "X holds 2 sequences, y holds 1"),
    "fewer labels than positions": (AB, [["X", "Y"], []], r"X\[1\] has 1 positions, y\[1\] has 0 labels"),
    "more labels than positions": (AB, [["X", "Y"], ["X", "Y"]], r"X\[1\] has 1 positions, y\[1\] has 2 labels"),
    "a missing label": (AB, [["X", None], ["Y"]], r"y\[0\] has no label at position 1"),
    "a label that is NaN": (AB, [[0.0, np.nan], [1.0]], r"y\[0\] has no label at position 1"),
    "labels of one sequence": (AB, "XYY", r"y must be a list of label sequences.*got 'XYY'"),
    "a label for each sequence": (AB, [1, 2], r"y\[0\] must be a sequence of labels, got 1"),
    "lists as labels": (AB, [["X", ["Y"]], ["Y"]], r"y\[0\] holds \['Y'\] at position 1"),
    "other features": (
        [np.zeros((2, 2)), np.zeros((1, 3))],
        ["XY", "Y"],
        r"X\[1\] has 3 features.*X\[0\] has 2 features",
    ),
    "ragged positions": ([[["a", "b"], ["c"]]], ["XY"], r"Position 1 of X\[0\] holds \['c'\]"),
    "names beside none": ([pd.DataFrame({"a": ["u"]}), ["u"]], ["X", "Y"], r"X\[1\] has 1 feature without names"),
    "quantities": ([[0.5, 1.25]], ["XY"], "Column 'x0' is numeric with 2 distinct values"),
    "quantities as labels": (AB, [[0.5, 1.25], [2.5]], "Column 'label' is numeric"),
    "too many dimensions": ([np.zeros((2, 2, 2))], ["XY"], r"X\[0\] must be two-dimensional.*\(2, 2, 2\)"),
    "a feature without a symbol": ([[["a", None]]], ["X"], "Column 'x1' has no states"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_used_is_refused_by_name(case):
    X, y, message = WRONG[case]
    with pytest.raises(mm.InputError, match=message):
        mm.SequenceDataset.from_lists(X, y)


def test_names_of_features_are_held_against_their_number():
    assert mm.SequenceDataset.from_lists(AB, ["XY", "Y"], feature_names=["seen"]).features[0].name == "seen"
    with pytest.raises(mm.InputError, match="1 feature without names, but 2 feature names"):
        mm.SequenceDataset.from_lists(AB, ["XY", "Y"], feature_names=["a", "b"])


def table():
    return pd.DataFrame(
        {
            "word": ["w2", "w1", "w1", "w2", "w1"],
            "place": [7, 2, 1, 3, 3],
            "seen": ["e", "b", "a", "d", "c"],
            "shape": [1, 0, 1, 0, 1],
            "label": ["V", "Y", "X", "U", "Z"],
        }
    )


@pytest.mark.parametrize("form", [lambda t: t, pl.from_pandas], ids=["pandas", "polars"])
def test_rows_of_a_long_table_are_sorted_within_their_groups(form):
    data = mm.SequenceDataset.from_frame(form(table()), "label", group="word", order="place")
    assert data.decode(data.label_codes) == [["U", "V"], ["X", "Y", "Z"]]
    assert [v.name for v in data.features] == ["seen", "shape"]
    assert [data.features[0].states[c] for c in data.codes[:, 0]] == ["d", "e", "a", "b", "c"]


def test_without_an_order_rows_stay_as_they_stand():
    data = mm.SequenceDataset.from_frame(table(), "label", group="word", features=["seen"])
    assert data.decode(data.label_codes) == [["V", "U"], ["Y", "X", "Z"]]
    assert [v.name for v in data.features] == [
        "seen",
    ]


def test_places_are_sorted_as_numbers_or_as_texts():
    frame = pd.DataFrame({"g": [1, 1, 1], "n": [10, 9, 2], "x": list("abc"), "y": list("UVW")})
    data = mm.SequenceDataset.from_frame(frame, "y", group="g", order="n")
    assert data.decode(data.label_codes) == [["W", "V", "U"]]


LONG = {
    "an unknown group": ({"group": "words"}, None, "group must be a column of the table.*got 'words'"),
    "an unknown label": ({"target": "tag"}, None, "target must be a column.*got 'tag'"),
    "an unknown order": ({"order": "position"}, None, "order must be a column.*got 'position'"),
    "unknown features": ({"features": ["seen", "size"]}, None, r"features names unknown columns \['size'\]"),
    "no features": ({"features": []}, None, "no column of observations"),
    "one column twice": ({"order": "word"}, None, "must be different columns"),
    "the same place twice": ({}, lambda t: t.assign(place=[7, 2, 2, 3, 3]), "word='w1' has place=2 twice"),
    "a missing group": ({}, lambda t: t.assign(word=["w2", None, "w1", "w2", "w1"]), "'word'.*missing in row 1"),
    "a missing place": ({}, lambda t: t.assign(place=[7, 2, 1, 3, None]), "'place'.*missing in row 4"),
    "a missing label": ({}, lambda t: t.assign(label=["V", "Y", None, "U", "Z"]), "'label'.*missing in row 2"),
    "no rows": ({}, lambda t: t.head(0), "no rows"),
    "an order of texts and numbers": ({}, lambda t: t.assign(place=["a", 2, 1, 3, 3]), "mixes texts and numbers"),
}


@pytest.mark.parametrize("case", LONG)
def test_long_tables_that_cannot_be_used_are_refused_by_name(case):
    changed, change, message = LONG[case]
    frame = table() if change is None else change(table())
    settings = {"target": "label", "group": "word", "order": "place"} | changed
    with pytest.raises(mm.InputError, match=message):
        mm.SequenceDataset.from_frame(frame, settings.pop("target"), **settings)


def test_a_window_shows_what_lies_before_and_after_and_nothing_of_other_sequences():
    data = mm.SequenceDataset.from_lists(["abc", "cb"], ["XYX", "YX"]).with_window(1, 2)
    assert data.observed_names == ("x0[-1]", "x0", "x0[+1]", "x0[+2]")
    assert data.observed_codes.tolist() == [
        [-1, 0, 1, 2],
        [0, 1, 2, -1],
        [1, 2, -1, -1],
        [-1, 2, 1, -1],
        [2, 1, -1, -1],
    ]
    assert data.observed_cardinalities == (3, 3, 3, 3)
    assert windowed_codes(data.codes, data.starts, (0, 0)) is data.codes
    with pytest.raises(mm.InputError, match="window must be a pair"):
        data.with_window(-1, 2)


def test_a_subset_keeps_all_labels_and_symbols():
    data = mm.SequenceDataset.from_lists(["abc", "cb", "a"], ["XYX", "YX", "Y"])
    part = data.subset([2, 0])
    assert codes_of(part) == [[[0]], [[0], [1], [2]]]
    assert part.features == data.features
    assert part.decode(part.label_codes) == [["Y"], ["X", "Y", "X"]]
    with pytest.raises(mm.InputError, match="No sequence is left"):
        data.subset(np.zeros(3, dtype=bool))


def test_one_label_only_is_refused_where_margins_are_asked_for():
    data = mm.SequenceDataset.from_lists(["ab", "b"], ["XX", "X"])
    with pytest.raises(mm.InputError, match="y holds one label only, 'X', at 3 positions"):
        mm.SequenceMaxMargin(data)


def test_unseen_symbols_count_as_missing_with_a_warning_or_are_refused():
    features = mm.SequenceDataset.from_lists(["ab"], ["XY"]).features
    with pytest.warns(UserWarning, match="never seen in training"):
        codes, _ = encode_sequences(["az"], features)
    assert codes.tolist() == [[0], [-1]]
    assert encode_sequences(["az"], features, unseen="missing")[0].tolist() == [[0], [-1]]
    with pytest.raises(mm.InputError, match="'z', never seen in training"):
        encode_sequences(["az"], features, unseen="error")


def test_columns_of_tables_are_matched_by_name_at_prediction():
    frame = pd.DataFrame({"a": ["u", "v"], "b": ["r", "s"]})
    data = mm.SequenceDataset.from_lists([frame], ["XY"])
    codes, _ = encode_sequences([frame[["b", "a"]]], data.features)
    assert codes.tolist() == data.codes.tolist()
    with pytest.raises(mm.InputError, match=r"Columns \['b'\] are absent"):
        encode_sequences([frame[["a"]]], data.features)
    with pytest.raises(mm.InputError, match="but the model has 2 features"):
        encode_sequences(["uv"], data.features)


def test_a_data_set_is_encoded_by_its_labels():
    data = mm.SequenceDataset.from_lists(["bc", "c"], ["XY", "Y"])
    wider = mm.SequenceDataset.from_lists(["abc"], ["XYX"])
    codes, starts = encode_sequences(data, wider.features)
    assert codes.ravel().tolist() == [1, 2, 2]
    assert starts.tolist() == [0, 2, 3]


def of_graphs():
    """Labels on graphs other than chains, in the forms that somebody would try."""
    nx = pytest.importorskip("networkx")
    pairs = pd.DataFrame({"head": ["X", "Y"], "child": ["Y", "X"]})
    return {
        "graph": nx.path_graph(["X", "Y"]), "directed graph": nx.DiGraph([("X", "Y")]), "set": {"X", "Y"},
        "frozen set": frozenset("XY"), "table": pairs, "polars table": pl.from_pandas(pairs), "adjacency": {"X": ["Y"]},
        "grid": np.array([["X", "Y"], ["Y", "X"]]), "edges": [("X", "Y"), ("Y", "X")], "nested": [["X"], ["Y", "X"]],
        "label sets": [frozenset("X"), {"Y"}], "series": [pd.Series(["X"]), pd.Series(["Y"])],
        "graphs as labels": [nx.path_graph(2), nx.path_graph(2)],
    }  # fmt: skip


def test_labels_on_other_graphs_than_chains_are_refused_and_it_is_said_so():
    for form, labels in of_graphs().items():
        with pytest.raises(mm.InputError) as refused:
            mm.SequenceDataset.from_lists(["ab", "ba"], [labels, labels])
        assert str(refused.value).startswith("y[0] "), form
        assert "Labels lie on a chain; trees, grids and other graphs of labels are not supported." in str(refused.value)


@pytest.mark.parametrize(
    "labels",
    [
        "XY", ["X", "Y"], ("X", "Y"), np.array(["X", "Y"]), pd.Series(["X", "Y"]), pd.Index(["X", "Y"]),
        pd.Categorical(["X", "Y"]), pl.Series(["X", "Y"]), deque("XY"), {"X": 1, "Y": 2}.keys(),
    ],
    ids=lambda labels: type(labels).__module__ + "." + type(labels).__name__,
)  # fmt: skip
def test_labels_in_an_order_are_taken_in_any_form(labels):
    data = mm.SequenceDataset.from_lists(["ab", "ba"], [labels, iter("YX")])
    assert data.decode(data.label_codes) == [["X", "Y"], ["Y", "X"]]
