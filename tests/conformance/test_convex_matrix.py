"""The relaxation on small data: every installed convex solver, its point checked and its bound on the right side."""

import numpy as np
import pytest
from conformance.solver_matrix import MATRICES

import mmbn_opt as mm
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.status import SolutionStatus, TerminationStatus

ROWS = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"], ["a", "u"], ["b", "v"]] * 4
LABELS = [0, 1, 1, 0, 1, 0] * 4


def relaxation(normalization):
    data = mm.DiscreteDataset.from_arrays(ROWS, LABELS)
    return mm.MaxMarginRelaxation(data, mm.tan_cmi(data), gamma=2.0, normalization=normalization, min_prob=1e-3)


@pytest.mark.parametrize("name", MATRICES[ProgramKind.CONVEX])
@pytest.mark.parametrize("normalization", ["hybrid", "floor", "published"])
def test_every_convex_solver_reaches_the_same_optimum(name, normalization):
    solver = mm.solvers().set_index("name").loc[name]
    if not solver["available"]:
        pytest.skip(solver["reason"])
    if name == "highs_lp" and normalization != "published":
        pytest.skip("only the published form is a linear program")
    problem = relaxation(normalization)
    truth = mm.solve(problem, "clarabel").bounds.primal_bound
    result = mm.solve(problem, name, rel_gap=1e-3, time_limit=60.0)
    assert result.solution_status is SolutionStatus.FEASIBLE, result.raw_status
    assert result.bounds.primal_bound == pytest.approx(truth, rel=5e-3)
    if result.bounds.dual_bound is not None:
        assert result.bounds.dual_bound <= truth * (1 + 1e-6) + 1e-9
    assert result.certificate.ok, str(result.certificate)


@pytest.mark.parametrize("name", MATRICES[ProgramKind.LIKELIHOOD])
@pytest.mark.parametrize("structure", [mm.naive_bayes, mm.tan_cmi])
def test_every_solver_of_likelihoods_reaches_the_same_optimum(name, structure):
    """On the tree each cell of the features has parameters of its own; in one, rows are of either class in halves."""
    data = mm.DiscreteDataset.from_arrays(ROWS, LABELS)
    problem = mm.ConditionalLikelihood(data, structure(data))
    result = mm.solve(problem, name)
    assert result.termination_status is TerminationStatus.OPTIMAL, result.raw_status
    assert result.certificate.ok, str(result.certificate)
    free = -8 * np.log(2.0)
    value = result.bounds.primal_bound
    assert value == pytest.approx(free, rel=1e-6) if structure is mm.tan_cmi else value < free
    descent = mm.solve(problem, "lbfgs", options={"max_iterations": 2000, "rel_change": 0.0})
    assert value == pytest.approx(descent.bounds.primal_bound, rel=1e-4)


def test_the_default_chain_says_who_solved_it():
    result = mm.solve(relaxation("hybrid"), rel_gap=1e-4)
    assert result.solver_name == "convex"
    assert result.bounds.gap_rel <= 1e-4
    assert result.certificate.ok


def test_highs_takes_the_published_form_under_its_own_name():
    result = mm.solve(relaxation("published"), "highs")
    assert result.solver_name == "highs_lp"
    assert result.certificate.ok


def test_a_certificate_made_again_judges_the_gap_as_the_run_did():
    """On separable data the optimum of the published form is 0: only an absolute gap can be small."""
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 6, [0, 1] * 6)
    problem = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0, normalization="published")
    result = mm.solve(problem, "clarabel")
    again = mm.certify(result.model, problem, result)
    assert {c.name: c.ok for c in again.checks if c.name == "status"} == {
        c.name: c.ok for c in result.certificate.checks if c.name == "status"
    }
    assert problem.scale == 12.0  # samples times gamma
