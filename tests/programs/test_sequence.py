"""Programs over sequences: values, sums and bounds against the enumeration of all labellings."""

import itertools
import math

import labellings
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmbn_opt.programs.chain_kernels import expectations
from mmbn_opt.programs.chain_operator import ChainOperator, block_starts, chain_index
from mmbn_opt.programs.labellings import mixed_labellings, soft_labellings
from mmbn_opt.programs.sequence import SequenceMarkovProgram, SequenceProgram


@st.composite
def tiny_chains(draw, missing=True):
    """Labels, symbols of each feature, observed codes (-1 for a missing cell) and labels of some sequences."""
    n_labels = draw(st.integers(2, 3))
    cards = draw(st.lists(st.integers(2, 3), min_size=1, max_size=2))
    lowest = -1 if missing else 0
    X, Y = [], []
    for _ in range(draw(st.integers(1, 3))):
        length = draw(st.integers(1, 4))
        X.append([[draw(st.integers(lowest, s - 1)) for s in cards] for _ in range(length)])
        Y.append(draw(st.lists(st.integers(0, n_labels - 1), min_size=length, max_size=length)))
    return n_labels, tuple(cards), X, Y


def operator_of(chain):
    n_labels, cards, X, Y = chain
    starts = np.concatenate([[0], np.cumsum([len(y) for y in Y])])
    codes = np.array([cells for x in X for cells in x])
    labels = np.array([label for y in Y for label in y])
    return ChainOperator(chain_index(codes, labels, starts, n_labels, cards), block_starts(n_labels, cards))


def program_of(chain, **settings):
    chains = operator_of(chain)
    linear = settings.pop("alpha", 0.0) * (chains.own + 1.0)
    defaults = {"gamma": 2.0, "strength": None, "log_floor": math.log(0.01)}
    return SequenceProgram(chains, linear=linear, **(defaults | settings))


def random_point(program, seed):
    rng = np.random.default_rng(seed)
    return program.project(rng.normal(-1.0, 2.0, program.chains.n_parameters))


seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None)
@given(tiny_chains(), seeds)
def test_the_value_is_the_largest_loss_over_all_labellings(chain, seed):
    program = program_of(chain, alpha=0.1)
    w = random_point(program, seed)
    n_labels, cards, X, Y = chain
    own = sum(labellings.features(n_labels, cards, x, y) for x, y in zip(X, Y, strict=True))
    assert program.chains.own.tolist() == own.tolist()
    expected = labellings.loss(w, n_labels, cards, X, Y, 2.0) - 0.1 * float((own + 1.0) @ w)
    assert program.value(w) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(tiny_chains(), seeds)
