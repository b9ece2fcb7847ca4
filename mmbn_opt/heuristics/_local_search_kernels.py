"""Compiled inner loops of the local search over margin tables."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, kernel
from mmbn_opt.heuristics.rivals import NOT_A_RIVAL, rival_score

IntArray = NDArray[np.int32]


@kernel(nogil=True)
def best_replacement(
    table: FloatArray,
    index: IntArray,
    labels: IntArray,
    weight: FloatArray,
    gamma: FloatArray,
    binary: bool,
    scores: FloatArray,
    old_column: int,
    columns: NDArray[np.intp],
    begin: FloatArray,
    order: NDArray[np.intp],
    cutoff: float,
    rest: FloatArray,
) -> tuple[int, float, int]:
    """Column of `columns` that gives the least loss in place of `old_column`; (-1, cutoff) when none is below `cutoff`.

    Third comes how many samples were looked at, over all columns. The loss is
    ``sum_m n_m (gamma_m - min(gamma_m, margin_m))`` on top of what `begin` says of each column; a column is given up
    once its partial sum reaches the best. `rest`, (n_samples, n_classes), is scratch space: scores without the old
    column, in the given order.
    """
    n_samples, n_classes = scores.shape
    own = np.empty(n_samples)
    for i in range(n_samples):
        m = order[i]
        row, label = index[old_column, m], labels[m]
        own[i] = scores[m, label] - table[row, label]
        if not binary:
            for c in range(n_classes):
                rest[i, c] = scores[m, c] - table[row, c]
            rest[i, label] = NOT_A_RIVAL
    best_column, best_loss = -1, cutoff
    looked = n_samples
    for j in range(len(columns)):
        column, loss = columns[j], begin[j]
        seen = n_samples
        for i in range(n_samples):
            m = order[i]
            row = index[column, m]
            margin = own[i] + table[row, labels[m]]
            if not binary:
                margin -= rival_score(rest[i], table[row])
            if margin < gamma[m]:
                loss += weight[m] * (gamma[m] - margin)
                if loss >= best_loss:
                    seen = i + 1
                    break
        looked += seen
        if loss < best_loss:
            best_column, best_loss = column, loss
    return best_column, best_loss, looked


@kernel(nogil=True)
def add_column(table: FloatArray, entries: IntArray, scores: FloatArray, sign: float) -> None:
    """Add `sign` times what a column, of which the samples see `entries`, scores: one row of `scores` a sample."""
    for m in range(len(entries)):
        row = entries[m]
        for c in range(scores.shape[1]):
            scores[m, c] += sign * table[row, c]


@kernel(nogil=True)
def sample_losses(
    labels: IntArray, weight: FloatArray, gamma: FloatArray, binary: bool, scores: FloatArray
) -> FloatArray:
    """Loss ``n_m (gamma_m - min(gamma_m, margin_m))`` of every sample, shape (n_samples,)."""
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
        if margin < gamma[m]:
            losses[m] = weight[m] * (gamma[m] - margin)
    return losses
