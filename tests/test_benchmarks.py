"""The index of the benchmarks: all scripts are in it, the pages name them, and they can be run by it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks"
INDEX = tomllib.loads((FOLDER / "index.toml").read_text(encoding="utf-8"))
RUN, BESIDE = INDEX["benchmark"], INDEX["beside"]


def bench(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "benchmarks", *arguments], cwd=ROOT, env=os.environ | environment,
        capture_output=True, text=True, timeout=250,
    )  # fmt: skip


def test_every_script_is_in_the_index_and_everything_in_the_index_is_there():
    beside = {entry["script"] for entry in BESIDE}
    folders = {name for name in beside if (FOLDER / name).is_dir()}
    scripts = {path.relative_to(FOLDER) for path in FOLDER.rglob("*.py")}
    listed = {entry["script"] for entry in RUN} | beside - folders
    assert {str(path) for path in scripts if path.parts[0] not in folders} == listed
    assert folders == {"benchopt"}


@pytest.mark.parametrize("entry", RUN, ids=lambda entry: f"{entry['script']} {entry['quick'][:12]}")
def test_an_entry_says_which_claim_it_backs_and_the_page_names_the_script(entry):
    assert set(entry) - {"needs"} == {"script", "claim", "told", "full", "quick", "takes"}
    assert entry["claim"].endswith(".")
    assert entry["takes"] in ("seconds", "minutes", "hours", "days")
    for settings in (entry["full"], entry["quick"]):
        assert set(re.findall(r"\{(\w+)\}", settings)) <= {"shared", "out"}
    assert entry["told"]
    for page in entry["told"]:
        assert f"benchmarks/{entry['script']}" in (ROOT / page).read_text(encoding="utf-8"), page


def test_the_list_shows_claims_and_runs_nothing(tmp_path):
    done = bench("--list", "--out", str(tmp_path / "results"))
    assert done.returncode == 0, done.stderr
    for entry in RUN:
        assert f"== {entry['script']} ({entry['takes']} in full)\n   {entry['claim']}\n" in done.stdout
    assert not (tmp_path / "results").exists()


def test_one_script_is_run_by_its_name(tmp_path):
    done = bench("structure/grid_table.py", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "letter" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("   done in")


def test_without_the_reference_data_a_script_is_left_out_and_that_is_said(tmp_path):
    done = bench("cg/kernel.py", "--out", str(tmp_path / "results"), MMBN_SHARED=str(tmp_path / "nowhere"))
    assert done.returncode == 0, done.stderr
    assert f"left out: the reference data are not at {tmp_path / 'nowhere'}" in done.stdout


def test_an_unknown_name_and_a_script_that_fails_end_with_an_error(tmp_path):
    unknown = bench("cg/colonel.py")
    assert unknown.returncode == 2
    assert "'cg/colonel.py' is no script of the index" in unknown.stderr
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "manifest.json").write_text("[]")
    failed = bench("cg/kernel.py", "--out", str(tmp_path / "results"), MMBN_SHARED=str(tmp_path))
    assert failed.returncode == 1
    assert failed.stderr.rstrip().endswith("failed: cg/kernel.py")
