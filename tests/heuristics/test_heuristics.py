"""TAN is the best tree by enumeration; local search never gets worse and keeps the compiled and plain sums equal."""

import itertools
import math
from copy import copy

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dataset_of, tiny_problems

import mmbn_opt as mm
from mmbn_opt.heuristics._local_search_kernels import (
    acyclic_columns,
    best_replacement,
    sample_losses,
    score_choice,
)
from mmbn_opt.heuristics.local_search import LocalSearch
from mmbn_opt.heuristics.objectives import MarginLoss, costly_first
from mmbn_opt.heuristics.rounding import RoundAndDescend
from mmbn_opt.heuristics.trees import conditional_mutual_information
from mmbn_opt.programs.base import ProgramKind


def test_conditional_mutual_information_by_the_definition():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (40, 3)).tolist()
    data = dataset_of(rows, [2, 2, 2])
    counts = reference.counts(rows, [1.0] * 40, [0, 1, 2])
    expected = 0.0
    for (a, b, c), n in counts.items():
        n_c = sum(v for k, v in counts.items() if k[2] == c)
        n_ac = sum(v for k, v in counts.items() if (k[0], k[2]) == (a, c))
        n_bc = sum(v for k, v in counts.items() if (k[1], k[2]) == (b, c))
        expected += n / 40 * math.log(n * n_c / (n_ac * n_bc))
    assert conditional_mutual_information(data)[0, 1] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30)
@given(tiny_problems(max_features=3, max_rows=12))
def test_tan_has_the_largest_likelihood_of_all_trees(problem):
    """Friedman et al. 1997: the tree of largest conditional mutual information maximises the likelihood."""
    rows, card = problem
    data = dataset_of(rows, card)
    n = data.n_features
    value = mm.BayesianNetwork.fit(mm.tan_cmi(data), data, 0.0)
    from mmbn_opt.scores.predictive import structure_score

    best = -math.inf
    for choice in itertools.product(range(n), repeat=n):  # choice[i] is the feature parent of i, itself for a root
        if sum(choice[i] == i for i in range(n)) != 1:
            continue
        parents = (*((n,) if choice[i] == i else (choice[i], n) for i in range(n)), ())
        if reference.is_acyclic(parents):
            best = max(best, structure_score(mm.Structure(data.feature_names, "class", parents), data, "loglik"))
    assert structure_score(value.structure, data, "loglik") == pytest.approx(best, abs=1e-9)


def test_tan_is_deterministic_under_row_order_and_ties():
    rows = [[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 1, 0]] * 3
    data = dataset_of(rows, [2, 2, 2, 2])
    assert mm.tan_cmi(data) == mm.tan_cmi(dataset_of(rows[::-1], [2, 2, 2, 2]))
    assert mm.tan_cmi(data).parent_names["x1"] == ["x0", "class"]
    assert mm.tan_cmi(data).parent_names["x2"] == ["x0", "class"]


def plain_best_replacement(tables, gamma, scores, old, columns, cutoff):
    best, best_loss = -1, cutoff
    for column in columns:
        trial = scores + tables.table[tables.lookup.entries(column)] - tables.table[tables.lookup.entries(old)]
        own = trial[np.arange(len(trial)), tables.labels]
        if tables.binary:
            margins = own
        else:
            rivals = trial.copy()
            rivals[np.arange(len(trial)), tables.labels] = -np.inf
            margins = own - rivals.max(axis=1)
        loss = float(tables.weight @ (gamma - np.minimum(gamma, margins)))
        if loss < best_loss:
            best, best_loss = int(column), loss
    return best, best_loss


@given(tiny_problems(), st.booleans(), st.sampled_from([0.3, 2.0]), st.data())
def test_compiled_replacement_equals_its_plain_twin(problem, binary, gamma, draw):
    rows, card = problem
    make = mm.BinarySoftMarginStructure if binary else mm.SoftMarginStructure
    form = make(dataset_of(rows, card), gamma=gamma)
    tables, offsets = form.tables, form.candidates.offsets
    choice = np.array([draw.draw(st.integers(int(a), int(b) - 1)) for a, b in itertools.pairwise(offsets)])
    node = draw.draw(st.integers(0, len(choice) - 1))
    scores = sum(tables.table[tables.lookup.entries(k)] for k in choice)
    columns = np.arange(offsets[node], offsets[node + 1])
    compiled = best_replacement(
        tables.table,
        *tables.lookup,
        tables.labels,
        tables.weight,
        np.full(tables.n_samples, gamma),
        binary,
        scores,
        choice[node],
        columns,
        np.zeros(len(columns)),
        np.inf,
        np.empty_like(scores),
    )
    plain = plain_best_replacement(tables, gamma, scores, choice[node], columns, np.inf)
    assert compiled[1] == pytest.approx(plain[1], abs=1e-9)
    losses = sample_losses(tables.labels, tables.weight, np.full(tables.n_samples, gamma), binary, scores)
    assert losses.sum() == pytest.approx(gamma * tables.weight.sum() - tables.soft_margin(choice, gamma), abs=1e-9)


