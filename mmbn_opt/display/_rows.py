"""Which row each node is drawn in: parents above children, the class as high as it can be, no row too wide."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mmbn_opt.networks.structure import Structure

__all__ = ["Row", "assign_rows"]


@dataclass(frozen=True)
class Row:
    """Nodes of one row, in no particular order yet.

    Parameters
    ----------
    tied : tuple of int
        Nodes with an edge from or to a feature; their order matters for crossings.
    free : tuple of int
        Nodes with no edge but the one from the class, which can stand anywhere.
    """

    tied: tuple[int, ...]
    free: tuple[int, ...] = ()


def assign_rows(structure: Structure, columns: int) -> list[Row]:
    """Rows from top to bottom: ancestors of the class, the class alone, then everything else.

    Parameters
    ----------
    structure : Structure
    columns : int
        Most nodes in a row.
    """
    if not structure.has_class:
        nodes = range(len(structure.names))
        free = [v for v in nodes if not structure.parents[v] and not structure.children(v)]
        return _fill(_levels(structure, [v for v in nodes if v not in free], columns), free, columns)
    top = structure.class_index
    above = _ancestors(structure, top)
    tied = {node for v in range(top) for p in structure.parents[v] if p != top for node in (v, p)}
    features = [v for v in range(top) if v not in above]
    rows = [Row(tuple(level)) for level in _levels(structure, sorted(above), columns)]
    lower = _levels(structure, [v for v in features if v in tied], columns)
    free = [v for v in features if v not in tied]
    # Nodes without any edge come last.
    free.sort(key=lambda v: not structure.parents[v])
    return [*rows, Row((top,)), *_fill(lower, free, columns)]


def _ancestors(structure: Structure, node: int) -> set[int]:
    found: set[int] = set()
    stack = [node]
    while stack:
        for parent in structure.parents[stack.pop()]:
            if parent not in found:
                found.add(parent)
                stack.append(parent)
    return found


def _levels(structure: Structure, nodes: Sequence[int], columns: int) -> list[list[int]]:
    """List scheduling: a row takes the ready nodes with the longest chains below them (Coffman & Graham's idea)."""
    inside = set(nodes)
    parents = {v: {p for p in structure.parents[v] if p in inside} for v in nodes}
    children: dict[int, list[int]] = {v: [] for v in nodes}
    for v, ps in parents.items():
        for p in ps:
            children[p].append(v)
    height: dict[int, int] = {}
    for v in reversed(structure.topological_order()):
        if v in inside:
            height[v] = 1 + max((height[c] for c in children[v]), default=0)
    levels: list[list[int]] = []
    row_of: dict[int, int] = {}
    left = set(nodes)
    while left:
        ready = [v for v in left if all(p in row_of for p in parents[v])]
        # Among equals, children of an early parent first, so that few edges grow long.
        ready.sort(key=lambda v: (-height[v], min((row_of[p] for p in parents[v]), default=len(levels)), v))
        chosen = ready[:columns]
        for v in chosen:
            row_of[v] = len(levels)
        levels.append(chosen)
        left.difference_update(chosen)
    return levels


def _fill(levels: Sequence[Sequence[int]], free: Sequence[int], columns: int) -> list[Row]:
    """Put free nodes beside the tied ones, then into further rows of equal length."""
    room = [max(0, columns - len(level)) for level in levels]
    spare = max(0, len(free) - sum(room))
    extra = math.ceil(spare / columns)
    if extra:
        per_row = math.ceil(spare / extra)
        room += [per_row] * extra
    rows, start = [], 0
    padded = [*levels, *([[]] * extra)]
    for level, places in zip(padded, room, strict=True):
        rows.append(Row(tuple(level), tuple(free[start : start + places])))
        start += places
    return [row for row in rows if row.tied or row.free]
