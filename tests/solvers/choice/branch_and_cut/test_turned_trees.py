"""Trees that are hung one way for all: no more is lost than is stated, and proofs are of all structures."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.boxes import cluster_row
from mmbn_opt.programs.lagrangian import find_hub
from mmbn_opt.programs.tree_proof import TreeProof
from mmbn_opt.programs.turned_trees import turned_choices
from mmbn_opt.scores.predictive import binary_soft_margin, soft_margin
from mmbn_opt.solvers.choice.branch_and_cut import _rooting
from mmbn_opt.solvers.choice.branch_and_cut.clusters import ClusterSeparator
from mmbn_opt.solvers.choice.branch_and_cut.solver import BranchAndCut


def make_data(seed: int, features: int = 3, rows: int = 60, classes: int = 3) -> mm.DiscreteDataset:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    columns = []
    for j in range(features):
        states = int(rng.integers(2, 5)) if seed % 2 else 3
        hidden = (y + rng.integers(0, 3, rows)) % states if j == 0 or rng.random() < 0.4 else (columns[-1] + y) % states
        columns.append(np.where(rng.random(rows) < 0.3, rng.integers(0, states, rows), hidden))
    for j, column in enumerate(columns):
        column[: column.max() + 1] = np.arange(column.max() + 1)
        columns[j] = column
    y[:classes] = np.arange(classes)
    return mm.DiscreteDataset.from_arrays(np.column_stack(columns), y, sample_weight=rng.uniform(0.5, 3.0, rows))


def acyclic_choices(program):
    for picked in product(*program.choice_groups):
        choice = np.array(picked)
        if program.is_acyclic(choice) and (program.A @ program.vector(choice) <= program.row_upper + 1e-9).all():
            yield choice


def stands_for_itself(program, choice) -> bool:
    """Whether a solver may not leave the choice out, by what the fields of the program say alone."""
    if program.spare_columns is not None and program.spare_columns[choice].any():
        return False
    edges = program.parents[choice]
    for top in np.flatnonzero((program.root_columns >= 0) & (choice == program.root_columns)):
        below = {int(top)}
        while more := {i for i in range(program.n_nodes - 1) if i not in below and edges[i, list(below)].any()}:
            below |= more
        ranks = np.arange(program.n_nodes) if program.root_ranks is None else program.root_ranks
        if any(ranks[i] < ranks[top] for i in below):
            return False
    return True


@pytest.mark.parametrize("seed", range(24))
def test_no_structure_is_worth_more_than_the_one_that_stands_for_it_by_more_than_the_cost(seed: int) -> None:
    """By the scores of networks, which share nothing with the cost but the counts; every structure is stood for."""
    kind = (mm.SoftMarginStructure, mm.BinarySoftMarginStructure)[seed % 3 == 2]
    smoothing = 1.0 if seed % 4 else mm.Dirichlet(2.0)
    data = make_data(seed, classes=2 + seed % 2)
    problem = kind(data, max_parents=2, gamma=1.5, smoothing=smoothing)
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.root_columns is not None
    assert (program.turning_cost == 0.0) == (seed % 4 == 0)

    def value(choice: np.ndarray) -> float:
        structure = problem.structure_of(choice)
        if kind is mm.BinarySoftMarginStructure:
            return binary_soft_margin(structure, data, 1.5, smoothing)
        return soft_margin(mm.BayesianNetwork.fit(structure, data, smoothing), data, 1.5)

    every = {tuple(choice.tolist()) for choice in acyclic_choices(program)}
    left_out, dearest = set(every), 0.0
    for picked in sorted(every):
        choice = np.array(picked)
        if not stands_for_itself(program, choice):
            continue
        group = [tuple(turned.tolist()) for turned in turned_choices(program, choice)]
        assert picked in group
        assert set(group) <= every
        values = [value(np.array(turned)) for turned in group]
        dearest = max(dearest, max(values) - value(choice))
        left_out -= set(group)
    assert not left_out
    assert dearest <= program.turning_cost + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_rows_hold_for_every_structure_that_stands_and_each_violated_one_is_found(seed: int) -> None:
    data = make_data(seed, features=4)
    program = mm.SoftMarginStructure(data, gamma=1.5, smoothing=1.0 if seed % 2 else mm.Dirichlet(3.0)).build(
        ProgramKind.IMPLICIT_CONCAVE
    )
    subsets = [np.array([*bits, False]) for bits in product([False, True], repeat=4) if any(bits)]
    rows = [cluster_row(members, program.owner, program.parents, *program.hanging) for members in subsets]
    stand = [program.vector(c) for c in acyclic_choices(program) if stands_for_itself(program, c)]
    assert all((x[row].sum() >= 1.0) for x in stand for row in rows)
    hub = find_hub(program.offsets, program.parents)
    separator = ClusterSeparator(program.offsets, program.parents, hub, hanging=program.hanging)
    rng, cut = np.random.default_rng(seed), 0
    for _ in range(60):
        x = np.zeros(program.n_columns)
        for first, last in zip(program.offsets[:-1], program.offsets[1:], strict=True):
            some = first + rng.permutation(last - first)[: rng.integers(1, 4)]
            x[some] = rng.dirichlet(np.ones(len(some)))
        least = min(x[row].sum() for row in rows)
        found = separator.separate(x)
        assert all((separator.row(members) @ x) < 1.0 for members in found)
        assert bool(found) == (least < 1.0 - 1e-4)
        cut += bool(found)
    assert cut > 5


@pytest.mark.parametrize("seed", range(16))
def test_proofs_are_of_all_structures_however_dear_turning_is(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optimum by enumeration; bounds on the way hold, and the end is exact though the stated cost is not zero."""
    monkeypatch.setattr(_rooting, "MOST_TURNING", np.inf)
    kind = (mm.SoftMarginStructure, mm.BinarySoftMarginStructure)[seed % 2]
    problem = kind(make_data(seed, features=4), max_parents=2, gamma=1.5)
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.turning_cost > 0.0
    best = max(-program.value(program.vector(choice)) for choice in acyclic_choices(program))
    bounds = []

    def hear(record) -> bool:
        bounds.append(record.dual_bound)
        return False

    every_way = ({"node_limit": 2, "root_rounds": 3}, {}, {"branching": "mixture"}, {"helpers": "threads"})
    for options in every_way:
        threads = 2 if "helpers" in options else 1
        result = mm.solve(problem, "branch_and_cut", options=options, callback=hear, threads=threads)
        assert result.stats["turning_cost"] == program.turning_cost
        assert result.bounds.dual_bound >= best - 1e-7
        assert result.bounds.primal_bound <= best + 1e-7
        if "node_limit" not in options:
            assert result.termination_status is mm.TerminationStatus.OPTIMAL
            assert result.bounds.primal_bound == pytest.approx(best, abs=1e-7)
    assert all(bound >= best - 1e-7 for bound in bounds if bound is not None)