@settings(max_examples=30)
@given(tiny_problems(), st.integers(1, 3), st.booleans())
def test_local_search_improves_and_stays_acyclic(problem, max_parents, binary):
    rows, card = problem
    make = mm.BinarySoftMarginStructure if binary else mm.SoftMarginStructure
    form = make(dataset_of(rows, card), max_parents=max_parents)
    start = form.choice_of(form.trivial_start().model.structure)
    total = form.gamma * form.merged.total_weight
    last = math.inf
    for choice, loss in LocalSearch(form.candidates, MarginLoss(form.tables, form.gamma), max_kicks=10).run(start):
        assert reference.is_acyclic(form.candidates.parents_of_choice(choice))
        assert total - loss == pytest.approx(form.evaluate(form.model_of(form.structure_of(choice))), abs=1e-8)
        assert loss < last
        last = loss


def exchanges(form, choice):
    """Choices in which one node has a parent less and another node any of its columns, by plain loops."""
    columns = form.candidates.columns
    for giver, taken in enumerate(choice):
        less = [k for k, (node, s) in enumerate(columns) if node == giver and set(s) < set(columns[taken][1])]
        for fewer in (k for k in less if len(columns[k][1]) == len(columns[taken][1]) - 1):
            for column, (node, _) in enumerate(columns):
                if node != giver:
                    trial = choice.copy()
                    trial[giver], trial[node] = fewer, column
                    yield trial


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("limit", [mm.MaxEdges(2), mm.MaxEdges(4), mm.MaxFeatures(2), mm.MaxParameters(9)], ids=str)
def test_under_a_limit_no_node_can_give_way_to_another_where_a_local_search_ends(seed, limit):
    rng = np.random.default_rng(seed)
    card = [2, 2, 3, 2, 2]
    data = dataset_of([[int(rng.integers(r)) for r in card] for _ in range(40)], card)
    form = mm.SoftMarginStructure(data, max_parents=2).with_constraints(limit)
    start = form.choice_of(form.trivial_start().model.structure)
    search = LocalSearch(form.candidates, MarginLoss(form.tables, form.gamma), max_kicks=0, side=form.side)
    choice = list(search.run(start))[-1][0]
    best = form.evaluate(form.model_of(form.structure_of(choice)))
    for trial in exchanges(form, choice):
        parents = form.candidates.parents_of_choice(trial)
        if reference.is_acyclic(parents) and form.broken(form.structure_of(trial)) is None:
            assert form.evaluate(form.model_of(form.structure_of(trial))) <= best + 1e-7


def test_local_search_repeats_itself_with_the_same_seed():
    rng = np.random.default_rng(4)
    form = mm.SoftMarginStructure(dataset_of(rng.integers(0, 2, (60, 6)).tolist(), [2] * 6))
    runs = [[(s.source, s.model.structure) for s in form.starts(seed=7)] for _ in range(2)]
    assert runs[0] == runs[1]


def test_rounding_finds_acyclic_choices_and_does_less_on_large_data():
    rng = np.random.default_rng(5)
    data = dataset_of(rng.integers(0, 2, (60, 5)).tolist(), [2] * 5)
    form = mm.SoftMarginStructure(data)
    program = form.build(ProgramKind.IMPLICIT_CONCAVE)
    small, large = MarginLoss(form.tables, form.gamma), MarginLoss(form.tables, form.gamma)
    large.work = 2e8
    cheap, dear = RoundAndDescend(form.candidates, small), RoundAndDescend(form.candidates, large)
    assert (cheap.early_calls, dear.early_calls) == (40, 8)
    points = [np.concatenate([rng.dirichlet(np.full(len(g), 0.3)) for g in program.choice_groups]) for _ in range(45)]
    again = copy(cheap)  # remembers no calls
    best = -np.inf
    for x in points:  # past the early calls
        found = cheap(x)
        assert np.array_equal(found, again(x))
        choice = np.flatnonzero(found)
        assert program.is_acyclic(choice)
        best = max(best, form.tables.soft_margin(choice, form.gamma))
    proved = mm.solve(form, solver="highs")
    assert best == pytest.approx(proved.bounds.primal_bound, abs=1e-9)


