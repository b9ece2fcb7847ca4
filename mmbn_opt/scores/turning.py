"""What it costs at most, in soft margin, to hang trees of features otherwise under Laplace smoothing.

With a pseudo-count s in every cell, K_u states of feature u and n_uc samples of class c in which u has the state at
hand, an edge of a tree below the class has the same log-factors in both directions but for terms of one feature each:

``log P(v | u, c) P(u | c) - log P(u | v, c) P(v | c) = h_u(K_v) - h_v(K_u)``
``h_u(K) = log (n_uc + s) - log (n_uc + s K) - m_u,    m_u = log ((n_c + s K_u) / (n_c + s))``

So a tree that hangs from r and one that hangs from a differ by h_r of the next node's states, less h_a, and by the
differences between h_p of two numbers of states at the nodes p between them: nothing where all features have as many.
And a class with the parents u and v, which then have no parents, scores what it does without parents where the tree
of u and v hangs from u instead, less h_u(K_v): the rest of ``P(c | u, v)`` is the same for every class. With u alone
as its parent it scores m_u more than where the tree hangs from u.

For the binary soft margin the terms of all other classes together are subtracted (of a class with parents only where
there are two classes: with more its pseudo-counts are others). What a margin loses is no more than the largest
difference of these terms between the true class and a rival, and cutting off at gamma makes it no larger; summed over
the samples, which differ by a feature's state and the class alone, this is a bound that takes counts of single
features.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.scores.margins import MarginTables

__all__ = ["cells_by_class", "turning_cost"]

ROUNDING = 1e-9
"""As a share of all weight, by how much rounding may change the sum of a score's entries over the samples."""


def cells_by_class(tables: MarginTables, features: NDArray[np.intp], weight: FloatArray) -> list[FloatArray]:
    """Weight of the samples in each state of some features and class, (n_states, n_classes) each."""
    states, k = tables.lookup.states.tolist(), tables.n_classes
    found = []
    for u in features.tolist():
        cells = tables.lookup.codes[u].astype(np.intp) * k + tables.labels
        found.append(np.bincount(cells, weight, states[u] * k).astype(np.float64).reshape(states[u], k))
    return found


def turning_cost(
    counts: Sequence[FloatArray],
    weights: Sequence[FloatArray],
    pseudo_count: float,
    *,
    binary: bool,
    alone: bool,
) -> tuple[int, float]:
    """The feature from which to hang its tree, and what any structure loses at most when that is done.

    Structures whose features have no parents, the class, or the class and one feature; other trees stay as they hang.

    Parameters
    ----------
    counts : sequence of float64 arrays (n_states, n_classes), one a feature
        From which parameters are estimated.
    weights : sequence of float64 arrays of the same shapes
        What the margins of samples in these cells count for together.
    pseudo_count : float
        Greater than 0.
    binary : bool
        For the binary soft margin, else for the soft margin.
    alone : bool
        Whether parents of the class, up to two, are hung as a tree below it too.

    Examples
    --------
    >>> counts = [np.array([[30.0, 10.0], [10.0, 30.0]]), np.array([[25.0, 20.0], [15.0, 20.0]])]
    >>> anchor, cost = turning_cost(counts, counts, 1.0, binary=False, alone=False)
    >>> anchor, round(cost, 3)
    (0, 1.607)
    """
    states = [len(table) for table in counts]
    leaving, arriving, between, without = np.zeros((4, len(counts)))
    for u, (table, weight) in enumerate(zip(counts, weights, strict=True)):
        ends = _of_class(table, pseudo_count, binary=binary)
        others = sorted({*states[:u], *states[u + 1 :]})
        pairs = [_of_pair(table, k, pseudo_count, binary=binary) for k in others]
        leaving[u] = _most((pair - ends for pair in pairs), weight, binary=binary)
        arriving[u] = _most((ends - pair for pair in pairs), weight, binary=binary)
        if alone:
            leaving[u] = max(leaving[u], _most(pairs, weight, binary=binary))
            without[u] = _lost(ends, weight, binary=binary)
        # What a sample loses by such a difference rises with the larger and falls with the smaller number of states.
        between[u] = _most((pairs[-1] - pairs[0], pairs[0] - pairs[-1]), weight, binary=binary) if pairs else 0.0
    costs = np.empty(len(counts))
    for a in range(len(counts)):
        rest = np.arange(len(counts)) != a
        costs[a] = arriving[a] + between[rest].sum() + (leaving - between)[rest].max(initial=0.0)
        if alone:  # by a tree that holds it, and by another one that holds the parents of the class
            costs[a] = max(costs[a], without[a]) + np.maximum(arriving, without)[rest].max(initial=0.0)
    anchor = int(np.argmin(costs))
    return anchor, float(costs[anchor]) + ROUNDING * float(weights[0].sum())


def _of_pair(table: FloatArray, others: int, s: float, *, binary: bool) -> FloatArray:
    """``log (n_uc + s) - log (n_uc + s K)`` by state and class, of the class less that of the rest if binary."""
    h: FloatArray = np.log(table + s) - np.log(table + s * others)
    return h - _of_pair(table.sum(axis=1, keepdims=True) - table, others, s, binary=False) if binary else h


def _of_class(table: FloatArray, s: float, *, binary: bool) -> FloatArray:
    """m_u by class, for every state."""
    total = table.sum(axis=0)
    m: FloatArray = np.broadcast_to(np.log((total + s * len(table)) / (total + s)), table.shape)
    return m - _of_class(table.sum(axis=1, keepdims=True) - table, s, binary=False) if binary else m


def _most(terms: Iterable[FloatArray], weight: FloatArray, *, binary: bool) -> float:
    """The largest sum over samples of what a margin loses by one of some terms."""
    return max((_lost(h, weight, binary=binary) for h in terms), default=0.0)


def _lost(h: FloatArray, weight: FloatArray, *, binary: bool) -> float:
    if binary:
        return float((weight * np.maximum(h, 0.0)).sum())
    sizes: NDArray[np.float64] = h[:, :, None] - h[:, None, :]
    own = np.arange(h.shape[1])
    sizes[:, own, own] = 0.0
    return float((weight * sizes.max(axis=2)).sum())
