"""Rows that keep a choice of parent sets acyclic: the paper's order constraints, a tighter form, and clusters.

``a[i, j]`` is the sum of the columns of node j whose parent set holds i.

* ``order-printed``: ``2 D (1 - a[i, j]) + o[j] - o[i] >= D / V`` for all ordered pairs of nodes, the class included,
  ``0 <= o <= D`` (Peharz & Pernkopf 2012, eq. 16; here D = V, the number of nodes).
* ``order``: ``o[j] - o[i] >= 1 - V (1 - a[i, j])`` with ``0 <= o <= V - 1``, and ``a[i, j] + a[j, i] <= 1``. Where
  every non-empty parent set of a feature holds the class, cycles through the class are cut off by one row a feature
  (``sum of class columns with parent j <= column of j's empty set``), and only features carry an order.
* ``cluster``: for every set of two or more nodes, at least one of them chooses a parent set outside of it
  (Jaakkola et al. 2010; eq. 7); all sets are listed, so the number of nodes is limited.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InputError, SizeLimitError
from ...networks.candidates import CandidateParents, parent_matrix
from ...networks.structure import Structure

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = [
    "MAX_CLUSTER_NODES",
    "Acyclicity",
    "AcyclicityRows",
    "Turning",
    "acyclicity_rows",
    "class_link_rows",
    "class_parent_columns",
    "count_acyclicity",
    "order_values",
    "ordered_nodes",
    "tree_root_columns",
]

Acyclicity = Literal["auto", "order", "order-printed", "cluster"]

MAX_CLUSTER_NODES = 12

RowSubject = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class AcyclicityRows:
    """Rows over the structure columns followed by one order column a node in `ordered`.

    Parameters
    ----------
    matrix : CSR array (n_rows, n_columns + len(ordered))
    lower, upper : float64 arrays (n_rows,)
    ordered : tuple of int
        Nodes with an order column.
    order_upper : float
        Upper bound of the order columns.
    what : tuple of (str, tuple of int)
        Of each row its kind and the nodes that it is about, for its name.
    """

    matrix: "sp.csr_array"
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    ordered: tuple[int, ...]
    order_upper: float
    what: tuple[RowSubject, ...] = ()


def resolve(acyclicity: str) -> Acyclicity:
    """Turn ``auto`` into the form that general solvers do best with."""
    if acyclicity == "auto":
        return "order"
    if acyclicity in ("order", "order-printed", "cluster"):
        return acyclicity  # type: ignore[return-value]
    raise InputError(f'acyclicity must be "auto", "order", "order-printed" or "cluster", got {acyclicity!r}.')


def _cyclic_nodes(candidates: CandidateParents) -> list[int]:
    """Nodes that need an order: the features, and the class unless one row a feature takes care of it."""
    n = candidates.n_nodes
    return list(range(n - 1 if candidates.class_parents_block_features else n))


def count_acyclicity(candidates: CandidateParents, form: str) -> tuple[int, int]:
    """Numbers of rows and of order columns (upper estimate of the rows)."""
    form = resolve(form)
    n = candidates.n_nodes
    nodes = len(_cyclic_nodes(candidates))
    link = n - 1 if candidates.class_parents_block_features else 0
    if form == "order-printed":
        return n * (n - 1), n
    if form == "order":
        return nodes * (nodes - 1) * 3 // 2 + link, nodes
    return 2 ** min(nodes, 60) + link, 0


def ordered_nodes(candidates: CandidateParents, form: str) -> tuple[int, ...]:
    """Nodes that have an order column."""
    form = resolve(form)
    if form == "order-printed":
        return tuple(range(candidates.n_nodes))
    return () if form == "cluster" else tuple(_cyclic_nodes(candidates))


class _RowList:
    """Sparse rows one after another, as triplets."""

    def __init__(self) -> None:
        self.rows: list[NDArray[np.intp]] = []
        self.columns: list[NDArray[np.intp]] = []
        self.values: list[NDArray[np.float64]] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.what: list[RowSubject] = []

    def add(
        self, parts: list[tuple[NDArray[np.intp], float]], lower: float, upper: float, kind: str, *nodes: int
    ) -> None:
        self.what.append((kind, nodes))
        for columns, value in parts:
            self.rows.append(np.full(len(columns), len(self.lower), dtype=np.intp))
            self.columns.append(columns)
            self.values.append(np.full(len(columns), value))
        self.lower.append(lower)
        self.upper.append(upper)

    def matrix(self, n_columns: int) -> "sp.csr_array":
        import scipy.sparse as sp

        shape = (len(self.lower), n_columns)
        if not self.rows:
            return sp.csr_array(shape)
        triplets = (np.concatenate(self.values), (np.concatenate(self.rows), np.concatenate(self.columns)))
        return sp.csr_array(sp.coo_array(triplets, shape=shape))


def acyclicity_rows(candidates: CandidateParents, form: str) -> AcyclicityRows:
    """Rows of one of the three forms for the given candidates."""
    form = resolve(form)
    columns_with = _columns_with_parent(candidates)
    ordered = ordered_nodes(candidates, form)
    rows = _RowList()
    if form == "order-printed":
        height = float(len(ordered))
        for i in ordered:
            for j in ordered:
                if i != j:
                    _order_row(rows, candidates, columns_with, ordered, i, j, big=2 * height, step=1.0)
        matrix = rows.matrix(candidates.n_columns + len(ordered))
        return AcyclicityRows(matrix, *_sides(rows), ordered, height, tuple(rows.what))
    if candidates.class_parents_block_features:
        _class_rows(rows, candidates, columns_with)
    if form == "cluster":
        _cluster_rows(rows, candidates, _cyclic_nodes(candidates))
        return AcyclicityRows(rows.matrix(candidates.n_columns), *_sides(rows), ordered, 0.0, tuple(rows.what))
    for i in ordered:
        for j in ordered:
            if i != j and len(columns_with[i, j]):
                _order_row(rows, candidates, columns_with, ordered, i, j, big=float(len(ordered)), step=1.0)
                if i < j and len(columns_with[j, i]):
                    rows.add([(columns_with[i, j], 1.0), (columns_with[j, i], 1.0)], -np.inf, 1.0, "one_way", i, j)
    matrix = rows.matrix(candidates.n_columns + len(ordered))
    return AcyclicityRows(matrix, *_sides(rows), ordered, float(max(len(ordered) - 1, 0)), tuple(rows.what))


def _sides(rows: _RowList) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.array(rows.lower, dtype=np.float64), np.array(rows.upper, dtype=np.float64)


def _columns_with_parent(candidates: CandidateParents) -> dict[tuple[int, int], NDArray[np.intp]]:
    """Columns of node j whose set holds i, for every ordered pair (i, j)."""
    found: dict[tuple[int, int], list[int]] = {
        (i, j): [] for i in range(candidates.n_nodes) for j in range(candidates.n_nodes)
    }
    for column, (node, parents) in enumerate(candidates.columns):
        for p in parents:
            found[p, node].append(column)
    return {pair: np.array(columns, dtype=np.intp) for pair, columns in found.items()}


def _order_row(
    rows: _RowList,
    candidates: CandidateParents,
    columns_with: dict[tuple[int, int], NDArray[np.intp]],
    ordered: tuple[int, ...],
    i: int,
    j: int,
    *,
    big: float,
    step: float,
) -> None:
    """``o[j] - o[i] - big a[i, j] >= step - big``."""
    order_j = np.array([candidates.n_columns + ordered.index(j)], dtype=np.intp)
    order_i = np.array([candidates.n_columns + ordered.index(i)], dtype=np.intp)
    rows.add([(columns_with[i, j], -big), (order_j, 1.0), (order_i, -1.0)], step - big, np.inf, "order", i, j)


def _class_rows(
    rows: _RowList, candidates: CandidateParents, columns_with: dict[tuple[int, int], NDArray[np.intp]]
) -> None:
    """A parent of the class has no parents itself: all its other sets hold the class."""
    c = candidates.class_index
    for j in range(c):
        as_parent = columns_with[j, c]
        if len(as_parent):
            empty = candidates.column_of.get((j, ()))
            own = np.array([] if empty is None else [empty], dtype=np.intp)
            rows.add([(as_parent, 1.0), (own, -1.0)], -np.inf, 0.0, "parent_of_class", j)


def _cluster_rows(rows: _RowList, candidates: CandidateParents, nodes: list[int]) -> None:
    if len(nodes) > MAX_CLUSTER_NODES:
        raise SizeLimitError(
            f'acyclicity="cluster" lists all 2^{len(nodes)} sets of {len(nodes)} nodes; '
            f"the limit is {MAX_CLUSTER_NODES} nodes. "
            'Use acyclicity="order".'
        )
    members = np.zeros((candidates.n_columns, candidates.n_nodes), dtype=bool)
    for column, (_, parents) in enumerate(candidates.columns):
        members[column, list(parents)] = True
    owner = np.array([node for node, _ in candidates.columns])
    for size in range(2, len(nodes) + 1):
        for cluster in combinations(nodes, size):
            outside = np.isin(owner, cluster) & ~members[:, cluster].any(axis=1)
            rows.add([(np.flatnonzero(outside), 1.0)], 1.0, np.inf, "cluster", *cluster)


def order_values(structure: Structure, ordered: tuple[int, ...]) -> NDArray[np.float64]:
    """Order columns that fit a structure: the position of each ordered node in a topological order."""
    among = set(ordered)
    position = {node: k for k, node in enumerate(v for v in structure.topological_order() if v in among)}
    return np.array([float(position[node]) for node in ordered])


def class_link_rows(candidates: CandidateParents) -> "sp.csr_array":
    """``sum of class columns with parent j - column of j's empty set <= 0``, where acyclicity implies it.

    A parent of the class has no parents itself when all its other sets hold the class.
    """
    import scipy.sparse as sp

    c = candidates.class_index
    if not candidates.class_parents_block_features:
        return sp.csr_array((0, candidates.n_columns))
    member = parent_matrix(candidates)
    first = candidates.offsets[c]
    rows, columns, values = [], [], []
    n_rows = 0
    for j in range(c):
        as_parent = first + np.flatnonzero(member[first:, j])
        if not len(as_parent):
            continue
        empty = candidates.column_of.get((j, ()))
        own = [] if empty is None else [empty]
        rows += [n_rows] * (len(as_parent) + len(own))
        columns += [*as_parent, *own]
        values += [1.0] * len(as_parent) + [-1.0] * len(own)
        n_rows += 1
    return sp.csr_array((values, (rows, columns)), shape=(n_rows, candidates.n_columns))


def tree_root_columns(candidates: CandidateParents) -> NDArray[np.intp] | None:
    """Of each feature the column {class}, where any tree of features can hang from any of its nodes; else None.

    That takes candidates {}, {class} and {class, j} alone, {class} for every feature, and both or neither of two
    features as the other's parent. Features without {class} or with another feature as required parent rule it out.
    """
    c = candidates.class_index
    roots = np.full(candidates.n_nodes, -1, dtype=np.intp)
    for i, options in enumerate(candidates.sets[:-1]):
        if any(s and (c not in s or len(s) > 2) for s in options):
            return None
        pairs = [j for s in options if len(s) == 2 for j in s if j != c]
        if not pairs:
            continue  # the node stands alone
        if (c,) not in options or any((i, c) not in candidates.sets[j] for j in pairs):
            return None
        roots[i] = candidates.column_of[i, (c,)]
    return roots


class Turning(NamedTuple):
    """How trees of features may be hung so that little is lost.

    Parameters
    ----------
    ranks : int array (n_nodes,) or None
        A tree hangs from its node of least rank; None: of least number.
    alone : bool
        Whether the class needs no parents.
    cost : float
        What a structure is worth more at most than the one that stands for it.
    """

    ranks: NDArray[np.intp] | None
    alone: bool
    cost: float


def class_parent_columns(candidates: CandidateParents) -> NDArray[np.bool_] | None:
    """Columns in which the class has parents; None where a tree of features cannot stand for each of them.

    It takes one or two parents, {class} for both of them, each with the class as a set of the other, and nothing that
    they need to have.
    """
    c, column_of = candidates.class_index, candidates.column_of
    for s in candidates.sets[c]:
        pair = len(s) < 2 or (len(s) == 2 and all((a, (b, c)) in column_of for a, b in (s, s[::-1])))
        if not pair or any((u, (c,)) not in column_of or (u, ()) not in column_of for u in s):
            return None
    if (c, ()) not in column_of:
        return None
    spare: NDArray[np.bool_] = candidates.owner == c
    spare[column_of[c, ()]] = False
    return spare
