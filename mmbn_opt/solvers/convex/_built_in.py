"""What our own convex solvers share: always there, settings as fields instead of options, BLAS kept to its threads."""

from abc import abstractmethod
from collections.abc import Generator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._arrays import FloatArray
from ..._threads import limited_threads
from ...exceptions import InputError
from ...programs.base import ProgramKind
from ..base import Availability, Solver, SolverCallback, SolverResult
from .run import ConvexRun

__all__ = ["BuiltInConvexSolver", "DenseConvexSolver", "SteppedSolver", "Steps"]

Steps = Generator[ConvexRun, None, SolverResult]
"""A solver at work: its books after each iteration, and its result at the end."""


@dataclass(frozen=True)
class BuiltInConvexSolver(Solver):
    """A convex solver of this package; its settings are fields, so that there are no options to misspell."""

    licence: ClassVar[str] = "BSD-3-Clause"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.CONVEX})
    own_settings: ClassVar[str]
    ignores: ClassVar[Mapping[str, str]] = {
        "feasibility_tol": "every point is projected onto the constraints",
        "seed": "nothing is random",
        "verbose": "there is no log beside the trace",
        "options": "refused: the settings are fields",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.options:
            raise InputError(
                f"{self.name} takes no options, got {sorted(self.options)}. Set fields of the solver instead, as in "
                f"mm.solve(problem, {type(self).__name__}(...)): its settings are {self.own_settings}."
            )

    @classmethod
    def availability(cls) -> Availability:
        """Always there."""
        return Availability(True, "built in")


@dataclass(frozen=True)
class SteppedSolver(BuiltInConvexSolver):
    """A convex solver that works by steps, between two of which it can wait."""

    dense: ClassVar[bool] = False
    """Whether it factors dense matrices."""

    def solve(
        self, program: Any, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a program of a kind in `accepts`; see `Solver.solve`."""
        # On a shared machine a second BLAS thread made a Newton step ten times slower.
        with limited_threads(self.threads, "blas") if self.dense else nullcontext():
            steps = self.steps(program, callback, start)
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    result: SolverResult = end.value
                    return result

    @abstractmethod
    def steps(self, program: Any, callback: SolverCallback | None = None, start: FloatArray | None = None) -> Steps:
        """`solve`, one iteration after the other: between two of them the method can wait."""


@dataclass(frozen=True)
class DenseConvexSolver(BuiltInConvexSolver):
    """A convex solver that factors dense matrices, and does not wait between its steps."""

    def solve(
        self, program: Any, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a program of a kind in `accepts`; see `Solver.solve`."""
        with limited_threads(self.threads, "blas"):
            return self._solve(program, callback, start)

    @abstractmethod
    def _solve(self, program: Any, callback: SolverCallback | None, start: FloatArray | None) -> SolverResult:
        """Do the work of `solve`."""
