"""Learning by a named method: one path for classifiers and the command line, with one set of defaults."""

import inspect

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.cli.parameters import parameters as command
from mmbn_opt.formulations.parameters.relaxation import DEFAULT_GAMMA
from mmbn_opt.solvers import FirstOrderSolver, HighsSolver, LbfgsSolver
from mmbn_opt.solving.settings import SolveSettings
from mmbn_opt.tuning import grid, lambda_path
from mmbn_opt.tuning.defaults import ITERATIONS, LAMBDA, LAMBDAS, RELAXATION_GAP
from mmbn_opt.tuning.parameters import METHODS, Learning, ParameterSettings, learn_parameters


@pytest.fixture(scope="module")
def iris() -> mm.DiscreteDataset:
    return mm.prepare(mm.load_dataset("iris"), "class").data


@pytest.fixture
def calls(monkeypatch) -> list[dict]:
    """What `solve` is called with."""
    import mmbn_opt.tuning.parameters as room

    heard: list[dict] = []
    whole = room.solve

    def listening(formulation, solver, **settings):
        heard.append({"formulation": formulation, "solver": solver, **settings})
        return whole(formulation, solver, **settings)

    monkeypatch.setattr(room, "solve", listening)
    return heard


SHARED = ("lam", "kappa", "iterations", "validation", "normalization", "alpha", "min_prob", "smoothing")


@pytest.mark.parametrize("classifier", [mm.MaxMarginBayesClassifier, mm.MaxMarginStructureClassifier])
def test_classifiers_have_the_defaults_of_the_learning(classifier):
    usual, own = ParameterSettings(), classifier().get_params()
    assert {name: own[name] for name in SHARED} == {name: getattr(usual, name) for name in SHARED}
    assert own["rel_gap"] is None


def test_the_command_line_has_the_defaults_of_the_learning():
    usual, own = ParameterSettings(), inspect.signature(command).parameters
    given = {name: own[name].default for name in (*SHARED, "method", "B", "solver", "seed")}
    assert given == {name: getattr(usual, name) for name in given}
    assert own["rel_gap"].default == RELAXATION_GAP
    assert own["threads"].default == 1


def test_lambdas_stand_in_one_place():
    assert {"cg-mm": 0.05, "relaxation": pytest.approx(1 / DEFAULT_GAMMA)} == LAMBDA
    assert inspect.signature(lambda_path.lambda_path).parameters["lambdas"].default is LAMBDAS["relaxation"]
    assert inspect.signature(lambda_path.choose_lambda).parameters["lambdas"].default is LAMBDAS["relaxation"]


def test_the_usual_grid_of_the_smooth_margin_is_that_of_tune(iris):
    points = grid._points(mm.SmoothMargin(iris, mm.naive_bayes(iris)), None)
    assert sorted({point["lam"] for point in points}) == list(LAMBDAS["cg-mm"])
    learning = Learning.of(iris, mm.naive_bayes(iris), ParameterSettings("cg-mm", lam="cv"))
    assert learning.lambdas == LAMBDAS["cg-mm"]


@pytest.mark.parametrize("method", METHODS)
def test_a_classifier_and_the_learning_give_the_same_tables(method, iris):
    frame = mm.load_dataset("iris")
    X, y = frame.drop(columns="class"), frame["class"]
    model = mm.MaxMarginBayesClassifier("nb", method).fit(X, y)
    learned = learn_parameters(iris, mm.naive_bayes(iris), ParameterSettings(method))
    for own, other in zip(model.network_.log_cpts, learned.network.log_cpts, strict=True):
        np.testing.assert_array_equal(own, other)
    assert (model.result_ is None) == (method == "ml")


@pytest.mark.parametrize("method", ["cg-mm", "cg-cl"])
def test_gradients_go_the_same_way_for_both(method, iris, calls):
    learned = learn_parameters(iris, mm.naive_bayes(iris), ParameterSettings(method))
    learn_parameters(iris, mm.naive_bayes(iris), ParameterSettings(method, validation=0.2))
    call, watched = calls
    assert call["solver"].name == watched["solver"].name == "conjugate_gradient"
    assert call["options"] == {"max_iterations": learned.chosen["max_iterations"]}
    assert (watched["options"], watched["validation"]) == ({"max_iterations": ITERATIONS}, 0.2)
    assert call["validation"] is None


