"""What every formulation does alike."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs import ProgramKind
from mmbn_opt.solvers.registry import get_solver_class, solver_table

DATA = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
STRUCTURE = mm.naive_bayes(DATA)
POINTS = np.concatenate([np.linspace(0, 1, 6), np.linspace(3, 4, 6)])[:, None]
FORMULATIONS = {
    "soft margin": mm.SoftMarginStructure(DATA),
    "decomposable": mm.DecomposableStructure(DATA),
    "relaxation": mm.MaxMarginRelaxation(DATA, STRUCTURE),
    "Markov network": mm.MaxMarginMarkovNetwork(DATA, STRUCTURE),
    "conditional likelihood": mm.ConditionalLikelihood(DATA, STRUCTURE),
    "constrained": mm.ConstrainedMaximumMargin(POINTS, ["a"] * 6 + ["b"] * 6, n_components=1),
}


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_program_is_of_the_kind_that_was_asked_for(name):
    formulation = FORMULATIONS[name]
    for kind in formulation.emits:
        built = formulation.build(kind).kind
        special = kind is ProgramKind.IMPLICIT_CONCAVE and built is ProgramKind.LINEAR_CHOICE
        assert built is kind or special


@pytest.mark.parametrize("name", FORMULATIONS)
def test_without_a_kind_the_row_form_or_the_only_kind_is_built(name):
    formulation = FORMULATIONS[name]
    several = ProgramKind.NONLINEAR if ProgramKind.LIKELIHOOD in formulation.emits else ProgramKind.MIXED_INTEGER
    expected = several if len(formulation.emits) > 1 else next(iter(formulation.emits))
    assert formulation.build().kind is expected


@pytest.mark.parametrize("name", FORMULATIONS)
def test_other_kinds_are_refused_by_name(name):
    formulation = FORMULATIONS[name]
    for kind in set(ProgramKind) - formulation.emits:
        with pytest.raises(InputError, match=rf"^{type(formulation).__name__} emits \[.*\], not {kind}\.$"):
            formulation.build(kind)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_samples_are_those_of_the_data_given(name):
    assert FORMULATIONS[name].n_samples == (12 if name == "constrained" else 20)


def test_held_out_samples_are_watched_only_where_they_were_given():
    assert not any(formulation.watched for formulation in FORMULATIONS.values())
    for name in ("conditional likelihood", "constrained"):
        assert FORMULATIONS[name].with_validation(0.3).watched


def test_a_solver_of_the_general_choice_program_takes_the_linear_one():
    for info in solver_table():
        accepts = get_solver_class(info.name).accepts
        assert ProgramKind.IMPLICIT_CONCAVE not in accepts or ProgramKind.LINEAR_CHOICE in accepts
