"""What solvers say of themselves on their pages."""

import importlib.util
from dataclasses import fields
from pathlib import Path

import pytest

from mmbn_opt.solvers.base import Solver
from mmbn_opt.solvers.registry import get_solver_class, solver_names

GENERATOR = Path(__file__).resolve().parents[2] / "docs" / "solver_pages.py"
SHARED = {f.name for f in fields(Solver)}


@pytest.mark.parametrize("name", solver_names())
def test_what_is_ignored_is_a_setting_that_there_is(name):
    solver = get_solver_class(name)
    assert set(solver.ignores) <= SHARED - {"time_limit"} | {"start"}
    assert all(reason and not reason.endswith(".") for reason in solver.ignores.values())
    assert solver.at_limit


def test_every_solver_gets_a_page_with_its_defaults(tmp_path):
    spec = importlib.util.spec_from_file_location("solver_pages", GENERATOR)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "solvers").mkdir()
    (tmp_path / "solvers" / "gone.md").write_text("a solver that was removed")
    module.write_solver_pages(tmp_path)
    assert {page.stem for page in (tmp_path / "solvers").iterdir()} == set(solver_names())
    assert '`"branch_and_cut"`' in (tmp_path / "auto-rules.md").read_text()
    table = (tmp_path / "solver-table.md").read_text()
    for name in solver_names():
        solver = get_solver_class(name)
        page = (tmp_path / "solvers" / f"{name}.md").read_text()
        assert solver.licence in page
        assert f"| `{fields(solver)[-1].name}` |" in page
        assert f'(`"{name}"`)' in table
    assert "* `threads`: SCIP solves with one." in (tmp_path / "solvers" / "scip.md").read_text()
    assert "| `tau` | `0.02` | its own |" in (tmp_path / "solvers" / "first_order.md").read_text()
