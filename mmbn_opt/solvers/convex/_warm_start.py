"""Second-order methods begin where the first-order method has led to: its point, its bound, its multipliers."""

from typing import Protocol

from ..._arrays import FloatArray
from ...programs.convex import ConvexProgram
from ...results.status import TerminationStatus
from ..base import SolverEvent
from .first_order import FirstOrderSolver
from .run import ConvexRun

__all__ = ["warm_start"]


class WarmStarted(Protocol):
    """Settings of a solver that begins in this way."""

    @property
    def rel_gap(self) -> float: ...
    @property
    def abs_gap(self) -> float: ...
    @property
    def warm_gap(self) -> float: ...
    @property
    def multipliers(self) -> FloatArray | None: ...


def warm_start(
    solver: WarmStarted, program: ConvexProgram, run: ConvexRun, seconds: float
) -> tuple[FloatArray | None, float]:
    """Let the first-order method work for a while: its multipliers, and the seconds that it took.

    Its points and bounds go into the books of `run`.
    """

    def on_event(event: SolverEvent) -> bool:
        if event.solution is not None:
            run.offer(event.solution, source="first_order")
        if event.dual_bound is not None:
            run.raise_bound(event.dual_bound, source="first_order")
        return run.stop_requested

    first = FirstOrderSolver(
        time_limit=min(seconds, run.budget.left()),
        rel_gap=max(solver.warm_gap, solver.rel_gap),
        abs_gap=solver.abs_gap,
        multipliers=solver.multipliers,
    )
    answer = first.solve(program, callback=on_event, start=run.best)
    if answer.termination_status is TerminationStatus.INTERRUPTED:
        run.stop_requested = True
    known = answer.multipliers
    if known is not None and answer.bounds.dual_bound == run.bounds.dual_bound:
        run.multipliers = known  # the bound came with the events, its proof comes now
    return known, answer.seconds
