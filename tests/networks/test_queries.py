"""Questions to a network: equal to adding up the full joint table, on any network, evidence and form of it."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks import engine


def network_of(parents, card, seed: int, zeros: float = 0.0) -> mm.BayesianNetwork:
    """Random tables on a structure; a share `zeros` of the entries is 0."""
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(len(card))]
    structure = mm.Structure(tuple(names[:-1]), names[-1], parents)
    tables = []
    for node, ps in enumerate(structure.parents):
        table = rng.dirichlet(np.ones(card[node]), size=math.prod(card[p] for p in ps))
        if zeros:
            keep = rng.random(table.shape) >= zeros
            keep[np.arange(len(table)), table.argmax(axis=1)] = True
            table = np.where(keep, table, 0.0)
            table /= table.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            tables.append(np.log(table))
    variables = [DiscreteVariable(name, tuple("abc"[:r])) for name, r in zip(names, card, strict=True)]
    return mm.BayesianNetwork(structure, tuple(variables[:-1]), variables[-1], tuple(tables))


def joint_of(network: mm.BayesianNetwork) -> np.ndarray:
    """The full joint table, an axis a node, by plain multiplication."""
    card = network.cardinalities
    joint = np.zeros(card)
    for cell in product(*map(range, card)):
        value = 1.0
        for node, ps in enumerate(network.structure.parents):
            row = 0
            for p in ps:
                row = row * card[p] + cell[p]
            value *= math.exp(network.log_cpts[node][row, cell[node]])
        joint[cell] = value
    return joint


def given_case(joint: np.ndarray, codes, likelihood: dict[int, list[float]]) -> np.ndarray:
    """The joint table times the evidence."""
    joint = joint.copy()
    for node, code in enumerate(codes):
        weight = np.array(likelihood.get(node, [1.0] * joint.shape[node]))
        if code >= 0:
            weight = np.where(np.arange(joint.shape[node]) == code, weight, 0.0)
        joint *= weight.reshape([-1 if axis == node else 1 for axis in range(joint.ndim)])
    return joint


def over(table: np.ndarray, nodes) -> np.ndarray:
    """Sum out all but `nodes`, axes in their order."""
    rest = tuple(v for v in range(table.ndim) if v not in nodes)
    return np.transpose(table.sum(axis=rest), np.argsort(np.argsort(nodes)))


def mapping(network, codes) -> dict[str, str]:
    return {v.name: v.states[c] for v, c in zip(network.variables, codes, strict=True) if c >= 0}


@st.composite
def questions(draw):
    """(network, cases of codes, likelihoods, targets free in every case)."""
    n = draw(st.integers(2, 6))
    card = [draw(st.integers(1, 3)) for _ in range(n)]
    order = draw(st.permutations(range(n)))
    parents: list[tuple[int, ...]] = [()] * n
    for k, node in enumerate(order):
        parents[node] = tuple(draw(st.sets(st.sampled_from(order[:k]), max_size=3))) if k else ()
    network = network_of(tuple(parents), card, draw(st.integers(0, 10**6)), draw(st.sampled_from([0.0, 0.4])))
    targets = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True))
    cell = [st.just(-1) if v in targets else st.integers(-1, r - 1) for v, r in enumerate(card)]
    cases = draw(st.lists(st.tuples(*cell), min_size=1, max_size=4))
    soft = draw(st.lists(st.integers(0, n - 1), max_size=2, unique=True))
    likelihood = {v: [draw(st.sampled_from([0.0, 0.2, 1.0, 3.0])) + (k == 0) for k in range(card[v])] for v in soft}
    return network, cases, likelihood, targets


@pytest.mark.parametrize("shared", [True, False], ids=["one plan", "a plan for each pattern"])
@given(questions())
@settings(max_examples=60)
def test_answers_are_those_of_the_full_table(shared, problem):
    network, cases, likelihood, targets = problem
    names = [network.variables[v].name for v in targets]
    soft = {network.variables[v].name: weights for v, weights in likelihood.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_SHARED_CELLS", 10**9 if shared else -1)
        patch.setattr(engine, "_CELLS_PER_NODE", 0)
        frame = pd.DataFrame(
            [[None if c < 0 else v.states[c] for v, c in zip(network.variables, row, strict=True)] for row in cases],
            columns=list(network.structure.names),
            dtype=object,
        )
        answers = network.query(names, frame, likelihood=soft)
        probabilities = network.probability(frame, likelihood=soft)
        best = network.map_query(names, frame, likelihood=soft)
        explained = network.map_query(None, frame, likelihood=soft)
        marginals = network.marginals(frame, likelihood=soft)
        joint = joint_of(network)
        for row, codes in enumerate(cases):
            weighed = given_case(joint, codes, likelihood)
            assert probabilities[row] == pytest.approx(weighed.sum(), rel=1e-12, abs=1e-300)
            if weighed.sum() == 0:
                assert answers.iloc[row].isna().all()
                assert best.iloc[row].isna().all()
                with pytest.raises(InputError, match="probability 0"):
                    network.query(names, mapping(network, codes), likelihood=soft)
                continue
            posterior = over(weighed, targets) / weighed.sum()
            np.testing.assert_allclose(answers.iloc[row], posterior.ravel(), rtol=1e-11, atol=1e-14)
            single = network.query(names, mapping(network, codes), likelihood=soft)
            np.testing.assert_allclose(single, answers.iloc[row], rtol=1e-12)
            top = tuple(network.variables[v].states.index(best.iloc[row][network.variables[v].name]) for v in targets)
            assert posterior[top] == pytest.approx(posterior.max(), rel=1e-11)
            whole = tuple(v.states.index(explained.iloc[row][v.name]) for v in network.variables)
            assert weighed[whole] == pytest.approx(weighed.max(), rel=1e-11)
            for node, variable in enumerate(network.variables):
                np.testing.assert_allclose(
                    marginals[variable.name].iloc[row], over(weighed, [node]) / weighed.sum(), rtol=1e-11, atol=1e-14
                )
