"""Side constraints of a choice program: what a choice has to keep besides being acyclic.

They are data, like the parents of each column: rows for a linear program follow from them on demand (`violated`,
`row`), and boxes are cut down by what they rule out (`narrow`), which decides a box of a single choice exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, FloatArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.side_paths import closure, lightest_path, narrowest_cut

__all__ = ["SideConstraints", "SideRow"]

SLACK = 1e-9
"""Relative; by so much a sum may exceed its limit."""

Pairs = NDArray[np.int64]


class SideRow(NamedTuple):
    """How to make one linear row; `SideConstraints.row` makes it.

    Parameters
    ----------
    kind : {"row", "cap", "group", "path", "cut"}
    number : int
        Of the row, the cap or the pair.
    key : tuple of int
        Which of its rows: the node that stands for each item (cap); node, item and other item (group); the nodes of a
        path (path); the nodes of a set (cut).
    """

    kind: str
    number: int
    key: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class SideConstraints:
    """What a choice of one column a node has to keep; `of` makes it with what there is.

    Parameters
    ----------
    offsets : int array (n_nodes + 1,)
    parents : bool array (n_columns, n_nodes)
    rows : float64 array (n_rows, n_columns)
        ``rows @ x <= upper``.
    upper : float64 array (n_rows,)
    cover : bool array (n_columns, n_items)
        Which items a column brings about; an item is there when some chosen column brings it about.
    weights : float64 array (n_caps, n_items)
        At least 0; the weights of the items that are there sum to at most `caps`.
    caps : float64 array (n_caps,)
    groups : bool array (n_groups, n_items)
        All items of a group are there, or none.
    above, apart : int64 array (n_pairs, 2)
        A path leads from the first to the second node; none does.
    row_names, cap_names : tuple of str
        In the words of who asked for them; empty where nobody said any.
    items : tuple of pairs of int
        What the items are: a feature that is used as its number and -1, an edge as child and parent.

    Examples
    --------
    At most one edge, of two that each make a cycle with the other:

    >>> side = SideConstraints.of(np.array([0, 2, 4]), np.array([[0, 0], [0, 1], [0, 0], [1, 0]], dtype=bool),
    ...     rows=np.array([[0.0, 1.0, 0.0, 1.0]]), upper=np.array([0.0]))
    >>> side.keeps(np.array([0, 2])), side.keeps(np.array([1, 2]))
    (True, False)
    """

    offsets: NDArray[np.intp]
    parents: BoolArray
    rows: FloatArray
    upper: FloatArray
    cover: BoolArray
    weights: FloatArray
    caps: FloatArray
    groups: BoolArray
    above: Pairs
    apart: Pairs
    row_names: tuple[str, ...] = ()
    cap_names: tuple[str, ...] = ()
    items: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(
        cls,
        offsets: NDArray[np.intp],
        parents: BoolArray,
        *,
        rows: FloatArray | None = None,
        upper: FloatArray | None = None,
        cover: BoolArray | None = None,
        weights: FloatArray | None = None,
        caps: FloatArray | None = None,
        groups: BoolArray | None = None,
        above: Pairs | None = None,
        apart: Pairs | None = None,
        row_names: Sequence[str] = (),
        cap_names: Sequence[str] = (),
        items: Sequence[tuple[int, int]] = (),
    ) -> "SideConstraints":
        """With what is given, and nothing of the rest; shapes as the class says."""
        n = len(parents)
        brings = np.zeros((n, 0), dtype=bool) if cover is None else np.ascontiguousarray(cover)
        none = np.zeros((0, 2), dtype=np.int64)
        return cls(
            offsets.astype(np.intp),
            np.ascontiguousarray(parents),
            np.zeros((0, n)) if rows is None else np.ascontiguousarray(rows),
            np.zeros(0) if upper is None else upper,
            brings,
            np.zeros((0, brings.shape[1])) if weights is None else np.ascontiguousarray(weights),
            np.zeros(0) if caps is None else caps,
            np.zeros((0, brings.shape[1]), dtype=bool) if groups is None else np.ascontiguousarray(groups),
            none if above is None else above,
            none if apart is None else apart,
            tuple(row_names) or tuple(f"side_row[{r}]" for r in range(0 if upper is None else len(upper))),
            tuple(cap_names) or tuple(f"cap[{r}]" for r in range(0 if caps is None else len(caps))),
            tuple((int(node), int(parent)) for node, parent in items),
        )

    def __post_init__(self) -> None:
        n, nodes = self.parents.shape
        fits = self.rows.shape == (len(self.upper), n) and len(self.cover) == n and len(self.offsets) == nodes + 1
        fits = fits and self.weights.shape == (len(self.caps), self.cover.shape[1])
        if not fits or self.groups.shape[1] != self.cover.shape[1]:
            raise InputError(f"SideConstraints needs {n} coefficients a row and a weight for each item of a cap.")
        finite = np.isfinite(self.rows).all() and np.isfinite(self.upper).all() and np.isfinite(self.caps).all()
        if not finite or not (np.isfinite(self.weights).all() and (self.weights >= 0).all()):
            raise InputError("SideConstraints needs finite rows and limits, and weights that are finite and >= 0.")

    @cached_property
    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """Upper sides of rows and caps with what rounding may add."""
        rows = self.upper + SLACK * np.maximum(1.0, np.abs(self.upper))
        return rows, self.caps + SLACK * np.maximum(1.0, np.abs(self.caps))

    # -- choices and boxes ------------------------------------------------------------------------------------------

    def narrow(self, allowed: BoolArray) -> tuple[bool, bool]:
        """Take away columns that no choice in a box can have; whether it may hold a choice, and whether any went.

        `allowed` is changed in place. A box of a single choice is empty just if that breaks something.
        """
        from mmbn_opt.programs import _side_kernels as kernels

        rows, caps = self._limits
        went, again = False, True
        while again:
            again = False
            found = []
            if len(rows):
                found.append(kernels.keep_rows(allowed, self.offsets, self.rows, rows))
            if len(caps):
                found.append(kernels.keep_caps(allowed, self.offsets, self.cover, self.weights, caps))
            if len(self.groups):
                found.append(kernels.keep_groups(allowed, self.offsets, self.cover, self.groups))
            if len(self.above) or len(self.apart):
                found.append(kernels.keep_paths(allowed, self.offsets, self.parents, self.above, self.apart))
            if kernels.EMPTY in found:
                return False, True
            again = kernels.LESS in found
            went |= again
        return True, went

    def idle(self, allowed: BoolArray) -> bool:
        """Whether it is plain that every choice in a box keeps everything, so that none has to be looked at."""
        from mmbn_opt.programs import _side_kernels as kernels

        if len(self.groups) or len(self.above) or len(self.apart):
            return False
        rows, caps = self._limits
        return bool(kernels.idle(allowed, self.offsets, self.rows, rows, self.cover, self.weights, caps))

    def keeps(self, choice: NDArray[np.intp]) -> bool:
        """Whether an acyclic choice keeps everything."""
        allowed = np.zeros(len(self.parents), dtype=bool)
        allowed[choice] = True
        return self.narrow(allowed)[0]

    def roomy(self, choice: NDArray[np.intp]) -> bool:
        """Whether it is plain that every node may be given any of its columns when the others keep to `choice`."""
        if len(self.groups) or len(self.above) or len(self.apart):
            return False
        from mmbn_opt.programs import _side_kernels as kernels

        rows, caps = self._limits
        most, able = self._of_nodes
        return bool(kernels.roomy(choice, self.rows, rows, most, self.cover, able, self.weights, caps))

    @cached_property
    def _of_nodes(self) -> tuple[FloatArray, BoolArray]:
        """Of each node the most that a column of it adds to each row, and which items its columns may bring about."""
        starts = self.offsets[:-1]
        most = np.maximum.reduceat(self.rows, starts, axis=1).T
        return np.ascontiguousarray(most), np.logical_or.reduceat(self.cover, starts, axis=0)

    def replacements(self, choice: NDArray[np.intp], node: int) -> BoolArray:
        """Which columns of a node keep everything when the others keep to `choice`, shape (columns of the node,)."""
        from mmbn_opt.programs import _side_kernels as kernels

        rows, caps = self._limits
        fits = kernels.fitting(
            choice, node, self.offsets, self.rows, rows, self.cover, self.weights, caps, self.groups
        )  # fmt: skip
        if len(self.above) or len(self.apart):
            edges = self.parents[choice]  # edges[child, parent]
            edges[node] = False
            reach = closure(edges.T)
            own = self.parents[self.offsets[node] : self.offsets[node + 1]]
            for pairs, wanted in ((self.above, True), (self.apart, False)):
                for a, b in pairs:
                    by_way = reach[node, b] & (own & reach[a]).any(axis=1)
                    fits &= (reach[a, b] | by_way) == wanted
        return np.asarray(fits)

    # -- rows of linear programs ------------------------------------------------------------------------------------

    def violated(self, x: FloatArray, tolerance: float) -> list[SideRow]:
        """Rows that a point breaks by more than `tolerance`, relative to their coefficients.

        A 0/1 point that breaks something breaks one of them.
        """
        found = []
        if len(self.upper):
            over = self.rows @ x - self.upper
            found += [SideRow("row", int(r)) for r in np.flatnonzero(over > tolerance * self._scales[0])]
        if self.cover.shape[1]:
            usage = np.add.reduceat(self.cover * x[:, None], self.offsets[:-1], axis=0)  # (n_nodes, n_items)
            found += self._violated_caps(usage, tolerance)
            found += self._violated_groups(usage, tolerance)
        if len(self.above) or len(self.apart):
            arcs = np.add.reduceat(self.parents * x[:, None], self.offsets[:-1], axis=0).T  # arcs[parent, child]
            found += self._violated_paths(arcs, x, tolerance)
        return found

    def _violated_caps(self, usage: FloatArray, tolerance: float) -> list[SideRow]:
        if not len(self.caps):
            return []
        most = usage.max(axis=0)
        # An item that nobody uses is counted where most columns bring it about.
        stand_in = np.where(most > 1e-9, usage.argmax(axis=0), self._widest)
        over = np.flatnonzero(self.weights @ most - self.caps > tolerance * self._scales[1])
        return [SideRow("cap", int(r), tuple(stand_in.tolist())) for r in over]

    @cached_property
    def _scales(self) -> tuple[FloatArray, FloatArray]:
        """The largest coefficient of each row and of each cap."""
        largest = (np.abs(self.rows).max(axis=1, initial=0.0), self.weights.max(axis=1, initial=0.0))
        return np.maximum(largest[0], 1e-300), np.maximum(largest[1], 1e-300)

    @cached_property
    def _widest(self) -> NDArray[np.intp]:
        """Of each item the node with most columns that bring it about."""
        count = np.add.reduceat(self.cover, self.offsets[:-1], axis=0, dtype=np.int64)
        return np.asarray(count.argmax(axis=0), dtype=np.intp)

    def _violated_groups(self, usage: FloatArray, tolerance: float) -> list[SideRow]:
        """Of each group the item that is there most and the one that is least: ``use by one node <= all of other``."""
        found = []
        for g, group in enumerate(self.groups):
            items = np.flatnonzero(group)
            node, place = np.unravel_index(int(usage[:, items].argmax()), (len(usage), len(items)))
            item, other = items[place], items[int(usage[:, items].sum(axis=0).argmin())]
            if usage[node, item] - usage[:, other].sum() > tolerance:
                found.append(SideRow("group", g, (int(node), int(item), int(other))))
        return found

    def _violated_paths(self, arcs: FloatArray, x: FloatArray, tolerance: float) -> list[SideRow]:
        found = []
        for t, (a, b) in enumerate(self.apart):
            path, missing = lightest_path(1.0 - np.minimum(arcs, 1.0), int(a), int(b))
            if path and missing < 1.0 - tolerance:
                found.append(SideRow("path", t, tuple(path)))
        for t, (a, b) in enumerate(self.above):
            members = narrowest_cut(arcs, int(a), int(b))
            row = SideRow("cut", t, tuple(members))
            coefficients, least = self.row(row)
            if float(coefficients @ x) < least - tolerance:
                found.append(row)
        return found

    def row(self, wanted: SideRow) -> tuple[FloatArray, float]:
        """``coefficients @ x >= least``, which every choice that keeps everything satisfies."""
        kind, number, key = wanted
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        if kind == "row":
            return -self.rows[number], -float(self.upper[number])
        if kind == "cap":
            stands = owner[:, None] == np.array(key)
            return -((self.cover & stands) @ self.weights[number]), -float(self.caps[number])
        if kind == "group":
            node, item, other = key
            if not (self.groups[number, item] and self.groups[number, other]):
                raise InputError(f"Items {item} and {other} are not of group {number}.")
            plus, minus = self.cover[:, other], self.cover[:, item] & (owner == node)
            return plus.astype(np.float64) - minus.astype(np.float64), 0.0
        if kind == "path":
            if (key[0], key[-1]) != tuple(self.apart[number]):
                raise InputError(f"The path {key} does not join pair {number}.")
            row = np.zeros(len(owner))
            for parent, child in pairwise(key):
                row -= self.parents[:, parent] & (owner == child)
            return row, -float(len(key) - 2)
        members = np.zeros(len(self.offsets) - 1, dtype=bool)
        members[list(key)] = True
        a, b = self.above[number]
        if kind != "cut" or members[a] or not members[b]:
            raise InputError(f"The set {key} does not part pair {number}.")
        entering = members[owner] & (self.parents & ~members).any(axis=1)
        return entering.astype(np.float64), 1.0
