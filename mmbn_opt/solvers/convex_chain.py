"""Convex solvers one after the other until the gap is proved: what ``auto`` runs on convex programs."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..convex_program import ConvexProgram
from ..exceptions import MmbnError
from ..program import ProgramKind
from ..status import TerminationStatus
from ._convex_run import ConvexRun
from .base import Availability, Solver, SolverCallback, SolverEvent, SolverResult

__all__ = ["ConvexChainSolver"]

logger = logging.getLogger(__name__)

FloatArray = NDArray[np.float64]

DENSE_PARAMETERS = 4000
"""Largest program for interior-point methods with a dense Newton system."""
CONE_NONZEROS = 2_000_000
"""Largest margin matrix that is handed to a cone solver."""


@dataclass(frozen=True)
class ConvexChainSolver(Solver):
    """The linear form where there is one; else interior point, then a cone solver, then the first-order method.

    Each begins where the best point so far is, has what is left of the time, and adds its bound; the raw status lists
    what each of them said.
    """

    name: ClassVar[str] = "convex"
    title: ClassVar[str] = "Chain of convex solvers"
    licence: ClassVar[str] = "BSD-3-Clause"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.CONVEX})
    ignores: ClassVar[Mapping[str, str]] = {
        "feasibility_tol": "every point is projected onto the constraints",
        "verbose": "not passed on to the links",
        "options": "not passed on: the links' options differ",
    }

    @classmethod
    def availability(cls) -> Availability:
        """Always there: its first links are built in."""
        return Availability(True, "built in")

    def solve(
        self, program: Any, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a convex program; see `Solver.solve`."""
        run = ConvexRun(self, program, callback, start)
        said: list[str] = []
        status = TerminationStatus.SLOW_PROGRESS
        stats: dict[str, Any] = {}
        for link in self._links(program):
            if run.should_stop():
                break
            engine = link if self.time_limit is None else replace(link, time_limit=run.time_left)
            try:
                answer = engine.solve(program, callback=_listener(run), start=run.best)
            except MmbnError as error:
                said.append(f"{engine.name}: {error}")
                continue
            except KeyboardInterrupt:
                run.stopped_by_user = True
                said.append(f"{engine.name}: interrupted")
                break
            if answer.solution is not None:
                run.offer(answer.solution, source=engine.name)
            if answer.bounds.dual_bound is not None:
                run.offer_bound(answer.bounds.dual_bound, source=engine.name)
            status = answer.termination_status
            run.stopped_by_user |= status is TerminationStatus.INTERRUPTED
            said.append(f"{engine.name}: {answer.raw_status}")
            stats |= {key: answer.stats[key] for key in ("H", "tau") if key in answer.stats}
            if program.is_linear and answer.stats.get("separable"):
                break  # no other method finds an optimum that is not there
            if not run.should_stop():
                logger.info("%s left a gap of %.2e; the next solver is tried", engine.name, run.bounds.gap_rel)
        return run.result(
            status, "; ".join(said) or "no time was left for a solver", stats={**stats, "links": len(said)}
        )

    def _links(self, program: ConvexProgram) -> Iterator[Solver]:
        """Solvers to try, with the common settings."""
        from .cvxpy_conic import ClarabelSolver
        from .first_order import FirstOrderSolver
        from .interior_point import InteriorPointSolver
        from .linear_form import LinearFormSolver

        common: dict[str, Any] = {
            "rel_gap": self.rel_gap,
            "abs_gap": self.abs_gap,
            "threads": self.threads,
            "seed": self.seed,
        }
        if program.is_linear:
            yield LinearFormSolver(**common)
        elif program.margins.n_parameters <= DENSE_PARAMETERS:
            yield InteriorPointSolver(**common)
        small = program.size.nonzeros <= CONE_NONZEROS and ClarabelSolver.is_available()
        if small:
            yield ClarabelSolver(**common)
        if not program.is_linear:
            yield FirstOrderSolver(**common)


def _listener(run: ConvexRun) -> SolverCallback:
    """Puts the news of a link into the books of the chain; asks it to stop when the chain has to."""

    def on_event(event: SolverEvent) -> bool:
        if event.solution is not None:
            run.offer(event.solution, iterations=event.iterations)
        if event.dual_bound is not None:
            run.offer_bound(event.dual_bound, iterations=event.iterations)
        run.heartbeat(event.iterations or 0)
        return run.stopped_by_user or run.time_left <= 0.0

    return on_event
