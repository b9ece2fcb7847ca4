"""Compiled loops of the primal-dual method: the step of the multipliers, fused with the scores and their adjoint."""

import numpy as np

from ..._arrays import kernel
from ...programs.margin_kernels import BLOCK, add_block, sum_block

__all__ = ["anchor", "dual_step", "onto_simplex"]


@kernel()
def onto_simplex(z, total):  # type: ignore[no-untyped-def]
    """Nearest point of ``{y >= 0, sum y = total}``, in place (Michelot 1986: drop what is negative, repeat)."""
    count = len(z)
    rest = z.sum()
    shift = (rest - total) / count
    while True:
        kept = 0
        rest = 0.0
        for x in z:
            if x > shift:
                kept += 1
                rest += x
        if kept >= count or kept == 0:  # more than before: by rounding alone, and for ever
            break
        count = kept
        shift = (rest - total) / count
    for c in range(len(z)):
        z[c] = max(z[c] - shift, 0.0)


@kernel()
def dual_step(index, start, table, labels, weight, delta, gamma, step, y, new, gradient):  # type: ignore[no-untyped-def]
    """``new_m = nearest to y_m + step n_m (gamma delta_m + scores_m)`` among the multipliers that sum to n_m.

    ``scores`` are those of the table; the own class has a slot of its own, with no margin asked for. ``gradient``
    (zeros on entry) collects the new multipliers by table rows. Returns the sum of ``delta new`` over the rivals and
    the sum of ``(new - y)^2 / n_m``.
    """
    n_samples, n_classes = index.shape[1], table.shape[1]
    per_sample_delta = delta.shape[0] > 1
    asked, moved = 0.0, 0.0
    scores = np.empty((BLOCK, n_classes))
    for low in range(0, n_samples, BLOCK):
        high = min(low + BLOCK, n_samples)
        sum_block(index, start, table, low, high, scores)
        for m in range(low, high):
            z = scores[m - low]
            own = labels[m]
            d = m if per_sample_delta else 0
            for c in range(n_classes):
                ask = 0.0 if c == own else gamma * delta[d, c]
                z[c] = y[m, c] + step * weight[m] * (ask + z[c])
            onto_simplex(z, weight[m])
            for c in range(n_classes):
                change = z[c] - y[m, c]
                moved += change * change / weight[m]
                new[m, c] = z[c]
                if c != own:
                    asked += delta[d, c] * z[c]
        add_block(index, start, scores, low, high, gradient)
    return asked, moved


@kernel()
def anchor(current, new, origin, share):  # type: ignore[no-untyped-def]
    """``current = share (2 new - current) + (1 - share) origin``, in place, for tables."""
    for m in range(current.shape[0]):
        for c in range(current.shape[1]):
            current[m, c] = share * (2.0 * new[m, c] - current[m, c]) + (1.0 - share) * origin[m, c]
