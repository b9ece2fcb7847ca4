"""What may be a node's parents, before a set is listed: required and forbidden edges, pools, numbers of sets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

from mmbn_opt._arguments import listed, shown
from mmbn_opt._budget import leave_in_time
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.networks.structure import find_cycle

__all__ = ["EdgeRules", "Family", "NamedEdges", "Pools", "all_families", "margin_families", "refuse_columns"]

NamedEdges = Iterable[tuple[str, str]]
Pools = Sequence[Sequence[int]]


HOW_TO_HAVE_FEWER = (
    "Lower max_parents, drop features, raise max_columns, or keep fewer candidates: "
    "restriction=restrict_candidates(data, k=5), candidates=5 of the classifier, --candidates 5 on the command line."
)

_A_LOOK = 4096
"""Sets between two looks at the clock."""


@dataclass(frozen=True)
class EdgeRules:
    """Edges that must be there and edges that must not, by node numbers.

    Parameters
    ----------
    names : tuple of str
        Of all nodes, the class last.
    required, forbidden : tuple (n_nodes,) of frozensets
        Parents that a node must have, and may not have.
    notes : mapping of name to str
        What errors have to say of a node, such as "got no cut and is constant".

    Examples
    --------
    >>> rules = EdgeRules.of(("a", "b", "class"), required=[("a", "b")], forbidden=[("class", "a")])
    >>> rules.required, rules.forbidden
    ((frozenset(), frozenset({0}), frozenset()), (frozenset({2}), frozenset(), frozenset()))
    """

    names: tuple[str, ...]
    required: tuple[frozenset[int], ...]
    forbidden: tuple[frozenset[int], ...]
    notes: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        required: NamedEdges = (),
        forbidden: NamedEdges = (),
        notes: Mapping[str, str] | None = None,
    ) -> "EdgeRules":
        """From edges as ``(parent, child)`` names; `InputError` for a name, a clash or a cycle that cannot be."""
        index = {name: k for k, name in enumerate(names)}
        must: list[set[int]] = [set() for _ in names]
        never: list[set[int]] = [set() for _ in names]
        for edges, target in ((required, must), (forbidden, never)):
            for parent, child in edges:
                for name in (parent, child):
                    if name not in index:
                        raise InputError(
                            f"Edge {shown((parent, child))} names the unknown node {shown(name)}; known: "
                            f"[{listed(names)}]."
                        )
                target[index[child]].add(index[parent])
        for node, name in enumerate(names):
            if clash := must[node] & never[node]:
                raise InputError(f"Edge {shown((names[min(clash)], name))} is both required and forbidden.")
        if find_cycle([sorted(parents) for parents in must]):
            edges = [(names[p], names[child]) for child, parents in enumerate(must) for p in sorted(parents)]
            raise InputError(f"The required edges [{listed(edges)}] form a cycle.")
        return cls(tuple(names), tuple(map(frozenset, must)), tuple(map(frozenset, never)), notes or {})

    @classmethod
    def none(cls, n_features: int) -> "EdgeRules":
        """Nothing required and nothing forbidden."""
        free = (frozenset[int](),) * (n_features + 1)
        return cls((), free, free)

    def nothing_left(self, node: int) -> str:
        """The error for a node that has no parent set."""
        required = sorted(self.names[j] for j in self.required[node])
        told = [f"{shown(n)} {self.notes[n]}" for n in (self.names[node], *required) if n in self.notes]
        cure = "raise max_parents or relax the edges"
        if told:
            cure = f"{', '.join(told[:5])}, so that edges at it change nothing: leave these out, or raise max_parents"
        return (
            f"Node {shown(self.names[node])} has no candidate parent set that contains [{listed(required)}] and avoids "
            f"[{listed(sorted(self.names[j] for j in self.forbidden[node]))}]; {cure}."
        )


@dataclass(frozen=True)
class Family:
    """All parent sets ``base + S`` with S of up to `most` nodes of `pool`.

    Examples
    --------
    >>> family = Family(base=(3,), pool=(0, 1), most=1)
    >>> list(family.sets()), family.count
    ([(3,), (0, 3), (1, 3)], 3)
    """

    base: tuple[int, ...]
    pool: tuple[int, ...]
    most: int

    @property
    def count(self) -> int:
        """Number of sets."""
        return sum(comb(len(self.pool), size) for size in range(self.most + 1))

    def sets(self) -> Iterator[tuple[int, ...]]:
        """The sets, smallest first."""
        for size in range(self.most + 1):
            for number, some in enumerate(combinations(self.pool, size)):
                if number % _A_LOOK == 0:
                    leave_in_time()
                yield tuple(sorted((*self.base, *some))) if self.base else some


def margin_families(
    n_features: int,
    max_parents: int,
    usable: Sequence[int] | None = None,
    within: Pools | None = None,
    edges: EdgeRules | None = None,
    *,
    twins: bool = True,
) -> list[list[Family]]:
    """Families of the sets that can move a margin; see `CandidateParents.for_margins`."""
    rules, c = edges or EdgeRules.none(n_features), n_features
    listed = []
    for node in range(n_features + 1):
        must, pool = sorted(rules.required[node] - {c}), _pool(node, n_features, usable, within, rules)
        families = []
        if node == c:
            families.append(Family(tuple(must), pool, max_parents - len(must)))
        else:
            if c not in rules.required[node] and (twins or not must):
                families.append(Family(tuple(must), (), max_parents - len(must)))
            idle = usable is not None and node not in usable
            if c in rules.required[node] or (c not in rules.forbidden[node] and not (idle and families)):
                families.append(Family((*must, c), () if idle else pool, max_parents - len(must) - 1))
        listed.append([family for family in families if family.most >= 0])
    return listed


def all_families(
    n_features: int,
    max_parents: int,
    usable: Sequence[int] | None = None,
    within: Pools | None = None,
    edges: EdgeRules | None = None,
) -> list[list[Family]]:
    """Families of all sets; see `CandidateParents.for_all`."""
    rules, c = edges or EdgeRules.none(n_features), n_features
    listed = []
    for node in range(n_features + 1):
        must, pool = sorted(rules.required[node]), _pool(node, n_features, usable, within, rules)
        idle = node != c and usable is not None and node not in usable
        if node != c and not idle and c not in rules.required[node] | rules.forbidden[node]:
            pool = (*pool, c)
        family = Family(tuple(must), () if idle else pool, max_parents - len(must))
        listed.append([family] if family.most >= 0 else [])
    return listed


def _pool(
    node: int, n_features: int, usable: Sequence[int] | None, within: Pools | None, rules: EdgeRules
) -> tuple[int, ...]:
    """Features that a node may have as parents besides the required ones."""
    fixed = {node} | rules.required[node] | rules.forbidden[node]
    candidates = range(n_features) if usable is None else sorted(usable)
    return tuple(j for j in candidates if j not in fixed and (within is None or j in within[node]))


def refuse_columns(listed: Sequence[Sequence[Family]], *, max_columns: int) -> None:
    """Raise `SizeLimitError` when listing the sets would exceed `max_columns`."""
    columns = sum(family.count for families in listed for family in families)
    if columns > max_columns:
        most = max(len(family.base) + family.most for families in listed for family in families)
        raise SizeLimitError(
            f"{len(listed) - 1} features with max_parents={most} have {columns:,} candidate parent sets; "
            f"the limit is max_columns={max_columns:,}. {HOW_TO_HAVE_FEWER}"
        )
