"""Candidate parent sets: what a structure may choose from, node by node."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress, zip_longest
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.data import DiscreteDataset
from mmbn_opt.exceptions import InputError, SizeLimitError

__all__ = ["CandidateParents", "NamedEdges"]

NamedEdges = Iterable[tuple[str, str]]
Pools = Sequence[Sequence[int]]


@dataclass(frozen=True)
class CandidateParents:
    """Allowed parent sets of every node; column k of a structure program stands for one of them.

    Parameters
    ----------
    sets : tuple (n_nodes,) of tuples of parent sets
        Nodes are the features in order and the class last; a parent set is a sorted tuple of node numbers.

    Notes
    -----
    For the margin scores a feature has the empty set or the class with up to ``max_parents - 1`` features, since sets
    without the class do not move any margin; the class has any set of up to ``max_parents`` features
    (Peharz & Pernkopf 2012, section 4). Decomposable scores take all sets.

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
        cls, n_features: int, max_parents: int, usable: Sequence[int] | None = None, within: Pools | None = None
    ) -> "CandidateParents":
        """Sets that can move a margin; features outside `usable` (constant ones) stay isolated.

        `within` lists for every feature, and for the class last, the features that may be parents; None: all.
        """
        pool = list(range(n_features)) if usable is None else sorted(usable)
        sets: list[tuple[tuple[int, ...], ...]] = []
        for node in range(n_features):
            if node not in pool:
                sets.append(((),))
                continue
            others = [j for j in pool if j != node and (within is None or j in within[node])]
            with_class = [(*s, n_features) for size in range(max_parents) for s in combinations(others, size)]
            sets.append(((), *with_class))
        of_class = [j for j in pool if within is None or j in within[n_features]]
        sets.append(tuple(s for size in range(max_parents + 1) for s in combinations(of_class, size)))
        return cls(tuple(sets))

    @classmethod
    def for_all(
        cls, n_features: int, max_parents: int, usable: Sequence[int] | None = None, within: Pools | None = None
    ) -> "CandidateParents":
        """Every set of up to `max_parents` other nodes, the class an ordinary node; `within` as in `for_margins`."""
        pool = [*(range(n_features) if usable is None else sorted(usable)), n_features]
        sets = []
        for node in range(n_features + 1):
            others = [j for j in pool if j != node] if node in pool else []
            if within is not None:
                others = [j for j in others if j == n_features or j in within[node]]
            sets.append(
                tuple(s for size in range(min(max_parents, len(others)) + 1) for s in combinations(others, size))
            )
        return cls(tuple(sets))

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

    def restrict(
        self, names: Sequence[str], required: NamedEdges = (), forbidden: NamedEdges = ()
    ) -> "CandidateParents":
        """Keep the sets that contain every required edge and no forbidden one (edges as ``(parent, child)`` names)."""
        index = {name: k for k, name in enumerate(names)}
        must: list[set[int]] = [set() for _ in names]
        never: list[set[int]] = [set() for _ in names]
        for edges, target in ((required, must), (forbidden, never)):
            for parent, child in edges:
                for name in (parent, child):
                    if name not in index:
                        raise InputError(
                            f"Edge {(parent, child)!r} names the unknown node {name!r}; known: {list(names)}."
                        )
                target[index[child]].add(index[parent])
        kept = []
        for node, options in enumerate(self.sets):
            clash = must[node] & never[node]
            if clash:
                raise InputError(f"Edge {(names[min(clash)], names[node])!r} is both required and forbidden.")
            allowed = tuple(s for s in options if must[node] <= set(s) and not never[node] & set(s))
            if not allowed:
                raise InputError(
                    f"Node {names[node]!r} has no candidate parent set that contains "
                    f"{sorted(names[j] for j in must[node])} "
                    f"and avoids {sorted(names[j] for j in never[node])}; raise max_parents or relax the edges."
                )
            kept.append(allowed)
        return CandidateParents(tuple(kept))

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

    def choice(self, parents: Sequence[tuple[int, ...]]) -> NDArray[np.intp]:
        """Columns that a structure chooses, one a node; sets without the class stand for the empty set where needed."""
        chosen = []
        for node, raw in enumerate(parents):
            wanted = tuple(sorted(raw))
            column = self.column_of.get((node, wanted))
            if column is None and node != self.class_index and self.class_index not in wanted:
                column = self.column_of.get((node, ()))
            if column is None:
                raise InputError(f"Parent set {wanted} of node {node} is not among its candidates.")
            chosen.append(column)
        return np.array(chosen, dtype=np.intp)

    def parents_of_choice(self, choice: Sequence[int] | NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
        """Parents of every node for the columns chosen (one a node)."""
        return tuple(self.columns[int(k)][1] for k in choice)

    def table_cells(self, data: DiscreteDataset) -> int:
        """CPT cells over all candidates together."""
        card = data.cardinalities
        return sum(card[node] * prod(card[p] for p in s) for node, s in self.columns)


def estimate_columns(n_features: int, max_parents: int, *, margin: bool) -> int:
    """Number of columns before any set is listed."""
    if margin:
        per_feature = 1 + sum(comb(max(n_features - 1, 0), k) for k in range(max_parents))
        return n_features * per_feature + sum(comb(n_features, k) for k in range(max_parents + 1))
    return (n_features + 1) * sum(comb(n_features, k) for k in range(max_parents + 1))


def estimate_within(within: Pools, max_parents: int, *, margin: bool) -> int:
    """The same under a restriction: the features that may be parents, for every feature and for the class last."""
    if margin:
        features = sum(1 + sum(comb(len(pool), k) for k in range(max_parents)) for pool in within[:-1])
    else:
        features = sum(comb(len(pool) + 1, k) for pool in within[:-1] for k in range(max_parents + 1))
    return features + sum(comb(len(within[-1]), k) for k in range(max_parents + 1))


def refuse_columns(
    n_features: int, max_parents: int, *, margin: bool, max_columns: int, within: Pools | None = None
) -> None:
    """Raise `SizeLimitError` when listing the candidates would exceed `max_columns`."""
    if within is None:
        columns = estimate_columns(n_features, max_parents, margin=margin)
    else:
        columns = estimate_within(within, max_parents, margin=margin)
    if columns > max_columns:
        raise SizeLimitError(
            f"{n_features} features with max_parents={max_parents} have {columns:,} candidate parent sets; "
            f"the limit is max_columns={max_columns:,}. Lower max_parents, drop features, raise max_columns, or keep "
            f"fewer candidates: restriction=restrict_candidates(data, k=5), candidates=5 of the classifier, "
            f"--candidates 5 on the command line."
        )
