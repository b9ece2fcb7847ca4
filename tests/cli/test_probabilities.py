"""Models that commands write carry the calibration that the classifiers choose, and say so; predict uses it."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.cli import main
from mmbn_opt.scores import Reliability


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    mm.load_dataset("iris").to_csv("iris.csv", index=False)


def run(capsys: Any, monkeypatch: Any, *arguments: str) -> tuple[Any, str, str]:
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def classifier(command: str) -> Any:
    """The classifier that does what a command does."""
    if command == "parameters":
        return mm.MaxMarginBayesClassifier(random_state=0, rel_gap=1e-4)
    if command == "structure":
        return mm.MaxMarginStructureClassifier(max_parents=1, random_state=0)
    return mm.CMMClassifier(1, xi_growth=10.0, start="k-means")


SHORT = {"parameters": (), "structure": ("-k", "1"), "cmm": ("-k", "1")}


@pytest.mark.parametrize("command", ["parameters", "structure", pytest.param("cmm", marks=pytest.mark.slow)])
def test_a_command_calibrates_what_it_writes(command: str, capsys: Any, monkeypatch: Any) -> None:
    status, said, _ = run(
        capsys, monkeypatch, command, "-d", "iris.csv", "-t", "class", "-o", "run", "--hold-out", "0.3", *SHORT[command]
    )
    assert status in (0, 1)  # 1 where some rows miss xi
    loaded = mm.load_model("run")
    assert isinstance(loaded, mm.CalibratedModel)
    line = next(line for line in said.splitlines() if line.startswith("probabilities: "))
    assert line == f"probabilities: {loaded.calibration}".replace("held-out rows", "rows held out inside")
    assert "chosen on 105 rows held out inside" in line
    told = json.loads(Path("run/result.json").read_text(encoding="utf-8"))["probabilities"]
    assert told["calibration"]["rows"] == 105.0
    held_out = next(line for line in said.splitlines() if line.startswith("held-out probabilities: "))
    assert f"log loss {told['held_out']['log_loss']:.4f}" in held_out
    page = Path("run/report.html").read_text(encoding="utf-8")
    for words in ("How far probabilities can be believed", "Log loss, held-out rows", "<h2>Why</h2>", "Right and"):
        assert words in page
    assert ("What would flip it" in page) == (command != "cmm")


def test_parameters_choose_what_the_classifier_chooses(capsys: Any, monkeypatch: Any) -> None:
    run(capsys, monkeypatch, "parameters", "-d", "iris.csv", "-t", "class", "-o", "run")
    frame = mm.load_dataset("iris")
    model = classifier("parameters").fit(frame.drop(columns="class"), frame["class"])
    found = mm.load_model("run")
    assert isinstance(found, mm.CalibratedModel)
    assert found.calibration == model.calibration_
    assert np.allclose(found.predict_proba(frame), model.predict_proba(frame.drop(columns="class")), atol=1e-12)


def test_predict_uses_it_and_tells_log_loss(capsys: Any, monkeypatch: Any) -> None:
    run(capsys, monkeypatch, "parameters", "-d", "iris.csv", "-t", "class", "-o", "run")
    _, said, _ = run(capsys, monkeypatch, "predict", "-m", "run", "-d", "iris.csv", "-o", "answers.csv")
    frame = mm.load_dataset("iris")
    model = mm.load_model("run")
    assert isinstance(model, mm.CalibratedModel)
    proba = model.predict_proba(frame)
    answers = pd.read_csv("answers.csv")
    assert answers.iloc[:, 1:].to_numpy() == pytest.approx(proba, abs=1e-12)
    assert np.abs(proba - model.model.predict_proba(frame)).max() > 0.01
    codes = pd.Categorical(frame["class"], categories=model.classes).codes.astype(np.int64)
    with np.errstate(divide="ignore"):
        assert f"probabilities: {Reliability.of(np.log(proba), codes)}" in said


@pytest.mark.parametrize(
    ("arguments", "said", "temperature"),
    [
        (("parameters", "--calibration", "none"), "not calibrated: --calibration none", None),
        (("parameters", "--calibration", "3.5"), "temperature 3.5", 3.5),
        (("structure", "-k", "1", "--calibration", "2"), "temperature 2", 2.0),
        (("structure", "-c", "bic", "-k", "1"), "maximum likelihood is left as it is", None),
        (("parameters", "--method", "ml"), "--calibration temperature gives it one", None),
        (("cmm", "-k", "1", "--calibration", "NONE"), "not calibrated: --calibration none", None),
    ],
)
def test_what_is_asked_for_is_done(
    arguments: tuple[str, ...], said: str, temperature: float | None, capsys: Any, monkeypatch: Any
) -> None:
    _, told, _ = run(capsys, monkeypatch, *arguments, "-d", "iris.csv", "-t", "class", "-o", "run")
    assert said in told
    model = mm.load_model("run")
    if temperature is None:
        assert not isinstance(model, mm.CalibratedModel)
    else:
        assert isinstance(model, mm.CalibratedModel)
        assert model.calibration.temperature == temperature
    reason = json.loads(Path("run/result.json").read_text(encoding="utf-8"))["probabilities"]["calibration"]["reason"]
    assert bool(reason) == (temperature is None)


@pytest.mark.parametrize("command", list(SHORT))
@pytest.mark.parametrize("text", ["cold", "0", "-1", "nan", "inf", ""])
def test_a_calibration_that_is_none_is_refused_before_anything_is_read(
    command: str, text: str, capsys: Any, monkeypatch: Any
) -> None:
    status, _, errors = run(
        capsys, monkeypatch, command, "-d", "no such file", "-t", "class", "-o", "run", "--calibration", text
    )
    assert status == 2
    assert f"--calibration must be auto, temperature, none or a number > 0, got {text!r}" in errors


def test_a_network_of_a_calibrated_run_answers_for_itself(capsys: Any, monkeypatch: Any) -> None:
    run(capsys, monkeypatch, "parameters", "-d", "iris.csv", "-t", "class", "-o", "run")
    status, said, _ = run(capsys, monkeypatch, "query", "-m", "run", "-t", "petal_length", "-g", "class=Iris-setosa")
    assert status == 0
    model = mm.load_model("run")
    assert isinstance(model, mm.CalibratedModel)
    wanted = mm.BayesianNetwork.load("run/model.json").query("petal_length", {"class": "Iris-setosa"})
    assert f"{wanted.max():.6f}" in said


def test_few_rows_have_no_calibration_and_the_reason_is_said(capsys: Any, monkeypatch: Any) -> None:
    mm.load_dataset("iris").iloc[::6].to_csv("few.csv", index=False)
    _, said, _ = run(capsys, monkeypatch, "parameters", "-d", "few.csv", "-t", "class", "-o", "run")
    assert "probabilities: not calibrated: 25 rows, fewer than 30" in said
