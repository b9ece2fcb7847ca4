"""Orders of elimination, held against the rule as it is written down, on graphs of any size."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.networks._order_kernels import BY_FILL, BY_TABLE, BY_WEIGHT, eliminate
from mmbn_opt.networks.elimination import Family, make_plan
from mmbn_opt.networks.elimination_order import bits_of, min_fill_order, small_order, table_cells

Graph = dict[int, set[int]]


def random_graph(n: int, share: float, seed: int) -> Graph:
    graph = nx.gnp_random_graph(n, share, seed=seed)
    return {v: set(graph[v]) for v in graph}


def by_hand(graph: Graph, kept: set[int], cost) -> list[tuple[int, tuple[int, ...]]]:
    """The cheapest node first, the lower number on a tie; its neighbours become a clique."""
    graph, order = {v: set(around) for v, around in graph.items()}, []
    while left := [v for v in graph if v not in kept]:
        node = min(left, key=lambda v: (cost(graph, v), v))
        around = graph.pop(node)
        order.append((node, tuple(sorted(around))))
        for u in around:
            graph[u] = (graph[u] | around) - {u, node}
    return order


def fill(graph: Graph, v: int) -> int:
    return sum(1 for a, b in combinations(sorted(graph[v]), 2) if b not in graph[a])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 90), st.floats(0.0, 0.4), st.integers(0, 10_000), st.integers(0, 5))
def test_min_fill_is_the_rule_by_hand(n: int, share: float, seed: int, n_kept: int) -> None:
    graph, kept = random_graph(n, share, seed), set(range(min(n_kept, n)))
    assert min_fill_order(graph, kept) == by_hand(graph, kept, fill)


@settings(max_examples=15, deadline=None)
@given(st.integers(10, 130), st.floats(0.03, 0.25), st.integers(0, 10_000))
def test_rules_with_weights_are_the_rules_by_hand(n: int, share: float, seed: int) -> None:
    graph = random_graph(n, share, seed)
    weight = [1 + v % 3 for v in range(n)]  # whole numbers, so that no tie is decided by rounding

    def by_weight(now: Graph, v: int) -> int:
        return sum(weight[a] * weight[b] for a, b in combinations(sorted(now[v]), 2) if b not in now[a])

    def by_table(now: Graph, v: int) -> int:
        return weight[v] + sum(weight[u] for u in now[v])

    away = np.ones(n, dtype=np.bool_)
    away[:3] = False
    for rule, cost in ((BY_FILL, fill), (BY_WEIGHT, by_weight), (BY_TABLE, by_table)):
        order, ends, around = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n * n, np.int64)
        bits = bits_of(graph)
        count = eliminate(bits, away.copy(), rule, np.array(weight, dtype=np.float64), order, ends, around)
        starts = [0, *ends[:count]]
        found = [(int(order[k]), tuple(around[starts[k] : starts[k + 1]].tolist())) for k in range(count)]
        assert found == by_hand(graph, {0, 1, 2}, cost)
        assert (bits[3:] == 0).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(60, 100), st.floats(0.05, 0.25), st.integers(0, 10_000))
def test_no_rule_gives_a_smaller_order_than_the_one_that_is_taken(n: int, share: float, seed: int) -> None:
    graph = random_graph(n, share, seed)
    sizes = [2 + v % 3 for v in range(n)]
    away = np.ones(n, dtype=np.bool_)
    order, left = small_order(bits_of(graph), sizes, away)
    assert sorted(v for v, _ in order) == list(range(n))
    assert table_cells(order, sizes) <= table_cells(min_fill_order(graph), sizes)
    assert not left.any()


def test_a_clique_needs_room_for_all_its_neighbours() -> None:
    n = 200
    order = min_fill_order({v: set(range(n)) - {v} for v in range(n)})
    assert [len(around) for _, around in order] == list(range(n - 1, -1, -1))
    assert [v for v, _ in order] == list(range(n))


@pytest.mark.parametrize("observed", [(), (1,), (2, 5)])
def test_a_plan_has_the_families_of_its_nodes(observed: tuple[int, ...]) -> None:
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    plan = make_plan(Family(network.tables), [6], [0], observed)
    assert sorted([v for v, _ in plan.order] + list(observed) + [6]) == list(range(7))
    assert plan.order[plan.n_sums :][0][0] == 0
    bucket = {node: {node, *around} for node, around in plan.order}
    for node, steps in enumerate(plan.family.steps):
        scope = {v for v in steps if v not in observed}
        assert any(scope <= held for held in (*bucket.values(), {6})), node


def test_single_questions_to_a_wide_network_are_answered_by_its_relevant_part() -> None:
    """A chain of 200 nodes, of which what is asked has ten above it; the answers are those of the whole."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, size=(50, 200))
    data = mm.DiscreteDataset.from_arrays(rows[:, :-1], rows[:, -1])
    edges = [(data.feature_names[k], data.feature_names[k + 1]) for k in range(198)]
    structure = mm.Structure.from_names(data.feature_names, "class", [*edges, (data.feature_names[198], "class")])
    network = mm.BayesianNetwork.fit(structure, data)
    near = network.query("x9", {"x3": 1})
    (plan,) = network.engine._plans.values()
    assert len(plan.relevant) == 10
    assert network.query("x9", {"x3": 1}).equals(near)
    assert len(network.engine._plans) == 1
    whole = network.query("x9", [{"x3": 1}, {"x3": 0, "x150": 1}])
    assert whole.iloc[0].to_numpy() == pytest.approx(near.to_numpy(), abs=1e-15)
    assert network.query("x9", {"x3": 0, "x150": 1}).to_numpy() == pytest.approx(whole.iloc[1].to_numpy(), abs=1e-15)
    soft = network.query("x9", {"x3": [0.2, 0.8]})
    batch = network.query("x9", [{"x3": [0.2, 0.8]}, {}])
    assert soft.to_numpy() == pytest.approx(batch.iloc[0].to_numpy(), abs=1e-15)
