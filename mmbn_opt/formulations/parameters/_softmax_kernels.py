"""Compiled passes over samples for smooth objectives of a network's parameters; loaded when a program is built."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import kernel

from ..._arrays import FloatArray, IntArray

__all__ = ["add_patterns", "log_softmax", "margin_pass", "posterior_pass", "softmax_chain", "spread_patterns"]

PatternArray = NDArray[np.unsignedinteger[Any]]

_BLOCK = 512
"""Samples whose scores are held at a time: they stay in the first-level cache while the groups go by."""

_NEGLIGIBLE = -45.0
"""exp of less than this is lost when it is added to 1."""


@kernel(nogil=True)
def log_softmax(beta: FloatArray, row_ptr: IntArray, out: FloatArray) -> None:
    """``log theta_i = beta_i - log sum exp beta`` over the entries of each CPT row."""
    for row in range(row_ptr.size - 1):
        a, b = row_ptr[row], row_ptr[row + 1]
        top = beta[a]
        for i in range(a + 1, b):
            top = max(top, beta[i])
        total = 0.0
        for i in range(a, b):
            total += math.exp(beta[i] - top)
        shift = top + math.log(total)
        for i in range(a, b):
            out[i] = beta[i] - shift


@kernel(nogil=True)
def softmax_chain(log_theta: FloatArray, row_ptr: IntArray, gradient: FloatArray) -> None:
    """Turn ``dF/d log theta`` into ``dF/d beta = g_i - theta_i sum g`` (Pernkopf et al. 2012, eq. 7), in place."""
    for row in range(row_ptr.size - 1):
        a, b = row_ptr[row], row_ptr[row + 1]
        total = 0.0
        for i in range(a, b):
            total += gradient[i]
        if total != 0.0:
            for i in range(a, b):
                gradient[i] -= math.exp(log_theta[i]) * total


@kernel(nogil=True)
def add_patterns(
    factors: FloatArray, start: IntArray, rows_ptr: IntArray, rows: NDArray[np.int32], table: FloatArray
) -> None:
    """Table row of each joint pattern: the sum of the factor rows that it stands for."""
    width = table.shape[1]
    for g in range(start.size - 1):
        n_patterns = start[g + 1] - start[g]
        n_factors = (rows_ptr[g + 1] - rows_ptr[g]) // n_patterns
        for p in range(n_patterns):
            at = rows_ptr[g] + p * n_factors
            for k in range(width):
                table[start[g] + p, k] = factors[rows[at], k]
            for f in range(1, n_factors):
                for k in range(width):
                    table[start[g] + p, k] += factors[rows[at + f], k]


@kernel(nogil=True)
def spread_patterns(
    table: FloatArray, start: IntArray, rows_ptr: IntArray, rows: NDArray[np.int32], factors: FloatArray
) -> None:
    """Transpose of `add_patterns`: each pattern's gradient goes to all of its factor rows."""
    width = table.shape[1]
    for g in range(start.size - 1):
        n_patterns = start[g + 1] - start[g]
        n_factors = (rows_ptr[g + 1] - rows_ptr[g]) // n_patterns
        for p in range(n_patterns):
            at = rows_ptr[g] + p * n_factors
            for f in range(n_factors):
                for k in range(width):
                    factors[rows[at + f], k] += table[start[g] + p, k]


@kernel(nogil=True, inline="always")
def _scores(index: PatternArray, start: IntArray, table: FloatArray, first: int, last: int, scores: FloatArray) -> None:
    """Log-joints of samples first .. last - 1 up to what all classes share; the width is a multiple of four."""
    width = table.shape[1]
    for m in range(last - first):
        for k in range(width):
            scores[m, k] = 0.0
    for g in range(start.size - 1):
        offset = start[g]
        for m in range(first, last):
            row = offset + index[g, m]
            i = m - first
            for k in range(0, width, 4):  # four at a time, so that each step is one vector instruction
                scores[i, k] += table[row, k]
                scores[i, k + 1] += table[row, k + 1]
                scores[i, k + 2] += table[row, k + 2]
                scores[i, k + 3] += table[row, k + 3]


@kernel(nogil=True, inline="always")
def _scatter(
    index: PatternArray,
    start: IntArray,
    first: int,
    active: IntArray,
    n_active: int,
    slopes: FloatArray,
    gradient: FloatArray,
) -> None:
    """Add the slopes of the active samples to the rows that they looked up."""
    width = gradient.shape[1]
    for g in range(start.size - 1):
        offset = start[g]
        for a in range(n_active):
            i = active[a]
            row = offset + index[g, first + i]
            for k in range(0, width, 4):
                gradient[row, k] += slopes[i, k]
                gradient[row, k + 1] += slopes[i, k + 1]
                gradient[row, k + 2] += slopes[i, k + 2]
                gradient[row, k + 3] += slopes[i, k + 3]


