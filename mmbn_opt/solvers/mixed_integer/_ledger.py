"""The books of a run: the bound of the box, incumbents that were checked, and what the engine only claimed."""

from dataclasses import replace

import numpy as np

from ..._arrays import FloatArray
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.bounds import ObjectiveBounds
from ...results.trace import TraceRecorder
from ..base import SolverEvent, program_bounds
from ..ending import Claim
from ..incumbents import IncumbentPool

__all__ = ["Ledger", "box_bound", "empty_program_is_feasible", "scale_of"]


def box_bound(program: MixedIntegerProgram) -> float | None:
    """A lower bound on the objective from column bounds and choice groups alone; None when it is not finite.

    Every column takes its cheapest bound, and every choice group the cheapest of its columns, of which exactly one is
    1: ``sum_g min_{j in g} c_j + sum_{j in no group} min(c_j l_j, c_j u_j) + offset``.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0, -3.0]), A=sp.csr_array((0, 3)), row_lower=np.zeros(0), row_upper=np.zeros(0),
    ...     col_lower=np.zeros(3), col_upper=np.array([1.0, 1.0, 4.0]), integrality=np.ones(3, dtype=bool),
    ...     choice_groups=(np.array([0, 1]),))
    >>> box_bound(program)
    -14.0
    """
    cost = program.c
    free = np.ones(cost.size, dtype=bool)
    total = program.offset
    for group in program.choice_groups:
        # A column in two groups would be counted twice, which is no bound.
        if free[group].all() and np.unique(group).size == group.size:
            free[group] = False
            total += float(cost[group].min())
    used = free & (cost != 0.0)
    cheapest = np.where(cost[used] > 0, program.col_lower[used], program.col_upper[used])
    total += float(cost[used] @ cheapest)
    return total if np.isfinite(total) else None


def scale_of(program: MixedIntegerProgram) -> float:
    """What the terms of the objective add up to, about: the size of the bound of the box, at least 1."""
    return max(1.0, abs(box_bound(program) or 0.0))


def empty_program_is_feasible(program: MixedIntegerProgram, tolerance: float) -> bool:
    """Whether a program without columns satisfies its rows, whose activities are all zero."""
    return bool((program.row_lower <= tolerance).all() and (program.row_upper >= -tolerance).all())


class Ledger:
    """Pool, trace and claims of one run, in the program's sense.

    Parameters
    ----------
    program : MixedIntegerProgram
    tolerance : float
        Feasibility tolerance of the pool.
    source : str
        Name of the solver.
    recorder : TraceRecorder
        Of the run.
    """

    def __init__(self, program: MixedIntegerProgram, tolerance: float, source: str, recorder: TraceRecorder) -> None:
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
            primal=self.pool.value, dual=box_bound(self._program), event="start", source="start" if taken else "box"
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
