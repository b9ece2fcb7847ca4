"""A dense tableau as a value: built from rows of the pool, copied for a box, re-optimised, extended, read."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray, IntArray
from ....programs.choice import ChoiceProgram
from ....programs.lagrangian import reduced_costs
from . import _simplex as simplex
from ._basis import Basis
from ._children import solve_children
from ._pool import RowPool, Slots
from ._pricing import price_in

__all__ = ["Costs", "Tableau", "Workspace", "initial_tableau", "tableau_of"]


@dataclass
class Tableau:
    """State of one linear program (see `_simplex`).

    Parameters
    ----------
    T, b, d, weights, basic, nonbasic
        With room to grow; the first `height` rows and `width` columns count.
    z : float
        Objective, cost perturbation included.
    shift : float
        What the perturbation can have added to the objective at most.
    n_columns, n_groups : int
    narrow : bool
        Whether columns were left out that a box allows.
    """

    T: FloatArray
    b: FloatArray
    d: FloatArray
    weights: FloatArray
    basic: IntArray
    nonbasic: IntArray
    height: int
    width: int
    z: float
    shift: float
    n_columns: int
    n_groups: int
    ray: FloatArray = field(default_factory=lambda: np.zeros(2))
    status: int = simplex.OPTIMAL
    pivots: int = 0
    narrow: bool = False

    @property
    def first_slack(self) -> int:
        """Number of the slack of row 0 of the pool."""
        return self.n_columns + self.n_groups

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return int(self.T.nbytes)

    def copy_for(self, allowed: BoolArray, *, extra_rows: int = 0, drop_idle: bool = False) -> "Tableau":
        """Copy for a box: forbidden columns go, idle rows too on demand; room for `extra_rows` more."""
        banned = ~allowed
        keep = np.ones(self.height, dtype=bool)
        if drop_idle:
            keep = self.basic[: self.height] < self.first_slack
        nonbasic = self.nonbasic[: self.width]
        width = int(self.width - np.count_nonzero(banned[nonbasic[nonbasic < self.n_columns]]))
        height = int(keep.sum())
        room = height + extra_rows
        twin = Tableau(
            np.empty((room, width)), np.empty(room), np.empty(width), np.empty(room), np.empty(room, dtype=np.int64),
            np.empty(width, dtype=np.int64), height, width, self.z, self.shift, self.n_columns, self.n_groups,
            narrow=self.narrow,
        )  # fmt: skip
        simplex.copy_tableau(
            self.T, self.b, self.d, self.weights, self.basic, self.nonbasic, self.height, self.width, banned, keep,
            twin.T, twin.b, twin.d, twin.weights, twin.basic, twin.nonbasic,
        )  # fmt: skip
        return twin

    def optimise(self, allowed: BoolArray, cutoff: float, max_pivots: int) -> int:
        """Run the dual simplex up to `cutoff` (in true costs); its status."""
        room = min(simplex.ROWS_TO_SETTLE, self.height)
        self.status, self.z, pivots, self.width = simplex.dual_simplex(
            self.T, self.b, self.d, self.weights, self.basic, self.nonbasic, self.height, self.width, ~allowed, self.z,
            cutoff + self.shift, max_pivots, self.ray, np.empty((room, self.width)), np.empty((room, self.height)),
        )  # fmt: skip
        self.pivots += pivots
        return self.status

    def add_rows(self, pool: RowPool, slots: Slots) -> None:
        """Append rows of the pool."""
        short = self.height + len(slots) - len(self.b)
        if short > 0:
            self.T = np.concatenate([self.T, np.empty((short, self.T.shape[1]))])
            self.b = np.concatenate([self.b, np.empty(short)])
            self.weights = np.concatenate([self.weights, np.empty(short)])
            self.basic = np.concatenate([self.basic, np.empty(short, dtype=np.int64)])
        simplex.add_rows(
            self.T, self.b, self.weights, self.basic, self.nonbasic, self.height, self.width, self.n_columns,
            self.first_slack, pool.rows, pool.rhs, pool.group, slots,
        )  # fmt: skip
        self.height += len(slots)

    def slots(self) -> Slots:
        """Rows of the pool that the tableau stands on, ascending."""
        numbers = np.concatenate([self.basic[: self.height], self.nonbasic[: self.width]])
        return np.sort(numbers[numbers >= self.first_slack]) - self.first_slack

    def idle(self) -> Slots:
        """Rows of the pool that do not bind, ascending."""
        basic = self.basic[: self.height]
        return np.sort(basic[basic >= self.first_slack]) - self.first_slack

    def basis(self, slots: Slots) -> IntArray:
        """What is basic, in the numbers of `tableau_of`; `slots` are all of its rows."""
        basic = self.basic[: self.height].copy()
        slack = basic >= self.first_slack
        basic[slack] = self.first_slack + _places(slots)[basic[slack] - self.first_slack]
        return basic

    def columns(self, reach: float = math.inf) -> BoolArray:
        """Which columns of the program are in it: the basic ones, and others whose reduced costs are up to `reach`."""
        basic, close = self.basic[: self.height], self.d[: self.width] <= reach
        found = np.zeros(self.n_columns, dtype=bool)
        for numbers in (basic, self.nonbasic[: self.width][close]):
            found[numbers[numbers < self.n_columns]] = True
        return found

    def with_columns(self, pool: RowPool, costs: "Costs", new: IntArray) -> "Tableau":
        """The same with further columns, which are not basic; it shares with this one what they do not change.

        What a column is in terms of the basis follows from one of the same node that is basic, and from what the
        basis makes of the rows in which the two differ, which is told by the columns of their slacks.
        """
        width = self.width + len(new)
        names, basic = np.concatenate([self.nonbasic[: self.width], new]), self.basic[: self.height]
        owner = pool.program.owner
        place_of = np.full(pool.program.n_nodes, -1)
        own = np.flatnonzero(basic < self.n_columns)
        place_of[owner[basic[own]]] = own
        twin_at = place_of[owner[new]]
        twins = basic[twin_at]
        height = self.height
        T, d = np.empty((len(self.b), width)), np.empty(width)
        T[:height, : self.width], d[: self.width] = self.T[:height, : self.width], self.d[: self.width]
        slack_at = np.flatnonzero(names[: self.width] >= self.first_slack)
        slots = names[slack_at] - self.first_slack
        differ = _differences(pool, slots, new, twins)
        T[:height, self.width :] = -(T[:height, slack_at] @ differ)
        d[self.width :] = costs.columns[new] - costs.columns[twins] - d[slack_at] @ differ
        T[twin_at, np.arange(self.width, width)] += 1.0
        idle_at = np.flatnonzero(basic >= self.first_slack)
        T[idle_at, self.width :] -= _differences(pool, basic[idle_at] - self.first_slack, new, twins)
        return replace(self, T=T, d=d, nonbasic=names, width=width)

    def widen(self, pool: RowPool, costs: "Costs", new: IntArray, allowed: BoolArray, max_pivots: int) -> bool:
        """Take in columns that would lower the optimum at which it stands, down to the one with them; whether it is."""
        self.become(self.with_columns(pool, costs, new))
        basic = self.basic[: self.height]
        stuck = basic < self.n_columns
        stuck[stuck] = ~allowed[basic[stuck]]
        optimal, self.z, pivots = price_in(
            self.T, self.b, self.d, self.basic, self.nonbasic, self.height, self.width, stuck, self.z, max_pivots
        )
        np.maximum(self.d, 0.0, out=self.d)
        self.weights[: self.height] = _weights(self.T[: self.height, : self.width])
        self.pivots += pivots
        return bool(optimal)

    def become(self, other: "Tableau") -> None:
        """Be another one from here on."""
        self.__dict__.update(other.__dict__)

    def multipliers(self, slots: Slots, cutoff: float) -> FloatArray:
        """Multipliers of the rows in `slots`, a ray included when the program was found infeasible."""
        lam = np.empty(len(slots))
        cutoff, step = _finite(cutoff, self.z), 0.0
        if self.status == simplex.INFEASIBLE:
            step = (cutoff + self.shift - self.z) * 1.5 / max(abs(self.b[int(self.ray[0])]), 1e-12)
        simplex.read_multipliers(
            self.T, self.d, self.basic, self.nonbasic, self.height, self.width, self.first_slack, _places(slots),
            self.status, self.ray, step, lam,
        )  # fmt: skip
        return lam

    def point(self) -> tuple[FloatArray, FloatArray]:
        """Columns and losses of the basic solution."""
        full = np.zeros(self.first_slack)
        basic = self.basic[: self.height]
        own = basic < self.first_slack
        full[basic[own]] = np.maximum(self.b[: self.height][own], 0.0)
        full[: self.n_columns][full[: self.n_columns] < 1e-9] = 0.0
        return full[: self.n_columns], full[self.n_columns :]


def _differences(pool: RowPool, slots: Slots, columns: IntArray, others: IntArray) -> FloatArray:
    """By how much the coefficients of columns in rows of the pool exceed those of others."""
    return pool.rows[np.ix_(slots, columns)] - pool.rows[np.ix_(slots, others)]


def _weights(T: FloatArray) -> FloatArray:
    """Squared norms of the rows, that of their basic variable included."""
    norms: FloatArray = 1.0 + np.einsum("ij,ij->i", T, T)
    return norms


def _finite(cutoff: float, value: float) -> float:
    """A value far above an objective, where no choice is known yet: multipliers that prove it are finite."""
    return cutoff if math.isfinite(cutoff) else value + 1e6 * max(1.0, abs(value))


def _places(slots: Slots) -> IntArray:
    places = np.empty(int(slots.max()) + 1 if len(slots) else 1, dtype=np.int64)  # of others nobody asks
    places[slots] = np.arange(len(slots))
    return places


class Workspace:
    """Scratch space in which child programs are solved one after another."""

    def __init__(self) -> None:
        self._rows = self._moved = np.empty((0, 0))

    def solve_children(
        self, tableau: Tableau, allowed: BoolArray, cutoff: float, max_pivots: int, first: int, work_limit: float,
        slots: Slots, lam: FloatArray, values: FloatArray, bases: NDArray[np.int32],
    ) -> tuple[int, int]:  # fmt: skip
        """Solve the boxes of `allowed` from number `first` on; the next number and the pivots made.

        ``bases[child]`` receives the basis in the numbers of `tableau_of`.
        """
        height, width = tableau.height, tableau.width
        if self._rows.shape[0] < height or self._rows.shape[1] < width:
            tall, wide = max(height + 16, self._rows.shape[0]), max(width, self._rows.shape[1])
            self._rows, self._moved = np.empty((tall, wide)), np.empty((tall, tall))
        child, pivots = solve_children(
            tableau.T, tableau.b, tableau.d, tableau.weights, tableau.basic, tableau.nonbasic, height, width,
            tableau.z, _finite(cutoff, tableau.z) + tableau.shift, max_pivots, allowed, first, work_limit,
            tableau.n_groups,
            _places(slots), self._rows, self._moved, lam, values, bases,
        )  # fmt: skip
        return int(child), int(pivots)


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of the columns, perturbed to part ties between pivots.

    Parameters
    ----------
    columns : float64 array (n_columns,)
    keys : int array (n_nodes,)
        The cheapest column of every node; these are not perturbed.
    shift : float
        What the perturbation can add to the objective at most.
    """

    columns: FloatArray
    keys: NDArray[np.intp]
    shift: float

    @classmethod
    def perturbed(cls, program: ChoiceProgram, allowed: BoolArray, perturbation: float, seed: int) -> "Costs":
        """Columns but the cheapest allowed one of every node cost up to `perturbation` more."""
        cost = np.where(allowed, program.c, np.inf)
        pairs = zip(program.offsets[:-1], program.offsets[1:], strict=True)
        keys = np.array([a + int(np.argmin(cost[a:b])) for a, b in pairs], dtype=np.intp)
        noise = perturbation * np.random.default_rng(seed).uniform(0.3, 1.0, size=program.n_columns)
        noise[keys] = 0.0
        return cls(program.c + noise, keys, program.n_nodes * perturbation)


