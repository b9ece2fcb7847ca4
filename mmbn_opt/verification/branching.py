"""The least loss over acyclic choices where each node has one parent besides a hub: branchings, in whole numbers."""

from fractions import Fraction
from math import floor, inf, isfinite, nextafter

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.verification.boxes import Boxes

__all__ = ["branching_bound"]

UNIT = 2**60
Arcs = dict[tuple[int, int], int]


def branching_bound(
    bound: float, with_column: NDArray[np.float64], allowed: NDArray[np.bool_], boxes: Boxes, hub: int
) -> float:
    """A bound on acyclic choices of a box, from one on all its choices, and on those with each column.

    It is more than `bound` where every column of another node has no parents, or the hub and at most one more: a parent
    of the hub can then have no parents, and all others form a branching, whatever their arcs (Edmonds 1967).
    """
    known = isfinite(bound) and bool(np.isfinite(with_column[allowed]).all())
    whole = {k: floor((Fraction(with_column[k]) - Fraction(bound)) * UNIT) for k in np.flatnonzero(allowed) if known}
    others = [(k, boxes.owner[k], {*np.flatnonzero(boxes.parents[k])}) for k in whole if boxes.owner[k] != hub]
    sums = []
    for k in [k for k in whole if boxes.owner[k] == hub]:
        arcs: Arcs = {}
        for column, node, above in others:
            if above and (hub not in above or len(above) > 2):
                return bound
            if not (above and boxes.parents[k, node]):
                arc = next(iter(above - {hub}), -1), node
                arcs[arc] = min(arcs.get(arc, whole[column]), whole[column])
        lightest = _lightest(arcs, {node for _, node, _ in others})
        sums += [] if lightest is None else [whole[k] + lightest]
    return nextafter(float(Fraction(bound) + Fraction(min(sums), UNIT)), -inf) if sums else bound


def _lightest(arcs: Arcs, nodes: set[int]) -> int | None:
    """Least weight of an arborescence that reaches all nodes from -1; None if there is none."""
    best: dict[int, tuple[int, int]] = {}
    for (above, node), weight in arcs.items():
        best[node] = min(best.get(node, (weight, above)), (weight, above))
    if len(best) < len(nodes):
        return None
    for start in nodes:
        walk, node = [], start
        while node != -1 and node not in walk:
            walk.append(node)
            node = best[node][1]
        if node != -1:  # the walk ends in a cycle: it becomes one node
            cycle = set(walk[walk.index(node) :])
            merged: Arcs = {}
            for (above, below), weight in arcs.items():
                arc = node if above in cycle else above, node if below in cycle else below
                if arc[0] != arc[1]:
                    less = weight - best[below][0] if below in cycle else weight
                    merged[arc] = min(merged.get(arc, less), less)
            rest = _lightest(merged, nodes - cycle | {node})
            return None if rest is None else rest + sum(best[v][0] for v in cycle)
    return sum(weight for weight, _ in best.values())
