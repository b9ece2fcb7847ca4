"""Networks go to pgmpy and pyAgrum and come back, and all three answer the same questions with the same numbers."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.interop._optional import optional_module
from mmbn_opt.interop.bif import read_bif
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

Same = Callable[[BayesianNetwork, BayesianNetwork], bool]
Codes = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def pgmpy() -> Any:
    """pgmpy, imported without what it warns of while it loads."""
    pytest.importorskip("networkx", reason="networkx (extra interop) is not installed")
    try:
        return optional_module("pgmpy.inference")
    except MissingDependencyError:
        pytest.skip("pgmpy (extra interop) is not installed")


@pytest.fixture(scope="module")
def gum() -> Any:
    return pytest.importorskip("pyagrum", reason="pyAgrum (extra interop) is not installed")


def random_network(seed: int, n_features: int = 7) -> BayesianNetwork:
    """Up to three parents a node, two to four states, some zeros, the class anywhere in the order."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 5, n_features + 1)
    order = rng.permutation(n_features + 1)
    parents: list[tuple[int, ...]] = [()] * (n_features + 1)
    for place, node in enumerate(order):
        parents[node] = tuple(rng.choice(order[:place], min(place, rng.integers(0, 4)), replace=False).tolist())
    structure = Structure(tuple(f"x{j}" for j in range(n_features)), "class", tuple(parents))
    tables = []
    for node, ps in enumerate(structure.parents):
        table = rng.dirichlet(np.ones(cards[node]), int(np.prod(cards[list(ps)]))) + 1e-3
        if rng.random() < 0.5:
            table[0, -1] = 0.0
        with np.errstate(divide="ignore"):
            tables.append(np.log(table / table.sum(axis=1, keepdims=True)))
    variables = [DiscreteVariable(n, tuple(range(c))) for n, c in zip(structure.names, cards.tolist(), strict=True)]
    return BayesianNetwork(structure, tuple(variables[:-1]), variables[-1], tuple(tables))