def initial_tableau(pool: RowPool, allowed: BoolArray, slots: Slots, costs: Costs) -> Tableau:
    """Tableau with the cheapest column of every node basic: dual feasible, every box below it too."""
    tableau = tableau_of(pool, allowed, slots, costs.keys, costs)
    assert tableau is not None, "the choice rows are a basis"
    return tableau


def tableau_of(
    pool: RowPool, allowed: BoolArray, slots: Slots, basis: NDArray[np.integer], costs: Costs, *, extra_rows: int = 0,
    reach: float = math.inf, also: BoolArray | None = None,
) -> Tableau | None:  # fmt: skip
    """Tableau of a basis, for the box `allowed`; None when the basis is singular.

    `basis` numbers columns, then losses, then slacks by their place in `slots`. Slots beyond those that it counts are
    rows with a basic slack. Columns whose reduced costs are above `reach` are left out, except the basic ones and
    those that are wanted `also`.
    """
    program = pool.program
    n, nodes, n_groups = program.n_columns, program.n_nodes, pool.n_groups
    own = n + n_groups
    tight = np.arange(len(slots)) < len(basis) - nodes
    tight[basis[basis >= own] - own] = False
    rows = slots[tight]
    basic = basis[basis < own].astype(np.int64)
    factors = Basis(_rows_of(pool, rows, basic), basic, n, pool.group[rows], n_groups)
    cost = np.concatenate([costs.columns, np.ones(n_groups)])
    if math.isfinite(reach):
        multipliers = factors.multipliers(cost[basic])
        if multipliers is None:
            return None
        reduced = reduced_costs(costs.columns, pool.rows, rows, multipliers[nodes:])
        near = reduced - multipliers[program.owner] <= reach
        allowed = allowed & (near if also is None else near | also)
    outside = np.concatenate([allowed, np.ones(n_groups, dtype=bool)])
    outside[basic] = False
    nonbasic = np.flatnonzero(outside)
    height, width = nodes + len(rows), len(nonbasic) + len(rows)
    right = _rows_of(pool, rows, nonbasic, room=len(rows) + 1)
    right[nodes + np.arange(len(rows)), len(nonbasic) + np.arange(len(rows))] = -1.0
    right[:nodes, -1] = 1.0
    right[nodes:, -1] = pool.rhs[rows]
    solved = factors.solve(right)
    if solved is None:
        return None
    below = cost[basic]
    room = nodes + len(slots) + extra_rows
    T, b = np.empty((room, width)), np.empty(room)
    T[:height], b[:height] = solved[:, :-1], solved[:, -1]
    d = np.concatenate([cost[nonbasic], np.zeros(len(rows))]) - below @ T[:height]
    if math.isfinite(reach):  # what was not missed may have cost less by a trifle
        d = np.maximum(d, 0.0)
    weights = np.empty(room)
    weights[:height] = _weights(T[:height])
    names = np.empty(room, dtype=np.int64)
    names[:height] = basic
    tableau = Tableau(
        T, b, d, weights, names, np.concatenate([nonbasic, own + rows]), height, width, float(below @ b[:height]),
        costs.shift, n, n_groups, narrow=math.isfinite(reach),
    )  # fmt: skip
    tableau.add_rows(pool, slots[~tight])
    return tableau


def _rows_of(pool: RowPool, rows: Slots, variables: IntArray, *, room: int = 0) -> FloatArray:
    """Coefficients of columns and losses in the rows of the nodes and some of the pool, and `room` columns of zeros."""
    program = pool.program
    n, nodes = program.n_columns, program.n_nodes
    matrix = np.zeros((nodes + len(rows), len(variables) + room))
    at, losses_at = np.flatnonzero(variables < n), np.flatnonzero(variables >= n)
    matrix[program.owner[variables[at]], at] = 1.0
    matrix[nodes:, at] = pool.rows[np.ix_(rows, variables[at])]
    matrix[nodes:, losses_at] = pool.group[rows, None] == variables[losses_at] - n
    return matrix