def test_a_tree_hangs_from_any_of_its_nodes():
    rng = np.random.default_rng(6)
    data = dataset_of(rng.integers(0, 2, (60, 5)).tolist(), [2] * 5)
    form = mm.SoftMarginStructure(data)
    c, column_of = form.candidates.class_index, form.candidates.column_of
    chain = np.array(
        [column_of[0, (c,)], column_of[1, (0, c)], column_of[2, (1, c)], column_of[3, ()], column_of[c, (3,)]]
    )
    search = LocalSearch(form.candidates, MarginLoss(form.tables, form.gamma))
    turned = search.hang(chain, 2)
    expected = [column_of[0, (1, c)], column_of[1, (2, c)], column_of[2, (c,)], column_of[3, ()], column_of[c, (3,)]]
    assert turned.tolist() == expected
    assert search.hang(turned, 0).tolist() == chain.tolist()
    middle = search.hang(chain, 1)
    assert middle[:3].tolist() == [column_of[0, (1, c)], column_of[1, (c,)], column_of[2, (1, c)]]
    for same in (0, 3, c):  # a root, a node on its own, the class
        assert search.hang(chain, same).tolist() == chain.tolist()


def test_a_scattered_choice_is_acyclic_and_elsewhere():
    rng = np.random.default_rng(7)
    data = dataset_of(rng.integers(0, 2, (60, 8)).tolist(), [2] * 8)
    form = mm.SoftMarginStructure(data)
    program = form.build(ProgramKind.IMPLICIT_CONCAVE)
    c, column_of = form.candidates.class_index, form.candidates.column_of
    naive = np.array([column_of[i, (c,)] for i in range(c)] + [column_of[c, ()]])
    before = naive.copy()
    found = []
    for seed in (0, 0, 1):
        search = LocalSearch(form.candidates, MarginLoss(form.tables, form.gamma), seed=seed)
        found.append(search.scatter(naive, 40))
    assert np.array_equal(naive, before)
    assert np.array_equal(found[0], found[1])
    for choice in (found[0], found[2]):
        assert program.is_acyclic(choice)
        assert (choice != naive).sum() >= 4
    assert not np.array_equal(found[0], found[2])


@settings(max_examples=30)
@given(tiny_problems(max_features=4, max_rows=40), st.integers(0, 99))
def test_scores_of_a_choice_are_the_sums_of_its_entries_to_the_last_digit(problem, seed):
    rows, card = problem
    rng = np.random.default_rng(seed)
    tables = mm.SoftMarginStructure(dataset_of(rows, card)).tables
    choice = rng.integers(0, tables.n_columns, 5).astype(np.intp)
    scores = np.full((tables.n_samples, tables.n_classes), np.nan)
    score_choice(tables.table, *tables.lookup, choice, scores)
    expected = np.zeros_like(scores)
    for column in choice:
        expected += tables.table[tables.lookup.entries(int(column))]
    assert (scores == expected).all()


@given(st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.5, 3.0, 1e-30, 1e9]) | st.floats(0.0, 1e6), min_size=1, max_size=30))
def test_costly_samples_come_first_and_nearly_equal_ones_as_they_were(losses):
    order = costly_first(np.array(losses)).tolist()
    assert sorted(order) == list(range(len(losses)))
    for before, after in itertools.pairwise(order):
        assert losses[before] >= losses[after] / 1.01 - 1e-37
        assert losses[before] != losses[after] or before < after


@pytest.mark.parametrize("seed", range(20))
def test_columns_that_close_no_cycle_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    sets = [[(), *(p for p in _some_sets(rng, n, v))] for v in range(n)]
    offsets = np.concatenate([[0], np.cumsum([len(of) for of in sets])])
    has_parent = np.zeros((offsets[-1], n), dtype=bool)
    for k, parents in enumerate(parents for of in sets for parents in of):
        has_parent[k, list(parents)] = True
    choice = np.array([rng.integers(a, b) for a, b in itertools.pairwise(offsets)], dtype=np.intp)
    for node in range(n):
        first, last = int(offsets[node]), int(offsets[node + 1])
        edges = has_parent[choice].astype(int)  # edges[child, parent]
        walks = sum(np.linalg.matrix_power(edges, length) for length in range(1, n + 1))
        below = walks[:, node] > 0
        expected = [k for k in range(first, last) if not (has_parent[k] & below).any()]
        assert acyclic_columns(has_parent, choice, node, first, last).tolist() == expected


def _some_sets(rng: np.random.Generator, n: int, node: int) -> list[tuple[int, ...]]:
    others = [v for v in range(n) if v != node]
    every = [p for size in (1, 2) for p in itertools.combinations(others, size)]
    return [p for p in every if rng.random() < 0.6]
