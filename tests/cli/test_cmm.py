"""``mmbn-opt cmm`` as a user meets it: files, exit statuses, what violates is told, predictions from its model."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import run_command
from sklearn.datasets import load_iris

from mmbn_opt.mixtures.classifier import MixtureClassifier

FILES = {"result.json", "model.json", "trace.csv", "report.html", "manifest.json"}


@pytest.fixture(scope="module")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty of each kind of iris, which can be told apart."""
    iris = load_iris(as_frame=True)
    frame = iris.data.assign(species=iris.target_names[iris.target])
    path = tmp_path_factory.mktemp("data") / "flowers.csv"
    frame.groupby("species").head(20).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def solved(flowers: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    out = tmp_path_factory.mktemp("out") / "cmm"
    arguments = ("--data", flowers, "--target", "species", "--components", 1, "--xi-growth", 1, "--out", out)
    return run_command("cmm", *arguments, "--solver", "exterior_penalty"), out


def test_every_sample_is_beyond_xi_and_everything_is_written(
    solved: tuple[subprocess.CompletedProcess[str], Path], flowers: Path
) -> None:
    process, out = solved
    assert process.returncode == 0, process.stderr
    assert {p.name for p in out.iterdir()} == FILES
    answer = json.loads((out / "result.json").read_text())
    assert answer["formulation"] == "MulticlassMargin"
    assert answer["solver"] == "exterior_penalty"
    assert answer["solution_status"] == "FEASIBLE"
    assert answer["certificate"]["ok"] is True
    assert answer["data"] == {"samples": 60, "samples_merged": None, "features": 4, "classes": 3, "dropped": 0}
    assert [part["name"] for part in answer["parts"]] == [
        "setosa against versicolor", "setosa against virginica", "versicolor against virginica",
    ]  # fmt: skip
    assert answer["primal_bound"] == pytest.approx(sum(part["primal_bound"] for part in answer["parts"]))
    assert answer["dual_bound"] is None
    frame = pd.read_csv(flowers)
    model = MixtureClassifier.load(out / "model.json")
    assert model.class_name == "species"
    z = model.standardize(frame.drop(columns="species"))
    for part in model.parts:
        (a,), (b,) = part.groups
        odds = part.decision(z)
        assert odds[(frame["species"] == model.classes[a]).to_numpy()].min() >= 2.6 - 1e-6
        assert odds[(frame["species"] == model.classes[b]).to_numpy()].max() <= -2.6 + 1e-6
    trace = pd.read_csv(out / "trace.csv")
    assert trace["primal_bound"].dropna().is_monotonic_increasing
    assert trace["primal_bound"].iloc[-1] == answer["primal_bound"]
    report = (out / "report.html").read_text()
    for text in ("versicolor against virginica", "Gaussians", "60 samples, 4 features, 3 classes in column “species”"):
        assert text in report
    assert "http://" not in report.replace("http://www.w3.org", "")
    assert "20 samples do" not in process.stdout
    assert "all 40 rows beyond xi" in process.stdout


def test_predict_reads_the_model_and_sums_missing_cells_out(
    solved: tuple[subprocess.CompletedProcess[str], Path], flowers: Path, tmp_path: Path
) -> None:
    _, out = solved
    frame = pd.read_csv(flowers)
    holes = frame.astype(object).where(np.random.default_rng(0).random(frame.shape) > 0.2, np.nan)
    holes["species"] = frame["species"]
    holes["petal width (cm)"] = np.nan
    holes.to_csv(tmp_path / "holes.csv", index=False)
    for path in (flowers, tmp_path / "holes.csv"):
        process = run_command("predict", "--model", out, "--data", path, "--out", tmp_path / "p.csv")
        assert process.returncode == 0, process.stderr
        table = pd.read_csv(tmp_path / "p.csv")
        right = int((table["species"] == frame["species"]).sum())
        assert f"({right} of 60 labelled rows)" in process.stdout
        assert right > 45
        assert table.filter(like="P(species=").sum(axis=1).to_numpy() == pytest.approx(1.0)
    refused = run_command(
        "predict", "--model", out, "--data", write(tmp_path / "x.csv", "a,b\n1,2\n"), "--out", tmp_path / "p"
    )
    assert refused.returncode == 2
    assert "are absent; the data have ['a', 'b']" in refused.stderr


def test_rows_that_miss_xi_are_listed_with_by_how_much(tmp_path: Path) -> None:
    """Two rows with both labels cannot be beyond xi on either side: their violations sum to at least 2 xi."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (20, 2)), rng.normal(5, 1, (20, 2))])
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.repeat([7, 9], 20))
    twins = frame.iloc[:2].assign(kind=9)
    path, out = tmp_path / "data.csv", tmp_path / "out"
    pd.concat([frame, twins]).to_csv(path, index=False)
    process = run_command(
        "cmm", "--data", path, "--target", "kind", "--components", 1, "--out", out, "--time-limit", 20
    )
    assert process.returncode == 1
    table = pd.read_csv(out / "violations.csv")
    assert list(table.columns) == ["part", "row", "label", "log_odds", "violation"]
    missed = table.set_index("row")["violation"].reindex(range(42)).fillna(0.0)
    for row, twin in ((0, 40), (1, 41)):
        assert missed[row] + missed[twin] >= 2 * 2.6 - 1e-6
    answer = json.loads((out / "result.json").read_text())
    assert answer["solution_status"] == "INFEASIBLE"
    assert answer["primal_bound"] is None
    check = answer["certificate"]["checks"][0]
    assert check["ok"] is False
    worst = table.iloc[0]
    assert (
        f"{len(table)} of 42 samples miss xi = 2.6: row {worst['row']} by {worst['violation']:.3g}" in check["detail"]
    )
    assert (out / "report.html").read_text().count(check["detail"]) == 2  # beside its program, and in the certificate
    assert f"{len(table)} rows miss xi" in process.stderr
    assert run_command("predict", "--model", out, "--data", path, "--out", tmp_path / "p.csv").returncode == 0


def test_ctrl_c_writes_the_best_so_far(flowers: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable, "-m", "mmbn_opt", "cmm", "--data", str(flowers), "--target", "species", "--components", "3",
        "--out", str(out),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stderr is not None
    seen = process.stderr.readline()
    assert "start by k-means" in seen
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    answer = json.loads((out / "result.json").read_text())
    assert answer["termination_status"] == "INTERRUPTED"
    assert len(answer["parts"]) == 3
    assert {p.name for p in out.iterdir()} - {"violations.csv"} == FILES
    assert MixtureClassifier.load(out / "model.json").score(*_rows(flowers)) > 0.8


def _rows(path: Path) -> tuple[pd.DataFrame, Any]:
    frame = pd.read_csv(path)
    return frame.drop(columns="species"), frame["species"].to_numpy()


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


TWO = "a,kind\n" + "".join(f"{i}.5,{'x' if i < 5 else 'y'}\n" for i in range(10))


@pytest.mark.parametrize(
    ("content", "options", "text"),
    [
        (TWO, ["--components", "6"], "Class 'x' has 5 samples, fewer than --components 6"),
        (TWO, ["--components", "0"], "--components must be a whole number of at least 1, got 0"),
        (TWO, ["--tau", "0"], "--tau must be a number in (0, 1e+06], got 0"),
        (TWO, ["--xi", "-1"], "--xi must be a number in (0, 1e+12], got -1"),
        (TWO, ["--penalty", "interior"], "'interior' is none of exterior, printed. Did you mean exterior?"),
        (TWO, ["--strategy", "tree"], "'tree' is none of one-vs-one, one-vs-rest."),
        (TWO, ["--missing", "state"], "'state' is none of error, drop, marginalize."),
        (TWO, ["--solver", "highs"], "--solver highs accepts 'mixed-integer linear program'; this"),
        (TWO.replace("y", "x"), [], "The class column holds one class only, 'x'"),
        (TWO.replace("3.5", "?"), [], "Missing values (NaN) in column 'a' (1)"),
        (TWO.replace("3.5", "much"), [], "Columns ['a'] are not numeric"),
        (TWO.replace("3.5,x", "3.5,?"), [], "The class column 'kind' is missing in 1 of 10 rows"),
        (TWO.replace("3.5", "1e200"), [], "Column 'a' holds 1e+200 in row 3"),
        ("a,kind\n", [], "have no rows"),
        (TWO, ["--target", "label"], "label"),
    ],
)  # fmt: skip
def test_bad_input_ends_with_status_2_and_a_sentence(
    content: str, options: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """In this process, since each process takes a second to start."""
    from mmbn_opt.cli import main

    path = write(tmp_path / "data.csv", content)
    given = {"--components": "1", "--target": "kind"} | dict(zip(options[::2], options[1::2], strict=True))
    arguments = [
        "cmm",
        "--data",
        str(path),
        "--out",
        str(tmp_path / "out"),
        *(w for pair in given.items() for w in pair),
    ]
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", *arguments])
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["drop", "marginalize"])
def test_missing_cells_by_policy(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mmbn_opt.cli import main

    path, out = (
        write(tmp_path / "data.csv", TWO.replace("\n3.5", "\n?").replace("a,", "a,b,").replace(".5", ".5,1")),
        tmp_path / "out",
    )
    path.write_text(path.read_text().replace("?", "?,1"))
    monkeypatch.setattr(
        sys, "argv",
        ["mmbn-opt", "cmm", "--data", str(path), "--target", "kind", "--components", "1", "--xi-growth", "1", "--out",
         str(out), "--missing", policy],
    )  # fmt: skip
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0, capsys.readouterr().err
    data = json.loads((out / "result.json").read_text())["data"]
    assert (data["samples"], data["dropped"]) == {"drop": (9, 1), "marginalize": (10, 0)}[policy]


def test_huge_scales_constant_columns_and_duplicate_rows_are_no_trouble(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mmbn_opt.cli import main

    rows = [f"{(i + (0 if kind == 'x' else 40)) * 1e12},{7e12},{kind}" for kind in "xy" for i in range(5)]
    path, out = write(tmp_path / "data.csv", "a,b,kind\n" + "\n".join(rows * 2) + "\n"), tmp_path / "out"
    given = ["--data", str(path), "--target", "kind", "--components", "2", "--xi-growth", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", "cmm", *given])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0, capsys.readouterr().err
    assert "accuracy on the 20 training rows: 1.0000" in capsys.readouterr().out
