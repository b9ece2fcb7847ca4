"""Structures travel to networkx and back by name."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.interop.graphs import from_networkx
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

Same = Callable[[BayesianNetwork, BayesianNetwork], bool]

nx = pytest.importorskip("networkx", reason="networkx (extra interop) is not installed")


@pytest.fixture
def data() -> DiscreteDataset:
    return DiscreteDataset.from_arrays([[0, 1, 0], [1, 0, 1]], ["n", "y"], feature_names=["a", "b", "3"])


def test_a_structure_comes_back(data: DiscreteDataset) -> None:
    structure = Structure.from_names(("a", "b", "3"), "class", [("class", "a"), ("a", "b"), ("3", "class")])
    graph = structure.to_networkx()
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.graph["class_name"] == "class"
    assert [v for v, role in graph.nodes(data="role") if role == "class"] == ["class"]
    assert from_networkx(graph, data) == structure


def test_isolated_columns_need_no_node_and_names_are_compared_as_text(data: DiscreteDataset) -> None:
    structure = from_networkx(nx.DiGraph([("class", 3)]), data)
    assert structure.edges == [("class", "3")]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.Graph([("class", "a")]), "needs a directed graph such as networkx.DiGraph, got Graph"),
        ([("class", "a")], "got list"),
        (nx.DiGraph([("class", "age")]), r"the nodes \['age'\], which are not columns of the data; the columns are"),
        (nx.DiGraph([("class", "a"), ("a", "class")]), r"cycle through \['a', 'class'\]"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(data: DiscreteDataset, graph: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_networkx(graph, data)


def test_without_networkx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mmbn-opt\[interop\]'"):
        Structure((), "class", ((),)).to_networkx()


@given(data=st.data())
def test_a_network_comes_back_from_its_graph(data: st.DataObject, typed_networks: Any, same: Same) -> None:
    network = data.draw(typed_networks)
    graph = network.to_networkx()
    assert same(BayesianNetwork.from_networkx(graph), network)
    assert Structure.from_networkx(graph) == network.structure


def test_the_table_of_a_graph_may_have_its_parents_in_any_order(sprinkler: BayesianNetwork) -> None:
    graph = sprinkler.to_networkx()
    grass = graph.nodes["grass"]
    assert grass["parents"] == ("season", "rain")
    grass["parents"] = ("rain", "season")
    grass["cpt"] = grass["cpt"].reshape(2, 2, 3).swapaxes(0, 1).reshape(4, 3)
    again = BayesianNetwork.from_networkx(graph)
    assert np.allclose(np.exp(again.log_cpts[1]), np.exp(sprinkler.log_cpts[1]), rtol=1e-14)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.nodes["grass"].pop("cpt"), r"'grass' of the graph lacks the attributes \['cpt'\]"),
        (lambda g: g.nodes["grass"].update(parents=("rain",)), r"'grass' has the edges from .*says \['rain'\]"),
        (lambda g: g.nodes["grass"].update(cpt=[[0.5, 0.5]]), "shape .* for 'grass'; its states and parents call for"),
        (lambda g: g.nodes["season"].update(cpt=[[0.5, 0.2]]), "'season' sums to 0.7"),
        (lambda g: g.nodes["season"].update(cpt=[[1.5, -0.5]]), "'season' holds -0.5"),
        (lambda g: g.graph.update(class_name="snow"), "no node 'snow' to be the class; its nodes are"),
    ],
)
def test_a_graph_without_usable_tables_is_refused(
    sprinkler: BayesianNetwork, change: Callable[[Any], Any], message: str
) -> None:
    graph = sprinkler.to_networkx()
    change(graph)
    with pytest.raises(InputError, match=message):
        BayesianNetwork.from_networkx(graph)


def test_edge_lists_by_name_and_by_number_say_the_same(sprinkler: BayesianNetwork) -> None:
    assert sprinkler.to_edge_list() == [("season", "grass"), ("rain", "grass"), ("season", "rain")]
    assert sprinkler.to_edge_list(names=False) == [(0, 1), (2, 1), (0, 2)]
    features = sprinkler.structure.feature_names
    for names in (True, False):
        edges = sprinkler.structure.to_edge_list(names=names)
        assert Structure.from_edge_list(edges, features, "rain") == sprinkler.structure


def test_numbers_of_an_edge_list_may_come_from_an_array() -> None:
    assert Structure.from_edge_list(np.array([[1, 0]]), ["a"]).edges == [("class", "a")]


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        ((0, 2), r"Edge \(0, 2\) has the node 2; give its name, or its number from 0 to 1"),
        ((-1, 0), "has the node -1"),
        ((True, 0), "has the node True"),
        ((0.0, 1), "has the node 0.0"),
        ((0, 1, 2), r"An edge is a pair \(parent, child\), got \(0, 1, 2\)"),
        ("ab", "got 'ab'"),
        (("z", "a"), "names the unknown node 'z'"),
        (("a", "a"), "impossible parent"),
    ],
)
def test_an_edge_that_is_none_is_named(edge: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Structure.from_edge_list([edge], ["a"])
