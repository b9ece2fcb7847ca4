"""The rows of a program over sequences that a working set of labellings stands for, and their masters."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..._arrays import FloatArray, IntArray
from ...programs.chain_program import ChainProgram
from ...programs.labellings import mixed_labellings
from ...programs.sequence import SequenceProgram

__all__ = ["Master", "WorkingSet", "solve_master"]

CONES: Mapping[str, float] = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-9}
MOST_GAMMA = 1e3


class WorkingSet:
    """Labellings whose margins are asked for so far: ``Delta(i, y) w + xi_i >= gamma delta(i, y)``."""

    def __init__(self, program: ChainProgram) -> None:
        self.program = program
        self.sequences: list[int] = []
        self.paths: list[IntArray] = []
        self.distances: list[float] = []
        self._rows: list[tuple[IntArray, FloatArray]] = []
        self._known: set[tuple[int, bytes]] = set()

    def __len__(self) -> int:
        return len(self.paths)

    def add(self, i: int, path: IntArray) -> bool:
        """Take a labelling of sequence `i`; whether it is a new one."""
        key = (i, path.tobytes())
        index = self.program.chains.index
        own = index.labels[index.starts[i] : index.starts[i + 1]]
        if key in self._known or np.array_equal(own, path):
            return False
        self._known.add(key)
        self.sequences.append(i)
        self.paths.append(path.copy())
        self.distances.append(float((path != own).sum()))
        places = np.concatenate([self._places(i, own), self._places(i, path)])
        signs = np.repeat([1.0, -1.0], len(places) // 2)
        entries, inverse = np.unique(places, return_inverse=True)
        changes = np.bincount(inverse, weights=signs)
        kept = changes != 0.0
        self._rows.append((entries[kept], changes[kept]))
        return True

    def _places(self, i: int, path: IntArray) -> IntArray:
        index, k = self.program.chains.index, self.program.chains.n_labels
        entry = index.entry[index.starts[i] : index.starts[i + 1]]
        emitted = (entry + path[:, None] * index.width)[entry >= 0]
        return np.concatenate([path[:1], k + path[:-1] * k + path[1:], emitted])

    @property
    def matrix(self) -> Any:
        """Delta, a row a labelling."""
        columns = [entries for entries, _ in self._rows]
        counts = np.cumsum([0, *(len(c) for c in columns)])
        values = np.concatenate([changes for _, changes in self._rows])
        shape = (len(self), self.program.chains.n_parameters)
        return sp.csr_array((values, np.concatenate(columns), counts), shape=shape)

    def mixture(self, weights: FloatArray) -> FloatArray:
        """The distributions that some multipliers of the rows stand for, as one array."""
        weights = np.maximum(np.nan_to_num(weights), 0.0) / self.program.loss_weight
        kept = np.flatnonzero(weights > 0.0)
        chosen = [self.paths[m] for m in kept]
        sequences = np.array(self.sequences, dtype=np.int64)[kept]
        return mixed_labellings(self.program.chains.index.starts, sequences, weights[kept], chosen)


@dataclass(frozen=True, eq=False)
class Master:
    """What the program over the rows of a working set says.

    Parameters
    ----------
    status : str
        The solver's word.
    w : float64 array (n,) or None
    weights : float64 array (n_rows,) or None
        Multipliers of the rows.
    gamma : float
    """

    status: str
    w: FloatArray | None
    weights: FloatArray | None
    gamma: float


def solve_master(rows: WorkingSet, seconds: float | None) -> Master:
    """Solve the program over the rows so far; by linear programming where that is what it is."""
    program = rows.program
    if isinstance(program, SequenceProgram) and program.is_linear:
        return _by_linear_programming(program, rows, seconds)
    return _by_cones(program, rows, seconds)


def _slack_places(rows: WorkingSet) -> Any:
    """Which slack each row has, as a matrix."""
    place = {i: j for j, i in enumerate(sorted(set(rows.sequences)))}
    columns = [place[i] for i in rows.sequences]
    return sp.csr_array((np.ones(len(rows)), (np.arange(len(rows)), columns)), shape=(len(rows), len(place)))


def _by_cones(program: ChainProgram, rows: WorkingSet, seconds: float | None) -> Master:
    import cvxpy as cp

    n, of = program.chains.n_parameters, _slack_places(rows)
    w, slack = cp.Variable(n), cp.Variable(of.shape[1], nonneg=True)
    free = cp.Variable() if program.gamma is None else None
    gamma = program.gamma if free is None else free
    # As for all cones of ours: the objective is divided by its scale.
    scale = program.scale
    losses = (program.loss_weight / scale) * (cp.sum(slack) - program.linear @ w)
    margins = rows.matrix @ w + of @ slack >= np.array(rows.distances) * gamma
    constraints = [margins]
    if isinstance(program, SequenceProgram):
        objective = losses if free is None else losses + (0.5 / scale) * cp.power(free, -2)
        sums = sp.csr_array((np.ones(n), np.arange(n), program.row_ptr), shape=(len(program.row_ptr) - 1, n))
        constraints += [sums @ cp.exp(w) <= 1.0, w >= program.log_floor]
    else:
        objective = losses + (0.5 / scale) * cp.sum_squares(w)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    options: dict[str, Any] = dict(CONES) if seconds is None else {**CONES, "time_limit": max(0.05, seconds)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate answer is told by the status
        try:
            problem.solve(solver="CLARABEL", **options)
        except cp.SolverError as error:
            return Master(f"not solved: {error}", None, None, 1.0)
    found, weights = w.value, margins.dual_value
    if found is None or weights is None:
        return Master(str(problem.status), None, None, 1.0)
    asked = float(free.value) if free is not None and free.value is not None else program.gamma or 1.0
    return Master(str(problem.status), np.asarray(found, dtype=np.float64), np.asarray(weights) * scale, asked)


def _by_linear_programming(program: SequenceProgram, rows: WorkingSet, seconds: float | None) -> Master:
    """``min sum xi  s.t.  Delta u + xi >= delta``, then back by ``w = gamma u - shift``, as for one variable."""
    of, n = _slack_places(rows), program.chains.n_parameters
    matrix = sp.hstack([rows.matrix, of], format="csr")
    answer = linprog(
        np.concatenate([np.zeros(n), np.ones(of.shape[1])]),
        A_ub=-matrix,
        b_ub=-np.array(rows.distances),
        bounds=[(None, None)] * n + [(0.0, None)] * of.shape[1],
        method="highs",
        options={} if seconds is None else {"time_limit": max(0.05, seconds)},
    )
    if answer.x is None or answer.status != 0:
        return Master(str(answer.message), None, None, 1.0)
    missed, gamma = float(answer.fun or 0.0), program.gamma
    if gamma is None:
        assert program.strength is not None
        # Separable data can be scaled without end; 1e3 is far beyond any margin of use.
        gamma = min(MOST_GAMMA, (program.strength * missed) ** (-1 / 3)) if missed > 0.0 else MOST_GAMMA
    w = gamma * answer.x[:n]
    sums = np.logaddexp.reduceat(w, program.row_ptr[:-1])
    weights = -np.asarray(answer.ineqlin.marginals) * program.loss_weight
    return Master(str(answer.message), w - max(0.0, float(sums.max())), weights, gamma)
