"""``mmbn-opt compare`` as a user meets it: files, exit statuses, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import pandas as pd
import pytest
from commands import run_command

import mmbn_opt as mm
from mmbn_opt.cli import main
from mmbn_opt.comparison import RunRecord

FILES = {"results.csv", "report.html", "runs", "manifest.json"}


def command(*arguments):
    return [sys.executable, "-m", "mmbn_opt", "compare", *map(str, arguments)]


run = partial(run_command, "compare", timeout=250)


@pytest.fixture(scope="module")
def corral(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "corral.csv"
    mm.load_dataset("corral").to_csv(path, index=False)
    return path


def test_a_comparison_writes_table_page_and_one_file_a_run_and_is_not_done_twice(corral, tmp_path):
    out = tmp_path / "out"
    arguments = ("--data", corral, "--target", "class", "--solvers", "highs,ecos", "--time-limit", "60", "--out", out)
    process = run(*arguments)
    assert process.returncode == 0, process.stderr
    assert {p.name for p in out.iterdir()} == FILES
    table = pd.read_csv(out / "results.csv")
    assert table[["formulation", "solver", "status", "solved"]].values.tolist() == [
        ["corral", "highs", "OPTIMAL", True]
    ]
    assert table.loc[0, "primal_bound"] == pytest.approx(261.1347997401562, abs=1e-6)
    [path] = (out / "runs").iterdir()
    record = RunRecord.from_json(path.read_text())
    assert record.bounds.primal_bound == pytest.approx(table.loc[0, "primal_bound"])
    assert "[1/1] corral highs seed 0: OPTIMAL" in process.stderr
    assert "left out: ecos on corral: accepts convex program" in process.stdout
    page = (out / "report.html").read_text()
    assert "Solvers on corral" in page
    assert "mmbn-opt compare --data" in page
    before = path.stat().st_mtime_ns
    again = run(*arguments)
    assert again.returncode == 0, again.stderr
    assert "[1/1]" not in again.stderr
    assert path.stat().st_mtime_ns == before
    assert pd.read_csv(out / "results.csv").equals(table)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (("--solvers", "hihgs"), "unknown solver 'hihgs'"),
        (("--seeds", "a"), "'a' is not a list of whole numbers separated by commas"),
        (("--time-limit", "-1"), "--time-limit must be a finite number of seconds >= 0"),
    ],
)
def test_bad_input_ends_with_status_2(corral, tmp_path, extra, message, monkeypatch, capsys):
    arguments = ["--data", str(corral), "--target", "class", "--out", str(tmp_path / "out"), *extra]
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", "compare", *arguments])
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_keeps_what_is_done(corral, tmp_path):
    out = tmp_path / "out"
    arguments = ("--data", corral, "--target", "class", "--solvers", "highs", "--seeds", "0,1,2,3,4,5", "--out", out)
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 120
        while len(list(out.glob("runs/*.json"))) < 2:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, stderr
    assert "interrupted: what is done is kept" in stdout
    table = pd.read_csv(out / "results.csv")
    assert 2 <= len(table) < 6
    assert len(list(out.glob("runs/*.json"))) == len(table)
    assert (out / "report.html").is_file()
