"""What side constraints take away from a box of allowed columns, compiled."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, FloatArray, kernel

__all__ = ["fitting", "idle", "keep_caps", "keep_groups", "keep_paths", "keep_rows"]

EMPTY, SAME, LESS = -1, 0, 1
"""The box is empty, as it was, or smaller."""


@kernel(nogil=True)
def keep_rows(allowed: BoolArray, offsets: NDArray[np.intp], rows: FloatArray, upper: FloatArray) -> int:
    """Rows ``rows[r] . x <= upper[r]``: the least that every other node adds leaves room for a column, or it goes."""
    nodes = len(offsets) - 1
    least = np.empty(nodes)
    found = SAME
    for r in range(len(rows)):
        total = 0.0
        for i in range(nodes):
            least[i] = np.inf
            for k in range(offsets[i], offsets[i + 1]):
                if allowed[k] and rows[r, k] < least[i]:
                    least[i] = rows[r, k]
            total += least[i]
        if not total <= upper[r]:
            return EMPTY
        room = upper[r] - total
        for i in range(nodes):
            for k in range(offsets[i], offsets[i + 1]):
                if allowed[k] and rows[r, k] - least[i] > room:
                    allowed[k] = False
                    found = LESS
    return found


@kernel(nogil=True)
def forced_items(allowed: BoolArray, offsets: NDArray[np.intp], cover: BoolArray) -> BoolArray:
    """Items that every choice in the box brings about: in all allowed columns of some node."""
    n_items = cover.shape[1]
    forced = np.zeros(n_items, dtype=np.bool_)
    common = np.empty(n_items, dtype=np.bool_)
    for i in range(len(offsets) - 1):
        count = 0
        for k in range(offsets[i], offsets[i + 1]):
            if allowed[k]:
                for j in range(n_items):
                    common[j] = cover[k, j] and (count == 0 or common[j])
                count += 1
        if count:
            for j in range(n_items):
                forced[j] = forced[j] or common[j]
    return forced


@kernel(nogil=True)
def weight_of(items: BoolArray, weights: FloatArray) -> float:
    """Sum of the weights of the items that are there."""
    total = 0.0
    for j in range(len(items)):
        if items[j]:
            total += weights[j]
    return total


@kernel(nogil=True)
def keep_caps(
    allowed: BoolArray, offsets: NDArray[np.intp], cover: BoolArray, weights: FloatArray, caps: FloatArray
) -> int:
    """Caps on the weights of items that are there."""
    forced = forced_items(allowed, offsets, cover)
    found = SAME
    for r in range(len(caps)):
        total = weight_of(forced, weights[r])
        if total > caps[r]:
            return EMPTY
        for k in range(len(allowed)):
            if allowed[k]:
                more = 0.0
                for j in range(len(forced)):
                    if cover[k, j] and not forced[j]:
                        more += weights[r, j]
                if total + more > caps[r]:
                    allowed[k] = False
                    found = LESS
    return found


@kernel(nogil=True)
def keep_groups(allowed: BoolArray, offsets: NDArray[np.intp], cover: BoolArray, groups: BoolArray) -> int:
    """All items of a group or none: none where one is out of reach."""
    forced = forced_items(allowed, offsets, cover)
    n_items = cover.shape[1]
    possible = np.zeros(n_items, dtype=np.bool_)
    for k in range(len(allowed)):
        if allowed[k]:
            for j in range(n_items):
                possible[j] = possible[j] or cover[k, j]
    found = SAME
    for g in range(len(groups)):
        some = False
        short = False
        for j in range(n_items):
            if groups[g, j]:
                some = some or forced[j]
                short = short or not possible[j]
        if not short:
            continue
        if some:
            return EMPTY
        for k in range(len(allowed)):
            if allowed[k]:
                for j in range(n_items):
                    if groups[g, j] and cover[k, j]:
                        allowed[k] = False
                        found = LESS
                        break
    return found


@kernel(nogil=True)
def _close(reach: BoolArray) -> None:
    """Add what follows by transitivity."""
    nodes = len(reach)
    for middle in range(nodes):
        for top in range(nodes):
            if reach[top, middle]:
                for low in range(nodes):
                    if reach[middle, low]:
                        reach[top, low] = True


@kernel(nogil=True)
def keep_paths(
    allowed: BoolArray,
    offsets: NDArray[np.intp],
    parents: BoolArray,
    above: NDArray[np.int64],
    apart: NDArray[np.int64],
) -> int:
    """Pairs with a path from the first to the second (`above`), and pairs with none (`apart`)."""
    nodes = len(offsets) - 1
    common = np.zeros((nodes, nodes), dtype=np.bool_)  # an edge, then a path, in every choice of the box
    possible = np.zeros((nodes, nodes), dtype=np.bool_)
    for i in range(nodes):
        common[i, i] = possible[i, i] = True
        for j in range(parents.shape[1]):
            count = 0
            have = 0
            for k in range(offsets[i], offsets[i + 1]):
                if allowed[k]:
                    count += 1
                    if parents[k, j]:
                        have += 1
            if have > 0:
                possible[j, i] = True
                if have == count:
                    common[j, i] = True
    _close(common)
    _close(possible)
    for t in range(len(above)):
        if not possible[above[t, 0], above[t, 1]]:
            return EMPTY
    found = SAME
    for t in range(len(apart)):
        a, b = apart[t, 0], apart[t, 1]
        if common[a, b]:
            return EMPTY
        for i in range(nodes):
            if not common[i, b]:
                continue
            for k in range(offsets[i], offsets[i + 1]):
                if allowed[k]:
                    for j in range(parents.shape[1]):
                        if parents[k, j] and common[a, j]:
                            allowed[k] = False
                            found = LESS
                            break
    return found


@kernel(nogil=True)
def fitting(
    choice: NDArray[np.intp],
    node: int,
    offsets: NDArray[np.intp],
    rows: FloatArray,
    upper: FloatArray,
    cover: BoolArray,
    weights: FloatArray,
    caps: FloatArray,
    groups: BoolArray,
) -> BoolArray:
    """Which columns of a node keep rows, caps and groups when the other nodes keep to `choice`."""
    first, last = offsets[node], offsets[node + 1]
    fits = np.ones(last - first, dtype=np.bool_)
    for r in range(len(upper)):
        taken = 0.0
        for i in range(len(choice)):
            if i != node:
                taken += rows[r, choice[i]]
        for k in range(first, last):
            if taken + rows[r, k] > upper[r]:
                fits[k - first] = False
    n_items = cover.shape[1]
    if n_items == 0:
        return fits
    there = np.zeros(n_items, dtype=np.bool_)
    for i in range(len(choice)):
        if i != node:
            for j in range(n_items):
                there[j] = there[j] or cover[choice[i], j]
    for k in range(first, last):
        for r in range(len(caps)):
            total = 0.0
            for j in range(n_items):
                if there[j] or cover[k, j]:
                    total += weights[r, j]
            if total > caps[r]:
                fits[k - first] = False
        for g in range(len(groups)):
            has, lacks = False, False
            for j in range(n_items):
                if groups[g, j]:
                    if there[j] or cover[k, j]:
                        has = True
                    else:
                        lacks = True
            if has and lacks:
                fits[k - first] = False
    return fits


@kernel(nogil=True)
def roomy(
    choice: NDArray[np.intp],
    rows: FloatArray,
    upper: FloatArray,
    most: FloatArray,
    cover: BoolArray,
    able: BoolArray,
    weights: FloatArray,
    caps: FloatArray,
) -> bool:
    """Whether no single replacement breaks a row or a cap, by the most that a node's columns add and bring about."""
    for r in range(len(upper)):
        total, gain = 0.0, 0.0
        for i in range(len(choice)):
            own = rows[r, choice[i]]
            total += own
            gain = max(gain, most[i, r] - own)
        if total + gain > upper[r]:
            return False
    if len(caps) == 0:
        return True
    n_items = cover.shape[1]
    there = np.zeros(n_items, dtype=np.bool_)
    for i in range(len(choice)):
        for j in range(n_items):
            there[j] = there[j] or cover[choice[i], j]
    for r in range(len(caps)):
        total, gain = 0.0, 0.0
        for j in range(n_items):
            if there[j]:
                total += weights[r, j]
        for i in range(len(choice)):
            more = 0.0
            for j in range(n_items):
                if able[i, j] and not there[j]:
                    more += weights[r, j]
            gain = max(gain, more)
        if total + gain > caps[r]:
            return False
    return True


@kernel(nogil=True)
def idle(
    allowed: BoolArray,
    offsets: NDArray[np.intp],
    rows: FloatArray,
    upper: FloatArray,
    cover: BoolArray,
    weights: FloatArray,
    caps: FloatArray,
) -> bool:
    """Whether no choice in a box breaks a row or a cap: by the most that each node adds, and all items together."""
    for r in range(len(upper)):
        total = 0.0
        for i in range(len(offsets) - 1):
            most = -np.inf
            for k in range(offsets[i], offsets[i + 1]):
                if allowed[k] and rows[r, k] > most:
                    most = rows[r, k]
            total += most
        if not total <= upper[r]:
            return False
    if len(caps) == 0:
        return True
    there = np.zeros(cover.shape[1], dtype=np.bool_)
    for k in range(len(allowed)):
        if allowed[k]:
            for j in range(len(there)):
                there[j] = there[j] or cover[k, j]
    for r in range(len(caps)):
        total = weight_of(there, weights[r])
        if total > caps[r]:
            return False
    return True
