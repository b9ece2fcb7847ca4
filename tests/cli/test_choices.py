"""Values of options are those that the library accepts, and are read whatever their case and their hyphens."""

from typing import get_args

import pytest
import typer

from mmbn_opt.cli import choices
from mmbn_opt.data.discrete import MissingPolicy
from mmbn_opt.formulations.structure.by_score import SCORES
from mmbn_opt.heuristics.named import STRUCTURES
from mmbn_opt.solvers import solver_names
from mmbn_opt.tuning.parameters import METHODS


def test_scores_methods_policies_and_structures_are_those_of_the_library():
    from mmbn_opt.cli.parameters import _STRUCTURES

    assert choices.scores() == list(SCORES)
    assert list(choices.Method) == list(METHODS)
    assert set(choices.Missing) == set(get_args(MissingPolicy))
    assert list(_STRUCTURES) == list(STRUCTURES)


def test_every_value_that_an_option_offers_is_accepted(tmp_path):
    import mmbn_opt as mm
    from mmbn_opt.cli.tables import stand_in
    from mmbn_opt.interop.programs import write_local_scores, write_program
    from mmbn_opt.programs import ProgramKind

    data = stand_in()
    for acyclicity in choices.Acyclicity:
        mm.SoftMarginStructure(data, acyclicity=acyclicity.value).build(ProgramKind.MIXED_INTEGER)
    for parent_sets in choices.ParentSets:
        assert mm.DecomposableStructure(data, parent_sets=parent_sets.value).candidates.n_columns
    for normalization in choices.Normalization:
        mm.MaxMarginRelaxation(data, mm.naive_bayes(data), normalization=normalization.value)
    X, y = [[0.0], [1.0], [5.0], [6.0], [9.0], [9.5]], list("aabbcc")
    for strategy in choices.Strategy:
        for penalty in choices.Penalty:
            problem = mm.MulticlassMargin(X, y, 1, penalty=penalty.value, strategy=strategy.value)
            assert len(problem.parts) == 3
    for file_format in choices.FileFormat:
        path = tmp_path / f"program.{file_format}"
        if file_format is choices.FileFormat.JKL:
            write_local_scores(mm.DecomposableStructure(data), path)
        elif file_format is choices.FileFormat.MOF:
            mm.DecomposableStructure(data).to_mof(path)
        else:
            write_program(mm.DecomposableStructure(data), path, file_format=file_format.value)
        assert path.stat().st_size


@pytest.mark.parametrize("kind", [
    choices.Acyclicity, choices.ParentSets, choices.Missing, choices.MissingNumbers, choices.Method,
    choices.Normalization, choices.Penalty, choices.Strategy, choices.FileFormat, choices.Unseen,
])  # fmt: skip
def test_a_value_is_read_in_any_case_and_with_either_joint(kind):
    read = choices.one_of(kind)
    for value in kind:
        assert read(value.upper()) is read(value.replace("-", "_")) is read(f" {value} ") is value
    with pytest.raises(typer.BadParameter, match=f"'' is none of {', '.join(kind)}"):
        read("")


def test_solvers_are_read_with_hyphens_or_underscores():
    for name in solver_names():
        for spelling in (name, name.replace("_", "-"), name.replace("-", "_"), name.upper()):
            assert choices.solver_name(spelling) == name
    assert choices.solver_list("Branch-and-Cut, highs") == "branch_and_cut,highs"
    assert choices.solver_list("ALL") == "all"
