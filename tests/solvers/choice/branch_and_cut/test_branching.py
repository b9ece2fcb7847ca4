"""Branching by what mixtures are worth, the race of two rules, shares of work, and ties at the optimum."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.formulations import BinarySoftMarginStructure, SoftMarginStructure
from mmbn_opt.formulations.structure.base import StructureFormulation
from mmbn_opt.formulations.structure.margin_term import MarginTerm
from mmbn_opt.networks.smoothing import Dirichlet
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.scores.predictive import log_odds
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut, _basis, _race, _search, _simplex
from mmbn_opt.solvers.choice.branch_and_cut._branching import mixture_order
from mmbn_opt.solvers.choice.branch_and_cut._effort import (
    EARLY_SHARE,
    EARLY_STEPS,
    FREE_CALLS,
    LATE_SHARE,
    LUCKY_SHARE,
    Effort,
)

RULES = ("dual", "mixture", "race")


def some_data(rng: np.random.Generator, n_features: int, n_classes: int, n_samples: int) -> DiscreteDataset:
    codes = np.stack([rng.integers(0, c, size=n_samples) for c in rng.integers(2, 4, size=n_features)], axis=1)
    labels = (codes[:, 0] + (codes.sum(axis=1) % 2) * rng.integers(0, 2, size=n_samples)) % n_classes
    labels[:n_classes] = np.arange(n_classes)
    codes[0], codes[1] = 0, 1
    return DiscreteDataset.from_arrays(codes, labels, sample_weight=rng.integers(1, 4, size=n_samples).astype(float))


def some_point(rng: np.random.Generator, program: ChoiceProgram) -> np.ndarray:
    """Mixtures of up to three columns a node; some nodes take one."""
    x = np.zeros(program.n_columns)
    for group in program.choice_groups:
        chosen = rng.choice(group, size=min(len(group), int(rng.integers(1, 4))), replace=False)
        x[chosen] = rng.dirichlet(np.ones(len(chosen)))
    return x


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_what_an_exchange_costs_is_the_difference_of_two_values(seed: int, binary: bool) -> None:
    rng = np.random.default_rng(seed)
    make = BinarySoftMarginStructure if binary else SoftMarginStructure
    formulation = make(some_data(rng, 4, int(rng.integers(2, 5)), 300), max_parents=2, gamma=log_odds(0.8))
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.term is not None
    x = some_point(rng, program)
    found = program.term.exchanged(x, program.offsets)
    value = program.term.values(x).sum()
    for first, last in pairwise(program.offsets):
        for k in range(first, last):
            expected = 0.0
            if x[k] > 0 and (x[first:last] > 0).sum() > 1:
                y = x.copy()
                y[first:last] = 0.0
                y[k] = 1.0
                expected = value - program.term.values(y).sum()
            assert found[k] == pytest.approx(expected, abs=1e-9 * max(1.0, abs(value)))
        assert x[first:last] @ found[first:last] >= -1e-9 * max(1.0, abs(value)), "f is concave"


def test_exchanges_are_the_same_to_the_last_digit_with_two_threads() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, size=(9000, 7))
    formulation = SoftMarginStructure(DiscreteDataset.from_arrays(codes, rng.integers(0, 3, size=9000)))
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.term is not None
    assert program.term.n_parts > 4096, "several parts"
    x = some_point(rng, program)
    one, two = (program.term.regrouped(12, threads).exchanged(x, program.offsets) for threads in (1, 2))
    assert np.array_equal(one, two)


def test_the_node_whose_mixture_is_worth_most_comes_first_and_the_class_last() -> None:
    rng = np.random.default_rng(0)
    formulation = SoftMarginStructure(some_data(rng, 4, 3, 120))
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    assert isinstance(program.term, MarginTerm)
    x = some_point(rng, program)
    worth = np.add.reduceat(x * program.term.exchanged(x, program.offsets), program.offsets[:-1])
    mixed = np.flatnonzero(worth > 0)
    assert len(mixed) > 2
    expected = sorted(mixed.tolist(), key=lambda node: -worth[node])
    assert mixture_order(program, program.term, x, None) == expected
    last = expected[0]
    assert mixture_order(program, program.term, x, last) == expected[1:], "while others mix"
    alone = program.vector(program.choice(x))
    first, end = program.offsets[last], program.offsets[last + 1]
    alone[first:end] = x[first:end]
    assert mixture_order(program, program.term, alone, last) == [last], "nothing else is left"


def test_the_heuristic_gets_its_share_of_the_work_and_more_after_a_success() -> None:
    effort = Effort(search=1e9)
    for _ in range(FREE_CALLS):
        assert effort.may_try()
        effort.tried(10_000_000_000, success=False)
    assert not effort.may_try()
    effort = Effort(search=1e9, calls=FREE_CALLS)
    assert effort.share == EARLY_SHARE
    effort.tried(500_000_000, success=False)
    assert not effort.may_try()
    effort.search += 1e9
    assert effort.may_try()
    effort = Effort(search=20 * EARLY_STEPS, heuristic=int(1.5 * EARLY_STEPS), calls=FREE_CALLS)
    assert (effort.share, effort.may_try()) == (LATE_SHARE, True)
    effort.tried(int(EARLY_STEPS), success=True)
    assert (effort.share, effort.may_try()) == (LUCKY_SHARE, True)
    effort.search += 10 * EARLY_STEPS
    assert effort.share == LATE_SHARE
    effort.factor = 0.1
    assert effort.share == pytest.approx(0.1 * LATE_SHARE)


def test_a_search_that_is_told_to_try_less_often_calls_the_heuristic_less(hard: ChoiceProgram) -> None:
    usual, less = (BranchAndCut(options={"node_limit": 60, "heuristic": f}).solve(hard) for f in (1.0, 0.01))
    assert less.stats["heuristic_share"] < usual.stats["heuristic_share"]


@pytest.fixture(scope="module")
def hard() -> ChoiceProgram:
    """Noise: a wide gap that no tree closes soon."""
    rng = np.random.default_rng(0)
    data = DiscreteDataset.from_arrays(rng.integers(0, 3, size=(150, 9)), rng.integers(0, 3, size=150))
    return SoftMarginStructure(data, gamma=log_odds(0.6)).build(ProgramKind.IMPLICIT_CONCAVE)


def test_a_race_keeps_one_of_two_trees_and_repeats(hard: ChoiceProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_race, "LAP_BOXES", 10)
    monkeypatch.setattr(_race, "LAP_WORK", 0.0)
    runs = [BranchAndCut(options={"node_limit": 150}).solve(hard) for _ in range(2)]
    for name in ("branching", "children", "nodes", "iterations", "work", "heuristic_share"):
        assert runs[0].stats[name] == runs[1].stats[name], name
    assert runs[0].bounds == runs[1].bounds
    for lead, kept in ((0.0, "mixture"), (1e9, "dual")):
        monkeypatch.setattr(_race, "LEAD", lead)
        result = BranchAndCut(options={"node_limit": 150}).solve(hard)
        assert result.stats["branching"] == kept
        assert result.stats["nodes"] == 150
        assert result.bounds.dual_bound <= result.bounds.primal_bound


def test_trees_that_are_close_go_on_with_twice_the_work(hard: ChoiceProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_race, "LAP_BOXES", 2)
    monkeypatch.setattr(_race, "LAP_WORK", 0.0)
    lap, laps = _race.Race._lap, list[tuple[str, float]]()

    def watched(self: _race.Race, search: _search.Search, *others: Any) -> Any:
        ended = yield from lap(self, search, *others)
        laps.append((search.rule, search.tally.work))
        return ended

    monkeypatch.setattr(_race.Race, "_lap", watched)
    seconds, found = 30.0, []
    for close in ((0.0, 0.0), (0.0, 1e9), (0.0, 1e9)):
        laps.clear()
        monkeypatch.setattr(_race, "CLOSE", close)
        result = BranchAndCut(time_limit=seconds, options={"node_limit": 120}).solve(hard)
        assert [rule for rule, _ in laps] == ["dual", "mixture"] * (len(laps) // 2)
        found.append((list(laps), result.stats["nodes"], result.bounds))
    assert len(found[0][0]) == 2
    assert found[1] == found[2], "equal runs do the same"
    works = [work for rule, work in laps if rule == "dual"]
    assert len(works) > 2
    assert all(work >= works[0] * 2.0**lap for lap, work in enumerate(works))
    asked = works[0] * 2.0 ** (len(works) - 1)
    assert asked <= _race.CLOSE_SHARE * 1e9 * seconds < 2.0 * asked
    laps.clear()
    BranchAndCut(options={"node_limit": 30}).solve(hard)
    assert len(laps) == 2, "without a limit on time nobody knows what is long"


@pytest.mark.parametrize("boxes", range(8, 24, 3))
def test_a_limit_within_the_race_gives_the_better_of_two_bounds(
    boxes: int, hard: ChoiceProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_race, "LAP_BOXES", 10)
    monkeypatch.setattr(_race, "LAP_WORK", 0.0)
    alone = BranchAndCut(options={"node_limit": min(boxes, 10), "branching": "dual"}).solve(hard)
    result = BranchAndCut(options={"node_limit": boxes}).solve(hard)
    assert result.termination_status is TerminationStatus.NODE_LIMIT
    assert result.bounds.dual_bound >= alone.bounds.dual_bound - 1e-9 * abs(alone.bounds.dual_bound)
    assert result.bounds.dual_bound <= result.bounds.primal_bound


def optima(formulation: StructureFormulation, program: ChoiceProgram) -> tuple[float, np.ndarray, int]:
    """Least objective, the canonical choice among all that attain it, and how many these are."""
    choices, values = [], []
    for picked in product(*program.choice_groups):  # ascending: the first of the best is the canonical one
        choice = np.array(picked, dtype=np.intp)
        if program.is_acyclic(choice):
            choices.append(choice)
            values.append(program.value(program.vector(choice)))
    best = min(values)
    ties = np.flatnonzero(np.array(values) <= best + 1e-10 * max(1.0, abs(best)))
    return best, choices[int(ties[0])], len(ties)


def with_twins(rng: np.random.Generator) -> DiscreteDataset:
    """A feature twice, and one that knows nothing: structures that are worth the same."""
    data = some_data(rng, 2, 2, int(rng.integers(8, 30)))
    codes = np.column_stack([data.codes, data.codes[:, 0]])
    return DiscreteDataset.from_arrays(codes, data.target_codes)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 6, 7, 9])
def test_ties_are_settled_alike_whatever_the_rule_the_threads_and_the_start(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_race, "LAP_BOXES", 2)
    monkeypatch.setattr(_race, "LAP_WORK", 0.0)
    monkeypatch.setattr(_race, "NEAR", 2.0)
    rng = np.random.default_rng(seed)
    formulation = SoftMarginStructure(with_twins(rng), gamma=log_odds(float(rng.choice([0.6, 0.8, 0.95]))))
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    best, canonical, count = optima(formulation, program)
    assert count > 1
    for rule, threads, seeded in product(RULES, (1, 2), (0, 5)):
        start = program.vector(np.array([group[-1] for group in program.choice_groups])) if seeded else None
        if start is not None and program.violation(start) > 0:
            start = None
        result = BranchAndCut(options={"branching": rule}, threads=threads, seed=seeded).solve(program, start=start)
        assert result.termination_status is TerminationStatus.OPTIMAL
        assert result.bounds.primal_bound == pytest.approx(best, rel=1e-9)
        assert result.stats["ties_settled"]
        assert program.choice(result.solution).tolist() == canonical.tolist()


def test_a_gap_that_is_allowed_leaves_ties_alone() -> None:
    program = SoftMarginStructure(with_twins(np.random.default_rng(1))).build(ProgramKind.IMPLICIT_CONCAVE)
    result = BranchAndCut(rel_gap=0.01).solve(program)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert not result.stats["ties_settled"]


def test_without_a_term_there_is_nothing_to_race_about() -> None:
    rng = np.random.default_rng(2)
    program = mm.DecomposableStructure(some_data(rng, 4, 2, 60), score="bdeu").build(ProgramKind.LINEAR_CHOICE)
    results = [BranchAndCut(options={"branching": rule}).solve(program) for rule in RULES]
    assert len({result.bounds for result in results}) == 1
    assert {result.stats["branching"] for result in results} <= {None, "dual", "mixture"}


def test_a_heuristic_without_success_keeps_to_its_share(hard: ChoiceProgram) -> None:
    result = BranchAndCut(options={"node_limit": 200}).solve(hard)
    assert result.stats["work"] > 0
    longest = 0.05  # of a call beyond the share
    assert result.stats["heuristic_share"] <= EARLY_SHARE + longest


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_two_thousand_small_programs_equal_enumeration(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both rules and their race, up to four parents, all smoothings: optimum, bound, structure, certificate."""
    monkeypatch.setattr(_race, "LAP_BOXES", 3)
    monkeypatch.setattr(_race, "LAP_WORK", 0.0)
    if part % 2:  # as wide programs of many groups are searched
        monkeypatch.setattr(_search, "SMALL_COLUMNS", 0)
        monkeypatch.setattr(_search, "WIDE_COLUMNS", 0)
        monkeypatch.setattr(_basis, "MANY_LOSSES", 1)
        monkeypatch.setattr(_simplex, "ROWS_TO_SETTLE", 2)
    rng = np.random.default_rng(1000 + part)
    for number in range(100):
        n_features = 4 if number % 50 == 49 else int(rng.integers(2, 4))
        data = some_data(rng, n_features, int(rng.integers(2, 4)), int(rng.integers(6, 25)))
        make = SoftMarginStructure if rng.random() < 0.6 else BinarySoftMarginStructure
        gamma = log_odds(float(rng.choice([0.55, 0.6, 0.8, 0.9, 0.99])))
        smoothing = 1.0 if rng.random() < 0.7 else Dirichlet(1.0)
        parents = int(rng.integers(2, n_features + 1))
        formulation = make(data, max_parents=parents, gamma=gamma, smoothing=smoothing)
        program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
        best, canonical, _ = optima(formulation, program)
        rule = RULES[int(rng.integers(3))]
        options = {"branching": rule, "groups": int(rng.integers(1, 6)), "rounds": int(rng.integers(1, 3))}
        if part % 4 > 1:  # boxes wait whenever they can
            options["ahead"] = 0.0
        if part % 3:  # programs begin without dear columns, or without all that are not free
            options["reach"] = 0.0 if part % 3 == 1 else 0.04
        result = BranchAndCut(options=options).solve(program)
        scale = max(1.0, abs(best))
        assert result.termination_status is TerminationStatus.OPTIMAL
        assert result.bounds.primal_bound == pytest.approx(best, abs=1e-9 * scale)
        assert best - 1e-8 * scale <= result.bounds.dual_bound <= best + 1e-9 * scale
        if result.stats["ties_settled"] and program.root_columns is None:
            assert program.choice(result.solution).tolist() == canonical.tolist()
        if part == 0:
            whole = mm.solve(formulation, "branch_and_cut", options=options)
            assert whole.certificate.ok
            assert {check.name: check.ok for check in whole.certificate.checks}["bound proved"] is True
