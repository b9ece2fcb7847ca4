"""CMM as a program: its functions against differences and definitions, the two penalties, what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.formulations.mixture.constrained import ConstrainedMaximumMargin
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.nonlinear import NonlinearProgram
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver

NUMERIC_SETS = (
    "wdbc", "sonar", "glass", "segmentation", "iris", "magic", "segment", "waveform-21", "waveform-40", "wine",
)  # fmt: skip


def random_problem(
    seed: int, n: int = 12, d: int = 2, k: int = 2, *, share_missing: float = 0.0, **settings: Any
) -> ConstrainedMaximumMargin:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    X[rng.random((n, d)) < share_missing] = np.nan
    X[:2] = rng.normal(size=(2, d))  # no column without a value
    return ConstrainedMaximumMargin(X, np.arange(n) % 2, k, missing="marginalize", **settings)


def random_point(program: NonlinearProgram, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed + 1)
    assert program.lower is not None
    assert program.upper is not None
    return np.clip(program.x0 + rng.normal(scale=0.3, size=program.x0.shape), program.lower, program.upper)


def differences(function: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences of a scalar or a vector of values, shape (..., n)."""
    columns = [(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    return np.stack(columns, axis=-1)


def assert_near(actual: np.ndarray, expected: np.ndarray) -> None:
    """To 1e-6, relative to the largest entry."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * max(1.0, float(np.abs(expected).max())))


# -- the functions --------------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 100_000), d=st.integers(1, 3), k=st.integers(1, 3), h=st.sampled_from([1.0, 3.0, 10.0]),
    tau=st.sampled_from([0.01, 0.25]), share_missing=st.sampled_from([0.0, 0.2]),
)  # fmt: skip
@settings(max_examples=40)
def test_gradient_and_jacobian_are_the_differences(
    seed: int, d: int, k: int, h: float, tau: float, share_missing: float
) -> None:
    program = random_problem(seed, d=d, k=k, h=h, tau=tau, share_missing=share_missing).build()
    x = random_point(program, seed)
    assert program.constraints is not None
    assert program.jacobian is not None
    assert_near(program.value_and_gradient(x)[1], differences(program.value, x))
    assert_near(program.jacobian(x), differences(program.constraints, x).reshape(-1, len(x)))


@given(seed=st.integers(0, 100_000), share_missing=st.sampled_from([0.0, 0.2]))
@settings(max_examples=20)
def test_one_pass_agrees_with_the_separate_functions(seed: int, share_missing: float) -> None:
    program = random_problem(seed, share_missing=share_missing).build()
    x = random_point(program, seed)
    assert program.evaluate is not None
    assert program.constraints is not None
    assert program.jacobian is not None
    point = program.evaluate(x)
    value, gradient = program.value_and_gradient(x)
    weights = np.random.default_rng(seed).normal(size=program.n_constraints)
    assert point.value == value
    np.testing.assert_array_equal(point.constraints, program.constraints(x))
    np.testing.assert_allclose(point.pull(weights), gradient + weights @ program.jacobian(x), rtol=1e-9, atol=1e-8)


def test_the_objective_is_equation_12_and_the_constraints_are_equation_16() -> None:
    X, y = np.array([[0.0], [1.0], [4.0], [6.0]]), [0, 0, 1, 1]
    formulation = ConstrainedMaximumMargin(X, y, n_components=1, h=2.0, xi=0.5, tau=0.01)
    program = formulation.build()
    x = program.x0
    model = formulation.recover(x)
    z = formulation.data.z[:, 0]
    densities = model.parts[0].densities
    p1, p2 = (norm(d.means[0, 0], np.sqrt(d.covariances[0, 0])).pdf(z) for d in densities)
    margin = -np.log(np.sum((p2[:2] / p1[:2]) ** 2)) / 2 - np.log(np.sum((p1[2:] / p2[2:]) ** 2)) / 2
    assert program.value(x) == pytest.approx(-margin)
    assert formulation.evaluate(model) == pytest.approx(margin)
    assert program.constraints is not None
    np.testing.assert_allclose(program.constraints(x), np.array([1, 1, -1, -1]) * (x[0] + np.log(p1 / p2)) - 0.5)


@given(seed=st.integers(0, 100_000), h=st.sampled_from([1.0, 10.0, 1000.0]))
@settings(max_examples=20)
def test_the_soft_margin_lies_below_the_margin_by_what_the_theory_allows(seed: int, h: float) -> None:
    formulation = random_problem(seed, h=h)
    model = formulation.trivial_start().model
    odds = formulation.signs * formulation.log_odds(model)
    hard = odds[formulation.signs > 0].min() - odds[formulation.signs < 0].max()
    slack = 2 * np.log(6) / h
    assert hard - slack - 1e-9 <= formulation.evaluate(model) <= hard + 1e-9


@given(seed=st.integers(0, 100_000))
@settings(max_examples=20)
def test_recover_and_encode_are_inverse(seed: int) -> None:
    formulation = random_problem(seed)
    program = formulation.build()
    x = random_point(program, seed)
    model = formulation.recover(x)
    again = formulation.encode(model)
    assert program.value(again) == pytest.approx(program.value(x), rel=1e-9)
    assert -program.value(again) == pytest.approx(formulation.evaluate(model), rel=1e-9)
    np.testing.assert_allclose(formulation.encode(formulation.recover(again)), again, rtol=1e-9, atol=1e-9)
    assert program.constraints is not None
    np.testing.assert_allclose(program.constraints(x) + formulation.xi, formulation.log_odds(model), rtol=1e-9)
    odds = model.decision_values(formulation.X)
    np.testing.assert_allclose(formulation.signs * (odds[:, 0] - odds[:, 1]), formulation.log_odds(model), rtol=1e-6)


def test_points_on_the_edge_of_the_box_come_back_to_it() -> None:
    formulation = random_problem(0, n=20, tau=0.1)
    program = formulation.build()
    assert program.lower is not None
    assert program.upper is not None
    rng = np.random.default_rng(0)
    for _ in range(20):
        edge = np.where(rng.random(len(program.x0)) < 0.5, program.lower, program.upper)
        x = np.where(rng.random(len(program.x0)) < 0.5, edge, program.x0)
        value = program.value(x)
        again = formulation.encode(formulation.recover(x))
        assert program.value(again) == pytest.approx(value, rel=1e-9)


def test_a_model_fitted_elsewhere_is_judged_the_same() -> None:
    formulation = random_problem(3, n=40)
    raw = MixtureClassifier.fit(formulation.X[:30], formulation.y[:30], 2, tau=0.1)
    carried = formulation.recover(formulation.encode(raw))
    assert formulation.evaluate(carried) == pytest.approx(formulation.evaluate(raw), rel=1e-9)
    np.testing.assert_allclose(carried.predict_proba(formulation.X), raw.predict_proba(formulation.X), atol=1e-9)


@given(seed=st.integers(0, 100_000))
@settings(max_examples=20)
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    formulation = random_problem(seed, n=20)
    order = np.random.default_rng(seed).permutation(20)
    other = ConstrainedMaximumMargin(formulation.X[order], formulation.y[order], 2, missing="marginalize")
    one, two = formulation.build(), other.build()
    np.testing.assert_allclose(one.x0, two.x0, atol=1e-9)
    assert one.value(one.x0) == pytest.approx(two.value(one.x0))


def test_duplicated_rows_lower_the_soft_margin_by_the_logarithm() -> None:
    formulation = random_problem(0, h=10.0)
    twice = ConstrainedMaximumMargin(np.repeat(formulation.X, 2, axis=0), np.repeat(formulation.y, 2), 2)
    model = formulation.trivial_start().model
    assert twice.evaluate(model) == pytest.approx(formulation.evaluate(model) - 2 * np.log(2) / 10)


@pytest.mark.parametrize("name", NUMERIC_SETS)
@pytest.mark.shared
def test_nothing_overflows_at_h_10_on_the_shared_sets(shared_table: Any, name: str) -> None:
    """p^h itself under- or overflows on most of these; warnings are errors here."""
    frame, _ = shared_table(name)
    labels = frame["class"] == frame["class"].value_counts().index[0]
    for tau in (0.000025, 0.25):
        formulation = ConstrainedMaximumMargin(frame.drop(columns="class"), labels, 3, h=10.0, tau=tau)
        program = formulation.build()
        value, gradient = program.value_and_gradient(program.x0)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert program.constraints is not None
        assert np.isfinite(program.constraints(program.x0)).all()
        assert formulation.evaluate(formulation.recover(program.x0)) == pytest.approx(-value, rel=1e-9)


@pytest.mark.parametrize("name", NUMERIC_SETS)
@pytest.mark.shared
@pytest.mark.slow
def test_nothing_overflows_while_training_at_h_10_on_the_shared_sets(shared_table: Any, name: str) -> None:
    frame, _ = shared_table(name)
    labels = frame["class"] == frame["class"].value_counts().index[0]
    formulation = ConstrainedMaximumMargin(frame.drop(columns="class"), labels, 3, h=10.0, tau=0.000025, xi_growth=1.0)
    result = ExteriorPenaltySolver(max_iterations=60).solve(formulation.build())
    assert result.termination_status is not TerminationStatus.NUMERICAL_ERROR
    model = formulation.recover(result.solution)
    start = formulation.trivial_start().model
    assert np.isfinite(formulation.evaluate(model))
    assert np.isfinite(formulation.log_odds(model)).all()
    assert np.sum(formulation.violations(model) ** 2) <= np.sum(formulation.violations(start) ** 2)


def test_the_extremes_of_the_box_are_finite() -> None:
    program = random_problem(0).build()
    for corner in (program.lower, program.upper):
        assert corner is not None
        value, gradient = program.value_and_gradient(corner)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()


# -- starts, checks, validation -------------------------------------------------------------------------------------


def test_the_start_is_inside_the_box_and_starts_get_better_or_are_not_taken() -> None:
    formulation = random_problem(1, n=60)
    program = formulation.build()
    assert program.lower is not None
    assert program.upper is not None
    for start in (formulation.trivial_start(), *formulation.starts()):
        x = formulation.encode(start.model)
        assert (x >= program.lower).all()
        assert (x <= program.upper).all()
    assert [s.source for s in formulation.starts()] == ["expectation-maximization"]
    assert not list(random_problem(1, n=60, share_missing=0.2).starts())


def test_the_check_says_which_samples_miss_xi_and_by_how_much() -> None:
    X, y = np.array([[0.0], [1.0], [10.0], [9.0], [10.0], [1.0]]), ["a", "a", "a", "b", "b", "b"]
    formulation = ConstrainedMaximumMargin(X, y, n_components=1)
    model = formulation.trivial_start().model
    table = formulation.violated_samples(model)
    odds = formulation.log_odds(model)
    assert set(table["row"]) == set(np.flatnonzero(odds < formulation.xi))
    np.testing.assert_allclose(table["violation"], formulation.xi - table["log_odds"])
    assert (np.diff(table["violation"]) <= 0).all()
    assert formulation.infeasibility(model) == pytest.approx(np.sqrt((table["violation"] ** 2).sum()))
    check = formulation.check(model)[0]
    assert check.ok is False
    assert f"row {table['row'][0]} by {table['violation'][0]:.3g}" in check.detail
    separable = ConstrainedMaximumMargin([[0.0], [1.0], [9.0], [10.0]], [0, 0, 1, 1], n_components=1)
    assert separable.check(separable.trivial_start().model)[0].ok
    assert separable.infeasibility(separable.trivial_start().model) == 0.0


@pytest.mark.parametrize("as_frame", [False, True])
def test_the_monitor_is_the_classification_rate_on_rows_that_are_not_learned_from(as_frame: bool) -> None:
    whole = random_problem(5, n=60)
    X: Any = pd.DataFrame(whole.X, columns=["a", "b"]) if as_frame else whole.X
    formulation = ConstrainedMaximumMargin(X, whole.y, 2).with_validation(0.25, seed=1)
    assert formulation.validation is not None
    held_X, held_y = formulation.validation
    assert len(held_y) == 16  # 7.5 of 30 in each class, rounded
    assert formulation.data.n_samples == 44
    seen = {tuple(row) for row in np.asarray(formulation.X)}
    assert not seen & {tuple(row) for row in np.asarray(held_X)}
    program = formulation.build()
    assert program.monitor is not None
    rate = formulation.recover(program.x0).score(held_X, held_y)
    assert rate <= program.monitor(program.x0) < rate + 1 / 16


# -- input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1, got 0"),
        ({"n_components": 7}, "Class 0 has 6 samples, fewer than n_components=7"),
        ({"h": 0.5}, r"h must be a number in \[1, 1e\+06\], got 0.5"),
        ({"xi": 0.0}, "xi must be a number in"),
        ({"tau": -1.0}, "tau must be a number in"),
        ({"tau": float("nan")}, "tau must be a number in"),
        ({"xi_growth": 0.5}, "xi_growth must be a number in"),
        ({"penalty": "interior"}, 'penalty must be "exterior" or "printed", got \'interior\''),
        ({"missing": "drop"}, 'missing must be "error" or "marginalize", got \'drop\''),
        ({"y": [0] * 12}, "y holds one class only, 0"),
        ({"y": [0, 1, 2] * 4}, r"CMM separates two classes; y holds 3: \[0, 1, 2\]. Use CMMClassifier"),
        ({"X": np.full((12, 2), np.nan)}, "Missing values"),
        ({"X": np.full((12, 2), np.nan), "missing": "marginalize"}, r"Columns \['x0', 'x1'\] have no value at all"),
        ({"validation": ([[0.0, 0.0]], [5])}, r"new classes \[5\]"),
        ({"validation": ([[0.0, np.nan]], [1])}, "The validation data hold NaN"),
    ],
)
def test_bad_input_is_refused_with_the_reason(changes: dict[str, Any], text: str) -> None:
    given = {"X": random_problem(0).X, "y": np.arange(12) % 2, "n_components": 2} | changes
    with pytest.raises(InputError, match=text):
        ConstrainedMaximumMargin(**given)


def test_a_program_over_the_limit_is_refused_with_the_figures() -> None:
    with pytest.raises(SizeLimitError, match="would have 21 parameters; the limit is max_parameters=20"):
        random_problem(0, max_parameters=20)


def test_models_of_other_classes_shapes_and_kinds_are_refused() -> None:
    formulation = random_problem(0)
    with pytest.raises(InputError, match=r"The model separates \[5, 6\]"):
        formulation.encode(MixtureClassifier.fit(formulation.X, formulation.y + 5, 2))
    with pytest.raises(InputError, match="must be 2 diagonal Gaussians"):
        formulation.encode(MixtureClassifier.fit(formulation.X, formulation.y, 1))
    with pytest.raises(InputError, match="must be 2 diagonal Gaussians"):
        formulation.encode(MixtureClassifier.fit(formulation.X, formulation.y, 2, covariance="full"))
    with pytest.raises(InputError, match="emits"):
        formulation.build(ProgramKind.MIXED_INTEGER)
    with pytest.raises(InputError, match="leaves no row to validate on"):
        formulation.with_validation(0.01)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_huge_scales_constant_features_and_duplicate_rows_change_nothing(scale: float) -> None:
    plain = random_problem(2, n=20)
    odd = ConstrainedMaximumMargin(np.column_stack([plain.X * scale, np.full(20, scale)]), plain.y, 2)
    start, other = plain.trivial_start().model, odd.trivial_start().model
    np.testing.assert_allclose(odd.log_odds(other), plain.log_odds(start), rtol=1e-6)
    twins = ConstrainedMaximumMargin([[0.0]] * 4 + [[1.0]] * 4, [0] * 4 + [1] * 4, 3)
    assert twins.check(twins.trivial_start().model)[0].ok
    assert list(twins.starts()) == []


# -- the Pyomo model ------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 100_000), k=st.integers(1, 3), share_missing=st.sampled_from([0.0, 0.2]))
@settings(max_examples=15)
def test_the_pyomo_model_is_the_same_program(seed: int, k: int, share_missing: float) -> None:
    """Built at one point and moved to another, where its auxiliary variables are solved for in their own order."""
    import pyomo.environ as pyo

    program = random_problem(seed, k=k, share_missing=share_missing).build()
    assert program.algebraic is not None
    assert program.constraints is not None
    x = random_point(program, seed)
    written = program.algebraic(program.x0)
    written.model.x.set_values(dict(enumerate(x.tolist())))
    for number in range(1, len(written.model.auxiliary) + 1):
        variable, row = written.model.auxiliary[number], written.model.defined[number]
        variable.set_value(variable.value - pyo.value(row.body))  # each row is `variable - expression == 0`
        assert abs(pyo.value(row.body)) < 1e-9
    assert pyo.value(written.model.objective) == pytest.approx(program.value(x), rel=1e-9, abs=1e-9)
    values = [pyo.value(activity) for activity in written.activities]
    np.testing.assert_allclose(values, program.constraints(x), rtol=1e-9, atol=1e-9)


def test_the_pyomo_model_does_not_underflow_where_a_plain_sum_of_exponentials_is_zero() -> None:
    import pyomo.environ as pyo

    X = np.array([[0.0], [0.1], [1e3], [0.0], [0.1], [-1e3]])
    program = ConstrainedMaximumMargin(X, [0, 0, 0, 1, 1, 1], 2, tau=0.000025).build()
    assert program.algebraic is not None
    x = program.x0.copy()
    x[5:7] = program.lower[5:7] if program.lower is not None else x[5:7]
    assert program.constraints is not None
    written = program.algebraic(x)
    assert np.abs(program.constraints(x)).max() > 1000
    assert pyo.value(written.model.objective) == pytest.approx(program.value(x), rel=1e-9)


def test_a_model_that_would_be_too_large_is_refused_with_the_figure() -> None:
    program = ConstrainedMaximumMargin(
        np.random.default_rng(0).normal(size=(20_000, 30)), np.arange(20_000) % 2
    ).build()
    assert program.algebraic is not None
    with pytest.raises(SizeLimitError, match="would hold 3,600,000 Gaussian terms; at most 2,000,000"):
        program.algebraic(program.x0)
