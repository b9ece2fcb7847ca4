"""Generative optima of the shipped data sets against dynamic programming over subsets (Silander & Myllymaki 2006).

The second opinion shares nothing with the package: local scores by plain loops, best parents by subsets, best sinks.
"""

import itertools

import numpy as np
import pytest
import reference

import mmbn_opt as mm

SMALL = ["iris", "car", "corral"]


def shipped(name):
    frame, info = mm.load_dataset(name, return_info=True)
    return mm.prepare(frame, info.target, kinds=info.kinds, missing="drop").data


def best_network_score(rows, weights, card, max_parents, score):
    """Largest total score over all DAGs, by the best sink of every subset of nodes."""
    n = len(card)
    local = [{} for _ in range(n)]
    for node in range(n):
        others = [j for j in range(n) if j != node]
        for size in range(max_parents + 1):
            for parents in itertools.combinations(others, size):
                mask = sum(1 << p for p in parents)
                local[node][mask] = reference.family_score(rows, weights, card, node, parents, score)
    best_parents = np.full((n, 1 << n), -np.inf)
    for node in range(n):
        for mask, value in local[node].items():
            best_parents[node, mask] = value
        for bit in range(n):  # the best parent set inside each subset: a maximum over sub-masks, bit by bit
            masks = np.arange(1 << n)
            has = masks[(masks >> bit) & 1 == 1]
            best_parents[node, has] = np.maximum(best_parents[node, has], best_parents[node, has ^ (1 << bit)])
    best = np.full(1 << n, -np.inf)
    best[0] = 0.0
    for mask in range(1, 1 << n):
        sinks = [v for v in range(n) if mask >> v & 1]
        best[mask] = max(best[mask ^ (1 << v)] + best_parents[v, mask ^ (1 << v)] for v in sinks)
    return float(best[-1])


def problem_and_optimum(name, score):
    data = shipped(name)
    merged = data.aggregate()
    rows = np.column_stack([merged.codes, merged.target_codes]).tolist()
    weights, card = merged.sample_weight.tolist(), list(data.cardinalities)
    return mm.DecomposableStructure(data, score=score, max_parents=2), best_network_score(rows, weights, card, 2, score)


@pytest.mark.parametrize("score", ["bic", "bdeu"])
@pytest.mark.parametrize("name", [*SMALL, pytest.param("mofn-3-7-10", marks=pytest.mark.slow)])
def test_optimum_equals_dynamic_programming(name, score):
    problem, expected = problem_and_optimum(name, score)
    for solver in ("highs", "branch_and_cut", "subset_search"):
        result = mm.solve(problem, solver)
        assert str(result.termination_status) == "OPTIMAL"
        assert result.certificate.ok
        assert result.bounds.primal_bound == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_seventeen_nodes(score):
    """`vote` takes branch and cut minutes, but its optimum lies between the two bounds; the subset search proves it."""
    problem, expected = problem_and_optimum("vote", score)
    result = mm.solve(problem, "branch_and_cut", time_limit=5.0)
    for record in result.trace:
        assert record.primal_bound <= expected + 1e-6
        assert record.dual_bound >= expected - 1e-6
    exact = mm.solve(problem, "subset_search")
    assert str(exact.termination_status) == "OPTIMAL"
    assert exact.bounds.primal_bound == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("score", ["mdl", "bdeu", "loglik"])
@pytest.mark.parametrize("name", SMALL)
def test_restricted_candidates_need_no_tree(name, score):
    """Maximum branchings solve them, whatever the size; HiGHS agrees."""
    problem = mm.DecomposableStructure(shipped(name), score=score, parent_sets="margin")
    assert problem.solved_by_branching
    result = mm.solve(problem)
    assert result.solver_rule.endswith("maximum branchings solve it -> branch_and_cut")
    assert result.raw_status == "closed by a maximum branching"
    assert result.stats["nodes"] == 0
    assert result.certificate.ok
    proved = next(check for check in result.certificate.checks if check.name == "bound proved")
    assert proved.ok is True
    other = mm.solve(problem, "highs", starts=[])
    assert result.bounds.primal_bound == pytest.approx(other.bounds.primal_bound, abs=1e-6)


def test_which_problems_maximum_branchings_solve():
    data = shipped("iris")
    assert not mm.DecomposableStructure(data, score="loglik", max_parents=3, parent_sets="margin").solved_by_branching
    assert not mm.DecomposableStructure(data, score="loglik").solved_by_branching