def test_settings_of_a_configured_solver_are_kept(iris, calls):
    structure = mm.naive_bayes(iris)
    learn_parameters(iris, structure, ParameterSettings("cg-mm", solver=LbfgsSolver(memory=3, threads=2, seed=4)))
    learn_parameters(iris, structure, ParameterSettings("relaxation", solver=FirstOrderSolver(rel_gap=0.05)))
    learn_parameters(iris, structure, ParameterSettings("relaxation", solver=FirstOrderSolver()))
    said = ParameterSettings("relaxation", solver=FirstOrderSolver(rel_gap=0.05), call=SolveSettings(rel_gap=0.01))
    learn_parameters(iris, structure, said)
    first, *others = calls
    assert first["solver"] == LbfgsSolver(memory=3, threads=2, seed=4)
    assert not {"threads", "seed", "rel_gap"} & set(first)
    assert [call.get("rel_gap") for call in others] == [None, RELAXATION_GAP, 0.01]


def test_a_classifier_keeps_the_gap_of_its_solver():
    frame = mm.load_dataset("corral")
    X, y = frame.drop(columns="class"), frame["class"]
    for solver, given, gap in ((HighsSolver(rel_gap=0.4, seed=3), None, 0.4), (HighsSolver(rel_gap=0.4), 0.0, 0.0)):
        model = mm.MaxMarginStructureClassifier(max_parents=1, solver=solver, rel_gap=given).fit(X, y)
        assert model.result_.settings["rel_gap"] == gap
        assert model.result_.settings["seed"] == solver.seed


@pytest.mark.parametrize("method", ["cg-mm", "relaxation"])
def test_a_choice_of_lambda_is_that_of_the_function_for_it(method, iris):
    structure, lambdas = mm.naive_bayes(iris), (0.05, 0.5)
    learned = learn_parameters(iris, structure, ParameterSettings(method, lam=list(lambdas), iterations=20))
    if method == "cg-mm":
        chosen = mm.tune(mm.SmoothMargin(iris, structure), {"lam": lambdas}, max_iterations=20)
        pd.testing.assert_frame_equal(learned.table, chosen.table)
        assert learned.chosen == {"lam": chosen.settings["lam"], "max_iterations": chosen.iterations}
    else:
        path = mm.lambda_path(mm.MaxMarginRelaxation(iris, structure), lambdas)
        pd.testing.assert_frame_equal(learned.table, path.table.drop(columns="seconds"))
        assert learned.chosen == {"lam": path.lam}
        assert learned.result.bounds.gap_rel <= RELAXATION_GAP


def test_the_usual_settings_stand_where_a_choice_was_cut_off(iris):
    learning = Learning.of(iris, mm.naive_bayes(iris), ParameterSettings("cg-mm", lam="cv", iterations="cv"))
    usual = learning.as_usual()
    assert not usual.by_choice
    assert usual.chosen == {"lam": LAMBDA["cg-mm"], "max_iterations": 100}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "em"}, "method must be one of 'ml', 'cg-mm', 'cg-cl', 'relaxation', got 'em'"),
        ({"lam": -1.0}, "lam must be a number > 0, got -1.0"),
        ({"lam": [0.1, "0.2"]}, "lam must be a number > 0, got '0.2'"),
        ({"lam": float("nan")}, "lam must be a number > 0, got nan"),
        ({"lam": True}, "lam must be a number > 0, got True"),
        ({"method": "relaxation", "lam": 0.1, "B": 2.0}, "Give lam or B, not both"),
        ({"iterations": 1.5}, 'iterations must be a whole number >= 0, "cv" or None, got 1.5'),
        ({"iterations": True}, 'iterations must be a whole number >= 0, "cv" or None, got True'),
        ({"lam": "cv", "solver": "exterior_penalty"}, "A choice by cross-validation needs a descent method"),
        ({"method": "relaxation", "lam": "cv", "normalization": "published"}, "A path of lambda needs"),
    ],
)
def test_wrong_settings_are_named(settings, message, iris):
    with pytest.raises(mm.InputError, match=message):
        learn_parameters(iris, mm.naive_bayes(iris), ParameterSettings(**settings))


def test_whole_numbers_of_numpy_are_iterations(iris):
    learned = learn_parameters(iris, mm.naive_bayes(iris), ParameterSettings("cg-mm", iterations=np.int64(7)))
    assert learned.chosen["max_iterations"] == 7
