"""Parameter formulations through `mmbn_opt.solve`: what the user gets back, and odd data from end to end."""

import numpy as np
import pytest
from strategies import dataset_of

import mmbn_opt as mm
from mmbn_opt.formulations.parameters.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.scores.predictive import classification_rate
from mmbn_opt.solvers import registry
from mmbn_opt.solvers.nonlinear.conjugate_gradient import ConjugateGradientSolver

HOMES = {
    "conjugate_gradient": "nonlinear.conjugate_gradient:ConjugateGradientSolver",
    "lbfgs": "nonlinear.scipy_minimize:LbfgsSolver",
    "scipy_cg": "nonlinear.scipy_minimize:ScipyCgSolver",
}


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    for name, home in HOMES.items():
        monkeypatch.setitem(registry._SOLVERS, name, home)


@pytest.fixture(scope="module")
def car():
    return mm.prepare(mm.load_dataset("car"), "class").data


@pytest.mark.parametrize("solver", HOMES)
@pytest.mark.parametrize("make", [SmoothMargin, ConditionalLikelihood])
def test_every_method_raises_the_objective_and_passes_its_checks(car, solver, make):
    formulation = make(car, mm.naive_bayes(car))
    result = mm.solve(formulation, solver=solver, options={"max_iterations": 40}).raise_for_status()
    start = formulation.evaluate(formulation.trivial_start().model)
    assert result.bounds.primal_bound > start
    if make is SmoothMargin:
        assert result.bounds.dual_bound is None
    else:
        assert result.bounds.dual_bound >= result.bounds.primal_bound
    assert result.bounds.primal_bound == pytest.approx(formulation.evaluate(result.model), rel=1e-12)
    assert result.trace.to_frame()["primal_bound"].is_monotonic_increasing
    assert len(result.trace) >= 3
    assert classification_rate(result.model, car) > classification_rate(
        mm.BayesianNetwork.fit(mm.naive_bayes(car), car), car
    )


def test_a_validated_run_returns_the_kept_iterate_not_the_last(car):
    formulation = SmoothMargin(car, mm.naive_bayes(car), lam=0.5).with_validation(0.2, seed=3)
    result = mm.solve(formulation, solver=ConjugateGradientSolver(max_iterations=150, patience=10))
    kept = result.stats["best_iteration"]
    assert classification_rate(result.model, formulation.validation) == pytest.approx(
        result.stats["best_monitor"], abs=2e-6
    )
    again = mm.solve(formulation, solver=ConjugateGradientSolver(max_iterations=kept))
    for a, b in zip(result.model.log_cpts, again.model.log_cpts, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_a_time_limit_of_nothing_returns_maximum_likelihood(car):
    formulation = SmoothMargin(car, mm.naive_bayes(car))
    result = mm.solve(formulation, solver="conjugate_gradient", time_limit=0.0)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    fitted = mm.BayesianNetwork.fit(mm.naive_bayes(car), car)
    for a, b in zip(result.model.log_cpts, fitted.log_cpts, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_a_model_found_elsewhere_can_be_the_start(car):
    formulation = SmoothMargin(car, mm.naive_bayes(car))
    first = mm.solve(formulation, solver="lbfgs", options={"max_iterations": 10})
    more = mm.solve(formulation, solver="conjugate_gradient", starts=[first.model], options={"max_iterations": 1})
    assert more.bounds.primal_bound >= first.bounds.primal_bound


def test_certificates_find_a_network_that_is_not_what_it_claims(car):
    formulation = SmoothMargin(car, mm.naive_bayes(car))
    model = formulation.trivial_start().model
    assert mm.certify(model, formulation).ok
    tables = list(model.log_cpts)
    tables[0] = tables[0] + 0.1
    broken = mm.BayesianNetwork(model.structure, model.features, model.target, tuple(tables))
    assert [check.name for check in mm.certify(broken, formulation).failures] == ["CPTs normalised"]
    other = mm.BayesianNetwork.fit(mm.tan_cmi(car), car)
    assert [check.name for check in mm.certify(other, formulation).failures] == ["structure as given"]


@pytest.mark.parametrize("solver", HOMES)
def test_odd_data_have_models_that_predict(solver):
    cases = {
        "separable": dataset_of([[0, 0], [1, 1]] * 5, [2, 2]),
        "constant columns": dataset_of([[0, 0, 0], [0, 0, 1], [0, 0, 1]], [1, 2, 2]),
        "a class with one sample": dataset_of([[0, 0]] * 6 + [[1, 1]], [2, 2]),
        "a class never seen": dataset_of([[0, 0], [1, 2]] * 4, [2, 3]),
    }
    for data in cases.values():
        for formulation in (SmoothMargin(data, mm.tan_cmi(data)), ConditionalLikelihood(data, mm.tan_cmi(data))):
            result = mm.solve(formulation, solver=solver, options={"max_iterations": 30}).raise_for_status()
            # A state never seen is summed out; a cell that is missing too.
            gaps = np.full((1, data.n_features), -1)
            proba = result.model.predict_proba([["never seen"] * data.n_features], unseen="missing")
            assert proba.sum() == pytest.approx(1.0)
            assert np.isfinite(result.model.log_joint(gaps)).all()
