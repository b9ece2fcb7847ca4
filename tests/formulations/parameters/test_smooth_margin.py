"""Smooth margin and conditional likelihood: the compiled passes against their definitions, and the way to a network."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax
from strategies import dataset_of, tiny_problems

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.formulations.parameters.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin
from mmbn_opt.networks.structure import Structure
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.status import BoundKind, Sense
from mmbn_opt.scores import predictive

settings_of_margin = st.tuples(
    st.sampled_from([0.02, 0.3, 1.5]), st.sampled_from([0.02, 0.1, 0.5]), st.sampled_from([1.0, 5.0, 10.0])
)


@st.composite
def problems(draw, max_rows: int = 10):
    """(data, structure, rng): any DAG over up to four features and the class, weights, a random generator."""
    rows, card = draw(tiny_problems(max_features=4, max_rows=max_rows))
    weights = [draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in rows]
    order = draw(st.permutations(range(len(card))))
    parents: list[tuple[int, ...]] = [()] * len(card)
    for k, node in enumerate(order):
        parents[node] = tuple(draw(st.sets(st.sampled_from(order[:k]), max_size=2))) if k else ()
    data = dataset_of(rows, card, weights)
    return (
        data,
        Structure(data.feature_names, "class", tuple(parents)),
        np.random.default_rng(draw(st.integers(0, 10**6))),
    )


# -- a twin in NumPy: the formulas of the paper, CPT row by CPT row ---------------------------------------------------


def twin(formulation, beta):
    """Value and gradient of minus the objective, by the definition of the model and the chain rule of eq. 7."""
    data, structure = formulation.data, formulation.structure
    c, card = data.n_features, data.cardinalities
    blocks = {}
    at = 0
    for node in range(c + 1):
        if card[node] > 1 and (node == c or c in structure.parents[node]):
            shape = (math.prod(card[p] for p in structure.parents[node]), card[node])
            blocks[node] = softmax(beta[at : at + math.prod(shape)].reshape(shape), axis=1)
            at += math.prod(shape)
    assert at == len(beta)
    value, gradients = 0.0, {node: np.zeros_like(theta) for node, theta in blocks.items()}
    for row, label, weight in zip(data.codes, data.target_codes, data.sample_weight, strict=True):
        joint, cells = np.zeros(card[c]), []
        for k in range(card[c]):
            point, used = [*row, k], []
            for node, theta in blocks.items():
                h = 0
                for p in structure.parents[node]:
                    h = h * card[p] + point[p]
                joint[k] += math.log(theta[h, point[node]])
                used.append((node, h, point[node]))
            cells.append(used)
        slopes, part = slopes_of(formulation, joint, label)
        value += weight * part
        for k, used in enumerate(cells):
            for node, h, i in used:
                theta = blocks[node]
                gradients[node][h] += weight * slopes[k] * ((np.arange(theta.shape[1]) == i) - theta[h])
    return -value, -np.concatenate([gradients[node].ravel() for node in blocks])


def slopes_of(formulation, joint, label):
    """d objective / d log P(c, x) for every class, and the objective, of one sample."""
    own = np.arange(len(joint)) == label
    if isinstance(formulation, ConditionalLikelihood):
        return own - softmax(joint), joint[label] - logsumexp(joint)
    lam, kappa, eta = formulation.lam, formulation.kappa, formulation.eta
    rivals = np.where(own, -np.inf, joint)
    y = lam * (joint[label] - logsumexp(eta * rivals) / eta)
    if y <= 1 - 2 * kappa:
        part, slope = y + kappa, lam
    elif y < 1:
        part, slope = 1 - (y - 1) ** 2 / (4 * kappa), -lam / (2 * kappa) * (y - 1)
    else:
        part, slope = 1.0, 0.0
    return slope * (own - softmax(eta * rivals)), part


@given(problems(), settings_of_margin)
def test_margin_pass_equals_the_formulas_of_the_paper(problem, settings):
    data, structure, rng = problem
    lam, kappa, eta = settings
    formulation = SmoothMargin(data, structure, lam=lam, kappa=kappa, eta=eta)
    check_against_twin(formulation, rng)


@given(problems())
def test_posterior_pass_equals_the_formulas_of_the_paper(problem):
    data, structure, rng = problem
    check_against_twin(ConditionalLikelihood(data, structure), rng)


def check_against_twin(formulation, rng):
    beta = rng.normal(scale=rng.choice([0.1, 1.0, 10.0]), size=formulation.layout.size)
    value, gradient = formulation.build(ProgramKind.NONLINEAR).value_and_gradient(beta)
    expected, slopes = twin(formulation, beta)
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-10 * (1 + np.abs(slopes).max()))


@given(problems(), settings_of_margin)
def test_gradients_equal_differences_of_the_score(problem, settings):
    """The second opinion of SciPy's check_grad, on the score recomputed from the data and along a random direction."""
    data, structure, rng = problem
    lam, kappa, eta = settings
    for formulation in (
        SmoothMargin(data, structure, lam=lam, kappa=kappa, eta=eta),
        ConditionalLikelihood(data, structure),
    ):
        beta, direction = rng.normal(size=(2, formulation.layout.size))
        direction /= np.linalg.norm(direction)
        if isinstance(formulation, SmoothMargin):
            assume(far_from_corners(formulation, beta))
        step = 1e-4
        points = [formulation.evaluate(formulation.recover(beta + k * step * direction)) for k in (-2, -1, 1, 2)]
        difference = (points[0] - 8 * points[1] + 8 * points[2] - points[3]) / (12 * step)
        slope = -formulation.build(ProgramKind.NONLINEAR).value_and_gradient(beta)[1] @ direction
        assert slope == pytest.approx(difference, rel=1e-6, abs=1e-7)