def test_the_best_labels_are_the_best_of_all(chain, seed):
    program = program_of(chain)
    n_labels, cards, X, _ = chain
    w = random_point(program, seed)
    found = program.chains.best(w)
    starts = program.chains.index.starts
    for i, x in enumerate(X):
        path = found.paths[starts[i] : starts[i + 1]]
        best = max(labellings.score(w, n_labels, cards, x, y) for y in labellings.labellings(n_labels, len(x)))
        assert labellings.score(w, n_labels, cards, x, path) == pytest.approx(best, abs=1e-9)
        assert found.values[i] == pytest.approx(best, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(tiny_chains(), seeds, st.floats(0.02, 5.0))
def test_sums_marginals_and_expected_features_are_those_of_all_labellings(chain, seed, temperature):
    program = program_of(chain)
    n_labels, cards, X, _ = chain
    w = random_point(program, seed)
    soft = program.chains.soft(w, temperature=temperature)
    starts = program.chains.index.starts
    features = np.zeros_like(w)
    for i, x in enumerate(X):
        ways, weights, log = labellings.posterior(w / temperature, n_labels, cards, x)
        assert soft.logs[i] == pytest.approx(log, rel=1e-9, abs=1e-9)
        for t, label in itertools.product(range(len(x)), range(n_labels)):
            mass = sum(p for y, p in zip(ways, weights, strict=True) if y[t] == label)
            assert soft.marginals[starts[i] + t, label] == pytest.approx(mass, abs=1e-9)
        features += sum(p * labellings.features(n_labels, cards, x, y) for y, p in zip(ways, weights, strict=True))
    assert soft.features == pytest.approx(features, abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(tiny_chains(), seeds)
def test_expected_features_are_the_slope_of_the_logarithm_of_the_sum(chain, seed):
    chains = operator_of(chain)
    w = np.random.default_rng(seed).normal(size=chains.n_parameters)
    soft, step = chains.soft(w), 1e-6
    for j in np.random.default_rng(seed).choice(len(w), 3):
        up, down = w.copy(), w.copy()
        up[j] += step
        down[j] -= step
        slope = (chains.soft(up).logs.sum() - chains.soft(down).logs.sum()) / (2 * step)
        assert soft.features[j] == pytest.approx(slope, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(tiny_chains(), seeds, st.integers(0, 6))
def test_entries_of_probability_zero_are_summed_as_by_enumeration(chain, seed, n_zeros):
    chains = operator_of(chain)
    n_labels, cards, X, _ = chain
    rng = np.random.default_rng(seed)
    w = rng.normal(size=chains.n_parameters)
    w[rng.choice(len(w), n_zeros, replace=False)] = -np.inf
    soft, best = chains.soft(w), chains.best(w)
    for i, x in enumerate(X):
        _, _, log = labellings.posterior(w, n_labels, cards, x)
        assert soft.logs[i] == pytest.approx(log, abs=1e-9)
        assert (best.values[i] == -np.inf) == (log == -np.inf)


def test_transitions_of_any_spread_are_summed_without_underflow():
    # The only way that doesn't cost 2,000 nats leads through labels that look hopeless at first.
    w = np.array([0.0, -900.0, 0.0, -2000.0, -2000.0, 0.0])
    pairs = np.zeros((2, 2))
    scores = np.array([[0.0, 0.0], [-1500.0, 0.0], [-1500.0, 0.0]])
    logs, marginals = expectations(np.array([0, 3]), scores, w, 2, pairs)
    assert logs[0] == pytest.approx(-900.0)
    assert marginals[:, 1].tolist() == pytest.approx([1.0, 1.0, 1.0])


@settings(max_examples=15, deadline=None)
@given(tiny_chains(), seeds, st.sampled_from(["floor", "hybrid", "free"]))
def test_any_distributions_over_labellings_bound_the_optimum(chain, seed, form):
    program = program_of(
        chain,
        alpha=0.1 if form == "hybrid" else 0.0,
        gamma=None if form == "free" else 2.0,
        strength=0.3 if form == "free" else None,
    )
    n_labels, cards, X, Y = chain
    B = 0.3 if form == "free" else None
    optimum = labellings.optimum(n_labels, cards, X, Y, gamma=program.gamma, B=B, linear=program.linear, min_prob=0.01)
    rng = np.random.default_rng(seed)
    assert program.value(random_point(program, seed)) >= optimum - 1e-6
    for tau in (0.01, 0.3, 3.0):
        y = soft_labellings(rng.normal(-1.0, 1.0, program.chains.n_parameters), rng.uniform(0.0, 3.0), tau)
        assert program.dual_value(y) <= optimum + 1e-6
    starts = program.chains.index.starts
    sequences = rng.integers(0, len(X), 8)
    paths = [rng.integers(0, n_labels, starts[i + 1] - starts[i]) for i in sequences]
    weights = rng.normal(0.2, 0.3, 8)  # negative ones and too much weight are cut off
    assert program.dual_value(mixed_labellings(starts, sequences, weights, paths)) <= optimum + 1e-6
    assert program.trivial_bound <= optimum + 1e-6


@settings(max_examples=30, deadline=None)
@given(tiny_chains(), seeds)
def test_labellings_with_their_weights_give_the_bound_of_their_marginals(chain, seed):
    program = program_of(chain, alpha=0.1)
    n_labels, cards, X, Y = chain
    w = random_point(program, seed)
    starts, sequences, paths, weights = program.chains.index.starts, [], [], []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        ways = labellings.labellings(n_labels, len(y))
        scores = [
            labellings.score(w, n_labels, cards, x, z) + 2.0 * sum(a != b for a, b in zip(y, z, strict=True))
            for z in ways
        ]
        mass = np.exp(np.array(scores) - max(scores))
        sequences += [i] * len(ways)
        paths += [np.array(z) for z in ways]
        weights += (mass / mass.sum()).tolist()
    mixed = mixed_labellings(starts, np.array(sequences), np.array(weights), paths)
    assert program.dual_value(mixed) == pytest.approx(program.dual_value(soft_labellings(w, 2.0, 1.0)), abs=1e-8)


@settings(max_examples=15, deadline=None)
@given(tiny_chains(), seeds)
def test_the_markov_program_is_bounded_by_any_distributions(chain, seed):
    program = SequenceMarkovProgram(operator_of(chain), 0.7)
    n_labels, cards, X, Y = chain
    optimum = labellings.optimum(n_labels, cards, X, Y, C=0.7)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=program.chains.n_parameters)
    expected = 0.5 * float(w @ w) + 0.7 * labellings.loss(w, n_labels, cards, X, Y, 1.0)
    assert program.value(w) == pytest.approx(expected, rel=1e-9)
    assert program.value(w) >= optimum - 1e-6
    for tau in (0.02, 0.5):
        assert program.dual_value(soft_labellings(w, 1.0, tau)) <= optimum + 1e-6


@settings(max_examples=20, deadline=None)
@given(tiny_chains(), seeds, st.floats(0.01, 10.0))
def test_the_best_gamma_beats_those_beside_it(chain, seed, strength):
    program = program_of(chain, gamma=None, strength=strength)
    w = random_point(program, seed)
    gamma, value = program.best_gamma(w), program.value(w)
    n_labels, cards, X, Y = chain

    def at(gamma):
        return 0.5 / gamma**2 + strength * labellings.loss(w, n_labels, cards, X, Y, gamma)

    assert value == pytest.approx(at(gamma), rel=1e-9)
    assert value <= min(at(0.99 * gamma), at(1.01 * gamma)) * (1 + 1e-9)


def test_what_are_no_distributions_proves_no_more_than_the_true_labels():
    program = program_of((2, (2,), [[[0], [1]]], [[0, 1]]))
    n = program.chains.n_parameters
    for y in ([math.nan, 1.0, *[0.0] * n], [1.0, -1.0, *[0.0] * n], [1.0, 1.0, 0.0], [-1.0, 0.0, 1.0, 7.0, 7.0]):
        assert program.dual_value(np.array(y)) == program.trivial_bound


def test_a_program_asks_for_one_of_gamma_and_strength():
    chain = (2, (2,), [[[0]]], [[0]])
    with pytest.raises(ValueError, match="Give gamma or strength, not both"):
        program_of(chain, strength=1.0)
    with pytest.raises(ValueError, match="linear"):
        SequenceProgram(operator_of(chain), 1.0, None, np.zeros(3), -5.0)
