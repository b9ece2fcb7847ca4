"""Choice programs: what they say of themselves."""

import numpy as np
import pytest
import scipy.sparse as sp

import mmbn_opt as mm
from mmbn_opt.programs import ChoiceProgram, ProgramKind


@pytest.fixture(scope="module")
def two_nodes():
    """Each may take the other as its parent."""
    parents = np.array([[0, 0], [0, 1], [0, 0], [1, 0]], dtype=bool)
    return ChoiceProgram(
        c=np.array([0.0, -1.0, 0.5, -2.0]), offsets=np.array([0, 2, 4]), parents=parents, A=sp.csr_array((0, 4)),
        row_upper=np.zeros(0), offset=3.0,
    )  # fmt: skip


def test_columns_beyond_0_and_1_are_a_violation_although_they_are_whole_and_sum_to_1(two_nodes):
    assert two_nodes.violation(np.array([2.0, -1.0, 1.0, 0.0])) == 1.0
    assert two_nodes.violation(np.array([0.0, 1.0, 1.0, 0.0])) == 0.0


def test_the_box_bounds_every_choice(two_nodes):
    values = [two_nodes.value(two_nodes.vector(np.array([a, b]))) for a in (0, 1) for b in (2, 3)]
    assert two_nodes.box_bound == 0.0 == min(values)
    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    margin = mm.SoftMarginStructure(data)
    program = margin.build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.box_bound <= program.value(margin.encode(mm.solve(margin).model, ProgramKind.IMPLICIT_CONCAVE))


def test_engines_get_it_without_its_heuristic(two_nodes):
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 5, [0, 1] * 5)
    program = mm.DecomposableStructure(data).build(ProgramKind.LINEAR_CHOICE)
    assert program.primal_heuristic is not None
    assert program.canonical().primal_heuristic is None
    assert program.canonical().term is program.term
