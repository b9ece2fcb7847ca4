"""The parts of the engine against second methods: enumeration, numpy and scipy's linear programming."""

import pickle
from copy import copy
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from seldom import mostly_slow
from strategies import dataset_of, tiny_problems

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.formulations import BinarySoftMarginStructure, SoftMarginStructure
from mmbn_opt.formulations.structure.acyclicity import class_link_rows
from mmbn_opt.formulations.structure.margin_term import MarginTerm
from mmbn_opt.networks.candidates import CandidateParents, parent_matrix
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.boxes import holds_before
from mmbn_opt.programs.choice import ChoiceProgram, GroupsAlone
from mmbn_opt.programs.lagrangian import find_hub
from mmbn_opt.programs.tree_proof import TreeProof
from mmbn_opt.scores.margin_counts import count_margin_tables
from mmbn_opt.scores.margins import EntryLookup, MarginTables
from mmbn_opt.solvers.choice.branch_and_cut import _basis
from mmbn_opt.solvers.choice.branch_and_cut import _simplex as simplex
from mmbn_opt.solvers.choice.branch_and_cut._master import Master
from mmbn_opt.solvers.choice.branch_and_cut._pool import RowPool
from mmbn_opt.solvers.choice.branch_and_cut._recipes import Start, renumbered
from mmbn_opt.solvers.choice.branch_and_cut._tableau import Costs, Tableau, Workspace, initial_tableau, tableau_of
from mmbn_opt.solvers.choice.branch_and_cut.clusters import ClusterSeparator, minimum_cut


def random_point(rng: np.random.Generator, offsets: np.ndarray) -> np.ndarray:
    sizes = np.diff(offsets)
    return np.concatenate([rng.dirichlet(np.full(size, 0.3)) for size in sizes])


def small_data(seed: int, n_features: int = 4, n_classes: int = 3, n_samples: int = 40) -> DiscreteDataset:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(n_samples, n_features))
    codes[:3] = np.arange(3)[:, None]
    labels = (codes.sum(axis=1) + (rng.random(n_samples) < 0.3)) % n_classes
    labels[:n_classes] = np.arange(n_classes)
    return DiscreteDataset.from_arrays(codes, labels, sample_weight=rng.integers(1, 4, n_samples).astype(float))


# -- the concave term
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 8, 11])
@pytest.mark.parametrize("n_groups", [1, 5, 1000])
def test_value_and_cuts_equal_a_numpy_twin(*, binary: bool, n_classes: int, n_groups: int) -> None:
    make = BinarySoftMarginStructure if binary else SoftMarginStructure
    formulation = make(small_data(1, n_classes=n_classes, n_samples=300))
    tables, gamma = formulation.tables, formulation.gamma
    term = MarginTerm(tables, gamma, n_groups)
    rng = np.random.default_rng(0)
    x = random_point(rng, formulation.candidates.offsets)
    rows = np.stack([tables.coefficients(k) for k in range(tables.n_columns)], axis=1)
    margins = (rows @ x).reshape(tables.n_samples, -1).min(axis=1)
    expected = float(tables.weight @ np.minimum(margins, gamma))
    cuts = term.cuts(x)
    assert term.values(x).sum() == pytest.approx(expected, rel=1e-12)
    assert np.allclose(cuts.values, term.values(x), rtol=0, atol=1e-12)
    assert np.allclose(cuts.values, cuts.intercepts + cuts.gradients @ x, rtol=0, atol=1e-9)
    assert term.upper.sum() == pytest.approx(gamma * tables.weight.sum())
    for _ in range(20):
        other = random_point(rng, formulation.candidates.offsets)
        assert (term.values(other) <= cuts.intercepts + cuts.gradients @ other + 1e-9).all()
        assert (term.values(other) <= term.upper + 1e-12).all()
    assert len(term.upper) == min(n_groups, tables.n_samples)


