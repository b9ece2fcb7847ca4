"""Fewer candidate parents for wide data: every node keeps the features that tell most about it."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, choice_of, whole
from mmbn_opt.data.counts import sums_over_cells
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.heuristics.trees import conditional_mutual_information
from mmbn_opt.networks.candidates import CandidateParents
from mmbn_opt.scores.local import local_scores
from mmbn_opt.scores.predictive import DecomposableScore

__all__ = ["CandidateRestriction", "restrict_candidates"]

MARGINS = "margins"

MOST_PAIRS = 2_000_000
"""Families of two parents up to which pairs are scored, a matter of seconds."""

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
    score : str
        What they were chosen for: the margins, or a decomposable score.
    """

    k: int
    symmetric: bool
    partners: tuple[tuple[int, ...], ...]
    score: str = MARGINS

    def allows(self, node: int, parents: tuple[int, ...]) -> bool:
        """Whether all feature parents are partners of the node."""
        return set(parents) <= {*self.partners[node], len(self.partners) - 1}

    def __str__(self) -> str:
        closure = ", or the other way round" if self.symmetric else ""
        measure = "largest conditional mutual information"
        if self.score != MARGINS:
            measure = f"best {self.score} scores, alone or beside another"
        return (
            f"k = {self.k} candidate parents a node (a feature has the class and the {self.k} features with the "
            f"{measure}{closure}; the class has {self.k + 1} features)"
        )

    __repr__ = __str__


def restrict_candidates(
    data: DiscreteDataset,
    k: int = 5,
    *,
    symmetric: bool | None = None,
    score: Literal["margins", "mdl", "bic", "bdeu", "loglik"] = "margins",
    ess: float = 1.0,
) -> CandidateRestriction:
    """Keep, for every feature, the k features that tell most about it.

    For the margins that is the mutual information given the class, which every parent set then holds. A decomposable
    score has no such class: there every node is rated by its own local scores, the best that a parent set of one or two
    nodes with the candidate in it has. `DecomposableStructure` makes a restriction for the margins anew in this way,
    unless its parent sets are the margins' own.

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
    symmetric : bool or None
        Whether a feature is also a candidate of those that it keeps. None: for decomposable scores, most of which let
        an edge go either way.
    score : {"margins", "mdl", "bic", "bdeu", "loglik"}
        What the structure will maximise: a margin, or a decomposable score.
    ess : float
        Equivalent sample size of "bdeu".

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
    choice_of("score", score, (MARGINS, *get_args(DecomposableScore)))
    data.require_learnable()
    merged = data.aggregate()
    n, constant = merged.n_features, [j for j, size in enumerate(merged.cardinalities[:-1]) if size == 1]
    if score == "margins":
        worth = np.concatenate([conditional_mutual_information(merged), _with_class(merged)[None, :]])
    else:
        worth = _by_local_scores(merged, score, ess)
    worth = np.round(worth, _DECIMALS)
    np.fill_diagonal(worth[:n], -np.inf)
    worth[:, constant] = -np.inf
    keeps = np.zeros((n + 1, n), dtype=bool)
    for node, row in enumerate(worth):
        first = np.argsort(-row, kind="stable")[: k + (node == n)]
        keeps[node, first[row[first] > -np.inf]] = True
    keeps[constant] = False
    closed = score != MARGINS if symmetric is None else symmetric
    if closed:
        keeps[:n] |= keeps[:n].T
    partners = tuple(tuple(int(j) for j in np.flatnonzero(row)) for row in keeps)
    return CandidateRestriction(k, closed, partners, score)


def _by_local_scores(data: DiscreteDataset, score: DecomposableScore, ess: float) -> NDArray[np.float64]:
    """Best local score of a node with each feature among one or two parents, shape (n_features + 1, n_features).

    A pair tells of features that matter beside another only; of very many columns one parent has to do.
    """
    n = data.n_features
    usable = [j for j, size in enumerate(data.cardinalities[:-1]) if size > 1]
    most = 2 if (n + 1) * len(usable) ** 2 // 2 <= MOST_PAIRS else 1
    candidates = CandidateParents.for_all(n, most, usable)
    values = local_scores(data, candidates, score, ess)
    best = np.full((n + 1, n + 1), -np.inf)
    for column in candidates.parent_array.T:
        there = column >= 0
        np.maximum.at(best, (candidates.owner[there], column[there]), values[there])
    return best[:, :n]


def _with_class(data: DiscreteDataset) -> NDArray[np.float64]:
    """``I(X_j; C)`` in nats, shape (n_features,)."""
    n = data.n_features
    features = np.arange(n)
    pairs = np.column_stack([features, np.full(n, n)])
    singles = np.column_stack([np.full(n + 2, -1), np.append(np.arange(n + 1), -1)])
    sums = sums_over_cells(data, np.concatenate([pairs, singles]).astype(np.int32))
    value: NDArray[np.float64] = (sums[:n] - sums[n : 2 * n] - sums[2 * n] + sums[2 * n + 1]) / data.total_weight
    return np.maximum(0.0, value)
