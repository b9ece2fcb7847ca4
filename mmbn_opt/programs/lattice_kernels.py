"""Compiled passes over lattices of labellings: edges that nearly best labellings use, and sums over what is left."""

import numpy as np

from mmbn_opt._arrays import kernel

__all__ = ["lattice_flows", "lattice_potentials", "near_edges", "whole_ways", "widest_way"]

ROUNDING = 1e-12
"""Relative; sums along a labelling differ by less whichever end they begin at."""


@kernel(nogil=True)
def near_edges(starts, scores, w, k, width, keys, fill):  # type: ignore[no-untyped-def]
    """Edges on a labelling that scores at most ``width[i]`` less than the best one of its sequence; their number.

    An edge from label a to label b at position n is ``(n (k + 1) + a + 1) k + b``, with a = -1 at the first position.
    Without `fill` they are counted alone.
    """
    longest = 1
    for i in range(len(starts) - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    ahead = np.empty((longest, k))
    behind = np.empty((longest, k))
    count = 0
    for i in range(len(starts) - 1):
        low, high = starts[i], starts[i + 1]
        for c in range(k):
            ahead[0, c] = w[c] + scores[low, c]
            behind[high - low - 1, c] = 0.0
        for t in range(1, high - low):
            for c in range(k):
                top = -np.inf
                for b in range(k):
                    top = max(top, ahead[t - 1, b] + w[k + b * k + c])
                ahead[t, c] = top + scores[low + t, c]
        for t in range(high - low - 2, -1, -1):
            for b in range(k):
                top = -np.inf
                for c in range(k):
                    top = max(top, w[k + b * k + c] + scores[low + t + 1, c] + behind[t + 1, c])
                behind[t, b] = top
        best = -np.inf
        for c in range(k):
            best = max(best, ahead[high - low - 1, c])
        least = best - width[i] - ROUNDING * max(1.0, abs(best))
        for t in range(high - low):
            for c in range(k):
                if ahead[t, c] + behind[t, c] < least:
                    continue
                if t == 0:
                    if fill:
                        keys[count] = low * (k + 1) * k + c
                    count += 1
                    continue
                rest = scores[low + t, c] + behind[t, c]
                for b in range(k):
                    if ahead[t - 1, b] + w[k + b * k + c] + rest >= least:
                        if fill:
                            keys[count] = ((low + t) * (k + 1) + b + 1) * k + c
                        count += 1
    return count


@kernel(nogil=True)
def whole_ways(tail, head, begins, ends, kept):  # type: ignore[no-untyped-def]
    """Which edges lie on a way from a node that `begins` to one that `ends`; both are marked further on the way."""
    for e in range(len(tail)):
        kept[e] = begins[tail[e]]
        begins[head[e]] |= kept[e]
    for e in range(len(tail) - 1, -1, -1):
        kept[e] &= ends[head[e]]
        ends[tail[e]] |= kept[e]


@kernel(nogil=True)
def lattice_potentials(tail, head, scores, tau, potentials):  # type: ignore[no-untyped-def]
    """Logarithmic sums over all ways from each node to the end, times tau; with ``tau = 0`` the largest score.

    Edges are sorted by position and, within one, by their tail. `potentials` comes with zeros.
    """
    last = len(tail)
    while last > 0:
        node = tail[last - 1]
        first = last - 1
        while first > 0 and tail[first - 1] == node:
            first -= 1
        top = -np.inf
        for e in range(first, last):
            top = max(top, scores[e] + potentials[head[e]])
        if tau > 0.0:
            total = 0.0
            for e in range(first, last):
                total += np.exp((scores[e] + potentials[head[e]] - top) / tau)
            top += tau * np.log(total)
        potentials[node] = top
        last = first


@kernel(nogil=True)
def lattice_flows(tail, head, shares, mass):  # type: ignore[no-untyped-def]
    """Turn shares of what arrives at each node, which sum to 1 over its edges, into flows; `mass` is 1 at starts."""
    for e in range(len(tail)):
        shares[e] *= mass[tail[e]]
        mass[head[e]] += shares[e]


@kernel(nogil=True)
def widest_way(level, before, label, k, left, way):  # type: ignore[no-untyped-def]
    """The way through a sequence whose least flow is largest, as places of its edges into `way`; returns that flow.

    `level` is the position in the sequence, ascending, and `before` is k where a way begins.
    """
    length = len(way)
    width = np.zeros((length + 1, k + 1))
    come = np.zeros((length + 1, k + 1), dtype=np.int64)
    width[0, k] = np.inf
    for j in range(len(level)):
        t = level[j]
        through = min(width[t, before[j]], left[j])
        if through > width[t + 1, label[j]]:
            width[t + 1, label[j]] = through
            come[t + 1, label[j]] = j
    at = 0
    for c in range(1, k):
        if width[length, c] > width[length, at]:
            at = c
    share = width[length, at]
    if share > 0.0:
        for t in range(length, 0, -1):
            way[t - 1] = come[t, at]
            at = before[way[t - 1]]
    return share
