"""Directed acyclic graphs over the class and the features."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from mmbn_opt._arguments import check_arguments, check_fields, listed, shown, whole
from mmbn_opt._lazy import delegate
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.exchange import StructureExchange
from mmbn_opt.networks.graph_questions import GraphQuestions
from mmbn_opt.networks.node_names import node_number

__all__ = ["Structure", "find_cycle", "from_edges"]


def find_cycle(parents: Sequence[Sequence[int]]) -> list[int]:
    """Nodes of some directed cycle, or an empty list.

    Examples
    --------
    >>> find_cycle([[1], [0]])
    [0, 1]
    >>> find_cycle([[], [0]])
    []
    """
    state = [0] * len(parents)  # 0 new, 1 on the path, 2 done
    for root in range(len(parents)):
        if state[root]:
            continue
        path, stack = [root], [iter(parents[root])]
        state[root] = 1
        while stack:
            step = next(stack[-1], None)
            if step is None:
                state[path.pop()] = 2
                stack.pop()
            elif state[step] == 1:
                cycle = path[path.index(step) :]
                return sorted(cycle)
            elif state[step] == 0:
                state[step] = 1
                path.append(step)
                stack.append(iter(parents[step]))
    return []


@dataclass(frozen=True)
class Structure(GraphQuestions, StructureExchange):
    """A DAG over ``n_features`` features and the class, or over nodes of which none is the class.

    Nodes are numbered 0 .. n_features - 1 for the features, in column order, and n_features for the class.

    Parameters
    ----------
    feature_names : tuple of str
    class_name : str
    parents : tuple of tuple of int
        Parents of every node, class last; sorted on construction.
    has_class : bool
        False where no node is there to be predicted; `class_name` is then just the last node.

    Raises
    ------
    InputError
        If the graph has a cycle (the cycle is named) or a parent does not exist.

    Examples
    --------
    >>> tree = Structure.from_names(("a", "b"), "class", [("class", "a"), ("class", "b"), ("a", "b")])
    >>> tree.parent_names
    {'class': [], 'a': ['class'], 'b': ['a', 'class']}
    >>> [tree.names[v] for v in tree.topological_order()]
    ['class', 'a', 'b']
    """

    feature_names: tuple[str, ...]
    class_name: str
    parents: tuple[tuple[int, ...], ...]
    has_class: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if type(self.feature_names) is not tuple:  # to look at every field of every structure would cost too much
            check_fields(self)
        n_nodes = len(self.feature_names) + 1
        try:
            distinct, given = len(set(self.names)), len(self.parents)
            parents = tuple(tuple(sorted({operator.index(p) for p in ps})) for ps in self.parents)
        except TypeError:
            check_fields(self)
            raise
        if distinct != n_nodes:
            raise InputError(f"Node names must be distinct, got [{listed(self.names)}].")
        if given != n_nodes:
            raise InputError(f"Structure needs parents for {n_nodes} nodes (class last), got {given}.")
        object.__setattr__(self, "parents", parents)
        for node, ps in enumerate(self.parents):
            if any(not 0 <= p < n_nodes or p == node for p in ps):
                raise InputError(f"Node {shown(self.names[node])} has an impossible parent index in [{listed(ps)}].")
        cycle = find_cycle(self.parents)
        if cycle:
            raise InputError(
                f"The edges form a cycle through [{listed(self.names[v] for v in cycle)}]; remove one of its edges."
            )

    @classmethod
    def from_names(cls, feature_names: Iterable[str], class_name: str, edges: Iterable[tuple[str, str]]) -> "Structure":
        """Build from ``(parent, child)`` pairs of names; names are told apart by their text, so that 1 is "1"."""
        check_arguments(cls.from_names, locals())
        features, class_name = tuple(map(str, feature_names)), str(class_name)
        index = {name: k for k, name in enumerate((*features, class_name))}
        parents: list[list[int]] = [[] for _ in index]
        for parent, child in ((str(parent), str(child)) for parent, child in edges):
            for name in (parent, child):
                if name not in index:
                    raise InputError(
                        f"Edge {shown((parent, child))} names the unknown node {shown(name)}; known: [{listed(index)}]."
                    )
            parents[index[child]].append(index[parent])
        return cls(features, class_name, tuple(tuple(p) for p in parents))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @property
    def class_index(self) -> int:
        """Number of the class node (the last one)."""
        return len(self.feature_names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all nodes, class last."""
        return (*self.feature_names, self.class_name)

    def require_columns(self, columns: tuple[str, ...]) -> None:
        """Raise `InputError` unless the nodes are these columns, the class last."""
        if self.names != columns:
            raise InputError(f"The structure's nodes [{listed(self.names)}] are not the data's columns in order.")

    @property
    def parent_names(self) -> dict[str, list[str]]:
        """Parents by name, the class node first."""
        order = [self.class_index, *range(self.n_features)] if self.has_class else range(len(self.names))
        return {self.names[v]: [self.names[p] for p in self.parents[v]] for v in order}

    @property
    def edges(self) -> list[tuple[str, str]]:
        """All edges as ``(parent, child)`` names, sorted by child, then parent number."""
        return [(self.names[p], self.names[v]) for v, ps in enumerate(self.parents) for p in ps]

    @property
    def max_parents(self) -> int:
        """Largest number of parents of any node."""
        return max(len(p) for p in self.parents)

    @overload
    def children(self, node: int) -> list[int]: ...

    @overload
    def children(self, node: str) -> list[str]: ...

    def children(self, node: int | str) -> list[int] | list[str]:
        """Children of a node, ascending: numbers for a number, names for a name."""
        number = self.number_of(node)
        found = [v for v, ps in enumerate(self.parents) if number in ps]
        return [self.names[v] for v in found] if isinstance(node, str) else found

    def topological_order(self) -> list[int]:
        """Parents before children; ties broken with the class first, then by number."""
        remaining = {v: set(ps) for v, ps in enumerate(self.parents)}
        order: list[int] = []
        while remaining:
            ready = [v for v, ps in remaining.items() if not ps]
            node = self.class_index if self.class_index in ready else min(ready)
            order.append(node)
            del remaining[node]
            for ps in remaining.values():
                ps.discard(node)
        return order

    def moral_edges(self) -> set[tuple[int, int]]:
        """Undirected edges ``(low, high)`` of the moral graph: the skeleton plus married parents."""
        moral: set[tuple[int, int]] = set()
        for v, ps in enumerate(self.parents):
            family = sorted((*ps, v))
            moral.update((a, b) for k, a in enumerate(family) for b in family[k + 1 :])
        return moral

    @overload
    def markov_blanket(self, node: int) -> set[int]: ...

    @overload
    def markov_blanket(self, node: str) -> set[str]: ...

    def markov_blanket(self, node: int | str) -> set[int] | set[str]:
        """Parents, children and the children's other parents: numbers for a number, names for a name.

        Examples
        --------
        >>> tree = Structure.from_names(["a", "b", "z"], "class", [("class", "a"), ("class", "b"), ("a", "b")])
        >>> sorted(tree.markov_blanket("a")), tree.markov_blanket(0)
        (['b', 'class'], {1, 3})
        """
        number = self.number_of(node)
        blanket = set(self.parents[number])
        for child in self.children(number):
            blanket |= {child, *self.parents[child]}
        blanket -= {number}
        return {self.names[v] for v in blanket} if isinstance(node, str) else blanket

    def number_of(self, node: int | str) -> int:
        """Number of a node that is given by its number or its name; `InputError` for one that is not there."""
        if isinstance(node, str):
            return node_number(self.names, node)
        last = self.class_index
        return whole("node", node, 0, last, expected=f"a node's name or a number from 0 to {last}")

    def is_renormalizable(self) -> Any:
        """Whether factors on this structure can be normalised with ``P(c | x)`` kept; if not, by which parents.

        Examples
        --------
        >>> print(Structure.from_names(["x", "z"], "y", [("y", "x"), ("z", "x")]).is_renormalizable())
        not renormalizable: 'x' has the parents 'y' and 'z', which are not adjacent
        """
        return delegate("renormalizability")(self)

    def with_class(self, name: str) -> "Structure":
        """The same graph with this node as the class, and so the last one.

        Examples
        --------
        >>> Structure.from_names(["a", "b"], "c", [("a", "c"), ("c", "b")]).with_class("a").parent_names
        {'a': [], 'b': ['c'], 'c': ['a']}
        """
        top = self.number_of(str(name))
        order = [*(v for v in range(len(self.names)) if v != top), top]
        place = {v: k for k, v in enumerate(order)}
        parents = tuple(tuple(place[p] for p in self.parents[v]) for v in order)
        return Structure(tuple(self.names[v] for v in order[:-1]), self.names[top], parents)

    def __repr__(self) -> str:
        edges = sum(map(len, self.parents))
        if not self.has_class:
            return f"Structure({len(self.names)} nodes, no class, {edges} edges)"
        return f"Structure({self.n_features} features, class {self.class_name!r:.60}, {edges} edges)"

    def _repr_html_(self) -> str:
        html: str = delegate("structure_html")(self)
        return html


def from_edges(data: DiscreteDataset, edges: Iterable[tuple[str, str]]) -> Structure:
    """Structure over a data set's columns from ``(parent, child)`` names, the class under its own name.

    Parameters
    ----------
    data : DiscreteDataset
        Only its names are used.
    """
    check_arguments(from_edges, locals())
    return Structure.from_names(data.feature_names, data.class_name, edges)
