"""Naive Bayes and tree-augmented naive Bayes structures."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments
from mmbn_opt.data.counts import sums_over_cells
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.networks.structure import Structure

__all__ = ["conditional_mutual_information", "naive_bayes", "tan_cmi"]


def naive_bayes(data: DiscreteDataset) -> Structure:
    """Every feature depends on the class alone.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["x", "u"], ["y", "u"]], ["no", "yes"])
    >>> naive_bayes(data).edges
    [('class', 'x0'), ('class', 'x1')]
    """
    check_arguments(naive_bayes, locals())
    c = data.n_features
    return Structure(data.feature_names, data.class_name, (*(((c,),) * c), ()))


def conditional_mutual_information(data: DiscreteDataset) -> NDArray[np.float64]:
    """``I(X_i; X_j | C)`` in nats for all pairs of features, shape (n_features, n_features).

    By ``sum n log n`` over the cells of all tables in one compiled pass; equal rows should be merged.
    """
    n = data.n_features
    first, second = np.triu_indices(n, k=1)
    pairs = np.column_stack([first, second, np.full(len(first), n)])
    singles = np.column_stack([np.full(n + 1, -1), np.append(np.arange(n), -1), np.full(n + 1, n)])
    sums = sums_over_cells(data, np.concatenate([pairs, singles]).astype(np.int32))
    with_class, of_class = sums[len(first) : -1], sums[-1]
    value = sums[: len(first)] - with_class[first] - with_class[second] + of_class
    information = np.zeros((n, n))
    information[first, second] = information[second, first] = np.maximum(0.0, value) / data.total_weight
    return information


def tan_cmi(data: DiscreteDataset) -> Structure:
    """Tree-augmented naive Bayes: the feature tree with the largest sum of ``I(X_i; X_j | C)`` (Friedman et al. 1997).

    The first feature is the root; ties go to the lower column number.

    Examples
    --------
    >>> rows = [["a", "a", "u"], ["b", "b", "u"], ["a", "a", "v"], ["b", "b", "v"]]
    >>> tan_cmi(DiscreteDataset.from_arrays(rows, [0, 0, 1, 1])).edges
    [('class', 'x0'), ('x0', 'x1'), ('class', 'x1'), ('x0', 'x2'), ('class', 'x2')]
    """
    check_arguments(tan_cmi, locals())
    n = data.n_features
    if n == 0:
        return naive_bayes(data)
    # Rounded, so that pairs that tie in exact arithmetic tie here too, whatever the order of the rows.
    information = np.round(conditional_mutual_information(data), 12)
    parents: list[tuple[int, ...]] = [(n,)] * n
    inside = np.zeros(n, dtype=bool)
    inside[0] = True
    best, link = information[0].copy(), np.zeros(n, dtype=np.intp)
    for _ in range(n - 1):
        node = int(np.argmax(np.where(inside, -np.inf, best)))
        parents[node] = (int(link[node]), n)
        inside[node] = True
        closer = information[node] > best
        best[closer], link[closer] = information[node][closer], node
    return Structure(data.feature_names, data.class_name, (*parents, ()))
