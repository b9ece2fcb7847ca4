"""What every kind of program says of itself: its kind, its size, its value; pure data, always a minimum."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, Self

from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import SizeLimitError

__all__ = ["ColumnProgram", "Improvement", "PrimalHeuristic", "Program", "ProgramKind", "ProgramSize"]


class ProgramKind(Enum):
    """The kinds of program that dispatch matches between formulations and solvers.

    A choice program with a linear objective is one whose concave term is absent: solvers of the general kind take it.
    """

    MIXED_INTEGER = "mixed-integer linear program"
    IMPLICIT_CONCAVE = "choice program with an implicit concave term"
    LINEAR_CHOICE = "choice program with a linear objective"
    NONLINEAR = "nonlinear program"
    CONVEX = "convex program"
    CONVEX_ROWS = "linearly constrained convex program"
    CONVEX_PASSES = "streamed convex program"
    LIKELIHOOD = "convex likelihood program"
    QUADRATIC = "quadratic margin program"
    SEQUENCE = "margin program over sequences"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class ProgramSize:
    """Size of a program, known before it is built.

    Parameters
    ----------
    columns, integers, rows, nonzeros : int
        Counts; `nonzeros` may be an upper estimate.
    """

    columns: int
    integers: int
    rows: int
    nonzeros: int

    def refuse_over(self, *, max_rows: int, max_nonzeros: int, what: str) -> None:
        """Raise `SizeLimitError` with the figures when a limit is exceeded."""
        if self.rows > max_rows or self.nonzeros > max_nonzeros:
            raise SizeLimitError(
                f"{what} would have {self.rows:,} rows and up to {self.nonzeros:,} non-zeros in "
                f"{self.columns:,} columns; "
                f"the limits are max_rows={max_rows:,} and max_nonzeros={max_nonzeros:,}. "
                "Lower max_parents, use the binary soft margin (one row a sample), forbid edges, or raise the limits."
            )


class Program(Protocol):
    """What every kind of program can say of itself; solvers ask for the rest by kind."""

    @property
    def kind(self) -> ProgramKind:
        """Kind that dispatch matches."""

    @property
    def size(self) -> ProgramSize:
        """Exact size."""

    def value(self, x: FloatArray) -> float:
        """Objective at `x`, a minimum."""

    def violation(self, x: FloatArray) -> float:
        """Largest violation of a constraint at `x`."""


class Improvement(Protocol):
    """Point in, a better integral point out, or None."""

    def __call__(self, x: FloatArray, /) -> FloatArray | None:
        """The better point."""


class PrimalHeuristic(Improvement, Protocol):
    """An `Improvement` whose work is counted, so that a search can grant it a share of its own."""

    @property
    def steps(self) -> int:
        """Work so far in steps of about a nanosecond: counted, so that equal calls count alike on every machine."""


class ColumnProgram(Program, Protocol):
    """A program with one cost a column, as the host of an engine sees it: how to judge a vector, and where to begin."""

    @property
    def c(self) -> FloatArray:
        """Costs of the columns."""

    @property
    def primal_heuristic(self) -> Improvement | None:
        """What makes a better incumbent of an incumbent."""

    @property
    def box_bound(self) -> float | None:
        """A lower bound that follows from the bounds of the columns; None when it is not finite."""

    def polish(self, x: FloatArray, tolerance: float = 1e-5) -> FloatArray:
        """`x` with the nearly integral entries of integer columns rounded."""

    def canonical(self) -> Self:
        """The program as engines get it: without a heuristic, which stays in the caller's thread."""
