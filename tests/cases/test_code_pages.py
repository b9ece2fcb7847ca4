"""B6: streams with a code page: names and labels that it lacks are escaped, and no run ends for it."""

import csv
import io
import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt import cli

ENCODINGS = ["ascii", "us-ascii", "cp1252", "latin-1", "cp437", "shift_jis", "utf-8", "utf-16"]
COLUMNS = {"年": ["😀", "größe", "😀", "\u202eabc"], "a\tb": ["x", "y", "y", "x"], "class": ["да", "нет", "да", "нет"]}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "年.csv"
    pd.DataFrame(COLUMNS).loc[[0, 1, 2, 3] * 5].to_csv(path, index=False, encoding="utf-8")
    return path


@pytest.fixture
def through(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``through(encoding, "structure", ...)``: exit status and the bytes of both streams, which encode strictly."""

    def run(encoding: str, *arguments: Any) -> tuple[int, bytes, bytes]:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict") for _ in range(2)]
        monkeypatch.setattr(sys, "argv", ["mmbn-opt", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        status: Any = 0
        try:
            cli.main()
        except SystemExit as leave:
            status = leave.code or 0
        written = []
        for stream in streams:
            stream.flush()
            assert isinstance(stream.buffer, io.BytesIO)
            written.append(stream.buffer.getvalue())
        return status, written[0], written[1]

    return run


def escaped(text: str, encoding: str) -> str:
    return text.encode(encoding, "backslashreplace").decode(encoding).removeprefix("\ufeff")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_b6_a_search_whose_names_the_stream_lacks_ends_well(encoding: str, through: Any, rows: Path) -> None:
    out = rows.parent / "年 out"
    status, said, beside = through(
        encoding, "structure", "--data", rows, "--target", "class", "--max-parents", 1, "--out", out
    )
    text = said.decode(encoding)
    assert status == 0, beside.decode(encoding)
    assert escaped("  年", encoding) in text
    assert escaped(f"report: {out / 'report.html'}", encoding) in text
    assert "by naive_bayes" in beside.decode(encoding)
    # Files are UTF-8 whatever the streams are.
    page = (out / "report.html").read_text(encoding="utf-8")
    HTMLParser().feed(page)
    assert '<meta charset="utf-8">' in page.lower()
    assert "年" in page
    assert "年" in json.loads((out / "model.json").read_text(encoding="utf-8"))["features"][0]["name"]

    target = rows.parent / "predictions.csv"
    status, said, beside = through(encoding, "predict", "--model", out, "--data", rows, "--out", target)
    assert status == 0, beside.decode(encoding)
    assert "accuracy: " in said.decode(encoding)
    with target.open(encoding="utf-8", newline="") as stream:
        assert next(csv.reader(stream)) == ["class", "P(class=да)", "P(class=нет)"]
    assert set(mm.read_table(target)["class"]) <= {"да", "нет"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_b6_errors_are_told_in_the_streams_own_signs(encoding: str, through: Any, rows: Path) -> None:
    out = rows.parent / "out"
    status, _, beside = through(encoding, "structure", "--data", rows, "--target", "Straße 年", "--out", out)
    assert status == 2
    assert escaped("error: There is no target column 'Straße 年'", encoding) in beside.decode(encoding)
    status, _, beside = through(
        encoding, "structure", "--data", rows.with_name("月.csv"), "--target", "c", "--out", out
    )
    assert status == 2
    assert escaped("月.csv", encoding) in beside.decode(encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "command", ["structure", "parameters", "cmm", "predict", "query", "compare", "export", "demo", "solvers"]
)
def test_b6_help_can_be_read(encoding: str, command: str, through: Any) -> None:
    status, said, _ = through(encoding, command, "--help")
    assert status == 0
    assert "Usage" in said.decode(encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_b6_a_pipe_with_a_code_page(encoding: str, rows: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(Path(mm.__file__).parents[1])}
    done = subprocess.run(
        [
            sys.executable, "-m", "mmbn_opt", "structure", "--data", rows, "--target", "class", "--max-parents", "1",
            "--out", rows.parent / "out",
        ],
        env=environment, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"  \\u5e74 " in done.stdout
    assert done.stdout.isascii()
