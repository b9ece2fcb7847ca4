"""The parent sets that an optimum can need, found without a list of all of them: for classes of many millions of sets.

Sums over the tables of all node sets are counted once each (`mmbn_opt.scores.local` has the identity), from the samples
that are there, so that tables may have any number of cells; then each node's sets are walked from small to large, and a
set that scores no better than a part of it is forgotten at once (de Campos & Ji 2011, Lemma 1).
"""

import math
from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.networks.candidates import CandidateParents
from mmbn_opt.networks.parent_families import HOW_TO_HAVE_FEWER
from mmbn_opt.scores.local import TIE
from mmbn_opt.scores.predictive import DecomposableScore

__all__ = ["MOST_COUNTED", "can_walk", "undominated_parent_sets"]

MOST_COUNTED = 40_000_000
"""Sets of nodes whose sums are in memory at once, 8 bytes each."""


def can_walk(data: DiscreteDataset, max_parents: int) -> bool:
    """Whether the sums of all sets of up to ``max_parents + 1`` nodes fit."""
    return bool(_starts(data.n_features + 1, max_parents + 1)[-1] <= MOST_COUNTED)


def undominated_parent_sets(
    data: DiscreteDataset,
    pools: Sequence[Sequence[int]],
    max_parents: int,
    score: DecomposableScore,
    ess: float = 1.0,
    *,
    max_columns: int,
) -> tuple[CandidateParents, FloatArray]:
    """Every set of up to `max_parents` nodes of each pool that scores better than all its parts, with its score.

    Parameters
    ----------
    data : DiscreteDataset
        Equal rows should be merged.
    pools : sequence (n_nodes,) of sequences of int
        Nodes that may be parents of each node, ascending.
    max_parents : int
    score : {"loglik", "bic", "mdl", "bdeu"}
    ess : float
        Equivalent sample size of ``bdeu``.
    max_columns : int
        Sets that may be left, of all nodes together.

    Returns
    -------
    candidates : CandidateParents
        Smaller sets first.
    scores : float64 array (n_columns,)
        In nats.

    Raises
    ------
    SizeLimitError
        When more sets are left.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"]] * 20, [0, 1] * 20)
    >>> candidates, scores = undominated_parent_sets(data, [(1,), (0,)], 1, "bic", max_columns=10)
    >>> candidates.sets, scores.round(3).tolist()
    ((((), (1,)), ((), (0,))), [-29.57, -3.689, -29.57, -3.689])
    """
    from mmbn_opt.scores._undominated_kernels import undominated_sets

    n_nodes, width = data.n_features + 1, max_parents + 1
    choose = _binomials(n_nodes, width)
    sums, starts = _all_sums(data, width, choose, ess if score == "bdeu" else 0.0)
    card = np.array(data.cardinalities, dtype=np.int64)
    price = 0.5 * math.log(data.total_weight) if score in ("bic", "mdl") else 0.0
    found: list[tuple[tuple[int, ...], ...]] = []
    values: list[FloatArray] = []
    for node, given in enumerate(pools):
        pool, most = np.array(given, dtype=np.int32), min(max_parents, len(given))
        own = _starts(len(pool), most)
        best = np.empty(own[-1])
        room = max_columns - sum(map(len, found))
        sets, scores = np.empty((min(room, own[-1]), max(most, 1)), dtype=np.int32), np.empty(min(room, own[-1]))
        kept = 0
        for first in _beginnings(len(pool), most):
            leave_in_time()
            kept = undominated_sets(
                node, pool, first, most if len(first) == min(2, most) else len(first), card, price, TIE, sums, choose,
                starts, best, own, sets, scores, kept,
            )  # fmt: skip
            if kept > len(scores):
                raise SizeLimitError(
                    f"More than {max_columns:,} parent sets score better than all their subsets; the limit is "
                    f"max_columns={max_columns:,}. {HOW_TO_HAVE_FEWER}"
                )
        listed = [tuple(sorted(p for p in row if p >= 0)) for row in sets[:kept].tolist()]
        order = sorted(range(kept), key=lambda k: (len(listed[k]), listed[k]))
        found.append(tuple(listed[k] for k in order))
        values.append(scores[:kept][order])
    return CandidateParents(tuple(found)), np.concatenate(values)


def _all_sums(data: DiscreteDataset, width: int, choose: IntArray, ess: float) -> tuple[FloatArray, IntArray]:
    """What `subtree_sums` writes, for all sets of up to `width` nodes."""
    from mmbn_opt.scores._undominated_kernels import subtree_sums

    columns = np.ascontiguousarray(np.column_stack([data.codes, data.target_codes]).T, dtype=np.int32)
    card, weight = np.array(data.cardinalities, dtype=np.int64), data.sample_weight
    starts = _starts(len(columns), width)
    sums = np.empty(starts[-1])
    total = float(weight.sum())
    sums[0] = total * math.log(total) if not ess else math.lgamma(total + ess) - math.lgamma(ess)
    for first in _beginnings(len(columns), width):
        if len(first):
            leave_in_time()
            most = width if len(first) == min(2, width) else len(first)
            subtree_sums(columns, card, weight, first, most, ess, choose, starts, sums)
    return sums, starts


def _beginnings(n: int, most: int) -> "list[NDArray[np.int32]]":
    """The largest two members of sets, in the order of a walk; shorter ones stand for themselves alone."""
    found: list[tuple[int, ...]] = [()]
    for a in range(n) if most else ():
        found.append((a,))
        found.extend((a, b) for b in range(a) if most > 1)
    return [np.array(first, dtype=np.int32) for first in found]


def _binomials(n: int, most: int) -> IntArray:
    return np.array([[comb(a, b) for b in range(most + 2)] for a in range(n + 1)], dtype=np.int64)


def _starts(n: int, most: int) -> IntArray:
    """Number of the first set of each size up to `most`, and how many sets there are."""
    return np.concatenate([[0], np.cumsum([comb(n, size) for size in range(most + 1)])]).astype(np.int64)
