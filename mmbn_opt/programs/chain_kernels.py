"""Compiled passes over label sequences: scores of positions, Viterbi, forward-backward, and the adjoint of the scores.

The parameters of a chain lie in one vector: K initial entries, K x K transitions (a row for each label that is left),
then for each observed feature K rows of as many entries as it has symbols. Most cells hold the most common symbol of
their feature: scores begin at those, and only the other cells are looked up.
"""

from typing import NamedTuple

import numpy as np

from mmbn_opt._arrays import FloatArray, IntArray, kernel

__all__ = [
    "ChainIndex",
    "add_symbols",
    "best_paths",
    "expectations",
    "fold_symbols",
    "hamming",
    "path_features",
    "score_directly",
    "score_positions",
    "spread_symbols",
]

SCALED_SPREAD = 300.0
"""Nats between transitions up to which probabilities are added as they are: what underflows then is no part of a sum
of doubles, since any label can be left for any other at that price."""


class ChainIndex(NamedTuple):
    """Where each position of all sequences looks its scores up.

    Attributes
    ----------
    n_labels : int
    starts : int64 array (n_sequences + 1,)
        Where each sequence begins among the positions.
    labels : int64 array (n_positions,)
        True labels; -1 in data for prediction.
    entry : int64 array (n_positions, n_features)
        Place of the cell's symbol in the row of label 0; -1 where the cell is missing.
    width : int64 array (n_features,)
        Symbols of each feature, which is the distance between the rows of two labels.
    symbol_start : int64 array (n_features + 1,)
        First row of each feature in a table of all symbols.
    emission_start : int64 array (n_features,)
        First entry of each feature in the vector.
    usual : int64 array (n_features,)
        The most common symbol.
    cell_ptr : int64 array (n_positions + 1,)
    cells : int64 array
        Rows of the table of symbols that differ from the usual ones, position by position; row ``n_symbols + f``
        stands for a missing cell of feature f.
    """

    n_labels: int
    starts: IntArray
    labels: IntArray
    entry: IntArray
    width: IntArray
    symbol_start: IntArray
    emission_start: IntArray
    usual: IntArray
    cell_ptr: IntArray
    cells: IntArray


@kernel(nogil=True)
def spread_symbols(index, w, table, usual_score):  # type: ignore[no-untyped-def]
    """Scores of all symbols beside the usual ones, symbol by label, and the score of a position of usual symbols."""
    k = index.n_labels
    n_features = len(index.width)
    n_symbols = index.symbol_start[n_features]
    usual_score[:] = 0.0
    for f in range(n_features):
        for c in range(k):
            row = index.emission_start[f] + c * index.width[f]
            base = w[row + index.usual[f]]
            usual_score[c] += base
            for s in range(index.width[f]):
                table[index.symbol_start[f] + s, c] = w[row + s] - base
            table[n_symbols + f, c] = -base


@kernel(nogil=True)
def score_positions(index, table, usual_score, out):  # type: ignore[no-untyped-def]
    """``out[n, c]``: sum of the scores of the symbols at position n for label c."""
    k = index.n_labels
    for n in range(out.shape[0]):
        for c in range(k):
            out[n, c] = usual_score[c]
        for p in range(index.cell_ptr[n], index.cell_ptr[n + 1]):
            row = index.cells[p]
            for c in range(k):
                out[n, c] += table[row, c]


@kernel(nogil=True)
def score_directly(index, w, out):  # type: ignore[no-untyped-def]
    """`score_positions` cell by cell, for vectors with entries of -inf, which have no differences."""
    for n in range(out.shape[0]):
        for c in range(index.n_labels):
            out[n, c] = 0.0
            for f in range(index.entry.shape[1]):
                if index.entry[n, f] >= 0:
                    out[n, c] += w[index.entry[n, f] + c * index.width[f]]


@kernel(nogil=True)
def add_symbols(index, weights, table):  # type: ignore[no-untyped-def]
    """``table[row] += weights[n]`` for every cell of position n, the adjoint of `score_positions`."""
    k = index.n_labels
    for n in range(weights.shape[0]):
        for p in range(index.cell_ptr[n], index.cell_ptr[n + 1]):
            row = index.cells[p]
            for c in range(k):
                table[row, c] += weights[n, c]


