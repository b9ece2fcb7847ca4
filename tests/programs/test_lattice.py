"""Lattices of labellings against lists of all labellings: edges, flows, detours, mixtures."""

import itertools

import labellings
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mmbn_opt.programs.chain_operator import ChainOperator, block_starts, chain_index
from mmbn_opt.programs.labellings import means_of_labellings, mixed_labellings
from mmbn_opt.programs.lattice import LabellingLattice, edges_near_best

CARDS = (3, 2)


def drawn(seed):
    """A chain operator of three short sequences with missing cells, parameters, observations and labels."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    lengths = rng.integers(1, 5, 3)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    codes, labels = rng.integers(-1, CARDS, size=(starts[-1], 2)), rng.integers(0, k, starts[-1])
    chains = ChainOperator(chain_index(codes, labels, starts, k, CARDS), block_starts(k, CARDS))
    return chains, rng.normal(size=chains.n_parameters), codes, labels, rng


def ways(chains, w, codes, labels, gamma):
    """Of each sequence: its labellings with what they score and ask for together."""
    for low, high in itertools.pairwise(chains.index.starts):
        x, own = codes[low:high], labels[low:high]
        paths = labellings.labellings(chains.n_labels, high - low)
        yield [
            (p, labellings.score(w, chains.n_labels, CARDS, x, p) + gamma * float((np.array(p) != own).sum()))
            for p in paths
        ]


def edges_of(chains, i, path):
    """Numbers of the edges of a labelling."""
    k, low = chains.n_labels, int(chains.index.starts[i])
    before = [-1, *path[:-1]]
    return {((low + t) * (k + 1) + a + 1) * k + b for t, (a, b) in enumerate(zip(before, path, strict=True))}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 6.0))
def test_edges_near_the_best_are_those_of_labellings_near_the_best(seed, width):
    chains, w, codes, labels, _ = drawn(seed)
    expected = set()
    for i, scored in enumerate(ways(chains, w, codes, labels, 1.5)):
        best = max(score for _, score in scored)
        for path, score in scored:
            if score >= best - width:
                expected |= edges_of(chains, i, path)
            assume(abs(score - best + width) > 1e-9)  # no tie that rounding decides
    assert edges_near_best(chains, w, 1.5, width).tolist() == sorted(expected)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_potentials_are_best_scores_and_soft_ones_are_sums(seed):
    chains, w, codes, labels, _ = drawn(seed)
    lattice = LabellingLattice(chains, edges_near_best(chains, w, 1.5, np.inf))
    scores = lattice.scores(w, 1.5)
    hard = lattice.potentials(scores)[-chains.n_sequences :]
    soft = lattice.potentials(scores, 0.7)[-chains.n_sequences :]
    for i, scored in enumerate(ways(chains, w, codes, labels, 1.5)):
        values = np.array([score for _, score in scored])
        assert hard[i] == pytest.approx(values.max())
        assert soft[i] == pytest.approx(0.7 * np.log(np.exp(values / 0.7).sum()))
    assert lattice.slacks(scores).min() >= -1e-12


def some_flow(seed, width):
    """Chains, the labellings near their best, and a flow through all of these."""
    chains, w, _, _, rng = drawn(seed)
    lattice = LabellingLattice(chains, edges_near_best(chains, w, 1.0, width))
    return chains, lattice, lattice.flows(rng.random(len(lattice)) + 1e-3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 4.0))
def test_a_flow_is_a_mixture_of_labellings_with_the_same_means(seed, width):
    chains, lattice, flow = some_flow(seed, width)
    sequences, weights, paths = lattice.mixture(flow)
    for i in range(chains.n_sequences):
        assert weights[sequences == i].sum() == pytest.approx(1.0)
    missed, moved = means_of_labellings(chains, mixed_labellings(chains.index.starts, sequences, weights, paths))
    expected = lattice.means(flow)
    assert missed == pytest.approx(expected[0], abs=1e-12)
    assert moved == pytest.approx(expected[1], abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 4.0))
def test_detours_are_all_changes_that_leave_a_flow_a_flow(seed, width):
    chains, lattice, flow = some_flow(seed, width)
    turns, sequence = lattice.detours(flow)
    assert turns.shape == (len(lattice), lattice.n_detours)
    assert sorted(sequence) == list(sequence)
    dense = turns.toarray()
    assert np.linalg.matrix_rank(dense) == lattice.n_detours if lattice.n_detours else True
    ends = np.zeros((lattice.n_nodes, len(lattice)))
    ends[lattice.head, np.arange(len(lattice))] += 1.0
    ends[lattice.tail, np.arange(len(lattice))] -= 1.0
    last = lattice.position == chains.index.starts[lattice.sequence + 1] - 1
    ends[lattice.head[last]] = 0.0  # where a sequence ends, anything may arrive
    assert np.abs(ends @ dense).max(initial=0.0) == 0.0
    # No more than these: what flows differ by, less what their nodes demand.
    conserved = np.linalg.matrix_rank(ends)
    assert lattice.n_detours == len(lattice) - conserved


def test_a_lattice_grows_by_edges_and_knows_its_old_ones():
    chains, w, _, _, _ = drawn(5)
    small = LabellingLattice(chains, edges_near_best(chains, w, 1.0, 0.0))
    large, old = small.joined(edges_near_best(chains, w, 1.0, 3.0))
    assert large.keys[old].tolist() == small.keys.tolist()
    assert len(large) > len(small) == chains.n_positions
    assert small.n_detours == 0
