"""Missing cells, at prediction and in training, in every format."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm


def test_a_missing_cell_at_predict(kind: str, read_as: Any, travel: Any) -> None:
    rng = np.random.default_rng(0)
    rows = rng.choice(list("abc"), (60, 3))
    data = mm.DiscreteDataset.from_arrays(rows, np.where(rows[:, 0] == rows[:, 1], "n", "y"), feature_names=list("FGH"))
    structure = mm.Structure.from_names(list("FGH"), "class", [("class", "F"), ("F", "G"), ("class", "G"), ("G", "H")])
    network = travel(mm.BayesianNetwork.fit(structure, data))
    table = read_as(kind, pd.DataFrame({"F": ["a", "b"], "G": ["b", None], "H": ["c", "a"]}))
    joint = np.exp(network.log_joint(network.encode(table)))
    # Summing over the states that the cell could have had is the answer, cell by cell.
    filled = pd.DataFrame({"F": ["b"] * 3, "G": list("abc"), "H": ["a"] * 3})
    expected = np.exp(network.log_joint(network.encode(filled))).sum(axis=0)
    assert np.allclose(joint[1], expected, rtol=1e-12)
    assert np.allclose(network.predict_proba(table)[1], expected / expected.sum(), rtol=1e-12)
    # P(missing child) sums to 1: without G and H only F and the class are left.
    alone = np.exp(network.log_joint(np.array([[0, -1, -1]], dtype=np.int32)))[0]
    f = np.exp(network.log_cpts[0])[:, 0] * np.exp(network.log_cpts[3])[0]
    assert np.allclose(alone, f, rtol=1e-12)


def test_every_cell_of_a_row_is_missing(kind: str, read_as: Any) -> None:
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"], ["a"]], list("nny"), feature_names=["F"])
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    table = read_as(kind, pd.DataFrame({"F": [None, "a"], "G": ["1", "2"]}).astype({"F": object}))
    assert np.allclose(network.predict_proba(table)[0], [3 / 5, 2 / 5], rtol=1e-12)


@pytest.fixture
def gaps(kind: str, read_as: Any) -> pd.DataFrame:
    """The column [0, 1, nan, nan], and one of text with a gap."""
    frame = pd.DataFrame({"A": [0, 1, np.nan, np.nan], "B": ["u", None, "v", "u"], "C": list("nyny")})
    table: pd.DataFrame = read_as(kind, frame)
    return table


def test_a_missing_cell_in_training_is_an_error_with_counts(gaps: pd.DataFrame) -> None:
    for make in (lambda: mm.prepare(gaps, "C"), lambda: mm.DiscreteDataset.from_frame(gaps, "C")):
        with pytest.raises(mm.InputError, match=r"Missing cells in 'A' \(2 cells\), 'B' \(1 cells\). Pass missing="):
            make()


def test_a_missing_cell_in_training_drops_its_row(gaps: pd.DataFrame) -> None:
    for data in (
        mm.prepare(gaps, "C", missing="drop").data,
        mm.DiscreteDataset.from_frame(gaps, "C", missing="drop"),
    ):
        assert (data.n_samples, data.n_dropped) == (1, 3)
        assert [str(s) for s in data.features[0].states] in (["0"], ["0.0"])
        assert data.features[1].states == ("u",)


def test_a_missing_cell_in_training_becomes_a_state(gaps: pd.DataFrame) -> None:
    for data in (
        mm.prepare(gaps, "C", missing="state").data,
        mm.DiscreteDataset.from_frame(gaps, "C", missing="state"),
    ):
        assert data.codes.tolist() == [[0, 0], [1, 2], [2, 1], [2, 0]]
        assert [float(s) for s in data.features[0].states[:2]] == [0.0, 1.0]
        assert data.features[0].states[2] == data.features[1].states[2] == "<missing>"


def test_a_missing_class_is_refused(kind: str, read_as: Any) -> None:
    table = read_as(kind, pd.DataFrame({"A": list("uvu"), "C": ["n", None, "y"]}))
    with pytest.raises(mm.InputError, match="column 'C' is missing in 1 of 3 rows; label them, or leave them out"):
        mm.prepare(table, "C")


@pytest.mark.parametrize(
    ("policy", "status", "told"),
    [
        ("error", 2, "Missing cells in 'B' (1 cells)"),
        ("drop", 0, "accuracy on the 3 training rows"),
        ("state", 0, "accuracy on the 4 training rows"),
        ("ignore", 2, "'ignore' is none of error, drop, state."),
    ],
)
def test_a_missing_cell_in_training_on_the_command_line(
    command: Callable[..., Any], tmp_path: Path, policy: str, status: int, told: str
) -> None:
    (tmp_path / "t.csv").write_text("A,B,C\nx,u,n\ny,,y\nx,v,n\ny,u,y\n")
    done = command(
        "parameters", "--data", tmp_path / "t.csv", "--target", "C", "--method", "ml",
        "--missing", policy, "--out", tmp_path / "out",
    )  # fmt: skip
    assert (done.status, told in done.out + done.err) == (status, True), done
    if status == 0:
        network = mm.BayesianNetwork.load(tmp_path / "out" / "model.json")
        assert ("<missing>" in network.features[1].states) is (policy == "state")


def unlabelled() -> pd.DataFrame:
    labels = ["n", "y", None, "n", "y", None, "n", "y"]
    return pd.DataFrame({"a": ["u", "v", "w", "u", None, "v", "u", "v"], "C": labels})


@pytest.mark.parametrize("make", [mm.prepare, mm.DiscreteDataset.from_frame], ids=["B12 prepare", "B12 from_frame"])
def test_rows_without_a_label_are_dropped_and_counted(
    make: Any, kind: str, read_as: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """B12: with the rows that miss another cell, and a value that only they have is no state."""
    with caplog.at_level("WARNING", "mmbn_opt"):
        made = make(read_as(kind, unlabelled()), "C", missing="drop")
    data = made.data if isinstance(made, mm.Preparation) else made
    assert (data.n_samples, data.n_dropped) == (5, 3)
    assert "The class column 'C' is missing in 2 of 8 rows, which are left out" in caplog.text
    assert data.features[0].states == ("u", "v")
    assert data.target.states == ("n", "y")


def test_rows_without_a_label_are_dropped_from_a_test_part() -> None:
    """B12: what was decided in training holds for other rows."""
    preparation = mm.prepare(unlabelled().iloc[[0, 1, 3]], "C", missing="drop")
    data = preparation.apply(unlabelled().iloc[[0, 2, 5, 6]].replace("w", "u"))
    assert (data.n_samples, data.n_dropped) == (2, 2)
    assert mm.DiscreteDataset.from_variables(
        unlabelled(), preparation.data.features, preparation.data.target, missing="drop", unseen="missing"
    ).n_samples == 5  # fmt: skip


@pytest.mark.parametrize("missing", ["error", "state"])
def test_rows_without_a_label_are_refused_with_the_cure(missing: Any) -> None:
    """B12."""
    with pytest.raises(mm.InputError, match=r'in 2 of 8 rows; .* missing="drop"'):
        mm.prepare(unlabelled(), "C", missing=missing)


def test_a_table_without_any_label(command: Callable[..., Any], tmp_path: Path) -> None:
    """B12."""
    with pytest.raises(mm.InputError, match="No row is left"):
        mm.prepare(unlabelled().assign(C=None), "C", missing="drop")


@pytest.mark.parametrize("name", ["structure", "parameters", "cmm"])
def test_rows_without_a_label_on_the_command_line(
    name: str, command: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """B12: ``--missing drop`` says how many, and the result counts them."""
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0] * 4, "b": [1, 2, 1, 2, 2, 1] * 4, "C": list("nnnyyy") * 4}
    )
    frame.loc[[3, 4], "C"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ("--data", tmp_path / "t.csv", "--target", "C", "--out", tmp_path / "o")
    more = {"structure": ("--max-parents", 1), "cmm": ("--components", 1)}.get(name, ())
    done = command(name, *options, *more)
    assert done.status == 2
    assert "--missing drop" in done.err
    done = command(name, *options, *more, "--missing", "drop")
    assert done.status in (0, 1), done.err
    assert "missing in 2 of 24 rows, which are left out" in caplog.text
    assert json.loads((tmp_path / "o" / "result.json").read_text())["data"]["dropped"] == 2
