"""A10: candidate filters fit the score that is maximised, and the size of a problem is counted after pruning."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.formulations.structure import decomposable
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.scores import undominated
from mmbn_opt.scores.predictive import family_score

SHARED = Path(os.environ.get("MMBN_SHARED", Path(__file__).resolve().parents[3] / "shared"))
SCORES = ("bdeu", "bic", "mdl", "loglik")


def drawn_rows(network: mm.BayesianNetwork, count: int, seed: int) -> mm.DiscreteDataset:
    """Rows of a network, parents before children."""
    rng = np.random.default_rng(seed)
    structure, card = network.structure, network.cardinalities
    codes = np.zeros((count, len(card)), dtype=int)
    for node in structure.topological_order():
        cell = np.zeros(count, dtype=int)
        for parent in structure.parents[node]:
            cell = cell * card[parent] + codes[:, parent]
        ends = np.exp(network.log_cpts[node]).cumsum(axis=1)[cell]
        codes[:, node] = (rng.random(count)[:, None] > ends[:, :-1]).sum(axis=1)
    return mm.DiscreteDataset.from_arrays(codes[:, :-1], codes[:, -1])


def climbed(data: mm.DiscreteDataset, score: str, max_parents: int) -> float:
    """Greedy search that adds, deletes and turns edges, written from scratch."""
    n = data.n_features + 1
    parents: list[frozenset[int]] = [frozenset() for _ in range(n)]
    known: dict[tuple[int, frozenset[int]], float] = {}

    def worth(node: int, of: frozenset[int]) -> float:
        if (node, of) not in known:
            known[node, of] = family_score(data, node, tuple(sorted(of)), score, 1.0)
        return known[node, of]

    def reaches(a: int, b: int, less: tuple[int, int] | None = None) -> bool:
        stack, seen = [b], set()
        while stack:
            v = stack.pop()
            if v == a:
                return True
            if v not in seen:
                seen.add(v)
                stack += [p for p in parents[v] if (p, v) != less]
        return False

    while True:
        moves = []
        for a in range(n):
            for b in range(n):
                if a == b:
                    continue
                lost = worth(b, parents[b])
                if a in parents[b]:
                    less = worth(b, parents[b] - {a}) - lost
                    moves.append((less, b, parents[b] - {a}, -1, frozenset()))
                    if len(parents[a]) < max_parents:
                        turned = less + worth(a, parents[a] | {b}) - worth(a, parents[a])
                        moves.append((turned, b, parents[b] - {a}, a, parents[a] | {b}))
                elif len(parents[b]) < max_parents:
                    moves.append((worth(b, parents[b] | {a}) - lost, b, parents[b] | {a}, -1, frozenset()))
        for gain, node, of, other, others in sorted(moves, key=lambda move: -move[0]):
            if gain <= 1e-9:
                return sum(worth(v, of) for v, of in enumerate(parents))
            before = list(parents)
            parents[node] = of
            if other >= 0:
                parents[other] = others
            if not any(reaches(v, p) for v in {node, other} - {-1} for p in parents[v]):
                break
            parents[:] = before


@pytest.fixture(scope="module")
def alarm() -> mm.DiscreteDataset:
    path = SHARED / "data" / "networks" / "alarm.bif.gz"
    if not path.is_file():
        pytest.skip("the reference networks are not beside the checkout; set MMBN_SHARED")
    manifest = json.loads((SHARED / "data" / "networks" / "manifest.json").read_text(encoding="utf-8"))
    assert any(entry["name"] == "alarm" for entry in manifest)
    return drawn_rows(mm.BayesianNetwork.from_bif(path, "HYPOVOLEMIA"), 2_000, seed=0)


@pytest.mark.slow
def test_alarm_with_five_candidates_is_no_worse_than_a_greedy_search_a10(alarm: mm.DiscreteDataset) -> None:
    greedy = climbed(alarm, "bdeu", 3)
    fewer = mm.DecomposableStructure(alarm, score="bdeu", max_parents=3, restriction=mm.restrict_candidates(alarm, k=5))
    result = mm.solve(fewer, time_limit=30)
    assert result.bounds.primal_bound is not None
    assert result.bounds.primal_bound >= greedy - 1e-3 * abs(greedy)
    words = {check.name: check.detail for check in result.certificate.checks}["within the model class"]
    assert "a restricted class, every claim is within k = 5 candidate parents a node" in words
    assert "the 5 features with the best bdeu scores, alone or beside another, or the other way round" in words


def test_the_size_is_that_after_pruning_a10(alarm: mm.DiscreteDataset) -> None:
    whole = mm.DecomposableStructure(alarm, score="bdeu", max_parents=3)
    assert 37 < whole.candidates.n_columns < 5_000  # 288,859 before
    with pytest.raises(SizeLimitError, match="of 288,859 parent sets score better than all their subsets; the"):
        _ = mm.DecomposableStructure(alarm, score="bdeu", max_parents=3, max_columns=1_000).candidates


def test_what_is_too_much_to_be_scored_is_refused_before_a10(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposable, "MOST_SCORED", 100)
    monkeypatch.setattr(undominated, "MOST_COUNTED", 100)
    data = mm.prepare(mm.load_dataset("vote"), "class", missing="state").data
    with pytest.raises(SizeLimitError, match=r"have .* candidate parent sets; the limit is max_columns=100"):
        _ = mm.DecomposableStructure(data, score="bic", max_columns=50).candidates


@pytest.mark.parametrize("score", [pytest.param(score, id=f"A10 {score}") for score in SCORES])
@pytest.mark.parametrize("seed", range(3))
def test_edges_that_have_nothing_to_do_with_the_class_are_kept(score: str, seed: int) -> None:
    """x0 -> x1 -> x2 is strong, and x3, x4 make x5 together; the class is noise, as good as constant or the parent."""
    rng = np.random.default_rng(seed)
    n = 400
    x = rng.integers(0, 2, (n, 10))
    x[:, 1] = np.where(rng.random(n) < 0.9, x[:, 0], 1 - x[:, 0])
    x[:, 2] = np.where(rng.random(n) < 0.9, x[:, 1], 1 - x[:, 1])
    x[:, 5] = np.where(rng.random(n) < 0.95, x[:, 3] ^ x[:, 4], 1 - (x[:, 3] ^ x[:, 4]))
    data = mm.DiscreteDataset.from_arrays(x, x[:, 1] if seed == 0 else rng.integers(0, 2, n))
    rule = mm.restrict_candidates(data, k=2)  # as the size error recommends it
    fewer = mm.DecomposableStructure(data, score=score, restriction=rule)
    assert fewer.restriction is not None
    assert fewer.restriction.score == score
    assert {3, 4} <= set(fewer.restriction.partners[5])
    best, within = mm.solve(mm.DecomposableStructure(data, score=score)), mm.solve(fewer)
    assert within.termination_status is TerminationStatus.OPTIMAL
    lost = best.bounds.primal_bound - within.bounds.primal_bound
    assert 0 <= lost + 1e-9 <= (0.02 if score == "loglik" else 0.005) * abs(best.bounds.primal_bound)


def test_margins_keep_their_own_filter_a10() -> None:
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    rule = mm.restrict_candidates(data, k=2)
    assert mm.SoftMarginStructure(data, restriction=rule).restriction is rule
    assert mm.DecomposableStructure(data, parent_sets="margin", restriction=rule).restriction is rule
    own = mm.restrict_candidates(data, k=2, score="bdeu", ess=5.0)
    assert mm.DecomposableStructure(data, score="bdeu", ess=5.0, restriction=own).restriction is own
    with pytest.raises(mm.InputError, match=r"score must be one of 'margins', .* got 'aic'"):
        mm.restrict_candidates(data, k=2, score="aic")  # type: ignore[arg-type]
