"""Compiled search for the parents that help classification most, over score tables that are updated, not rebuilt."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray, kernel

__all__ = ["TIE", "best_parents", "delta_table", "pair_counts"]

CodeArray = NDArray[np.signedinteger[Any]]

TIE = 1e-9
"""Log-joints closer than this (nats) tie, and the first class wins: rounding may not decide between two structures."""

_STRIDE = 32
"""Samples between two looks at whether a candidate can still win."""


@kernel(nogil=True)
def pair_counts(
    columns: CodeArray,
    card: IntArray,
    labels: NDArray[np.int32],
    weight: FloatArray,
    n_classes: int,
    start: IntArray,
    counts: FloatArray,
) -> None:
    """Weighted counts over (x_a, x_b, c) for all pairs a < b, pair after pair from ``start[pair]`` on."""
    pair = 0
    for a in range(columns.shape[0]):
        for b in range(a + 1, columns.shape[0]):
            at = start[pair]
            for m in range(labels.size):
                counts[at + (columns[a, m] * card[b] + columns[b, m]) * n_classes + labels[m]] += weight[m]
            pair += 1


@kernel(nogil=True)
def delta_table(
    counts: FloatArray,
    n_folds: int,
    n_configurations: int,
    n_states: int,
    n_classes: int,
    pseudo: float,
    floor: float,
    base: FloatArray,
    delta: FloatArray,
    spread: FloatArray,
) -> float:
    """Log-factor of a feature with feature parents minus the one without, by (fold, configuration, state, class).

    With folds, a fold's entries come from the counts of all other folds. `spread` gets, for every cell that occurs, the
    most that the cell can move one class against another; the largest spread is returned.

    Parameters
    ----------
    counts : float64 array
        By (fold, configuration, state, class), flat.
    pseudo, floor : float
        Pseudo-count of a cell; probabilities below `floor` are lifted to it.
    base : float64 array (n_folds, n_states, n_classes), flat
        Log-factor without feature parents.
    """
    cells = n_configurations * n_states
    block = cells * n_classes
    widest = 0.0
    for f in range(n_folds):
        for q in range(n_configurations):
            for c in range(n_classes):
                total = 0.0
                for x in range(n_states):
                    at = (q * n_states + x) * n_classes + c
                    value = counts[f * block + at]
                    if n_folds > 1:
                        value = -value
                        for g in range(n_folds):
                            value += counts[g * block + at]
                    delta[f * block + at] = value
                    total += value
                total += pseudo * n_states
                for x in range(n_states):
                    at = f * block + (q * n_states + x) * n_classes + c
                    share = (delta[at] + pseudo) / total if total > 0.0 else 1.0 / n_states
                    delta[at] = math.log(max(share, floor)) - base[(f * n_states + x) * n_classes + c]
            for x in range(n_states):
                at = f * block + (q * n_states + x) * n_classes
                low, high, present = math.inf, -math.inf, False
                for c in range(n_classes):
                    low, high = min(low, delta[at + c]), max(high, delta[at + c])
                    if counts[at + c] > 0.0:
                        present = True
                spread[f * cells + q * n_states + x] = high - low
                if present:
                    widest = max(widest, high - low)
    return widest


@kernel(nogil=True)
def best_parents(
    child: IntArray,
    first: IntArray,
    second: IntArray,
    sequence: IntArray,
    columns: CodeArray,
    card: IntArray,
    fold: NDArray[np.int32],
    n_folds: int,
    labels: NDArray[np.int32],
    weight: FloatArray,
    scores: FloatArray,
    margin: FloatArray,
    right: NDArray[np.bool_],
    wrong_before: FloatArray,
    log_posterior: FloatArray,
    base: FloatArray,
    base_start: IntArray,
    pseudo: FloatArray,
    floor: float,
    by_likelihood: bool,
    tolerance: float,
    cache: FloatArray,
    cache_start: IntArray,
    parent_step: IntArray,
    child_step: IntArray,
    bound: FloatArray,
) -> tuple[int, float]:
    """Candidate with the largest gain above `tolerance`, the lowest number among equals; (-1, 0) when there is none.

    Candidate k gives ``child[k]`` the feature parents ``first[k]`` and, unless it is -1, ``second[k]``. Samples are
    sorted by ``margin = |score of the own class - best rival|``. For the classification rate a sample cannot change
    sides when its margin exceeds the spread of its cell, and a candidate is given up when the wrong samples left cannot
    lift it to the best one; neither changes the answer.

    Parameters
    ----------
    sequence : int64 array
        Candidates in the order in which they are tried (promising ones first).
    columns : integer array (n_features, n_samples)
    scores : float64 array (n_samples, n_classes)
        Log-joints under the current structure.
    right : bool array (n_samples,)
    wrong_before : float64 array (n_samples + 1,)
        Weight of the wrong samples before each one.
    log_posterior : float64 array (n_samples,)
        Of the own class; used by the conditional likelihood alone.
    pseudo : float64 array (n_candidates,)
    cache, cache_start, parent_step, child_step
        Counts of pairs from `pair_counts`, where ``cache_start[k] >= 0``; else they are counted here.
    bound : float64 array (n_candidates,)
        Gets the gain of each candidate tried, or what it was bounded by when it was given up.
    """
    n_samples, n_classes = scores.shape
    cells_most = 1
    for k in sequence:
        cells = card[child[k]] * card[first[k]] * (card[second[k]] if second[k] >= 0 else 1)
        cells_most = max(cells_most, cells)
    counts = np.zeros(n_folds * cells_most * n_classes)
    delta = np.zeros(n_folds * cells_most * n_classes)
    spread = np.zeros(n_folds * cells_most)
    best, best_gain = -1, 0.0
    for k in sequence:
        j, a, b = child[k], first[k], second[k]
        n_states = card[j]
        n_second = card[b] if b >= 0 else 1
        n_configurations = card[a] * n_second
        cells = n_configurations * n_states
        if cache_start[k] >= 0:
            for q in range(n_configurations):
                for x in range(n_states):
                    source = cache_start[k] + q * parent_step[k] + x * child_step[k]
                    for c in range(n_classes):
                        counts[(q * n_states + x) * n_classes + c] = cache[source + c]
        else:
            counts[: n_folds * cells * n_classes] = 0.0
            for m in range(n_samples):
                cell = columns[a, m]
                if b >= 0:
                    cell = cell * n_second + columns[b, m]
                cell = (fold[m] * n_configurations + cell) * n_states + columns[j, m]
                counts[cell * n_classes + labels[m]] += weight[m]
        widest = delta_table(
            counts,
            n_folds,
            n_configurations,
            n_states,
            n_classes,
            pseudo[k],
            floor,
            base[base_start[j] :],
            delta,
            spread,
        )
        last = n_samples
        if not by_likelihood:
            last = np.searchsorted(margin, widest + 2 * TIE, side="right")
        gain, finished = 0.0, True
        for m in range(last):
            if m % _STRIDE == 0 and not by_likelihood:
                most = gain + wrong_before[last] - wrong_before[m]
                if most < best_gain - tolerance or (most <= best_gain + tolerance and k > best):
                    gain, finished = most, False
                    break
            cell = columns[a, m]
            if b >= 0:
                cell = cell * n_second + columns[b, m]
            cell = (fold[m] * n_configurations + cell) * n_states + columns[j, m]
            at, label = cell * n_classes, labels[m]
            if by_likelihood:
                top = -math.inf
                for c in range(n_classes):
                    top = max(top, scores[m, c] + delta[at + c])
                total = 0.0
                for c in range(n_classes):
                    total += math.exp(scores[m, c] + delta[at + c] - top)
                own = scores[m, label] + delta[at + label] - top - math.log(total)
                gain += weight[m] * (own - log_posterior[m])
            elif margin[m] <= spread[cell] + 2 * TIE:
                own = scores[m, label] + delta[at + label]
                wins = True
                for c in range(n_classes):
                    rival = scores[m, c] + delta[at + c]
                    if rival > own + TIE or (rival >= own - TIE and c < label):
                        wins = False
                        break
                if wins and not right[m]:
                    gain += weight[m]
                elif right[m] and not wins:
                    gain -= weight[m]
        bound[k] = gain
        if not finished:
            continue
        if gain > best_gain + tolerance or (best >= 0 and k < best and gain >= best_gain - tolerance):
            best, best_gain = k, gain
    return best, best_gain
