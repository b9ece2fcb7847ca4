"""``mmbn-opt sequences``: learn from a long table, label another, and refuse in the words of the command line."""

import sys

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.cli import main


def long_table(n, seed):
    rng = np.random.default_rng(seed)
    rows = []
    for word in range(n):
        label = rng.integers(2)
        for place in range(rng.integers(2, 7)):
            label = label if rng.random() < 0.85 else 1 - label
            seen = "ab"[label] if rng.random() < 0.85 else "ba"[label]
            rows.append(
                {"word": f"w{word}", "place": place, "seen": seen, "shape": rng.integers(2), "tag": "XY"[label]}
            )
    return pd.DataFrame(rows)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    long_table(60, 0).sample(frac=1.0, random_state=1).to_csv("train.csv", index=False)
    long_table(40, 1).to_csv("test.csv", index=False)
    long_table(5, 2).drop(columns="tag").to_csv("new.csv", index=False)
    return tmp_path


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", "sequences", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


LEARN = ["-d", "train.csv", "-t", "tag", "-g", "word", "--order", "place", "-o", "out"]


@pytest.mark.parametrize("method", ["max-margin", "markov-network", "conditional-likelihood", "cg-mm", "ml"])
def test_a_model_is_learned_tested_written_and_used(method, capsys, monkeypatch):
    status, said, _ = run(capsys, monkeypatch, *LEARN, "-M", method, "--test", "test.csv")
    assert status == 0
    held_out = float(said.partition("held out: ")[2].split()[0])
    assert held_out > 0.85
    assert "[FAILED]" not in said
    data = mm.SequenceDataset.from_frame(pd.read_csv("test.csv"), "tag", group="word", order="place")
    model = mm.load_model("out")
    labels = [c for y in model.predict(data) for c in y]
    truth = [c for y in data.decode(data.label_codes) for c in y]
    assert held_out == pytest.approx(np.mean([a == b for a, b in zip(labels, truth, strict=True)]), abs=5e-5)
    status, said, _ = run(
        capsys, monkeypatch, "-m", "out", "-d", "new.csv", "-g", "word", "--order", "place", "-o", "labels.csv"
    )
    assert (status, said) == (0, f"5 sequences, {len(pd.read_csv('new.csv'))} positions labelled: labels.csv\n")
    written = pd.read_csv("labels.csv")
    assert list(written.columns) == ["word", "place", "tag", "P(tag=X)", "P(tag=Y)"]
    assert written[["P(tag=X)", "P(tag=Y)"]].sum(axis=1).to_numpy() == pytest.approx(1.0)


def test_tables_by_counting_are_written_with_their_proof(capsys, monkeypatch):
    status, said, told = run(capsys, monkeypatch, *LEARN, "-M", "ml", "--smoothing", "2", "--gamma", "3")
    assert status == 0
    assert "status: OPTIMAL" in said
    assert "[ok] objective and bound" in said
    assert "--gamma plays no part in --method ml" in told
    data = mm.SequenceDataset.from_frame(pd.read_csv("train.csv"), "tag", group="word", order="place")
    assert mm.load_model("out").vector == pytest.approx(mm.HiddenMarkovClassifier.fit(data, 2.0).vector)
    assert run(capsys, monkeypatch, *LEARN, "-M", "ml", "--smoothing", "-1")[0] == 2


def test_labels_of_a_file_that_has_them_are_counted(capsys, monkeypatch):
    assert run(capsys, monkeypatch, *LEARN, "--window", "1,1")[0] == 0
    status, said, _ = run(capsys, monkeypatch, "-m", "out", "-d", "test.csv", "-g", "word", "-o", "labels.csv")
    assert status == 0
    assert float(said.partition("accuracy: ")[2].split()[0]) > 0.8
    assert "predicted tag" in pd.read_csv("labels.csv").columns


def test_symbols_that_were_never_seen_are_told(capsys, monkeypatch):
    run(capsys, monkeypatch, *LEARN)
    frame = pd.read_csv("new.csv")
    frame.loc[0, "seen"] = "z"
    frame.to_csv("new.csv", index=False)
    arguments = ["-m", "out", "-d", "new.csv", "-g", "word", "--order", "place", "-o", "labels.csv"]
    status, _, errors = run(capsys, monkeypatch, *arguments)
    assert status == 0
    assert "'seen' holds 'z'" in errors
    status, said, errors = run(capsys, monkeypatch, *arguments, "--unseen", "error")
    assert (status, said) == (2, "")
    assert "'z', never seen in training" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-d", "train.csv", "-g", "word", "-o", "out"], "--target must name the column of the labels"),
        (["-d", "train.csv", "-t", "tags", "-g", "word", "-o", "out"], "--target must be a column of the table"),
        (["-d", "train.csv", "-t", "tag", "-g", "words", "-o", "out"], "--group must be a column of the table"),
        ([*LEARN[:-4], "--order", "shape", "-o", "out"], "twice; each position"),
        ([*LEARN, "--gamma", "0"], "--gamma must be a number"),
        ([*LEARN, "--gamma", "1", "--B", "1"], "Give gamma or B, not both"),
        ([*LEARN, "--window", "3"], "--window must be BEFORE,AFTER"),
        ([*LEARN, "--min-prob", "0.9"], "--min-prob must be a number"),
        ([*LEARN, "--solver", "clarabel"], "--solver clarabel accepts"),
        ([*LEARN, "-d", "none.csv"], "No such file: none.csv"),
        ([*LEARN, "--test", "new.csv"], "the columns ['tag'] are absent"),
        (["-m", "none", "-d", "new.csv", "-g", "word", "-o", "labels.csv"], "none"),
    ],
)
def test_what_cannot_be_done_is_refused_in_options(arguments, message, capsys, monkeypatch):
    status, said, errors = run(capsys, monkeypatch, *arguments)
    assert (status, said) == (2, "")
    assert message in errors


def test_an_option_of_another_method_is_told(capsys, monkeypatch):
    status, _, errors = run(capsys, monkeypatch, *LEARN, "--C", "2")
    assert status == 0
    assert "--C plays no part in --method max-margin; it is of markov-network" in errors


def test_models_of_other_kinds_are_sent_to_their_commands(capsys, monkeypatch):
    mm.MaxMarginBayesClassifier(iterations=2).fit([["a"], ["b"]] * 5, [0, 1] * 5).save("table.json")
    status, _, errors = run(capsys, monkeypatch, "-m", "table.json", "-d", "new.csv", "-g", "word", "-o", "labels.csv")
    assert status == 2
    assert "mmbn-opt predict uses the others" in errors
    run(capsys, monkeypatch, *LEARN)
    for command in (["predict", "-m", "out", "-d", "new.csv", "-o", "labels.csv"], ["query", "-m", "out", "-t", "tag"]):
        monkeypatch.setattr(sys, "argv", ["mmbn-opt", *command])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert "mmbn-opt sequences --model" in capsys.readouterr().err
