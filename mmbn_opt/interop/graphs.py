"""Structures and networks to and from networkx graphs and lists of edges."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mmbn_opt._arguments import is_whole, listed, shown
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop._assembly import Family, assemble, normalised_rows
from mmbn_opt.interop._optional import optional_module
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

__all__ = [
    "from_edge_list",
    "from_networkx",
    "network_from_networkx",
    "network_to_networkx",
    "structure_from_networkx",
    "to_edge_list",
    "to_networkx",
]


def to_networkx(structure: Structure) -> Any:
    """The DAG as a ``networkx.DiGraph``, nodes by name, features first and the class last.

    The graph attribute ``class_name`` and the node attribute ``role`` ("feature" or "class") tell the class apart;
    without a class there are none.

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
    nx = optional_module("networkx")
    if not structure.has_class:
        graph = nx.DiGraph()
        graph.add_nodes_from(structure.names)
        graph.add_edges_from(structure.edges)
        return graph
    graph = nx.DiGraph(class_name=structure.class_name)
    graph.add_nodes_from((name, {"role": "feature"}) for name in structure.feature_names)
    graph.add_node(structure.class_name, role="class")
    graph.add_edges_from(structure.edges)
    return graph


def network_to_networkx(network: BayesianNetwork) -> Any:
    """The graph of `to_networkx`, with the parameters as node attributes.

    ``states`` is the tuple of labels, ``parents`` the tuple of names that gives the table's order (the last one varying
    fastest), ``cpt`` the probabilities, float64 of shape (n_parent_configurations, n_states). ``cuts`` and
    ``has_missing_state`` are those of the variable.
    """
    graph = to_networkx(network.structure)
    for node, variable in enumerate(network.variables):
        graph.nodes[variable.name].update(
            states=variable.states,
            cuts=variable.cuts,
            has_missing_state=variable.has_missing_state,
            parents=tuple(network.structure.names[p] for p in network.structure.parents[node]),
            cpt=np.exp(network.log_cpts[node]),
        )
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
    _require_directed(graph)
    columns = (*data.feature_names, data.class_name)
    strangers = sorted(str(node) for node in graph.nodes if str(node) not in columns)
    if strangers:
        raise InputError(
            f"The graph has the nodes [{listed(strangers)}], which are not columns of the data; the columns are "
            f"[{listed(columns)}]."
        )
    edges = [(str(parent), str(child)) for parent, child in graph.edges()]
    return Structure.from_names(data.feature_names, data.class_name, edges)


def structure_from_networkx(graph: Any, target: str | None = None) -> Structure:
    """The structure of a directed graph; all nodes but the target become features, in the graph's order.

    Parameters
    ----------
    graph : networkx.DiGraph
        Edges lead from parent to child; nodes are named by their text.
    target : str or None
        The class; None takes the graph attribute ``class_name``, and where there is none, no class.

    Raises
    ------
    InputError
        If the graph is undirected or has a cycle, or there is no such node.
    """
    _require_directed(graph)
    name = target if target is not None else graph.graph.get("class_name")
    names = [str(node) for node in graph.nodes]
    edges = [(str(parent), str(child)) for parent, child in graph.edges()]
    if name is None and names:
        return replace(Structure.from_names(names[:-1], names[-1], edges), has_class=False)
    if str(name) not in names:
        raise InputError(f"The graph has no node {shown(name)} to be the class; its nodes are [{listed(names)}].")
    return Structure.from_names([n for n in names if n != str(name)], str(name), edges)


def network_from_networkx(graph: Any, target: str | None = None) -> BayesianNetwork:
    """The network of a graph that `network_to_networkx` made, or that carries the same node attributes.

    Raises
    ------
    InputError
        If a node lacks ``states``, ``parents`` or ``cpt``, or they disagree with the edges.
    """
    structure = structure_from_networkx(graph, target)
    parents = structure.parent_names
    families = []
    for node, held in graph.nodes(data=True):
        absent = [key for key in ("states", "parents", "cpt") if key not in held]
        if absent:
            raise InputError(
                f"Node {shown(str(node))} of the graph lacks the attributes [{listed(absent)}], so it carries no "
                "table; "
                "use Structure.from_networkx for the structure alone."
            )
        given = tuple(str(p) for p in held["parents"])
        if sorted(given) != sorted(parents[str(node)]):
            raise InputError(
                f"Node {shown(str(node))} has the edges from [{listed(parents[str(node)])}], its attribute parents "
                f"says [{listed(given)}]."
            )
        table, _ = normalised_rows(np.asarray(held["cpt"], dtype=np.float64), str(node))
        variable = DiscreteVariable(
            str(node), tuple(held["states"]), held.get("cuts"), bool(held.get("has_missing_state", False))
        )
        families.append(Family(variable, given, table))
    return assemble(families, structure.class_name if structure.has_class else None, "The graph")


def to_edge_list(structure: Structure, *, names: bool = True) -> list[tuple[Any, Any]]:
    """Edges as ``(parent, child)`` pairs, sorted by child, then parent number.

    Parameters
    ----------
    structure : Structure
    names : bool
        True for names, False for node numbers (features 0 .. n_features - 1, the class last) as igraph takes them:
        ``igraph.Graph(n=len(structure.names), edges=to_edge_list(structure, names=False), directed=True)``.

    Examples
    --------
    >>> tree = Structure.from_names(("a", "b"), "class", [("class", "a"), ("a", "b")])
    >>> to_edge_list(tree), to_edge_list(tree, names=False)
    ([('class', 'a'), ('a', 'b')], [(2, 0), (0, 1)])
    """
    pairs = [(p, v) for v, ps in enumerate(structure.parents) for p in ps]
    return [(structure.names[p], structure.names[v]) for p, v in pairs] if names else list(pairs)


def from_edge_list(edges: Iterable[Sequence[Any]], feature_names: Sequence[str], class_name: str) -> Structure:
    """The structure of ``(parent, child)`` pairs, each by names or by node numbers.

    Parameters
    ----------
    edges : iterable of pairs
        Two names, or two integers: positions in `feature_names`, the class being number ``len(feature_names)``.
    feature_names : sequence of str
        All features, those without an edge too.
    class_name : str

    Raises
    ------
    InputError
        If an edge is no such pair, names an unknown node, or closes a cycle.

    Examples
    --------
    >>> from_edge_list([(2, 0), (0, 1)], ["a", "b"], "class").edges
    [('class', 'a'), ('a', 'b')]
    """
    names = (*feature_names, class_name)
    pairs = []
    for edge in edges:
        pair = (edge,) if isinstance(edge, str) else tuple(edge)
        if len(pair) != 2:
            raise InputError(f"An edge is a pair (parent, child), got {shown(edge)}.")
        pairs.append((_name_of(pair[0], names, edge), _name_of(pair[1], names, edge)))
    return Structure.from_names(feature_names, class_name, pairs)


def _name_of(node: Any, names: Sequence[str], edge: Any) -> str:
    if isinstance(node, str):
        return node
    if is_whole(node) and 0 <= node < len(names):
        return names[int(node)]
    raise InputError(
        f"Edge {shown(edge)} has the node {shown(node)}; give its name, or its number from 0 to {len(names) - 1}."
    )


def _require_directed(graph: Any) -> None:
    if not (hasattr(graph, "is_directed") and graph.is_directed()):
        raise InputError(f"A structure needs a directed graph such as networkx.DiGraph, got {type(graph).__name__}.")
