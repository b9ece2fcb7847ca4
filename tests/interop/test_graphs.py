"""Structures travel to networkx and back by name."""

import builtins
from typing import Any

import pytest

from mmbn_opt.data import DiscreteDataset
from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.interop.graphs import from_networkx, to_networkx
from mmbn_opt.structure import Structure

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
    real = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name == "networkx":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mmbn-opt\[interop\]'"):
        to_networkx(Structure((), "class", ((),)))
