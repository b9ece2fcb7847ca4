"""Compiled loops of convex programs: sums over index tables, their adjoint, and what is solved row by row."""

import numpy as np

from mmbn_opt._arrays import kernel

__all__ = [
    "BLOCK",
    "add_adjoint",
    "add_block",
    "add_curvature",
    "center_slacks",
    "project_rows",
    "smooth_hinge",
    "sum_block",
    "sum_scores",
    "support_rows",
]

BLOCK = 64
"""Samples that are worked on together: their scores stay in the first-level cache."""


@kernel()
def sum_block(index, start, table, low, high, out):  # type: ignore[no-untyped-def]
    """`sum_scores` of the samples from `low` to `high`, into the first rows of `out`."""
    n_classes = table.shape[1]
    out[: high - low] = 0.0
    for g in range(index.shape[0]):
        for m in range(low, high):
            row = start[g] + index[g, m]
            for c in range(n_classes):
                out[m - low, c] += table[row, c]


@kernel()
def add_block(index, start, weights, low, high, table):  # type: ignore[no-untyped-def]
    """`add_adjoint` of the samples from `low` to `high`, whose weights are the first rows of `weights`."""
    n_classes = table.shape[1]
    for g in range(index.shape[0]):
        for m in range(low, high):
            row = start[g] + index[g, m]
            for c in range(n_classes):
                table[row, c] += weights[m - low, c]


@kernel()
def sum_scores(index, start, table, out):  # type: ignore[no-untyped-def]
    """``out[m, c] = sum_g table[start[g] + index[g, m], c]``."""
    n_samples = index.shape[1]
    for low in range(0, n_samples, BLOCK):
        high = min(low + BLOCK, n_samples)
        sum_block(index, start, table, low, high, out[low:high])


@kernel()
def add_adjoint(index, start, weights, table):  # type: ignore[no-untyped-def]
    """``table[start[g] + index[g, m], c] += weights[m, c]``, the adjoint of `sum_scores`."""
    n_samples = index.shape[1]
    for low in range(0, n_samples, BLOCK):
        high = min(low + BLOCK, n_samples)
        add_block(index, start, weights[low:high], low, high, table)


@kernel()
def smooth_hinge(index, start, table, labels, weight, delta, gamma, tau, gradient, want_gradient):  # type: ignore[no-untyped-def]
    """Sums over the samples of (smoothed hinge, hinge, dual linear part, weight classified rightly).

    The smoothed hinge is ``tau log(1 + sum_c exp((gamma delta_c - margin_c) / tau))`` over the rivals c. Its
    derivatives by the slacks are the multipliers y; ``gradient`` collects ``-Delta' y`` by table rows.
    """
    n_samples, n_classes = index.shape[1], table.shape[1]
    scores = np.empty((BLOCK, n_classes))
    totals = np.zeros(3)
    per_sample_delta = delta.shape[0] > 1
    for low in range(0, n_samples, BLOCK):
        high = min(low + BLOCK, n_samples)
        sum_block(index, start, table, low, high, scores)
        for m in range(low, high):
            s = scores[m - low]
            own = labels[m]
            base = s[own]
            d = m if per_sample_delta else 0
            top = 0.0
            for c in range(n_classes):
                if c != own:
                    s[c] = gamma * delta[d, c] - base + s[c]
                    top = max(top, s[c])
            total = np.exp(-top / tau)
            for c in range(n_classes):
                if c != own:
                    s[c] = np.exp((s[c] - top) / tau)
                    total += s[c]
            totals[0] += weight[m] * (top + tau * np.log(total))
            totals[1] += weight[m] * top
            given = 0.0
            for c in range(n_classes):
                if c != own:
                    s[c] *= weight[m] / total
                    given += s[c]
                    totals[2] += gamma * delta[d, c] * s[c]
            s[own] = -given
        if want_gradient:
            add_block(index, start, scores, low, high, gradient)
    return totals


@kernel()
def support_rows(v, row_ptr, log_floor, point):  # type: ignore[no-untyped-def]
    """``sum over rows of max { v.w : sum exp(w) <= 1, w >= log_floor }`` and the point that attains it.

    On the floor lies ``F = {i : v_i <= lam exp(log_floor)}`` with ``lam = sum of the other v / (1 - |F| floor)``; F
    starts as the entries that are not positive and only grows.
    """
    floor = np.exp(log_floor)
    value = 0.0
    for r in range(len(row_ptr) - 1):
        low, high = row_ptr[r], row_ptr[r + 1]
        limit = 0.0  # entries up to here lie on the floor
        while True:
            on_floor = 0
            total = 0.0
            for i in range(low, high):
                if v[i] <= limit:
                    on_floor += 1
                else:
                    total += v[i]
            lam = total / (1.0 - on_floor * floor)
            grown = lam * floor
            if total == 0.0 or not grown > limit:
                break
            more = False
            for i in range(low, high):
                if limit < v[i] <= grown:
                    more = True
            if not more:
                break
            limit = grown
        for i in range(low, high):
            if v[i] <= limit or total == 0.0:
                point[i] = log_floor
                if v[i] != 0.0:
                    value += v[i] * log_floor
            else:
                point[i] = np.log(v[i] / lam)
                value += v[i] * point[i]
    return value


@kernel()
def _entry(z, a):  # type: ignore[no-untyped-def]
    """The root w of ``w + a exp(w) = z``, by Newton from the right side of it."""
    if a == 0.0:
        return z
    # exp(w) = x / a where x + log x = z + log a; start above the root of a convex function.
    t = z + np.log(a)
    if t < -700.0:
        return z
    x = np.exp(t) if t < 0.0 else max(t, 1.0)
    for _ in range(50):
        step = (x + np.log(x) - t) / (1.0 + 1.0 / x)
        new = x - step
        if new <= 0.0:
            new = 0.5 * x
        if abs(new - x) <= 1e-15 * x:
            x = new
            break
        x = new
    return z - x