def sampled_rows(network: BayesianNetwork, count: int, missing: float, seed: int) -> Codes:
    """Rows drawn from the network itself, so that all are possible, with a share of cells taken away."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((count, len(network.variables)), dtype=np.int32)
    for node in network.structure.topological_order():
        row = np.zeros(count, dtype=np.int64)
        for p in network.structure.parents[node]:
            row = row * network.cardinalities[p] + rows[:, p]
        cumulated = np.exp(network.log_cpts[node])[row].cumsum(axis=1)
        rows[:, node] = (rng.random((count, 1)) > cumulated[:, :-1]).sum(axis=1)
    codes = rows[:, :-1].copy()
    codes[rng.random(codes.shape) < missing] = -1
    return codes


def ours(network: BayesianNetwork, codes: Codes) -> Codes:
    joint = np.exp(network.log_joint(codes))
    posterior: Codes = joint / joint.sum(axis=1, keepdims=True)
    return posterior


def by_pgmpy(module: Any, network: BayesianNetwork, codes: Codes) -> Codes:
    engine = module.VariableElimination(network.to_pgmpy())
    answers = []
    for row in codes:
        evidence = {v.name: v.states[k] for v, k in zip(network.features, row, strict=True) if k >= 0}
        answer = engine.query([network.target.name], evidence=evidence, show_progress=False)
        answers.append([answer.get_value(**{network.target.name: state}) for state in network.target.states])
    return np.array(answers)


def by_pyagrum(module: Any, network: BayesianNetwork, codes: Codes) -> Codes:
    engine = module.LazyPropagation(network.to_pyagrum())
    answers = []
    for row in codes:
        engine.setEvidence({v.name: int(k) for v, k in zip(network.features, row, strict=True) if k >= 0})
        engine.makeInference()
        answers.append(engine.posterior(network.target.name).toarray())
    return np.array(answers)


@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_posteriors_of_random_networks_agree_across_tools(pgmpy: Any, gum: Any, seed: int, missing: float) -> None:
    network = random_network(seed)
    codes = sampled_rows(network, 6, missing, seed)
    expected = ours(network, codes)
    assert np.allclose(by_pgmpy(pgmpy, network, codes), expected, rtol=0, atol=1e-9)
    assert np.allclose(by_pyagrum(gum, network, codes), expected, rtol=0, atol=1e-9)


@pytest.mark.shared
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("asia", "dysp"),
        ("cancer", "Cancer"),
        ("earthquake", "Alarm"),
        ("survey", "T"),
        ("sachs", "Erk"),
        ("child", "Disease"),
        ("insurance", "Accident"),
        ("alarm", "HYPOVOLEMIA"),
    ],
)
def test_posteriors_of_known_networks_agree_across_tools(
    shared_dir: Path, pgmpy: Any, gum: Any, name: str, target: str, missing: float
) -> None:
    network = read_bif(shared_dir / "data" / "networks" / f"{name}.bif.gz", target)
    codes = sampled_rows(network, 3, missing, 1)
    expected = ours(network, codes)
    assert np.allclose(by_pgmpy(pgmpy, network, codes), expected, rtol=0, atol=1e-9)
    assert np.allclose(by_pyagrum(gum, network, codes), expected, rtol=0, atol=1e-9)


@pytest.mark.shared
def test_posteriors_of_a_large_network_agree_with_pyagrum(shared_dir: Path, gum: Any) -> None:
    network = read_bif(shared_dir / "data" / "networks" / "hepar2.bif.gz", "Cirrhosis")
    codes = sampled_rows(network, 20, 0.2, 5)
    assert np.allclose(by_pyagrum(gum, network, codes), ours(network, codes), rtol=0, atol=1e-9)


@given(data=st.data())
@settings(max_examples=40)
def test_every_network_comes_back_from_pgmpy(data: st.DataObject, pgmpy: Any, typed_networks: Any, same: Same) -> None:
    network = data.draw(typed_networks)
    model = network.to_pgmpy()
    assert model.check_model()
    assert same(BayesianNetwork.from_pgmpy(model, network.target.name), network)


@given(data=st.data())
@settings(max_examples=40)
def test_every_network_of_text_comes_back_from_pyagrum(
    data: st.DataObject, gum: Any, text_networks: Any, same: Same
) -> None:
    network = data.draw(text_networks)
    texts = [t for v in network.variables for t in (v.name, *v.states)]
    if any("\ud800" <= c <= "\udfff" or c == "\0" for t in texts for c in t):
        with pytest.raises(InputError, match="which is not text for pyAgrum"):
            network.to_pyagrum()
    else:
        assert same(BayesianNetwork.from_pyagrum(network.to_pyagrum(), network.target.name), network)


def test_labels_are_text_in_pyagrum(gum: Any, sprinkler: BayesianNetwork) -> None:
    again = BayesianNetwork.from_pyagrum(sprinkler.to_pyagrum(), "rain")
    assert again.target.states == ("False", "True")
    assert np.allclose(np.exp(again.log_cpts[1]), np.exp(sprinkler.log_cpts[1]), rtol=1e-15)
    clash = DiscreteVariable("class", (1, "1"))
    network = BayesianNetwork(Structure((), "class", ((),)), (), clash, (np.log([[0.5, 0.5]]),))
    with pytest.raises(InputError, match="have the same text, so pyAgrum cannot tell them apart"):
        network.to_pyagrum()


def test_all_kinds_of_pyagrum_variables_are_read(gum: Any) -> None:
    model = gum.fastBN("A[1,3]->B{x|y}<-C[0.5,1,2]->D{1|2|7}")
    network = BayesianNetwork.from_pyagrum(model, "B")
    assert [v.states for v in network.features] == [("1", "2", "3"), ("[0.5;1[", "[1;2]"), ("1", "2", "7")]
    assert network.parents == {"B": ["A", "C"], "A": [], "C": [], "D": ["C"]}
    expected = [[model.cpt("B")[{"A": a, "C": c, "B": b}] for b in (0, 1)] for a in (0, 1, 2) for c in (0, 1)]
    assert np.allclose(np.exp(network.log_cpts[3]), expected, rtol=1e-14)


def test_a_pgmpy_table_with_its_parents_in_another_order_is_read(pgmpy: Any) -> None:
    factors, models = optional_module("pgmpy.factors.discrete"), optional_module("pgmpy.models")
    model = models.DiscreteBayesianNetwork([("b", "class"), ("a", "class")])
    values = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]])
    model.add_cpds(
        factors.TabularCPD("a", 2, [[0.4], [0.6]]),
        factors.TabularCPD("b", 3, [[0.2], [0.3], [0.5]]),
        factors.TabularCPD("class", 2, values, evidence=["a", "b"], evidence_card=[2, 3]),
    )
    network = BayesianNetwork.from_pgmpy(model, "class")
    assert network.structure.feature_names == ("b", "a")
    b_first = [[values[c, 3 * a + b] for c in (0, 1)] for b in range(3) for a in range(2)]
    assert np.allclose(np.exp(network.log_cpts[2]), b_first, rtol=1e-15)


def test_a_pgmpy_model_that_is_not_whole_is_refused(pgmpy: Any) -> None:
    factors, models = optional_module("pgmpy.factors.discrete"), optional_module("pgmpy.models")
    model = models.DiscreteBayesianNetwork([("a", "class")])
    with pytest.raises(InputError, match=r"has no table for \['a', 'class'\]; add them"):
        BayesianNetwork.from_pgmpy(model, "class")
    halves = [[0.5, 0.5], [0.5, 0.5]]
    child = factors.TabularCPD(
        "class", 2, halves, evidence=["a"], evidence_card=[2], state_names={"class": [0, 1], "a": ["v", "u"]}
    )
    model.add_cpds(factors.TabularCPD("a", 2, [[0.5], [0.5]], state_names={"a": ["u", "v"]}), child)
    with pytest.raises(InputError, match=r"'class' lists the states of 'a' as \['v', 'u'\], that node's own as"):
        BayesianNetwork.from_pgmpy(model, "class")
    with pytest.raises(InputError, match="no variable 'rain' to be the class; its variables are: 'a', 'b'"):
        BayesianNetwork.from_pgmpy(random_pair(factors, models), "rain")


def random_pair(factors: Any, models: Any) -> Any:
    model = models.DiscreteBayesianNetwork()
    model.add_nodes_from(["a", "b"])
    model.add_cpds(*(factors.TabularCPD(n, 2, [[0.5], [0.5]]) for n in "ab"))
    return model


@pytest.mark.parametrize("read", [BayesianNetwork.from_pgmpy, BayesianNetwork.from_pyagrum])
def test_something_else_is_not_taken_for_a_model(read: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match=r"needs a .*, got dict"):
        read({}, "class")


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("pgmpy.models", lambda network, path: network.to_pgmpy()),
        ("pyagrum", lambda network, path: network.to_pyagrum()),
        ("pgmpy.models", lambda network, path: network.to_xmlbif(path)),
        ("networkx", lambda network, path: network.to_networkx()),
    ],
)
def test_an_absent_package_is_told_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sprinkler: BayesianNetwork, package: str, call: Any
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    name = package.partition(".")[0]
    with pytest.raises(MissingDependencyError, match=rf"needs the package {name}; .*'mmbn-opt\[interop\]'"):
        call(sprinkler, tmp_path / "net")
    assert not (tmp_path / "net").exists()
