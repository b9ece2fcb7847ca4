"""What the programs over margins of samples have in common, whatever holds their parameters."""

from typing import Protocol

from mmbn_opt._arrays import FloatArray
from mmbn_opt.programs.base import Program
from mmbn_opt.programs.margin_operator import MarginOperator

__all__ = ["MarginProgram"]


class MarginProgram(Program, Protocol):
    """A convex program of hinge losses, whose bounds follow from multipliers of the samples' margins.

    `ConvexProgram` holds its parameters by a sum for each block, `MarkovProgram` by one length for all.
    """

    @property
    def margins(self) -> MarginOperator:
        """From parameters to margins, and back."""

    @property
    def delta(self) -> FloatArray:
        """Scale of the margin asked for, shape (n_samples or 1, n_classes)."""

    @property
    def max_nonzeros(self) -> int:
        """Size above which a matrix of the margins is refused."""

    @property
    def scale(self) -> float:
        """What the losses of all samples add up to where no margin is reached."""

    @property
    def trivial_bound(self) -> float:
        """The bound of no multipliers."""

    def first_point(self) -> FloatArray:
        """Where to begin when nothing is known."""

    def project(self, w: FloatArray) -> FloatArray:
        """Nearest feasible point."""

    def best_gamma(self, w: FloatArray) -> float:
        """The margin that is asked for at `w`: fixed, or the best for it."""

    def dual_value(self, y: FloatArray) -> float:
        """Rigorous lower bound from any multipliers of shape (n_samples, n_classes); inadmissible ones are clipped."""
