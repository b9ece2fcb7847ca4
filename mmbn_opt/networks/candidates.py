"""Candidate parent sets: what a structure may choose from, node by node."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress, zip_longest
from math import prod

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt.data import counts
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.networks.parent_families import EdgeRules, Family, Pools, all_families, margin_families

__all__ = ["CandidateParents", "parent_matrix", "refuse_large_choice"]


@dataclass(frozen=True)
class CandidateParents:
    """Allowed parent sets of every node; column k of a structure program stands for one of them.

    Parameters
    ----------
    sets : tuple (n_nodes,) of tuples of parent sets
        Nodes are the features in order and the class last; a parent set is a sorted tuple of node numbers.

    Notes
    -----
    For the margin scores a feature has the class with up to ``max_parents - 1`` features, or the smallest set without
    the class (the empty one, or the required parents): sets without the class do not move any margin, and a smaller one
    closes fewer cycles. The class has any set of up to ``max_parents`` features (Peharz & Pernkopf 2012, section 4).
    Decomposable scores take all sets. Features of one state change nothing: they are left out unless they are required.

    Examples
    --------
    >>> candidates = CandidateParents.for_margins(n_features=2, max_parents=2)
    >>> candidates.sets
    (((), (2,), (1, 2)), ((), (2,), (0, 2)), ((), (0,), (1,), (0, 1)))
    >>> candidates.n_columns
    10
    """

    sets: tuple[tuple[tuple[int, ...], ...], ...]

    def __post_init__(self) -> None:
        for node, options in enumerate(self.sets):
            if not options:
                raise InputError(f"Node {node} has no candidate parent set left; relax required or forbidden edges.")

    @classmethod
    def for_margins(
        cls,
        n_features: int,
        max_parents: int,
        usable: Sequence[int] | None = None,
        within: Pools | None = None,
        edges: EdgeRules | None = None,
        *,
        twins: bool = True,
    ) -> "CandidateParents":
        """Sets that can move a margin, and the smallest allowed set without the class to stand for all of those.

        Parameters
        ----------
        n_features, max_parents : int
        usable : sequence of int or None
            Features that may be parents and children; the others (of one state) keep to the required edges.
        within : sequence or None
            For every feature, and the class last, the features that may be parents besides required ones; None: all.
        edges : EdgeRules or None
        twins : bool
            False: a set without the class is the empty one or none (the restricted sets of a decomposable score).
        """
        listed = margin_families(n_features, max_parents, usable, within, edges, twins=twins)
        return cls.of_families(listed, edges)

    @classmethod
    def for_all(
        cls,
        n_features: int,
        max_parents: int,
        usable: Sequence[int] | None = None,
        within: Pools | None = None,
        edges: EdgeRules | None = None,
    ) -> "CandidateParents":
        """Every set of up to `max_parents` other nodes, the class an ordinary node; parameters as in `for_margins`."""
        return cls.of_families(all_families(n_features, max_parents, usable, within, edges), edges)

    @classmethod
    def of_families(cls, listed: Sequence[Sequence[Family]], edges: EdgeRules | None = None) -> "CandidateParents":
        """The sets of some families, node by node."""
        for node, families in enumerate(listed):
            if not families and edges is not None:
                raise InputError(edges.nothing_left(node))
        return cls(tuple(tuple(s for family in families for s in family.sets()) for families in listed))

    def without(self, dropped: NDArray[np.bool_]) -> "CandidateParents":
        """The candidates but for the columns marked, shape (n_columns,).

        Examples
        --------
        >>> CandidateParents((((), (1,)), ((),))).without(np.array([True, False, False])).sets
        (((1,),), ((),))
        """
        kept = (~dropped).tolist()
        return CandidateParents(
            tuple(tuple(compress(s, kept[a:])) for s, a in zip(self.sets, self.offsets[:-1], strict=True))
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes, class included."""
        return len(self.sets)

    @property
    def class_index(self) -> int:
        """Number of the class node."""
        return len(self.sets) - 1

    @cached_property
    def offsets(self) -> NDArray[np.intp]:
        """First column of every node, and the number of columns at the end; shape (n_nodes + 1,)."""
        return np.concatenate([[0], np.cumsum([len(s) for s in self.sets])]).astype(np.intp)

    @property
    def n_columns(self) -> int:
        """Number of (node, parent set) pairs."""
        return int(self.offsets[-1])

    @cached_property
    def columns(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The ``(node, parent set)`` of every column."""
        return tuple((node, s) for node, options in enumerate(self.sets) for s in options)

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """Node of every column, shape (n_columns,)."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.offsets))

    @cached_property
    def parent_array(self) -> NDArray[np.int32]:
        """Parents of every column, ascending, shape (n_columns, largest set); -1 stands for none and comes first."""
        ragged = list(zip_longest(*(s for options in self.sets for s in options), fillvalue=-1))
        rows = np.array(ragged, dtype=np.int32).reshape(len(ragged), self.n_columns)
        return np.ascontiguousarray(np.sort(rows.T, axis=1))

    @cached_property
    def column_of(self) -> dict[tuple[int, tuple[int, ...]], int]:
        """Column of a ``(node, parent set)`` pair."""
        return {pair: k for k, pair in enumerate(self.columns)}

    @cached_property
    def class_parents_block_features(self) -> bool:
        """Whether every non-empty feature set holds the class, so that one row a feature keeps the class acyclic."""
        c = self.class_index
        return all(not s or c in s for options in self.sets[:-1] for s in options)

    def choice(self, parents: Sequence[tuple[int, ...]], idle: Collection[int] = ()) -> NDArray[np.intp]:
        """Columns that stand for a structure, one a node.

        Parents among `idle` (nodes of one state), all parents of such a node, and the parents of a feature without the
        class change nothing: a candidate without some of them stands for the set where it is none itself.
        """
        chosen = []
        for node, raw in enumerate(parents):
            wanted = tuple(sorted(raw))
            known = (self.column_of[node, s] for s in self._equals(node, wanted, idle) if (node, s) in self.column_of)
            column = next(known, None)
            if column is None:
                raise InputError(f"Parent set {wanted} of node {node} is not among its candidates.")
            chosen.append(column)
        return np.array(chosen, dtype=np.intp)

    def _equals(self, node: int, wanted: tuple[int, ...], idle: Collection[int]) -> Iterator[tuple[int, ...]]:
        """Sets that are worth what `wanted` is, itself first."""
        yield wanted
        droppable = [p for p in wanted if p in idle]
        for size in range(1, len(droppable) + 1):
            for some in combinations(droppable, size):
                yield tuple(p for p in wanted if p not in some)
        c = self.class_index
        inside = [s for s in self.sets[node] if set(s) <= set(wanted)]
        if node in idle:
            yield from inside
        elif node != c and c not in wanted:
            yield from (s for s in inside if c not in s)

    def parents_of_choice(self, choice: Sequence[int] | NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
        """Parents of every node for the columns chosen (one a node)."""
        return tuple(self.columns[int(k)][1] for k in choice)

    def table_cells(self, data: DiscreteDataset) -> int:
        """CPT cells over all candidates together."""
        card = data.cardinalities
        return sum(card[node] * prod(card[p] for p in s) for node, s in self.columns)


def parent_matrix(candidates: CandidateParents) -> NDArray[np.bool_]:
    """Which nodes are parents in each column, shape (n_columns, n_nodes)."""
    member = np.zeros((candidates.n_columns, candidates.n_nodes + 1), dtype=bool)
    member[np.arange(candidates.n_columns)[:, None], candidates.parent_array] = True  # no parent, -1, is the last
    return np.ascontiguousarray(member[:, :-1])


def refuse_large_choice(data: DiscreteDataset, candidates: "CandidateParents") -> None:
    """Raise `SizeLimitError` when a network of the candidates could be too large to be made.

    The largest set of every node is counted: what a search may find has to be usable, which is said before it begins.

    Parameters
    ----------
    data : DiscreteDataset
    candidates : CandidateParents
    """
    card = np.append(np.array(data.cardinalities, dtype=np.float64), 1.0)  # the last is that of no parent, -1
    cells = card[candidates.parent_array].prod(axis=1) * card[candidates.owner]
    largest = np.maximum.reduceat(cells, candidates.offsets[:-1])
    if largest.sum() <= counts.MAX_NETWORK_CELLS:
        return
    names = (*data.feature_names, data.class_name)
    told = ", ".join(f"{shown(names[node])} {int(largest[node]):,}" for node in np.argsort(-largest, kind="stable")[:3])
    raise SizeLimitError(
        f"A network of these candidate parent sets could have {int(largest.sum()):,} table cells, the largest {told}; "
        f"the limit is {counts.MAX_NETWORK_CELLS:,}. Lower max_parents, merge states, leave such columns out, or keep "
        "fewer candidates (restriction, --candidates)."
    )
