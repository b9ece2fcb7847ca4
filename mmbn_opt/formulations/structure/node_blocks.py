"""How supergradients are summed: tables of the columns of a set side by side, and sets that are counted together."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray
from ...scores.margins import EntryLookup
from .node_sets import NodeSets

__all__ = ["WIDTH", "NodeBlocks", "NodeBundles"]

WIDTH = 4
"""Columns side by side: sets of two features have three columns at most, those of three have four."""

MAX_GROWN_FEATURES = 256
"""Features up to which sets are looked for that can be counted together."""


class NodeBundles(NamedTuple):
    """The tables of up to `WIDTH` columns of a set side by side: one look at a cell serves them all.

    Parameters
    ----------
    values : float64 array
        Of each bundle, class by class and cell by cell, `WIDTH` numbers; 0 for a place without a column.
    start : int64 array (n_bundles + 1,)
        Where a bundle begins in `values`.
    columns : int64 array (n_bundles, WIDTH)
        Which column stands in a place; -1 for none.
    of_set : int64 array (n_sets + 1,)
        Where the bundles of each set begin.
    """

    values: FloatArray
    start: NDArray[np.int64]
    columns: NDArray[np.int64]
    of_set: NDArray[np.int64]

    @classmethod
    def of(cls, table: FloatArray, lookup: EntryLookup, sets: NodeSets) -> "NodeBundles":
        """The bundles of all sets.

        Examples
        --------
        >>> from mmbn_opt import DiscreteDataset, SoftMarginStructure
        >>> data = DiscreteDataset.from_arrays([["a", "u"], ["b", "v"]] * 3, [0, 1] * 3)
        >>> tables = SoftMarginStructure(data).tables
        >>> bundles = NodeBundles.of(tables.table, tables.lookup, NodeSets.of(tables.lookup))
        >>> bundles.columns.shape, np.diff(bundles.start).tolist()  # cells, two classes, four columns
        ((4, 4), [8, 16, 32, 16])
        """
        n_classes, counts = table.shape[1], np.diff(sets.start)
        of_set = np.concatenate([[0], np.cumsum(-(-counts // WIDTH))])
        owner = np.repeat(np.arange(len(counts)), np.diff(of_set))
        start = np.concatenate([[0], np.cumsum(sets.cells[owner] * (n_classes * WIDTH))])
        columns = np.full((len(owner), WIDTH), -1, dtype=np.int64)
        values = np.zeros(int(start[-1]))
        for s, cells in enumerate(sets.cells.tolist()):
            states = _states(sets, s)
            for place, k in enumerate(sets.columns[sets.start[s] : sets.start[s + 1]].tolist()):
                bundle, j = int(of_set[s]) + place // WIDTH, place % WIDTH
                rows = int(lookup.first_row[k]) + lookup.strides[k, : len(states)].astype(np.int64) @ states
                block = values[start[bundle] : start[bundle + 1]].reshape(n_classes, cells, WIDTH)
                block[:, :, j] = table[rows].T
                columns[bundle, j] = k
        return cls(values, start, columns, of_set)


class NodeBlocks(NamedTuple):
    """Sets of features whose joint states are counted together: their union has few cells beside samples.

    Every pair among four features follows from the counts of their joint states, so that one pass over the samples
    serves six sets. Each set belongs to one block.

    Parameters
    ----------
    members, strides : int32 arrays (n_blocks, width)
        As those of `NodeSets`, of the union of the sets.
    cells : int64 array (n_blocks,)
    of_block : int64 array (n_blocks + 1,)
        Where the sets of each block begin in `sets`.
    sets : int64 array (n_sets,)
    inside : int32 array (n_sets, width)
        Strides in the set's cells of the block's features; 0 where the set hasn't got the feature.
    """

    members: NDArray[np.int32]
    strides: NDArray[np.int32]
    cells: NDArray[np.int64]
    of_block: NDArray[np.int64]
    sets: NDArray[np.int64]
    inside: NDArray[np.int32]

    @classmethod
    def of(cls, sets: NodeSets, states: NDArray[np.int32], max_cells: int) -> "NodeBlocks":
        """Unions of sets with at most `max_cells` cells each, and sets that have more by themselves.

        Examples
        --------
        >>> from mmbn_opt import DiscreteDataset, SoftMarginStructure
        >>> rows = np.random.default_rng(0).integers(2, size=(99, 7))
        >>> lookup = SoftMarginStructure(DiscreteDataset.from_arrays(rows[:, :6], rows[:, 6])).tables.lookup
        >>> sets = NodeSets.of(lookup)
        >>> [len(NodeBlocks.of(sets, lookup.states, cells).cells) for cells in (4, 8, 64)]
        [15, 7, 1]
        """
        features = [_features(sets, s) for s in range(len(sets.cells))]
        size = states.astype(np.int64)
        n = len(size)
        open_pairs = np.zeros((n, n), dtype=np.bool_)
        for pair in features:
            if len(pair) == 2:
                open_pairs[pair[0], pair[1]] = open_pairs[pair[1], pair[0]] = True
        grows = n <= MAX_GROWN_FEATURES
        unions: list[list[int]] = []
        for s in sorted(range(len(features)), key=lambda s: (-len(features[s]), s)):
            union = list(features[s])
            if len(union) < 2 or (len(union) == 2 and not open_pairs[union[0], union[1]]):
                continue
            open_pairs[np.ix_(union, union)] = False
            cells = int(size[union].prod())
            while grows and cells <= max_cells:
                gains = open_pairs[union].sum(axis=0) * (cells * size <= max_cells)
                best = int(np.argmax(gains))
                if gains[best] < 1:
                    break
                union.append(best)
                cells *= int(size[best])
                open_pairs[np.ix_(union, union)] = False
            unions.append(sorted(union))
        return cls._assemble(features, unions, size)

    @classmethod
    def _assemble(cls, features: list[list[int]], unions: list[list[int]], size: NDArray[np.int64]) -> "NodeBlocks":
        holders: dict[int, set[int]] = {}
        for b, union in enumerate(unions):
            for feature in union:
                holders.setdefault(feature, set()).add(b)
        belongs = np.empty(len(features), dtype=np.int64)
        for s, own in enumerate(features):
            fits = set.intersection(*(holders.get(f, set()) for f in own)) if own else set(range(min(1, len(unions))))
            if not fits:  # a feature by itself, of which there is no pair
                unions.append(own)
                fits = {len(unions) - 1}
                for feature in own:
                    holders.setdefault(feature, set()).add(len(unions) - 1)
            belongs[s] = min(fits)
        order = np.argsort(belongs, kind="stable")
        width = max(2, max(map(len, unions)))
        members, strides = np.zeros((2, len(unions), width), dtype=np.int32)
        for b, union in enumerate(unions):
            members[b, : len(union)] = union
            strides[b, : len(union)] = _strides(union, size)
        inside = np.zeros((len(features), width), dtype=np.int32)
        for place, s in enumerate(order.tolist()):
            strides_of = dict(zip(features[s], _strides(features[s], size), strict=True))
            union = unions[int(belongs[s])]
            inside[place, : len(union)] = [strides_of.get(feature, 0) for feature in union]
        cells = np.array([int(size[union].prod()) for union in unions], dtype=np.int64)
        return cls(members, strides, cells, np.searchsorted(belongs[order], np.arange(len(unions) + 1)), order, inside)


def _features(sets: NodeSets, s: int) -> list[int]:
    return [int(m) for m, stride in zip(sets.members[s], sets.strides[s], strict=True) if stride > 0]


def _strides(features: list[int], size: NDArray[np.int64]) -> list[int]:
    """By which the joint states of some features are numbered, the last one fastest."""
    return [int(size[features[place + 1 :]].prod()) for place in range(len(features))]


def _states(sets: NodeSets, s: int) -> NDArray[np.int64]:
    """States of the features of a set, in its places, in each of its cells; shape (width, cells)."""
    left = np.arange(sets.cells[s])
    states = np.zeros((sets.members.shape[1], len(left)), dtype=np.int64)
    for w, stride in enumerate(sets.strides[s].tolist()):
        if stride > 0:
            states[w], left = np.divmod(left, stride)
    return states