def far_from_corners(formulation, beta) -> bool:
    """No sample sits where the second derivative jumps: differences are no judge there."""
    model = formulation.recover(beta)
    joint = model.log_joint(formulation.data.codes)
    rows = np.arange(len(joint))
    own = joint[rows, formulation.data.target_codes].copy()
    joint[rows, formulation.data.target_codes] = -np.inf
    y = formulation.lam * (own - logsumexp(formulation.eta * joint, axis=1) / formulation.eta)
    corners = np.minimum(abs(y - 1), abs(y - 1 + 2 * formulation.kappa))
    return bool((corners > 10 * formulation.lam * 2e-4).all())


# -- the score ---------------------------------------------------------------------------------------------------------


@given(problems(), settings_of_margin)
def test_program_and_score_agree_at_any_point(problem, settings):
    data, structure, rng = problem
    lam, kappa, eta = settings
    for formulation in (
        SmoothMargin(data, structure, lam=lam, kappa=kappa, eta=eta),
        ConditionalLikelihood(data, structure),
    ):
        beta = rng.normal(size=formulation.layout.size)
        value = -formulation.build(ProgramKind.NONLINEAR).value(beta)
        assert formulation.evaluate(formulation.recover(beta)) == pytest.approx(value, rel=1e-10, abs=1e-10)


def test_smooth_margin_of_naive_bayes_by_hand():
    # P(c) = 1/2 each, P(x|c) = 3/4 for the own state (2 of 2, Laplace): log d = log 3 for every sample.
    data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"], ["b"]], [0, 0, 1, 1])
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    margin = math.log(3)
    assert predictive.smooth_margin(network, data, lam=0.1, kappa=0.1, eta=10) == pytest.approx(
        4 * (0.1 * margin + 0.1)
    )
    # lam log d = .8789 lies in the rounded corner (.8, 1).
    assert predictive.smooth_margin(network, data, lam=0.8, kappa=0.1, eta=10) == pytest.approx(
        4 * (1 - (0.8 * margin - 1) ** 2 / 0.4)
    )
    assert predictive.smooth_margin(network, data, lam=1.0, kappa=0.1, eta=10) == 4.0


