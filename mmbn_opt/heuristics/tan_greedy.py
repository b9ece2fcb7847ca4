"""Tree-augmented naive Bayes by greedy search on the classification rate."""

import numpy as np

from mmbn_opt._arguments import check_arguments
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.heuristics.growing import GrowingStructure
from mmbn_opt.networks.smoothing import Smoothing, as_smoothing
from mmbn_opt.networks.structure import Structure

__all__ = ["tan_cr"]

_MAX_CELLS = 200_000_000


def tan_cr(data: DiscreteDataset, *, smoothing: float | Smoothing = 1.0) -> Structure:
    """Tree-augmented naive Bayes, edge by edge the one that raises the classification rate most.

    From naive Bayes on, every edge between features that keeps a forest (one feature parent at most) is tried, the best
    one is added, and so on until none raises the rate: ``O(N^3)`` evaluations (Keogh & Pazzani 1999; Pernkopf & Bilmes
    2008). The rate is that of the training rows under smoothed maximum-likelihood parameters. An evaluation updates the
    scores of the samples that can change sides and is given up as soon as the edge cannot win any more.

    Parameters
    ----------
    data : DiscreteDataset
    smoothing : float or Smoothing

    Returns
    -------
    Structure
        A partial tree. Ties go to the lower child number, then to the lower parent number.

    Raises
    ------
    SizeLimitError
        When the counts of all pairs of features would have more than 200 million cells.

    Examples
    --------
    >>> rows = [["a", "a", "u"], ["a", "b", "u"], ["b", "a", "v"], ["b", "b", "v"]] * 5
    >>> data = DiscreteDataset.from_arrays(rows, [0, 1, 1, 0] * 5)
    >>> tan_cr(data).parent_names
    {'class': [], 'x0': ['x1', 'class'], 'x1': ['class'], 'x2': ['class']}
    """
    check_arguments(tan_cr, locals())
    growing = GrowingStructure(data, "cr", as_smoothing(smoothing))
    n = growing.n_features
    if n < 2:
        return growing.structure()
    child, parent = (v.ravel() for v in np.divmod(np.arange(n * n), n))
    keep = child != parent
    child, parent = child[keep].astype(np.int64), parent[keep].astype(np.int64)
    cached = _pair_cache(growing, child, parent)
    pseudo = np.array([growing.pseudo(int(j), (int(p),)) for j, p in zip(child, parent, strict=True)])
    alone = np.full(len(child), -1, dtype=np.int64)
    bound = np.full(len(child), np.inf)
    root = np.arange(n)  # root of each feature's tree
    open_child = np.ones(n, dtype=bool)
    while True:
        # A child without feature parents is the root of its tree; an edge from inside that tree would close a cycle.
        allowed = np.flatnonzero(open_child[child] & (root[parent] != child))
        sequence = allowed[np.argsort(-bound[allowed], kind="stable")]
        found = growing.best_of(child, parent, alone, sequence, pseudo=pseudo, cached=cached, bound=bound)
        if found < 0:
            return growing.structure()
        j, p = int(child[found]), int(parent[found])
        growing.add(j, (p,))
        open_child[j] = False
        root[root == j] = root[p]


def _pair_cache(
    growing: GrowingStructure, child: np.ndarray, parent: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Counts over (x_a, x_b, c) for all pairs, and where each edge finds its own with which strides."""
    from mmbn_opt.heuristics._score_kernels import pair_counts

    card, n_classes = growing.card, growing.n_classes
    low, high = np.triu_indices(growing.n_features, 1)
    sizes = card[low] * card[high] * n_classes
    if sizes.sum() > _MAX_CELLS:
        raise SizeLimitError(
            f"The counts of all {len(low):,} pairs of features would have {int(sizes.sum()):,} cells; the limit is "
            f"{_MAX_CELLS:,}. Use order_mi, which counts as it goes, or merge states."
        )
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    counts = np.zeros(int(start[-1]))
    pair_counts(growing.columns, card, growing.labels, growing.weight, n_classes, start, counts)
    number = np.zeros((growing.n_features, growing.n_features), dtype=np.int64)
    number[low, high] = number[high, low] = np.arange(len(low))
    larger = np.maximum(child, parent)
    outer = card[larger] * n_classes  # the lower feature of a pair varies slowest
    parent_step = np.where(parent < child, outer, n_classes)
    child_step = np.where(parent < child, n_classes, outer)
    return counts, start[number[child, parent]], parent_step.astype(np.int64), child_step.astype(np.int64)
