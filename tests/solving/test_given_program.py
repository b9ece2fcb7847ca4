"""A program of one's own through `solve`: values, bounds, what is checked and what is left open."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import mmbn_opt as mm
from mmbn_opt.programs import MixedIntegerProgram, ProgramKind
from mmbn_opt.results.status import SolutionStatus, TerminationStatus


@pytest.fixture(scope="module")
def problem():
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    return mm.SoftMarginStructure(data, max_parents=2)


@pytest.mark.parametrize("solver", ["auto", "highs", "scip", "cbc"])
def test_a_changed_program_is_solved_and_its_vector_leads_back(problem, solver):
    program = problem.named_program()
    best = mm.solve(problem).bounds.primal_bound
    result = mm.solve(replace(program, c=2.0 * program.c), solver)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert -result.bounds.primal_bound == pytest.approx(2.0 * best, rel=1e-6)
    assert result.certificate.ok
    model = problem.recover(result.model)
    assert problem.evaluate(model) == pytest.approx(best, rel=1e-6)
    assert mm.certify(model, problem).ok
    left_open = next(check for check in result.certificate.checks if check.name == "what the columns stand for")
    assert left_open.ok is None
    assert "recover and certify" in left_open.detail


def test_a_row_of_ones_own_and_a_start_by_names(problem):
    program = problem.named_program()
    edges = np.array([name.startswith("parents[") * max(0, name.count(",") + 1 - name.count("|]")) for name in
                      program.column_names], dtype=float)  # fmt: skip
    one_more = replace(
        program,
        A=sp.csr_array(sp.vstack([program.A, sp.csr_array(edges[None, :])])),
        row_lower=np.append(program.row_lower, -np.inf),
        row_upper=np.append(program.row_upper, 4.0),
        row_names=(*program.row_names, "own"),
    )
    limited = problem.with_constraints(mm.MaxEdges(4))
    best = mm.solve(limited)
    start = dict(zip(program.column_names, problem.encode(best.model), strict=True))
    result = mm.solve(one_more, "highs", starts=[start])
    assert -result.bounds.primal_bound == pytest.approx(best.bounds.primal_bound, rel=1e-6)
    assert any(record.source == "given start" for record in result.trace)


@pytest.mark.parametrize("solver", ["auto", "branch_and_cut", "scip_cuts"])
def test_choice_programs_are_taken_too(problem, solver):
    best = mm.solve(problem).bounds.primal_bound
    constrained = problem.with_constraints(mm.MaxFeatures(3))
    for stated in (problem, constrained):
        result = mm.solve(stated.build(ProgramKind.IMPLICIT_CONCAVE), solver)
        assert result.termination_status is TerminationStatus.OPTIMAL
        assert result.certificate.ok
        assert -result.bounds.primal_bound <= best + 1e-6
        assert stated.infeasibility(stated.recover(result.model)) == 0.0


def test_a_program_without_a_point_is_infeasible_and_has_no_model():
    program = MixedIntegerProgram(
        c=np.array([1.0, 1.0]), A=sp.csr_array(np.array([[2.0, 2.0]])), row_lower=np.array([3.0]),
        row_upper=np.array([3.0]), col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.ones(2, dtype=bool),
    )  # fmt: skip
    for solver in ("highs", "scip"):
        result = mm.solve(program, solver)
        assert result.termination_status is TerminationStatus.INFEASIBLE
        assert result.model is None
        assert result.solution_status is SolutionStatus.NO_SOLUTION
    with pytest.raises(mm.SolverError):
        result.raise_for_status()


def test_an_unbounded_column_needs_no_bound_of_ours():
    program = MixedIntegerProgram(
        c=np.array([1.0, -1.0]), A=sp.csr_array(np.array([[1.0, -1.0]])), row_lower=np.array([0.5]),
        row_upper=np.array([np.inf]), col_lower=np.array([-np.inf, 0.0]), col_upper=np.array([np.inf, 7.0]),
        integrality=np.array([False, True]), offset=3.0,
    )  # fmt: skip
    result = mm.solve(program, "highs")
    assert result.bounds.primal_bound == pytest.approx(3.5)
    assert "Given program" in result.report()


def test_a_program_of_another_kind_is_refused_by_solvers_that_cannot(problem):
    with pytest.raises(mm.InputError, match=r"GivenProgram.* emits .*'branch_and_cut' accepts"):
        mm.solve(problem.named_program(), "branch_and_cut")
