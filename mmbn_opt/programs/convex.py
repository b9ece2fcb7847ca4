"""Convex margin programs over blocks of log-probabilities, matrix-free."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.base import ProgramKind, ProgramSize
from mmbn_opt.programs.convex_bounds import admissible_multipliers, best_gamma, support_multipliers
from mmbn_opt.programs.log_rows import LogRows
from mmbn_opt.programs.margin_operator import MarginOperator
from mmbn_opt.programs.margin_program import MarginProgram
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.programs.tables import MarginOverTables

__all__ = ["ConvexProgram", "linear_in_disguise"]


@dataclass(frozen=True, eq=False)
class ConvexProgram(MarginOverTables):
    """Hinge loss of margins over blocks of log-probabilities.

    With gamma fixed

        minimise  sum_m n_m max(0, max_c gamma delta_mc - (Delta w)_mc) - linear.w
        s.t.      sum_i exp(w_i) <= 1 in each block,  w >= log_floor,  lower <= A w <= upper,

    and with `strength` B instead, ``1 / (2 gamma^2) + B (that)``, minimised over gamma > 0 as well, which is
    eliminated: the vector is w alone.

    Parameters
    ----------
    margins : MarginOperator
    row_ptr : int64 array (n_blocks + 1,)
        Where each block starts in w.
    gamma : float or None
    strength : float or None
        B. Exactly one of the two is given.
    linear : float64 array (n,)
        Zeros where there is no such term.
    log_floor : float
        ``-inf`` for none.
    delta : float64 array (n_samples or 1, n_classes)
        Scale of the margin asked for; ones for the plain margin.
    rows : LogRows or None
        Linear rows on the log-parameters, which make it a program of another kind: few solvers take them.

    Notes
    -----
    Dual bounds of programs without a floor hold over ``w >= -1000`` (see `dual_value`).
    """

    margins: MarginOperator
    row_ptr: IntArray
    gamma: float | None
    strength: float | None
    linear: FloatArray
    log_floor: float
    delta: FloatArray = field(default_factory=lambda: np.ones((1, 1)))
    max_nonzeros: int = 30_000_000
    rows: LogRows | None = None

    def __post_init__(self) -> None:
        self.require_gamma_or_strength()
        n, k = self.margins.n_parameters, self.margins.n_classes
        if self.linear.shape != (n,) or int(self.row_ptr[-1]) != n:
            raise InputError(f"The program has {n} parameters; linear {self.linear.shape}, blocks {self.row_ptr[-1]}.")
        if self.delta.shape == (1, 1):
            object.__setattr__(self, "delta", np.full((1, k), float(self.delta[0, 0])))
        if self.delta.shape not in ((1, k), (self.margins.n_samples, k)):
            raise InputError(f"delta has shape {self.delta.shape}; asked for are ({self.margins.n_samples}, {k}).")

    @property
    def kind(self) -> ProgramKind:
        """`ProgramKind.CONVEX`, or, where there are linear rows, `ProgramKind.CONVEX_ROWS`."""
        return ProgramKind.CONVEX if self.rows is None else ProgramKind.CONVEX_ROWS

    @property
    def size(self) -> ProgramSize:
        """Parameters; margin rows and blocks; non-zeros that the margin matrix would have."""
        rows = self.margins.n_samples * (self.margins.n_classes - 1)
        own, entries = (0, 0) if self.rows is None else (len(self.rows.names), int(self.rows.A.nnz))
        return ProgramSize(
            self.margins.n_parameters,
            0,
            rows + len(self.row_ptr) - 1 + own,
            2 * rows * self.margins.n_factors + entries,
        )

    @property
    def scale(self) -> float:
        """What the losses of all samples add up to where no margin is reached: total weight times gamma times B."""
        gamma = 1.0 if self.gamma is None else self.gamma
        return float(self.margins.weight.sum()) * gamma * (self.strength or 1.0)

    @property
    def frequency(self) -> FloatArray:
        """Share of the sample weight that looks up each entry of w, for any class."""
        return self.margins.frequency

    @cached_property
    def at_floor(self) -> NDArray[np.bool_]:
        """Entries that lie on the floor at an optimum, whatever the rest.

        No sample of their class looks them up and the linear term has no weight on them: raising them helps rivals.
        """
        if math.isinf(self.log_floor):
            return np.zeros(self.margins.n_parameters, dtype=bool)
        unseen: NDArray[np.bool_] = (self.margins.own == 0) & (self.linear <= 0)
        return unseen

    def hinge(self, margins: FloatArray, gamma: float) -> float:
        """Weighted hinge sum of margins (own class +inf)."""
        slack = (gamma * self.delta - margins).max(axis=1)
        return float(self.margins.weight @ np.maximum(slack, 0.0))

    def best_gamma(self, w: FloatArray) -> float:
        """The fixed gamma, or the best one for `w`."""
        if self.gamma is not None:
            return self.gamma
        assert self.strength is not None
        return best_gamma(self.margins.margins(w), self.delta, self.margins.weight, self.strength)

    def value(self, w: FloatArray) -> float:
        """Objective at `w` (which is not checked here: see `violation`)."""
        margins = self.margins.margins(w)
        if self.gamma is not None:
            return self.hinge(margins, self.gamma) - float(self.linear @ w)
        assert self.strength is not None
        gamma = best_gamma(margins, self.delta, self.margins.weight, self.strength)
        return 0.5 / gamma**2 + self.strength * (self.hinge(margins, gamma) - float(self.linear @ w))

    def is_feasible(self, w: FloatArray, tolerance: float = 1e-6) -> bool:
        """Whether `w` satisfies blocks, floor and rows within `tolerance`."""
        return bool(np.isfinite(w).all()) and self.violation(w) <= tolerance

    def violation(self, w: FloatArray) -> float:
        """Largest excess of a block's sum over 1, of the floor over an entry, or of a side of a row."""
        return max(super().violation(w), 0.0 if self.rows is None else self.rows.violation(w))

    def project(self, w: FloatArray) -> FloatArray:
        """Nearest feasible point; where linear rows contradict each other, one that keeps blocks and floor."""
        if self.rows is None:
            return super().project(w)
        return self.rows.nearest(np.asarray(w, dtype=np.float64), self.row_ptr, self.log_floor)

    def dual_value(self, y: FloatArray) -> float:
        """Rigorous lower bound from any multipliers; inadmissible ones are clipped.

        Parameters
        ----------
        y : float64 array (n_samples, n_classes)
            Where there are linear rows, those of `packed` too.
        """
        allowed, shift, own = self._admitted(y)
        v = self.linear + self.margins.adjoint(allowed) + shift
        return self.bound_of(float((self.delta * allowed).sum()), v) + self.loss_weight * own

    def table_multipliers(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the sums of the blocks and the floors weigh in the bound of `y`, shapes (n_blocks,) and (n,)."""
        allowed, shift, _ = self._admitted(y)
        return support_multipliers(self.linear + self.margins.adjoint(allowed) + shift, self.row_ptr, self.bound_floor)

    def packed(self, y: FloatArray, z: FloatArray) -> FloatArray:
        """Multipliers of the samples and of the linear rows as one vector."""
        return np.concatenate([np.ravel(y), z])

    def unpacked(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Admissible multipliers of the samples and of the linear rows; good ones of these where none are given."""
        n, k = self.margins.n_samples, self.margins.n_classes
        count = 0 if self.rows is None else len(self.rows.names)
        packed = np.ndim(multipliers) == 1 and len(multipliers) == n * k + count
        y = np.array(multipliers[: n * k]).reshape(n, k) if packed else np.array(multipliers)
        allowed = admissible_multipliers(y, self.margins.labels, self.margins.weight)
        if self.rows is None:
            return allowed, np.zeros(0)
        if packed:
            return allowed, self.rows.admissible(np.asarray(multipliers[n * k :], dtype=np.float64))
        v = self.linear + self.margins.adjoint(allowed)
        return allowed, self.rows.best_multipliers(v, self.row_ptr, self.bound_floor)

    def _admitted(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray | float, float]:
        """Multipliers of the samples, and what those of the rows add to v and to the bound."""
        allowed, z = self.unpacked(multipliers)
        return (allowed, 0.0, 0.0) if self.rows is None else (allowed, *self.rows.shift(z))

    @property
    def mass(self) -> float:
        """Weight of all samples."""
        return float(self.margins.weight.sum())

    def smooth_hinge(self, w: FloatArray, gamma: float, tau: float) -> tuple[float, float, float, FloatArray]:
        """Losses with a soft maximum, those with a hard one, ``gamma sum delta y``, and ``Delta' y`` of its weights."""
        return self.margins.smooth_hinge(w, self.delta, gamma, tau)

    def separates(self, w: FloatArray) -> bool:
        """Whether every sample's class has the largest score."""
        return bool(self.margins.margins(w).min() > 0.0)

    @property
    def trivial_bound(self) -> float:
        """The bound of no multipliers."""
        return self.bound_of(0.0, self.linear)

    def first_point(self) -> FloatArray:
        """Every row uniform, or what keeps the linear rows and is near that."""
        sizes = np.diff(self.row_ptr)
        uniform = np.repeat(-np.log(sizes), sizes)
        return uniform if self.rows is None else self.project(uniform)

    @property
    def is_linear(self) -> bool:
        """Whether blocks never bind, so that the program is a linear one in disguise; linear rows may see a shift."""
        return self.rows is None and super().is_linear

    def at_gamma(self, gamma: float) -> "ConvexProgram":
        """The same program with gamma fixed."""
        return ConvexProgram(
            self.margins,
            self.row_ptr,
            gamma,
            None,
            self.linear,
            self.log_floor,
            self.delta,
            self.max_nonzeros,
            self.rows,
        )

    def part(self, samples: NDArray[np.integer], others: FloatArray) -> "ConvexProgram":
        """The program of some samples, in this order, with a linear term that stands for fixed multipliers of others.

        For any multipliers ``y`` of these samples, both together are multipliers of the whole program. What lies on the
        floor is what does so in the whole.

        Parameters
        ----------
        samples : integer array
        others : float64 array (n_samples, n_classes)
            Zeros for `samples`.
        """
        margins = self.margins
        kept = replace(
            margins,
            index=np.ascontiguousarray(margins.index[:, samples]),
            labels=margins.labels[samples],
            weight=margins.weight[samples],
        )
        delta = self.delta if len(self.delta) == 1 else self.delta[samples]
        found = replace(self, margins=kept, linear=self.linear + margins.adjoint(others), delta=delta)
        found.__dict__["at_floor"] = self.at_floor
        return found

    def linear_form(self) -> MixedIntegerProgram:
        """``min sum n_m h_m  s.t.  Delta u + h >= delta, h >= 0``, without blocks; columns u, then h.

        Every margin row sums to zero over each CPT, so that a shift of w by a constant satisfies all blocks and leaves
        the margins: without floor and linear term the optimum is ``gamma H*``, or ``1.5 (B H*)^(2/3)``, with H* the
        optimum of this linear program, at ``w = gamma u - shift``.
        """
        import scipy.sparse as sp

        if not self.is_linear:
            raise InputError(
                "Only the published problem (no floor, no likelihood term) has a linear form; "
                'use normalization="published".'
            )
        matrix, sample, rival = self.margins.matrix(self.max_nonzeros)
        n_rows, n, m = len(sample), self.margins.n_parameters, self.margins.n_samples
        slack = sp.csr_array((np.ones(n_rows), (np.arange(n_rows), sample)), shape=(n_rows, m))
        asked = np.broadcast_to(self.delta, (m, self.margins.n_classes))[sample, rival]
        return MixedIntegerProgram(
            c=np.concatenate([np.zeros(n), self.margins.weight]),
            A=sp.csr_array(sp.hstack([matrix, slack], format="csr")),
            row_lower=np.ascontiguousarray(asked, dtype=np.float64),
            row_upper=np.full(n_rows, np.inf),
            col_lower=np.concatenate([np.full(n, -np.inf), np.zeros(m)]),
            col_upper=np.full(n + m, np.inf),
            integrality=np.zeros(n + m, dtype=bool),
            column_names=(*(f"u_{i}" for i in range(n)), *(f"h_{k}" for k in range(m))),
        )

    def from_linear_form(self, u: FloatArray) -> FloatArray:
        """The point ``gamma u - shift`` with the best gamma for `u`, the shift as small as the blocks allow."""
        hinge = self.hinge(self.margins.margins(u), 1.0)
        gamma = self.gamma if self.gamma is not None else 1.0
        if self.gamma is None:
            assert self.strength is not None
            # A separating u can be scaled without end; 1e3 is far beyond any margin of use.
            gamma = min(1e3, (self.strength * hinge) ** (-1 / 3)) if hinge > 0 else 1e3
        w: FloatArray = gamma * u
        # One shift for all, so that every margin stays.
        sums = np.logaddexp.reduceat(w, self.row_ptr[:-1])
        return w - max(0.0, float(sums.max()))


def linear_in_disguise(program: MarginProgram) -> ConvexProgram | None:
    """The program itself where it has a linear form (see `ConvexProgram.linear_form`), or None."""
    return program if isinstance(program, ConvexProgram) and program.is_linear else None