def test_the_projected_program_has_the_value_of_the_row_form() -> None:
    formulation = SoftMarginStructure(small_data(2))
    rows, projected = formulation.build(ProgramKind.MIXED_INTEGER), formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    for start in formulation.starts(seed=0):
        vector = formulation.encode(start.model, ProgramKind.IMPLICIT_CONCAVE)
        assert projected.is_feasible(vector)
        assert projected.value(vector) == pytest.approx(rows.value(formulation.encode(start.model)))
        assert -projected.value(vector) == pytest.approx(formulation.evaluate(start.model))
        assert formulation.recover(vector).structure == start.model.structure


# -- cluster rows
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_exact_separation_finds_a_violated_cluster_whenever_there_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    candidates = CandidateParents.for_margins(5, 2)
    parents = parent_matrix(candidates)
    separator = ClusterSeparator(candidates.offsets, parents, find_hub(candidates.offsets, parents))
    assert separator.exact
    x = random_point(rng, candidates.offsets)
    violated = []
    for size in range(2, 6):
        for cluster in combinations(range(5), size):
            members = np.zeros(6, dtype=bool)
            members[list(cluster)] = True
            if separator.row(members) @ x < 1 - 1e-4:
                violated.append(float(separator.row(members) @ x))
    found = separator.separate(x)
    assert bool(found) == bool(violated)
    if found:
        assert separator.row(found[0]) @ x == pytest.approx(min(violated), abs=1e-6)
    for members in found:
        assert separator.row(members) @ x < 1 - 1e-4


@pytest.mark.parametrize("seed", range(30))
def test_every_integral_cycle_is_separated_with_three_parents(seed: int) -> None:
    rng = np.random.default_rng(seed)
    candidates = CandidateParents.for_all(4, 3)
    program = ChoiceProgram(
        np.zeros(candidates.n_columns), candidates.offsets, parent_matrix(candidates), class_link_rows(candidates),
        np.zeros(0)
    )  # fmt: skip
    separator = ClusterSeparator(program.offsets, program.parents, None)
    choice = np.array([rng.choice(g) for g in program.choice_groups])
    found = separator.separate(program.vector(choice))
    assert bool(found) != program.is_acyclic(choice)
    for members in found:
        assert separator.row(members) @ program.vector(choice) == 0


def test_minimum_cut_of_a_path() -> None:
    capacity = np.zeros((4, 4))
    capacity[3, 0], capacity[0, 1], capacity[1, 2] = 0.9, 0.2, 0.5
    flow, side = minimum_cut(capacity, 3, 2, 1.0)
    assert flow == pytest.approx(0.2)
    assert side.tolist() == [False, True, True, False]


# -- linear programs
# ------------------------------------------------------------------------------------------------------


def some_rows(seed: int, rng: np.random.Generator) -> tuple[ChoiceProgram, TreeProof, RowPool, np.ndarray]:
    """A program with three loss groups, cuts at random points and one cluster row."""
    formulation = SoftMarginStructure(small_data(seed))
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.term is not None
    term = program.term.regrouped(3)
    proof = TreeProof(program, term)
    hub = find_hub(program.offsets, program.parents)
    pool = RowPool(program, term, ClusterSeparator(program.offsets, program.parents, hub), proof)
    slots = [pool.program_rows()]
    for _ in range(4):
        point = random_point(rng, program.offsets)
        slots.append(pool.cuts_at(point, point, np.full(3, -np.inf), 0.0)[0])
    members = np.zeros(program.n_nodes, dtype=bool)
    members[:2] = True
    slots.append(np.array([pool.cluster(members)]))
    return program, proof, pool, np.concatenate(slots)


def by_scipy(program: ChoiceProgram, pool: RowPool, rows: np.ndarray, allowed: np.ndarray) -> float:
    """Least loss over the rows within a box; inf where there is no point."""
    losses = np.zeros((len(rows), 3))
    for t, slot in enumerate(rows):
        if pool.group[slot] >= 0:
            losses[t, pool.group[slot]] = 1.0
    choose = np.zeros((program.n_nodes, program.n_columns + 3))
    for node, group in enumerate(program.choice_groups):
        choose[node, group] = 1.0
    bounds = [(0, None if a else 0) for a in allowed] + [(0, None)] * 3
    found = linprog(
        np.concatenate([program.c, np.ones(3)]), A_ub=-np.hstack([pool.rows[rows], losses]), b_ub=-pool.rhs[rows],
        A_eq=choose, b_eq=np.ones(program.n_nodes), bounds=bounds,
    )  # fmt: skip
    assert found.status in (0, 2)
    return float(found.fun) if found.status == 0 else np.inf


