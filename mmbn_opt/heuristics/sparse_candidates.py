"""Fewer candidate parents for wide data: every node keeps the features that tell most about it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, whole
from mmbn_opt.data.counts import sums_over_cells
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.heuristics.trees import conditional_mutual_information

__all__ = ["CandidateRestriction", "restrict_candidates"]

_DECIMALS = 12
"""Rounding, so that pairs that tie in exact arithmetic tie here too, whatever the order of the rows."""


@dataclass(frozen=True)
class CandidateRestriction:
    """Which features each node may have as parents; the class may be a parent of every feature besides.

    What is found under a restriction is optimal within it, and nothing is said of other structures.

    Parameters
    ----------
    k : int
    symmetric : bool
    partners : tuple (n_features + 1,) of tuples of feature numbers
        For every feature, and for the class last.
    """

    k: int
    symmetric: bool
    partners: tuple[tuple[int, ...], ...]

    def allows(self, node: int, parents: tuple[int, ...]) -> bool:
        """Whether all feature parents are partners of the node."""
        return set(parents) <= {*self.partners[node], len(self.partners) - 1}

    def __str__(self) -> str:
        closure = ", or the other way round" if self.symmetric else ""
        return (
            f"k = {self.k} candidate parents a node (a feature has the class and the {self.k} features with the "
            f"largest conditional mutual information{closure}; the class has {self.k + 1} features)"
        )

    __repr__ = __str__


def restrict_candidates(data: DiscreteDataset, k: int = 5, *, symmetric: bool = False) -> CandidateRestriction:
    """Keep, for every feature, the k features with the largest mutual information given the class.

    The idea of the sparse candidate algorithm (Friedman, Nachman & Pe'er 1999) with the measure of Friedman et al.
    (1997). The class keeps the ``k + 1`` features that tell most about it: like every feature it then has ``k + 1``
    candidate parents, since a feature has the class besides. Ties go to the lower column number; features of one state
    are nobody's candidates.

    Parameters
    ----------
    data : DiscreteDataset
        Without missing cells.
    k : int
        At least 1; ``n_features - 1`` restricts nothing.
    symmetric : bool
        Whether a feature is also a candidate of those that it keeps.

    Returns
    -------
    CandidateRestriction
        For the parameter `restriction` of the structure formulations.

    Examples
    --------
    >>> rows = [["a", "a", "u"], ["b", "b", "u"], ["a", "a", "v"], ["b", "b", "v"]]
    >>> data = DiscreteDataset.from_arrays(rows, [0, 0, 1, 1])
    >>> restrict_candidates(data, k=1).partners
    ((1,), (0,), (0,), (0, 2))
    """
    check_arguments(restrict_candidates, locals())
    k = whole("k", k, 1)
    data.require_learnable()
    merged = data.aggregate()
    n, constant = merged.n_features, [j for j, size in enumerate(merged.cardinalities[:-1]) if size == 1]
    information = np.round(conditional_mutual_information(merged), _DECIMALS)
    np.fill_diagonal(information, -1.0)
    scores = np.concatenate([information, np.round(_with_class(merged), _DECIMALS)[None, :]])
    scores[:, constant] = -1.0
    keeps = np.zeros((n + 1, n), dtype=bool)
    for node, row in enumerate(scores):
        first = np.argsort(-row, kind="stable")[: k + (node == n)]
        keeps[node, first[row[first] >= 0]] = True
    keeps[constant] = False
    if symmetric:
        keeps[:n] |= keeps[:n].T
    partners = tuple(tuple(int(j) for j in np.flatnonzero(row)) for row in keeps)
    return CandidateRestriction(k, symmetric, partners)


def _with_class(data: DiscreteDataset) -> NDArray[np.float64]:
    """``I(X_j; C)`` in nats, shape (n_features,)."""
    n = data.n_features
    features = np.arange(n)
    pairs = np.column_stack([features, np.full(n, n)])
    singles = np.column_stack([np.full(n + 2, -1), np.append(np.arange(n + 1), -1)])
    sums = sums_over_cells(data, np.concatenate([pairs, singles]).astype(np.int32))
    value: NDArray[np.float64] = (sums[:n] - sums[n : 2 * n] - sums[2 * n] + sums[2 * n + 1]) / data.total_weight
    return np.maximum(0.0, value)
