"""Summing out missing cells: equal to enumeration on any network, and fast where it can be."""

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.networks import inference
from mmbn_opt.networks.elimination_order import min_fill_order
from mmbn_opt.networks.inference import log_joint_marginal
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure


def random_network(parents, card, seed: int, zeros: float = 0.0) -> BayesianNetwork:
    """Network with random CPTs; a share `zeros` of the entries is 0."""
    n = len(card) - 1
    structure = Structure(tuple(f"x{j}" for j in range(n)), "class", parents)
    tables = reference.random_log_tables(structure.parents, card, seed, zeros)
    variables = [DiscreteVariable(name, tuple(range(r))) for name, r in zip(structure.names, card, strict=True)]
    return BayesianNetwork(structure, tuple(variables[:-1]), variables[-1], tables)


def by_enumeration(network: BayesianNetwork, codes: np.ndarray) -> np.ndarray:
    """P(c, observed x) by adding up the completed rows."""
    card = network.cardinalities
    out = []
    for row in codes:
        options = [range(card[j]) if v < 0 else (v,) for j, v in enumerate(row)]
        completed = np.array(list(itertools.product(*options)), dtype=np.int32).reshape(-1, len(row))
        out.append(np.exp(network.log_joint(completed)).sum(axis=0))
    return np.array(out)


@st.composite
def networks_with_gaps(draw, max_features: int = 6):
    """(network, codes): any DAG, the class with feature parents too, cells missing at random."""
    n = draw(st.integers(1, max_features))
    card = [draw(st.integers(1, 3)) for _ in range(n)] + [draw(st.integers(2, 3))]
    order = draw(st.permutations(range(n + 1)))
    parents: list[tuple[int, ...]] = [()] * (n + 1)
    for k, node in enumerate(order):
        parents[node] = tuple(draw(st.sets(st.sampled_from(order[:k]), max_size=3))) if k else ()
    zeros = draw(st.sampled_from([0.0, 0.4]))
    network = random_network(tuple(parents), card, draw(st.integers(0, 10**6)), zeros)
    cell = [st.integers(-1, r - 1) for r in card[:-1]]
    rows = draw(st.lists(st.tuples(*cell), min_size=1, max_size=6))
    return network, np.array(rows, dtype=np.int32).reshape(len(rows), n)


@given(networks_with_gaps())
def test_marginals_equal_enumeration(problem):
    network, codes = problem
    np.testing.assert_allclose(
        np.exp(log_joint_marginal(network.tables, codes)), by_enumeration(network, codes), rtol=1e-12, atol=1e-15
    )


@given(networks_with_gaps())
def test_orders_of_each_pattern_give_the_same(problem):
    network, codes = problem
    shared = log_joint_marginal(network.tables, codes)
    limit = inference._SHARED_CELLS
    inference._SHARED_CELLS = 0
    try:
        np.testing.assert_allclose(log_joint_marginal(network.tables, codes), shared, rtol=1e-12)
    finally:
        inference._SHARED_CELLS = limit


@settings(max_examples=15)
@given(networks_with_gaps(max_features=3))
def test_the_compiled_kernel_equals_its_python_source(problem):
    from mmbn_opt.networks import _inference_kernels

    network, codes = problem
    compiled = log_joint_marginal(network.tables, codes)
    kernel = _inference_kernels.sum_out
    _inference_kernels.sum_out = kernel.py_func
    try:
        np.testing.assert_allclose(log_joint_marginal(network.tables, codes), compiled, rtol=1e-13)
    finally:
        _inference_kernels.sum_out = kernel


@given(networks_with_gaps(), st.data())
def test_probabilities_over_a_missing_cell_sum_to_that_of_the_row_without_it(problem, data):
    network, codes = problem
    j = data.draw(st.integers(0, codes.shape[1] - 1))
    total = 0.0
    for state in range(network.cardinalities[j]):
        filled = codes.copy()
        filled[:, j] = state
        total += np.exp(log_joint_marginal(network.tables, filled))
    gone = codes.copy()
    gone[:, j] = -1
    np.testing.assert_allclose(total, np.exp(log_joint_marginal(network.tables, gone)), rtol=1e-12, atol=1e-15)


def test_a_row_without_any_cell_has_the_class_prior():
    network = random_network(((2,), (0, 2), ()), (2, 3, 4), seed=0)
    np.testing.assert_allclose(
        log_joint_marginal(network.tables, np.full((1, 2), -1))[0], network.log_cpts[-1][0], atol=1e-14
    )


