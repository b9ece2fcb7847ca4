"""The journal of a run, for solvers of every kind: clock, best point, bounds, trace, stop, and how it ends."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._arrays import FloatArray
from .._budget import Budget, OutOfTime, stop_asked, until_interrupted
from ..results.bounds import ObjectiveBounds
from ..results.proof import Proof
from ..results.status import Sense, SolutionStatus, TerminationStatus
from ..results.trace import TraceRecorder
from .base import Solver, SolverCallback, SolverEvent, SolverResult, program_bounds
from .ending import Tolerances, judge

__all__ = ["Ended", "Journal"]

ROUNDING = 1e-9
"""Relative; by so much rounding may carry a bound past a point of the same value."""


class Ended(Exception):
    """The way out of a search when a limit, the caller or a rule of the method ends it; no error.

    Parameters
    ----------
    status : TerminationStatus
    words : str
        For the raw status.
    abrupt : bool
        Whether KeyboardInterrupt struck, or the limit within a long pass, wherever the search was.
    """

    def __init__(self, status: TerminationStatus, words: str, *, abrupt: bool = False) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.abrupt = abrupt


class Journal:
    """What moves during one call of a solver, in the program's sense (a minimum).

    A solver's own run adds what is its own: how a point is judged, what proves a bound, rules of the method.

    Parameters
    ----------
    solver : Solver
        Whose settings and name count.
    callback : SolverCallback or None
        Told of every better point and bound.
    scale : float
        Of the sums behind the objective; see `mmbn_opt.solvers.ending`.
    budget : Budget or None
        By default one of the solver's limit that begins now.

    Attributes
    ----------
    best : float64 array or None
        The best point so far.
    stop_requested : bool
        Whether the caller wants the run to end.
    multipliers, proof
        Of the best bound, where it has any.
    stats : dict
        What the result will show to readers beside that.
    """

    def __init__(
        self, solver: Solver, callback: SolverCallback | None, *, scale: float = 1.0, budget: Budget | None = None
    ) -> None:
        self.solver = solver
        self.callback = callback
        self.budget = budget or Budget(solver.time_limit)
        self.tolerances = Tolerances.of(solver, scale)
        self.recorder = TraceRecorder(Sense.MINIMIZE, clock=self.budget.elapsed)
        self.best: FloatArray | None = None
        self.stop_requested = False
        self.multipliers: FloatArray | None = None
        self.proof: Proof | None = None
        self.stats: dict[str, Any] = {}

    def counts(self) -> tuple[int | None, int | None]:
        """Nodes and iterations so far, where the method counts them: for trace, events and result."""
        return None, None

    @property
    def bounds(self) -> ObjectiveBounds:
        """Best checked value and best bound."""
        return self.recorder.bounds

    def closed(self) -> bool:
        """Whether the proved gap is as small as was asked for."""
        return self.tolerances.closed(self.bounds)

    def should_stop(self) -> bool:
        """Whether the gap is closed, the time is up, or the caller wants to stop."""
        return self.closed() or self.budget.over() or self.stop_requested

    # The two ways in: a point, a bound.

    def keep(self, x: FloatArray, value: float, *, source: str = "", event: str = "incumbent") -> bool:
        """Take a feasible point of a value that was computed here, if it is better than all before."""
        if not (math.isfinite(value) and self.bounds.better_primal(value)):
            return False
        self.best = x
        self.enter(event, primal=value, source=source)
        self.tell(x)
        return True

    def raise_bound(self, value: float, *, source: str = "") -> bool:
        """Take a bound, if it is better than all before; rounding does not carry it past the best point."""
        if not (math.isfinite(value) and self.bounds.better_dual(value)):
            return False
        primal = self.bounds.primal_bound
        if primal is not None and 0 < value - primal <= ROUNDING * max(1.0, abs(primal)):
            value = primal
        self.multipliers = None  # those at hand prove another bound
        self.enter("bound", dual=value, source=source)
        self.tell()
        return True

    def enter(self, event: str, *, primal: float | None = None, dual: float | None = None, source: str = "") -> None:
        """Write a record."""
        nodes, iterations = self.counts()
        self.recorder.record(
            primal=primal,
            dual=dual,
            nodes=nodes,
            iterations=iterations,
            event=event,
            source=source or self.solver.name,
        )

    def tell(self, x: FloatArray | None = None, *, note: str = "") -> None:
        """Tell the caller where the run stands and what else there is, and hear whether it may go on."""
        if self.callback is None:
            return
        bounds = self.bounds
        event = SolverEvent(
            self.budget.elapsed(),
            bounds.primal_bound,
            bounds.dual_bound,
            *self.counts(),
            None if x is None else x.copy(),
            note,
        )
        if self.callback(event):
            self.stop_requested = True

    # How it ends.

    def check(self) -> None:
        """Raise `Ended` when the caller wants to stop or the time is up."""
        self.stop_requested |= stop_asked()
        if self.stop_requested:
            raise Ended(TerminationStatus.INTERRUPTED, "stopped when asked to")
        if self.budget.over():
            raise Ended(TerminationStatus.TIME_LIMIT, "time limit")

    @contextmanager
    def until_ended(self, *numerical: type[Exception]) -> Iterator[list[Ended]]:
        """A block that `Ended`, a limit, KeyboardInterrupt and errors of kind `numerical` end; the list says how."""
        ends: list[Ended] = []
        with until_interrupted() as cut:
            try:
                yield ends
            except Ended as end:
                ends.append(end)
            except OutOfTime:
                ends.append(Ended(TerminationStatus.TIME_LIMIT, "time limit", abrupt=True))
            except numerical as error:
                ends.append(Ended(TerminationStatus.NUMERICAL_ERROR, str(error)))
        if cut:
            self.stop_requested = True
            ends.append(Ended(TerminationStatus.INTERRUPTED, "interrupted", abrupt=True))

    def termination(self, otherwise: TerminationStatus) -> TerminationStatus:
        """OPTIMAL when the gap is proved, what ended the run, or what the method says."""
        if self.closed():
            return TerminationStatus.OPTIMAL
        if self.stop_requested:
            return TerminationStatus.INTERRUPTED
        if self.budget.over():
            return TerminationStatus.TIME_LIMIT
        return otherwise

    def ending(
        self,
        status: TerminationStatus,
        words: str,
        *,
        primal: float | None = None,
        dual: float | None = None,
        held: SolutionStatus | None = None,
        stats: Mapping[str, Any] | None = None,
    ) -> SolverResult:
        """The result: OPTIMAL only where the gap is closed.

        Parameters
        ----------
        status, words
            As the method has it.
        primal, dual : float or None
            Of the answer, where they are not those of the trace so far.
        held : SolutionStatus or None
            What the best point is; FEASIBLE by default.
        stats : mapping or None
            Added to `stats`.
        """
        self.enter("final", primal=primal, dual=dual)
        bounds = program_bounds(
            self.bounds.primal_bound if primal is None else primal, self.bounds.dual_bound if dual is None else dual
        )
        (nodes, iterations), seconds = self.counts(), self.budget.elapsed()
        status, note = judge(status, bounds, self.tolerances)
        if held is None:
            held = SolutionStatus.NO_SOLUTION if self.best is None else SolutionStatus.FEASIBLE
        return SolverResult(
            termination_status=status,
            solution_status=held,
            raw_status="; ".join(filter(None, (words, note))),
            solution=self.best,
            bounds=bounds,
            trace=self.recorder.snapshot(),
            stats={"nodes": nodes, "iterations": iterations, "solve_sec": seconds, **self.stats, **(stats or {})},
            nodes=nodes,
            iterations=iterations,
            seconds=seconds,
            multipliers=self.multipliers,
            proof=self.proof,
        )
