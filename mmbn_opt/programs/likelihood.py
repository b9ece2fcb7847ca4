"""Conditional likelihood over rows of log-probabilities that may sum to less than 1: a smooth convex program."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmbn_opt._arrays import BoolArray, FloatArray, IntArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.base import ProgramKind, ProgramSize
from mmbn_opt.programs.convex_bounds import admissible_multipliers, nearest_feasible, support_function
from mmbn_opt.programs.margin_operator import MarginOperator

__all__ = ["LikelihoodProgram"]


@dataclass(frozen=True, eq=False)
class LikelihoodProgram:
    """Minus the conditional log-likelihood of the samples' classes.

        minimise  sum_m n_m log sum_c exp(- (Delta w)_mc)
        s.t.      sum_i exp(w_i) <= 1 in each block,  w >= log_floor,

    with ``(Delta w)_mc`` the margin of sample m over class c, 0 for its own. For any distribution q_m over the classes
    of each sample, with its entropy H,

        D(q) = sum_m n_m H(q_m) - max { v.w : w feasible },     v = Delta' (n q),

    is a lower bound, and at an optimum the posteriors are such distributions.

    Parameters
    ----------
    margins : MarginOperator
    row_ptr : int64 array (n_blocks + 1,)
        Where each block starts in w.
    log_floor : float
        Finite: without a floor separable data have no optimum, and no point a bound. Whatever lies below it is moved
        there by `project`; it is no `violation`, since blocks can be shifted against each other without a change of any
        posterior.
    """

    margins: MarginOperator
    row_ptr: IntArray
    log_floor: float

    def __post_init__(self) -> None:
        if int(self.row_ptr[-1]) != self.margins.n_parameters or not np.isfinite(self.log_floor):
            raise InputError(
                f"The program has {self.margins.n_parameters} parameters and needs a finite log_floor; got blocks of "
                f"{self.row_ptr[-1]} and log_floor={self.log_floor!r}."
            )

    @property
    def kind(self) -> ProgramKind:
        """Always `ProgramKind.LIKELIHOOD`."""
        return ProgramKind.LIKELIHOOD

    @property
    def size(self) -> ProgramSize:
        """Parameters; blocks; non-zeros of their sums."""
        n = self.margins.n_parameters
        return ProgramSize(n, 0, len(self.row_ptr) - 1, n)

    @property
    def scale(self) -> float:
        """The objective where every class is as probable as the others."""
        return float(self.margins.weight.sum()) * float(np.log(self.margins.n_classes))

    @property
    def frequency(self) -> FloatArray:
        """Share of the sample weight that looks up each entry of w, for any class."""
        return self.margins.frequency

    @cached_property
    def at_floor(self) -> BoolArray:
        """Entries on the floor at every optimum: no sample of their class looks them up, raising them helps rivals."""
        unseen: BoolArray = self.margins.own == 0
        return unseen

    @property
    def trivial_bound(self) -> float:
        """Zero: where all is certain."""
        return 0.0

    def first_point(self) -> FloatArray:
        """Every row uniform."""
        sizes = np.diff(self.row_ptr)
        return np.repeat(-np.log(sizes), sizes)

    def project(self, w: FloatArray) -> FloatArray:
        """Nearest feasible point."""
        return nearest_feasible(w, self.row_ptr, self.log_floor)

    def violation(self, w: FloatArray) -> float:
        """Largest excess of a row's sum over 1."""
        sums = np.add.reduceat(np.exp(np.minimum(w, 700.0)), self.row_ptr[:-1])
        return max(0.0, float(sums.max()) - 1.0)

    def posteriors(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Objective at `w`, and the weight of each sample times its posterior, shape (n_samples, n_classes).

        Small ones keep all their digits, and so does the loss of samples that are nearly certain.
        """
        scores, rows, labels = self.margins.scores(w), np.arange(self.margins.n_samples), self.margins.labels
        lead = scores - scores[rows, labels][:, None]
        lead[rows, labels] = -np.inf
        top = np.maximum(lead.max(axis=1), 0.0)
        odds = np.exp(lead - top[:, None])
        rivals = odds.sum(axis=1)
        own = np.exp(-top)
        loss = top + np.where(top > 0.0, np.log(own + rivals), np.log1p(rivals))
        odds[rows, labels] = own
        odds *= (self.margins.weight / (own + rivals))[:, None]
        return float(self.margins.weight @ loss), odds

    def value(self, w: FloatArray) -> float:
        """Objective at `w` (which is not checked here: see `violation`)."""
        return self.posteriors(w)[0]

    def gradient(self, weighted: FloatArray) -> FloatArray:
        """Slope of the objective at the point that `weighted` posteriors are of."""
        return -self.margins.adjoint(self.rivals(weighted))

    def rivals(self, weighted: FloatArray) -> FloatArray:
        """A table of the samples with the own class emptied: multipliers, of which `dual_value` makes a bound."""
        rivals = weighted.copy()
        rivals[np.arange(len(rivals)), self.margins.labels] = 0.0
        return rivals

    def dual_value(self, y: FloatArray) -> float:
        """Rigorous lower bound from any multipliers; inadmissible ones are clipped.

        Parameters
        ----------
        y : float64 array (n_samples, n_classes)
            ``n_m q_mc`` for the rivals; the rest of n_m is the own class's.

        Examples
        --------
        >>> import mmbn_opt as mm
        >>> data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"], ["b"]] * 2, [0, 1, 1, 1] * 2)
        >>> program = mm.ConditionalLikelihood(data, mm.naive_bayes(data)).build(mm.programs.ProgramKind.LIKELIHOOD)
        >>> w = program.first_point()
        >>> round(program.value(w), 4), round(program.dual_value(program.rivals(program.posteriors(w)[1])), 4)
        (5.5452, -915.4889)
        """
        weight = self.margins.weight
        allowed = admissible_multipliers(y, self.margins.labels, weight)
        given = np.minimum(allowed.sum(axis=1), weight)
        logs, shares = np.zeros_like(allowed), allowed / weight[:, None]
        np.log(shares, out=logs, where=shares > 0.0)  # what is too small for a share has no entropy: a little less
        kept = np.zeros_like(weight)
        np.log1p(-given / weight, out=kept, where=given < weight)
        entropy = -float((allowed * logs).sum()) - float((weight - given) @ kept)
        support, _ = support_function(self.margins.adjoint(allowed), self.row_ptr, self.log_floor)
        return entropy - support
