"""Tables larger than memory on the command line: codes in a file give the answers of codes in memory."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.cli import main

pytest.importorskip("pyarrow")

QUICK = {
    "structure": ["--score", "bic", "-k", "2"],
    "parameters": ["--method", "ml", "--structure", "tan-cmi"],
}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 900
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame({"a": y ^ (rng.random(n) < 0.1), "b": rng.normal(size=n) + 2 * y, "y": np.where(y, "p", "n")})
    frame["c"] = np.where(frame["a"].to_numpy().astype(bool) ^ (rng.random(n) < 0.3), "u", "v")
    Path("rows").mkdir()
    for part in range(3):
        frame[300 * part : 300 * (part + 1)].to_parquet(f"rows/{part}.parquet", index=False)
    frame.to_parquet("whole.parquet", index=False)
    frame[::7].to_csv("other.csv", index=False)


def run(capsys, monkeypatch, command, data, *options, code=0):
    arguments = [command, "-d", data, "-t", "y", "-o", "out", "-q", *options]
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == code, said.err
    return said


@pytest.mark.parametrize("command", QUICK)
def test_answers_are_those_of_the_table_in_memory(command, capsys, monkeypatch):
    run(capsys, monkeypatch, command, "rows", "--codes-in", "codes", "--test", "other.csv", *QUICK[command])
    answer, model = json.loads(Path("out/result.json").read_text()), mm.BayesianNetwork.load("out/model.json")
    assert np.load("codes/codes.npy").shape == (4, 900)
    assert np.load("codes/codes.npy").dtype == np.int8
    run(capsys, monkeypatch, command, "whole.parquet", "--test", "other.csv", *QUICK[command])
    twin, other = json.loads(Path("out/result.json").read_text()), mm.BayesianNetwork.load("out/model.json")
    assert answer["primal_bound"] == pytest.approx(twin["primal_bound"], rel=1e-9)
    assert set(model.structure.edges) == set(other.structure.edges)
    assert answer["accuracy"] == twin["accuracy"]


def test_a_margin_structure_is_proved_and_calibrated_on_rows_of_the_file(capsys, monkeypatch):
    said = run(capsys, monkeypatch, "structure", "rows", "--codes-in", "codes", "-l", "20")
    answer = json.loads(Path("out/result.json").read_text())
    run(capsys, monkeypatch, "structure", "whole.parquet", "-l", "20")
    twin = json.loads(Path("out/result.json").read_text())
    assert answer["primal_bound"] == pytest.approx(twin["primal_bound"], rel=1e-9)
    assert "probabilities: temperature" in said.out


def test_what_does_not_go_together_is_told_before_anything_is_read(capsys, monkeypatch):
    told = run(capsys, monkeypatch, "structure", "rows", "--codes-in", "codes", "--hold-out", ".2", code=2).err
    assert "--hold-out needs the table in memory" in told
    assert "--test" in told
    told = run(capsys, monkeypatch, "structure", "absent", "--codes-in", "codes", code=2).err
    assert "No such file or folder: absent" in told
    told = run(capsys, monkeypatch, "structure", "other.csv", "--codes-in", "codes", code=2).err
    assert "other.csv" in told
    Path("codes").mkdir()
    Path("codes/codes.npy").write_bytes(b"")
    told = run(capsys, monkeypatch, "structure", "rows", "--codes-in", "codes", code=2).err
    assert "--codes-in" in told
    assert "codes_in" not in told
    assert "Name another folder" in told


def test_numeric_columns_are_refused_where_nothing_may_be_cut(capsys, monkeypatch):
    told = run(capsys, monkeypatch, "structure", "rows", "--codes-in", "codes", "--no-discretize", code=2).err
    assert "column 'b' is numeric" in told
    assert not Path("codes/codes.npy").exists()
