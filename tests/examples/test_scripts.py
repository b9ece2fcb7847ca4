"""The scripts of `examples` and the benchopt benchmark do what they say, with data that the package ships."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
BENCHMARK = ROOT / "benchmarks" / "benchopt"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("compare_*.py"))


def run(command, **settings):
    environment = {**os.environ, "PYTHONWARNINGS": "error", "MPLBACKEND": "Agg"} | settings.pop("env", {})
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=280, env=environment, check=False,
        **settings,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_all_scripts_are_known():
    assert SCRIPTS == ["compare_convex_solvers.py", "compare_parameter_learning.py", "compare_structure_solvers.py"]


def test_the_help_names_the_options(tmp_path):
    text = run([sys.executable, EXAMPLES / "compare_parameter_learning.py", "--help"], cwd=tmp_path)
    for option in ("--data", "--quick", "--structure", "--out"):
        assert option in text


@pytest.mark.slow
def test_structure_solvers_agree(tmp_path):
    run([sys.executable, EXAMPLES / "compare_structure_solvers.py", "--quick", "--out", tmp_path / "out"], cwd=tmp_path)
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    assert sorted(table["solver"]) == ["branch_and_cut", "highs"]
    assert table["solved"].all()
    assert table["primal_bound"].nunique() == 1 or table["primal_bound"].std() < 1e-6
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.slow
def test_convex_solvers_agree(tmp_path):
    command = [sys.executable, EXAMPLES / "compare_convex_solvers.py", "--quick", "--rel-gap", "1e-4"]
    run([*command, "--out", tmp_path / "out"], cwd=tmp_path)
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    assert sorted(table["solver"]) == ["barrier", "interior_point"]
    assert table["solved"].all()
    assert table["primal_bound"].max() <= table["primal_bound"].min() * (1 + 2e-4)


def test_parameter_learning_has_the_shape_of_the_papers_tables(tmp_path):
    text = run(
        [sys.executable, EXAMPLES / "compare_parameter_learning.py", "--quick", "--out", tmp_path / "out"], cwd=tmp_path
    )
    rates = pd.read_csv(tmp_path / "out" / "rates.csv")
    runtimes = pd.read_csv(tmp_path / "out" / "runtimes.csv")
    assert list(rates.columns)[:4] == ["data", "ML", "CG-MM", "CVX-MM"]
    assert list(runtimes.columns) == ["data", "CG-MM", "CVX-MM"]
    # Iris with naive Bayes is no hard problem for any of the three.
    assert rates[["ML", "CG-MM", "CVX-MM"]].to_numpy().min() > 85.0
    assert rates["gap CVX-MM"].max() <= 1e-3
    assert (runtimes[["CG-MM", "CVX-MM"]].to_numpy() > 0).all()
    assert "shape of Table 6" in text


def test_scripts_take_files(tmp_path):
    import mmbn_opt as mm

    mm.load_dataset("iris").rename(columns={"class": "kind"}).to_csv(tmp_path / "flowers.csv", index=False)
    command = [sys.executable, EXAMPLES / "compare_parameter_learning.py", "--quick", "--data", "flowers.csv"]
    text = run([*command, "--target", "kind"], cwd=tmp_path)
    assert "flowers" in text


@pytest.mark.slow
@pytest.mark.skipif(find_spec("benchopt") is None, reason="benchopt is not installed")
def test_the_benchopt_benchmark_passes_benchopts_own_test(tmp_path):
    """On a copy, since benchopt leaves caches and results beside the benchmark."""
    copy = shutil.copytree(BENCHMARK, tmp_path / "benchmark", ignore=shutil.ignore_patterns("__*__", "outputs"))
    # benchopt calls pytest by its bare name.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    text = run(
        [sys.executable, "-m", "benchopt", "test", copy, "--skip-install", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={"PATH": path, "PYTHONWARNINGS": "default"},
    )
    assert " passed" in text
    assert "failed" not in text