@pytest.mark.parametrize("seed", range(15))
def test_dual_simplex_and_master_agree_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program, proof, pool, rows = some_rows(seed, rng)
    allowed = rng.random(program.n_columns) < 0.8
    allowed[program.offsets[:-1]] = True
    expected = by_scipy(program, pool, rows, allowed)
    tableau = initial_tableau(pool, allowed, rows, Costs.perturbed(program, allowed, 1e-9, 0))
    assert tableau.optimise(allowed, np.inf, 10_000) == simplex.OPTIMAL
    assert tableau.z == pytest.approx(expected, rel=1e-6, abs=1e-6)
    x, s = tableau.point()
    assert np.add.reduceat(x, program.offsets[:-1]) == pytest.approx(1.0, abs=1e-7)
    assert s.sum() + program.c @ x == pytest.approx(expected, rel=1e-5, abs=1e-5)
    proof.allowed = allowed.copy()
    assert proof.prove(rows, tableau.multipliers(rows, np.inf)) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    master = Master(pool, allowed)
    master.add(rows)
    assert master.solve(np.inf)
    value, _, _, lam = master.read()
    assert value == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert proof.prove(master.slots, lam) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def some_tableau(seed: int, rng: np.random.Generator):
    """The same with costs and a tableau of all columns, before any pivot."""
    program, proof, pool, rows = some_rows(seed, rng)
    everything = np.ones(program.n_columns, dtype=bool)
    costs = Costs.perturbed(program, everything, 1e-9, 0)
    return program, proof, pool, rows, everything, costs, initial_tableau(pool, everything, rows, costs)


@pytest.mark.parametrize("settled_after", [1, 3, 32])
@pytest.mark.parametrize("seed", range(6))
def test_a_tableau_after_pivots_is_the_one_of_its_basis(monkeypatch, seed: int, settled_after: int) -> None:
    """However many rows are pivoted on before it is brought up to date; numpy's solver makes the other one."""
    monkeypatch.setattr(simplex, "ROWS_TO_SETTLE", settled_after)
    if seed % 2:
        monkeypatch.setattr(_basis, "MANY_LOSSES", 1)
    rng = np.random.default_rng(seed)
    program, _, pool, rows, everything, costs, tableau = some_tableau(seed, rng)
    assert tableau.optimise(everything, np.inf, 7) == simplex.LIMIT
    allowed = rng.random(program.n_columns) < 0.7
    allowed[program.offsets[:-1]] = True
    assert tableau.optimise(allowed, np.inf, 10_000) == simplex.OPTIMAL
    height, width = tableau.height, tableau.width
    basic = tableau.basic[:height].copy()
    slack = basic >= tableau.first_slack
    basic[slack] = tableau.first_slack + np.searchsorted(np.sort(rows), basic[slack] - tableau.first_slack)
    twin = tableau_of(pool, everything, np.sort(rows), basic, costs)
    assert twin is not None
    place = {variable: at for at, variable in enumerate(twin.nonbasic[: twin.width].tolist())}
    columns = [place[variable] for variable in tableau.nonbasic[:width].tolist()]
    place = {variable: at for at, variable in enumerate(twin.basic[: twin.height].tolist())}
    lines = [place[variable] for variable in tableau.basic[:height].tolist()]
    assert np.allclose(tableau.T[:height, :width], twin.T[np.ix_(lines, columns)], atol=1e-8)
    assert np.allclose(tableau.b[:height], twin.b[lines], atol=1e-8)
    assert np.allclose(tableau.d[:width], twin.d[columns], atol=1e-8)
    assert tableau.z == pytest.approx(twin.z, rel=1e-9)
    assert tableau.optimise(allowed, np.inf, 10) == simplex.OPTIMAL
    assert not np.isin(tableau.nonbasic[: tableau.width], np.flatnonzero(~allowed)).any(), "forbidden columns go"


