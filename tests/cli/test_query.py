"""``mmbn-opt query``: answers, and refusals in the words of the command line."""

import re
import sys

import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with a network as BIF, XMLBIF and in a folder, and a table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    frame = mm.load_dataset("corral")
    data = mm.DiscreteDataset.from_frame(frame, "class")
    network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    network.to_bif("net.bif")
    network.to_xmlbif("net.xml")
    (tmp_path / "model").mkdir()
    network.save("model/model.json")
    frame.drop(columns="class").head(5).to_csv("cases.csv", index=False)
    iris = mm.prepare(mm.load_dataset("iris"), "class").data
    mm.BayesianNetwork.fit(mm.naive_bayes(iris), iris).save("iris.json")
    return network


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", "query", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


@pytest.mark.parametrize("model", ["net.bif", "net.xml", "model", "model/model.json"])
def test_a_posterior_is_printed_by_state(model, folder, capsys, monkeypatch):
    status, said, errors = run(capsys, monkeypatch, "-m", model, "-t", "class", "-g", "A0=1", "--given", "B1=0")
    assert (status, errors) == (0, "")
    wanted = folder.query("class", {"A0": "1", "B1": "0"})
    printed = dict(line.split() for line in said.splitlines()[2:])
    assert {state: f"{p:.6f}" for state, p in wanted.items()} == printed


def test_joint_answers_explanations_estimates_and_all_nodes(folder, capsys, monkeypatch):
    joint = run(capsys, monkeypatch, "-m", "net.bif", "-t", "A0", "-t", "B1", "-g", "class=1")
    wanted = folder.query(["A0", "B1"], {"class": "1"})
    assert joint[0] == 0
    assert re.findall(r"0\.\d{6}", joint[1]) == [f"{p:.6f}" for p in wanted]
    best = run(capsys, monkeypatch, "-m", "net.bif", "--most-probable", "-g", "class=1")[1]
    assert dict(line.split(" = ") for line in best.splitlines()) == folder.map_query(evidence={"class": "1"})
    estimate = run(capsys, monkeypatch, "-m", "net.bif", "-t", "A0", "-g", "class=1", "--samples", "1000")[1]
    assert "standard_error" in estimate
    assert "of 1000 samples count" in estimate
    everything = run(capsys, monkeypatch, "-m", "net.bif", "-g", "class=1")[1]
    assert [line.partition(":")[0] for line in everything.splitlines()] == list(folder.structure.names)
    assert "class: 0 0.000000, 1 1.000000" in everything


def test_cases_of_a_file_are_answered_in_a_file(folder, capsys, monkeypatch):
    status, said, _ = run(capsys, monkeypatch, "-m", "net.bif", "-t", "class", "-d", "cases.csv", "-o", "answers.csv")
    assert (status, said) == (0, "5 cases answered: answers.csv\n")
    answers = pd.read_csv("answers.csv")
    assert list(answers.columns) == ["P(class=0)", "P(class=1)"]
    wanted = folder.query("class", pd.read_csv("cases.csv", dtype=str))
    assert abs(answers.to_numpy() - wanted.to_numpy()).max() < 1e-12
    run(capsys, monkeypatch, "-m", "net.bif", "--most-probable", "-d", "cases.csv", "-o", "best.csv")
    assert list(pd.read_csv("best.csv").columns) == list(folder.structure.names)


def test_a_number_lies_in_an_interval(capsys, monkeypatch):
    status, said, _ = run(capsys, monkeypatch, "-m", "iris.json", "-t", "class", "-g", "petal_length=1.4")
    assert status == 0
    assert float(said.splitlines()[2].split()[-1]) > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-t clas", "no node 'clas'; did you mean 'class'?"),
        ("-t class -g A0=yes", "Node 'A0' has no state 'yes'. Its states are ['0', '1']"),
        ("-t class -g A0", "--given must be NODE=STATE, got 'A0'"),
        ("-t class -g class=1", "Target 'class' is in the evidence itself ('1'); leave one of the two out"),
        ("-t class -d cases.csv", "--data and --out belong together"),
        ("-d cases.csv -o out.csv", "--data needs --target, or --most-probable"),
        ("-t class -d cases.csv -o out.csv -g A0=1", "--given and --samples are for one case"),
        ("-t class -d none.csv -o out.csv", "No such file: none.csv"),
        ("-t class -d cases.csv -o none/out.csv", "does not exist. Make it or choose another path"),
        ("--samples 10", "--samples needs --target"),
        ("-t class --samples 0", "--samples must be a whole number >= 1, got 0"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_options(arguments, message, capsys, monkeypatch):
    status, said, errors = run(capsys, monkeypatch, "-m", "net.bif", *arguments.split())
    assert (status, said) == (2, "")
    assert message in errors


def test_mixtures_are_no_network(capsys, monkeypatch):
    X = mm.load_dataset("iris")
    model = mm.CMMClassifier(n_components=1).fit(X.drop(columns="class").iloc[::5], X["class"].iloc[::5])
    model.model_.save("mixtures.json")
    status, _, errors = run(capsys, monkeypatch, "-m", "mixtures.json", "-t", "class")
    assert status == 2
    assert "holds Gaussian mixtures, which only mmbn-opt predict can use" in errors
