"""What our own convex solvers share: always there, settings as fields instead of options, BLAS kept to its threads."""

from abc import abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..._arrays import FloatArray
from ..._threads import limited_threads
from ...exceptions import InputError
from ...programs.base import ProgramKind
from ...programs.convex import ConvexProgram
from ..base import Availability, Solver, SolverCallback, SolverResult
from .run import ConvexRun

__all__ = ["BuiltInConvexSolver", "DenseConvexSolver", "Steps", "to_the_end"]

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
                f"{self.name} has no options {sorted(self.options)}; its settings are {self.own_settings}."
            )

    @classmethod
    def availability(cls) -> Availability:
        """Always there."""
        return Availability(True, "built in")


def to_the_end(steps: Steps) -> SolverResult:
    """Let a solver that works by steps finish."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: SolverResult = end.value
            return result


@dataclass(frozen=True)
class DenseConvexSolver(BuiltInConvexSolver):
    """A convex solver that factors dense matrices."""

    def solve(
        self, program: ConvexProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a convex program; see `Solver.solve`."""
        # On a shared machine a second BLAS thread made a Newton step ten times slower.
        with limited_threads(self.threads, "blas"):
            return self._solve(program, callback, start)

    @abstractmethod
    def _solve(self, program: ConvexProgram, callback: SolverCallback | None, start: FloatArray | None) -> SolverResult:
        """Do the work of `solve`."""
