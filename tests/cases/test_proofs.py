"""Line A7: a bound of the convex relaxation is proved from multipliers, whatever route the run took."""

import dataclasses

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.results.result import Check, Result
from mmbn_opt.solvers.registry import get_solver_class

TREES = {"naive Bayes": mm.naive_bayes, "TAN": mm.tan_cmi}
ROUTES = ("auto", "convex", "interior_point", "first_order", "clarabel")


@pytest.fixture(scope="module")
def german(shared_table):
    frame, kinds = shared_table("german")
    return mm.prepare(frame, "class", kinds=kinds).data


@pytest.fixture(scope="module")
def car():
    return mm.prepare(mm.load_dataset("car"), "class").data


def proof(certificate: mm.Certificate) -> Check:
    return next(check for check in certificate.checks if check.name == "bound proved")


def assert_proved(relaxation: mm.MaxMarginRelaxation, result: Result) -> None:
    """Told in the run's own certificate and in a fresh one, and true by the formulation's own figures."""
    for certificate in (result.certificate, mm.certify(result.model, relaxation, result)):
        assert proof(certificate).ok, certificate
        assert "computed anew from multipliers" in proof(certificate).detail
    again = relaxation.prove_bound(result.multipliers)
    assert again == pytest.approx(result.bounds.dual_bound, rel=1e-8)
    assert again <= result.bounds.primal_bound


@pytest.mark.parametrize("tree", TREES)
def test_A7_the_default_relaxation_of_german_has_its_bound_proved(german, tree):
    relaxation = mm.MaxMarginRelaxation(german, TREES[tree](german))
    result = mm.solve(relaxation, rel_gap=1e-4, time_limit=60)
    assert result.solver_name == "convex"
    assert_proved(relaxation, result)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("tree", TREES)
def test_A7_on_shipped_data_by_every_route(car, tree, route):
    if route != "auto" and not (found := get_solver_class(route).availability()).available:
        pytest.skip(found.reason)
    relaxation = mm.MaxMarginRelaxation(car, TREES[tree](car))
    assert_proved(relaxation, mm.solve(relaxation, route, rel_gap=1e-4, time_limit=60))


@pytest.mark.parametrize("rel_gap", [0.3, 1e-2, 0.0])
def test_A7_wherever_the_run_ends(car, rel_gap):
    relaxation = mm.MaxMarginRelaxation(car, mm.tan_cmi(car), normalization="floor")
    result = mm.solve(relaxation, rel_gap=rel_gap, time_limit=5)
    assert_proved(relaxation, result)


def test_A7_by_the_background_run_and_by_the_path_of_lambda(car):
    relaxation = mm.MaxMarginRelaxation(car, mm.naive_bayes(car), normalization="floor")
    with mm.start(relaxation, rel_gap=1e-3, time_limit=60) as run:
        assert_proved(relaxation, run.result())
    chosen = mm.lambda_path(relaxation, [0.1, 1.0], rel_gap=1e-3, time_limit=60)
    assert_proved(chosen.formulation, chosen.result)


def test_A7_multipliers_of_another_bound_prove_nothing(car):
    relaxation = mm.MaxMarginRelaxation(car, mm.naive_bayes(car))
    result = mm.solve(relaxation, rel_gap=1e-3, time_limit=60)
    nothing = np.zeros_like(result.multipliers)
    weaker = dataclasses.replace(result, proof=None, multipliers=nothing)
    assert proof(mm.certify(result.model, relaxation, weaker)).ok is None
