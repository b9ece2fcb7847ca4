"""Discriminative structures: equal to a plain greedy search, and the example in which only they can help."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dataset_of

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.heuristics.growing import GrowingStructure
from mmbn_opt.heuristics.orders import feature_order, order_mi
from mmbn_opt.heuristics.tan_greedy import tan_cr
from mmbn_opt.networks.smoothing import Laplace
from mmbn_opt.networks.structure import Structure, find_cycle
from mmbn_opt.scores.predictive import classification_rate, conditional_log_likelihood


@st.composite
def datasets(draw, max_features: int = 5, max_rows: int = 40):
    """Data in which features depend on each other and on the class, whole weights."""
    n = draw(st.integers(1, max_features))
    card = [draw(st.integers(1, 3)) for _ in range(n)] + [draw(st.integers(2, 3))]
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = draw(st.integers(4, max_rows))
    table = np.column_stack([rng.integers(0, r, rows) for r in card])
    for j in range(1, n):
        tied = rng.random(rows) < 0.5
        table[tied, j] = (table[tied, j - 1] * (1 + table[tied, -1])) % card[j]
    table[:2, -1] = 0, 1
    weights = [draw(st.sampled_from([1.0, 2.0]))] * rows
    return dataset_of(table.tolist(), card, weights)


def with_parents(data, parents: dict[int, tuple[int, ...]]) -> Structure:
    c = data.n_features
    return Structure(data.feature_names, "class", (*((*parents.get(j, ()), c) for j in range(c)), ()))


def rate(data, parents) -> float:
    """Classification rate; log-joints that differ in rounding alone tie."""
    return rate_of(mm.BayesianNetwork.fit(with_parents(data, parents), data), data)


def rate_of(network, data) -> float:
    joint = network.log_joint(data.codes)
    predicted = np.argmax(joint >= joint.max(axis=1, keepdims=True) - 1e-9, axis=1)
    return float(data.sample_weight @ (predicted == data.target_codes) / data.total_weight)


def plain_tan_cr(data) -> Structure:
    """The greedy search as the papers tell it: every edge is tried by fitting and classifying from scratch."""
    parents: dict[int, tuple[int, ...]] = {}
    best = rate(data, parents)
    while True:
        chosen = None
        for child, parent in itertools.product(range(data.n_features), repeat=2):
            if child == parent or child in parents:
                continue
            trial = {**parents, child: (parent,)}
            if find_cycle([trial.get(j, ()) for j in range(data.n_features)]):
                continue
            value = rate(data, trial)
            if value > best + 1e-9:
                best, chosen = value, trial
        if chosen is None:
            return with_parents(data, parents)
        parents = chosen


def plain_order_mi(data, order, k, score) -> Structure:
    parents: dict[int, tuple[int, ...]] = {}

    def value(trial) -> float:
        network = mm.BayesianNetwork.fit(with_parents(data, trial), data)
        return rate_of(network, data) if score == "cr" else conditional_log_likelihood(network, data)

    for position, child in enumerate(order):
        best, chosen = value(parents), None
        for size in range(1, k + 1):
            for option in itertools.combinations(sorted(order[:position]), size):
                trial = value({**parents, child: option})
                if trial > best + 1e-9 * data.total_weight:
                    best, chosen = trial, option
        if chosen is not None:
            parents[child] = chosen
    return with_parents(data, parents)


@settings(max_examples=60)
@given(datasets())
def test_tan_cr_equals_the_plain_greedy_search(data):
    assert tan_cr(data).parents == plain_tan_cr(data).parents


@settings(max_examples=60)
@given(datasets(), st.sampled_from(["OMI", "OMISP", "RO"]), st.sampled_from([1, 2]), st.sampled_from(["cr", "cl"]))
def test_order_based_search_equals_the_plain_one(data, order, k, score):
    sequence = feature_order(data, order, seed=3)
    found = order_mi(data, order, k, score, seed=3, folds=1)
    assert found.parents == plain_order_mi(data, sequence, k, score).parents


@given(datasets(), st.sampled_from(["cr", "cl"]))
def test_the_running_score_is_that_of_the_structure(data, score):
    growing = GrowingStructure(data, score, Laplace())
    for child in range(1, data.n_features):
        growing.add(child, (child - 1,))
    network = mm.BayesianNetwork.fit(growing.structure(), data)
    expected = rate_of(network, data) if score == "cr" else conditional_log_likelihood(network, data)
    assert growing.value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(datasets(max_rows=30), st.integers(2, 4))
def test_folds_are_scored_with_the_parameters_of_the_other_folds(data, folds):
    folds = min(folds, data.n_samples)
    growing = GrowingStructure(data, "cl", Laplace(), n_folds=folds)
    for child in range(1, data.n_features):
        growing.add(child, (child - 1,))
    structure, total = growing.structure(), 0.0
    rows = np.column_stack([growing.columns.T, growing.labels])
    for fold in range(folds):
        inside = growing.fold == fold
        if not inside.any() or inside.all():
            continue
        train = dataset_of(rows[~inside].tolist(), list(data.cardinalities), growing.weight[~inside].tolist())
        test = dataset_of(rows[inside].tolist(), list(data.cardinalities), growing.weight[inside].tolist())
        total += conditional_log_likelihood(mm.BayesianNetwork.fit(structure, train), test)
    assert growing.value == pytest.approx(total, rel=1e-9, abs=1e-9)


@settings(max_examples=25)
@given(datasets(max_features=3, max_rows=12))
def test_compiled_loops_equal_their_python_source(data):
    from mmbn_opt.heuristics import _score_kernels as kernels

    compiled = [tan_cr(data).parents, order_mi(data, k=2).parents]
    kept = {name: getattr(kernels, name) for name in ("best_parents", "delta_table", "pair_counts")}
    try:
        for name, kernel in kept.items():
            setattr(kernels, name, kernel.py_func)
        with np.errstate(over="ignore"):
            plain = [tan_cr(data).parents, order_mi(data, k=2).parents]
    finally:
        for name, kernel in kept.items():
            setattr(kernels, name, kernel)
    assert plain == compiled


# -- orders ------------------------------------------------------------------------------------------------------------


def information(data, nodes, given) -> float:
    """I(C; X | Y) in nats by plain sums over dictionaries."""
    table: dict[tuple, float] = {}
    for row, label, weight in zip(data.codes, data.target_codes, data.sample_weight, strict=True):
        key = (tuple(row[nodes]), tuple(row[given]), int(label))
        table[key] = table.get(key, 0.0) + weight / data.total_weight

    def share(pick) -> dict:
        out: dict = {}
        for key, p in table.items():
            out[pick(key)] = out.get(pick(key), 0.0) + p
        return out

    y, xy, cy = share(lambda t: t[1]), share(lambda t: t[:2]), share(lambda t: t[1:])
    return sum(p * math.log(p * y[t[1]] / (xy[t[:2]] * cy[t[1:]])) for t, p in table.items())


@settings(max_examples=50)
@given(datasets(max_rows=25))
def test_orders_follow_equations_five_and_six(data):
    for name in ("OMI", "OMISP"):
        sequence = feature_order(data, name)
        assert sorted(sequence) == list(range(data.n_features))
        for position, node in enumerate(sequence):
            earlier = sequence[:position]

            def gain(j, earlier=earlier, name=name) -> float:
                if name == "OMI" or not earlier:
                    return information(data, [j], earlier)
                return max(information(data, [j], [i]) for i in earlier)

            assert gain(node) >= max(gain(j) for j in sequence[position:]) - 1e-9


def test_random_orders_depend_on_the_seed_alone():
    data = dataset_of(np.random.default_rng(0).integers(0, 2, (30, 9)).tolist(), [2] * 9)
    assert feature_order(data, "RO", seed=1) == feature_order(data, "RO", seed=1)
    assert feature_order(data, "RO", seed=1) != feature_order(data, "RO", seed=2)


# -- invariances and limits --------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(datasets(), st.integers(0, 1000))
def test_structures_do_not_depend_on_the_order_of_the_rows(data, seed):
    shuffled = data.subset(np.random.default_rng(seed).permutation(data.n_samples))
    assert tan_cr(shuffled) == tan_cr(data)
    assert order_mi(shuffled, "OMISP", k=2) == order_mi(data, "OMISP", k=2)


@given(datasets())
def test_structures_are_forests_over_naive_bayes(data):
    c = data.n_features
    for structure, k in ((tan_cr(data), 1), (order_mi(data), 1), (order_mi(data, k=2), 2)):
        assert structure.parents[c] == ()
        assert all(ps[-1] == c and len(ps) <= k + 1 for ps in structure.parents[:-1])
        assert rate(data, {}) <= 1.0
    assert rate_of(mm.BayesianNetwork.fit(tan_cr(data), data), data) >= rate(data, {}) - 1e-12


def test_features_that_cannot_help_stay_without_parents():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 50)
    table = np.column_stack([label, rng.integers(0, 3, 100), label])  # the first feature tells the class alone
    data = dataset_of(table.tolist(), [2, 3, 2])
    assert tan_cr(data) == mm.naive_bayes(data)
    assert order_mi(data) == mm.naive_bayes(data)


def test_zero_and_one_feature_and_constant_columns_have_answers():
    bare = mm.DiscreteDataset.from_arrays(np.empty((4, 0), dtype=int), [0, 0, 1, 1])
    one = dataset_of([[0, 0], [1, 1], [0, 0]], [2, 2])
    constant = dataset_of([[0, 0, 0], [0, 1, 1], [0, 1, 0]], [1, 2, 2])
    for data in (bare, one, constant):
        assert tan_cr(data) == mm.naive_bayes(data)
        assert order_mi(data) == mm.naive_bayes(data)
        assert order_mi(data, k=2) == mm.naive_bayes(data)


def test_zero_probabilities_are_floored_not_minus_infinity():
    data = dataset_of([[0, 0, 0], [1, 1, 1], [0, 1, 2], [1, 0, 0]] * 3, [2, 2, 3])
    assert tan_cr(data, smoothing=0.0).class_index == 2
    assert order_mi(data, k=2, score="cl", smoothing=0.0).class_index == 2


def test_wrong_settings_are_refused():
    data = dataset_of([[0, 0], [1, 1]], [2, 2])
    with pytest.raises(InputError, match='order must be "OMI", "OMISP" or "RO", got \'MI\''):
        order_mi(data, "MI")
    with pytest.raises(InputError, match="k must be 1 or 2"):
        order_mi(data, k=3)
    with pytest.raises(InputError, match='score must be "cr" or "cl"'):
        order_mi(data, score="auc")
    with pytest.raises(InputError, match="folds must be a whole number from 1 to the number of rows"):
        order_mi(data, folds=3)
    with pytest.raises(InputError, match="holds only 0"):
        tan_cr(dataset_of([[0, 0], [1, 0]], [2, 2]))


# -- the example of Pernkopf & Bilmes 2008, section 3 ------------------------------------------------------------------


def synthetic_table(scale: float = 1e6):
    """The exact distribution of the three features and the class, as weighted rows."""
    rows, weights = [], []
    for x1, x2, x3, c in itertools.product((0, 1), repeat=4):
        p = 0.5 * 0.5 * (0.5 * (x2 == x1) + 0.25)
        copied = x1 if c == 0 else 1 - x1
        p *= 0.3 * (x3 == copied) + 0.5 * (x3 == x2) + 0.1
        rows.append([x1, x2, x3, c])
        weights.append(scale * p)
    return dataset_of(rows, [2, 2, 2, 2], weights)


def features_joined(structure: Structure) -> set[frozenset[int]]:
    return {frozenset((j, p)) for j, ps in enumerate(structure.parents[:-1]) for p in ps[:-1]}


def test_only_the_discriminative_edge_reaches_the_bayes_rate():
    population = synthetic_table()
    joint = population.sample_weight.reshape(8, 2)
    bayes = joint.max(axis=1).sum() / joint.sum()
    assert bayes == pytest.approx(0.65)

    def accuracy(structure) -> float:
        return classification_rate(mm.BayesianNetwork.fit(structure, population), population)

    generative, discriminative = mm.tan_cmi(population), order_mi(population)
    assert features_joined(generative) == {frozenset((0, 1)), frozenset((1, 2))}
    assert frozenset((0, 2)) in features_joined(discriminative)
    assert accuracy(mm.naive_bayes(population)) == pytest.approx(0.5, abs=1e-6)
    assert accuracy(generative) == pytest.approx(0.575)  # what X2 - X3 alone can tell
    assert accuracy(discriminative) == pytest.approx(bayes)
    assert accuracy(tan_cr(population)) == pytest.approx(bayes)


def test_discriminative_parameters_do_not_help_the_generative_structure():
    """Figure 1: only the structure makes the difference, conditional likelihood does not."""
    from mmbn_opt.formulations.parameters.conditional_likelihood import ConditionalLikelihood
    from mmbn_opt.programs.base import ProgramKind
    from mmbn_opt.solvers.nonlinear.conjugate_gradient import ConjugateGradientSolver

    population = synthetic_table()
    for structure, expected in ((mm.naive_bayes(population), 0.5), (order_mi(population), 0.65)):
        formulation = ConditionalLikelihood(population, structure)
        result = ConjugateGradientSolver(max_iterations=100).solve(formulation.build(ProgramKind.NONLINEAR))
        reached = classification_rate(formulation.recover(result.solution), population)
        assert reached == pytest.approx(expected, abs=0.01)


def test_samples_of_the_example_show_the_same():
    population = synthetic_table()
    rng = np.random.default_rng(0)
    share = population.sample_weight / population.sample_weight.sum()
    train = population.subset(rng.choice(len(share), 1000, p=share))
    train = dataset_of(np.column_stack([train.codes, train.target_codes]).tolist(), [2, 2, 2, 2])
    rates = {}
    for name, structure in {"generative": mm.tan_cmi(train), "discriminative": order_mi(train)}.items():
        rates[name] = classification_rate(mm.BayesianNetwork.fit(structure, train), population)
    assert rates["generative"] <= 0.6
    assert rates["discriminative"] >= 0.64
