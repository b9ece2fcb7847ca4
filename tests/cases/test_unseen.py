"""What was never seen: categories, declared states, parent configurations, impossible rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm


def train() -> pd.DataFrame:
    return pd.DataFrame({"A": list("0101101"), "B": list("xyxyyxx"), "C": list("nynynyy")})


def naive(frame: pd.DataFrame, **options: Any) -> mm.BayesianNetwork:
    data = mm.prepare(frame, "C", kinds=dict.fromkeys(set(frame.columns) - {"C"}, "categorical")).data
    return mm.BayesianNetwork.fit(mm.naive_bayes(data), data, **options)


def test_a_category_never_seen_in_training(kind: str, read_as: Any) -> None:
    network = naive(read_as(kind, train()))
    rows = read_as(kind, pd.DataFrame({"A": ["9", "0"], "B": ["x", "y"]}))
    with pytest.raises(
        mm.InputError, match=r"Column 'A' holds '?9'?, never seen in training; known states: '?0'?, '?1"
    ):
        network.predict_proba(rows, unseen="error")
    with pytest.warns(UserWarning, match=r"summed out: column 'A' holds '?9'? \(1 of 2 rows\)"):
        told = network.predict_proba(rows)
    got = network.predict_proba(rows, unseen="missing")
    assert np.array_equal(told, got)
    summed = network.predict_proba(pd.DataFrame({"A": [None, "0"], "B": ["x", "y"]}))
    assert np.allclose(got, summed, rtol=1e-14)
    # B alone decides row 0: P(y | x) from the counts with one pseudo-count, by hand.
    joint = np.array([(2 + 1) / (3 + 2) * (3 + 1) / 9, (2 + 1) / (4 + 2) * (4 + 1) / 9])
    assert np.allclose(got[0], joint / joint.sum(), rtol=1e-12)


def test_a_category_never_seen_in_a_table_that_comes_later(kind: str, read_as: Any) -> None:
    preparation = mm.prepare(read_as(kind, train()), "C", kinds={"A": "categorical"})
    later = read_as(kind, pd.DataFrame({"A": ["9"], "B": ["x"], "C": ["n"]}))
    with pytest.raises(mm.InputError, match=r"Column 'A' holds '?9'?, never seen"):
        preparation.apply(later)


def test_a_category_never_seen_on_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    naive(train()).save(tmp_path / "model.json")
    (tmp_path / "rows.csv").write_text("A,B\n9,x\n0,y\n")
    arguments = ("predict", "--model", tmp_path / "model.json", "--data", tmp_path / "rows.csv")
    refused = command(*arguments, "--out", tmp_path / "out.csv", "--unseen", "error")
    assert refused.status == 2
    assert "Column 'A' holds 9, never seen in training; known states: '0', '1'" in refused.err
    assert not (tmp_path / "out.csv").exists()
    assert command(*arguments, "--out", tmp_path / "out.csv", "--unseen", "missing").status == 0
    table = pd.read_csv(tmp_path / "out.csv")
    assert np.allclose(table[["P(C=n)", "P(C=y)"]].sum(axis=1), 1.0, rtol=1e-12)
    assert command(*arguments, "--out", tmp_path / "out.csv", "--unseen", "ignore").status == 2


def declared(read_as: Any, kind: str) -> pd.DataFrame:
    frame = train().assign(A=["x", "y", "x", "y", "y", "x", "y"])
    types = {name: pd.CategoricalDtype(states) for name, states in {"A": list("xyz"), "C": list("nym")}.items()}
    return read_as(kind, frame.astype(types))


def test_declared_states_never_seen(declaring_kind: str, read_as: Any, caplog: pytest.LogCaptureFixture) -> None:
    frame = declared(read_as, declaring_kind)
    smoothed = naive(frame)
    assert smoothed.features[0].states == ("x", "y", "z")
    assert smoothed.target.states == ("n", "y", "m")
    # Class n has A = x, x, y; class m was never seen.
    expected = [[3 / 6, 2 / 6, 1 / 6], [2 / 7, 4 / 7, 1 / 7], [1 / 3, 1 / 3, 1 / 3]]
    assert np.allclose(smoothed.cpt("A"), expected, rtol=1e-12)
    with caplog.at_level("INFO", "mmbn_opt"):
        counted = naive(frame, smoothing=0.0)
    assert np.allclose(counted.cpt("A"), [[2 / 3, 1 / 3, 0], [1 / 4, 3 / 4, 0], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-12)
    assert "'A': 1 of 3 rows of its table were never seen and are uniform" in caplog.text
    assert np.allclose(counted.cpt("C"), [[3 / 7, 4 / 7, 0.0]], rtol=1e-12)
    # z has probability 0 under the classes that were seen, and m, under which it has not, has probability 0 itself.
    rows = pd.DataFrame({"A": ["z"], "B": ["x"]})
    assert np.allclose(counted.predict_proba(rows), [[3 / 7, 4 / 7, 0.0]], rtol=1e-12)


def test_declared_states_never_seen_come_back_with_the_network(travel: Any, read_as: Any) -> None:
    network = naive(declared(read_as, "frame"))
    again = travel(network)
    assert [v.states for v in again.variables] == [v.states for v in network.variables]
    assert np.isfinite(np.concatenate([t.ravel() for t in again.log_cpts])).all()


def test_a_parent_configuration_never_seen(kind: str, read_as: Any) -> None:
    frame = read_as(kind, pd.DataFrame({"A": list("001"), "B": list("010"), "C": list("110")}))
    data = mm.prepare(frame, "C").data
    structure = mm.Structure.from_names(("A", "B"), "C", [("A", "C"), ("B", "C")])
    for smoothing in (0.0, 1.0, mm.Dirichlet(1.0)):
        rows = mm.BayesianNetwork.fit(structure, data, smoothing=smoothing).cpt("C").to_numpy()
        assert np.allclose(rows[3], [0.5, 0.5], rtol=1e-14)
        assert np.allclose(rows.sum(axis=1), 1.0, rtol=1e-14)


def test_every_class_has_probability_0(travel: Any, caplog: pytest.LogCaptureFixture) -> None:
    frame = pd.DataFrame({"A": list("xxyy"), "B": list("uvuv"), "C": list("nnny")})
    data = mm.DiscreteDataset.from_frame(frame, "C")
    structure = mm.Structure.from_names(("A", "B"), "C", [("C", "A"), ("C", "B"), ("A", "B")])
    network = travel(mm.BayesianNetwork.fit(structure, data, smoothing=0.0))
    # B given (A, C): (y, y) has only v, (y, n) only u; A given y has only y. So (x, ...) leaves n, and B = u there.
    impossible = mm.BayesianNetwork.fit(structure, data.subset([0, 2, 3]), smoothing=0.0)
    rows = [["x", "v"]]
    for model in (impossible, travel(impossible)):
        caplog.clear()
        assert np.allclose(model.predict_proba(rows), [[2 / 3, 1 / 3]], rtol=1e-12)
        assert np.allclose(np.exp(model.predict_log_proba(rows)), [[2 / 3, 1 / 3]], rtol=1e-12)
        assert str(model.predict(rows)[0]) == "n"
        assert "1 of 1 rows are impossible under every class; they get the class prior" in caplog.text
    caplog.clear()
    assert np.allclose(network.predict_proba(rows), [[1.0, 0.0]], rtol=1e-12)
    assert not caplog.text


def test_every_class_has_probability_0_on_the_command_line(
    command: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    frame = pd.DataFrame({"A": list("xyy"), "C": list("nny"), "B": list("uuv")})
    data = mm.DiscreteDataset.from_frame(frame, "C")
    mm.BayesianNetwork.fit(mm.naive_bayes(data), data, smoothing=0.0).save(tmp_path / "model.json")
    (tmp_path / "rows.csv").write_text("A,B\nx,v\ny,u\n")
    done = command(
        "predict", "--model", tmp_path / "model.json", "--data", tmp_path / "rows.csv", "--out", tmp_path / "out.csv"
    )
    assert done.status == 0
    assert "1 of 2 rows are impossible under every class; they get the class prior" in caplog.text
    table = pd.read_csv(tmp_path / "out.csv")
    assert np.allclose(table[["P(C=n)", "P(C=y)"]], [[2 / 3, 1 / 3], [1.0, 0.0]], rtol=1e-12)
