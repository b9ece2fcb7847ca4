"""Clusters of nodes with several parents: separation against all node sets, and both engines against enumeration."""

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp

from mmbn_opt.programs.boxes import cluster_row
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.base import Solver, SolverEvent
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut
from mmbn_opt.solvers.choice.branch_and_cut.cluster_program import Limits, cyclic_parts, violated_clusters
from mmbn_opt.solvers.choice.branch_and_cut.clusters import ClusterSeparator
from mmbn_opt.solvers.choice.scip_cuts import ScipCutsSolver

NO_LIMITS = Limits(most=12, tolerance=1e-6, nodes=100_000, seconds=60.0)


def random_program(rng: np.random.Generator, n_nodes: int, n_sets: int, max_parents: int) -> ChoiceProgram:
    """Local scores at random: the empty set of each node and some larger ones, which cost less."""
    parents, sizes, cost = [], [], []
    for node in range(n_nodes):
        others = [j for j in range(n_nodes) if j != node]
        every = [s for size in range(1, max_parents + 1) for s in combinations(others, size)]
        weights = np.array([len(s) ** 2.0 for s in every])
        drawn = rng.choice(len(every), size=min(n_sets, len(every)), replace=False, p=weights / weights.sum())
        chosen = [(), *(every[k] for k in np.sort(drawn))]
        for s in chosen:
            row = np.zeros(n_nodes, dtype=bool)
            row[list(s)] = True
            parents.append(row)
            cost.append(rng.random() + (2.0 if not s else 0.8 / len(s)))
        sizes.append(len(chosen))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    empty = sp.csr_array((0, len(cost)))
    return ChoiceProgram(np.array(cost), offsets, np.array(parents), empty, np.zeros(0), offset=1.5)


def optimum(program: ChoiceProgram) -> float:
    """By enumeration of all orders' best choices: sets that stand first, one node at a time."""
    n = program.n_nodes
    best = {frozenset[int](): 0.0}
    for _ in range(n):
        longer: dict[frozenset[int], float] = {}
        for placed, value in best.items():
            inside = np.isin(np.arange(n), list(placed))
            for node in set(range(n)) - placed:
                a, b = program.offsets[node], program.offsets[node + 1]
                open_ = ~(program.parents[a:b] & ~inside).any(axis=1)
                total = value + float(program.c[a:b][open_].min())
                key = placed | {node}
                longer[key] = min(longer.get(key, np.inf), total)
        best = longer
    return best[frozenset(range(n))] + program.offset


def least_activity(program: ChoiceProgram, x: np.ndarray) -> float:
    """Left side of the most violated cluster row, over all node sets."""
    values = []
    for flags in product([False, True], repeat=program.n_nodes):
        members = np.array(flags)
        if members.sum() >= 2:
            values.append(float(x[cluster_row(members, program.owner, program.parents, *program.hanging)].sum()))
    return min(values)


def fractional_point(rng: np.random.Generator, program: ChoiceProgram) -> np.ndarray:
    """A mixture of few choices that may be cyclic, as linear programs give them."""
    x = np.zeros(program.n_columns)
    weights = rng.dirichlet(np.full(3, 2.0))
    for weight in weights:
        for a, b in zip(program.offsets[:-1], program.offsets[1:], strict=True):
            x[int(rng.integers(a + (b - a > 1), b))] += weight
    return x


@pytest.mark.parametrize("max_parents", [2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_the_program_finds_the_most_violated_row_among_all_node_sets(seed: int, max_parents: int) -> None:
    rng = np.random.default_rng([seed, max_parents])
    program = random_program(rng, 7, 8, max_parents)
    owner = program.owner
    for _ in range(6):
        x = fractional_point(rng, program)
        support = np.flatnonzero(x)
        arcs = np.zeros((7, 7))
        for k in support:
            arcs[program.parents[k], owner[k]] += x[k]
        least = least_activity(program, x)
        found = [
            members
            for nodes in cyclic_parts(arcs)
            for members in violated_clusters(x, support, owner, program.parents, nodes, NO_LIMITS)
        ]
        rows = [cluster_row(members, owner, program.parents, *program.hanging) for members in found]
        activities = [float(x[row].sum()) for row in rows]
        assert all(value < 1.0 - 1e-6 for value in activities)
        assert min(activities, default=1.0) == pytest.approx(min(least, 1.0), abs=1e-6)
        assert bool(ClusterSeparator(program.offsets, program.parents, None).separate(x)) == (least < 1.0 - 1e-4)


def test_clusters_that_are_found_together_share_no_node() -> None:
    """Two cycles of two nodes each: a search finds the one, then the other."""
    parents = np.zeros((8, 4), dtype=bool)
    parents[[1, 3, 5, 7], [1, 0, 3, 2]] = True
    parents[1, 2] = parents[5, 0] = True  # one part, and nodes with two parents
    program = ChoiceProgram(np.zeros(8), np.arange(0, 9, 2), parents, sp.csr_array((0, 8)), np.zeros(0))
    x = np.tile([0.0, 1.0], 4)
    found = violated_clusters(x, np.flatnonzero(x), program.owner, parents, np.arange(4), NO_LIMITS)
    assert [np.flatnonzero(members).tolist() for members in found] in (
        [[0, 1, 2, 3]],
        [[0, 1], [2, 3]],
        [[2, 3], [0, 1]],
    )
    one = violated_clusters(x, np.flatnonzero(x), program.owner, parents, np.arange(4), NO_LIMITS._replace(most=1))
    assert len(one) == 1


def test_no_time_left_means_no_exact_search_and_no_error() -> None:
    rng = np.random.default_rng(0)
    program = random_program(rng, 7, 8, 3)
    separator = ClusterSeparator(program.offsets, program.parents, None, seconds_left=lambda: 0.0)
    feasible = fractional_point(rng, program) * 0.0
    feasible[program.offsets[:-1]] = 1.0  # no parents: nothing is violated
    assert separator.separate(feasible) == []
    cyclic = fractional_point(rng, program)
    for members in separator.separate(cyclic):
        assert float(cyclic[cluster_row(members, program.owner, program.parents, *program.hanging)].sum()) < 1.0


ENGINES = [
    pytest.param(BranchAndCut(), id="branch_and_cut"),
    pytest.param(BranchAndCut(options={"strong": 1, "rounds": 1}), id="branch_and_cut, weak"),
    pytest.param(ScipCutsSolver(), id="scip_cuts"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("max_parents", [3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_engines_find_the_optimum_of_enumeration_and_never_claim_more(
    engine: Solver, seed: int, max_parents: int
) -> None:
    if not engine.availability().available:
        pytest.skip(engine.availability().reason)
    rng = np.random.default_rng([100 + seed, max_parents])
    for _ in range(4):
        program = random_program(rng, int(rng.integers(5, 9)), int(rng.integers(4, 12)), max_parents)
        best = optimum(program)
        seen: list[SolverEvent] = []
        result = engine.solve(program, callback=seen.append)
        assert result.termination_status is TerminationStatus.OPTIMAL
        assert result.bounds.primal_bound == pytest.approx(best, abs=1e-7)
        assert result.bounds.dual_bound == pytest.approx(best, abs=1e-6)
        for event in seen:
            assert event.dual_bound is None or event.dual_bound <= best + 1e-6
            assert event.primal_bound is None or event.primal_bound >= best - 1e-6
        if result.proof is not None:
            assert result.proof.value <= best + 1e-7
