"""Parent sets of classes that are too large to list: the same as by a list, wherever there can be one."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data import counts
from mmbn_opt.data.counts import contingency, counts_seen
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.formulations.structure import decomposable
from mmbn_opt.networks import structure_class
from mmbn_opt.networks.candidates import CandidateParents
from mmbn_opt.scores import predictive
from mmbn_opt.scores.local import dominated_columns, local_scores
from mmbn_opt.scores.predictive import family_score
from mmbn_opt.scores.undominated import can_walk, undominated_parent_sets


def table(seed: int, n: int, samples: int, weights: bool = False) -> mm.DiscreteDataset:
    """Columns that depend on each other, of one to four states."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 0, 1, 1], rng.integers(0, 3, samples)])
    codes = np.column_stack([rng.integers(0, rng.integers(1, 5), len(y)) for _ in range(n)])
    for j in range(1, n):
        if rng.random() < 0.5:
            codes[:, j] = np.where(rng.random(len(y)) < 0.8, codes[:, j - 1], codes[:, j])
    weight = rng.random(len(y)) + 0.1 if weights else None
    return mm.DiscreteDataset.from_arrays(codes, y, sample_weight=weight)


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 6), samples=st.integers(0, 60), max_parents=st.integers(0, 5),
    score=st.sampled_from(["loglik", "bic", "mdl", "bdeu"]), ess=st.sampled_from([0.1, 1.0, 7.5]),
    weights=st.booleans(),
)  # fmt: skip
def test_they_are_those_of_a_list(seed, n, samples, max_parents, score, ess, weights) -> None:
    data = table(seed, n, samples, weights)
    rng = np.random.default_rng(seed)
    pools = [tuple(j for j in range(n + 1) if j != i and rng.random() < 0.8) for i in range(n + 1)]
    every = CandidateParents(
        tuple(tuple(s for size in range(max_parents + 1) for s in combinations(pool, size)) for pool in pools)
    )
    scores = local_scores(data, every, score, ess)
    useless = dominated_columns(every, scores)
    found, values = undominated_parent_sets(data, pools, max_parents, score, ess, max_columns=every.n_columns)
    assert found.sets == every.without(useless).sets
    np.testing.assert_allclose(values, scores[~useless], rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("score", ["bic", "bdeu", "loglik"])
def test_a_walk_is_what_plain_python_finds(score) -> None:
    """From the definition alone: every set, every part of it."""
    data = table(3, 4, 30)
    pools = [tuple(j for j in range(5) if j != i) for i in range(5)]
    found, values = undominated_parent_sets(data, pools, 3, score, 2.0, max_columns=1000)
    column = 0
    for node, pool in enumerate(pools):
        worth = {s: family_score(data, node, s, score, 2.0) for k in range(4) for s in combinations(pool, k)}
        wanted = [
            s for s, value in worth.items()
            if all(worth[part] < value - 1e-9 for k in range(len(s)) for part in combinations(s, k))
        ]  # fmt: skip
        assert list(found.sets[node]) == wanted
        np.testing.assert_allclose(values[column : column + len(wanted)], [worth[s] for s in wanted], rtol=1e-10)
        column += len(wanted)
    assert column == found.n_columns


def test_more_sets_than_allowed_are_refused() -> None:
    data = table(1, 4, 50)
    pools = [tuple(j for j in range(5) if j != i) for i in range(5)]
    kept, _ = undominated_parent_sets(data, pools, 2, "loglik", max_columns=1000)
    assert undominated_parent_sets(data, pools, 2, "loglik", max_columns=kept.n_columns)[0].sets == kept.sets
    with pytest.raises(SizeLimitError, match=f"limit is max_columns={kept.n_columns - 1}"):
        undominated_parent_sets(data, pools, 2, "loglik", max_columns=kept.n_columns - 1)


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_a_formulation_that_walks_is_the_one_that_lists(score, monkeypatch) -> None:
    data = table(7, 5, 80)
    listing = mm.DecomposableStructure(data, score=score, max_parents=3)
    best = mm.solve(listing)
    monkeypatch.setattr(decomposable, "MOST_SCORED", 10)
    walking = mm.DecomposableStructure(data, score=score, max_parents=3)
    assert walking._pools is not None
    assert listing._pools is None
    assert walking.candidates.sets == listing.candidates.sets
    np.testing.assert_allclose(walking.column_scores, listing.column_scores, rtol=1e-11, atol=1e-9)
    found = mm.solve(walking)
    assert found.certificate.ok
    assert found.bounds.primal_bound == pytest.approx(best.bounds.primal_bound, rel=1e-11)
    assert found.model.structure == best.model.structure


def test_edges_that_are_forbidden_are_no_parents_of_a_walk_and_required_ones_are_listed(monkeypatch) -> None:
    data = table(7, 5, 80)
    monkeypatch.setattr(decomposable, "MOST_SCORED", 10)
    forbidden = mm.DecomposableStructure(data, score="bic", forbidden_edges=[("x0", "x1"), ("x2", "class")])
    assert forbidden._pools is not None
    assert all(0 not in s for s in forbidden.candidates.sets[1])
    assert all(2 not in s for s in forbidden.candidates.sets[5])
    assert mm.DecomposableStructure(data, score="bic", required_edges=[("x0", "x1")])._pools is None


def test_tables_of_any_size_are_scored(monkeypatch) -> None:
    """Four columns of 60 states and one of 30 have 4 x 10^8 cells, and 120 rows."""
    rng = np.random.default_rng(0)
    codes = np.array([rng.permutation(120) % 60 for _ in range(5)]).T
    codes[:, 1] = codes[:, 0] // 2
    data = mm.DiscreteDataset.from_arrays(codes, np.arange(120) % 2)
    formulation = mm.DecomposableStructure(data, score="loglik", max_parents=4)
    assert formulation._pools is not None
    assert (0,) in formulation.candidates.sets[1]
    assert (0, 1) not in formulation.candidates.sets[2]  # x1 says nothing that x0 does not
    assert mm.solve(mm.DecomposableStructure(data, score="bic", max_parents=4)).certificate.ok
    dense = [
        family_score(data, node, s, k, 3.0) for k in ("bic", "bdeu", "loglik") for node, s in [(0, (1, 5)), (5, ())]
    ]
    monkeypatch.setattr(predictive, "MAX_TABLE_CELLS", 0)
    seen = [
        family_score(data, node, s, k, 3.0) for k in ("bic", "bdeu", "loglik") for node, s in [(0, (1, 5)), (5, ())]
    ]
    np.testing.assert_allclose(seen, dense, rtol=1e-12)


@pytest.mark.parametrize(("parents", "node"), [([0], 1), ([0, 2], 4), ([1, 4], 0)])
def test_rows_that_are_seen_are_those_of_the_whole_table(parents, node) -> None:
    data = table(2, 4, 40, weights=True)
    whole = contingency(data, [*parents, node]).reshape(-1, data.cardinalities[node])
    np.testing.assert_allclose(counts_seen(data, parents, node), whole[whole.sum(axis=1) > 0])


@pytest.mark.parametrize("parent_sets", ["all", "margin"])
def test_sets_that_are_drawn_are_of_the_class_and_a_bad_list_is_found(parent_sets, monkeypatch) -> None:
    monkeypatch.setattr(structure_class, "SETS_LISTED", 10)
    data = table(5, 6, 60)
    formulation = mm.DecomposableStructure(data, score="bic", max_parents=3, parent_sets=parent_sets)
    known = formulation.structure_class

    def worth(node: int, parents: tuple[int, ...]) -> float:
        return family_score(data, node, parents, "bic")

    missing, held = known.uncovered_by_scores(formulation.candidates.sets, worth)
    every = sum(len(list(known.parent_sets(node))) for node in range(7))
    assert missing is None
    assert held == f"all {every - formulation.candidates.n_columns}" or "drawn of the" in held
    for node, wanted in known._drawn(formulation.candidates.sets, np.random.default_rng(0)):
        assert wanted in set(known.parent_sets(node)) - set(formulation.candidates.sets[node])
    alone = tuple(((),) for _ in range(7))  # the empty sets, and nothing else
    missing, _ = known.uncovered_by_scores(alone, lambda node, parents: family_score(data, node, parents, "loglik"))
    assert missing is not None
    assert "the best candidate in it" in missing


def test_what_fits_is_counted_before() -> None:
    data = table(0, 6, 10)
    assert can_walk(data, 3)
    wide = mm.DiscreteDataset.from_arrays(np.arange(400).reshape(2, 200) % 2, [0, 1])
    assert can_walk(wide, 2)
    assert not can_walk(wide, 4)
    assert math.comb(201, 5) > 40_000_000
    assert counts.MAX_TABLE_CELLS == 50_000_000
