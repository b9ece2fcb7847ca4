"""Structures to and from networkx graphs."""

from typing import Any

from mmbn_opt.data import DiscreteDataset
from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.structure import Structure

__all__ = ["from_networkx", "to_networkx"]


def to_networkx(structure: Structure) -> Any:
    """The DAG as a ``networkx.DiGraph``, nodes by name, features first and the class last.

    The graph attribute ``class_name`` and the node attribute ``role`` ("feature" or "class") tell the class apart.

    Raises
    ------
    MissingDependencyError
        If networkx is not installed.

    Examples
    --------
    >>> tree = Structure.from_names(("a", "b"), "class", [("class", "a"), ("a", "b")])
    >>> sorted(to_networkx(tree).edges)
    [('a', 'b'), ('class', 'a')]
    """
    try:
        import networkx as nx
    except ImportError as error:
        raise MissingDependencyError(
            "Exchange with networkx needs the package networkx; install it with: pip install 'mmbn-opt[interop]'"
        ) from error
    graph = nx.DiGraph(class_name=structure.class_name)
    graph.add_nodes_from((name, {"role": "feature"}) for name in structure.feature_names)
    graph.add_node(structure.class_name, role="class")
    graph.add_edges_from(structure.edges)
    return graph


def from_networkx(graph: Any, data: DiscreteDataset) -> Structure:
    """The structure of a directed graph whose nodes are the data's columns, matched by name.

    Columns that are not in the graph become isolated nodes.

    Parameters
    ----------
    graph : networkx.DiGraph
        Edges lead from parent to child; node labels are compared as text.
    data : DiscreteDataset
        Gives the order of the features and the name of the class.

    Raises
    ------
    InputError
        If the graph is undirected, has a node that is no column, or has a cycle.
    """
    if not (hasattr(graph, "is_directed") and graph.is_directed()):
        raise InputError(f"A structure needs a directed graph such as networkx.DiGraph, got {type(graph).__name__}.")
    columns = (*data.feature_names, data.class_name)
    strangers = sorted(str(node) for node in graph.nodes if str(node) not in columns)
    if strangers:
        raise InputError(
            f"The graph has the nodes {strangers}, which are not columns of the data; the columns are {list(columns)}."
        )
    edges = [(str(parent), str(child)) for parent, child in graph.edges()]
    return Structure.from_names(data.feature_names, data.class_name, edges)
