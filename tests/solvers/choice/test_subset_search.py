"""Search over subsets of nodes against brute force, against dynamic programming, and in its limits."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers.choice._subset_parts import Patterns, split
from mmbn_opt.solvers.choice.subset_search import SubsetSearch

STATUS = TerminationStatus


def choice_program(sets, cost):
    """A program from a tuple of parent sets a node."""
    offsets = np.cumsum([0, *map(len, sets)])
    parents = np.zeros((offsets[-1], len(sets)), dtype=bool)
    for k, chosen in enumerate(itertools.chain.from_iterable(sets)):
        parents[k, list(chosen)] = True
    return ChoiceProgram(
        np.asarray(cost, dtype=np.float64), offsets, parents, sp.csr_array((0, offsets[-1])), np.zeros(0), offset=3.0
    )


def random_program(seed, nodes=5, max_parents=2, keep=0.6, forced=False):
    rng = np.random.default_rng(seed)
    sets = []
    for v in range(nodes):
        others = [u for u in range(nodes) if u != v]
        every = [s for size in range(max_parents + 1) for s in itertools.combinations(others, size)]
        chosen = [s for s in every if rng.random() < keep and (s or not forced)]
        sets.append(chosen or [()])
    return choice_program(sets, rng.exponential(size=sum(map(len, sets))).round(rng.integers(1, 8)))


def brute_force(program):
    values = [
        program.value(program.vector(np.array(choice)))
        for choice in itertools.product(*program.choice_groups)
        if program.is_acyclic(np.array(choice))
    ]
    return min(values, default=None)


@pytest.mark.parametrize("seed", range(60))
def test_optimum_equals_brute_force(seed):
    program = random_program(seed, nodes=3 + seed % 3, forced=seed % 4 == 0, keep=0.5)
    expected = brute_force(program)
    result = SubsetSearch(options={"group_size": 1 + seed % 4}).solve(program)
    if expected is None:
        assert result.termination_status is STATUS.INFEASIBLE
        assert result.solution is None
        return
    assert result.termination_status is STATUS.OPTIMAL
    assert program.is_feasible(result.solution)
    assert result.bounds.primal_bound == program.value(result.solution) == pytest.approx(expected, abs=1e-9)
    assert result.bounds.dual_bound == pytest.approx(expected, abs=1e-9)
    for record in result.trace:
        assert record.dual_bound is None or record.dual_bound <= expected + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_any_start_leads_to_the_same_optimum(seed):
    program = random_program(seed, nodes=9, keep=0.4)
    alone = SubsetSearch(options={"group_size": 3}).solve(program)
    assert alone.termination_status is STATUS.OPTIMAL
    poor = program.vector(np.array([g[np.argmin(program.parents[g].sum(axis=1))] for g in program.choice_groups]))
    for start in (poor, alone.solution):
        if not program.is_feasible(start):
            continue
        again = SubsetSearch(options={"group_size": 9}).solve(program, start=start)
        assert again.termination_status is STATUS.OPTIMAL
        assert again.bounds.primal_bound == pytest.approx(alone.bounds.primal_bound, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_patterns_bound_the_rest_from_below(seed):
    program = random_program(seed, nodes=5)
    for part in split(program):
        exact = Patterns.build(part, part.size)
        split_up = Patterns.build(part, 2)
        states = np.arange(1 << part.size, dtype=np.uint64)
        assert (split_up.bounds(states) <= exact.bounds(states) + 1e-12).all()
        assert exact.bounds(states)[-1] == 0.0
    total = sum(Patterns.build(part, part.size).bounds(np.zeros(1, dtype=np.uint64))[0] for part in split(program))
    assert total + program.offset == pytest.approx(brute_force(program), abs=1e-9)


def test_parts_are_the_strongly_connected_components():
    sets = [[(), (1,)], [(), (0,)], [(0,), (0, 3)], [(), (2,)], [(0, 1)]]
    parts = split(choice_program(sets, np.arange(9.0)))
    assert sorted(tuple(part.nodes.tolist()) for part in parts) == [(0, 1), (2, 3), (4,)]
    of_two = next(part for part in parts if part.nodes.tolist() == [2, 3])
    assert of_two.masks.tolist() == [0, 2, 0, 1]  # node 0 is outside and drops out


def test_seventeen_nodes_of_a_real_data_set():
    """`vote` has 2,329 parent sets; branch and cut takes minutes. The value is that of dynamic programming."""
    frame, info = mm.load_dataset("vote", return_info=True)
    data = mm.prepare(frame, info.target, kinds=info.kinds, missing="drop").data
    problem = mm.DecomposableStructure(data, score="bic")
    assert problem.candidates.n_columns < 1000
    result = mm.solve(problem, "subset_search", starts=[])
    assert result.termination_status is STATUS.OPTIMAL
    assert result.certificate.ok, str(result.certificate)
    assert result.bounds.primal_bound == pytest.approx(-1765.760946, abs=1e-6)


def test_limits_keep_the_incumbent_and_a_bound():
    program = random_program(7, nodes=9, keep=0.9)
    optimum = SubsetSearch().solve(program).bounds.primal_bound
    start = program.vector(np.array([g[np.argmin(program.parents[g].sum(axis=1))] for g in program.choice_groups]))
    few = SubsetSearch(options={"max_states": 3, "group_size": 1}).solve(program, start=start)
    assert few.termination_status is STATUS.NODE_LIMIT
    assert few.bounds.dual_bound <= optimum <= few.bounds.primal_bound
    none = SubsetSearch(time_limit=0.0).solve(program, start=start)
    assert none.termination_status is STATUS.TIME_LIMIT
    assert none.solution_status is SolutionStatus.FEASIBLE
    easy = SubsetSearch(rel_gap=0.9, options={"group_size": 1}).solve(program, start=start)
    assert easy.termination_status is STATUS.OPTIMAL
    assert easy.bounds.gap_rel <= 0.9
    stopped = SubsetSearch().solve(program, callback=lambda event: True)
    assert stopped.termination_status is STATUS.INTERRUPTED


def test_what_it_cannot_take_is_said():
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"], ["b"]], [0, 1, 0])
    with_term = mm.SoftMarginStructure(data).build(ProgramKind.IMPLICIT_CONCAVE)
    with pytest.raises(InputError, match="without a term"):
        SubsetSearch().solve(with_term)
    with pytest.raises(InputError, match="no option groups"):
        SubsetSearch(options={"groups": 3}).solve(random_program(0))
    ring = choice_program([[(), ((v + 1) % 64,)] for v in range(64)], np.arange(128.0))
    with pytest.raises(SizeLimitError, match="64 nodes"):
        SubsetSearch().solve(ring)
