"""Bounds from arbitrary multipliers against enumeration; maximum branchings against enumeration."""

from itertools import product

import numpy as np
import pytest

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.formulations import BinarySoftMarginStructure, SoftMarginStructure
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.lagrangian import (
    branching_bound,
    choicewise_bound,
    choicewise_bounds,
    find_hub,
    maximum_arborescence,
    maximum_structure,
)


def arborescence_by_enumeration(weight: np.ndarray) -> float:
    n = len(weight)
    best = -np.inf
    for parents in product(range(n), repeat=n - 1):
        value, fine = 0.0, True
        for v, p in enumerate(parents, start=1):
            seen, u = set(), v
            while u != 0 and u not in seen:
                seen.add(u)
                u = parents[u - 1]
            fine = fine and u == 0 and p != v
            value += weight[p, v]
        if fine:
            best = max(best, value)
    return best


@pytest.mark.parametrize("seed", range(60))
def test_arborescence_equals_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    weight = rng.integers(-5, 6, size=(n, n)).astype(float)
    weight[rng.random((n, n)) < 0.15] = -np.inf
    assert maximum_arborescence(weight) == arborescence_by_enumeration(weight)


@pytest.fixture
def program():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, size=(40, 3))
    codes[:3] = np.arange(3)[:, None]
    data = DiscreteDataset.from_arrays(codes, (codes.sum(axis=1) + (rng.random(40) < 0.2)) % 2)
    return SoftMarginStructure(data).build(ProgramKind.IMPLICIT_CONCAVE)


def acyclic(program):
    for choice in product(*program.choice_groups):
        if program.is_acyclic(np.array(choice)):
            yield np.array(choice)


@pytest.mark.parametrize("seed", range(20))
def test_branching_bound_is_the_maximum_over_structures(program, seed: int) -> None:
    value = np.random.default_rng(seed).normal(size=program.n_columns)
    hub = find_hub(program.offsets, program.parents)
    assert hub == 3
    best = max(float(value[choice].sum()) for choice in acyclic(program))
    assert branching_bound(value, program.offsets, program.parents, hub) == pytest.approx(best, abs=1e-12)
    attained, choice = maximum_structure(value, program.offsets, program.parents, hub)
    assert attained == pytest.approx(best, abs=1e-12)
    assert program.is_acyclic(choice)
    assert value[choice].sum() == pytest.approx(best, abs=1e-9)


def test_branching_bound_gives_up_on_two_parents_besides_the_hub() -> None:
    parents = np.zeros((5, 4), dtype=bool)
    parents[1, [1, 2, 3]] = True
    assert branching_bound(np.zeros(5), np.array([0, 2, 3, 4, 5]), parents, 3) is None


@pytest.mark.parametrize("n_wanted", [1, 2, 4, 7])
def test_cuts_come_in_the_order_in_which_groups_are_wanted(program, n_wanted: int) -> None:
    """All of them in another order than their own included: rows that were dropped are made again so."""
    rng = np.random.default_rng(n_wanted)
    term = program.term.regrouped(7)
    for _ in range(20):
        x = np.concatenate([rng.dirichlet(np.full(len(g), 0.5)) for g in program.choice_groups])
        every, wanted = term.cuts(x), rng.permutation(7)[:n_wanted]
        some = term.cuts(x, lambda values, wanted=wanted: wanted)
        assert (some.groups == wanted).all()
        assert (some.gradients == every.gradients[wanted]).all()
        assert (some.intercepts == every.intercepts[wanted]).all()


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_few_samples_are_summed_to_the_digits_of_many(*, binary: bool, n_classes: int) -> None:
    """Each by itself, or set by set: a row does not depend on the groups that were asked for beside its own."""
    rng = np.random.default_rng(n_classes)
    labels = np.arange(400) % n_classes
    codes = np.stack([(labels + rng.integers(0, 3, 400)) % states for states in (2, 3, 2, 4)], axis=1)
    data = DiscreteDataset.from_arrays(codes, labels, sample_weight=rng.random(400) + 0.5)
    make = BinarySoftMarginStructure if binary else SoftMarginStructure
    program = make(data, max_parents=3).build(ProgramKind.IMPLICIT_CONCAVE)
    term = program.term.regrouped(30)
    n_few = 0
    for _ in range(10):
        x = np.concatenate([rng.dirichlet(np.full(len(g), 0.5)) for g in program.choice_groups])
        every = term.cuts(x)
        for g in range(30):
            alone = term.cuts(x, lambda _, g=g: np.array([g]))
            assert (alone.gradients[0] == every.gradients[g]).all()
            n_few += bool(alone.gradients.any())
    assert n_few > 100


@pytest.mark.parametrize("seed", range(30))
def test_any_multipliers_give_a_bound(program, seed: int) -> None:
    """Negative and too large multipliers included: they are clipped, and the bound still holds for every choice."""
    rng = np.random.default_rng(seed)
    term = program.term.regrouped(4)
    rows, rhs, group = [], [], []
    for _ in range(3):
        x = np.concatenate([rng.dirichlet(np.full(len(g), 0.5)) for g in program.choice_groups])
        cuts = term.cuts(x)
        for g in range(len(term.upper)):
            rows.append(cuts.gradients[g])
            rhs.append(term.upper[g] - cuts.intercepts[g])
            group.append(g)
    slots = np.arange(len(rows))
    lam = rng.normal(0.4, 0.6, size=len(rows))
    allowed = np.ones(program.n_columns, dtype=bool)
    rise = np.empty(program.n_columns)
    arguments = (
        program.c,
        program.offsets,
        allowed,
        np.array(rows),
        np.array(rhs),
        np.array(group, dtype=np.int32),
        4,
        slots,
    )
    bound = choicewise_bound(*arguments, lam, rise)
    for choice in acyclic(program):
        loss = float((term.upper - term.values(program.vector(choice))).sum())
        assert loss >= bound - 1e-9
        assert loss >= bound + rise[choice].max() - 1e-9
    batch = choicewise_bounds(
        arguments[0], arguments[1], np.array([allowed, allowed]), *arguments[3:], np.array([lam, 0 * lam])
    )
    assert batch[0] == pytest.approx(bound)
    assert batch[1] == 0.0


def test_an_empty_node_makes_the_bound_infinite(program) -> None:
    allowed = np.ones(program.n_columns, dtype=bool)
    allowed[program.choice_groups[0]] = False
    none = np.zeros(0, dtype=np.int64)
    rows = (np.zeros((0, program.n_columns)), np.zeros(0), np.zeros(0, dtype=np.int32), 4, none, np.zeros(0))
    assert choicewise_bound(program.c, program.offsets, allowed, *rows, np.empty(program.n_columns)) == np.inf
