"""Compiled loops of the proximal Newton method: simplex projections, what they tie, and products with its Hessian.

The multipliers of a sample are the nearest point of a simplex; the derivative of that projection lives on the classes
that share the sample's weight (its *ties*), and is there the projection onto vectors that sum to zero.
"""

import numpy as np

from ..._arrays import kernel
from ._primal_dual_kernels import onto_simplex

__all__ = ["conjugate_steps", "find_ties", "move_multipliers", "slope_of", "sort_moving", "tie_diagonal"]


@kernel()
def move_multipliers(scores, y, labels, weight, delta, gamma, step, new):  # type: ignore[no-untyped-def]
    """``new_m = nearest to y_m + step n_m (gamma delta_m + scores_m)`` among the multipliers that sum to n_m.

    Returns the sum of ``delta new`` over the rivals, the sum of ``(new - y)^2 / n_m`` and that of ``new (score of the
    class - score of the own one)``.
    """
    n_samples, n_classes = scores.shape
    per_sample_delta = delta.shape[0] > 1
    asked, moved, along = 0.0, 0.0, 0.0
    for m in range(n_samples):
        own = labels[m]
        d = m if per_sample_delta else 0
        z = new[m]
        length = step * weight[m]
        for c in range(n_classes):
            z[c] = y[m, c] + length * (scores[m, c] + (0.0 if c == own else gamma * delta[d, c]))
        onto_simplex(z, weight[m])
        for c in range(n_classes):
            change = z[c] - y[m, c]
            moved += change * change / weight[m]
            if c != own and z[c] != 0.0:
                asked += delta[d, c] * z[c]
                along += z[c] * (scores[m, c] - scores[m, own])
    return asked, moved, along


@kernel()
def sort_moving(first, last, weight, labels, change, ids):  # type: ignore[no-untyped-def]
    """Samples whose multipliers are not at one vertex of their simplex at both ends of a step, into `ids`.

    Between the ends the others stay where they are. Returns the number of the former, and the slope of the latter along
    `change`, the scores' change over the whole step.
    """
    count, slope = 0, 0.0
    for m in range(first.shape[0]):
        stays = False
        for c in range(first.shape[1]):
            if first[m, c] == weight[m] and last[m, c] == weight[m]:
                stays = True
                slope += weight[m] * (change[m, c] - change[m, labels[m]])
                break
        if not stays:
            ids[count] = m
            count += 1
    return count, slope


@kernel()
def slope_of(ids, scores, change, share, y, labels, weight, delta, gamma, step, new):  # type: ignore[no-untyped-def]
    """Slope along `change`, at a share of it, of what the samples `ids` add; their multipliers there go to `new`."""
    n_classes = scores.shape[1]
    per_sample_delta = delta.shape[0] > 1
    slope = 0.0
    for m in ids:
        own = labels[m]
        d = m if per_sample_delta else 0
        z = new[m]
        length = step * weight[m]
        for c in range(n_classes):
            asked = 0.0 if c == own else gamma * delta[d, c]
            z[c] = y[m, c] + length * (scores[m, c] + share * change[m, c] + asked)
        onto_simplex(z, weight[m])
        for c in range(n_classes):
            if z[c] != 0.0:
                slope += z[c] * (change[m, c] - change[m, own])
    return slope


@kernel()
def find_ties(y, factor_rows, gather):  # type: ignore[no-untyped-def]
    """Samples that share their weight between classes, and the entries of w that each of their classes looks up.

    Also where each sample begins in the list of such pairs.
    """
    n_samples, n_classes = y.shape
    n_factors = factor_rows.shape[1]
    n_ties, n_pairs = 0, 0
    for m in range(n_samples):
        count = 0
        for c in range(n_classes):
            if y[m, c] > 0.0:
                count += 1
        if count > 1:
            n_ties += 1
            n_pairs += count
    ptr = np.zeros(n_ties + 1, np.int64)
    sample = np.empty(n_ties, np.int64)
    entries = np.empty((n_pairs, n_factors), np.int32)
    tie, pair = 0, 0
    for m in range(n_samples):
        count = 0
        for c in range(n_classes):
            if y[m, c] > 0.0:
                count += 1
        if count <= 1:
            continue
        for c in range(n_classes):
            if y[m, c] > 0.0:
                for f in range(n_factors):
                    entries[pair, f] = gather[factor_rows[m, f], c]
                pair += 1
        sample[tie] = m
        tie += 1
        ptr[tie] = pair
    return ptr, sample, entries


@kernel()
def tie_diagonal(ptr, entries, curvature, out):  # type: ignore[no-untyped-def]
    """Add the diagonal of ``sum_m curvature_m Phi_m' (I - 1 1' / count) Phi_m`` to `out`."""
    for s in range(len(ptr) - 1):
        e = curvature[s] * (1.0 - 1.0 / (ptr[s + 1] - ptr[s]))
        for p in range(ptr[s], ptr[s + 1]):
            for f in range(entries.shape[1]):
                out[entries[p, f]] += e


@kernel(fastmath=True)
def _product(ptr, entries, curvature, diagonal, low, high, row_weight, share, x, out, scores):  # type: ignore[no-untyped-def]
    """``out = H x``: ties, a diagonal, and one direction `share` a row from `low` to `high`."""
    n = len(diagonal)
    for i in range(n):
        out[i] = diagonal[i] * x[i]
    for s in range(len(ptr) - 1):
        first, last = ptr[s], ptr[s + 1]
        mean = 0.0
        for p in range(first, last):
            total = 0.0
            for f in range(entries.shape[1]):
                total += x[entries[p, f]]
            scores[p - first] = total
            mean += total
        mean /= last - first
        for p in range(first, last):
            e = curvature[s] * (scores[p - first] - mean)
            for f in range(entries.shape[1]):
                out[entries[p, f]] += e
    for r in range(len(low)):
        total = 0.0
        for i in range(low[r], high[r]):
            total += share[i] * x[i]
        total *= row_weight[r]
        for i in range(low[r], high[r]):
            out[i] += total * share[i]
    out[n] = 0.0


@kernel(fastmath=True)
def conjugate_steps(  # type: ignore[no-untyped-def]
    ptr, entries, curvature, diagonal, low, high, row_weight, share, inverse, count, least, x, r, d, work, scores, rz
):
    """At most `count` steps of preconditioned conjugate gradients, until the squared residual is `least`.

    x, its residual r and the direction d go on from one call to the next (d empty, that is zero, at the first); each
    has a last slot for entries that don't move. Returns the number of steps and the squared residual ``r' M^-1 r``.
    """
    n = len(diagonal)
    for k in range(count):
        if rz <= least:
            return k, rz
        _product(ptr, entries, curvature, diagonal, low, high, row_weight, share, d, work, scores)
        bend = 0.0
        for i in range(n):
            bend += d[i] * work[i]
        if not bend > 0.0:
            return k, 0.0
        length = rz / bend
        new = 0.0
        for i in range(n):
            x[i] += length * d[i]
            r[i] -= length * work[i]
            new += r[i] * inverse[i] * r[i]
        again = new / rz
        for i in range(n):
            d[i] = inverse[i] * r[i] + again * d[i]
        rz = new
    return count, rz