@kernel(nogil=True)
def fold_symbols(index, table, total, v):  # type: ignore[no-untyped-def]
    """Add a table of `add_symbols` and the total weight of each label to the emission entries of a vector."""
    k = index.n_labels
    n_features = len(index.width)
    n_symbols = index.symbol_start[n_features]
    for f in range(n_features):
        for c in range(k):
            row = index.emission_start[f] + c * index.width[f]
            left = total[c] - table[n_symbols + f, c]
            for s in range(index.width[f]):
                if s != index.usual[f]:
                    mass = table[index.symbol_start[f] + s, c]
                    v[row + s] += mass
                    left -= mass
            v[row + index.usual[f]] += left


@kernel(nogil=True)
def best_path(scores, w, low, high, k, back, path):  # type: ignore[no-untyped-def]
    """The best labels of the positions from `low` to `high`, into `path`; returns their score. Viterbi's algorithm."""
    ahead = np.empty(k)
    now = np.empty(k)
    for c in range(k):
        now[c] = w[c] + scores[low, c]
    for n in range(low + 1, high):
        for c in range(k):
            ahead[c] = -np.inf
            back[n - low, c] = 0
        for b in range(k):
            row = k + b * k
            for c in range(k):
                value = now[b] + w[row + c]
                if value > ahead[c]:
                    ahead[c] = value
                    back[n - low, c] = b
        for c in range(k):
            now[c] = ahead[c] + scores[n, c]
    best = 0
    for c in range(1, k):
        if now[c] > now[best]:
            best = c
    value = now[best]
    for n in range(high - 1, low - 1, -1):
        path[n] = best
        best = back[n - low, best]
    return value


