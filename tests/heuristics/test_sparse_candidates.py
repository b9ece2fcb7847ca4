"""Candidate restriction: the full class at k = n - 1, the optimum of the restricted class, ties, how it is marked."""

import itertools

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.heuristics.sparse_candidates import restrict_candidates
from mmbn_opt.heuristics.trees import conditional_mutual_information
from mmbn_opt.networks.parent_families import EdgeRules
from mmbn_opt.results.status import TerminationStatus


def random_data(seed, n_features=5, samples=70, classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, samples)
    codes = rng.integers(0, 3, (samples, n_features))
    codes[:, 1] = np.where(rng.random(samples) < 0.6, codes[:, 0], codes[:, 1])
    codes[:, -1] = np.where(rng.random(samples) < 0.6, y, codes[:, -1])
    return mm.DiscreteDataset.from_arrays(codes, y)


def make(kind, data, **more):
    if kind == "sm":
        return mm.SoftMarginStructure(data, **more)
    if kind == "sbm":
        return mm.BinarySoftMarginStructure(data, **more)
    return mm.DecomposableStructure(data, score="bic", parent_sets=kind, **more)


KINDS = ["sm", "sbm", "all", "margin"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_parents", [1, 2, 3])
def test_k_of_all_others_is_the_full_class(kind, max_parents):
    data = random_data(1)
    free = make(kind, data, max_parents=max_parents)
    same = make(kind, data, max_parents=max_parents, restriction=restrict_candidates(data, k=data.n_features - 1))
    assert same.candidates.sets == free.candidates.sets


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_optimum_of_the_restricted_class_equals_brute_force(kind, seed):
    data = random_data(seed, n_features=3, classes=3)
    rule = restrict_candidates(data, k=1)
    problem = make(kind, data, restriction=rule)
    rule = problem.restriction
    n = data.n_features
    every = [
        tuple(s for size in (0, 1, 2) for s in itertools.combinations([*range(n + 1)], size)) for _ in range(n + 1)
    ]
    best = -np.inf
    for parents in itertools.product(*every):
        if any(v in ps or not {*ps} <= {*rule.partners[v], n} for v, ps in enumerate(parents)):
            continue
        if kind != "all" and any(ps and n not in ps for ps in parents[:-1]):
            continue
        try:
            structure = mm.Structure(data.feature_names, data.class_name, parents)
        except InputError:  # a cycle
            continue
        best = max(best, problem.evaluate(problem.model_of(structure)))
    result = mm.solve(problem)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(best, abs=1e-6)
    assert result.certificate.ok, str(result.certificate)
    assert "within k = 1 candidate parents a node" in str(result.certificate)


def test_row_order_changes_nothing_and_ties_go_to_the_lower_column():
    data = random_data(4, samples=200)
    shuffled = data.subset(np.random.default_rng(0).permutation(data.n_samples))
    assert restrict_candidates(data, k=2) == restrict_candidates(shuffled, k=2)
    x = np.arange(40) % 2
    copies = np.column_stack([x, np.arange(40) // 2 % 2, x, x, np.zeros(40, dtype=int)])
    tied = restrict_candidates(mm.DiscreteDataset.from_arrays(copies, np.arange(40) // 4 % 2), k=1)
    assert tied.partners == ((2,), (0,), (0,), (0,), (), (0, 1))


def test_partners_are_those_with_the_largest_information():
    data = random_data(5, n_features=7, samples=300)
    information = conditional_mutual_information(data)
    rule = restrict_candidates(data, k=3)
    for node in range(7):
        others = sorted((j for j in range(7) if j != node), key=lambda j: -information[node, j])
        assert set(rule.partners[node]) == set(others[:3])
    closed = restrict_candidates(data, k=3, symmetric=True)
    for i, j in itertools.permutations(range(7), 2):
        assert (j in closed.partners[i]) == (j in rule.partners[i] or i in rule.partners[j])


@pytest.mark.parametrize("kind", KINDS)
def test_wide_data_are_refused_without_it_and_listed_with_it(kind):
    rng = np.random.default_rng(0)
    data = mm.DiscreteDataset.from_arrays(rng.integers(0, 2, (60, 900)), rng.integers(0, 2, 60))
    with pytest.raises(SizeLimitError, match=r"restriction=restrict_candidates\(data, k=5\)"):
        _ = make(kind, data, max_parents=3).candidates
    rule = restrict_candidates(data, k=4)
    problem = make(kind, data, restriction=rule)
    listed = problem._all_candidates().n_columns
    rules = EdgeRules.none(900)
    assert listed == sum(family.count for families in problem._families(rules) for family in families)
    assert listed < 40_000


def test_models_outside_are_told_apart():
    data = random_data(2)
    rule = restrict_candidates(data, k=1)
    for kind in ("sm", "all"):
        problem = make(kind, data, restriction=rule)
        parents = [(5,)] * 5 + [()]
        parents[0] = (next(j for j in range(1, 5) if j not in problem.restriction.partners[0]), 5)
        model = problem.model_of(mm.Structure(data.feature_names, data.class_name, tuple(parents)))
        check = next(c for c in problem.check(model) if c.name == "within the model class")
        assert check.ok is False


def test_wrong_input_is_told():
    data = random_data(0)
    for k in (0, -1, 2.0, True):
        with pytest.raises(InputError, match="k must be a whole number"):
            restrict_candidates(data, k=k)
    with pytest.raises(InputError, match="for 5 features, the data have 4"):
        mm.SoftMarginStructure(random_data(0, n_features=4), restriction=restrict_candidates(data))
