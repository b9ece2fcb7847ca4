"""What the programs over label sequences have in common, whatever holds their parameters."""

from typing import Protocol

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.programs.base import Program, ProgramSize
from mmbn_opt.programs.chain_operator import ChainOperator

__all__ = ["ChainProgram", "chain_size", "hard_losses", "smooth_losses"]


class ChainProgram(Program, Protocol):
    """What the programs over sequences have in common, whatever holds their parameters."""

    @property
    def chains(self) -> ChainOperator:
        """From parameters to labellings, and back."""

    @property
    def gamma(self) -> float | None:
        """Margin asked for a wrong label; None where it is free."""

    @property
    def strength(self) -> float | None:
        """B, where gamma is free."""

    @property
    def loss_weight(self) -> float:
        """Factor of the losses: B, C, or 1."""

    @property
    def is_linear(self) -> bool:
        """Whether it is a linear program in disguise."""

    @property
    def linear(self) -> FloatArray:
        """Weights of the linear term."""

    @property
    def scale(self) -> float:
        """What the losses add up to where no margin is reached."""

    @property
    def trivial_bound(self) -> float:
        """The bound of the true labels alone."""

    @property
    def frequency(self) -> FloatArray:
        """How often the true labels look each entry up, a position."""

    def first_point(self) -> FloatArray:
        """Where to begin when nothing is known."""

    def project(self, w: FloatArray) -> FloatArray:
        """Nearest feasible point."""

    def best_gamma(self, w: FloatArray) -> float:
        """The margin that is asked for at `w`: fixed, or the best for it."""

    def bound_of(self, dual_margin: float, v: FloatArray) -> float:
        """Lower bound from ``S`` and ``v = linear + sum E_mu Delta``; concave in both."""

    def dual_value(self, y: FloatArray) -> float:
        """Rigorous lower bound from distributions as `soft_labellings` or `mixed_labellings` make them."""

    def smooth_hinge(self, w: FloatArray, gamma: float, tau: float) -> tuple[float, float, float, FloatArray]:
        """Losses with a soft maximum, a lower estimate of those with a hard one, gamma S, and ``sum E_mu Delta``."""

    def step_from(self, z: FloatArray, step: FloatArray, metric: FloatArray, multipliers: FloatArray) -> FloatArray:
        """The point that minimises R but for its linear part, and ``step / 2`` times the squared way from `z`."""

    @property
    def mass(self) -> float:
        """Positions of all sequences."""

    @property
    def row_ptr(self) -> IntArray:
        """Where each row of the tables begins in w."""


def smooth_losses(
    chains: ChainOperator, w: FloatArray, gamma: float, tau: float
) -> tuple[float, float, float, FloatArray]:
    """Losses with a soft maximum, a lower estimate of those with a hard one, gamma S, and ``sum E_mu Delta``."""
    soft = chains.soft(w, gamma, tau)
    moved = chains.own - soft.features
    asked = gamma * chains.missed(soft.marginals)
    # The mean loss under the weights, which lies below the largest by tau times their entropy at most.
    return tau * float(soft.logs.sum()) - float(chains.own @ w), asked - float(moved @ w), asked, moved


def hard_losses(chains: ChainOperator, w: FloatArray, gamma: float) -> float:
    """``sum_i max_y [ gamma delta(i, y) - Delta(i, y).w ]``."""
    # Term by term: of two large sums that differ by little, rounding would be all that is left.
    return float((chains.best(w, gamma).values - chains.own_scores(w)).sum())


def chain_size(chains: ChainOperator) -> ProgramSize:
    """Size of a program over chains."""
    looked_up = chains.n_positions * (1 + len(chains.index.width))
    return ProgramSize(chains.n_parameters, 0, len(chains.row_ptr) - 1 + chains.n_sequences, 2 * looked_up)
