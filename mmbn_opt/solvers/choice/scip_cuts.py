"""SCIP with a constraint handler for choice programs: cuts of the concave term and cluster rows on demand."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..._arrays import FloatArray
from ...exceptions import InputError, MissingDependencyError
from ...programs.base import ProgramKind
from ...programs.choice import ChoiceProgram
from ..base import Availability, SolverCallback, SolverResult
from ..mixed_integer.run import run_engine
from ..mixed_integer.scip import ScipSolver

__all__ = ["ScipCutsSolver"]


@dataclass(frozen=True)
class ScipCutsSolver(ScipSolver):
    """SCIP (Bestuzheva et al. 2023) on the structure columns, the rest by a constraint handler.

    One loss column a group of samples; cuts of the concave term and cluster rows are added where a point violates
    them. With one merged sample a group SCIP's own mixed-integer rounding cuts work on them, which pays where merged
    rows are few and columns many. The bound is SCIP's own claim: its tree is not re-proved.

    Options: ``groups`` (int; by default one a merged sample up to 600, else 24), and SCIP's own parameters.

    Notes
    -----
    SCIP solves with one thread whatever `threads` says. Presolving that would fix columns for the objective alone is
    switched off, since it does not know the rows to come.
    """

    name: ClassVar[str] = "scip_cuts"
    title: ClassVar[str] = "SCIP with cuts of the concave term"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.IMPLICIT_CONCAVE, ProgramKind.LINEAR_CHOICE})

    @classmethod
    def availability(cls) -> Availability:
        """As for `ScipSolver`."""
        return ScipSolver.availability()

    def solve(
        self, program: Any, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a `ChoiceProgram`; see `Solver.solve`."""
        if not isinstance(program, ChoiceProgram):
            raise InputError(
                f"{self.name!r} solves ChoiceProgram, got {type(program).__name__}; "
                "build with ProgramKind.IMPLICIT_CONCAVE."
            )
        found = self.availability()
        if not found.available:
            raise MissingDependencyError(found.reason)
        groups = self.options.get("groups")
        if groups is not None and (type(groups) is not int or groups < 1):
            raise InputError(f"groups must be a whole number >= 1, got {groups!r}.")
        replace(self, options={k: v for k, v in self.options.items() if k != "groups"}).check_options()
        # SCIP's log can be caught only from a child; otherwise its interruption is prompt and a thread will do.
        isolate = self.verbose if self.isolate is None else self.isolate
        engine = f"{__package__}._scip_cuts_engine:run"
        return run_engine(self, engine, program, callback, start, isolate=isolate)
