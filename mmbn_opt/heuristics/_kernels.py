"""Compiled inner loops of the local search over margin tables."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]


@njit(cache=True, nogil=True)
def best_replacement(
    table: FloatArray,
    index: IntArray,
    labels: IntArray,
    weight: FloatArray,
    gamma: float,
    binary: bool,
    scores: FloatArray,
    old_column: int,
    columns: NDArray[np.intp],
    order: NDArray[np.intp],
    cutoff: float,
) -> tuple[int, float]:
    """Column of `columns` that gives the least loss in place of `old_column`; (-1, cutoff) when none is below `cutoff`.

    The loss is ``sum_m n_m (gamma - min(gamma, margin_m))``; a column is given up once its partial sum reaches the
    best.
    """
    n_classes = table.shape[1]
    best_column, best_loss = -1, cutoff
    for column in columns:
        loss = 0.0
        for m in order:
            new_row, old_row, label = index[column, m], index[old_column, m], labels[m]
            own = scores[m, label] + table[new_row, label] - table[old_row, label]
            margin = own
            if not binary:
                rival = -np.inf
                for c in range(n_classes):
                    if c != label:
                        value = scores[m, c] + table[new_row, c] - table[old_row, c]
                        if value > rival:
                            rival = value
                margin = own - rival
            if margin < gamma:
                loss += weight[m] * (gamma - margin)
                if loss >= best_loss:
                    break
        if loss < best_loss:
            best_column, best_loss = column, loss
    return best_column, best_loss


@njit(cache=True, nogil=True)
def sample_losses(labels: IntArray, weight: FloatArray, gamma: float, binary: bool, scores: FloatArray) -> FloatArray:
    """Loss ``n_m (gamma - min(gamma, margin_m))`` of every sample, shape (n_samples,)."""
    n_samples, n_classes = scores.shape
    losses = np.zeros(n_samples)
    for m in range(n_samples):
        label = labels[m]
        margin = scores[m, label]
        if not binary:
            rival = -np.inf
            for c in range(n_classes):
                if c != label and scores[m, c] > rival:
                    rival = scores[m, c]
            margin -= rival
        if margin < gamma:
            losses[m] = weight[m] * (gamma - margin)
    return losses
