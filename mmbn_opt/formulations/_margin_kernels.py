"""Compiled value and group cuts of the cut-off margin sum, straight from the index tables."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]

TILE = 256
"""Samples worked on at a time, so that their scores stay in the first cache."""


@njit(cache=True, nogil=True)
def margin_pass(
    table: FloatArray,
    index: IntArray,
    labels: IntArray,
    weight: FloatArray,
    gamma: float,
    binary: bool,
    group: IntArray,
    columns: NDArray[np.intp],
    x: FloatArray,
    loss: FloatArray,
    intercept: FloatArray,
    active: IntArray,
    rival: IntArray,
    first: int,
    last: int,
) -> int:
    """Loss of every group at `x`, and the samples below gamma with their nearest rivals; returns how many they are.

    Samples ``first`` to ``last - 1`` alone; what is found stands in `active` and `rival` from ``first`` on.

    ``margin_m = min_c sum_k x_k (log theta_k[true class] - log theta_k[c])``; loss_g = sum n_m (gamma - margin_m)_+.
    Samples must be in the order of their groups. A loss's tangent is ``intercept_g - gradient_g . y``.
    """
    n_classes = table.shape[1]
    scores = np.empty((TILE, n_classes))
    loss[:] = 0.0
    intercept[:] = 0.0
    n_active = 0
    for start in range(first, last, TILE):
        size = min(TILE, last - start)
        scores[:] = 0.0
        for k in columns:
            value = x[k]
            for i in range(size):
                row = index[k, start + i]
                if row > 0:
                    for c in range(n_classes):
                        scores[i, c] += value * table[row, c]
        for i in range(size):
            m = start + i
            label = labels[m]
            margin = scores[i, label]
            nearest = -1
            if not binary:
                best = -np.inf
                for c in range(n_classes):
                    if c != label and scores[i, c] > best:
                        best = scores[i, c]
                        nearest = c
                margin -= best
            if margin < gamma:
                loss[group[m]] += weight[m] * (gamma - margin)
                intercept[group[m]] += weight[m] * gamma
                active[first + n_active] = m
                rival[first + n_active] = nearest
                n_active += 1
    return n_active


@njit(cache=True, nogil=True)
def margin_gradients(
    table: FloatArray,
    index: IntArray,
    labels: IntArray,
    weight: FloatArray,
    group: IntArray,
    active: IntArray,
    rival: IntArray,
    n_active: int,
    varying: NDArray[np.intp],
    gradients: FloatArray,
) -> None:
    """For each k of `varying`: ``gradients[g, k]``, the sum over active m of group g of n_m times the log ratio.

    The ratio is that of ``theta_k`` at the true class to ``theta_k`` at the nearest rival.
    """
    for k in varying:
        total = 0.0
        current = -1
        for a in range(n_active):
            m = active[a]
            if group[m] != current:
                if current >= 0:
                    gradients[current, k] = total
                current = group[m]
                total = 0.0
            row = index[k, m]
            value = table[row, labels[m]]
            if rival[a] >= 0:
                value -= table[row, rival[a]]
            total += weight[m] * value
        if current >= 0:
            gradients[current, k] = total
