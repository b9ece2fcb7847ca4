"""Section C, names: one spelling of solvers, names as well as numbers of nodes, short reprs."""

import inspect

import pytest

import mmbn_opt as mm
from mmbn_opt.solvers import get_solver_class, solver_names
from mmbn_opt.solvers.registry import solver_name
from mmbn_opt.tuning.parameters import ParameterSettings


@pytest.fixture(scope="module")
def corral() -> mm.DiscreteDataset:
    return mm.prepare(mm.load_dataset("corral"), "class").data


@pytest.mark.parametrize("name", [pytest.param(name, id=f"C {name}") for name in solver_names()])
def test_solvers_are_spelled_with_underscores_and_hyphens_are_understood(name: str) -> None:
    assert "-" not in name
    assert get_solver_class(name).name == name
    assert get_solver_class(name.replace("_", "-")) is get_solver_class(name)
    assert solver_name(name.replace("_", "-")) == name


def test_results_and_traces_have_the_one_spelling_c(corral: mm.DiscreteDataset) -> None:
    for given in ("branch-and-cut", "branch_and_cut"):
        result = mm.solve(mm.SoftMarginStructure(corral), given)
        assert result.solver_name == "branch_and_cut"
        assert {record.source for record in result.trace if "branch" in record.source} == {"branch_and_cut"}
    assert not any("-" in name for name in mm.solvers()["name"])


def test_parameters_take_hyphens_too_c(corral: mm.DiscreteDataset) -> None:
    frame = mm.load_dataset("corral")
    X, y = frame.drop(columns="class"), frame["class"]
    model = mm.MaxMarginBayesClassifier(solver="conjugate-gradient", iterations=5).fit(X, y)
    assert model.result_ is not None
    assert model.result_.solver_name == "conjugate_gradient"
    assert mm.tune(mm.SmoothMargin(corral, mm.naive_bayes(corral)), {"lam": [0.1]}, solver="scipy-cg").solver.name == (
        "scipy_cg"
    )


def test_an_unknown_solver_is_told_with_what_was_given_c() -> None:
    with pytest.raises(mm.InputError, match=r"unknown solver 'scip-cut'; .* Did you mean 'scip_cuts'"):
        get_solver_class("scip-cut")


def test_cg_mm_is_one_thing_for_the_classifier_and_the_command_line_c() -> None:
    from mmbn_opt.cli.parameters import parameters

    own = inspect.signature(parameters).parameters
    usual = ParameterSettings()
    for name in ("lam", "kappa", "iterations", "validation", "smoothing", "solver"):
        assert own[name].default == getattr(usual, name) == mm.MaxMarginBayesClassifier().get_params()[name]


def test_reprs_are_one_short_line_c() -> None:
    data = mm.prepare(mm.load_dataset("vote"), "class", missing="state").data
    result = mm.solve(mm.SoftMarginStructure(data), time_limit=5)
    shown = [result.model, result.model.structure, result.trace, result.certificate, result]
    shown.append(mm.solve(mm.MaxMarginRelaxation(data, mm.naive_bayes(data)), rel_gap=1e-2).model)
    for thing in shown:
        words = repr(thing)
        assert words.startswith(type(thing).__name__ + "(")
        assert "\n" not in words
        assert len(words) < 160
    edges = len(result.model.structure.edges)
    assert repr(result.model.structure) == f"Structure(16 features, class 'class', {edges} edges)"
    assert f"{edges} edges, {result.model.n_parameters:,} parameters" in repr(result.model)
    assert repr(result.certificate) == f"Certificate(ok, {len(result.certificate.checks)} checks)"
    assert repr(mm.SoftMarginStructure(data).trivial_start().model.structure).endswith("0 edges)")
    for thing in (result.model, result.model.structure, result.trace):
        assert "<" in thing._repr_html_()


def test_blankets_and_children_take_names_and_numbers_c() -> None:
    tree = mm.Structure.from_names(
        ["smoke", "lung", "xray", "tub"], "either",
        [("smoke", "lung"), ("lung", "either"), ("tub", "either"), ("either", "xray")],
    )  # fmt: skip
    assert tree.markov_blanket("lung") == {"smoke", "either", "tub"}
    assert tree.children("lung") == ["either"]
    for number, name in enumerate(tree.names):
        assert {tree.names[v] for v in tree.markov_blanket(number)} == tree.markov_blanket(name)
        assert [tree.names[v] for v in tree.children(number)] == tree.children(name)
    for wrong, message in (
        ("lungs", "There is no node 'lungs'"),
        (7, "node must be a node's name or a number from 0 to 4"),
    ):
        with pytest.raises(mm.InputError, match=message):
            tree.markov_blanket(wrong)
        with pytest.raises(mm.InputError, match=message):
            tree.children(wrong)
