"""The books of a run: the bound of the box, incumbents that were checked, and what the engine only claimed."""

from dataclasses import replace

from ..._arrays import FloatArray
from ...programs.base import ColumnProgram
from ...results.bounds import ObjectiveBounds
from ...results.trace import TraceRecorder
from ..base import SolverEvent, program_bounds
from ..ending import Claim
from ..incumbents import IncumbentPool

__all__ = ["Ledger", "scale_of"]


def scale_of(program: ColumnProgram) -> float:
    """What the terms of the objective add up to, about: the size of the bound of the box, at least 1."""
    return max(1.0, abs(program.box_bound or 0.0))


class Ledger:
    """Pool, trace and claims of one run, in the program's sense.

    Parameters
    ----------
    program : ColumnProgram
    tolerance : float
        Feasibility tolerance of the pool.
    source : str
        Name of the solver.
    recorder : TraceRecorder
        Of the run.
    """

    def __init__(self, program: ColumnProgram, tolerance: float, source: str, recorder: TraceRecorder) -> None:
        self.pool = IncumbentPool(program, tolerance)
        self.recorder = recorder
        self.claims: list[Claim] = []
        self._program = program
        self._source = source

    @property
    def bounds(self) -> ObjectiveBounds:
        """The checked incumbent and the best dual bound."""
        return program_bounds(self.pool.value, self.recorder.bounds.dual_bound)

    def open(self, start: FloatArray | None) -> bool:
        """Write the first record: the start, if it is feasible, and the bound of the box."""
        taken = start is not None and self.pool.offer(start, "start")
        self.recorder.record(
            primal=self.pool.value, dual=self._program.box_bound, event="start", source="start" if taken else "box"
        )
        return taken

    def admit(
        self, solution: FloatArray, *, source: str = "", time_sec: float | None = None, dual: float | None = None
    ) -> bool:
        """Offer a vector to the pool and record it when it is better than all before."""
        source = source or self._source
        if not self.pool.offer(solution, source):
            return False
        self.recorder.record(primal=self.pool.value, dual=dual, event="incumbent", source=source, time_sec=time_sec)
        return True

    def enter(self, event: SolverEvent) -> SolverEvent:
        """Enter an engine's news; returns what the user hears of it.

        The user hears the better of what the engine claims and what was checked, and a vector only if it was found
        feasible and better.
        """
        known = self.bounds
        improved = event.solution is not None and self.admit(
            event.solution, time_sec=event.time_sec, dual=event.dual_bound
        )
        if event.solution is None and event.primal_bound is not None and known.better_primal(event.primal_bound):
            self._enter_claim(Claim(event.time_sec, event.primal_bound))
        if event.dual_bound is not None and known.better_dual(event.dual_bound) and not improved:
            self.recorder.record(
                dual=event.dual_bound,
                nodes=event.nodes,
                iterations=event.iterations,
                event="bound",
                source=self._source,
                time_sec=event.time_sec,
            )
        primals = [self.pool.value, event.primal_bound if event.solution is None else None]
        return replace(
            event,
            primal_bound=min((value for value in primals if value is not None), default=None),
            dual_bound=self.bounds.dual_bound,
            solution=self.pool.best.solution if improved and self.pool.best is not None else None,
        )

    def sign_of_life(self) -> SolverEvent:
        """An event that says where the run stands."""
        return SolverEvent(self.recorder.now(), self.bounds.primal_bound, self.bounds.dual_bound)

    def _enter_claim(self, claim: Claim) -> None:
        if not self.claims or claim.value < self.claims[-1].value:
            self.claims.append(claim)
