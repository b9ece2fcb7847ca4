"""h_L, the projection and the dual bound against second methods."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from mmbn_opt.programs.convex_bounds import (
    admissible_multipliers,
    best_gamma,
    free_margin_value,
    nearest_feasible,
    support_function,
)


@st.composite
def rows_and_floor(draw):
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    # Below, products with shares are subnormal and lose digits; the value there is 0 to any of them.
    number = st.floats(-20, 20).map(lambda x: x if abs(x) > 1e-200 else 0.0)
    values = draw(st.lists(number, min_size=sum(sizes), max_size=sum(sizes)))
    floor = draw(st.sampled_from([1e-12, 1e-6, 1e-3, 0.05, 0.12]))
    return np.array(values), np.cumsum([0, *sizes]), np.log(floor)


def feasible(w, row_ptr, log_floor):
    sums = np.add.reduceat(np.exp(w), row_ptr[:-1])
    return sums.max() <= 1 + 1e-12 and w.min() >= log_floor - 1e-12


@given(rows_and_floor(), st.integers(0, 10**6))
def test_no_feasible_point_beats_the_support_function_and_its_own_point_attains_it(problem, seed):
    v, row_ptr, log_floor = problem
    value, point = support_function(v, row_ptr, log_floor)
    assert feasible(point, row_ptr, log_floor)
    assert v @ point == pytest.approx(value, rel=1e-9, abs=1e-9)
    rng = np.random.default_rng(seed)
    for scale in (0.01, 1.0, 10.0):
        rival = nearest_feasible(point + scale * rng.normal(size=len(v)), row_ptr, log_floor)
        assert v @ rival <= value + 1e-9 * max(1, abs(value))


@given(rows_and_floor())
def test_the_support_function_is_what_a_general_optimizer_finds(problem):
    v, row_ptr, log_floor = problem
    value = support_function(v, row_ptr, log_floor)[0]
    total = 0.0
    for low, high in itertools.pairwise(row_ptr):
        part = v[low:high]
        start = np.full(high - low, np.log(0.9 / (high - low)))
        found = minimize(
            lambda w, part=part: -part @ w,
            np.maximum(start, log_floor),
            jac=lambda w, part=part: -part,
            bounds=[(log_floor, 0.0)] * (high - low),
            constraints=[{"type": "ineq", "fun": lambda w: 1 - np.exp(w).sum(), "jac": lambda w: -np.exp(w)}],
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        total -= found.fun
    assert total <= value + 1e-5 * max(1.0, abs(value))
    # SLSQP stalls now and then; where it does not it must reach the value.
    if abs(total - value) > 1e-4 * max(1.0, abs(value)):
        assert total < value


@pytest.mark.parametrize("log_floor", [-np.inf, np.log(1e-3)])
def test_a_row_without_negative_entries_has_the_entropy_as_its_support(log_floor):
    v = np.array([5.0, 2.0, 3.0])
    value, point = support_function(v, np.array([0, 3]), log_floor)
    assert value == pytest.approx((v * np.log(v / v.sum())).sum())
    np.testing.assert_allclose(np.exp(point), v / v.sum())


@given(rows_and_floor(), st.sampled_from([0.5, 1.0, 7.0]), st.integers(0, 10**6))
@example((np.array([-20.0, -7.0, 0.0, 0.0]), np.array([0, 4]), np.log(1e-12)), 0.5, 0)
def test_the_projection_satisfies_its_optimality_conditions(problem, scale, seed):
    z, row_ptr, log_floor = problem
    rng = np.random.default_rng(seed)
    metric = rng.uniform(0.05, 3.0, len(z)) * scale
    w = nearest_feasible(z, row_ptr, log_floor, metric)
    assert feasible(w, row_ptr, log_floor)
    for low, high in itertools.pairwise(row_ptr):
        zr, wr, d = z[low:high], w[low:high], metric[low:high]
        free = wr > log_floor + 1e-12
        mu = d * (zr - wr) / np.exp(wr)
        if np.exp(wr).sum() < 1 - 1e-9:
            np.testing.assert_allclose(wr, np.maximum(zr, log_floor), atol=1e-9)
        elif free.any():
            level = mu[free][wr[free].argmax()]  # of the most probable entry: at e^-20 mu is rounding error / e^-20
            assert level >= -1e-6
            np.testing.assert_allclose(d[free] * (zr - wr)[free], level * np.exp(wr[free]), rtol=1e-5, atol=1e-6)
            assert (zr[~free] - wr[~free] <= level * np.exp(wr[~free]) / d[~free] + 1e-6).all()


@given(rows_and_floor(), st.sampled_from([9.0, 100.0, 1e4]), st.integers(0, 10**6))
@example((np.array([18.0, -0.3, 0.0]), np.array([0, 3]), np.log(1e-3)), 10.0, 0)
def test_points_far_away_are_projected_too(problem, scale, seed):
    z, row_ptr, log_floor = problem
    z = scale * z
    w = nearest_feasible(z, row_ptr, log_floor)
    assert feasible(w, row_ptr, log_floor)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        other = nearest_feasible(rng.normal(-1.0, 3.0, len(z)), row_ptr, log_floor)
        assert (z - w) @ (other - w) <= 1e-5 * scale * len(z)


@given(rows_and_floor())
def test_projecting_twice_changes_nothing(problem):
    z, row_ptr, log_floor = problem
    once = nearest_feasible(z, row_ptr, log_floor)
    np.testing.assert_allclose(nearest_feasible(once, row_ptr, log_floor), once, atol=1e-12)


def test_far_points_are_projected_without_overflow():
    row_ptr = np.array([0, 3])
    for z in ([1e4, 0.0, -1e4], [800.0, 800.0, 799.0], [-1e5, -1e5, -1e5]):
        w = nearest_feasible(np.array(z), row_ptr, np.log(1e-6))
        assert feasible(w, row_ptr, np.log(1e-6)), z


def test_multipliers_that_are_too_large_negative_or_not_numbers_are_made_admissible():
    y = np.array([[np.nan, 1.0, 2.0], [-1.0, 0.5, np.inf]])
    allowed = admissible_multipliers(y, np.array([0, 2]), np.array([1.5, 1.0]))
    assert (allowed >= 0).all()
    assert (allowed.sum(axis=1) <= [1.5, 1.0]).all()
    np.testing.assert_allclose(allowed, [[0, 0.5, 1.0], [0, 0.5, 0]])


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.floats(0.01, 10))
def test_the_best_gamma_is_a_minimum(margins, strength):
    table = np.column_stack([np.full(len(margins), np.inf), margins])
    weight = np.arange(1.0, len(margins) + 1)
    gamma = best_gamma(table, np.ones((1, 2)), weight, strength)

    def value(g):
        return 0.5 / g**2 + strength * (weight @ np.maximum(g - np.array(margins), 0))

    for factor in (0.9, 0.999, 1.001, 1.1):
        assert value(gamma) <= value(gamma * factor) + 1e-9


def test_with_gamma_free_the_dual_margin_enters_by_its_two_thirds_power():
    """``min over g of 1/(2 g^2) + g S`` on a grid."""
    for s in (0.1, 1.0, 20.0):
        grid = np.linspace(0.01, 10, 200_000)
        assert free_margin_value(s, 0.0, 1.0) == pytest.approx((0.5 / grid**2 + grid * s).min(), rel=1e-6)