def ordered(tableau: Tableau) -> tuple[NDArray, ...]:
    """Basic values, reduced costs and entries, by the numbers of the variables."""
    lines, columns = np.argsort(tableau.basic[: tableau.height]), np.argsort(tableau.nonbasic[: tableau.width])
    return (
        tableau.basic[lines], tableau.nonbasic[columns], tableau.b[lines], tableau.d[columns],
        tableau.T[np.ix_(lines, columns)],
    )  # fmt: skip


def agree(one: Tableau, other: Tableau) -> bool:
    """Whether two tableaux are the same but for the order of what is in them."""
    return all(np.allclose(mine, its, atol=1e-7) for mine, its in zip(ordered(one), ordered(other), strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_a_narrow_tableau_with_its_columns_back_is_the_whole_one(monkeypatch, seed: int) -> None:
    """Made from a basis without the dear columns; and these taken in, also where rows have a basic slack."""
    if seed % 2:
        monkeypatch.setattr(_basis, "MANY_LOSSES", 1)
    rng = np.random.default_rng(seed)
    program, _, pool, rows, everything, costs, tableau = some_tableau(seed, rng)
    rows = np.sort(rows)
    tableau.optimise(everything, np.inf, 7 if seed % 3 else 10_000)
    basis = tableau.basis(tableau.slots())
    whole = tableau_of(pool, everything, rows, basis, costs)
    assert whole is not None
    assert agree(whole, tableau)
    reach = float(np.quantile(whole.d, 0.6))
    wanted = rng.random(program.n_columns) < 0.1
    narrow = tableau_of(pool, everything, rows, basis, costs, reach=reach, also=wanted)
    assert narrow is not None
    assert narrow.narrow
    assert np.array_equal(narrow.columns(), whole.columns(reach) | wanted)
    assert narrow.width < whole.width
    assert agree(narrow.with_columns(pool, costs, np.flatnonzero(~narrow.columns())), whole)


@pytest.mark.parametrize("seed", range(15))
def test_columns_that_come_late_lower_the_optimum_to_that_of_all(seed: int) -> None:
    """By scipy's linear programming: a program is solved without some columns, then they are priced in."""
    rng = np.random.default_rng(seed)
    program, proof, pool, rows, _, costs, _ = some_tableau(seed, rng)
    allowed = rng.random(program.n_columns) < 0.9
    allowed[program.offsets[:-1]] = True
    some = allowed & (rng.random(program.n_columns) < 0.5)
    some[program.offsets[:-1]] = True
    tableau = initial_tableau(pool, some, rows, Costs.perturbed(program, some, 1e-9, 0))
    assert tableau.optimise(some, np.inf, 10_000) == simplex.OPTIMAL
    before = tableau.z
    assert tableau.widen(pool, costs, np.flatnonzero(allowed & ~tableau.columns()), allowed, 1000)
    expected = by_scipy(program, pool, rows, allowed)
    assert tableau.z == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert tableau.z <= before + 1e-9
    assert (tableau.d[: tableau.width] >= -1e-6).all()
    assert (tableau.b[: tableau.height] >= -1e-6).all()
    proof.allowed = allowed.copy()
    slots = tableau.slots()
    assert proof.prove(slots, tableau.multipliers(slots, np.inf)) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    twin = tableau_of(pool, allowed, slots, tableau.basis(slots), costs)
    assert twin is not None
    assert tableau.z == pytest.approx(twin.z, rel=1e-9)
    assert agree(tableau, twin)


@pytest.mark.parametrize("seed", range(15))
def test_children_have_the_values_of_programs_solved_on_their_own(monkeypatch, seed: int) -> None:
    """Boxes of every node, with more columns forbidden at random; also when the work is done a child at a time."""
    if seed % 2:
        monkeypatch.setattr(_basis, "MANY_LOSSES", 1)
    rng = np.random.default_rng(seed)
    program, proof, pool, rows, everything, costs, tableau = some_tableau(seed, rng)
    assert tableau.optimise(everything, np.inf, 10_000) == simplex.OPTIMAL
    tableau = tableau.copy_for(everything, drop_idle=True)
    slots = tableau.slots()
    workspace = Workspace()
    for node in range(program.n_nodes):
        children = proof.split(node)
        keep = rng.random(children.allowed.shape) < 0.7
        keep[:, program.offsets[node] : program.offsets[node + 1]] = True
        children = replace(children, allowed=children.allowed & keep)
        full = np.logical_or.reduceat(children.allowed, program.offsets[:-1], axis=1).all(axis=1)
        children = replace(children, columns=children.columns[full], allowed=children.allowed[full])
        count = len(children.columns)
        expected = np.array([by_scipy(program, pool, slots, box) for box in children.allowed])
        lam, values, done = np.zeros((count, len(slots))), np.zeros(count), 0
        bases = np.zeros((count, tableau.height), dtype=np.int32)
        while done < count:
            before = done
            done, _ = workspace.solve_children(
                tableau, children.allowed, 1e6, 1000, done, 1.0, slots, lam, values, bases
            )
            assert done == before + 1
        assert np.array_equal(np.isinf(values), np.isinf(expected))
        solved = np.isfinite(expected)
        assert np.allclose(values[solved], expected[solved], rtol=1e-6, atol=1e-6)
        proved = proof.evaluate(children, slots, lam)
        assert np.allclose(proved[solved], expected[solved], rtol=1e-6, atol=1e-6)
        assert (proved[~solved] >= 1e6).all()
        idle = np.setdiff1d(rows, slots)
        for box in np.flatnonzero(solved):
            rebuilt = tableau_of(pool, children.allowed[box], np.concatenate([slots, idle]), bases[box], costs)
            assert rebuilt is not None
            assert rebuilt.z == pytest.approx(values[box], rel=1e-9, abs=1e-9)
            assert (rebuilt.d > -1e-9).all()
            used = rebuilt.basic[: rebuilt.height] < rebuilt.first_slack
            assert (rebuilt.b[: rebuilt.height][used] > -1e-7).all(), "only rows that were left out can be violated"
            with_idle = by_scipy(program, pool, rows, children.allowed[box])
            ended = rebuilt.optimise(children.allowed[box], np.inf, 10_000)
            assert ended == (simplex.INFEASIBLE if np.isinf(with_idle) else simplex.OPTIMAL)
            assert np.isinf(with_idle) or rebuilt.z == pytest.approx(with_idle, rel=1e-6, abs=1e-6)
        again, other = np.zeros_like(lam), np.zeros(count)
        given = (tableau, children.allowed, 1e6)
        assert workspace.solve_children(*given, 1000, 0, 1e9, slots, again, other, bases)[0] == count
        assert np.array_equal(again, lam)
        assert np.array_equal(other, values)
        if solved.any():  # short of the optimum, what is reached is a bound still
            workspace.solve_children(*given, 2, 0, 1e9, slots, again, other, bases)
            assert (proof.evaluate(children, slots, again)[solved] <= expected[solved] + 1e-6).all()


def test_rows_are_made_again_to_the_last_digit() -> None:
    rng = np.random.default_rng(1)
    program, _, pool, rows = some_rows(1, rng)
    kept = pool.rows[rows].copy(), pool.rhs[rows].copy(), pool.group[rows].copy()
    alive = pool.n_rows
    recipe = pool.put_away(rows)
    assert 0 < (recipe.which >= 0).sum() < len(rows) == len(recipe)
    assert pool.n_rows == alive - len(rows)
    x = random_point(rng, program.offsets)
    pool.cuts_at(x, x, np.full(pool.n_groups, -np.inf), 0.0)  # others take the numbers
    made = pool.make(recipe)
    assert not np.array_equal(made, rows)
    for now, then in zip((pool.rows[made], pool.rhs[made], pool.group[made]), kept, strict=True):
        assert np.array_equal(now, then)
    alive = pool.n_rows
    sent, again = pickle.loads(pickle.dumps((recipe, recipe)))
    assert sent is again
    assert np.array_equal(pool.make(sent), made), "what is there is not made twice"
    assert pool.n_rows == alive
    pool.release(made)
    pool.release(made)
    assert pool.n_rows == alive - len(rows)
    _, _, other, _ = some_rows(1, np.random.default_rng(1))
    there = other.make(sent)
    for now, then in zip((other.rows[there], other.rhs[there], other.group[there]), kept, strict=True):
        assert np.array_equal(now, then), "another process has the same rows"


def test_whether_a_box_holds_an_earlier_choice_is_told_by_its_first_columns() -> None:
    rng = np.random.default_rng(0)
    told = []
    for _ in range(300):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 4, 4))])
        choice = offsets[:-1] + rng.integers(0, np.diff(offsets))
        allowed = rng.random(offsets[-1]) < 0.5
        allowed[offsets[:-1] + rng.integers(0, np.diff(offsets))] = True
        columns = np.flatnonzero(allowed)
        first = columns[np.searchsorted(columns, offsets[:-1])]
        differ = np.flatnonzero(first != choice)
        expected = bool(len(differ)) and bool(first[differ[0]] < choice[differ[0]])
        assert holds_before(allowed, offsets, choice) == expected
        told.append(expected)
    assert 50 < sum(told) < 250


