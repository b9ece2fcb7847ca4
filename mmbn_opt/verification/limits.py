"""Side constraints as the header of a tree file declares them, in parts that are checked column by column.

Numbers are read as decimal fractions, as they stand in the file. A sum keeps its limit up to a billionth of that (of 1
if that is more), and so it does for whoever made the file: what is proved holds for all structures that keep it so.
"""

from collections.abc import Callable, Collection
from fractions import Fraction
from functools import partial
from hashlib import sha256
from math import prod
from typing import Any

from mmbn_opt.exceptions import FormatError, InputError

__all__ = ["Item", "Limits"]

Item = tuple[int, int]
"""A feature that is used (in the Markov blanket of the class) as its number and -1, an edge as child and parent."""

Coefficient = Callable[[int, frozenset[int]], Fraction | int]

LONGEST = 2000
"""Signs of a constraint that are printed; of a longer one the beginning, and the SHA-256 of the whole."""


class Limits:
    """What a structure has to keep besides being acyclic; nodes are numbered, the class last.

    Attributes
    ----------
    told : tuple of str
        What is declared, one line each: all that is read, and nothing else.
    rows : list of (function, limit)
        Summed over the nodes, what the function says of a node and its parents is at most the limit.
    caps : list of (mapping of items to weights, limit)
        Weights of the items that are there sum to at most the limit.
    groups : list of lists of items
        All are there, or none.
    above, apart : lists of pairs
        A path leads from the first to the second; none does.
    closed, turns : bool
        Whether structures keep it all with fewer edges; and hung from whichever node of a tree of features.
    """

    def __init__(self, said: list[dict[str, Any]], names: list[str], cards: list[int]) -> None:
        self._names, self._cards = names, cards
        self.rows: list[tuple[Coefficient, Fraction]] = []
        self.caps: list[tuple[dict[Item, Fraction], Fraction]] = []
        self.groups: list[list[Item]] = []
        self.above, self.apart = list[tuple[int, int]](), list[tuple[int, int]]()
        self._never: list[Callable[[int, frozenset[int]], bool]] = []
        self.closed = self.turns = True
        kinds: dict[str, Callable[..., None]] = {
            "edges": self._edges, "parameters": self._parameters, "features": self._features, "weights": self._weights,
            "at most one": self._at_most_one, "all or none": self._all_or_none, "degrees": self._degrees,
            "tiers": self._tiers, "ancestor": self._ancestor, "no ancestor": self._no_ancestor, "sum": self._sum,
        }  # fmt: skip
        for limit in said:
            kind, rest = limit["kind"], {key: value for key, value in limit.items() if key != "kind"}
            if kind not in kinds:
                raise InputError(f"Structures with a limit of the kind {kind!r} are not verified.")
            self.turns &= kind in ("edges", "parameters", "features", "weights")
            kinds[kind](**rest)
        self.told = tuple(_in_words(**limit) for limit in said)

    def forbids(self, node: int, parents: frozenset[int]) -> bool:
        """Whether no structure may give a node these parents, whatever the others have."""
        return any(never(node, parents) for never in self._never)

    def _edges(self, most: Any) -> None:
        self.rows.append((lambda _, parents: len(parents), _number(most)))

    def _parameters(self, most: Any) -> None:
        r = self._cards
        self.rows.append((lambda v, parents: (r[v] - 1) * prod(r[p] for p in parents), _number(most)))

    def _features(self, most: Any) -> None:
        self._weights([(name, 1) for name in self._names[:-1]], most)

    def _weights(self, of: Collection[Any], most: Any) -> None:
        weights = {self._item(member): _number(weight) for member, weight in of}
        if min(weights.values(), default=0) < 0:
            raise FormatError("The tree file has a limit on weights of which one is below 0.")
        self.caps.append((weights, _number(most)))
        self.turns &= all(parent < 0 for _, parent in weights)

    def _at_most_one(self, of: list[Any]) -> None:
        self._weights([(member, 1) for member in of], 1)

    def _all_or_none(self, of: list[Any]) -> None:
        self.groups.append([self._item(member) for member in of])
        self.closed = False

    def _degrees(
        self, nodes: list[str] | None, max_in: Any = None, max_out: Any = None, min_in: Any = None, min_out: Any = None
    ) -> None:
        some = range(len(self._names)) if nodes is None else [self._node(name) for name in nodes]
        if max_in is not None:
            self._never.append(lambda v, parents: v in some and len(parents) > _number(max_in))
        for own in some:
            self._between(partial(_parents_of, own), min_in, None)
            self._between(partial(_children_of, own), min_out, max_out)
        self.closed &= min_in is None and min_out is None

    def _tiers(self, of: list[list[str]]) -> None:
        tier = {self._node(name): k for k, some in enumerate(of) for name in some}
        self._never.append(lambda v, parents: v in tier and any(tier.get(p, -1) > tier[v] for p in parents))

    def _ancestor(self, above: str, below: str) -> None:
        self._no_ancestor(below, above)
        self.above.append((self._node(above), self._node(below)))
        self.closed = False

    def _no_ancestor(self, above: str, below: str) -> None:
        self.apart.append((self._node(above), self._node(below)))
        if above == below:
            raise FormatError("The tree file has a node that is to be above itself, or not.")

    def _sum(self, of: list[Any], least: Any = None, most: Any = None) -> None:
        """Of [parent, child, weight], and [node, [its parents], weight]."""
        edges, sets = dict[tuple[int, int], Fraction](), dict[tuple[int, frozenset[int]], Fraction]()
        for first, second, weight in of:
            if isinstance(second, str):
                edge = self._node(first), self._node(second)
                edges[edge] = edges.get(edge, Fraction(0)) + _number(weight)
            else:
                column = self._node(first), frozenset(map(self._node, second))
                sets[column] = sets.get(column, Fraction(0)) + _number(weight)
        self._between(
            lambda v, parents: sets.get((v, parents), 0) + sum(edges.get((p, v), 0) for p in parents), least, most
        )
        grows, falls = (any(sign * weight > 0 for weight in edges.values()) for sign in (1, -1))
        self.closed &= not sets and not (grows and least is not None) and not (falls and most is not None)

    def _between(self, coefficient: Coefficient, least: Any, most: Any) -> None:
        if most is not None:
            self.rows.append((coefficient, _number(most)))
        if least is not None:
            self.rows.append((lambda v, parents: -coefficient(v, parents), -_number(least)))

    def _node(self, name: str) -> int:
        return self._names.index(name)

    def _item(self, member: Any) -> Item:
        if isinstance(member, str):
            return self._names[:-1].index(member), -1
        parent, child = map(self._node, member)
        return child, parent


def _parents_of(own: int, node: int, parents: frozenset[int]) -> int:
    return len(parents) if node == own else 0


def _children_of(own: int, node: int, parents: frozenset[int]) -> int:
    return int(own in parents)


def _number(said: Any) -> Fraction:
    """As it stands in the file, in decimals."""
    if not isinstance(said, int | float):
        raise FormatError(f"The tree file has a limit with {said!r} where a number belongs.")
    return Fraction(str(said))


def _in_words(kind: str, **said: Any) -> str:
    words = ", ".join([f"limit: {kind}", *(f"{key}: {value!r}" for key, value in said.items())])
    digest = sha256(words.encode()).hexdigest()
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ... (SHA-256 of all: {digest})"