@given(problems())
def test_limits_are_the_hinge_and_the_maximum(problem):
    data, structure, rng = problem
    formulation = SmoothMargin(data, structure, lam=0.7, kappa=0.0, eta=math.inf)
    beta = rng.normal(size=formulation.layout.size)
    model = formulation.recover(beta)
    margins = predictive.log_margins(model, data)
    hinge = float(data.sample_weight @ np.minimum(1.0, 0.7 * margins))
    assert predictive.smooth_margin(model, data, lam=0.7, kappa=0.0, eta=math.inf) == pytest.approx(
        hinge, rel=1e-12, abs=1e-12
    )
    assert -formulation.build(ProgramKind.NONLINEAR).value(beta) == pytest.approx(hinge, rel=1e-10, abs=1e-10)
    near = predictive.smooth_margin(model, data, lam=0.7, kappa=1e-7, eta=1e7)
    assert near == pytest.approx(hinge, rel=1e-5, abs=1e-5)
    # The soft maximum is above the maximum, the rounded corner above the hinge less kappa.
    soft = predictive.smooth_margin(model, data, lam=0.7, kappa=0.0, eta=2.0)
    assert soft <= hinge + 1e-12
    assert predictive.smooth_margin(model, data, lam=0.7, kappa=0.2, eta=math.inf) >= hinge - 1e-12


@given(problems())
def test_the_hinge_gradient_is_a_subgradient_where_there_is_no_corner(problem):
    data, structure, rng = problem
    formulation = SmoothMargin(data, structure, lam=0.7, kappa=0.0, eta=math.inf)
    beta, direction = rng.normal(size=(2, formulation.layout.size))
    joint = np.sort(formulation.recover(beta).log_joint(data.codes), axis=1)
    margins = predictive.log_margins(formulation.recover(beta), data)
    assume((abs(0.7 * margins - 1) > 1e-2).all() and (joint.shape[1] < 3 or (np.diff(joint, axis=1) > 1e-2).all()))
    step = 1e-6
    ends = [formulation.evaluate(formulation.recover(beta + s * step * direction)) for s in (-1, 1)]
    slope = -formulation.build(ProgramKind.NONLINEAR).value_and_gradient(beta)[1] @ direction
    assert slope == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-5, abs=1e-6)


# -- vectors and models ------------------------------------------------------------------------------------------------