def test_known_rows_are_found_by_what_they_are_made_from() -> None:
    _, _, pool, rows = some_rows(1, np.random.default_rng(1))
    pool.know(rows)
    assert np.array_equal(pool.make(pickle.loads(pickle.dumps(pool.recipe(rows)))), rows)


def test_recipes_share_their_points_under_other_numbers() -> None:
    _, _, pool, rows = some_rows(1, np.random.default_rng(1))
    one, two = pool.recipe(rows), pool.recipe(rows[::-1])
    for number, point in enumerate(one.points):
        point.number = 10 + number
    basis = np.arange(3)
    starts = renumbered([Start(one), None, Start(one, basis), Start(two)], lambda number: number + 5)
    assert starts[1] is None
    moved, same, back = (start for start in starts if start is not None)
    assert moved.rows is same.rows
    assert moved.basis is None
    assert same.basis is basis
    assert [point.number for point in moved.rows.points] == [15 + number for number in range(len(one.points))]
    assert {id(point) for point in moved.rows.points} == {id(point) for point in back.rows.points}
    assert [point.number for point in one.points] == [10 + number for number in range(len(one.points))]


def test_a_singular_basis_has_no_tableau() -> None:
    program, _, pool, rows = some_rows(0, np.random.default_rng(0))
    everything = np.ones(program.n_columns, dtype=bool)
    costs = Costs.perturbed(program, everything, 1e-9, 0)
    twice = np.concatenate([costs.keys[:-1], costs.keys[:1], program.n_columns + pool.n_groups + np.arange(len(rows))])
    assert tableau_of(pool, everything, rows, twice, costs) is None


