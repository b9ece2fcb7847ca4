"""Rigorous bounds of choice programs from any multipliers: pure functions that trust no solver.

Rows are kept in loss form: ``rows[t] . x + s[group[t]] >= rhs[t]`` with ``s >= 0`` the loss of a group of samples
(group -1: a row without loss, such as a cluster row). For multipliers ``lam >= 0`` with ``sum over t in g of lam_t
<= 1``,

``min loss >= sum_t lam_t rhs_t + min over choices of (cost - sum_t lam_t rows[t]) . x``

because ``s_g`` is multiplied by ``1 - sum_t lam_t >= 0``. The last minimum is bounded node by node
(`choicewise_bound`), or exactly over acyclic structures by a maximum branching where every node has one parent
besides a hub (`branching_bound`; Edmonds 1967). Multipliers are clipped here, so that rounding errors of whoever found
them cost tightness, never validity.
"""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, kernel

__all__ = [
    "branching_bound",
    "choicewise_bound",
    "choicewise_bounds",
    "find_hub",
    "maximum_arborescence",
    "maximum_structure",
]


@kernel(nogil=True)
def clip_multipliers(lam: FloatArray, slots: NDArray[np.int64], group: NDArray[np.int32], n_groups: int) -> FloatArray:
    """Nearest-by-scaling multipliers that are nonnegative and sum to at most 1 in each group."""
    clipped = np.maximum(lam, 0.0)
    total = np.zeros(n_groups)
    for t in range(len(slots)):
        if group[slots[t]] >= 0:
            total[group[slots[t]]] += clipped[t]
    for t in range(len(slots)):
        g = group[slots[t]]
        if g >= 0 and total[g] > 1.0:
            clipped[t] /= total[g]
    return clipped


@kernel(nogil=True)
def reduced_costs(cost: FloatArray, rows: FloatArray, slots: NDArray[np.int64], lam: FloatArray) -> FloatArray:
    """``cost - sum_t lam_t rows[slots[t]]``."""
    value = cost.copy()
    for t in range(len(slots)):
        if lam[t] != 0.0:
            row = rows[slots[t]]
            factor = lam[t]
            for k in range(len(value)):
                value[k] -= factor * row[k]
    return value


@kernel(nogil=True)
def choicewise_bound(
    cost: FloatArray,
    offsets: NDArray[np.intp],
    allowed: NDArray[np.bool_],
    rows: FloatArray,
    rhs: FloatArray,
    group: NDArray[np.int32],
    n_groups: int,
    slots: NDArray[np.int64],
    lam: FloatArray,
    rise: FloatArray,
) -> float:
    """Lower bound of the loss over all choices of allowed columns; inf where a node has none.

    On return ``rise[k]`` is what choosing column k costs above the bound, so that ``bound + rise[k]`` bounds every
    choice with k (inf where k is not allowed).
    """
    clipped = clip_multipliers(lam, slots, group, n_groups)
    value = reduced_costs(cost, rows, slots, clipped)
    bound = 0.0
    for t in range(len(slots)):
        bound += clipped[t] * rhs[slots[t]]
    for i in range(len(offsets) - 1):
        least = np.inf
        for k in range(offsets[i], offsets[i + 1]):
            if allowed[k] and value[k] < least:
                least = value[k]
        bound += least
        for k in range(offsets[i], offsets[i + 1]):
            rise[k] = value[k] - least if allowed[k] else np.inf
    return bound


@kernel(nogil=True)
def choicewise_bounds(
    cost: FloatArray,
    offsets: NDArray[np.intp],
    allowed: NDArray[np.bool_],
    rows: FloatArray,
    rhs: FloatArray,
    group: NDArray[np.int32],
    n_groups: int,
    slots: NDArray[np.int64],
    lam: FloatArray,
) -> FloatArray:
    """`choicewise_bound` of several boxes: `allowed` is (n_boxes, n_columns), `lam` (n_boxes, n_slots)."""
    bounds = np.empty(len(allowed))
    rise = np.empty(len(cost))
    for b in range(len(allowed)):
        bounds[b] = choicewise_bound(cost, offsets, allowed[b], rows, rhs, group, n_groups, slots, lam[b], rise)
    return bounds


@kernel(nogil=True)
def maximum_arborescence(weight: FloatArray) -> float:
    """Weight of the heaviest spanning arborescence rooted at node 0 (Edmonds 1967; Chu & Liu 1965).

    ``weight[u, v]`` belongs to the arc u -> v; -inf where there is none.
    """
    w = weight.copy()
    n = len(w)
    total = 0.0
    while n > 1:
        parent = np.zeros(n, dtype=np.int64)
        best = np.zeros(n)
        for v in range(1, n):
            best[v] = -np.inf
            for u in range(n):
                if u != v and w[u, v] > best[v]:
                    best[v] = w[u, v]
                    parent[v] = u
            if best[v] == -np.inf:
                return -np.inf
            total += best[v]
        component = np.full(n, -1, dtype=np.int64)
        seen = np.full(n, -1, dtype=np.int64)
        count = 0
        cyclic = False
        component[0] = 0
        count = 1
        seen[0] = 0
        for start in range(1, n):
            v = start
            while seen[v] == -1 and v != 0:
                seen[v] = start
                v = parent[v]
            if v != 0 and seen[v] == start and component[v] == -1:
                cyclic = True
                u = v
                while component[u] == -1:
                    component[u] = count
                    u = parent[u]
                count += 1
        if not cyclic:
            return total
        for v in range(n):
            if component[v] == -1:
                component[v] = count
                count += 1
        merged = np.full((count, count), -np.inf)
        for u in range(n):
            for v in range(1, n):
                a, b = component[u], component[v]
                if a != b and w[u, v] > -np.inf:
                    merged[a, b] = max(merged[a, b], w[u, v] - best[v])
        w = merged
        n = count
    return total


