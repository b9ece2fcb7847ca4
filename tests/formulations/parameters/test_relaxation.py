"""The relaxation: its mathematics by second methods, its models, its errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import dataset_of, tiny_problems

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.formulations.parameters.relaxation import MaxMarginRelaxation
from mmbn_opt.networks.log_linear import LogLinearClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.convex_bounds import nearest_feasible
from mmbn_opt.scores.predictive import log_margins

KINDS = [
    {"gamma": 2.0, "normalization": "floor", "min_prob": 1e-3},
    {"gamma": 5.0, "normalization": "hybrid"},
    {"B": 0.5, "normalization": "hybrid", "alpha": 0.1},
    {"B": 1.0, "normalization": "floor"},
    {"B": 1.0, "normalization": "published"},
    {"gamma": 1.0, "normalization": "published"},
]


def tan_like(data):
    """Naive Bayes with a chain over the features."""
    edges = [("class", x) for x in data.feature_names]
    edges += list(zip(data.feature_names, data.feature_names[1:], strict=False))
    return mm.from_edges(data, edges)


@st.composite
def relaxations(draw):
    rows, card = draw(tiny_problems(max_rows=12))
    weights = [float(draw(st.integers(1, 3))) for _ in rows]
    data = dataset_of(rows, card, weights)
    structure = draw(st.sampled_from([mm.naive_bayes, tan_like]))(data)
    return MaxMarginRelaxation(data, structure, **draw(st.sampled_from(KINDS)))


def some_point(relaxation, seed, scale=1.0):
    program = relaxation.program
    rng = np.random.default_rng(seed)
    return program.project(scale * rng.normal(size=program.margins.n_parameters) - 1.0)


@given(relaxations(), st.integers(0, 10**6))
def test_the_program_and_the_data_agree_on_every_point_and_models_go_back_and_forth(relaxation, seed):
    program = relaxation.build(ProgramKind.CONVEX)
    w = some_point(relaxation, seed)
    model = relaxation.recover(w)
    np.testing.assert_allclose(relaxation.encode(model), w, atol=1e-12)
    assert program.violation(w) <= 1e-9
    assert relaxation.evaluate(model) == pytest.approx(program.value(w), rel=1e-9, abs=1e-9)
    margins = program.margins.margins(w).min(axis=1)
    weights = program.margins.weight
    theirs = log_margins(model, relaxation.data)
    assert weights @ margins == pytest.approx(relaxation.data.sample_weight @ theirs, rel=1e-9, abs=1e-9)


@given(relaxations(), st.integers(0, 10**6))
def test_the_operator_is_a_matrix_and_its_adjoint_is_the_transpose(relaxation, seed):
    margins = relaxation.program.margins
    matrix, sample, rival = margins.matrix(10**6)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=margins.n_parameters)
    np.testing.assert_allclose(margins.margins(w)[sample, rival], matrix @ w, atol=1e-12)
    y = np.zeros((margins.n_samples, margins.n_classes))
    y[sample, rival] = rng.random(len(sample))
    np.testing.assert_allclose(margins.adjoint(y), matrix.T @ y[sample, rival], atol=1e-12)


@given(relaxations())
def test_margin_rows_sum_to_zero_over_every_cpt(relaxation):
    """The lemma that makes the published problem a linear program."""
    matrix, _, _ = relaxation.program.margins.matrix(10**6)
    for low, high in zip(relaxation.layout.starts[:-1], relaxation.layout.starts[1:], strict=True):
        assert np.abs(matrix[:, low:high].sum(axis=1)).max() == 0


@given(relaxations(), st.integers(0, 10**6))
def test_weak_duality(relaxation, seed):
    """Any multipliers whatever, made admissible, bound any feasible point."""
    program = relaxation.program
    rng = np.random.default_rng(seed)
    value = program.value(some_point(relaxation, seed, scale=float(rng.choice([0.1, 1.0, 5.0]))))
    y = rng.exponential(size=(program.margins.n_samples, program.margins.n_classes)) * rng.choice([0.0, 0.1, 1.0, 10.0])
    assert program.dual_value(y) <= value + 1e-9 * max(1.0, abs(value))
    assert relaxation.trivial_bound() <= value + 1e-9 * max(1.0, abs(value))


@given(relaxations(), st.integers(0, 10**6), st.sampled_from([0.05, 0.5, 3.0]))
def test_the_smoothed_hinge_lies_above_the_hinge_and_its_gradient_is_right(relaxation, seed, tau):
    program = relaxation.program
    w = some_point(relaxation, seed)
    smooth, hinge, dual, v = program.margins.smooth_hinge(w, program.delta, 2.0, tau)
    total, k = program.margins.weight.sum(), program.margins.n_classes
    assert hinge <= smooth + 1e-12 <= hinge + tau * np.log(k) * total + 1e-9
    assert hinge == pytest.approx(program.hinge(program.margins.margins(w), 2.0), abs=1e-9)
    assert 0 <= dual <= 2.0 * total + 1e-9
    direction = np.random.default_rng(seed).normal(size=len(w))
    step = 1e-6
    ends = [program.margins.smooth_hinge(w + s * step * direction, program.delta, 2.0, tau)[0] for s in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(-v @ direction, rel=1e-4, abs=1e-4)


@settings(max_examples=25)
@given(relaxations())
def test_the_linear_form_is_what_scipy_finds_and_comes_back_as_a_point_of_that_value(relaxation):
    program = MaxMarginRelaxation(relaxation.data, relaxation.structure, B=0.7, normalization="published").program
    linear = program.linear_form()
    found = linprog(
        linear.c,
        A_ub=-linear.A.toarray(),
        b_ub=-linear.row_lower,
        bounds=list(zip(linear.col_lower, linear.col_upper, strict=True)),
    )
    assert found.status == 0
    if found.fun > 1e-9:
        w = program.from_linear_form(found.x[: program.margins.n_parameters])
        assert program.violation(w) <= 1e-9
        assert program.value(w) == pytest.approx(1.5 * (0.7 * found.fun) ** (2 / 3), rel=1e-9)


def test_weights_and_row_order_stand_for_the_same_problem():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (12, 3)).tolist()
    data, doubled = dataset_of(rows, [2, 2, 2], [2.0] * 12), dataset_of(rows[::-1] * 2, [2, 2, 2])
    pair = [MaxMarginRelaxation(d, mm.naive_bayes(d), gamma=2.0) for d in (data, doubled)]
    w = some_point(pair[0], 1)
    assert pair[0].program.value(w) == pytest.approx(pair[1].program.value(w), rel=1e-12)
    np.testing.assert_allclose(pair[0].linear - pair[1].linear, 0.0, atol=1e-12)


def test_any_network_on_the_structure_is_judged_at_its_nearest_feasible_point():
    rng = np.random.default_rng(1)
    data = dataset_of(rng.integers(0, 2, (20, 3)).tolist(), [2, 2, 2])
    relaxation = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0, normalization="floor", min_prob=0.05)
    network = BayesianNetwork.fit(mm.naive_bayes(data), data, smoothing=0.0)
    assert relaxation.evaluate(network) == pytest.approx(relaxation.program.value(relaxation.encode(network)))
    w = np.concatenate([network.log_cpts[v].ravel() for v in relaxation.layout.nodes])
    finite = np.where(np.isneginf(w), np.log(0.05), w)
    expected = nearest_feasible(finite, relaxation.layout.row_ptr, np.log(0.05))
    np.testing.assert_allclose(relaxation.encode(network), expected)
    other = BayesianNetwork.fit(tan_like(data), data)
    with pytest.raises(InputError, match="not those of the formulation"):
        relaxation.encode(other)


def test_checks_tell_of_rows_floor_renormalization_and_degeneracy():
    data = dataset_of([[0, 0], [1, 1]] * 5, [2, 2])
    published = MaxMarginRelaxation(data, mm.naive_bayes(data), B=1.0, normalization="published")
    model = published.trivial_start().model
    checks = {check.name: check for check in published.check(model)}
    assert checks["degeneracy"].ok is None
    assert "B only rescales" in checks["degeneracy"].detail
    assert "H* = 0" in checks["degeneracy"].detail
    assert checks["renormalization"].ok
    assert checks["CPT rows sum to at most 1"].ok
    heavy = LogLinearClassifier(
        model.structure, model.features, model.target, tuple(t + 0.5 for t in model.log_factors)
    )
    assert {c.name: c.ok for c in published.check(heavy)}["CPT rows sum to at most 1"] is False


def test_a_structure_that_cannot_be_renormalised_is_named_in_the_checks():
    rng = np.random.default_rng(2)
    data = dataset_of(rng.integers(0, 2, (30, 3)).tolist(), [2, 2, 2])
    structure = mm.from_edges(data, [("class", "x0"), ("x1", "x0")])
    relaxation = MaxMarginRelaxation(data, structure, gamma=2.0)
    check = {c.name: c for c in relaxation.check(relaxation.trivial_start().model)}["renormalization"]
    assert check.ok is None
    assert "'x0' has the parents 'class' and 'x1', which are not adjacent" in check.detail


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"B": 0.0}, r"B must be a finite number > 0, got 0\.0"),
        ({"B": -1.0}, "B must be a finite number > 0"),
        ({"gamma": float("nan")}, "gamma must be a finite number > 0, got nan"),
        ({"gamma": 1.0, "B": 1.0}, "not both"),
        ({"alpha": 0.0}, "alpha must be a finite number > 0"),
        ({"min_prob": 0.0}, r"min_prob must lie in \(0, 1/3\).*got 0\.0"),
        ({"min_prob": 0.4}, r"min_prob must lie in \(0, 1/3\).*got 0\.4"),
        ({"min_prob": float("nan")}, "min_prob"),
        ({"normalization": "none"}, "'none'"),
        ({"smoothing": -1.0}, "pseudo-count"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    data = dataset_of([[0, 0], [2, 1]], [3, 2])
    with pytest.raises(InputError, match=message):
        MaxMarginRelaxation(data, mm.naive_bayes(data), **settings)


def test_sizes_are_refused_with_their_numbers():
    data = dataset_of([[0, 0], [2, 1]], [3, 2])
    with pytest.raises(InputError, match="would have 8 parameters; the limit is max_parameters=5"):
        MaxMarginRelaxation(data, mm.naive_bayes(data), max_parameters=5)
    relaxation = MaxMarginRelaxation(data, mm.naive_bayes(data), max_nonzeros=3)
    with pytest.raises(SizeLimitError, match=r"2 rows and up to 8 non-zeros; the limit is max_nonzeros=3"):
        relaxation.program.margins.matrix(3)
    with pytest.raises(InputError, match="Only the published problem"):
        relaxation.linear_program()
    with pytest.raises(InputError, match="not mixed-integer"):
        relaxation.build(ProgramKind.MIXED_INTEGER)


def test_margins_of_another_scale_ask_for_that_much():
    """delta doubles what is asked of one rival."""
    from dataclasses import replace

    data = dataset_of([[0, 0], [1, 1], [0, 2]], [2, 3])
    program = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0, normalization="floor").program
    delta = np.ones((3, 3))
    delta[:, 2] = 2.0
    scaled = replace(program, delta=delta)
    w = program.project(np.zeros(program.margins.n_parameters))
    margins = program.margins.margins(w)
    expected = np.maximum((delta - margins).max(axis=1), 0) @ program.margins.weight
    assert scaled.value(w) == pytest.approx(expected)
    assert scaled.value(w) > program.value(w)
