"""Accuracy on rows that nothing was learned from: where they come from, what is counted, and where it is told."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.cli import main
from mmbn_opt.cli.accuracy import rate_of
from mmbn_opt.data import holdout_rows, read_table
from mmbn_opt.mixtures.classifier import MixtureClassifier

QUICK = {
    "structure": ["--score", "bic", "-k", "1"],
    "parameters": ["--method", "ml"],
    "cmm": ["-k", "1", "--xi-growth", "1", "-l", "10"],
}


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mm.load_dataset("iris").to_csv("iris.csv", index=False)


def run(capsys, monkeypatch, command, *options):
    arguments = [command, "-d", "iris.csv", "-t", "class", "-o", "out", "-q", *QUICK[command], *options]
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code in (0, 1), said.err  # 1: some rows of cmm may miss xi
    return said.out, json.loads(Path("out/result.json").read_text())


def load(command):
    return MixtureClassifier.load("out/model.json") if command == "cmm" else mm.BayesianNetwork.load("out/model.json")


@pytest.mark.parametrize("command", QUICK)
def test_a_share_is_held_out_and_counted_by_itself(command, capsys, monkeypatch):
    said, answer = run(capsys, monkeypatch, command, "--hold-out", ".3", "--seed", "5")
    frame = read_table("iris.csv")
    learned, held_out = holdout_rows(pd.factorize(frame["class"])[0], test_fraction=0.3, seed=5)
    assert answer["data"]["samples"] == len(learned) == 105
    predicted = load(command).predict(frame.drop(columns="class").iloc[held_out])
    right = int((predicted == frame["class"].iloc[held_out].to_numpy()).sum())
    told = answer["accuracy"]["held_out"][-1]
    assert (told["right"], told["rows"]) == (right, 45)
    assert told["accuracy"] == pytest.approx(right / 45)
    assert told["standard_error"] == pytest.approx(np.sqrt(right / 45 * (1 - right / 45) / 45))
    assert "held-out accuracy on 45 rows (--hold-out 0.3, seed 5):" in said
    assert f"{right / 45:.4f}" in said
    assert "accuracy on the 105 training rows: " in said
    assert "no promise" not in said
    trained = load(command).predict(frame.drop(columns="class").iloc[learned])
    rate = float((trained == frame["class"].iloc[learned].to_numpy()).mean())
    assert answer["accuracy"]["training"] == {"accuracy": pytest.approx(rate), "rows": 105}


@pytest.mark.parametrize("command", QUICK)
def test_without_rows_held_out_all_rows_are_learned_from_and_the_rate_is_called_what_it_is(
    command, capsys, monkeypatch
):
    said, answer = run(capsys, monkeypatch, command)
    assert answer["data"]["samples"] == 150
    assert answer["accuracy"]["held_out"] == []
    assert "accuracy on the 150 training rows: " in said
    assert "no promise for new rows, see --hold-out and --test" in said
    assert "held-out" not in said


@pytest.mark.parametrize("command", QUICK)
def test_rows_of_another_file_are_held_out_and_a_class_never_seen_is_an_error(command, capsys, monkeypatch):
    frame = mm.load_dataset("iris")
    frame.iloc[::2].to_csv("iris.csv", index=False)
    other = frame.iloc[1::2].copy()
    other["class"] = other["class"].astype(object)
    other.iloc[0, -1] = "Iris-unheard-of"
    other.iloc[1, -1] = None
    other.to_csv("other.csv", index=False)
    said, answer = run(capsys, monkeypatch, command, "--test", "other.csv")
    assert answer["data"]["samples"] == 75
    told = answer["accuracy"]["held_out"][-1]
    predicted = load(command).predict(other.drop(columns="class"))
    assert told["rows"] == 74, "a row without a label can't be right or wrong"
    assert told["right"] == int((predicted == other["class"].to_numpy()).sum())
    assert "held-out accuracy on 74 rows (other.csv):" in said
    status = said.splitlines()
    assert any(line.strip().startswith(("this network", "these mixtures")) for line in status)


def test_the_rows_held_out_do_not_move_a_cut(capsys, monkeypatch):
    """What is learned must be the same whatever the rows held out look like."""
    frame = mm.load_dataset("iris")
    frame.iloc[::2].to_csv("iris.csv", index=False)
    models = []
    for shift in (0.0, 100.0):
        other = frame.iloc[1::2].copy()
        other[other.columns[:-1]] += shift
        other.to_csv("other.csv", index=False)
        run(capsys, monkeypatch, "structure", "--test", "other.csv")
        models.append(load("structure"))
    assert [v.cuts for v in models[0].features] == [v.cuts for v in models[1].features]
    assert models[0].structure == models[1].structure


def test_the_report_has_the_rates_beside_each_other(capsys, monkeypatch):
    _, answer = run(capsys, monkeypatch, "structure", "--hold-out", ".3")
    names = [rate["name"] for rate in answer["accuracy"]["held_out"]]
    assert names == ["naive Bayes", "TAN", "this network"]
    page = Path("out/report.html").read_text()
    assert all(name in page for name in names)
    assert "45 rows that no model was fitted to" in page


def test_a_table_without_a_class_has_no_rate():
    data = mm.prepare(mm.load_dataset("iris"), "class").data
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    frame = read_table("iris.csv")
    assert rate_of(network, frame.drop(columns="class")) is None
    assert rate_of(network, frame.assign(**{"class": None})) is None
    assert rate_of(network, frame).rows == 150