@given(problems())
def test_encode_is_the_inverse_of_recover(problem):
    data, structure, rng = problem
    formulation = SmoothMargin(data, structure)
    model = formulation.recover(rng.normal(size=formulation.layout.size))
    again = formulation.recover(formulation.encode(model))
    for a, b in zip(model.log_cpts, again.log_cpts, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert all(check.ok for check in formulation.check(model))


@given(problems())
def test_rows_shifted_by_a_constant_are_the_same_model(problem):
    data, structure, rng = problem
    formulation = ConditionalLikelihood(data, structure)
    beta = rng.normal(size=formulation.layout.size)
    ends = formulation.layout.row_ptr
    shifted = beta + np.repeat(rng.normal(size=len(ends) - 1), np.diff(ends))
    program = formulation.build(ProgramKind.NONLINEAR)
    assert program.value(shifted) == pytest.approx(program.value(beta), rel=1e-10, abs=1e-12)
    gradient = program.value_and_gradient(beta)[1]
    np.testing.assert_allclose(np.add.reduceat(gradient, ends[:-1]), 0.0, atol=1e-10)  # so no step leaves the gauge


@given(problems())
def test_factors_without_the_class_keep_maximum_likelihood(problem):
    data, structure, rng = problem
    formulation = SmoothMargin(data, structure)
    model = formulation.recover(rng.normal(size=formulation.layout.size))
    fitted = mm.BayesianNetwork.fit(structure, data)
    for node, parents in enumerate(structure.parents[:-1]):
        if data.n_features not in parents:
            np.testing.assert_allclose(model.log_cpts[node], fitted.log_cpts[node], atol=1e-12)


def test_the_start_is_maximum_likelihood_and_zeros_are_lifted():
    data = dataset_of([[0, 0], [0, 0], [1, 1]], [2, 2])
    start = SmoothMargin(data, mm.naive_bayes(data)).trivial_start().model
    np.testing.assert_allclose(
        start.log_cpts[0], mm.BayesianNetwork.fit(mm.naive_bayes(data), data).log_cpts[0], atol=1e-12
    )
    bare = SmoothMargin(data, mm.naive_bayes(data), smoothing=0.0)
    lifted = bare.trivial_start().model
    assert np.isfinite(lifted.log_cpts[0]).all()
    assert np.exp(lifted.log_cpts[0]).min() == pytest.approx(1e-10)
    assert np.isfinite(bare.build(ProgramKind.NONLINEAR).value(bare.encode(lifted)))
    assert list(bare.starts()) == []


# -- invariances -------------------------------------------------------------------------------------------------------


@given(problems())
def test_weights_stand_for_copies_and_order_does_not_matter(problem):
    data, structure, rng = problem
    whole = dataclasses.replace(data, sample_weight=2.0 * np.ceil(data.sample_weight))
    copies = whole.subset(np.repeat(np.arange(data.n_samples), whole.sample_weight.astype(int)))
    copies = dataclasses.replace(copies, sample_weight=np.ones(copies.n_samples))
    copies = copies.subset(rng.permutation(copies.n_samples))
    a, b = (SmoothMargin(d, structure).build(ProgramKind.NONLINEAR) for d in (whole, copies))
    beta = rng.normal(size=len(a.x0))
    np.testing.assert_allclose(a.x0, b.x0, atol=1e-12)
    np.testing.assert_allclose(a.value_and_gradient(beta)[1], b.value_and_gradient(beta)[1], rtol=1e-9, atol=1e-10)


@pytest.fixture(scope="module")
def images():
    """20,000 samples of 12 correlated features with five classes: several parts, groups of several features."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 20_000)
    hidden = rng.integers(0, 3, (20_000, 12))
    codes = (hidden + (rng.random((20_000, 12)) < 0.4) * labels[:, None] + np.roll(hidden, 1, axis=1)) % 4
    return dataset_of(np.column_stack([codes, labels]).tolist(), [4] * 12 + [5])


@pytest.mark.parametrize("make", [SmoothMargin, ConditionalLikelihood])
def test_threads_change_nothing_at_all(images, make):
    structure = mm.tan_cmi(images)
    program = make(images, structure).build(ProgramKind.NONLINEAR)
    threaded = make(images, structure, threads=2).build(ProgramKind.NONLINEAR)
    value, gradient = program.value_and_gradient(program.x0)
    for _ in range(3):
        again, slopes = threaded.value_and_gradient(program.x0)
        assert again == value
        assert (slopes == gradient).all()


@pytest.mark.parametrize("make", [SmoothMargin, ConditionalLikelihood])
def test_large_data_agree_with_a_vectorised_evaluation(images, make):
    formulation = make(images, mm.tan_cmi(images))
    program = formulation.build(ProgramKind.NONLINEAR)
    assert -program.value(program.x0) == pytest.approx(formulation.evaluate(formulation.recover(program.x0)), rel=1e-10)
    rng = np.random.default_rng(1)
    direction = rng.normal(size=len(program.x0))
    step = 1e-4
    points = [program.value(program.x0 + k * step * direction) for k in (-2, -1, 1, 2)]
    difference = (points[0] - 8 * points[1] + 8 * points[2] - points[3]) / (12 * step)
    assert program.value_and_gradient(program.x0)[1] @ direction == pytest.approx(difference, rel=1e-6)


# -- validation --------------------------------------------------------------------------------------------------------


@given(problems())
def test_the_monitor_is_the_classification_rate_and_the_objective_breaks_ties(problem):
    data, structure, rng = problem
    held_out = data.subset(np.arange(data.n_samples)[::2])
    formulation = SmoothMargin(data, structure).with_validation(held_out)
    program = formulation.build(ProgramKind.NONLINEAR)
    points = [rng.normal(size=len(program.x0)) for _ in range(2)]
    rates = [predictive.classification_rate(formulation.recover(p), held_out) for p in points]
    values = [predictive.smooth_margin(formulation.recover(p), held_out) for p in points]
    marks = [program.monitor(p) for p in points]
    for rate, mark in zip(rates, marks, strict=True):
        assert rate - 1e-12 <= mark <= rate + 1e-6
    if abs(rates[0] - rates[1]) > 1e-9:
        assert (rates[0] > rates[1]) == (marks[0] > marks[1])
    elif abs(values[0] - values[1]) > 1e-3 * (1 + abs(values[0])):
        assert (values[0] > values[1]) == (marks[0] > marks[1])


def test_a_share_of_the_rows_is_drawn_by_class_and_not_by_position():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 3, (100, 3)), np.repeat([0, 1], [80, 20])])
    data = dataset_of(table.tolist(), [3, 3, 3, 2])
    split = SmoothMargin(data, mm.naive_bayes(data)).with_validation(0.2, seed=1)
    assert np.bincount(split.validation.target_codes).tolist() == [16, 4]
    assert np.bincount(split.data.target_codes).tolist() == [64, 16]
    shuffled = data.subset(rng.permutation(100))
    again = SmoothMargin(shuffled, mm.naive_bayes(data)).with_validation(0.2, seed=1)
    assert sorted(map(tuple, again.validation.codes)) == sorted(map(tuple, split.validation.codes))


# -- odd data ----------------------------------------------------------------------------------------------------------


def test_constant_columns_single_samples_and_undeclared_rows_have_finite_answers():
    data = dataset_of([[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]], [1, 3, 3])  # a constant column, class 2 never seen
    for make in (SmoothMargin, ConditionalLikelihood):
        formulation = make(data, mm.tan_cmi(data))
        program = formulation.build(ProgramKind.NONLINEAR)
        value, gradient = program.value_and_gradient(program.x0)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert len(program.x0) == 1 * 3 + 3 * 3  # the constant column has nothing to learn


def test_separable_data_have_an_exactly_zero_gradient_beyond_the_margin():
    data = dataset_of([[0, 0], [1, 1]] * 5, [2, 2])
    formulation = SmoothMargin(data, mm.naive_bayes(data), lam=1.0)
    program = formulation.build(ProgramKind.NONLINEAR)
    beta = 5 * program.x0
    value, gradient = program.value_and_gradient(beta)
    assert value == -10.0
    assert not gradient.any()


def test_a_network_without_features_learns_the_prior():
    data = mm.DiscreteDataset.from_arrays(np.empty((4, 0), dtype=int), [0, 0, 0, 1])
    program = ConditionalLikelihood(data, mm.naive_bayes(data), smoothing=0.0).build(ProgramKind.NONLINEAR)
    value, gradient = program.value_and_gradient(program.x0)
    assert value == pytest.approx(-(3 * math.log(0.75) + math.log(0.25)))
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


def test_what_a_formulation_says_of_itself():
    assert SmoothMargin.sense is Sense.MAXIMIZE
    assert SmoothMargin.bound_kind is BoundKind.HEURISTIC
    assert SmoothMargin.emits == frozenset({ProgramKind.NONLINEAR})
    data = dataset_of([[0, 0], [1, 1]], [2, 2])
    assert SmoothMargin(data, mm.naive_bayes(data)).trivial_bound() is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": 0.0}, r"lam must be a number in \(0, .*got 0"),
        ({"lam": float("nan")}, "lam must be a number"),
        ({"kappa": -0.1}, "kappa must be a number"),
        ({"eta": 0.5}, r"eta must be a number in \[1, inf\], got 0.5"),
        ({"lam": True}, "got True"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"smoothing": -1.0}, "smoothing"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings, message):
    data = dataset_of([[0, 0], [1, 1]], [2, 2])
    with pytest.raises(InputError, match=message):
        SmoothMargin(data, mm.naive_bayes(data), **settings)


def test_input_that_does_not_fit_is_refused():
    data = dataset_of([[0, 0], [1, 1]], [2, 2])
    other = dataset_of([[0, 0, 0], [1, 1, 1]], [2, 2, 2])
    formulation = SmoothMargin(data, mm.naive_bayes(data))
    with pytest.raises(InputError, match="not the data's columns"):
        SmoothMargin(data, mm.naive_bayes(other))
    with pytest.raises(InputError, match="validation data's variables"):
        formulation.with_validation(other)
    with pytest.raises(InputError, match="share of the rows"):
        formulation.with_validation(1.5)
    with pytest.raises(InputError, match="leaves no row"):
        formulation.with_validation(0.1)
    with pytest.raises(InputError, match="no missing cells"):
        formulation.with_validation(dataset_of([[-1, 0]], [2, 2]))
    with pytest.raises(InputError, match="structure or variables"):
        formulation.encode(mm.BayesianNetwork.fit(mm.naive_bayes(other), other))
    with pytest.raises(InputError, match="emits"):
        formulation.build(ProgramKind.MIXED_INTEGER)
    with pytest.raises(SizeLimitError, match=r"would have 6 parameters; the limit is max_parameters=5\b"):
        SmoothMargin(data, mm.naive_bayes(data), max_parameters=5)
