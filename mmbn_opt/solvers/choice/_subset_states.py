"""Layers of node subsets: those of one size are expanded together, the cheapest way into each is kept."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray
from ...results.status import TerminationStatus
from ..journal import Ended
from ._subset_parts import Part, Patterns

__all__ = ["Layers"]

MaskArray = NDArray[np.uint64]
Layer = tuple[MaskArray, FloatArray, MaskArray]
"""Sets, what was spent on each, and the set that each was made from."""

CHUNK = 20_000
"""Sets expanded between two looks at the clock."""

COMPACT = 2_000_000
"""Children waiting in a layer that are merged before more are added."""


class Layers:
    """Search of one part.

    Parameters
    ----------
    part : Part
    start : int64 array (size,) or None
        Acyclic columns of the part; sets that cannot beat them are dropped.
    group_size : int
        Of the pattern databases.
    """

    def __init__(self, part: Part, start: NDArray[np.int64] | None, group_size: int) -> None:
        self.part = part
        self.states = 0
        self.bound = float(part.cost[part.offsets[:-1]].sum())
        self.columns: NDArray[np.int64] | None = None
        self._best = np.inf
        self._group_size = group_size
        self._dropped = np.inf
        if start is not None:
            self._take(start)

    def _take(self, columns: NDArray[np.int64]) -> None:
        if (value := float(self.part.cost[columns].sum())) < self._best:
            self._best, self.columns = value, columns

    def prepare(self) -> None:
        """Compute the pattern databases; the bound at the root follows."""
        self._patterns = Patterns.build(self.part, self._group_size)
        self.bound = max(self.bound, float(self._patterns.bounds(np.zeros(1, dtype=np.uint64))[0]))

    def run(self, check: Callable[[], None], max_states: int) -> Iterator[None]:
        """Expand layer after layer, yielding when the bound may have moved; the columns are those of an optimum."""
        from ._subset_kernels import close, expand

        part = self.part
        size, fixed = part.size, (part.size, part.offsets, part.masks, part.cost)
        patterns = (
            self._patterns.members, self._patterns.group_start, self._patterns.table, self._patterns.table_start
        )  # fmt: skip
        cutoff = self._best - 1e-12 * max(1.0, abs(self._best)) if np.isfinite(self._best) else np.inf
        mask, spent = close(np.uint64(0), 0.0, *fixed)
        root = np.array([mask], dtype=np.uint64)
        if not self.bound < cutoff:
            self.bound = min(self._best, self.bound) if np.isfinite(self._best) else np.inf
            return
        waiting: list[list[Layer]] = [[] for _ in range(size + 1)]
        waiting[int(mask).bit_count()] = [(root, np.array([spent]), np.zeros(1, dtype=np.uint64))]
        kept: list[Layer] = []
        room = (
            np.empty(CHUNK * size, dtype=np.uint64),
            np.empty(CHUNK * size),
            np.empty(CHUNK * size, dtype=np.uint64),
        )
        for level in range(size):
            if not waiting[level]:
                continue
            states, cost, _ = layer = _merge(waiting[level])
            waiting[level] = []
            kept.append(layer)
            self.states += len(states)
            self.bound = max(self.bound, self._least(layer, waiting))
            yield
            for first in range(0, len(states), CHUNK):
                check()
                if self.states + sum(len(block[0]) for blocks in waiting for block in blocks) > max_states:
                    raise Ended(TerminationStatus.NODE_LIMIT, f"more than max_states={max_states:,} subsets")
                part_of = slice(first, first + CHUNK)
                count, dropped = expand(states[part_of], cost[part_of], *fixed, *patterns, cutoff, *room)
                self._dropped = min(self._dropped, dropped)
                _file(tuple(array[:count].copy() for array in room), waiting)  # type: ignore[arg-type]
        if waiting[size]:
            layer = _merge(waiting[size])
            self._take(self._trace_back(layer, kept))
            self.bound = max(self.bound, min(float(layer[1][0]), self._dropped))
        else:
            # Every way is at least as dear as the start, and the start is one of them.
            self.bound = max(self.bound, min(self._best, self._dropped))

    def _least(self, layer: Layer, waiting: list[list[Layer]]) -> float:
        """Least total cost that any set still to be expanded, or any dropped one, allows."""
        blocks = [layer, *(block for blocks in waiting for block in blocks)]
        open_ones = min(float((block[1] + self._patterns.bounds(block[0])).min()) for block in blocks)
        return min(open_ones, self._dropped)

    def _trace_back(self, last: Layer, kept: list[Layer]) -> NDArray[np.int64]:
        """Columns along the cheapest way to the full set."""
        mask, source = int(last[0][0]), int(last[2][0])
        columns = np.full(self.part.size, -1, dtype=np.int64)
        while mask:
            available = source
            missing = [v for v in range(self.part.size) if mask >> v & 1 and not source >> v & 1]
            columns = self._place(missing, available, columns)
            mask = source
            for states, _, came_from in kept:
                at = int(np.searchsorted(states, np.uint64(mask)))
                if at < len(states) and int(states[at]) == mask:
                    source = int(came_from[at])
        return columns

    def _place(self, missing: list[int], available: int, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Columns of the nodes that one step placed: one that was chosen, and those that then had their best column.

        Which was the chosen one is not kept; the cheapest possibility is as good.
        """
        best, chosen = np.inf, columns
        for leader in missing:
            trial, placed, total = columns.copy(), available, 0.0
            queue = [leader]
            while queue:
                v = queue.pop()
                trial[v] = self.part.best_column(v, placed)
                total += float(self.part.cost[trial[v]]) if trial[v] >= 0 else np.inf
                placed |= 1 << v
                queue = [
                    w for w in missing if not placed >> w & 1
                    and not int(self.part.masks[self.part.offsets[w]]) & ~placed
                ][:1]  # fmt: skip
            if all(placed >> v & 1 for v in missing) and total < best:
                best, chosen = total, trial
        return chosen


def _merge(blocks: list[Layer]) -> Layer:
    """One block, ascending, with the cheapest way into each set (and of equal ones the one from the lowest set)."""
    states, spent, source = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    order = np.lexsort((source, spent, states))
    ordered = states[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    chosen = order[first]
    return states[chosen], spent[chosen], source[chosen]


def _file(children: Layer, waiting: list[list[Layer]]) -> None:
    """Sort children into layers by their size."""
    size = np.bitwise_count(children[0])
    for level in np.unique(size):
        here = size == level
        block = _merge([(children[0][here], children[1][here], children[2][here])])
        waiting[level].append(block)
        if sum(len(b[0]) for b in waiting[level]) > COMPACT:
            waiting[level] = [_merge(waiting[level])]
