"""Compiled walks over all small sets of nodes: sums over their tables, and which parent sets beat all their parts.

Sets are numbered by size, then by the combinatorial number system: the set ``c1 < ... < ck`` stands at
``starts[k] + sum_t C(ct, t)``. A walk adds ever smaller members, so that every part of a set comes before it.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray, kernel

__all__ = ["subtree_sums", "undominated_sets"]


@kernel(nogil=True)
def _place(members: NDArray[np.integer[Any]], size: int, choose: IntArray, starts: IntArray) -> int:
    """Number of a set whose members are listed from the largest on."""
    at: int = starts[size]
    for t in range(size):
        at += choose[members[t], size - t]
    return at


@kernel(nogil=True)
def _refined(
    groups: NDArray[np.int32],
    values: NDArray[np.int32],
    states: int,
    weight: FloatArray,
    slots: NDArray[np.int32],
    refined: NDArray[np.int32],
    totals: FloatArray,
) -> int:
    """Part the groups of samples by the states of one more node; the number of groups, and their weights."""
    count = 0
    for i in range(len(weight)):
        key = groups[i] * states + values[i]
        if slots[key] < 0:
            slots[key] = count
            totals[count] = 0.0
            count += 1
        refined[i] = slots[key]
        totals[slots[key]] += weight[i]
    for i in range(len(weight)):
        slots[groups[i] * states + values[i]] = -1
    return count


@kernel(nogil=True)
def _sum_of_groups(totals: FloatArray, count: int, pseudo: float) -> float:
    total = 0.0
    if pseudo <= 0.0:
        for g in range(count):
            if totals[g] > 0.0:
                total += totals[g] * math.log(totals[g])
        return total
    single, base = math.log(pseudo), math.lgamma(pseudo)
    for g in range(count):
        if totals[g] == 1.0:
            total += single
        elif totals[g] > 0.0:
            total += math.lgamma(totals[g] + pseudo) - base
    return total


@kernel(nogil=True)
def subtree_sums(
    columns: NDArray[np.int32],
    card: IntArray,
    weight: FloatArray,
    first: NDArray[np.int32],
    most: int,
    ess: float,
    choose: IntArray,
    starts: IntArray,
    sums: FloatArray,
) -> None:
    """``sum n log n`` of the table of every set that begins with `first`, or log Gammas under a prior.

    Parameters
    ----------
    columns : int32 array (n_nodes, n_samples)
    card : int64 array (n_nodes,)
    weight : float64 array (n_samples,)
    first : int32 array (n_first,)
        Largest members of the sets, descending; further ones are smaller.
    most : int
        Members of a set at most.
    ess : float
        Equivalent sample size; 0 for entropies.
    choose, starts
        Binomial coefficients, and numbers of the first set of each size.
    sums : float64 array
        Written, by the numbers of the sets.
    """
    n_samples = len(weight)
    groups = np.zeros((most + 1, n_samples), dtype=np.int32)
    cells = np.ones(most + 1)
    totals = np.empty(n_samples)
    slots = np.full(n_samples * card.max(), -1, dtype=np.int32)
    members, following = np.empty(most, dtype=np.int32), np.zeros(most + 1, dtype=np.int64)
    depth = 0
    for node in first:
        count = _refined(groups[depth], columns[node], card[node], weight, slots, groups[depth + 1], totals)
        cells[depth + 1] = cells[depth] * card[node]
        members[depth] = node
        depth += 1
    sums[_place(members, depth, choose, starts)] = _sum_of_groups(totals, count, ess / cells[depth])
    following[depth] = 0
    while depth >= len(first):
        node = following[depth]
        if depth == most or node >= members[depth - 1]:
            depth -= 1
            continue
        following[depth] += 1
        count = _refined(groups[depth], columns[node], card[node], weight, slots, groups[depth + 1], totals)
        cells[depth + 1] = cells[depth] * card[node]
        members[depth] = node
        depth += 1
        following[depth] = 0
        sums[_place(members, depth, choose, starts)] = _sum_of_groups(totals, count, ess / cells[depth])


@kernel(nogil=True)
def _place_with(members: NDArray[np.integer[Any]], size: int, more: int, choose: IntArray, starts: IntArray) -> int:
    """Number of the set with one more member, which it does not have."""
    at: int = starts[size + 1]
    passed = 0
    for t in range(size):
        if not passed and more > members[t]:
            at += choose[more, size + 1 - t]
            passed = 1
        at += choose[members[t], size + 1 - t - passed]
    if not passed:
        at += choose[more, 1]
    return at


@kernel(nogil=True)
def undominated_sets(
    node: int,
    pool: NDArray[np.int32],
    first: NDArray[np.int32],
    most: int,
    card: IntArray,
    price: float,
    tie: float,
    sums: FloatArray,
    choose: IntArray,
    starts: IntArray,
    best: FloatArray,
    own_starts: IntArray,
    sets: NDArray[np.int32],
    scores: FloatArray,
    kept: int,
) -> int:
    """Add the parent sets of a node that begin with `first` and score better than each part of theirs.

    Parameters
    ----------
    node : int
    pool : int32 array (n_pool,)
        Nodes that may be parents, ascending.
    first : int32 array (n_first,)
        Places in the pool, descending; further members are smaller. All sets before these in order were walked.
    most : int
    card : int64 array (n_nodes,)
    price : float
        Of each free parameter.
    tie : float
        Relative difference up to which two scores are equal.
    sums, choose, starts
        As `subtree_sums` left them.
    best : float64 array
        The best score of a set or of a part of it, by the number of the set in the pool; read and written.
    own_starts
        Numbers of the first set of each size in the pool.
    sets : int32 array (capacity, width)
        Written: members descending, then -1.
    scores : float64 array (capacity,)
    kept : int
        Rows that are written already.

    Returns
    -------
    int
        Rows that are written now; one more than the capacity where they did not suffice.
    """
    places, members = np.empty(most + 1, dtype=np.int64), np.empty(most + 1, dtype=np.int64)
    part = np.empty(most + 1, dtype=np.int64)
    following = np.zeros(most + 1, dtype=np.int64)
    cells = np.ones(most + 2)
    depth = len(first)
    for t in range(depth):
        places[t] = first[t]
        members[t] = pool[first[t]]
        cells[t + 1] = cells[t] * card[members[t]]
    while True:
        score = sums[_place_with(members, depth, node, choose, starts)] - sums[_place(members, depth, choose, starts)]
        score -= price * cells[depth] * (card[node] - 1)
        of_parts = -np.inf
        for left_out in range(depth):
            size = 0
            for t in range(depth):
                if t != left_out:
                    part[size] = places[t]
                    size += 1
            of_parts = max(of_parts, best[_place(part, size, choose, own_starts)])
        best[_place(places, depth, choose, own_starts)] = max(score, of_parts)
        if of_parts < score - tie * max(1.0, abs(score)):
            if kept == len(scores):
                return kept + 1
            scores[kept] = score
            for t in range(sets.shape[1]):
                sets[kept, t] = members[t] if t < depth else -1
            kept += 1
        following[depth] = 0
        while depth > len(first) and (depth == most or following[depth] >= places[depth - 1]):
            depth -= 1
        if depth == most or (depth == 0) or following[depth] >= places[depth - 1]:
            return kept
        places[depth] = following[depth]
        members[depth] = pool[places[depth]]
        cells[depth + 1] = cells[depth] * card[members[depth]]
        following[depth] += 1
        depth += 1
