"""Tabu search for violated cluster rows where nodes have several parents: microseconds before `cluster_program`."""

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray, kernel

__all__ = ["searched_clusters"]

STEPS = 40
"""Moves from each start at most."""

TENURE = 4
"""Moves for which a node that came or went stays where it is."""


@kernel(nogil=True)
def _moves(
    x: FloatArray,
    own: NDArray[np.int64],
    starts: NDArray[np.int64],
    inner: NDArray[np.int64],
    members: BoolArray,
    inside: NDArray[np.int64],
    change: FloatArray,
) -> None:
    """What each node's coming or going changes the row's left side by."""
    change[:] = 0.0
    for k in range(len(own)):
        i = own[k]
        if inside[k] == 0:
            change[i] += -x[k] if members[i] else x[k]
        if members[i]:
            if inside[k] == 0:
                for t in range(starts[k], starts[k + 1]):
                    change[inner[t]] -= x[k]
            elif inside[k] == 1:
                for t in range(starts[k], starts[k + 1]):
                    if members[inner[t]]:
                        change[inner[t]] += x[k]


@kernel(nogil=True)
def searched_clusters(
    x: FloatArray,
    own: NDArray[np.int64],
    starts: NDArray[np.int64],
    inner: NDArray[np.int64],
    partner: NDArray[np.int64],
) -> tuple[BoolArray, FloatArray]:
    """The best set met from each node's start, and the left side of its row.

    Parameters
    ----------
    x : float64 array (n_columns,)
        Values of the columns of the part's nodes that are above 0.
    own : int array (n_columns,)
        Node of each, from 0 within the part.
    starts, inner : int arrays
        ``inner[starts[k]:starts[k + 1]]`` are the parents of column k in the part.
    partner : int array (n,)
        The search from node v begins at ``{v, partner[v]}``.
    """
    n = len(partner)
    best_sets = np.zeros((n, n), dtype=np.bool_)
    best_values = np.full(n, np.inf)
    members = np.zeros(n, dtype=np.bool_)
    inside = np.zeros(len(own), dtype=np.int64)
    change = np.zeros(n)
    free_at = np.zeros(n, dtype=np.int64)
    for v in range(n):
        members[:] = False
        members[v] = True
        members[partner[v]] = True
        size = 2
        value = 0.0
        for k in range(len(own)):
            inside[k] = 0
            for t in range(starts[k], starts[k + 1]):
                if members[inner[t]]:
                    inside[k] += 1
            if members[own[k]] and inside[k] == 0:
                value += x[k]
        free_at[:] = 0
        best_values[v] = value
        best_sets[v] = members
        for step in range(1, STEPS + 1):
            _moves(x, own, starts, inner, members, inside, change)
            chosen = -1
            for u in range(n):
                if free_at[u] > step and value + change[u] >= best_values[v] - 1e-9:
                    continue
                if members[u] and size <= 2:
                    continue
                if chosen < 0 or change[u] < change[chosen] - 1e-12:
                    chosen = u
            if chosen < 0:
                break
            value += change[chosen]
            members[chosen] = not members[chosen]
            by = 1 if members[chosen] else -1
            size += by
            free_at[chosen] = step + TENURE
            for k in range(len(own)):
                for t in range(starts[k], starts[k + 1]):
                    if inner[t] == chosen:
                        inside[k] += by
            if value < best_values[v] - 1e-9:
                best_values[v] = value
                best_sets[v] = members
    return best_sets, best_values