@kernel(nogil=True)
def margin_pass(
    index: PatternArray,
    start: IntArray,
    table: FloatArray,
    labels: NDArray[np.int32],
    weight: FloatArray,
    n_classes: int,
    first: int,
    last: int,
    lam: float,
    kappa: float,
    eta: float,
    gradient: FloatArray,
    with_gradient: bool,
) -> tuple[float, float]:
    """Smooth margin (Pernkopf et al. 2012, eq. 4-6) of samples first .. last - 1, and the weight classified rightly.

    Its gradient with respect to the table rows is added to `gradient`.
    """
    scores = np.zeros((_BLOCK, table.shape[1]))
    active = np.zeros(_BLOCK, np.int64)
    value, right = 0.0, 0.0
    smallest_gap = math.log(max(1, n_classes - 1)) / eta
    for a in range(first, last, _BLOCK):
        b = min(last, a + _BLOCK)
        _scores(index, start, table, a, b, scores)
        n_active = 0
        for i in range(b - a):
            label = labels[a + i]
            own = scores[i, label]
            best, rival = -math.inf, 0
            for k in range(n_classes):
                if k != label and scores[i, k] > best:
                    best, rival = scores[i, k], k
            if own > best or (own == best and label < rival):
                right += weight[a + i]
            if lam * (own - best - smallest_gap) >= 1.0:  # the margin is large whatever the soft maximum says
                value += weight[a + i]
                continue
            # V_k = exp(eta (s_k - max)) / sum; log d = s_own - max - log(sum) / eta                           (eq. 4)
            total = 0.0
            if eta == math.inf:
                for k in range(n_classes):
                    scores[i, k] = 0.0
                scores[i, rival], total = 1.0, 1.0
                margin = own - best
            else:
                for k in range(n_classes):
                    gap = eta * (scores[i, k] - best)
                    if k == label or gap < _NEGLIGIBLE:
                        scores[i, k] = 0.0
                    else:
                        scores[i, k] = math.exp(gap)
                        total += scores[i, k]
                margin = own - best - math.log(total) / eta
            # h_kappa(lam log d) and its slope                                                              (eq. 5, 8)
            y = lam * margin
            if y >= 1.0:
                value += weight[a + i]
                continue
            if y <= 1.0 - 2.0 * kappa:
                value += weight[a + i] * (y + kappa)
                slope = weight[a + i] * lam
            else:
                value += weight[a + i] * (1.0 - (y - 1.0) * (y - 1.0) / (4.0 * kappa))
                slope = weight[a + i] * lam * (1.0 - y) / (2.0 * kappa)
            factor = -slope / total
            for k in range(n_classes):
                scores[i, k] *= factor
            scores[i, label] = slope
            active[n_active] = i
            n_active += 1
        if with_gradient:
            _scatter(index, start, a, active, n_active, scores, gradient)
    return value, right


@kernel(nogil=True)
def posterior_pass(
    index: PatternArray,
    start: IntArray,
    table: FloatArray,
    labels: NDArray[np.int32],
    weight: FloatArray,
    n_classes: int,
    first: int,
    last: int,
    gradient: FloatArray,
    with_gradient: bool,
) -> tuple[float, float]:
    """Conditional log-likelihood (eq. 2) of samples first .. last - 1, and the weight classified rightly.

    Its gradient with respect to the table rows is added to `gradient`.
    """
    scores = np.zeros((_BLOCK, table.shape[1]))
    active = np.arange(_BLOCK)
    value, right = 0.0, 0.0
    for a in range(first, last, _BLOCK):
        b = min(last, a + _BLOCK)
        _scores(index, start, table, a, b, scores)
        for i in range(b - a):
            label = labels[a + i]
            own = scores[i, label]
            top, best = scores[i, 0], 0
            for k in range(1, n_classes):
                if scores[i, k] > top:
                    top, best = scores[i, k], k
            if best == label:
                right += weight[a + i]
            total = 0.0
            for k in range(n_classes):
                gap = scores[i, k] - top
                scores[i, k] = math.exp(gap) if gap >= _NEGLIGIBLE else 0.0
                total += scores[i, k]
            value += weight[a + i] * (own - top - math.log(total))
            factor = -weight[a + i] / total
            others = 0.0
            for k in range(n_classes):
                scores[i, k] *= factor
                if k != label:
                    others += scores[i, k]
            scores[i, label] = -others  # weight (1 - posterior) without cancellation
        if with_gradient:
            _scatter(index, start, a, active, b - a, scores, gradient)
    return value, right
