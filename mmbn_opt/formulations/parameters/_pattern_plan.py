"""Factors merged by the joint states of their features: an index that follows from codes, block by block."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import IntArray
from ...data.block_passes import cells_of
from ...programs.margin_operator import MarginOperator
from ._factor_index import MAX_PATTERNS, FactorIndex, ParameterLayout

__all__ = ["PatternPlan"]


@dataclass(frozen=True, eq=False)
class PatternPlan:
    """What `FactorIndex` and `MarginOperator` say of samples, for samples that come in blocks.

    The patterns of a group are all joint states of its features, whether they occur or not, so that all blocks have the
    same table rows and nothing is kept of a sample but its codes.

    Parameters
    ----------
    card : tuple of int
        States of every node, the class last.
    features : tuple of lists of int
        Of each group; the last one varies fastest.
    start, rows_ptr, rows
        As in `FactorIndex`.
    n_factor_rows : int
    gather : integer array (n_factor_rows, n_classes)
        As in `MarginOperator`.
    """

    card: tuple[int, ...]
    features: tuple[tuple[int, ...], ...]
    start: IntArray
    rows_ptr: IntArray
    rows: NDArray[np.int32]
    n_factor_rows: int
    gather: NDArray[np.intp]

    @classmethod
    def of(cls, layout: ParameterLayout) -> "PatternPlan":
        """Merge factors that share features, while the joint states of a group stay few."""
        card = layout.card
        groups = _groups([tuple(layout.scope(node)) for node in layout.nodes], card)
        features, start, rows_ptr, blocks = [], [0], [0], []
        for members in groups:
            own = tuple(sorted({v for f in members for v in layout.scope(layout.nodes[f])}))
            n_patterns = prod(card[v] for v in own)
            states = np.unravel_index(np.arange(n_patterns), [card[v] for v in own]) if own else ()
            rows = np.empty((n_patterns, len(members)), dtype=np.int32)
            for place, f in enumerate(members):
                cell = np.full(n_patterns, 0, dtype=np.int64)
                for v in layout.scope(layout.nodes[f]):
                    cell = cell * card[v] + states[own.index(v)]
                rows[:, place] = layout.factor_starts[f] + cell
            features.append(own)
            blocks.append(rows.ravel())
            start.append(start[-1] + n_patterns)
            rows_ptr.append(rows_ptr[-1] + rows.size)
        return cls(
            card=card,
            features=tuple(features),
            start=np.array(start, dtype=np.int64),
            rows_ptr=np.array(rows_ptr, dtype=np.int64),
            rows=np.concatenate(blocks),
            n_factor_rows=layout.factor_starts[-1],
            gather=layout.gather,
        )

    def index(self, columns: NDArray[np.unsignedinteger[Any]]) -> FactorIndex:
        """The index of a block of samples, each of weight 1.

        Parameters
        ----------
        columns : unsigned array (n_nodes, n_samples)
            See `block_sums`.
        """
        narrow = np.uint16 if int(np.diff(self.start).max()) <= 2**16 else np.uint32
        index = np.empty((len(self.features), columns.shape[1]), dtype=narrow)
        for out, features in zip(index, self.features, strict=True):
            if narrow is np.uint32:
                out[:] = cells_of(columns, features, self.card)
                continue
            out[:] = 0
            for v in features:  # sixteen bits at a time are several times as fast as sixty-four
                out *= np.uint16(self.card[v] % 2**16)
                out += columns[v]
        return FactorIndex(
            labels=columns[-1].astype(np.int32),
            weight=np.ones(columns.shape[1]),
            index=index,
            start=self.start,
            rows_ptr=self.rows_ptr,
            rows=self.rows,
        )

    def margins(self, columns: NDArray[np.unsignedinteger[Any]]) -> MarginOperator:
        """The margins of a block of samples as an operator."""
        return self.index(columns).margins(self.n_factor_rows, self.gather)


def _groups(scopes: Sequence[tuple[int, ...]], card: Sequence[int]) -> list[list[int]]:
    """Numbers of the factors of each group; each factor goes where it adds the fewest joint states."""
    left = list(range(len(scopes)))
    groups = []
    while left:
        members = [left.pop(0)]
        inside = set(scopes[members[0]])
        size = prod(card[v] for v in inside)
        while left:
            grown = [size * prod(card[v] for v in scopes[f] if v not in inside) for f in left]
            best = int(np.argmin(grown))
            if grown[best] > MAX_PATTERNS:
                break
            size = grown[best]
            inside.update(scopes[left[best]])
            members.append(left.pop(best))
        groups.append(members)
    return groups
