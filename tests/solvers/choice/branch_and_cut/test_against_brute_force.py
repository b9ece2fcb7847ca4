"""Optimum and bound against enumeration of all acyclic choices, from good, bad and no starts."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.formulations import BinarySoftMarginStructure, DecomposableStructure, SoftMarginStructure
from mmbn_opt.formulations.structure.base import StructureFormulation
from mmbn_opt.networks.smoothing import Dirichlet
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.scores.predictive import log_odds
from mmbn_opt.solvers.base import SolverEvent
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut

SMALL = {"groups": 3}


def random_data(rng: np.random.Generator, n_features: int, n_classes: int, n_samples: int) -> DiscreteDataset:
    cards = rng.integers(2, 4, size=n_features)
    codes = np.stack([rng.integers(0, c, size=n_samples) for c in cards], axis=1)
    labels = (codes[:, 0] + (codes.sum(axis=1) % 2) * rng.integers(0, 2, size=n_samples)) % n_classes
    labels[:n_classes] = np.arange(n_classes)
    codes[:2] = np.stack([np.zeros(n_features, int), np.ones(n_features, int)])
    return DiscreteDataset.from_arrays(codes, labels, sample_weight=rng.integers(1, 4, size=n_samples).astype(float))


def acyclic_choices(program: ChoiceProgram) -> Iterator[np.ndarray]:
    for choice in product(*program.choice_groups):
        picked = np.array(choice, dtype=np.intp)
        if program.is_acyclic(picked):
            yield picked


def brute_force(formulation: StructureFormulation, program: ChoiceProgram) -> tuple[float, float]:
    """Best and worst objective over all acyclic choices, the choices scored from the data."""
    scores = [
        -formulation.evaluate(formulation.model_of(formulation.structure_of(c))) for c in acyclic_choices(program)
    ]
    return min(scores), max(scores)


def formulations(rng: np.random.Generator) -> Iterator[StructureFormulation]:
    p = float(rng.choice([0.55, 0.6, 0.8, 0.9, 0.99]))
    n_classes = int(rng.integers(2, 4))
    data = random_data(rng, 3, n_classes, int(rng.integers(6, 25)))
    smoothing = 1.0 if rng.random() < 0.7 else Dirichlet(1.0)
    for max_parents in (1, 2, 3):
        yield SoftMarginStructure(data, max_parents=max_parents, gamma=log_odds(p), smoothing=smoothing)
        yield BinarySoftMarginStructure(data, max_parents=max_parents, gamma=log_odds(p), smoothing=smoothing)
    yield DecomposableStructure(data, score="mdl", max_parents=2)
    yield DecomposableStructure(data, score="loglik", max_parents=2, parent_sets="margin")
    yield DecomposableStructure(data, score="bdeu", max_parents=3, ess=2.0)


@pytest.mark.parametrize("seed", range(12))
def test_optimum_and_bound_equal_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for formulation in formulations(rng):
        program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
        best, _ = brute_force(formulation, program)
        choices = list(acyclic_choices(program))
        poor = program.vector(choices[int(rng.integers(len(choices)))])
        for start in (None, poor):
            result = BranchAndCut(options=SMALL).solve(program, start=start)
            scale = max(1.0, abs(best))
            assert result.termination_status is TerminationStatus.OPTIMAL
            assert result.solution_status is SolutionStatus.FEASIBLE
            assert result.bounds.primal_bound == pytest.approx(best, abs=1e-9 * scale)
            assert result.bounds.dual_bound == pytest.approx(best, abs=1e-8 * scale)
            assert result.bounds.dual_bound <= best + 1e-9 * scale


@pytest.mark.parametrize("seed", range(6))
def test_four_features_three_parents(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    data = random_data(rng, 4, 2, 14)
    formulation = DecomposableStructure(data, score="loglik", max_parents=2)
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    best = min(float(program.c[c].sum()) for c in acyclic_choices(program)) + program.offset
    result = BranchAndCut().solve(program)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_without_heuristic_every_bound_on_the_way_holds(seed: int) -> None:
    """Bounds and incumbents that the callback sees sandwich the optimum; nothing but the tree finds the answer."""
    rng = np.random.default_rng(200 + seed)
    data = random_data(rng, 3, 2, 20)
    formulation = SoftMarginStructure(data, gamma=log_odds(0.6))
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    bare = ChoiceProgram(
        program.c, program.offsets, program.parents, program.A, program.row_upper, program.term, program.offset
    )
    best, _ = brute_force(formulation, program)
    seen: list[SolverEvent] = []
    result = BranchAndCut(options={"groups": 2, "strong": 1, "rounds": 1}).solve(bare, callback=seen.append)
    assert result.bounds.primal_bound == pytest.approx(best, rel=1e-9)
    assert result.bounds.dual_bound == pytest.approx(best, rel=1e-8)
    for event in seen:
        assert event.dual_bound is None or event.dual_bound <= best + 1e-9 * abs(best)
        assert event.primal_bound is None or event.primal_bound >= best - 1e-9 * abs(best)
        if event.solution is not None:
            assert bare.is_feasible(event.solution)
            assert bare.value(event.solution) == pytest.approx(event.primal_bound)


def test_required_and_forbidden_edges_are_kept() -> None:
    rng = np.random.default_rng(5)
    data = random_data(rng, 3, 2, 30)
    names = data.feature_names
    formulation = SoftMarginStructure(
        data, required_edges=((names[0], data.class_name),), forbidden_edges=((names[1], names[2]),)
    )  # fmt: skip
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    best, _ = brute_force(formulation, program)
    result = BranchAndCut(options=SMALL).solve(program)
    assert result.bounds.primal_bound == pytest.approx(best, rel=1e-9)
    assert result.solution is not None
    structure = formulation.recover(result.solution).structure
    assert (names[0], data.class_name) in structure.edges


@pytest.mark.parametrize("seed", range(4))
def test_two_engines_agree_on_four_features(seed: int) -> None:
    """The row form by another solver gives the same optimum as the projection."""
    rng = np.random.default_rng(300 + seed)
    data = random_data(rng, 4, 2, 20)
    formulation = SoftMarginStructure(data, gamma=log_odds(0.7))
    rows = formulation.build(ProgramKind.MIXED_INTEGER)
    other = milp(
        rows.c,
        integrality=rows.integrality.astype(int),
        bounds=Bounds(rows.col_lower, rows.col_upper),
        constraints=LinearConstraint(rows.A, rows.row_lower, rows.row_upper),
        options={"mip_rel_gap": 0.0},
    )
    result = BranchAndCut().solve(formulation.build(ProgramKind.IMPLICIT_CONCAVE))
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(other.fun, rel=1e-7)
    assert result.bounds.dual_bound == pytest.approx(other.fun, rel=1e-7)
