"""How far a model is from the optimum, against an optimum that another solver found."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.parameters.relaxation import MaxMarginRelaxation
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin
from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver
from mmbn_opt.solvers.convex.first_order import FirstOrderSolver
from mmbn_opt.solving.distance import distance_to_optimum


def car_like(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (150, 4))
    y = (X[:, 0] + X[:, 1] + rng.integers(0, 2, 150)) % 3
    return mm.DiscreteDataset.from_arrays(X, y)


@pytest.mark.parametrize(
    "settings",
    [
        {"gamma": 5.0, "normalization": "floor"},
        {"gamma": 5.0},
        {"B": 0.1},
        {"B": 1.0, "normalization": "published"},
    ],
)
@pytest.mark.parametrize("solver", [None, FirstOrderSolver()])
def test_the_distance_of_any_model_holds_the_truth(settings, solver):
    data = car_like()
    relaxation = MaxMarginRelaxation(data, mm.naive_bayes(data), **settings)
    if solver is not None and relaxation.program.is_linear:
        pytest.skip("first-order methods bring no useful bound without a floor")
    truth = ClarabelSolver().solve(relaxation.build()).bounds.primal_bound
    for model in (relaxation.maximum_likelihood, relaxation.recover(np.full(relaxation.layout.size, -3.0))):
        distance = distance_to_optimum(model, relaxation, solver=solver, time_limit=20.0)
        assert distance.dual_bound <= truth * (1 + 1e-6)
        assert distance.value >= truth * (1 - 1e-6)
        exact = (relaxation.evaluate(model) - truth) / truth
        assert distance.within >= exact - 1e-6
        assert distance.within <= exact + 5e-3 * (1 + exact)


def test_a_conjugate_gradient_like_network_gets_its_percentage():
    data = car_like(1)
    structure = mm.naive_bayes(data)
    relaxation = MaxMarginRelaxation(data, structure, gamma=5.0, normalization="floor")
    network = SmoothMargin(data, structure, lam=0.2).trivial_start().model
    distance = distance_to_optimum(network, relaxation)
    assert 0 < distance.within < 5
    assert str(distance).startswith(f"within {100 * distance.within:.2f} % of the global optimum")
    check = distance.check()
    assert check.ok
    assert "proved by interior_point" in check.detail


def test_where_the_bound_is_zero_no_percentage_is_made_up():
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 5, [0, 1] * 5)
    relaxation = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=5.0, normalization="floor")
    distance = distance_to_optimum(relaxation.recover(np.log(np.full(6, 0.5))), relaxation)
    assert distance.within == float("inf")
    assert "no relative distance" in str(distance)


def test_only_relaxations_have_this_distance():
    data = car_like()
    other = SmoothMargin(data, mm.naive_bayes(data))
    with pytest.raises(InputError, match=r"^formulation must be a MaxMarginRelaxation, got a SmoothMargin"):
        distance_to_optimum(other.trivial_start().model, other)


@pytest.mark.parametrize("structure", [mm.naive_bayes, mm.tan_cmi])
def test_the_percentage_of_a_conjugate_gradient_model_contains_the_truth_of_a_cone_solver(structure):
    data = car_like(2)
    graph = structure(data)
    relaxation = MaxMarginRelaxation(data, graph, gamma=5.0, normalization="floor")
    truth = ClarabelSolver().solve(relaxation.build()).bounds
    withins = []
    for iterations in (5, 200):
        network = mm.solve(
            SmoothMargin(data, graph, lam=0.2, kappa=0.02, eta=50.0),
            "conjugate_gradient",
            options={"max_iterations": iterations},
        ).model
        distance = distance_to_optimum(network, relaxation, rel_gap=1e-4)
        exact = (relaxation.evaluate(network) - truth.dual_bound) / truth.dual_bound
        assert distance.dual_bound <= truth.primal_bound * (1 + 1e-6)
        assert distance.within == pytest.approx(exact, abs=2e-3 * (1 + exact))
        certificate = mm.certify(network, relaxation)
        line = next(check for check in certificate.checks if check.name == "distance to the optimum")
        assert line.ok
        assert "% of the global optimum" in line.detail
        withins.append(distance.within)
    assert withins[1] < withins[0]
