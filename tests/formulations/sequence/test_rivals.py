"""Rivals of the margin over sequences: optima against all labellings, slopes, and what they claim of themselves."""

import labellings
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data import DiscreteVariable

CARDS = (3, 2)


def tiny(seed, n_labels=2, n=4):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 4, n)
    X = [rng.integers(-1, CARDS, size=(length, 2)).tolist() for length in lengths]
    Y = [rng.integers(0, n_labels, length).tolist() for length in lengths]
    Y[0][0], Y[1][0] = 0, 1
    data = mm.SequenceDataset(
        np.concatenate(X).astype(np.int32),
        np.concatenate(Y).astype(np.int32),
        np.concatenate([[0], np.cumsum(lengths)]),
        tuple(DiscreteVariable(f"x{j}", tuple(range(s))) for j, s in enumerate(CARDS)),
        DiscreteVariable("label", tuple(range(n_labels))),
    )
    return data, X, Y


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 20.0]))
def test_the_markov_network_has_the_optimum_over_all_labellings(seed, C):
    data, X, Y = tiny(seed)
    expected = labellings.optimum(2, CARDS, X, Y, C=C)
    for solver in ("auto", "constraint_generation"):
        result = mm.solve(mm.SequenceMarkovNetwork(data, C=C), solver, rel_gap=1e-7)
        assert result.certificate.ok, str(result.certificate)
        assert result.bounds.primal_bound == pytest.approx(expected, rel=1e-6, abs=1e-7)
        assert result.bounds.dual_bound == pytest.approx(expected, rel=1e-6, abs=1e-7)
    scalable = mm.solve(mm.SequenceMarkovNetwork(data, C=C), "first_order", rel_gap=1e-3)
    assert scalable.termination_status is mm.TerminationStatus.OPTIMAL
    assert scalable.bounds.primal_bound == pytest.approx(expected, rel=2e-3)
    assert scalable.bounds.dual_bound <= expected * (1 + 1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_conditional_likelihood_is_that_of_all_labellings(seed):
    data, X, Y = tiny(seed, 3)
    problem = mm.SequenceConditionalLikelihood(data, l2=0.3)
    w = np.random.default_rng(seed).normal(size=problem.n_parameters)
    lost = 0.0
    for x, y in zip(X, Y, strict=True):
        _, _, log = labellings.posterior(w, 3, CARDS, x)
        lost += log - labellings.score(w, 3, CARDS, x, y)
    assert problem.evaluate(problem.recover(w)) == pytest.approx(lost + 0.3 * float(w @ w))


@pytest.mark.parametrize("kind", [mm.SequenceConditionalLikelihood, mm.SequenceSmoothMargin])
def test_slopes_are_those_of_differences(kind):
    data, _, _ = tiny(3, 3)
    problem = kind(data)
    w = np.random.default_rng(1).normal(size=problem.n_parameters)
    _, slope = problem.value_and_gradient(w)
    for j in range(0, len(w), 3):
        up, down = w.copy(), w.copy()
        up[j] += 1e-5
        down[j] -= 1e-5
        difference = (problem.value_and_gradient(up)[0] - problem.value_and_gradient(down)[0]) / 2e-5
        assert slope[j] == pytest.approx(difference, abs=1e-5)


def test_the_conditional_likelihood_is_solved_to_proof():
    data, _, _ = tiny(5, 3)
    problem = mm.SequenceConditionalLikelihood(data, l2=0.5)
    result = mm.solve(problem, rel_gap=1e-8)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.certificate.ok
    w = result.model.vector
    for step in (0.01, -0.01):
        for j in range(len(w)):
            moved = w.copy()
            moved[j] += step
            assert problem.value_and_gradient(moved)[0] > result.bounds.primal_bound
    other = np.random.default_rng(2).normal(size=len(w))
    assert problem.lower_bound(other) <= result.bounds.primal_bound


def test_the_smooth_margin_lies_above_the_hard_one_and_nears_it():
    data, _, _ = tiny(6, 3)
    hard = mm.SequenceMaxMargin(data, gamma=2.0, normalization="floor", min_prob=1e-9)
    model = mm.HiddenMarkovClassifier.fit(data)
    values = [mm.SequenceSmoothMargin(data, gamma=2.0, eta=eta).evaluate(model) for eta in (0.5, 5.0, 500.0)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(hard.evaluate(model), abs=0.1)
    assert values[-1] >= hard.evaluate(model) - 1e-9


def test_conjugate_gradients_lower_the_smooth_margin_from_maximum_likelihood():
    data, _, _ = tiny(8, 3, n=10)
    problem = mm.SequenceSmoothMargin(data, gamma=1.0)
    result = mm.solve(problem, "conjugate_gradient", options={"max_iterations": 30})
    assert result.model.is_normalized
    assert result.bounds.primal_bound < problem.evaluate(problem.maximum_likelihood)
    assert result.bounds.dual_bound is None
    assert result.certificate.ok, str(result.certificate)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (mm.SequenceMarkovNetwork, {"C": 0.0}, "C must be a number"),
        (mm.SequenceConditionalLikelihood, {"l2": -1.0}, "l2 must be a number"),
        (mm.SequenceSmoothMargin, {"gamma": 0.0}, "gamma must be a number"),
        (mm.SequenceSmoothMargin, {"eta": "5"}, "eta must be a number"),
    ],
)
def test_wrong_settings_are_refused_by_name(kind, given, message):
    with pytest.raises(mm.InputError, match=message):
        kind(tiny(1)[0], **given)
