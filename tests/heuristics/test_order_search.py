"""Order search: acyclic answers, the value it reports, and the optimum where it is known."""

import itertools

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.heuristics.order_search import OrderSearch
from mmbn_opt.networks.candidates import CandidateParents


def edges_are_acyclic(candidates, choice):
    names = tuple(f"x{j}" for j in range(candidates.n_nodes - 1))
    mm.Structure(names, "class", candidates.parents_of_choice(choice))
    return True


@pytest.mark.parametrize("seed", range(15))
def test_it_finds_the_optimum_of_small_problems(seed):
    rng = np.random.default_rng(seed)
    candidates = CandidateParents.for_all(4, 2)
    cost = rng.exponential(size=candidates.n_columns)
    best = np.inf
    for order in itertools.permutations(range(5)):
        before: set[int] = set()
        total = 0.0
        for node in order:
            total += min(cost[candidates.column_of[node, s]] for s in candidates.sets[node] if set(s) <= before)
            before.add(node)
        best = min(best, total)
    start = candidates.choice([()] * 5)
    found = list(OrderSearch(candidates, cost, seed=seed).run(start))
    values = [value for _, value in found]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(best, abs=1e-9)
    for choice, value in found:
        assert edges_are_acyclic(candidates, choice)
        assert cost[choice].sum() == pytest.approx(value, abs=1e-12)


def test_required_edges_leave_orders_without_an_answer_alone():
    """Node 0 needs node 1 and node 1 needs node 2: only orders that respect this count."""
    candidates = CandidateParents((((1,),), ((2,),), ((),), ((), (0,))))
    found = list(OrderSearch(candidates, np.array([1.0, 1.0, 1.0, 5.0, 2.0])).run(np.array([0, 1, 2, 3])))
    assert found[-1][1] == 5.0
    assert found[-1][0].tolist() == [0, 1, 2, 4]


def test_equal_seeds_give_equal_runs():
    cost = np.random.default_rng(0).exponential(size=CandidateParents.for_all(9, 2).n_columns)
    candidates = CandidateParents.for_all(9, 2)
    start = candidates.choice([()] * 10)
    first, second = ([v for _, v in OrderSearch(candidates, cost, seed=5).run(start)] for _ in range(2))
    assert first == second
