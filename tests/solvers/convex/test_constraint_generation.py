"""Constraint generation over sequences: limits, starts, refusals; optima are tested beside the formulations."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.solvers import ConstraintGenerationSolver, FirstOrderSolver

DATA = mm.SequenceDataset.from_lists(["aab", "abb", "bba", "bab"] * 3, ["XXY", "XYY", "YXX", "YYX"] * 3)
PROGRAM = mm.SequenceMaxMargin(DATA, gamma=1.0).build()


def test_rounds_are_few_and_rows_are_few():
    answer = ConstraintGenerationSolver(rel_gap=1e-7).solve(PROGRAM)
    assert answer.termination_status is mm.TerminationStatus.OPTIMAL
    assert answer.iterations <= 20
    # Four different sequences of three positions have 28 wrong labellings, each sequence is there three times.
    assert answer.stats["rows"] <= 3 * 28


def test_a_limit_of_rounds_ends_with_a_point_and_a_bound():
    answer = ConstraintGenerationSolver(max_rounds=1).solve(PROGRAM)
    assert answer.termination_status is mm.TerminationStatus.ITERATION_LIMIT
    assert answer.bounds.dual_bound <= answer.bounds.primal_bound
    assert PROGRAM.is_linear is False
    assert PROGRAM.violation(answer.solution) <= 1e-9


def test_the_start_is_kept_where_nothing_better_is_found():
    best = ConstraintGenerationSolver(rel_gap=1e-8).solve(PROGRAM).solution
    answer = ConstraintGenerationSolver(max_rounds=1).solve(PROGRAM, start=best)
    assert answer.bounds.primal_bound <= PROGRAM.value(best) + 1e-12


@pytest.mark.parametrize("solver", [ConstraintGenerationSolver, FirstOrderSolver])
def test_other_programs_and_starts_of_another_shape_are_refused(solver):
    with pytest.raises(mm.InputError, match=r"the start has shape \(3,\)"):
        solver().solve(PROGRAM, start=np.zeros(3))
    table = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 5, [0, 1] * 5)
    quadratic = mm.MaxMarginMarkovNetwork(table, mm.naive_bayes(table)).build()
    with pytest.raises(
        mm.InputError, match=r"solves .*programs of margins over sequences.*, got a quadratic margin pro"
    ):
        solver().solve(quadratic)


def test_settings_are_fields_and_others_are_refused():
    with pytest.raises(mm.InputError, match="max_rounds must be a whole number >= 1"):
        ConstraintGenerationSolver(max_rounds=0)
    with pytest.raises(mm.InputError, match="its settings are max_rounds"):
        ConstraintGenerationSolver(options={"master": "x"})
