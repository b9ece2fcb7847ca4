"""Labels keep their types, their number and their odd characters, through every table and every model file."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.interop.jkl import write_jkl

TEXT_ONLY = ("bif", "bif.gz", "xmlbif", "pyagrum")

ODD = ["a,b", "{x}", "[0, 1)", "(0.5, inf)", " lead", "a b", 'say "so"', "it's", "ä日本", "50%", "a;b", "x|y", "\\n"]


def fitted(labels: Any, n_features: int = 1) -> mm.BayesianNetwork:
    rows = [[f"s{(k + j) % 3}" for j in range(n_features)] for k in range(len(labels))]
    data = mm.DiscreteDataset.from_arrays(rows, labels)
    return mm.BayesianNetwork.fit(mm.naive_bayes(data), data)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1, 3, 1]),
        np.array([True, False, True]),
        np.array(["b", "a", "b"]),
        pd.Categorical(["v", "u", "v"], categories=["v", "u"]),
        np.array([1.5, 0.5, 1.5]),
    ],
    ids=["int", "bool", "str", "categorical", "float"],
)
def test_label_types_change(travel: Any, labels: Any) -> None:
    if isinstance(labels, np.ndarray) and labels.dtype == float:
        labels = labels.astype(object)  # fractions are refused as numbers, and fine as labels
    network = fitted(labels)
    again = travel(network)
    if travel.place in TEXT_ONLY:
        assert [str(c) for c in network.classes] == list(again.classes)
    else:
        assert again.classes.dtype == network.classes.dtype
        assert again.classes.tolist() == network.classes.tolist()
        assert [type(c) for c in again.predict([["s0"], ["s1"]]).tolist()] == [type(np.asarray(labels)[0].item())
            if isinstance(np.asarray(labels)[0], np.generic) else type(np.asarray(labels)[0])] * 2  # fmt: skip
    assert np.allclose(again.predict_proba([["s0"], ["s1"]]), network.predict_proba([["s0"], ["s1"]]), rtol=1e-12)


def test_label_types_of_a_table(kind: str, read_as: Any) -> None:
    frame = pd.DataFrame({"A": list("uvuv"), "C": [3, 1, 3, 1]})
    data = mm.prepare(read_as(kind, frame), "C").data
    assert data.target.states == (1, 3)
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    assert network.predict(pd.DataFrame({"A": ["u", "v"]})).tolist() == [3, 1]


def test_more_than_two_classes_with_labels_that_are_not_counted_from_0(travel: Any) -> None:
    labels = [0, 2, 7, 2, 7, 7]
    network = travel(fitted(np.array(labels), n_features=2))
    assert [int(c) for c in network.classes] == [0, 2, 7]
    table = network.predict_proba([["s0", "s1"], ["s2", "s0"]])
    assert table.shape == (2, 3)
    chosen = network.predict([["s0", "s1"], ["s2", "s0"]])
    assert chosen.tolist() == [network.classes[k] for k in table.argmax(axis=1)]


def test_more_than_two_classes_of_a_table(kind: str, read_as: Any) -> None:
    frame = pd.DataFrame({"A": list("uvwuvw"), "C": [7, 2, 0, 7, 2, 0]})
    data = mm.prepare(read_as(kind, frame), "C").data
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    assert network.predict(pd.DataFrame({"A": list("uvw")})).tolist() == [7, 2, 0]


def test_predict_and_predict_proba_disagree(kind: str, read_as: Any, travel: Any) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.choice(list("ab"), (200, 3)), columns=list("FGH"))
    frame["C"] = np.where(rng.random(200) < 0.97, "often", "rarely")
    data = mm.prepare(read_as(kind, frame), "C").data
    network = travel(mm.BayesianNetwork.fit(mm.tan_cmi(data), data))
    probabilities = network.predict_proba(frame[list("FGH")])
    assert np.array_equal(network.predict(frame[list("FGH")]), network.classes[probabilities.argmax(axis=1)])
    tie = fitted(np.array(["n", "y", "n", "y", "n", "y"]))
    assert np.array_equal(tie.predict([["s0"]]), ["n"])


def test_state_names_with_commas_brackets_spaces_quotes_and_unicode(kind: str, read_as: Any, travel: Any) -> None:
    frame = pd.DataFrame({"odd name, (1]": ODD * 2, "C": ["n", "y"] * len(ODD)})
    table = read_as(kind, frame)
    # Blanks around a cell of delimited text are no part of it.
    expected = [s.strip() if kind in ("csv", "csv.gz", "tsv") else s for s in ODD]
    data = mm.DiscreteDataset.from_frame(table, "C")
    assert data.features[0].name == "odd name, (1]"
    assert set(data.features[0].states) == set(expected)
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    again = travel(network)
    assert [v.name for v in again.variables] == ["odd name, (1]", "C"]
    assert again.features[0].states == network.features[0].states
    rows = pd.DataFrame({"odd name, (1]": expected})
    assert np.allclose(again.predict_proba(rows), network.predict_proba(rows), rtol=1e-12)


def test_states_that_are_intervals_of_pandas(travel: Any) -> None:
    cut = pd.cut(pd.Series([0.1, 0.4, 0.9, 0.7]), [0, 0.5, 1])
    data = mm.DiscreteDataset.from_frame(pd.DataFrame({"A": cut, "C": list("nnyy")}), "C")
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    again = travel(network)
    assert [str(s) for s in again.features[0].states] == ["(0.0, 0.5]", "(0.5, 1.0]"]
    assert (type(again.features[0].states[0]) is str) is (travel.place in TEXT_ONLY)
    assert np.allclose(again.predict_proba(pd.DataFrame({"A": cut})), network.predict_proba(pd.DataFrame({"A": cut})))


def test_a_label_that_a_format_cannot_hold_is_named(tmp_path: Path) -> None:
    clash = mm.DiscreteDataset.from_arrays([["u"], ["v"]], np.array([1, "1"], dtype=object))
    network = mm.BayesianNetwork.fit(mm.naive_bayes(clash), clash)
    for write in (network.to_bif, network.to_xmlbif):
        with pytest.raises(mm.InputError, match=r"Column 'class' has the states .*, which have the same text"):
            write(tmp_path / "n")
    with pytest.raises(mm.InputError, match=r"empty or hold white space, which a .jkl file cannot keep; rename"):
        write_jkl(tmp_path / "s.jkl", ["a b"], {"a b": [(0.0, ())]})


def test_odd_labels_in_predictions(command: Callable[..., Any], tmp_path: Path) -> None:
    labels = ["a,b", 'say "so"', "ä;"]
    data = mm.DiscreteDataset.from_arrays([[s] for s in ODD[:3]], np.array(labels, dtype=object), feature_names=["A"])
    mm.BayesianNetwork.fit(mm.naive_bayes(data), data).save(tmp_path / "m.json")
    pd.DataFrame({"A": ODD[:3]}).to_csv(tmp_path / "t.csv", index=False)
    done = command("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert done.status == 0, done.err
    table = mm.read_table(tmp_path / "p.csv")
    assert table["class"].tolist() == labels
    assert set(table.columns[1:]) == {f"P(class={s})" for s in labels}
    assert np.allclose(table.iloc[:, 1:].sum(axis=1), 1.0, rtol=1e-12)


def test_models_are_copied_by_pickle_and_deepcopy(travel: Any) -> None:
    network = travel(fitted(np.array([1, 3, 1, 3])))
    for again in (pickle.loads(pickle.dumps(network)), deepcopy(network)):
        assert again.variables == network.variables
        assert np.array_equal(again.predict_proba([["s0"]]), network.predict_proba([["s0"]]))
