"""The interior point on a lattice of labellings, and the chain that calls it: limits, refusals, what it falls back to.

Optima are tested beside the formulations, against the program over all labellings.
"""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.programs.lattice import LabellingLattice, edges_near_best
from mmbn_opt.solvers import FirstOrderSolver, LatticeInteriorPointSolver, SequenceChainSolver

DATA = mm.SequenceDataset.from_lists(["aab", "abb", "bba", "bab"] * 3, ["XXY", "XYY", "YXX", "YYX"] * 3)
PROGRAM = mm.SequenceMaxMargin(DATA, gamma=1.0).build()


def long_ones(seed=0, n=12, length=60, symbols=4, n_labels=3):
    """Sequences whose labels are often wrong, so that many positions are at a kink."""
    rng = np.random.default_rng(seed)
    y = [rng.integers(0, n_labels, length) for _ in range(n)]
    X = [np.where(rng.random(length) < 0.6, labels, rng.integers(0, symbols, length)) for labels in y]
    return mm.SequenceDataset.from_lists([x.tolist() for x in X], [labels.tolist() for labels in y])


FORMS = {
    "hybrid": lambda data: mm.SequenceMaxMargin(data, gamma=2.0),
    "floor": lambda data: mm.SequenceMaxMargin(data, gamma=2.0, normalization="floor"),
    "B": lambda data: mm.SequenceMaxMargin(data, B=0.3),
    "B and floor": lambda data: mm.SequenceMaxMargin(data, B=0.3, normalization="floor"),
    "network": lambda data: mm.SequenceMarkovNetwork(data, C=0.2),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", [0.0, 0.3, 50.0])
def test_six_digits_are_proved_whatever_the_first_lattice(form, width):
    problem = FORMS[form](long_ones(n=6, length=25))
    result = mm.solve(problem, LatticeInteriorPointSolver(width=width, rel_gap=1e-6))
    assert result.termination_status is mm.TerminationStatus.OPTIMAL, result.raw_status
    assert result.certificate.ok, str(result.certificate)
    assert problem.prove_bound(result.multipliers) == pytest.approx(result.bounds.dual_bound, rel=1e-9)
    assert result.bounds.gap_rel <= 1e-6


@pytest.mark.parametrize("form", FORMS)
def test_long_sequences_end_by_default(form):
    # Constraint generation adds a labelling a sequence and a round, and can't get there.
    result = mm.solve(FORMS[form](long_ones()), rel_gap=1e-6, time_limit=120.0)
    assert result.solver_name == "sequence_chain"
    assert result.termination_status is mm.TerminationStatus.OPTIMAL, result.raw_status
    assert result.certificate.ok, str(result.certificate)


@pytest.mark.parametrize(("symbols", "by_detours"), [(2, False), (30, True)])
@pytest.mark.parametrize("form", FORMS)
def test_both_ways_to_eliminate_find_the_optimum(form, symbols, by_detours):
    rng = np.random.default_rng(3)
    X = [rng.integers(0, symbols, size=(3, 6)) for _ in range(15)]
    y = [rng.integers(0, 2, 3).tolist() for _ in range(15)]
    problem = FORMS[form](mm.SequenceDataset.from_lists(X, y))
    chains = problem.program.chains
    lattice = LabellingLattice(chains, edges_near_best(chains, problem.program.first_point(), 2.0, np.inf))
    assert (lattice.n_detours <= np.count_nonzero(chains.own)) == by_detours
    result = mm.solve(problem, LatticeInteriorPointSolver(rel_gap=1e-8, width=1e3))
    expected = mm.solve(problem, "constraint_generation", rel_gap=1e-8).bounds.primal_bound
    assert result.bounds.primal_bound == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_a_limit_of_iterations_ends_with_a_point_and_a_bound_that_can_be_proved():
    answer = LatticeInteriorPointSolver(max_iterations=2).solve(PROGRAM)
    assert answer.termination_status is mm.TerminationStatus.ITERATION_LIMIT
    assert answer.bounds.dual_bound <= answer.bounds.primal_bound
    assert PROGRAM.violation(answer.solution) <= 1e-9
    assert PROGRAM.dual_value(answer.multipliers) == pytest.approx(answer.bounds.dual_bound, rel=1e-9)


def test_start_and_multipliers_are_kept_where_nothing_better_is_found():
    best = SequenceChainSolver(rel_gap=1e-9).solve(PROGRAM)
    answer = LatticeInteriorPointSolver(multipliers=best.multipliers, rel_gap=1e-6).solve(PROGRAM, start=best.solution)
    assert answer.iterations in (0, None)
    assert answer.termination_status is mm.TerminationStatus.OPTIMAL


def test_systems_that_are_too_large_are_refused_and_the_chain_goes_on_with_first_order_steps(monkeypatch):
    with pytest.raises(mm.SizeLimitError, match=r"dense systems of .* rows .*max_dense=3"):
        LatticeInteriorPointSolver(max_dense=3, width=9.0).solve(PROGRAM)
    monkeypatch.setattr("mmbn_opt.solvers.convex.lattice_interior_point.MOST_WORK", 1.0)
    monkeypatch.setattr("mmbn_opt.solvers.convex.sequence_chain.FEW_ENTRIES", 1)
    answer = SequenceChainSolver(rel_gap=1e-4, time_limit=60.0).solve(PROGRAM)
    assert answer.termination_status is mm.TerminationStatus.OPTIMAL
    assert "dense systems" in answer.raw_status
    assert answer.raw_status.startswith("first_order: gap closed")
    assert PROGRAM.dual_value(answer.multipliers) == pytest.approx(answer.bounds.dual_bound, rel=1e-9)


def test_a_lattice_that_grows_too_large_ends_the_method_with_what_it_has():
    answer = LatticeInteriorPointSolver(max_dense=5, width=0.0, rel_gap=1e-9).solve(PROGRAM)
    assert answer.termination_status is mm.TerminationStatus.SLOW_PROGRESS
    assert "dense systems" in answer.raw_status
    assert answer.bounds.dual_bound <= answer.bounds.primal_bound


def test_the_published_form_is_refused_alone_and_handed_on_by_the_chain():
    program = mm.SequenceMaxMargin(DATA, gamma=1.0, normalization="published").build()
    with pytest.raises(mm.InputError, match='"constraint_generation" solves the published form'):
        LatticeInteriorPointSolver().solve(program)
    answer = SequenceChainSolver(rel_gap=1e-7).solve(program)
    expected = mm.solve(mm.SequenceMaxMargin(DATA, gamma=1.0, normalization="published"), rel_gap=1e-7)
    assert answer.bounds.primal_bound == pytest.approx(expected.bounds.primal_bound, abs=1e-7)


def test_separable_data_with_a_floor_end_at_zero():
    data = mm.SequenceDataset.from_lists(["aab", "abb"], ["XXY", "XYY"])
    result = mm.solve(mm.SequenceMaxMargin(data, gamma=1.0, normalization="floor"), rel_gap=1e-6)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(0.0, abs=1e-9)


def test_first_order_steps_alone_do_not_get_there():
    # What the chain is for: the same limit, and less than a tenth of it in the chain.
    problem = FORMS["network"](long_ones())
    alone = mm.solve(problem, FirstOrderSolver(max_iterations=2000, rel_gap=1e-6))
    chain = mm.solve(problem, rel_gap=1e-6)
    assert alone.bounds.gap_rel > 1e-5 > 1e-6 >= chain.bounds.gap_rel


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"width": -0.1}, "width must be"),
        ({"max_iterations": 0}, "max_iterations must be a whole number >= 1"),
        ({"max_dense": 0}, "max_dense must be a whole number >= 1"),
        ({"options": {"master": "x"}}, "its settings are width, max_iterations, max_dense, multipliers"),
    ],
)
def test_wrong_settings_are_refused_by_name(given, message):
    with pytest.raises(mm.InputError, match=message):
        LatticeInteriorPointSolver(**given)
