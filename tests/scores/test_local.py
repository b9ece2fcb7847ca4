"""Compiled local scores against plain loops and plain NumPy, and the sets that no optimum needs."""

import itertools

import numpy as np
import pytest
import reference

import mmbn_opt as mm
from mmbn_opt.data.counts import contingency, sums_over_cells
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.networks.candidates import CandidateParents
from mmbn_opt.scores.local import dominated_columns, local_scores
from mmbn_opt.scores.predictive import family_score

SCORES = ["loglik", "bic", "mdl", "bdeu"]


def random_data(seed, samples=60, card=(2, 3, 4, 2), classes=3, weights=None):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, samples - classes)])
    codes = np.column_stack([rng.integers(0, k, samples) for k in card])
    codes[:, 1] = np.where(rng.random(samples) < 0.7, y % card[1], codes[:, 1])
    return mm.DiscreteDataset.from_arrays(codes, y, sample_weight=weights)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("max_parents", [0, 1, 2, 3])
def test_every_column_equals_the_reference(score, max_parents):
    data = random_data(seed=max_parents)
    candidates = CandidateParents.for_all(data.n_features, max_parents)
    rows = np.column_stack([data.codes, data.target_codes]).tolist()
    expected = [
        reference.family_score(rows, [1.0] * data.n_samples, data.cardinalities, node, parents, score, 2.5)
        for node, parents in candidates.columns
    ]
    np.testing.assert_allclose(local_scores(data, candidates, score, 2.5), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_fractional_weights_and_margin_candidates(score):
    data = random_data(seed=9, weights=np.random.default_rng(9).uniform(0.0, 3.0, 60))
    candidates = CandidateParents.for_margins(data.n_features, 2)
    expected = [family_score(data, node, parents, score) for node, parents in candidates.columns]
    np.testing.assert_allclose(local_scores(data, candidates, score), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("ess", [None, 0.7])
def test_tables_with_more_cells_than_rows_equal_plain_numpy(ess):
    data = random_data(seed=3, samples=20, card=(9, 8, 7, 2))
    sets = np.array([[-1, 0, 1], [0, 1, 2], [0, 1, 3], [1, 2, 4], [-1, -1, -1], [-1, -1, 4]], dtype=np.int32)
    expected = []
    for row in sets:
        counts = contingency(data, [int(node) for node in row if node >= 0])
        positive = counts[counts > 0]
        if ess is None:
            expected.append((positive * np.log(positive)).sum())
        else:
            from scipy.special import gammaln

            prior = ess / counts.size
            expected.append((gammaln(counts + prior) - gammaln(prior)).sum())
    np.testing.assert_allclose(sums_over_cells(data, sets, ess), expected, rtol=1e-12, atol=1e-12)


def test_scores_do_not_depend_on_the_order_of_rows():
    data = random_data(seed=4, samples=200)
    shuffled = data.subset(np.random.default_rng(0).permutation(data.n_samples))
    candidates = CandidateParents.for_all(data.n_features, 2)
    for score in SCORES:
        first, second = (local_scores(d.aggregate(), candidates, score) for d in (data, shuffled))
        np.testing.assert_array_equal(first, second)


def test_huge_tables_are_refused_before_anything_is_counted():
    many = np.arange(400)
    data = mm.DiscreteDataset.from_arrays(np.column_stack([many, many, many]), many % 2)
    with pytest.raises(SizeLimitError, match="64,000,000 cells"):
        local_scores(data, CandidateParents.for_all(3, 2), "bic")


def test_families_too_many_to_number_are_refused():
    sets = (tuple(range(1, 20)),)
    candidates = CandidateParents((sets, *(((),),) * 19))
    with pytest.raises(SizeLimitError, match="19 parents among 20 nodes"):
        local_scores(random_data(0, card=(2,) * 19), candidates, "bic")


def test_an_unknown_score_is_named():
    with pytest.raises(InputError, match="'aic'"):
        local_scores(random_data(0), CandidateParents.for_all(4, 1), "aic")


@pytest.mark.parametrize("make", [CandidateParents.for_all, CandidateParents.for_margins])
def test_dominated_columns_by_the_definition(make):
    data = random_data(seed=6, samples=40)
    candidates = make(data.n_features, 3)
    for score in SCORES:
        scores = local_scores(data, candidates, score)
        value = dict(zip(candidates.columns, scores, strict=True))
        expected = []
        for node, parents in candidates.columns:
            subsets = itertools.chain.from_iterable(
                itertools.combinations(parents, size) for size in range(len(parents))
            )
            best = max((value[node, s] for s in subsets if (node, s) in value), default=-np.inf)
            expected.append(best >= value[node, parents] - 1e-12 * max(1.0, abs(value[node, parents])))
        assert dominated_columns(candidates, scores).tolist() == expected
        kept = candidates.without(np.array(expected))
        assert kept.columns == tuple(itertools.compress(candidates.columns, ~np.array(expected)))


def test_a_copied_feature_is_dominated_though_its_gain_is_rounding():
    """Given one of two equal columns, the other adds nothing to any score; rounding must not say otherwise."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, 101)
    data = mm.DiscreteDataset.from_arrays(np.column_stack([x, x, rng.integers(0, 3, 101)]), rng.integers(0, 2, 101))
    problem = mm.DecomposableStructure(data, score="loglik")
    assert (0, 1) not in problem.candidates.sets[2]
    assert (0, 1) not in problem.candidates.sets[3]