@kernel(nogil=True)
def best_paths(starts, scores, w, k, paths, values):  # type: ignore[no-untyped-def]
    """The best labels of every sequence and their scores."""
    longest = 1
    for i in range(len(starts) - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    back = np.empty((longest, k), dtype=np.int32)
    for i in range(len(starts) - 1):
        values[i] = best_path(scores, w, starts[i], starts[i + 1], k, back, paths)


@kernel(nogil=True)
def hamming(labels, gamma, scores):  # type: ignore[no-untyped-def]
    """Add `gamma` to the scores of all labels but the true one."""
    for n in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            if c != labels[n]:
                scores[n, c] += gamma


@kernel(nogil=True)
def path_features(index, paths, n_parameters):  # type: ignore[no-untyped-def]
    """How often the given labels of all sequences look each entry of the vector up."""
    k = index.n_labels
    out = np.zeros(n_parameters)
    for i in range(len(index.starts) - 1):
        for n in range(index.starts[i], index.starts[i + 1]):
            c = paths[n]
            if n == index.starts[i]:
                out[c] += 1.0
            else:
                out[k + paths[n - 1] * k + c] += 1.0
            for f in range(index.entry.shape[1]):
                if index.entry[n, f] >= 0:
                    out[index.entry[n, f] + c * index.width[f]] += 1.0
    return out


@kernel(nogil=True)
def _log_sum(values, top):  # type: ignore[no-untyped-def]
    total = 0.0
    for x in values:
        total += np.exp(x - top)
    return top + np.log(total)


@kernel(nogil=True)
def _sums_of_logs(starts, scores, w, k, logs, marginals, pairs):  # type: ignore[no-untyped-def]
    """`expectations` by logarithms throughout, whatever the scores."""
    longest = 1
    for i in range(len(starts) - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    ahead = np.empty((longest, k))
    behind = np.empty((longest, k))
    terms = np.empty(k)
    for i in range(len(starts) - 1):
        low, high = starts[i], starts[i + 1]
        for c in range(k):
            ahead[0, c] = w[c] + scores[low, c]
            behind[high - low - 1, c] = 0.0
        for t in range(1, high - low):
            for c in range(k):
                top = -np.inf
                for b in range(k):
                    terms[b] = ahead[t - 1, b] + w[k + b * k + c]
                    top = max(top, terms[b])
                ahead[t, c] = scores[low + t, c] + (_log_sum(terms, top) if top > -np.inf else -np.inf)
        for t in range(high - low - 2, -1, -1):
            for b in range(k):
                top = -np.inf
                for c in range(k):
                    terms[c] = w[k + b * k + c] + scores[low + t + 1, c] + behind[t + 1, c]
                    top = max(top, terms[c])
                behind[t, b] = _log_sum(terms, top) if top > -np.inf else -np.inf
        top = ahead[high - low - 1].max()
        logs[i] = _log_sum(ahead[high - low - 1], top) if top > -np.inf else -np.inf
        if logs[i] == -np.inf:
            continue
        for t in range(high - low):
            for c in range(k):
                marginals[low + t, c] = np.exp(ahead[t, c] + behind[t, c] - logs[i])
            if t > 0:
                for b in range(k):
                    for c in range(k):
                        log = ahead[t - 1, b] + w[k + b * k + c] + scores[low + t, c] + behind[t, c] - logs[i]
                        pairs[b, c] += np.exp(log)


@kernel(nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _sums_scaled(starts, scores, w, k, logs, marginals, pairs):  # type: ignore[no-untyped-def]
    """`expectations` by probabilities, scaled to a sum of 1 at each position; for transitions of a moderate spread."""
    longest = 1
    for i in range(len(starts) - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    top_step = w[k : k + k * k].max()
    step = np.empty((k, k))
    for b in range(k):
        for c in range(k):
            step[b, c] = np.exp(w[k + b * k + c] - top_step)
    ahead = np.empty((longest, k))
    local = np.empty((longest, k))
    scale = np.empty(longest)
    behind = np.empty(k)
    later = np.empty(k)
    for i in range(len(starts) - 1):
        low, high = starts[i], starts[i + 1]
        log = (high - low - 1) * top_step
        for t in range(high - low):
            top = -np.inf
            for c in range(k):
                value = scores[low + t, c] + (w[c] if t == 0 else 0.0)
                local[t, c] = value
                top = max(top, value)
            log += top
            for c in range(k):
                local[t, c] = np.exp(local[t, c] - top)
                ahead[t, c] = 1.0 if t == 0 else 0.0
            if t > 0:
                for b in range(k):
                    mass = ahead[t - 1, b]
                    for c in range(k):
                        ahead[t, c] += mass * step[b, c]
            total = 0.0
            for c in range(k):
                ahead[t, c] *= local[t, c]
                total += ahead[t, c]
            scale[t] = 1.0 / total
            log += np.log(total)
            for c in range(k):
                ahead[t, c] *= scale[t]
        logs[i] = log
        for c in range(k):
            behind[c] = 1.0
        for t in range(high - low - 1, -1, -1):
            for c in range(k):
                marginals[low + t, c] = ahead[t, c] * behind[c]
            if t == 0:
                break
            for c in range(k):
                later[c] = local[t, c] * behind[c] * scale[t]
            for b in range(k):
                total = 0.0
                mass = ahead[t - 1, b]
                for c in range(k):
                    flow = step[b, c] * later[c]
                    total += flow
                    pairs[b, c] += mass * flow
                behind[b] = total


def expectations(
    starts: IntArray, scores: FloatArray, w: FloatArray, n_labels: int, pairs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Logarithm of the sum over all labellings of each sequence, and the marginals of its positions.

    The forward-backward algorithm.

    Parameters
    ----------
    starts : int64 array (n_sequences + 1,)
    scores : float64 array (n_positions, n_labels)
    w : float64 array
        Begins with the initial and the transition scores; the rest is not looked at.
    n_labels : int
    pairs : float64 array (n_labels, n_labels)
        Receives the expected number of each transition in all sequences, added to what is there.

    Returns
    -------
    logs : float64 array (n_sequences,)
    marginals : float64 array (n_positions, n_labels)

    Examples
    --------
    Two positions and two labels without any preference: four labellings.

    >>> pairs = np.zeros((2, 2))
    >>> logs, marginals = expectations(np.array([0, 2]), np.zeros((2, 2)), np.zeros(6), 2, pairs)
    >>> round(float(np.exp(logs[0])), 9), marginals.tolist(), pairs.tolist()
    (4.0, [[0.5, 0.5], [0.5, 0.5]], [[0.25, 0.25], [0.25, 0.25]])
    """
    logs = np.empty(len(starts) - 1)
    marginals = np.zeros(scores.shape)
    steps = w[n_labels : n_labels + n_labels * n_labels]
    lowest = min(float(steps.min()), float(scores.min(initial=0.0)), float(w[:n_labels].min()))
    moderate = np.isfinite(lowest) and float(steps.max() - steps.min()) <= SCALED_SPREAD
    passes = _sums_scaled if moderate else _sums_of_logs
    passes(starts, scores, w, n_labels, logs, marginals, pairs)
    return logs, marginals