def test_predictions_with_missing_cells_come_from_the_network():
    network = random_network(((2,), (0, 2), ()), (2, 3, 2), seed=1)
    probabilities = network.predict_proba([[0, None], [None, None]])
    expected = by_enumeration(network, np.array([[0, -1], [-1, -1]]))
    np.testing.assert_allclose(probabilities, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_label_never_seen_can_be_summed_out():
    network = random_network(((2,), (2,), ()), (2, 3, 2), seed=1)
    np.testing.assert_allclose(
        network.predict_proba([[0, 7]], unseen="missing"), network.predict_proba([[0, None]]), rtol=1e-13
    )


def test_evidence_far_below_the_smallest_double_is_no_trouble():
    n = 400
    parents = (*((n,) if j == 0 else (j - 1, n) for j in range(n)), ())
    network = random_network(parents, [3] * n + [2], seed=2)
    codes = np.full((1, n), 2, dtype=np.int32)
    codes[0, ::2] = -1
    joint = log_joint_marginal(network.tables, codes)
    assert np.isfinite(joint).all()
    assert joint.max() < -150
    # A second way: the chain as a product of matrices, the observed states picked out.
    for c in range(2):
        log_row = network.log_cpts[-1][0, c] + network.log_cpts[0].reshape(2, 3)[c]
        for j in range(1, n):
            if codes[0, j - 1] >= 0:
                log_row = np.where(np.arange(3) == codes[0, j - 1], log_row, -np.inf)
            step = network.log_cpts[j].reshape(3, 2, 3)[:, c]
            log_row = np.logaddexp.reduce(log_row[:, None] + step, axis=0)
        log_row = np.where(np.arange(3) == codes[0, -1], log_row, -np.inf) if codes[0, -1] >= 0 else log_row
        assert joint[0, c] == pytest.approx(np.logaddexp.reduce(log_row), rel=1e-12)


def test_a_pattern_whose_tables_are_too_large_is_refused_with_numbers():
    # 13 missing causes of one observed effect: no order avoids the table over all of them.
    parents = (*[()] * 12, tuple(range(12)), (12,))
    network = random_network(parents, [2] * 13 + [2], seed=3)
    codes = np.full((1, 13), -1, dtype=np.int32)
    codes[0, 12] = 1
    inference._SHARED_CELLS, limit = 0, inference._SHARED_CELLS
    try:
        with pytest.raises(
            SizeLimitError, match=r"row 0 needs tables of 16,380 cells.*x0.*max_cells=10,000.*Fill some"
        ):
            log_joint_marginal(network.tables, codes, max_cells=10_000)
    finally:
        inference._SHARED_CELLS = limit
    np.testing.assert_allclose(
        np.exp(log_joint_marginal(network.tables, codes)), by_enumeration(network, codes), rtol=1e-12
    )


def test_wide_networks_are_served_pattern_by_pattern(monkeypatch):
    roots = 12
    pairs = [(j, (j + step) % roots) for step in (1, 3, 4, 5) for j in range(roots)]
    n = roots + len(pairs)
    parents = (*[()] * roots, *((*pair, n) for pair in pairs), ())
    network = random_network(parents, [3] * n + [2], seed=4)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (30, n)).astype(np.int32)
    codes[rng.random(codes.shape) < 0.06] = -1
    orders = []
    build = inference._Schedule.build
    monkeypatch.setattr(inference._Schedule, "build", lambda *args: orders.append(1) or build(*args))
    np.testing.assert_allclose(
        np.exp(log_joint_marginal(network.tables, codes)), by_enumeration(network, codes), rtol=1e-12
    )
    assert len(orders) == 31  # one for all rows, found too large, and one a pattern


def test_rows_in_any_order_give_the_same_numbers():
    network = random_network(((3,), (0, 3), (1, 3), ()), (3, 2, 3, 3), seed=5)
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 2, (50, 3)).astype(np.int32)
    order = rng.permutation(50)
    assert (log_joint_marginal(network.tables, codes[order]) == log_joint_marginal(network.tables, codes)[order]).all()


def test_read_only_and_fortran_codes_work():
    network = random_network(((2,), (0, 2), ()), (2, 3, 2), seed=6)
    codes = np.asfortranarray([[0, -1], [1, 2]])
    codes.setflags(write=False)
    np.testing.assert_allclose(
        np.exp(log_joint_marginal(network.tables, codes)), by_enumeration(network, codes), rtol=1e-12
    )
    assert log_joint_marginal(network.tables, codes[:0]).shape == (0, 2)


def test_min_fill_needs_no_extra_edges_on_a_two_tree():
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (0, 5), (2, 5)]
    graph = {v: {a + b - v for a, b in edges if v in (a, b)} for v in range(6)}
    assert max(len(around) for _, around in min_fill_order(graph)) == 2
    assert sorted(v for v, _ in min_fill_order(graph)) == list(range(6))


def test_imputed_rows_are_not_marginalized_rows():
    """Filling a cell by its most frequent state is another answer: why the exact one is worth its code."""
    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "u"], ["a", "v"], ["b", "v"], ["b", "v"]], [0, 0, 0, 1, 1])
    network = BayesianNetwork.fit(mm.tan_cmi(data), data)
    exact = network.predict_proba([[None, "v"]])
    imputed = network.predict_proba([["a", "v"]])
    assert abs(exact - imputed).max() > 0.1
