"""Many runs: how many are done, and how long the others will take."""

import logging
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mmbn_opt as mm
from mmbn_opt.cli.progress import RunsProgress
from mmbn_opt.results import pace
from mmbn_opt.tuning.many_runs import run_until_interrupted


def test_lines_end_with_the_time_left(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 110.0, 112.0, 130.0])
    monkeypatch.setattr(pace.Pace.__init__, "__kwdefaults__", {"every": 3.0, "clock": lambda: next(moments)})
    with RunsProgress() as runs:
        runs.say("third", 3, 6)  # two were done before
        runs.say("fourth", 4, 6)
        runs.say("sixth", 6, 6)
    assert capsys.readouterr().err.splitlines() == [
        "third; about 30 s left",
        "fourth; about 12 s left",
        "sixth",
    ]


def test_a_terminal_has_a_bar_and_the_lines_above_it(tmp_path: Path) -> None:
    mm.load_dataset("corral").to_csv(tmp_path / "corral.csv", index=False)
    command = [
        sys.executable, "-m", "mmbn_opt", "compare", "-d", "corral.csv", "-t", "class", "--solvers", "highs",
        "--seeds", "0,1", "--time-limit", "60", "-o", "out",
    ]  # fmt: skip
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    process.communicate(timeout=200)
    os.close(master)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "[1/2] corral highs seed 0: OPTIMAL" in text
    assert "2/2" in text
    assert re.search(r"about \d+ (s|min) left", text)


def test_a_choice_tells_of_its_folds(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace.Pace.__init__, "__kwdefaults__", {"every": 0.0, "clock": time.monotonic})
    with caplog.at_level(logging.INFO, logger="mmbn_opt"):
        assert run_until_interrupted(abs, [(-1,), (2,), (-3,)], None) == [1, 2, 3]
    told = [record.getMessage() for record in caplog.records]
    assert told == ["1 of 3 done, about 1 s left", "2 of 3 done, about 1 s left"]
