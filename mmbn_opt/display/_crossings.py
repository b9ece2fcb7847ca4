"""Order within rows with few crossings, and horizontal positions that keep edges straight."""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np

__all__ = ["count_crossings", "order_rows", "place_rows", "spread"]

Item = TypeVar("Item", bound=Hashable)
Links = dict[Item, list[Item]]

_SWEEPS = 12


def count_crossings(upper: Sequence[Item], lower: Sequence[Item], below: Links[Item]) -> int:
    """Crossings of the edges between two neighbouring rows.

    Examples
    --------
    >>> count_crossings(["a", "b"], ["c", "d"], {"a": ["d"], "b": ["c"]})
    1
    """
    place = {v: k for k, v in enumerate(lower)}
    ends = [t for v in upper for t in sorted(place[w] for w in below.get(v, ()))]
    seen = np.zeros(len(lower) + 1, dtype=np.int64)
    crossings = 0
    for t in ends:
        crossings += int(seen[t + 1 :].sum())
        seen[t] += 1
    return crossings


def order_rows(rows: list[list[Item]], above: Links[Item], below: Links[Item]) -> list[list[Item]]:
    """Barycentre sweeps down and up, each followed by swaps of neighbours; the best order seen is kept."""
    rows = [list(row) for row in rows]
    best, fewest = [list(row) for row in rows], _total(rows, below)
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        downward = sweep % 2 == 0
        for k in range(1, len(rows)) if downward else range(len(rows) - 2, -1, -1):
            fixed = rows[k - 1] if downward else rows[k + 1]
            _sort_by_neighbours(rows[k], fixed, above if downward else below)
        _swap_neighbours(rows, above, below)
        crossings = _total(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def place_rows(
    rows: Sequence[Sequence[Item]], above: Links[Item], below: Links[Item], half_width: dict[Item, float], gap: float
) -> dict[Item, float]:
    """Centres of all items: as near to the mean of their neighbours as the order and the widths allow."""
    x: dict[Item, float] = {}
    needs = [[half_width[a] + half_width[b] + gap for a, b in pairwise(row)] for row in rows]
    home: dict[Item, float] = {}
    for row, need in zip(rows, needs, strict=True):
        offsets = np.concatenate([[0.0], np.cumsum(need)]) if row else np.zeros(0)
        home.update(zip(row, (offsets - (offsets[-1] if row else 0.0) / 2).tolist(), strict=True))
    x.update(home)
    for _ in range(2 * _SWEEPS):
        for row, need in zip(rows, needs, strict=True):
            wish = [_wish(v, x, above, below, home) for v in row]
            x.update(zip(row, spread([w for w, _ in wish], [s for _, s in wish], need), strict=True))
    return x


def spread(wishes: Sequence[float], weights: Sequence[float], needs: Sequence[float]) -> list[float]:
    """Positions nearest to the wishes (weighted squares) with at least ``needs[k]`` between neighbours.

    With the needs subtracted this is isotonic regression, which pooling adjacent violators solves exactly.

    Examples
    --------
    >>> spread([0.0, 0.0], [1.0, 1.0], [10.0])
    [-5.0, 5.0]
    """
    offsets = [0.0]
    for need in needs:
        offsets.append(offsets[-1] + need)
    blocks: list[tuple[float, float, int]] = []
    for wish, weight, offset in zip(wishes, weights, offsets, strict=False):
        mean, mass, size = wish - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            other_mean, other_mass, other_size = blocks.pop()
            mean = (mean * mass + other_mean * other_mass) / (mass + other_mass)
            mass, size = mass + other_mass, size + other_size
        blocks.append((mean, mass, size))
    flat = [mean for mean, _, size in blocks for _ in range(size)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=False)]


def _wish(
    v: Item, x: dict[Item, float], above: Links[Item], below: Links[Item], home: dict[Item, float]
) -> tuple[float, float]:
    near = [x[w] for w in (*above.get(v, ()), *below.get(v, ()))]
    if not near:
        return home[v], 0.01
    return sum(near) / len(near), float(len(near))


def _sort_by_neighbours(row: list[Item], fixed: Sequence[Item], links: Links[Item]) -> None:
    place = {v: k for k, v in enumerate(fixed)}
    keys = {}
    for k, v in enumerate(row):
        near = [place[w] for w in links.get(v, ()) if w in place]
        # Items without neighbours on that side keep their relative place.
        keys[v] = sum(near) / len(near) if near else k * max(len(fixed), 1) / max(len(row), 1)
    row.sort(key=keys.__getitem__)


def _swap_neighbours(rows: list[list[Item]], above: Links[Item], below: Links[Item]) -> None:
    for k, row in enumerate(rows):
        sides = [(rows[k - 1], above)] if k else []
        sides += [(rows[k + 1], below)] if k + 1 < len(rows) else []
        places = [({v: n for n, v in enumerate(other)}, links) for other, links in sides]
        ends = {v: [[place[w] for w in links.get(v, ()) if w in place] for place, links in places] for v in row}
        improved = True
        while improved:
            improved = False
            for n in range(len(row) - 1):
                a, b = row[n], row[n + 1]
                gain = sum(_pair(p, q) - _pair(q, p) for p, q in zip(ends[a], ends[b], strict=True))
                if gain > 0:
                    row[n], row[n + 1] = b, a
                    improved = True


def _pair(left: list[int], right: list[int]) -> int:
    return sum(p > q for p in left for q in right)


def _total(rows: Sequence[Sequence[Item]], below: Links[Item]) -> int:
    return sum(count_crossings(upper, lower, below) for upper, lower in pairwise(rows))