@kernel()
def project_rows(z, metric, row_ptr, log_floor, multipliers, out):  # type: ignore[no-untyped-def]
    """Nearest point with ``sum exp(w) <= 1`` in each row and ``w >= log_floor``, in the norm ``sum metric_i w_i^2``.

    ``w_i + mu / metric_i exp(w_i) = z_i`` off the floor; the row's mu is found by Newton's method on the row sum,
    which is decreasing and convex in mu. ``multipliers`` (one a row) holds where to start and receives mu.
    """
    floor = np.exp(log_floor)
    for r in range(len(row_ptr) - 1):
        low, high = row_ptr[r], row_ptr[r + 1]
        total = 0.0
        for i in range(low, high):
            out[i] = max(z[i], log_floor)
            total += np.exp(min(out[i], 50.0))
        if total <= 1.0:
            multipliers[r] = 0.0
            continue
        mu = multipliers[r]
        for i in range(low, high):
            mu = max(mu, metric[i] * z[i])  # no less, or this entry alone were above 1; Newton's way from 0 is long
        for attempt in range(100):
            total = 0.0
            slope = 0.0
            for i in range(low, high):
                w = _entry(z[i], mu / metric[i])
                if w <= log_floor:
                    out[i] = log_floor
                    total += floor
                else:
                    out[i] = w
                    e = np.exp(w) if w < 700.0 else np.inf
                    total += e
                    slope += e * e / (metric[i] + mu * e)
            error = total - 1.0
            if abs(error) <= 1e-14 or (abs(error) <= 1e-12 and attempt > 20):
                break
            if slope == 0.0 or not np.isfinite(slope):
                mu = mu + max(1.0, mu)
                continue
            new = mu + error / slope
            # From too large a mu Newton may jump below zero; the row sum is above 1 there.
            mu = new if new > 0.0 else 0.5 * mu
        multipliers[r] = mu
        # What rounding left above 1 comes off the entries that are free.
        total = 0.0
        bound = 0.0
        for i in range(low, high):
            e = np.exp(out[i])
            if out[i] <= log_floor:
                bound += e
            else:
                total += e
        if total > 0.0 and total + bound > 1.0:
            shift = np.log((1.0 - bound) / total)
            for i in range(low, high):
                if out[i] > log_floor:
                    out[i] = max(out[i] + shift, log_floor)


@kernel()
def add_curvature(factor_rows, gather, d, least, matrix):  # type: ignore[no-untyped-def]
    """Add ``sum_m Phi_m' (diag(d_m) - d_m d_m' / sum d_m) Phi_m`` to the lower triangle of `matrix`.

    ``Phi_m`` looks the scores of sample m up: class c sees the entries ``gather[factor_rows[m, f], c]``, of which the
    negative ones are left out. So are classes with ``d_mc < least``. The block of a pair of classes is symmetric in the
    factor rows and small enough for the cache; it is summed first and then put in its place.
    """
    n_samples, n_factors = factor_rows.shape
    n_rows, n_classes = gather.shape
    total = np.empty(n_samples)
    others = np.empty((n_samples, n_classes))
    for m in range(n_samples):
        # Sums of the other classes, without the cancellation of a difference: one class may have nearly all.
        before = 0.0
        for c in range(n_classes):
            others[m, c] = before
            before += d[m, c]
        total[m] = before
        after = 0.0
        for c in range(n_classes - 1, -1, -1):
            others[m, c] += after
            after += d[m, c]
    block = np.empty((n_rows, n_rows))
    for a in range(n_classes):
        for b in range(a + 1):
            block[:] = 0.0
            used = False
            for m in range(n_samples):
                if d[m, a] <= least or d[m, b] <= least:
                    continue
                used = True
                # The first is d - d^2 / total.
                e = d[m, a] * (others[m, a] / total[m]) if a == b else -d[m, a] * (d[m, b] / total[m])
                for f in range(n_factors):
                    row = factor_rows[m, f]
                    for g in range(f + 1):
                        block[row, factor_rows[m, g]] += e
            if not used:
                continue
            for r in range(n_rows):
                for s in range(r + 1):
                    e = block[r, s]
                    if e == 0.0:
                        continue
                    i, j = gather[r, a], gather[s, b]
                    if i >= 0 and j >= 0:
                        matrix[max(i, j), min(i, j)] += e
                    if a != b and r != s:
                        i, j = gather[s, a], gather[r, b]
                        if i >= 0 and j >= 0:
                            matrix[max(i, j), min(i, j)] += e


@kernel()
def center_slacks(g, weight, mu, y):  # type: ignore[no-untyped-def]
    """The multipliers ``y_mc = mu / (xi_m - g_mc)`` with ``sum_c y_mc = n_m``, by Newton's method on xi; returns xi."""
    n_samples, n_classes = g.shape
    xi = np.empty(n_samples)
    for m in range(n_samples):
        top = g[m].max()
        # The root lies between where the largest term alone, and where all terms as large as it, would give n_m.
        u = mu / weight[m]
        for _ in range(60):
            total = 0.0
            slope = 0.0
            for c in range(n_classes):
                s = u + (top - g[m, c])
                total += mu / s
                slope += mu / (s * s)
            # Newton on 1 / total, which is nearly linear in u.
            step = (total - weight[m]) * total / (slope * weight[m])
            u += step
            if abs(step) <= 1e-15 * u:
                break
        xi[m] = top + u
        total = 0.0
        for c in range(n_classes):
            y[m, c] = mu / (u + (top - g[m, c]))
            total += y[m, c]
        for c in range(n_classes):
            y[m, c] *= weight[m] / total
    return xi