def test_forbidden_columns_raise_the_value_or_end_in_a_ray() -> None:
    """A node left without columns that fit its rows: the ray's multipliers lift the proved bound over any cutoff."""
    formulation = SoftMarginStructure(small_data(3))
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.term is not None
    term = program.term.regrouped(2)
    proof = TreeProof(program, term)
    pool = RowPool(program, term, ClusterSeparator(program.offsets, program.parents, program.n_nodes - 1), proof)
    rows = pool.program_rows()
    allowed = np.ones(program.n_columns, dtype=bool)
    # The first feature must have a parent, the class must be its child: its link row cannot hold.
    allowed[program.offsets[0]] = False
    last = program.offsets[-2]
    allowed[last:] = program.parents[last:, 0]
    tableau = initial_tableau(pool, allowed, rows, Costs.perturbed(program, allowed, 1e-9, 0))
    assert tableau.optimise(allowed, 1e6, 1000) == simplex.INFEASIBLE
    proof.allowed = allowed
    assert proof.prove(rows, tableau.multipliers(rows, 1e6)) >= 1e6


@pytest.mark.parametrize("states", mostly_slow([300, 70_000, 200], 1))
@pytest.mark.parametrize("binary", [False, True])
def test_states_beyond_eight_and_sixteen_bits_are_looked_up_as_well(*, binary: bool, states: int) -> None:
    rng = np.random.default_rng(4)
    n_samples = 50
    codes = rng.integers(0, states, size=(2, n_samples)).astype(np.min_scalar_type(states - 1))
    codes[0, :2] = 0, states - 1
    lookup = EntryLookup(
        first_row=np.array([1, 0, 1 + states], dtype=np.int32),  # column 1 is the same for every class
        members=np.array([[0, 0], [0, 0], [1, 0]], dtype=np.int32),  # never less than two wide: kernels count on it
        strides=np.array([[1, 0], [0, 0], [1, 0]], dtype=np.int32),
        states=np.array([states, states], dtype=np.int32),
        codes=codes,
    )
    table = rng.normal(size=(1 + 2 * states, 3))
    table[0] = 0.0
    tables = MarginTables(binary, table, lookup, rng.integers(0, 3, n_samples).astype(np.int32), rng.random(n_samples))
    assert tables.lookup.entries(0)[:2].tolist() == [1, states]
    term = MarginTerm(tables, 1.0, 4)
    x = np.array([0.4, 0.3, 0.6])
    margins = sum(x[k] * tables.coefficients(k).reshape(n_samples, -1) for k in range(3)).min(axis=1)
    cuts = term.cuts(x)
    assert term.values(x).sum() == pytest.approx(float(tables.weight @ np.minimum(margins, 1.0)), rel=1e-12)
    assert np.allclose(cuts.values, cuts.intercepts + cuts.gradients @ x, rtol=0, atol=1e-12)
    assert not cuts.gradients[:, 1].any()


