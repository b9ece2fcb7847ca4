"""The list of solvers: what is asked for by name, what is told of each, and what importing it costs."""

import subprocess
import sys

import pytest

import mmbn_opt.solvers
from mmbn_opt.exceptions import InputError
from mmbn_opt.solvers import Solver, get_solver_class, solver_names, solver_table


def test_names_lead_to_classes_of_that_name() -> None:
    assert {"branch_and_cut", "highs", "scipy", "scip", "cbc"} <= set(solver_names())
    for name in solver_names():
        solver = get_solver_class(name)
        assert issubclass(solver, Solver)
        assert solver.name == name


@pytest.mark.parametrize(("name", "hint"), [("higs", "Did you mean 'highs'"), ("SCIP", "Did you mean 'scip'")])
def test_an_unknown_name_lists_the_known_ones_and_guesses(name, hint) -> None:
    with pytest.raises(InputError, match=f"unknown solver '{name}'; known are {', '.join(solver_names())}.*{hint}"):
        get_solver_class(name)


def test_a_name_like_none_gets_no_guess() -> None:
    with pytest.raises(InputError) as caught:
        get_solver_class("quantum")
    assert "Did you mean" not in str(caught.value)


def test_the_table_has_a_row_each_and_reasons_where_needed() -> None:
    table = solver_table()
    assert tuple(row.name for row in table) == solver_names()
    for row in table:
        assert row.accepts
        assert row.licence
        assert row.available == (row.reason == "")
        if not row.available and row.extra is not None:
            assert f"mmbn_opt[{row.extra}]" in row.reason


def test_a_missing_package_names_its_extra(monkeypatch) -> None:
    from mmbn_opt.exceptions import MissingDependencyError
    from mmbn_opt.solvers.mixed_integer import scip

    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    scip._probe.cache_clear()
    try:
        found = scip.ScipSolver.availability()
        assert not found.available
        assert found.version is None
        assert 'pip install "mmbn_opt[scip]"' in found.reason
        with pytest.raises(MissingDependencyError, match=r"mmbn_opt\[scip\]"):
            scip.ScipSolver().solve(None)
    finally:
        scip._probe.cache_clear()


def test_importing_the_room_loads_no_solver_library() -> None:
    code = (
        "import sys, mmbn_opt.solvers, mmbn_opt.solvers.registry;"
        "print([m for m in ('highspy', 'pyscipopt', 'scipy.optimize', 'pulp', 'cbcbox') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    for name in mmbn_opt.solvers.__all__:
        assert getattr(mmbn_opt.solvers, name) is not None
    assert set(mmbn_opt.solvers.__all__) <= set(dir(mmbn_opt.solvers))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        mmbn_opt.solvers.nonsense  # noqa: B018
