"""Programs as .nl files, read and solved by SCIP on its own."""

import numpy as np
import pytest
import scipy.sparse as sp
from conformance.programs import PROGRAMS, Case
from conformance.test_random_programs import Drawn, drawn
from hypothesis import given, settings

import mmbn_opt as mm
from mmbn_opt.interop.nl import nl_names, write_nl
from mmbn_opt.interop.programs import write_program
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.results.status import TerminationStatus

scip = pytest.importorskip("pyscipopt", reason="SCIP, which reads .nl files, is not installed (extra scip)")

STATUS = {
    "optimal": {"OPTIMAL"},
    "infeasible": {"INFEASIBLE"},
    "unbounded": {"UNBOUNDED"},
    "inforunbd": {"INFEASIBLE", "UNBOUNDED"},
}


def read_and_solve(path, names):
    """Status, objective, and the point in the program's own order of columns."""
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    status = model.getStatus()
    if status != "optimal":
        return status, None, None
    # SCIP takes the names from the .col file; columns that are used nowhere are not in it.
    values = {variable.name: model.getVal(variable) for variable in model.getVars()}
    return status, model.getObjVal(), np.array([values.get(name, np.nan) for name in names])


def check(program, path, expected, optimum):
    size = abs(program.A.toarray())[np.isfinite(program.row_lower) | np.isfinite(program.row_upper)]
    used = size.sum(axis=0) + abs(program.c) > 0
    empty = abs(program.A.toarray()).sum(axis=1) == 0
    if not used.any() or (empty & ((program.row_lower > 0) | (program.row_upper < 0))).any():
        with pytest.raises(mm.InputError, match=r"nothing to solve|a row without columns"):
            write_nl(program, path)
        return
    write_nl(program, path)
    names = nl_names(program)
    status, objective, point = read_and_solve(path, names)
    assert str(expected) in STATUS[status]
    if optimum is not None:
        assert objective == pytest.approx(optimum, rel=1e-6, abs=1e-6)
        np.testing.assert_array_equal(np.isnan(point), ~used)
        point = np.where(used, point, np.clip(0.0, program.col_lower, program.col_upper))
        assert program.value(point) == pytest.approx(optimum, rel=1e-6, abs=1e-6)
        assert program.violation(point) <= 1e-5


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.name)
def test_the_file_has_the_programs_optimum(case: Case, tmp_path) -> None:
    check(case.program, tmp_path / "program.nl", case.status, case.optimum)


@settings(max_examples=60)
@given(drawn())
def test_drawn_programs(tmp_path_factory, case: Drawn) -> None:
    status = TerminationStatus.INFEASIBLE if case.best is None else TerminationStatus.OPTIMAL
    check(case.program, tmp_path_factory.mktemp("nl") / "drawn.nl", status, case.best)


def test_a_formulations_columns_are_found_again(tmp_path) -> None:
    data = mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), "class")
    formulation = mm.SoftMarginStructure(data)
    path = tmp_path / "corral.nl"
    program = write_program(formulation, path, file_format="nl")
    status, objective, point = read_and_solve(path, nl_names(program))
    assert status == "optimal"
    # Optimum of corral at p = 0.9 with two parents, found by enumeration elsewhere.
    assert -objective == pytest.approx(261.1347997401562, rel=1e-6)
    assert -program.value(np.where(program.integrality, point.round(), point)) == pytest.approx(-objective, rel=1e-6)


def test_integer_columns_go_last_and_the_names_with_them(tmp_path) -> None:
    program = MixedIntegerProgram(
        c=np.array([-1.0, -1.0]),
        A=sp.csr_array(np.array([[1.0, 2.0]])),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([4.0]),
        col_lower=np.zeros(2),
        col_upper=np.array([9.0, 9.5]),
        integrality=np.array([True, False]),
        column_names=("whole", "real"),
    )
    names = write_nl(program, tmp_path / "two.nl")
    assert names.read_text(encoding="utf-8").split() == ["real", "whole"]


def test_the_names_do_not_overwrite_the_program(tmp_path) -> None:
    with pytest.raises(mm.InputError, match=r"let the name of the program end in \.nl"):
        write_nl(PROGRAMS[0].program, tmp_path / "program.col")
    assert not list(tmp_path.iterdir())