def test_a_box_of_one_choice_is_worth_the_best_of_those_left_out_for_it() -> None:
    program = mm.SoftMarginStructure(make_data(3), gamma=1.5).build(ProgramKind.IMPLICIT_CONCAVE)
    proof = TreeProof(program, program.term)
    stand = (c for c in acyclic_choices(program) if stands_for_itself(program, c))
    choice = max(stand, key=lambda c: len(list(turned_choices(program, c))))
    proof.allowed[:] = program.vector(choice) > 0
    group = list(turned_choices(program, choice))
    values = [program.value(program.vector(c)) for c in group]
    asked: list[None] = []
    told = proof.settle_turned(lambda: asked.append(None))
    assert len(asked) == len(group) > len(told)
    assert [c.tolist() for c in told] == [
        c.tolist() for c, value in zip(group, values, strict=True) if value <= min(values) + 1e-7 * abs(min(values))
    ]
    assert proof.value + proof.constant == pytest.approx(min(values) + program.turning_cost)


def test_trees_hang_as_they_are_where_turning_them_costs_much() -> None:
    program = mm.SoftMarginStructure(make_data(1, features=4), gamma=1.5).build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.turning_cost > _rooting.MOST_TURNING * program.most
    assert _rooting.RootRun(BranchAndCut(), program, None, None).program.root_columns is None
    cheap = replace(program, turning_cost=1e-9)
    assert _rooting.RootRun(BranchAndCut(), cheap, None, None).program.root_columns is not None
