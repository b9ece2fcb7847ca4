"""Lines 03 to 05: starts with foreign parameters, a gap that was not asked for, bounds that are printed."""

import dataclasses

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.result import Check
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.ending import Tolerances


@pytest.fixture(scope="module")
def corral():
    return DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class")


@pytest.mark.parametrize("solver", ["auto", "branch_and_cut", "highs"])
def test_03_a_start_counts_by_its_structure_and_not_by_its_parameters(corral, solver):
    trained = mm.solve(mm.SmoothMargin(corral, mm.tan_cmi(corral))).model
    problem = mm.SoftMarginStructure(corral)
    assert problem.evaluate(trained) > 262  # better than the optimum of the class, whose parameters are estimates
    result = mm.solve(problem, solver, starts=[trained])
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(261.1348, abs=1e-4)
    assert result.certificate.ok
    given = next(record for record in result.trace if record.source == "given start")
    assert given.primal_bound <= result.bounds.primal_bound


@pytest.mark.parametrize("score", ["sbm", "bic"])
def test_03_for_every_score(corral, score):
    make = mm.BinarySoftMarginStructure if score == "sbm" else mm.DecomposableStructure
    trained = mm.solve(mm.SmoothMargin(corral, mm.tan_cmi(corral))).model
    plain, started = mm.solve(make(corral)), mm.solve(make(corral), starts=[trained])
    assert started.certificate.ok
    assert started.bounds.primal_bound == pytest.approx(plain.bounds.primal_bound, rel=1e-9)


def test_03_a_start_below_the_floor_is_lifted_before_it_counts(corral):
    problem = mm.MaxMarginRelaxation(corral, mm.tan_cmi(corral), gamma=1.0, normalization="floor", min_prob=0.05)
    low = mm.BayesianNetwork.fit(mm.tan_cmi(corral), corral, smoothing=1e-3)
    result = mm.solve(problem, starts=[low])
    assert result.certificate.ok
    assert result.bounds.primal_bound == pytest.approx(mm.solve(problem).bounds.primal_bound, rel=2e-6)


class _Wrong(mm.SoftMarginStructure):
    """A formulation whose answers fail a check."""

    def check(self, model):
        return (*super().check(model), Check("a check that fails", False, "as told"))


def test_03_what_fails_its_certificate_is_not_called_optimal(corral):
    result = mm.solve(_Wrong(corral))
    assert not result.certificate.ok
    assert result.termination_status is TerminationStatus.NUMERICAL_ERROR
    assert "its certificate failed: [FAILED] a check that fails: as told" in result.raw_status
    status = next(check for check in result.certificate.checks if check.name == "status")
    assert status.detail == "OPTIMAL cannot be said of an answer that failed its checks (a check that fails)"


def problems(corral):
    tree = mm.tan_cmi(corral)
    return {
        "structure": (mm.SoftMarginStructure(corral, max_parents=1), ("highs", "branch_and_cut")),
        "floor": (mm.MaxMarginRelaxation(corral, tree, gamma=10.0, normalization="floor"), ("convex", "first_order")),
        "hybrid": (mm.MaxMarginRelaxation(corral, tree, gamma=2.0, normalization="hybrid"), ("convex", "first_order")),
        "likelihood": (mm.ConditionalLikelihood(corral, tree), ("lbfgs",)),
    }


@pytest.mark.parametrize("rel_gap", [1e-1, 1e-3, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("name", ["structure", "floor", "hybrid", "likelihood"])
def test_04_optimal_means_the_gap_that_was_asked_for(corral, name, rel_gap):
    problem, solvers = problems(corral)[name]
    for solver in solvers:
        result = mm.solve(problem, solver, rel_gap=rel_gap, time_limit=10)
        if result.termination_status is TerminationStatus.OPTIMAL:
            bounds = result.bounds
            assert bounds.gap_rel <= rel_gap or bounds.gap_abs <= 1e-12 * problem.scale, (solver, result)
        assert result.certificate.ok


def test_04_a_wide_scale_lends_no_gap(corral):
    """The floor is a rounding error of the sums; 1e-6 of them was granted where the optimum is small beside them."""
    problem = mm.MaxMarginRelaxation(corral, mm.tan_cmi(corral), gamma=2.0, normalization="hybrid")
    tolerances = Tolerances(1e-6, 0.0, problem.scale)
    optimum = mm.solve(problem).bounds.primal_bound
    assert tolerances.absolute < 1e-9 * optimum
    bounds = dataclasses.replace(mm.solve(problem).bounds, dual_bound=optimum * (1 - 1.48e-6), primal_bound=optimum)
    assert not tolerances.closed(bounds)
    assert dataclasses.replace(tolerances, rel_gap=2e-6).closed(bounds)


@pytest.mark.parametrize("solver", ["auto", "branch_and_cut", "highs", "scip", "scip_cuts", "cbc", "scipy"])
@pytest.mark.parametrize("weight", [0.001, 1.0, 1e5])
def test_05_an_optimum_of_zero_is_proved(solver, weight):
    data = DiscreteDataset.from_arrays([[0], [1], [0], [1]], [0, 0, 1, 1], sample_weight=np.full(4, weight))
    result = mm.solve(mm.SoftMarginStructure(data, smoothing=weight), solver)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(0.0, abs=1e-12 * weight)
    assert result.bounds.gap_rel == 0.0
    assert result.certificate.ok


def test_05_no_bound_of_cbc_is_better_than_the_optimum():
    rng = np.random.default_rng(1)
    for _ in range(12):
        X = rng.integers(0, rng.integers(2, 4), (int(rng.integers(6, 12)), int(rng.integers(2, 4))))
        y = rng.integers(0, rng.integers(2, 4), len(X))
        y[:2] = [0, 1]
        problem = mm.SoftMarginStructure(DiscreteDataset.from_arrays(X, y))
        best = mm.solve(problem, "branch_and_cut").bounds.primal_bound
        result = mm.solve(problem, "cbc", starts=[])
        assert result.termination_status is TerminationStatus.OPTIMAL
        own = mm.solvers.get_solver_class("cbc")().solve(problem.build(ProgramKind.MIXED_INTEGER))
        for bound in [-r.dual_bound for r in own.trace if r.dual_bound is not None]:
            assert bound >= best - 1e-12 * problem.scale
