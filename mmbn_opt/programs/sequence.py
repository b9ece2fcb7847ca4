"""Margin programs over label sequences, matrix-free, with bounds from distributions over labellings.

With ``delta(i, y)`` the Hamming distance of a labelling from the true one and ``Delta(i, y)`` the difference of the
entries that the two look up, both programs are, for a convex R,

    P(w) = sum_i max_y [ gamma delta(i, y) - Delta(i, y).w ] + R(w),

one loss-augmented Viterbi pass. For *any* distributions mu_i over labellings, ``v = sum_i E_mu Delta`` and
``S = sum_i E_mu delta`` give the lower bound ``gamma S - R*(v)``. They enter by their marginals alone, which one
forward-backward pass computes at any temperature. Where R is that of the tables (rows of exp(w) sum to at most 1,
``w >= log_floor``, a linear term), R* is the closed form `support_function`, row by row.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.base import ProgramKind, ProgramSize
from mmbn_opt.programs.chain_operator import ChainOperator, path_losses
from mmbn_opt.programs.chain_program import chain_size, hard_losses, smooth_losses
from mmbn_opt.programs.convex_bounds import support_function
from mmbn_opt.programs.labellings import means_of_labellings
from mmbn_opt.programs.tables import MarginOverTables

__all__ = ["SequenceMarkovProgram", "SequenceProgram"]


@dataclass(frozen=True, eq=False)
class SequenceProgram(MarginOverTables):
    """Losses of labellings over tables of log-probabilities.

    With gamma fixed

        minimise  sum_i max_y [ gamma delta(i, y) - Delta(i, y).w ] - linear.w
        s.t.      sum exp(w) <= 1 in each row,  w >= log_floor,

    and with `strength` B instead, ``1 / (2 gamma^2) + B (that)``, minimised over gamma > 0 as well.

    Parameters
    ----------
    chains : ChainOperator
    gamma : float or None
    strength : float or None
        B. Exactly one of the two is given.
    linear : float64 array (n,)
    log_floor : float
        ``-inf`` for none; dual bounds then hold over ``w >= -1000``.
    """

    chains: ChainOperator
    gamma: float | None
    strength: float | None
    linear: FloatArray
    log_floor: float

    def __post_init__(self) -> None:
        self.require_gamma_or_strength()
        if self.linear.shape != (self.chains.n_parameters,):
            raise InputError(f"The program has {self.chains.n_parameters} parameters; linear {self.linear.shape}.")

    @property
    def kind(self) -> ProgramKind:
        """Always `ProgramKind.SEQUENCE`."""
        return ProgramKind.SEQUENCE

    @property
    def size(self) -> ProgramSize:
        """Parameters; rows of the tables and sequences (each stands for all labellings); entries that are looked up."""
        return chain_size(self.chains)

    @property
    def row_ptr(self) -> IntArray:
        """Where each row begins in w."""
        return self.chains.row_ptr

    @property
    def scale(self) -> float:
        """All positions times gamma, times B."""
        return self.chains.n_positions * (self.gamma or 1.0) * self.loss_weight

    @property
    def mass(self) -> float:
        """Positions of all sequences."""
        return float(self.chains.n_positions)

    @cached_property
    def frequency(self) -> FloatArray:
        """How often the true labels look each entry up, a position."""
        return self.chains.own / self.chains.n_positions

    def best_gamma(self, w: FloatArray) -> float:
        """The fixed gamma, or the best one for `w`: the root of ``gamma^-3 = B delta(worst labelling)``."""
        if self.gamma is not None:
            return self.gamma
        assert self.strength is not None

        def slope(gamma: float) -> float:
            wrong = float(path_losses(self.chains, self.chains.best(w, gamma).paths).sum())
            return float(-(gamma**-3.0) + self.loss_weight * wrong)

        low, high = 1e-6, 1.0
        while slope(high) < 0.0 and high < 1e9:
            low, high = high, 4.0 * high
        while slope(low) > 0.0:
            low *= 0.25
        while high - low > 1e-12 * high:
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
        return 0.5 * (low + high)

    def value(self, w: FloatArray) -> float:
        """Objective at `w` (which is not checked here: see `violation`)."""
        gamma = self.best_gamma(w)
        loss = hard_losses(self.chains, w, gamma) - float(self.linear @ w)
        return loss if self.strength is None else 0.5 / gamma**2 + self.strength * loss

    def first_point(self) -> FloatArray:
        """The tables that the true labels' frequencies give, with one more of each."""
        return support_function(self.chains.own + 1.0, self.row_ptr, self.bound_floor)[1]

    @property
    def trivial_bound(self) -> float:
        """The bound of the true labels alone."""
        return self.bound_of(0.0, self.linear)

    def dual_value(self, y: FloatArray) -> float:
        """Rigorous lower bound from distributions as `soft_labellings` or `mixed_labellings` make them."""
        missed, moved = means_of_labellings(self.chains, y)
        return self.bound_of(missed, self.linear + moved)

    def smooth_hinge(self, w: FloatArray, gamma: float, tau: float) -> tuple[float, float, float, FloatArray]:
        """Losses with a soft maximum, a lower estimate of those with a hard one, gamma S, and ``sum E_mu Delta``."""
        return smooth_losses(self.chains, w, gamma, tau)

    def separates(self, w: FloatArray) -> bool:
        """Whether the true labels of every sequence have the largest score, alone."""
        tie = 1e-9 * float(np.abs(w).max())
        return bool((self.chains.best(w, tie).paths == self.chains.index.labels).all())