def find_hub(offsets: NDArray[np.intp], parents: NDArray[np.bool_]) -> int | None:
    """A node that is in every non-empty parent set of all the others, or None.

    Cycles through it are cut off by one row a node; the last such node is taken.
    """
    nodes = len(offsets) - 1
    owner = np.repeat(np.arange(nodes), np.diff(offsets))
    for hub in range(nodes - 1, -1, -1):
        others = owner != hub
        if (parents[others, hub] | ~parents[others].any(axis=1)).all():
            return hub
    return None


@kernel(nogil=True)
def _forest_value(
    value: FloatArray,
    offsets: NDArray[np.intp],
    single: NDArray[np.int64],
    hub: int,
    has_hub: NDArray[np.bool_],
    banned: NDArray[np.bool_],
) -> float:
    """Best branching of all nodes but the hub; nodes in `banned` may not take a column with the hub."""
    nodes = len(offsets) - 1
    weight = np.full((nodes, nodes), -np.inf)  # the hub's place is the super-root
    for v in range(nodes):
        if v == hub:
            continue
        for k in range(offsets[v], offsets[v + 1]):
            if has_hub[k] and banned[v]:
                continue
            u = hub if single[k] < 0 else single[k]
            if value[k] > weight[u, v]:
                weight[u, v] = value[k]
    order = np.empty(nodes, dtype=np.int64)
    order[0] = hub
    place = 1
    for v in range(nodes):
        if v != hub:
            order[place] = v
            place += 1
    rooted = np.empty((nodes, nodes))
    for a in range(nodes):
        for b in range(nodes):
            rooted[a, b] = weight[order[a], order[b]]
    return float(maximum_arborescence(rooted))


def _hub_problem(
    value: FloatArray, offsets: NDArray[np.intp], parents: NDArray[np.bool_], hub: int
) -> tuple[float, int, NDArray[np.int64], NDArray[np.bool_]] | None:
    """Best value, the hub's column there, and per column its parent besides the hub (-1) and whether it has the hub."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rest = parents.copy()
    rest[:, hub] = False
    others = owner != hub
    if (rest[others].sum(axis=1) > 1).any():
        return None
    single = np.where(rest.any(axis=1), rest.argmax(axis=1), -1).astype(np.int64)
    has_hub = parents[:, hub].copy()
    top = np.maximum.reduceat(value, offsets[:-1])
    without = np.maximum.reduceat(np.where(has_hub, -np.inf, value), offsets[:-1])
    first, last = offsets[hub], offsets[hub + 1]
    inner = np.arange(len(top)) != hub
    easy = np.array([value[k] + np.where(parents[k], without, top)[inner].sum() for k in range(first, last)])
    best, column = -np.inf, int(first)
    for place in np.argsort(-easy, kind="stable"):
        if easy[place] <= best:
            break
        k = int(first + place)
        forest = float(value[k]) + _forest_value(value, offsets, single, hub, has_hub, np.ascontiguousarray(parents[k]))
        if forest > best:
            best, column = forest, k
    return best, column, single, has_hub


def branching_bound(value: FloatArray, offsets: NDArray[np.intp], parents: NDArray[np.bool_], hub: int) -> float | None:
    """``max value . x`` over acyclic choices by maximum branchings, one for each parent set of the hub.

    Exact, since a parent of the hub can have no parent that descends from the hub, and the others form a branching;
    None when some node has two parents besides the hub. A parent set of the hub is skipped when even the best columns
    without regard to cycles could not beat the best found. A value of -inf forbids a column.
    """
    found = _hub_problem(value, offsets, parents, hub)
    return None if found is None else found[0]


def maximum_structure(
    value: FloatArray, offsets: NDArray[np.intp], parents: NDArray[np.bool_], hub: int
) -> tuple[float, NDArray[np.intp]] | None:
    """Value and columns of an acyclic choice that attains `branching_bound`; None where that is None or -inf.

    Columns are pinned one node after another to the first that keeps the maximum.
    """
    found = _hub_problem(value, offsets, parents, hub)
    if found is None or not np.isfinite(found[0]):
        return None
    best, column, single, has_hub = found
    banned = np.ascontiguousarray(parents[column])
    pinned = value.copy()
    choice = np.empty(len(offsets) - 1, dtype=np.intp)
    choice[hub] = column
    target = best - float(value[column])
    slack = 1e-9 * max(1.0, abs(target))
    for node in range(len(offsets) - 1):
        if node == hub:
            continue
        first, last = offsets[node], offsets[node + 1]
        own = pinned[first:last].copy()
        for place in np.argsort(-own, kind="stable"):
            pinned[first:last] = -np.inf
            pinned[first + place] = own[place]
            if _forest_value(pinned, offsets, single, hub, has_hub, banned) >= target - slack:
                choice[node] = first + place
                break
        else:
            return None
    return best, choice
