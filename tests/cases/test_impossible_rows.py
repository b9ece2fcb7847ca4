"""A9: a row that is impossible under every class gets the class prior, a marginal where the class has parents."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data import DiscreteVariable
from mmbn_opt.networks.posterior import _BLOCK


def chain() -> mm.BayesianNetwork:
    """a -> c -> b, where b = 1 has probability 0 under both classes."""
    structure = mm.Structure.from_names(("a", "b"), "c", [("a", "c"), ("c", "b")])
    variables = [DiscreteVariable(name, ("0", "1")) for name in ("a", "b", "c")]
    tables = ([[0.99, 0.01]], [[1.0, 0.0], [1.0, 0.0]], [[0.9, 0.1], [0.2, 0.8]])
    with np.errstate(divide="ignore"):
        logs = tuple(np.log(np.array(table)) for table in tables)
    return mm.BayesianNetwork(structure, tuple(variables[:2]), variables[2], logs)


MARGINAL = [0.99 * 0.9 + 0.01 * 0.2, 0.99 * 0.1 + 0.01 * 0.8]


@pytest.mark.parametrize("a", ["0", "1", None], ids=["A9 likely a", "A9 unlikely a", "A9 a missing"])
def test_the_class_prior_is_the_marginal_and_no_mean_of_rows_of_its_table(travel: Any, a: str | None) -> None:
    network = travel(chain())
    assert pytest.approx([0.893, 0.107]) == MARGINAL
    rows = pd.DataFrame({"a": [a], "b": ["1"]})
    np.testing.assert_allclose(network.predict_proba(rows), [MARGINAL], rtol=1e-12)
    np.testing.assert_allclose(np.exp(network.predict_log_proba(rows)), [MARGINAL], rtol=1e-12)


def test_many_rows_in_blocks_get_what_each_gets_alone_a9() -> None:
    network = chain()
    kinds = [[0, 0], [1, 1], [-1, 1], [1, 0], [-1, -1]]
    alone = {tuple(k): network.predict_proba(np.array([k]), unseen="missing")[0] for k in kinds}
    rows = np.array(kinds * (_BLOCK // 2), dtype=np.int32)
    expected = np.array([alone[tuple(row)] for row in rows.tolist()])
    np.testing.assert_array_equal(network.predict_proba(rows, unseen="missing"), expected)
    np.testing.assert_allclose(np.exp(network.predict_log_proba(rows, unseen="missing")), expected, rtol=1e-12)
    np.testing.assert_allclose(alone[1, 1], MARGINAL, rtol=1e-12)
    np.testing.assert_allclose(alone[-1, -1], MARGINAL, rtol=1e-12)


def test_the_command_line_says_the_same_a9(command: Callable[..., Any], tmp_path: Path) -> None:
    chain().save(tmp_path / "model.json")
    (tmp_path / "rows.csv").write_text("a,b\n0,1\n1,0\n,1\n")
    done = command(
        "predict", "--model", tmp_path / "model.json", "--data", tmp_path / "rows.csv", "--out", tmp_path / "out.csv"
    )
    assert done.status == 0
    table = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(table[["P(c=0)", "P(c=1)"]], [MARGINAL, [0.2, 0.8], MARGINAL], rtol=1e-9)


@st.composite
def networks(draw: st.DrawFn) -> mm.BayesianNetwork:
    """Small networks of any structure, many of their table cells 0."""
    card = draw(st.lists(st.integers(1, 3), min_size=2, max_size=5))
    order = draw(st.permutations(range(len(card))))
    parents: list[tuple[int, ...]] = [()] * len(card)
    for place, node in enumerate(order):
        parents[node] = tuple(sorted(p for p in order[:place] if draw(st.booleans())))
    names = tuple(f"v{k}" for k in range(len(card)))
    variables = tuple(DiscreteVariable(name, tuple(map(str, range(r)))) for name, r in zip(names, card, strict=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tables = []
    for node, of in enumerate(parents):
        weights = rng.random((int(np.prod([card[p] for p in of])), card[node]))
        weights[rng.random(weights.shape) < 0.4] = 0.0
        weights[weights.sum(axis=1) == 0.0, 0] = 1.0
        with np.errstate(divide="ignore"):
            tables.append(np.log(weights / weights.sum(axis=1, keepdims=True)))
    return mm.BayesianNetwork(
        mm.Structure(names[:-1], names[-1], tuple(parents)), variables[:-1], variables[-1], tuple(tables)
    )


def enumerated(network: mm.BayesianNetwork, row: np.ndarray) -> np.ndarray:
    """P(c, row) by the sum over all cells, written without anything of the library."""
    card, parents = network.cardinalities, network.structure.parents
    total = np.zeros(card[-1])
    for state in itertools.product(*map(range, card)):
        if any(known not in (-1, value) for known, value in zip(row, state, strict=False)):
            continue
        value = 1.0
        for node, of in enumerate(parents):
            cell = 0
            for p in of:
                cell = cell * card[p] + state[p]
            value *= float(np.exp(network.log_cpts[node][cell, state[node]]))
        total[state[-1]] += value
    return total


@settings(max_examples=60, deadline=None)
@given(networks(), st.integers(0, 2**32 - 1))
def test_any_network_any_evidence_against_enumeration_a9(network: mm.BayesianNetwork, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.array([[rng.integers(-1, r) for r in network.cardinalities[:-1]] for _ in range(8)], dtype=np.int32)
    prior = enumerated(network, np.full(rows.shape[1], -1))
    joint = np.array([enumerated(network, row) for row in rows])
    expected = [row / row.sum() if row.sum() > 0 else prior / prior.sum() for row in joint]
    np.testing.assert_allclose(network.predict_proba(rows, unseen="missing"), expected, atol=1e-9)
    np.testing.assert_allclose(np.exp(network.predict_log_proba(rows, unseen="missing")), expected, atol=1e-9)
