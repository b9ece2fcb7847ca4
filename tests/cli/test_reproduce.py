"""``mmbn-opt reproduce`` as a new user meets it: the list, wrong names, no data, Ctrl-C, the same folder again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from commands import run_command

from mmbn_opt.cli import main
from mmbn_opt.reproduction import experiment_names

MINE = """
title = "Two classifiers on two sets"
source = "here"
sets = ["iris", "corral"]
[splits]
folds = 4
[methods]
NB = { kind = "naive-bayes" }
TAN = { kind = "tan" }
[quick]
sets = ["iris"]
"""


def command(*arguments):
    return [sys.executable, "-m", "mmbn_opt", "reproduce", *map(str, arguments)]


run = partial(run_command, "reproduce", timeout=250)


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return path


def told(*arguments, capsys, monkeypatch):
    """Status, stdout and stderr of the command in this process."""
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", "reproduce", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as ended:
        main()
    output = capsys.readouterr()
    return ended.value.code or 0, output.out, output.err


def test_the_list_says_what_there_is_and_runs_nothing(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    status, out, _ = told("--list", capsys=capsys, monkeypatch=monkeypatch)
    assert status == 0
    assert re.search(r"^peharz2012-table2 +Accuracy of exact max-margin structures", out, flags=re.MULTILINE)
    assert "30 sets, 6 methods" in out
    assert not list(tmp_path.iterdir())


TABLE2 = "peharz2012-table2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "error: Name an experiment, or say --all; --list tells what there is."),
        ("peharz2012-tabel2 --out o", "did you mean 'peharz2012-table2'?"),
        ("table2 --out o", "error: 'table2' is no experiment"),
        ("gone.toml --out o", "error: 'gone.toml' can't be read: No such file or directory."),
        (TABLE2, "error: --out is missing: a folder for the results."),
        (f"{TABLE2} --all --out o", "error: --all takes no names"),
        (f"{TABLE2} --quick --full --out o", "error: --quick and --full exclude each other"),
        (f"{TABLE2} --out o --sets irsi", "error: --sets must name data sets of peharz2012-table2, got 'irsi'"),
        (f"{TABLE2} --out o --methods SMM", "error: --methods must name methods of peharz2012-table2, got 'SMM'"),
        (f"{TABLE2} --out o --splits 0", "error: --splits must be a whole number >= 1, got 0."),
        (f"{TABLE2} --out o --splits x", "'x' is not a whole number"),
        (f"{TABLE2} --out o --sets letter", "error: The data set 'letter' is not here: put letter.csv"),
        (f"{TABLE2} --out o --sets shuttle-small", "error: --sets cannot hold 'shuttle-small': the 5,800 rows"),
        (f"{TABLE2} --out o --data nowhere", "error: --data must be a folder with one file a data set"),
        (f"{TABLE2} --out o --sets iris --jobs 0", "error: --jobs must be a whole number other than 0"),
    ],
)
def test_what_cannot_be_done_is_told_in_options_and_ends_with_2(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    status, out, err = told(*arguments.split(), capsys=capsys, monkeypatch=monkeypatch)
    assert status == 2
    assert message in err
    assert "Traceback" not in err
    assert out == ""
    assert not (tmp_path / "o" / "runs").exists() or not list((tmp_path / "o" / "runs").iterdir())


def test_without_data_the_sets_of_the_package_are_run_and_the_others_named(tmp_path):
    out = tmp_path / "out"
    done = run(
        "peharz2012-table2", "--out", out, "--methods", "NB", "--sets", "iris,corral", "--splits", 1, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "[2/2] corral NB, split 0: accuracy" in done.stderr
    assert "left" in done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "accuracy on held-out rows, %; the paper's in brackets"
    assert lines[2].split() == ["iris", "96.67", "(94.00)"]
    assert lines[-1] == f"table: {out / 'peharz2012-table2' / 'table.md'}"
    table = (out / "peharz2012-table2" / "table.md").read_text(encoding="utf-8")
    assert "| iris | NB | 96.67" in table
    assert "| 1 |" in table
    assert "shuttle-small: the 5,800 rows of MLC++ have no public copy" in table
    assert {p.name for p in out.iterdir()} == {"runs", "peharz2012-table2"}


@pytest.mark.slow
def test_a_second_run_does_what_is_missing_and_another_experiment_may_share_the_folder(mine, tmp_path):
    out = tmp_path / "out"
    first = run(mine, "--quick", "--out", out)
    assert first.returncode == 0, first.stderr
    assert "[4/4]" in first.stderr
    second = run(mine, "--out", out)
    assert second.returncode == 0, second.stderr
    # iris with a time limit of 5 s is another run than with 60 s.
    assert "[16/16]" in second.stderr
    third = run(mine, "--out", out)
    assert "[" not in third.stderr.replace("[EXPERIMENT]", "")
    assert third.stdout == second.stdout
    other = tmp_path / "other.toml"
    other.write_text(MINE.replace("Two classifiers", "The same two"))
    shared = run(other, "--out", out)
    assert "[16/16]" not in shared.stderr, "the runs are the same ones"
    assert {p.name for p in out.iterdir()} == {"runs", "mine", "other"}
    assert pd.read_csv(out / "mine" / "results.csv").equals(pd.read_csv(out / "other" / "results.csv"))


@pytest.mark.slow
def test_ctrl_c_in_the_middle_keeps_what_is_done_and_the_same_command_goes_on(mine, tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(
        command(mine, "--out", out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    for line in process.stderr:
        if line.startswith("[3/16]"):
            break
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted: what is done is kept; the same command goes on from here" in stdout
    kept = len(list((out / "runs").glob("*.json")))
    assert 3 <= kept < 16
    assert len(pd.read_csv(out / "mine" / "results.csv")) == kept
    again = run(mine, "--out", out)
    assert again.returncode == 0, again.stderr
    assert f"[{kept + 1}/16]" in again.stderr
    assert f"[{kept}/16]" not in again.stderr


@pytest.mark.slow
def test_two_runs_into_one_folder_at_the_same_time_are_refused(mine, tmp_path):
    out = tmp_path / "out"
    mine.write_text(MINE.replace('"tan"', '"structure", max_parents = [1, 2], p = [0.6, 0.7, 0.8, 0.9]'))
    process = subprocess.Popen(
        command(mine, "--out", out), stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL
    )
    try:
        for line in process.stderr:
            if line.startswith("[1/16]"):
                break
        second = run(mine, "--out", out)
        assert second.returncode == 2
        assert str(out) in second.stderr
        assert "Traceback" not in second.stderr
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_a_run_that_was_killed_goes_on_where_it_was_and_leaves_no_process(mine, tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(
        command(mine, "--out", out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for line in process.stderr:
        if line.startswith("[2/16]"):
            break
    process.kill()
    process.wait()
    process.stderr.close()
    kept = {p.name: p.read_text() for p in (out / "runs").glob("*.json")}
    assert len(kept) >= 2
    for text in kept.values():
        assert json.loads(text)["outcome"] == "ANSWERED"
    deadline = time.monotonic() + 20
    while _children_of(out) and time.monotonic() < deadline:
        time.sleep(0.1)
    again = run(mine, "--out", out)
    assert again.returncode == 0, again.stderr
    assert f"[{len(kept) + 1}/16]" in again.stderr
    assert len(list((out / "runs").glob("*.json"))) == 16


def _children_of(out: Path) -> list[bytes]:
    """Runs whose parent is gone; none are found elsewhere than on Linux."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == "1" and b"reproduction._child" in words:
            found.append(words)
    return found


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_experiments_at_the_quick_level_killed_once_and_resumed(tmp_path):
    out = tmp_path / "out"
    everything = ("--all", "--quick", "--jobs", 2, "--out", out)
    began = _processor_seconds()
    process = subprocess.Popen(command(*everything), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("[9/"):
            break
    process.kill()
    process.wait()
    process.stderr.close()
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "runs").glob("*.json")}
    assert len(kept) >= 9
    done = subprocess.run(command(*everything), capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stderr
    assert {name: (out / "runs" / name).stat().st_mtime_ns for name in kept} == kept
    # A quarter of an hour on two cores, which do other work as well perhaps.
    assert _processor_seconds() - began <= 2 * 15 * 60
    for name in experiment_names():
        frame = pd.read_csv(out / name / "results.csv")
        assert (frame["outcome"] == "ANSWERED").any(), name
        assert f"== {name}: " in done.stderr
        assert (out / name / "table.md").read_text(encoding="utf-8").startswith("# ")


def _processor_seconds() -> float:
    """Of all processes that were started here, and by those, and that have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def test_a_place_that_cannot_be_written_is_told(mine, tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("")
    status, _, err = told(mine, "--out", tmp_path / "file", capsys=capsys, monkeypatch=monkeypatch)
    assert status == 2
    assert str(tmp_path / "file") in err
