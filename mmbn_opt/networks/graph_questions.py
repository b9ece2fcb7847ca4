"""What follows from a graph alone: who is above and below, what separates what, and which graphs say the same."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, overload

from mmbn_opt._arguments import check_arguments, listed, shown
from mmbn_opt.exceptions import InputError

__all__ = ["Cpdag", "GraphQuestions"]

Parents = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Cpdag:
    """A Markov equivalence class: all graphs with the same independences, drawn as one.

    Parameters
    ----------
    names : tuple of str
    directed : frozenset of (parent, child)
        Edges that every graph of the class has in this direction.
    undirected : frozenset of (node, node)
        Edges that lead one way in some and the other way in others; the earlier node of `names` first.

    Examples
    --------
    >>> from mmbn_opt import Structure
    >>> print(Structure.from_names(["a", "b"], "c", [("a", "c"), ("c", "b")]).cpdag())
    a - c, b - c
    >>> print(Structure.from_names(["a", "b"], "c", [("a", "c"), ("b", "c")]).cpdag())
    a -> c, b -> c
    """

    names: tuple[str, ...]
    directed: frozenset[tuple[str, str]]
    undirected: frozenset[tuple[str, str]]

    def __str__(self) -> str:
        place = {name: k for k, name in enumerate(self.names)}
        marked = [(*edge, "->") for edge in self.directed] + [(*edge, "-") for edge in self.undirected]
        marked.sort(key=lambda edge: (place[edge[0]], place[edge[1]]))
        return ", ".join(f"{a} {mark} {b}" for a, b, mark in marked)


class GraphQuestions(ABC):
    """Questions to a `Structure`: names in, names out; numbers in, numbers out."""

    parents: tuple[tuple[int, ...], ...]

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of all nodes."""

    @abstractmethod
    def number_of(self, node: int | str) -> int:
        """Number of a node that is given by its number or its name."""

    @overload
    def ancestors(self, node: int) -> set[int]: ...

    @overload
    def ancestors(self, node: str) -> set[str]: ...

    def ancestors(self, node: int | str) -> set[int] | set[str]:
        """Nodes from which a directed path leads to this one.

        Examples
        --------
        >>> from mmbn_opt import Structure
        >>> chain = Structure.from_names(["a", "b"], "c", [("a", "b"), ("b", "c")])
        >>> sorted(chain.ancestors("c")), chain.ancestors(0), sorted(chain.descendants("a"))
        (['a', 'b'], set(), ['b', 'c'])
        """
        return self._named(_reached(self.parents, self.number_of(node)), node)

    @overload
    def descendants(self, node: int) -> set[int]: ...

    @overload
    def descendants(self, node: str) -> set[str]: ...

    def descendants(self, node: int | str) -> set[int] | set[str]:
        """Nodes to which a directed path leads from this one."""
        return self._named(_reached(_children(self.parents), self.number_of(node)), node)

    def is_d_separated(
        self, first: str | Iterable[str], second: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> bool:
        """Whether the graph makes two nodes, or sets of nodes, independent once others are known (Pearl 1988).

        Parameters
        ----------
        first, second, given : str or list of str
            Sets of which no two share a node.

        Examples
        --------
        >>> from mmbn_opt import Structure
        >>> collider = Structure.from_names(["rain", "sprinkler"], "wet", [("rain", "wet"), ("sprinkler", "wet")])
        >>> collider.is_d_separated("rain", "sprinkler"), collider.is_d_separated("rain", "sprinkler", "wet")
        (True, False)
        """
        check_arguments(GraphQuestions.is_d_separated, locals())
        sets = {
            argument: {self.number_of(str(name)) for name in ([held] if isinstance(held, str) else held)}
            for argument, held in (("first", first), ("second", second), ("given", given))
        }
        for (a, one), (b, other) in combinations(sets.items(), 2):
            if shared := one & other:
                raise InputError(f"{a} and {b} share the nodes [{listed(self.names[v] for v in sorted(shared))}].")
        for argument in ("first", "second"):
            if not sets[argument]:
                raise InputError(f"{argument} is empty; name a node.")
        return not _connected(self.parents, sets["first"], sets["given"]) & sets["second"]

    def cpdag(self) -> Cpdag:
        """The equivalence class of the graph (Verma & Pearl 1990): which directions are not a matter of choice.

        Two graphs imply the same independences exactly when their classes are equal.
        """
        directed, undirected = _compelled(self.parents)
        return Cpdag(
            self.names,
            frozenset((self.names[a], self.names[b]) for a, b in directed),
            frozenset((self.names[a], self.names[b]) for a, b in undirected),
        )

    def structural_hamming_distance(self, other: Any, *, equivalence: bool = True) -> int:
        """Pairs of nodes that two graphs join differently: an edge more, an edge less, or another direction.

        Parameters
        ----------
        other : Structure
            Over the same nodes, in whatever order.
        equivalence : bool
            Compare the equivalence classes (Tsamardinos, Brown & Aliferis 2006), so that a direction that no data can
            tell counts nothing; False compares the graphs as they are.

        Examples
        --------
        >>> from mmbn_opt import Structure
        >>> one = Structure.from_names(["a"], "b", [("a", "b")])
        >>> other = Structure.from_names(["a"], "b", [("b", "a")])
        >>> one.structural_hamming_distance(other), one.structural_hamming_distance(other, equivalence=False)
        (0, 1)
        """
        if not isinstance(other, GraphQuestions):
            raise InputError(f"other must be a Structure, got {shown(other)}; that of a network is network.structure.")
        if set(self.names) != set(other.names):
            only = sorted(set(self.names) ^ set(other.names))
            raise InputError(f"The graphs have different nodes; in one of them only: [{listed(only)}].")
        mine, theirs = _marks(self, equivalence), _marks(other, equivalence)
        return sum(mine.get(pair) != theirs.get(pair) for pair in {*mine, *theirs})

    def _named(self, nodes: set[int], like: int | str) -> set[int] | set[str]:
        return {self.names[v] for v in nodes} if isinstance(like, str) else nodes


def _marks(graph: GraphQuestions, equivalence: bool) -> dict[frozenset[str], tuple[str, str] | None]:
    """For each pair of neighbours the direction of its edge, None for an undirected one."""
    if not equivalence:
        edges = [(graph.names[p], graph.names[v]) for v, ps in enumerate(graph.parents) for p in ps]
        return {frozenset(edge): edge for edge in edges}
    found = graph.cpdag()
    marks: dict[frozenset[str], tuple[str, str] | None] = {frozenset(edge): edge for edge in found.directed}
    # An undirected edge must differ from no edge at all, which `get` tells by None too.
    return marks | {frozenset(edge): ("", "") for edge in found.undirected}


def _children(parents: Parents) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parents]
    for v, ps in enumerate(parents):
        for p in ps:
            children[p].append(v)
    return children


