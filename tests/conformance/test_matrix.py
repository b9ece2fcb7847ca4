"""Every installed solver on every program: status, optimum, feasibility, and bounds on the right side at all times."""

import math

import numpy as np
import pytest
from conformance.programs import PROGRAMS, Case
from conformance.solver_matrix import MATRICES

from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers import Solver, SolverResult, get_solver_class, solver_names

MATRIX = MATRICES[ProgramKind.MIXED_INTEGER]

TOLERANCE = 1e-7
"""Relative; tighter than any solver's feasibility tolerance, since the vectors of these programs are exact."""

PROOF = 1.01e-6
"""Relative; what "optimal" proves: solvers discard subtrees within their feasibility tolerance."""


def installed(name: str) -> type[Solver]:
    solver = get_solver_class(name)
    found = solver.availability()
    if not found.available:
        pytest.skip(found.reason)
    return solver


@pytest.mark.parametrize("name", solver_names())
def test_no_registered_solver_is_absent_from_the_matrix(name: str) -> None:
    accepts = get_solver_class(name).accepts
    assert accepts
    absent = [str(kind) for kind in accepts if name not in MATRICES.get(kind, ())]
    assert not absent, f"add {name!r} to MATRICES for {absent}"


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.name)
@pytest.mark.parametrize("name", MATRIX)
def test_program(name: str, case: Case) -> None:
    result = installed(name)(time_limit=60.0).solve(case.program)
    assert result.termination_status is case.status, result.raw_status
    check_result(result, case)


def check_result(result: SolverResult, case: Case) -> None:
    if case.status is TerminationStatus.OPTIMAL:
        check_optimum(result, case)
    if case.status is TerminationStatus.INFEASIBLE:
        assert result.solution is None
        assert result.solution_status is SolutionStatus.NO_SOLUTION
        assert result.bounds.primal_bound is None
    if case.status is TerminationStatus.UNBOUNDED:
        assert result.bounds.dual_bound is None
    check_trace(result, case)


def check_optimum(result: SolverResult, case: Case) -> None:
    assert case.optimum is not None
    assert result.solution is not None
    slack = TOLERANCE * max(1.0, abs(case.optimum))
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert case.program.is_feasible(result.solution)
    assert result.bounds.primal_bound == case.program.value(result.solution)
    assert result.bounds.primal_bound == pytest.approx(case.optimum, abs=slack)
    assert result.bounds.dual_bound == pytest.approx(case.optimum, abs=PROOF * max(1.0, abs(case.optimum)))
    assert result.bounds.dual_bound <= result.bounds.primal_bound
    integers = result.solution[case.program.integrality]
    np.testing.assert_array_equal(integers, np.round(integers))


def check_trace(result: SolverResult, case: Case) -> None:
    records = list(result.trace)
    assert records[0].event == "start"
    assert records[-1].event == "final"
    assert result.trace.bounds == result.bounds
    optimum = case.optimum
    primal, dual, moment = math.inf, -math.inf, 0.0
    for record in records:
        if record.primal_bound is not None:
            assert record.primal_bound <= primal
            primal = record.primal_bound
        if record.dual_bound is not None:
            assert record.dual_bound >= dual
            dual = record.dual_bound
        assert record.time_sec >= moment
        moment = record.time_sec
        assert dual <= primal
        if optimum is not None:
            slack = TOLERANCE * max(1.0, abs(optimum))
            assert dual <= optimum + slack
            assert primal >= optimum - slack


@pytest.mark.parametrize("name", MATRIX)
def test_no_time_gives_no_solution_and_the_limit_as_status(name: str) -> None:
    case = next(case for case in PROGRAMS if case.name == "soft_margin")
    result = installed(name)(time_limit=0.0).solve(case.program)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.solution_status is SolutionStatus.NO_SOLUTION
    assert result.solution is None
    assert result.bounds.primal_bound is None
    check_trace(result, case)


@pytest.mark.parametrize("name", MATRIX)
def test_the_optimum_as_a_start_is_kept(name: str) -> None:
    case = next(case for case in PROGRAMS if case.name == "soft_margin")
    start = get_solver_class("highs")().solve(case.program).solution
    result = installed(name)(time_limit=60.0).solve(case.program, start=start)
    check_optimum(result, case)
    assert result.stats["start"] == "feasible"
    assert result.trace.records[0].primal_bound == pytest.approx(case.optimum)


@pytest.mark.parametrize("name", MATRIX)
def test_an_infeasible_start_is_not_taken(name: str) -> None:
    case = next(case for case in PROGRAMS if case.name == "assignment")
    result = installed(name)(time_limit=60.0).solve(case.program, start=np.zeros(9))
    check_optimum(result, case)
    assert result.stats["start"] == "infeasible"
    assert result.trace.records[0].primal_bound is None