@settings(max_examples=40)
@given(tiny_problems(max_features=4, max_rows=60), st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_counting_by_cell_gives_the_sums_of_looking_up_each_sample(
    problem: tuple[list[list[int]], list[int]], max_parents: int, binary: bool, seed: int
) -> None:
    """Groups of a single sample are never counted, a single group of many samples is where its sets have few cells."""
    rows, card = problem
    rng = np.random.default_rng(seed)
    make = BinarySoftMarginStructure if binary else SoftMarginStructure
    formulation = make(dataset_of(rows, card), max_parents=max_parents)
    tables = replace(formulation.tables, weight=rng.random(formulation.merged.n_samples) + 0.5)
    together, singly = MarginTerm(tables, 2.0, 1), MarginTerm(tables, 2.0, tables.n_samples)
    x = random_point(rng, formulation.candidates.offsets)
    cuts, by_sample = together.cuts(x), singly.cuts(x)
    assert np.allclose(cuts.gradients[0], by_sample.gradients.sum(axis=0), rtol=1e-10, atol=1e-9)
    every_second = singly.cuts(x, lambda values: np.arange(0, len(values), 2))
    assert np.allclose(every_second.gradients, by_sample.gradients[::2], rtol=1e-12, atol=1e-12)
    for k in range(len(x)):
        rows_of = tables.lookup.entries(k)
        assert (rows_of == 0).all() if not tables.lookup.first_row[k] else rows_of.min() >= tables.lookup.first_row[k]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 9])