def _reached(neighbours: Parents, node: int) -> set[int]:
    found: set[int] = set()
    stack = list(neighbours[node])
    while stack:
        v = stack.pop()
        if v not in found:
            found.add(v)
            stack.extend(neighbours[v])
    return found


def _connected(parents: Parents, first: Collection[int], given: set[int]) -> set[int]:
    """Nodes that an active trail joins to `first` (Koller & Friedman 2009, algorithm 3.1)."""
    children = _children(parents)
    opened = given.union(*(_reached(parents, v) for v in given))
    found: set[int] = set()
    seen: set[tuple[int, bool]] = set()
    stack = [(v, True) for v in first]  # a node, and whether the trail came up to it from a child
    while stack:
        v, from_below = stack.pop()
        if (v, from_below) in seen:
            continue
        seen.add((v, from_below))
        if v not in given:
            found.add(v)
        if from_below and v not in given:
            stack += [(p, True) for p in parents[v]]
            stack += [(c, False) for c in children[v]]
        elif not from_below:
            if v not in given:
                stack += [(c, False) for c in children[v]]
            if v in opened:
                stack += [(p, True) for p in parents[v]]
    return found


def _compelled(parents: Parents) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Compelled edges, and the others with the lower number first: v-structures, then Meek's rules 1 to 3 (1995)."""
    around: list[set[int]] = [set() for _ in parents]
    for v, ps in enumerate(parents):
        for p in ps:
            around[v].add(p)
            around[p].add(v)
    directed = {
        (p, v)
        for v, ps in enumerate(parents)
        for p, q in [(p, q) for p in ps for q in ps if p != q]
        if q not in around[p]
    }
    open_ = {(p, v) for v, ps in enumerate(parents) for p in ps} - directed
    changed = True
    while changed:
        changed = False
        for p, v in sorted(open_):
            # Of an edge's two directions only that of the graph itself can be compelled.
            if _is_forced(p, v, around, directed):
                open_.discard((p, v))
                directed.add((p, v))
                changed = True
    return directed, {(min(edge), max(edge)) for edge in open_}


def _is_forced(a: int, b: int, around: Sequence[set[int]], directed: set[tuple[int, int]]) -> bool:
    if any((c, a) in directed and c not in around[b] for c in around[a]):  # b -> a would be a new v-structure
        return True
    if any((a, c) in directed and (c, b) in directed for c in around[a] & around[b]):  # b -> a would close a circle
        return True
    free = [
        c for c in around[a] & around[b] if (c, b) in directed and (a, c) not in directed and (c, a) not in directed
    ]
    return any(d not in around[c] for c, d in combinations(free, 2))
