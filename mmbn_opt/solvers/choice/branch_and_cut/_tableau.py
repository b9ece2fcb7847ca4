"""A dense tableau as a value: built from rows of the pool, copied for a box, re-optimised, extended, read."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray, Int32Array, IntArray
from ....programs.choice import ChoiceProgram
from . import _simplex as simplex
from ._children import solve_children
from ._pool import RowPool, Slots

__all__ = ["Costs", "Tableau", "Workspace", "initial_tableau", "tableau_of"]


MANY_LOSSES = 48
"""From so many basic losses on a tableau is made without them, and they from it."""


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

    def basis(self, slots: Slots) -> IntArray:
        """What is basic, in the numbers of `tableau_of`; `slots` are all of its rows."""
        basic = self.basic[: self.height].copy()
        slack = basic >= self.first_slack
        basic[slack] = self.first_slack + _places(slots)[basic[slack] - self.first_slack]
        return basic

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


def _finite(cutoff: float, value: float) -> float:
    """A value far above an objective, where no choice is known yet: multipliers that prove it are finite."""
    return cutoff if math.isfinite(cutoff) else value + 1e6 * max(1.0, abs(value))


def _places(slots: Slots) -> IntArray:
    places = np.full(int(slots.max()) + 1 if len(slots) else 1, 0, dtype=np.int64)
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


def _solve_for(matrix: FloatArray, basic: IntArray, n_columns: int, groups: Int32Array, n_groups: int) -> bool:
    """Multiply the rows of ``matrix = [B N]`` by the inverse of B, in place of N; whether there is one.

    A basic loss is in the rows of its group and nowhere else: one of these says what it is, and is taken off the
    others, which leaves a system in the basic columns alone, a fourth as high as B where groups are many.
    """
    height = len(matrix)
    losses = np.flatnonzero(basic >= n_columns)
    try:
        if len(losses) < MANY_LOSSES:
            matrix[:, height:] = np.linalg.solve(matrix[:, :height], matrix[:, height:])
            return bool(np.isfinite(matrix[:, height:]).all())
        nodes = height - len(groups)
        last_row = np.full(n_groups + 1, -1)  # of every group; rows of none, which is -1, share the last entry
        last_row[groups] = np.arange(nodes, height)
        telling = last_row[basic[losses] - n_columns]
        if (telling < 0).any():
            return False
        tells = np.full(n_groups + 1, -1)
        tells[basic[losses] - n_columns] = telling
        others = np.setdiff1d(np.arange(height), telling)
        told_by = np.concatenate([np.full(nodes, -1), tells[groups]])[others]
        right = matrix[others]
        right[told_by >= 0] -= matrix[told_by[told_by >= 0]]
        own = np.flatnonzero(basic < n_columns)
        columns = np.linalg.solve(right[:, own], right[:, height:])
    except np.linalg.LinAlgError:
        return False
    told = matrix[telling, height:] - matrix[np.ix_(telling, own)] @ columns
    matrix[own, height:] = columns
    matrix[losses, height:] = told
    return bool(np.isfinite(matrix[:, height:]).all())


def tableau_of(
    pool: RowPool, allowed: BoolArray, slots: Slots, basis: NDArray[np.integer], costs: Costs, *, extra_rows: int = 0
) -> Tableau | None:
    """Tableau of a basis, for the box `allowed`; None when the basis is singular.

    `basis` numbers columns, then losses, then slacks by their place in `slots`. Slots beyond those that it counts are
    rows with a basic slack.
    """
    program = pool.program
    n, nodes, n_groups = program.n_columns, program.n_nodes, pool.n_groups
    own = n + n_groups
    tight = np.arange(len(slots)) < len(basis) - nodes
    tight[basis[basis >= own] - own] = False
    rows = slots[tight]
    basic = basis[basis < own].astype(np.int64)
    outside = np.concatenate([allowed, np.ones(n_groups, dtype=bool)])
    outside[basic] = False
    nonbasic = np.flatnonzero(outside)
    height, width = nodes + len(rows), len(nonbasic) + len(rows)
    variables = np.concatenate([basic, nonbasic])
    at, losses_at = np.flatnonzero(variables < n), np.flatnonzero(variables >= n)
    matrix = np.zeros((height, len(variables) + len(rows) + 1))
    matrix[program.owner[variables[at]], at] = 1.0
    matrix[nodes:, at] = pool.rows[np.ix_(rows, variables[at])]
    matrix[nodes:, losses_at] = pool.group[rows, None] == variables[losses_at] - n
    matrix[nodes + np.arange(len(rows)), len(variables) + np.arange(len(rows))] = -1.0
    matrix[:nodes, -1] = 1.0
    matrix[nodes:, -1] = pool.rhs[rows]
    if not _solve_for(matrix, basic, n, pool.group[rows], n_groups):
        return None
    solved = matrix[:, height:]
    cost = np.concatenate([costs.columns, np.ones(n_groups)])
    below = cost[basic]
    room = nodes + len(slots) + extra_rows
    T, b = np.empty((room, width)), np.empty(room)
    T[:height], b[:height] = solved[:, :-1], solved[:, -1]
    d = np.concatenate([cost[nonbasic], np.zeros(len(rows))]) - below @ T[:height]
    weights = np.empty(room)
    weights[:height] = 1.0 + np.einsum("ij,ij->i", T[:height], T[:height])
    names = np.empty(room, dtype=np.int64)
    names[:height] = basic
    tableau = Tableau(
        T, b, d, weights, names, np.concatenate([nonbasic, own + rows]), height, width, float(below @ b[:height]),
        costs.shift, n, n_groups,
    )  # fmt: skip
    tableau.add_rows(pool, slots[~tight])
    return tableau