@dataclass(frozen=True, eq=False)
class SequenceMarkovProgram:
    """``min 1/2 |w|^2 + C sum_i max_y [ delta(i, y) - Delta(i, y).w ]`` over all w.

    Its dual bound is ``C S - 1/2 |C v|^2``.

    Parameters
    ----------
    chains : ChainOperator
    C : float
    """

    chains: ChainOperator
    C: float

    @property
    def kind(self) -> ProgramKind:
        """Always `ProgramKind.SEQUENCE`."""
        return ProgramKind.SEQUENCE

    @property
    def size(self) -> ProgramSize:
        """Parameters; a row a sequence; entries that are looked up."""
        return chain_size(self.chains)

    @property
    def gamma(self) -> float:
        """1: the length of w is what holds it."""
        return 1.0

    @property
    def strength(self) -> None:
        """There is none."""

    @property
    def loss_weight(self) -> float:
        """C."""
        return self.C

    @property
    def is_linear(self) -> bool:
        """It is quadratic."""
        return False

    @property
    def row_ptr(self) -> IntArray:
        """Where each table's row begins in w."""
        return self.chains.row_ptr

    @cached_property
    def linear(self) -> FloatArray:
        """Zeros."""
        return np.zeros(self.chains.n_parameters)

    @property
    def mass(self) -> float:
        """Positions of all sequences."""
        return float(self.chains.n_positions)

    @property
    def scale(self) -> float:
        """Objective at ``w = 0``."""
        return self.C * self.chains.n_positions

    @cached_property
    def frequency(self) -> FloatArray:
        """How often the true labels look each entry up, a position."""
        return self.chains.own / self.chains.n_positions

    @property
    def trivial_bound(self) -> float:
        """The bound of the true labels alone."""
        return 0.0

    def first_point(self) -> FloatArray:
        """Zero."""
        return np.zeros(self.chains.n_parameters)

    def project(self, w: FloatArray) -> FloatArray:
        """Every point is feasible."""
        return np.array(w, dtype=np.float64)

    def best_gamma(self, w: FloatArray) -> float:
        """1."""
        return 1.0

    def value(self, w: FloatArray) -> float:
        """Objective at `w`."""
        return 0.5 * float(w @ w) + self.C * hard_losses(self.chains, w, 1.0)

    def violation(self, w: FloatArray) -> float:
        """There is nothing to violate."""
        return 0.0

    def bound_of(self, dual_margin: float, v: FloatArray) -> float:
        """Lower bound from ``S`` and ``v``; the best share of the distributions is taken."""
        asked, square = self.C * dual_margin, self.C**2 * float(v @ v)
        share = 1.0 if square <= asked else asked / square
        return share * asked - 0.5 * share**2 * square

    def dual_value(self, y: FloatArray) -> float:
        """Rigorous lower bound from distributions as `soft_labellings` or `mixed_labellings` make them."""
        missed, moved = means_of_labellings(self.chains, y)
        return self.bound_of(missed, self.linear + moved)

    def smooth_hinge(self, w: FloatArray, gamma: float, tau: float) -> tuple[float, float, float, FloatArray]:
        """Losses with a soft maximum, a lower estimate of those with a hard one, gamma S, and ``sum E_mu Delta``."""
        return smooth_losses(self.chains, w, gamma, tau)

    def step_from(self, z: FloatArray, step: FloatArray, metric: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Shrunk towards zero, as the length of w asks in units of C."""
        return z * (step / (step + 1.0 / self.C))