@pytest.mark.parametrize("max_parents", [2, 3])
def test_sets_that_are_counted_together_have_the_gradients_of_a_numpy_twin(
    *, n_classes: int, max_parents: int, binary: bool
) -> None:
    rng = np.random.default_rng(n_classes)
    n = 6_000
    codes = np.stack([rng.integers(0, states, size=n) for states in (2, 3, 2, 2, 4, 1)], axis=1)
    labels = (codes.sum(axis=1) + rng.integers(0, 3, n)) % n_classes
    data = DiscreteDataset.from_arrays(codes, labels, sample_weight=rng.random(n) + 0.5)
    make = BinarySoftMarginStructure if binary else SoftMarginStructure
    formulation = make(data, max_parents=max_parents)
    tables = count_margin_tables(data, formulation.candidates, formulation.prior, binary=binary)
    term = MarginTerm(tables, 2.0, 3)
    assert len(term._blocks.cells) < len(term._sets.cells)
    assert sorted(term._blocks.sets.tolist()) == list(range(len(term._sets.cells)))
    x = random_point(rng, formulation.candidates.offsets)
    cuts = term.cuts(x)
    parts = np.stack([tables.coefficients(k) for k in range(tables.n_columns)], axis=1)
    parts = parts.reshape(n, -1, tables.n_columns)
    nearest = (parts @ x).argmin(axis=1)
    chosen = parts[np.arange(n), nearest]
    below = tables.weight * (chosen @ x < 2.0)
    for group in range(3):
        twin = (below * (term.groups == group)) @ chosen
        assert np.allclose(cuts.gradients[group], twin, rtol=1e-9, atol=1e-8)


def test_threads_change_no_digit_of_a_cut() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, size=(9_000, 3))
    data = DiscreteDataset.from_arrays(codes, rng.integers(0, 3, size=9_000), sample_weight=rng.random(9_000) + 0.5)
    formulation = SoftMarginStructure(data)
    tables = count_margin_tables(data, formulation.candidates, formulation.prior, binary=False)
    alone, together = (MarginTerm(tables, 2.0, 7, threads) for threads in (1, 2))
    for _ in range(3):
        x = random_point(rng, formulation.candidates.offsets)
        for one, other in zip(alone.cuts(x), together.cuts(x), strict=True):
            assert np.array_equal(one, other)
        assert np.array_equal(alone.values(x), together.values(x))


@pytest.mark.parametrize("n_groups", [1, 3, 7, 60])
def test_pieces_of_some_groups_alone_are_those_of_all_to_the_digit(n_groups: int) -> None:
    """The others' samples are not looked at, and parts of the samples end within groups and between them."""
    rng = np.random.default_rng(n_groups)
    codes = rng.integers(0, 8, size=(9_000, 4))
    data = DiscreteDataset.from_arrays(codes, rng.integers(0, 3, size=9_000), sample_weight=rng.random(9_000) + 0.5)
    formulation = SoftMarginStructure(data)
    term = MarginTerm(formulation.tables, rng.uniform(0.5, 2.0, formulation.tables.n_samples), n_groups)
    assert term.n_parts > 3_000
    for count in {0, 1, 2, n_groups}:
        x = random_point(rng, formulation.candidates.offsets)
        groups = rng.permutation(n_groups)[:count]
        every, alone = term.cuts(x), term.cuts(x, GroupsAlone(groups))
        assert np.array_equal(alone.groups, groups)
        assert np.array_equal(alone.values[groups], every.values[groups])
        assert np.array_equal(alone.intercepts, every.intercepts[groups])
        assert np.array_equal(alone.gradients, every.gradients[groups])


@pytest.mark.parametrize("classes", [2, 3])
def test_a_term_that_was_sent_answers_alike_and_is_sent_as_its_tables_alone(classes: int) -> None:
    rng = np.random.default_rng(classes)
    rows = rng.integers(0, 6, size=(400, 6))
    data = DiscreteDataset.from_arrays(rows, (rows.sum(axis=1) + rng.integers(0, 2, 400)) % classes)
    tables = SoftMarginStructure(data).tables
    term = MarginTerm(tables, rng.uniform(0.5, 2.0, tables.n_samples), 7)
    x = random_point(rng, SoftMarginStructure(data).candidates.offsets)
    cuts = term.cuts(x)  # all that is laid out for passes is there
    packed = pickle.dumps(term, protocol=5)
    assert len(packed) < 1.1 * len(pickle.dumps(tables, protocol=5)) + 8 * tables.n_samples + 2000
    for twin in (pickle.loads(packed), copy(term)):
        again = twin.cuts(x)
        assert all((mine == its).all() for mine, its in zip(cuts, again, strict=True))
        assert (twin.groups == term.groups).all()
        assert (twin.upper == term.upper).all()
