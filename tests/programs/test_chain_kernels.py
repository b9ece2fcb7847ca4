"""Compiled passes over sequences against their twins in NumPy, on chains that are too long to enumerate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from mmbn_opt.programs import chain_kernels as kernels
from mmbn_opt.programs.chain_operator import block_starts, chain_index

SPREADS = {"moderate": 3.0, "beyond what is added as it is": 400.0, "with impossible transitions": np.inf}


def drawn(seed, k, cards, lengths, spread):
    """Codes with gaps, labels, and a vector of all tables."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    codes = np.column_stack([rng.integers(-1, card, n) for card in cards]).astype(np.int32)
    labels = rng.integers(0, k, n).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    w = rng.normal(size=int(block_starts(k, cards)[-1]))
    steps = w[k : k + k * k]
    if np.isinf(spread):
        steps[rng.random(k * k) < 0.3] = -np.inf
        steps[:: k + 1] = 0.0  # each label can follow itself
    else:
        steps *= spread / 3.0
    return chain_index(codes, labels, starts, k, cards), codes, w


def twin_scores(w, k, cards, codes):
    """Sum of the emission entries of the cells that are there."""
    out, begin = np.zeros((len(codes), k)), k + k * k
    for f, card in enumerate(cards):
        table = w[begin : begin + k * card].reshape(k, card)
        here = codes[:, f] >= 0
        out[here] += table[:, codes[here, f]].T
        begin += k * card
    return out


def twin_viterbi(scores, w, k):
    step = w[k : k + k * k].reshape(k, k)
    ahead, back = w[:k] + scores[0], []
    for row in scores[1:]:
        ways = ahead[:, None] + step
        back.append(ways.argmax(axis=0))
        ahead = ways.max(axis=0) + row
    path = [int(ahead.argmax())]
    for came in reversed(back):
        path.append(int(came[path[-1]]))
    return path[::-1], float(ahead.max())


def twin_sums(scores, w, k):
    """Logarithm of the sum over labellings, marginals of positions, expected transitions."""
    step = w[k : k + k * k].reshape(k, k)
    ahead, behind = np.empty_like(scores), np.zeros_like(scores)
    ahead[0] = w[:k] + scores[0]
    for t in range(1, len(scores)):
        ahead[t] = logsumexp(ahead[t - 1][:, None] + step, axis=0) + scores[t]
    for t in range(len(scores) - 2, -1, -1):
        behind[t] = logsumexp(step + scores[t + 1] + behind[t + 1], axis=1)
    log = logsumexp(ahead[-1])
    flows = [
        np.exp(ahead[t - 1][:, None] + step + scores[t] + behind[t] - log).reshape(k, k) for t in range(1, len(scores))
    ]
    return log, np.exp(ahead + behind - log), np.sum(flows, axis=0) if flows else np.zeros((k, k))


CASES = st.tuples(
    st.integers(0, 2**31), st.integers(2, 7), st.lists(st.integers(2, 6), min_size=1, max_size=3),
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
)  # fmt: skip


def scores_of(index, w):
    out = np.empty((len(index.labels), index.n_labels))
    kernels.score_directly(index, w, out)
    return out


@given(CASES, st.sampled_from(sorted(SPREADS)))
@settings(max_examples=40)
def test_paths_sums_and_scores_are_those_of_numpy(case, spread):
    seed, k, cards, lengths = case
    index, codes, w = drawn(seed, k, cards, lengths, SPREADS[spread])
    scores = twin_scores(w, k, cards, codes)
    assert scores_of(index, w) == pytest.approx(scores, abs=1e-10)
    n_sequences = len(lengths)
    paths, values = np.empty(len(codes), dtype=np.int64), np.empty(n_sequences)
    kernels.best_paths(index.starts, scores, w, k, paths, values)
    pairs, expected = np.zeros((k, k)), np.zeros((k, k))
    logs, marginals = kernels.expectations(index.starts, scores, w, k, pairs)
    for i in range(n_sequences):
        part = slice(index.starts[i], index.starts[i + 1])
        path, value = twin_viterbi(scores[part], w, k)
        assert values[i] == pytest.approx(value, rel=1e-12, abs=1e-9)
        assert paths[part].tolist() == path
        log, shares, flow = twin_sums(scores[part], w, k)
        assert logs[i] == pytest.approx(log, rel=1e-10, abs=1e-9)
        assert marginals[part] == pytest.approx(shares, abs=1e-8)
        expected += flow
    assert pairs == pytest.approx(expected, abs=1e-7)


@given(CASES)
@settings(max_examples=40)
def test_tables_of_symbols_give_the_same_scores_and_their_adjoint(case):
    seed, k, cards, lengths = case
    index, codes, w = drawn(seed, k, cards, lengths, 3.0)
    rows = int(index.symbol_start[-1]) + len(cards)
    table, usual, out = np.zeros((rows, k)), np.zeros(k), np.empty((len(codes), k))
    kernels.spread_symbols(index, w, table, usual)
    kernels.score_positions(index, table, usual, out)
    assert out == pytest.approx(twin_scores(w, k, cards, codes), abs=1e-9)
    weights = np.random.default_rng(seed).normal(size=out.shape)
    sums, v = np.zeros((rows, k)), np.zeros(len(w))
    kernels.add_symbols(index, weights, sums)
    kernels.fold_symbols(index, sums, weights.sum(axis=0), v)
    # <weights, scores(w)> = <adjoint(weights), w>, whatever w is.
    assert float((weights * out).sum()) == pytest.approx(float(v @ w), abs=1e-8)


@given(CASES)
@settings(max_examples=40)
def test_features_of_labels_are_counts_and_other_labels_are_asked_for_the_margin(case):
    seed, k, cards, lengths = case
    index, codes, w = drawn(seed, k, cards, lengths, 3.0)
    counted = kernels.path_features(index, index.labels, len(w))
    own = twin_scores(w, k, cards, codes)[np.arange(len(codes)), index.labels].sum()
    for i in range(len(lengths)):
        y = index.labels[index.starts[i] : index.starts[i + 1]]
        own += w[y[0]] + w[k + y[:-1] * k + y[1:]].sum()
    assert float(counted @ w) == pytest.approx(float(own), abs=1e-9)
    scores = np.zeros((len(codes), k))
    kernels.hamming(index.labels, 2.5, scores)
    assert scores.sum() == pytest.approx(2.5 * len(codes) * (k - 1))
    assert (scores[np.arange(len(codes)), index.labels] == 0).all()
