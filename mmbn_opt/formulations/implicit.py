"""The projected program: structure columns alone, the margin sum as an implicit concave term.

``f(eta) = sum_m n_m min(gamma, min_c sum_{i,k} alpha[i,k,m,c] eta[i,k])`` is concave and piecewise linear. At any
point, with c*(m) the nearest rival and A_g the samples of group g below gamma,

``f_g(y) <= gamma n(g without A_g) + sum_{m in A_g} n_m alpha[., ., m, c*(m)] . y``

for every y, since each term is one affine piece of a minimum. Tables and index replace alpha, which is never formed.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..candidates import CandidateParents
from ..choice_program import GroupCuts, WantedGroups
from ..heuristics.local_search import LocalSearch
from ..heuristics.objectives import Loss
from ..margins import MarginTables

__all__ = ["DEFAULT_GROUPS", "MarginTerm", "RoundAndDescend", "class_link_rows", "parent_matrix", "tree_root_columns"]

FloatArray = NDArray[np.float64]

DEFAULT_GROUPS = 12
"""Groups of samples of a term until a solver asks for another number."""


_SAMPLES_A_PART = 2048

_CHEAP_WORK = 2e7
"""Steps of one replacement over all columns up to which the heuristic does all it can; beyond, in proportion less."""

PATIENCE = 5
"""Late calls of the heuristic without success after which it starts elsewhere."""

_SCATTERING_KICKS = 40
"""Kicks in a row after which nothing is left of where they began."""


class MarginTerm:
    """The margin sum over groups of samples as a `ConcaveTerm`.

    Groups hold samples of one class where there are enough groups, and otherwise whole classes; within a class samples
    are dealt out in order.

    Parameters
    ----------
    tables : MarginTables
    gamma : float
    n_groups : int
    threads : int
        No digit depends on it.

    Examples
    --------
    >>> from mmbn_opt.data import DiscreteDataset
    >>> from mmbn_opt.formulations import SoftMarginStructure
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"], ["b"]], [0, 1, 0])
    >>> formulation = SoftMarginStructure(data)
    >>> term = MarginTerm(formulation.tables, formulation.gamma, n_groups=2)
    >>> x = formulation.encode(formulation.trivial_start().model)[:formulation.candidates.n_columns]
    >>> cuts = term.cuts(x)
    >>> bool(np.allclose(cuts.values, cuts.intercepts + cuts.gradients @ x))
    True
    """

    def __init__(self, tables: MarginTables, gamma: float, n_groups: int, threads: int = 1) -> None:
        self._threads = threads
        n_groups = int(np.clip(n_groups, 1, tables.n_samples))
        by_class = np.argsort(tables.labels, kind="stable")
        group = np.empty(tables.n_samples, dtype=np.int32)
        group[by_class] = _deal(tables.labels[by_class], tables.weight[by_class], n_groups)
        order = np.argsort(group, kind="stable")
        self._tables, self._gamma = tables, gamma  # tables: for another grouping
        self._group = group[order]
        simpler = tables.without_rivals()
        self._table, self._binary = simpler.table, simpler.binary
        self._first_row = tables.first_row
        self._varying = np.flatnonzero(tables.first_row)
        place = tables.index[:, order]
        place -= tables.first_row[:, None]
        # Half the memory to stream where the blocks of the table allow it.
        width = np.uint16 if place.max(initial=0) < 2**16 else np.uint32
        self._place = np.ascontiguousarray(place, dtype=width)
        self._labels = np.ascontiguousarray(tables.labels[order])
        self._weight = np.ascontiguousarray(tables.weight[order])
        self._n_groups = int(group.max()) + 1
        self._active = np.empty(tables.n_samples, dtype=np.int32)
        self._rival = np.empty(tables.n_samples, dtype=np.int32)

    @cached_property
    def upper(self) -> FloatArray:
        """gamma times the weight of each group."""
        totals = np.bincount(self._group, weights=self._weight, minlength=self._n_groups)
        return np.asarray(self._gamma * totals, dtype=np.float64)

    @property
    def n_parts(self) -> int:
        """Number of (merged) samples."""
        return len(self._labels)

    def _map(self, work: Callable[[int], Any], count: int) -> list[Any]:
        numbers = range(count)
        return list(map(work, numbers) if self._threads == 1 else _workers(self._threads).map(work, numbers))

    def _pass(self, x: FloatArray) -> tuple[FloatArray, FloatArray, list[slice]]:
        """Loss and intercept of every group, and where the samples below gamma stand in `_active` and `_rival`."""
        from ._margin_kernels import margin_pass

        columns = self._varying[x[self._varying] != 0.0]
        # By the number of samples alone, so that the number of threads changes no digit.
        ends = np.linspace(0, len(self._labels), 1 + max(1, len(self._labels) // _SAMPLES_A_PART)).astype(int)
        loss, intercept = np.empty((2, len(ends) - 1, self._n_groups))

        def run(part: int) -> slice:
            first, last = int(ends[part]), int(ends[part + 1])
            count = margin_pass(
                self._table, self._first_row, self._place, self._labels, self._weight, self._gamma, self._binary,
                self._group, columns, x, loss[part], intercept[part], self._active, self._rival, first, last,
            )  # fmt: skip
            return slice(first, first + count)

        found = self._map(run, len(ends) - 1)
        return loss.sum(axis=0), intercept.sum(axis=0), found

    def values(self, x: FloatArray) -> FloatArray:
        """``f_g(x)``, shape (n_groups,)."""
        return self.upper - self._pass(x)[0]

    def cuts(self, x: FloatArray, wanted: WantedGroups | None = None) -> GroupCuts:
        """Values at `x`, and supergradients of all groups or of those that `wanted` picks by the values."""
        from ._margin_kernels import margin_gradients

        loss, intercept, found = self._pass(x)
        values = self.upper - loss
        groups = np.arange(self._n_groups) if wanted is None else wanted(values)
        active = np.concatenate([self._active[part] for part in found])
        rival = np.concatenate([self._rival[part] for part in found])
        labels, weight = self._labels[active], self._weight[active]
        ends = np.searchsorted(self._group[active], np.arange(self._n_groups + 1))
        gradients = np.zeros((len(groups), len(x)))
        shares = np.array_split(self._varying, self._threads)

        def run(share: int) -> None:
            margin_gradients(
                self._table, self._first_row, self._place, labels, weight, active, rival, self._binary, groups, ends,
                shares[share], gradients,
            )  # fmt: skip

        self._map(run, self._threads)
        return GroupCuts(values, groups, (self.upper - intercept)[groups], gradients)

    def regrouped(self, n_groups: int, threads: int = 1) -> "MarginTerm":
        """The same sum over another number of groups, computed by `threads` threads."""
        return MarginTerm(self._tables, self._gamma, n_groups, threads)


@cache
def _workers(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="margins")


def _deal(labels: NDArray[np.int32], weight: FloatArray, n_groups: int) -> NDArray[np.int32]:
    """Group of each sample (sorted by class): equal shares of the samples, consecutive in the order given."""
    return np.asarray(np.arange(len(labels)) * n_groups // len(labels), dtype=np.int32)


def parent_matrix(candidates: CandidateParents) -> NDArray[np.bool_]:
    """Which nodes are parents in each column, shape (n_columns, n_nodes)."""
    member = np.zeros((candidates.n_columns, candidates.n_nodes), dtype=bool)
    for column, (_, parents) in enumerate(candidates.columns):
        member[column, list(parents)] = True
    return member


def class_link_rows(candidates: CandidateParents) -> sp.csr_array:
    """``sum of class columns with parent j - column of j's empty set <= 0``, where acyclicity implies it.

    A parent of the class has no parents itself when all its other sets hold the class.
    """
    c = candidates.class_index
    if not candidates.class_parents_block_features:
        return sp.csr_array((0, candidates.n_columns))
    member = parent_matrix(candidates)
    first = candidates.offsets[c]
    rows, columns, values = [], [], []
    n_rows = 0
    for j in range(c):
        as_parent = first + np.flatnonzero(member[first:, j])
        if not len(as_parent):
            continue
        empty = candidates.column_of.get((j, ()))
        own = [] if empty is None else [empty]
        rows += [n_rows] * (len(as_parent) + len(own))
        columns += [*as_parent, *own]
        values += [1.0] * len(as_parent) + [-1.0] * len(own)
        n_rows += 1
    return sp.csr_array((values, (rows, columns)), shape=(n_rows, candidates.n_columns))


def tree_root_columns(candidates: CandidateParents) -> NDArray[np.intp] | None:
    """Of each feature the column {class}, where any tree of features can hang from any of its nodes; else None.

    That takes candidates {}, {class} and {class, j} alone, {class} for every feature, and both or neither of two
    features as the other's parent. Features without {class} or with another feature as required parent rule it out.
    """
    c = candidates.class_index
    roots = np.full(candidates.n_nodes, -1, dtype=np.intp)
    for i, options in enumerate(candidates.sets[:-1]):
        if any(s and (c not in s or len(s) > 2) for s in options):
            return None
        pairs = [j for s in options if len(s) == 2 for j in s if j != c]
        if not pairs:
            continue  # the node stands alone
        if (c,) not in options or any((i, c) not in candidates.sets[j] for j in pairs):
            return None
        roots[i] = candidates.column_of[i, (c,)]
    return roots


class RoundAndDescend:
    """Primal heuristic: round a point to an acyclic choice, node by node from the surest, descend, kick a few times.

    A choice that was reached by rounding before is not searched again: the best choice so far is kicked instead,
    with fresh random numbers. Answers depend on the calls before, never on time.

    Parameters
    ----------
    candidates : CandidateParents
    loss : Loss
    seed : int
    kicks : int
        Kicks a call, at first.

    Attributes
    ----------
    early_calls : int
        So many calls are short, and worth making often. Later ones are searches of their own, with ten times the kicks,
        which leave the basin of the best: solvers call rarely then. Large data get fewer and shorter ones.
    """

    def __init__(self, candidates: CandidateParents, loss: Loss, seed: int = 0, kicks: int = 2) -> None:
        self._candidates, self._loss = candidates, loss
        self._seed, self._kicks = seed, kicks
        share = min(1.0, _CHEAP_WORK / max(1.0, loss.work))
        self.early_calls = max(8, round(40 * share))
        self._late_kicks = max(kicks, round(10 * kicks * share))
        self._parents = parent_matrix(candidates)
        self._seen: set[bytes] = set()
        self._calls = 0
        self._best: NDArray[np.intp] | None = None
        self._best_loss = np.inf
        self._walk: tuple[NDArray[np.intp], float] | None = None
        self._idle = 0

    def __copy__(self) -> "RoundAndDescend":
        """One that remembers no calls."""
        return RoundAndDescend(self._candidates, self._loss, self._seed, self._kicks)

    def __call__(self, x: FloatArray) -> FloatArray | None:
        """A good integral point, or None where rounding meets a dead end."""
        choice = self.round(x)
        if choice is None:
            return None
        key = choice.tobytes()
        if key in self._seen and self._best is not None:
            choice = self._best
        self._seen.add(key)
        self._calls += 1
        if self._calls <= self.early_calls:
            found, loss = self._search(choice, self._kicks)
        else:
            found, loss = self._walk_on(choice)
        if loss < self._best_loss:
            self._best, self._best_loss = found, loss
        vector = np.zeros(len(x))
        vector[found] = 1.0
        return vector

    def _search(self, start: NDArray[np.intp], kicks: int) -> tuple[NDArray[np.intp], float]:
        found, loss = start, np.inf
        seed = self._seed + self._calls
        for better, lower in LocalSearch(self._candidates, self._loss, seed=seed, max_kicks=kicks).run(start):
            found, loss = better, lower
        return found, loss

    def _walk_on(self, choice: NDArray[np.intp]) -> tuple[NDArray[np.intp], float]:
        """Go on with one search over many calls, from the best at first, from anywhere once it is stuck.

        Points of the program keep to few basins; `choice` is only where the way elsewhere begins.
        """
        if self._walk is None and self._best is not None:
            self._walk = self._best, self._best_loss
        elif self._walk is None or self._idle >= PATIENCE:
            search = LocalSearch(self._candidates, self._loss, seed=self._seed + self._calls)
            self._walk, self._idle = (search.scatter(choice, _SCATTERING_KICKS), np.inf), 0
        found, loss = self._search(self._walk[0], self._late_kicks)
        self._idle = 0 if loss < self._walk[1] else self._idle + 1
        self._walk = found, loss
        return found, loss

    def round(self, x: FloatArray) -> NDArray[np.intp] | None:
        """Acyclic choice near `x`, or None."""
        offsets, n_nodes = self._candidates.offsets, self._candidates.n_nodes
        surest = np.argsort(-np.maximum.reduceat(x, offsets[:-1]), kind="stable")
        above = np.eye(n_nodes, dtype=bool)  # above[i, j]: j is i or an ancestor of i
        choice = np.zeros(n_nodes, dtype=np.intp)
        for node in surest:
            first, last = offsets[node], offsets[node + 1]
            below = above[:, node]
            fits = ~(self._parents[first:last] & below).any(axis=1)
            if not fits.any():
                return None
            column = first + int(np.argmax(np.where(fits, x[first:last], -1.0)))
            choice[node] = column
            gained = above[self._parents[column]].any(axis=0)
            above[below] |= gained
        return choice
