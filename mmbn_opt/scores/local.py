"""Decomposable scores of all candidate parent sets at once, and which of the sets no optimum needs.

Every score here is a difference of a function of node sets (Silander & Myllymaki 2006 use the same for BDeu): with
``h(S) = sum n log n`` over the joint states of S, the log-likelihood of a node i with parents P is ``h(P + i) - h(P)``;
with log Gamma functions under the prior ``ess / cells(S)`` in place of ``n log n`` the difference is the BDeu score. A
set is counted once, however many families hold it.
"""

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.counts import sums_over_cells
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.networks.candidates import CandidateParents
from mmbn_opt.scores.predictive import DecomposableScore

__all__ = ["dominated_columns", "local_scores"]

SetArray = NDArray[np.int32]

TIE = 1e-12
"""Relative difference up to which two local scores are equal: rounding may not keep a set."""


def local_scores(
    data: DiscreteDataset, candidates: CandidateParents, score: DecomposableScore, ess: float = 1.0
) -> FloatArray:
    """`mmbn_opt.scores.predictive.family_score` of every column, counted in one compiled pass.

    Parameters
    ----------
    data : DiscreteDataset
        Equal rows should be merged.
    candidates : CandidateParents
    score : {"loglik", "bic", "mdl", "bdeu"}
    ess : float
        Equivalent sample size of ``bdeu``.

    Returns
    -------
    float64 array (n_columns,)
        In nats.

    Raises
    ------
    SizeLimitError
        When the table of a family would have more than 50 million cells; said before anything is counted.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"]] * 20, [0, 1] * 20)
    >>> candidates = CandidateParents.for_all(n_features=1, max_parents=1)
    >>> local_scores(data, candidates, "bic").round(3).tolist()
    [-29.57, -3.689, -29.57, -3.689]
    """
    if score not in ("loglik", "bic", "mdl", "bdeu"):
        raise InputError(f"score must be one of 'loglik', 'bic', 'mdl', 'bdeu', got {score!r}.")
    leave_in_time()
    parents, owner = candidates.parent_array, candidates.owner
    families = np.sort(np.column_stack([parents, owner]), axis=1).astype(np.int32)
    padded = np.column_stack([np.full(len(parents), -1), parents]).astype(np.int32)
    both = np.concatenate([families, padded])
    _, first, inverse = np.unique(_keys(both, candidates.n_nodes), return_index=True, return_inverse=True)
    leave_in_time()
    of_set = sums_over_cells(data, both[first], ess if score == "bdeu" else None)
    of_row = of_set[inverse.ravel()]
    value: FloatArray = of_row[: len(parents)] - of_row[len(parents) :]
    if score in ("bic", "mdl"):
        card = np.array(data.cardinalities)
        configurations = np.where(parents >= 0, card[parents], 1).prod(axis=1)
        value -= 0.5 * math.log(data.total_weight) * (configurations * (card[owner] - 1))
    return value


def dominated_columns(candidates: CandidateParents, scores: FloatArray) -> NDArray[np.bool_]:
    """Columns whose parent set scores no better than a candidate that is a proper subset of it.

    Replacing the one by the other closes no cycle, so that some optimum does without all of them (de Campos & Ji 2011,
    Lemma 1).

    Examples
    --------
    >>> candidates = CandidateParents((((), (1,)), ((), (0,))))
    >>> dominated_columns(candidates, np.array([-2.0, -3.0, -2.0, -1.0])).tolist()
    [False, True, False, False]
    """
    parents, owner = candidates.parent_array, candidates.owner
    keys = _keys(np.column_stack([owner, parents]), candidates.n_nodes)
    order = np.argsort(keys)
    ranked = keys[order]
    slack = TIE * np.maximum(1.0, np.abs(scores))
    dominated = np.zeros(len(keys), dtype=bool)
    for kept in product([False, True], repeat=parents.shape[1]):
        subset = np.sort(np.where(kept, parents, -1), axis=1)
        wanted = _keys(np.column_stack([owner, subset]), candidates.n_nodes)
        place = np.minimum(np.searchsorted(ranked, wanted), len(keys) - 1)
        known = (ranked[place] == wanted) & (wanted != keys)
        dominated |= known & (scores[order[place]] >= scores - slack)
    return dominated


def _keys(rows: NDArray[np.integer], n_nodes: int) -> NDArray[np.int64]:
    """A number for each row of node numbers (or -1); greater for what is later in lexicographic order."""
    base = n_nodes + 1
    if base ** rows.shape[1] >= 2**63:
        raise SizeLimitError(
            f"Families of {rows.shape[1] - 1} parents among {n_nodes} nodes cannot be numbered in 64 bits. "
            "Lower max_parents or drop features."
        )
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        keys = keys * base + (column + 1)
    return keys
