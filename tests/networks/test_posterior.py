"""Block-wise joint and posterior probabilities against sums over single table cells."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.networks.inference import log_joint_marginal
from mmbn_opt.networks.posterior import _BLOCK, log_joint_observed, normalize_rows


def random_data(n: int, seed: int = 0) -> mm.DiscreteDataset:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = np.column_stack([(y + rng.integers(0, 3, n)) % k for k in (2, 3, 4)])
    return mm.DiscreteDataset.from_arrays(X, y)


def cell_by_cell(network: mm.BayesianNetwork, row: np.ndarray, k: int) -> float:
    """``log P(c, x)`` from the rows of `cpt`, by labels."""
    states = [v.states[code] for v, code in zip(network.variables, (*row, k), strict=True)]
    value = dict(zip(network.structure.names, states, strict=True))
    total = 0.0
    for name in network.structure.names:
        table = network.cpt(name)
        parents = [n for n in table.index.names if n is not None]
        key = "" if not parents else value[parents[0]] if len(parents) == 1 else tuple(value[p] for p in parents)
        total += float(np.log(table.loc[key, value[name]]))
    return total


@pytest.mark.parametrize(
    "edges",
    [
        [("class", "x0"), ("class", "x1"), ("class", "x2")],
        [("class", "x0"), ("x0", "x1"), ("class", "x1"), ("x1", "x2"), ("class", "x2")],
        [("x0", "class"), ("x1", "class"), ("x0", "x2")],
        [],
    ],
)
def test_joint_probabilities_are_products_of_table_cells(edges: list[tuple[str, str]]) -> None:
    data = random_data(60)
    network = mm.BayesianNetwork.fit(mm.from_edges(data, edges), data)
    joint = log_joint_observed(network.tables, data.codes)
    for row in range(0, 60, 7):
        for k in range(3):
            assert joint[row, k] == pytest.approx(cell_by_cell(network, data.codes[row], k), abs=1e-12)


def test_blocks_do_not_show() -> None:
    data = random_data(2 * _BLOCK + 5)
    network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    whole = network.predict_proba(data)
    for rows in (slice(0, 3), slice(_BLOCK - 2, _BLOCK + 2), slice(2 * _BLOCK, None)):
        np.testing.assert_array_equal(whole[rows], network.predict_proba(data.subset(rows)))


def test_rows_with_and_without_missing_cells_keep_their_places() -> None:
    data = random_data(40)
    network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    codes = data.codes.copy()
    codes[::3, 1] = -1
    mixed = network.log_joint(codes)
    np.testing.assert_array_equal(mixed[1::3], network.log_joint(codes[1::3]))
    summed = np.logaddexp.reduce([network.log_joint(_with(codes[::3], s)) for s in range(3)], axis=0)
    np.testing.assert_allclose(mixed[::3], summed, atol=1e-12)


def test_a_missing_feature_without_children_drops_out() -> None:
    data = random_data(50)
    for structure in (mm.naive_bayes(data), mm.from_edges(data, [("class", "x0"), ("x0", "x2"), ("class", "x2")])):
        network = mm.BayesianNetwork.fit(structure, data)
        codes = data.codes.copy()
        codes[::2, 2] = -1
        np.testing.assert_allclose(network.log_joint(codes), log_joint_marginal(network.tables, codes), atol=1e-12)


def test_a_missing_parent_of_the_class_is_summed_over() -> None:
    data = random_data(50)
    network = mm.BayesianNetwork.fit(mm.from_edges(data, [("x0", "class"), ("class", "x1")]), data)
    codes = data.codes.copy()
    codes[:, 0] = -1
    both = [network.log_joint(np.column_stack([np.full(50, s, np.int32), codes[:, 1:]])) for s in (0, 1)]
    np.testing.assert_allclose(network.log_joint(codes), np.logaddexp(*both), atol=1e-12)


def _with(codes: np.ndarray, state: int) -> np.ndarray:
    filled = codes.copy()
    filled[:, 1] = state
    return filled


def test_logarithms_and_probabilities_agree_and_sum_to_one() -> None:
    joint = np.random.default_rng(0).normal(size=(500, 4)) * 300 - 2000
    prior = np.log(np.full(4, 0.25))
    logs, shares = (normalize_rows(joint.copy(), lambda: prior, log=flag) for flag in (True, False))
    np.testing.assert_allclose(np.exp(logs), shares, atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)


def test_no_rows_give_no_probabilities() -> None:
    assert normalize_rows(np.empty((0, 3)), lambda: np.zeros(3), log=False).shape == (0, 3)
