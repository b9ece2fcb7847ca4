"""Folds of cross-validation that do not depend on the order of the rows."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.mixture_data import NumericDataset

__all__ = ["stratified_folds"]


def stratified_folds(data: NumericDataset, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Fold of each row, classes spread evenly; -1 for the only sample of a class, which is always learned from.

    Examples
    --------
    >>> data = NumericDataset.from_arrays([[1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "b", "c"])
    >>> folds = stratified_folds(data, 2, seed=0)
    >>> sorted(folds[:2].tolist()), sorted(folds[2:4].tolist()), int(folds[4])
    ([0, 1], [0, 1], -1)
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort([*data.z.T[::-1], data.codes])
    folds = np.full(data.n_samples, -1, dtype=np.intp)
    first = 0
    for c in range(data.n_classes):
        rows = rng.permutation(order[data.codes[order] == c])
        if len(rows) > 1:
            # The next class goes on where this one ended, so that the folds have nearly equal sizes.
            folds[rows] = (first + np.arange(len(rows))) % n_folds
            first = (first + len(rows)) % n_folds
    return folds
