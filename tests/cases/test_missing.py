"""Missing cells, at prediction and in training, in every format."""

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
    structure = mm.Structure.from_names("FGH", "class", [("class", "F"), ("F", "G"), ("class", "G"), ("G", "H")])
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
    with pytest.raises(mm.InputError, match="class column 'C' is missing in 1 of 3 rows; label or remove them"):
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
