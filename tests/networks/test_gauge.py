"""The gauge: the posterior stays, incomplete rows come back to what the reference says."""

import numpy as np
import pytest
from networks.test_renormalization import model_on
from scipy.special import logsumexp

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.gauge import family_marginals, fix_gauge
from mmbn_opt.networks.log_linear import LogLinearClassifier
from mmbn_opt.networks.network import BayesianNetwork


def problem(seed, parents=((3,), (0, 3), (1, 3), ())):
    """Reference network on a chain with the class, and the same with random shifts common to all classes."""
    rng = np.random.default_rng(seed)
    cards = (3, 2, 3, 3)
    reference = model_on(parents, cards, rng).normalize().network
    shifted = []
    for v, table in enumerate(reference.log_cpts):
        if v == 3:
            shifted.append(table + 0.7)
        else:
            cube = table.reshape(-1, cards[3], cards[v])
            shifted.append((cube + 2 * rng.normal(size=(cube.shape[0], 1, cards[v]))).reshape(table.shape))
    model = LogLinearClassifier(reference.structure, reference.features, reference.target, tuple(shifted))
    return model, reference


@pytest.mark.parametrize("seed", range(5))
def test_shifts_are_undone_and_incomplete_rows_answered_as_by_the_reference(seed):
    model, reference = problem(seed)
    plain, gauge = model.normalize().network, fix_gauge(model, reference)
    assert gauge.difference <= 1e-12
    assert gauge.divergence <= 1e-8 < gauge.divergence_before
    rows = np.array([[0, -1, 2], [-1, -1, 1], [2, 1, -1]], dtype=np.int32)

    def posterior(network):
        joint = network.log_joint(rows)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    np.testing.assert_allclose(posterior(gauge.network), posterior(reference), atol=1e-3)
    assert np.abs(posterior(plain) - posterior(reference)).max() > 0.02


@pytest.mark.parametrize("seed", range(3))
def test_a_margin_trained_posterior_stays_as_it_is_while_the_divergence_falls(seed):
    _, reference = problem(seed)
    other = model_on(reference.structure.parents, reference.cardinalities, np.random.default_rng(seed + 50))
    gauge = fix_gauge(other, reference)
    assert gauge.difference <= 1e-12
    assert 0 <= gauge.divergence <= gauge.divergence_before
    for table in gauge.network.log_cpts:
        assert np.abs(np.exp(table).sum(axis=1) - 1).max() <= 1e-12
    assert "renormalised by hosts" in str(gauge)


def test_family_marginals_are_sums_of_the_joint():
    _, reference = problem(1)
    cards = reference.cardinalities
    grid = np.stack(np.unravel_index(np.arange(18), cards[:3]), axis=1).astype(np.int32)
    joint = np.exp(reference.log_joint(grid)).reshape(*cards)
    marginals = family_marginals(reference.structure, cards, reference.log_cpts)
    np.testing.assert_allclose(marginals[0], joint.sum(axis=(1, 2)).T, atol=1e-12)  # class, x0
    np.testing.assert_allclose(marginals[1], np.transpose(joint.sum(axis=2), (0, 2, 1)), atol=1e-12)  # x0, class, x1
    np.testing.assert_allclose(marginals[3], joint.sum(axis=(0, 1, 2)), atol=1e-12)


def test_structures_without_a_gauge_are_refused():
    data = mm.DiscreteDataset.from_arrays([["x", "u"], ["y", "v"], ["x", "v"]], [0, 1, 1])
    split = BayesianNetwork.fit(mm.from_edges(data, [("class", "x0"), ("x1", "x0")]), data)
    with pytest.raises(InputError, match="not renormalizable: 'x0'"):
        fix_gauge(split, split)
    parented = BayesianNetwork.fit(mm.from_edges(data, [("x0", "class"), ("class", "x1")]), data)
    with pytest.raises(InputError, match=r"'class' has \['x0'\]"):
        fix_gauge(parented, parented)
    naive = BayesianNetwork.fit(mm.naive_bayes(data), data)
    with pytest.raises(InputError, match="another structure"):
        fix_gauge(naive, split)
