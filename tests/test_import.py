"""Importing the package is cheap and loads no solver."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import mmbn_opt as mm

SOLVERS = ("highspy", "pyscipopt", "cvxpy", "ecos", "clarabel", "scs", "pyomo", "casadi", "pulp", "numba")
LARGE = (
    "scipy.stats", "scipy.optimize", "scipy.special", "scipy.sparse", "scipy.linalg", "numba.np.arraymath", "sklearn",
    "matplotlib", "networkx",
)  # fmt: skip


def test_import_loads_no_solver():
    code = f"import sys, json, mmbn_opt; print(json.dumps([m for m in {SOLVERS!r} if m in sys.modules]))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == []


def test_formulations_load_no_solver_before_solve():
    code = (
        "import sys, json, mmbn_opt as mm\n"
        "data = mm.DiscreteDataset.from_arrays([['a'], ['b']], [0, 1])\n"
        "mm.SoftMarginStructure(data).build(next(iter(mm.SoftMarginStructure.emits)))\n"
        f"print(json.dumps([m for m in {SOLVERS[:-1]!r} if m in sys.modules]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == []


def test_every_public_name_is_there():
    for name in mm.__all__:
        assert getattr(mm, name) is not None
    assert set(mm.__all__) <= set(dir(mm))


def test_the_solver_table_can_be_called_before_and_after_the_room_is_imported():
    code = (
        "import mmbn_opt as mm\n"
        "first = list(mm.solvers()['name'])\n"
        "import mmbn_opt.solvers\n"
        "assert list(mm.solvers()['name']) == first\n"
        "from mmbn_opt.solvers import HighsSolver\n"
        "assert list(mm.solvers()['name']) == first and 'highs' in first\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("command", ["structure", "parameters"])
def test_a_command_that_no_time_is_left_for_loads_no_large_library_that_it_does_not_need(
    command: str, tmp_path: Path
) -> None:
    """Each would take a quarter of a second to a second of a short limit."""
    table = tmp_path / "t.csv"
    table.write_text("a,b,y\n" + "\n".join(f"{i % 2},{i % 3},{(i // 2) % 2}" for i in range(60)), encoding="utf-8")
    line = [command, "--data", str(table), "--target", "y", "--time-limit", "0"]
    code = (
        "import sys, json\n"
        "from mmbn_opt.cli import main\n"
        f"sys.argv = ['mmbn-opt', *{line!r}, '--out', sys.argv[1]]\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        f"print(json.dumps([m for m in {LARGE!r} if m in sys.modules]))"
    )
    for out in ("first", "second"):  # the first may have to compile
        run = [sys.executable, "-c", code, str(tmp_path / out)]
        found = subprocess.run(run, capture_output=True, text=True, check=True)
        assert (tmp_path / out / "model.json").exists()
    assert json.loads(found.stdout.splitlines()[-1]) == []
