"""Solvers as links of a chain: one that can wait between two looks at the gap, and one that has to begin anew."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..._arrays import FloatArray
from ...exceptions import MmbnError
from ...programs.chain_program import ChainProgram
from ...programs.convex import ConvexProgram
from ...results.status import TerminationStatus
from ..base import Solver, SolverCallback, SolverEvent, SolverResult
from ._built_in import Steps
from ._shares import FIRST_TURN
from .run import ConvexRun

__all__ = ["AnewLink", "ChainLink", "ResumableLink"]


class ChainLink(ABC):
    """A solver's place in a chain; see `mmbn_opt.solvers.convex._shares.Link`.

    Parameters
    ----------
    name : str
    run : ConvexRun
        The books of the chain: points and bounds go there.
    eager, reserve : bool
    behind : float
    clock : callable or None
        Seconds, from any origin; None: those of the chain.
    """

    resumable: bool

    def __init__(
        self,
        name: str,
        run: ConvexRun,
        *,
        eager: bool = False,
        reserve: bool = False,
        behind: float = 0.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.name, self.run, self.clock = name, run, clock or run.budget.elapsed
        self.eager, self.reserve, self.behind = eager, reserve, behind
        self.spent, self.tries = 0.0, 0
        self.ended = self.gave_up = False
        self.first_turn, self.step = FIRST_TURN, 0.0
        self.status: TerminationStatus | None = None
        self.said = ""
        self.answer: SolverResult | None = None

    def advance(self, seconds: float) -> None:
        """Work for about so long; an error ends the link, and only the link."""
        begun = self.clock()
        self.tries += 1
        try:
            self._advance(begun + seconds)
        except MmbnError as error:
            self.ended = self.gave_up = True
            self.said = str(error)
        finally:
            self.spent += self.clock() - begun

    @abstractmethod
    def _advance(self, deadline: float) -> None:
        """Work until about `deadline`, on the link's clock."""

    @abstractmethod
    def close(self) -> None:
        """Let go; the link gives what it still has."""

    @property
    def multipliers(self) -> FloatArray | None:
        """Of its best bound, where it has any."""
        return None if self.answer is None else self.answer.multipliers

    def _listen(self, event: SolverEvent) -> bool:
        """Put the news into the books of the chain."""
        if event.solution is not None:
            self.run.offer(event.solution, source=self.name)
        if event.dual_bound is not None:
            self.run.raise_bound(event.dual_bound, source=self.name)
        self.run.heartbeat(event.iterations or 0)
        return self.run.stop_requested

    def _take(self, answer: SolverResult, *, ours: bool) -> None:
        """Keep an answer; `ours`: it was the chain that stopped the solver."""
        if answer.solution is not None:
            self.run.offer(answer.solution, source=self.name)
        if answer.bounds.dual_bound is not None:
            self.run.raise_bound(answer.bounds.dual_bound, source=self.name)
        if answer.termination_status is TerminationStatus.INTERRUPTED and not ours:
            self.run.stop_requested = True  # Ctrl-C was caught by the solver
        self.answer, self.status, self.said = answer, answer.termination_status, answer.raw_status


class ResumableLink(ChainLink):
    """A solver that works by steps and waits in between.

    Parameters
    ----------
    begin : callable
        Gives the steps, when the first turn has come, for a callback.
    step : float
        Seconds that a step is expected to take before one has been seen.
    pause : float
        The first turn ends at this relative gap.
    first_steps : int
        Else it has so many steps at least, however slow the machine is at the time.
    closing : float
        Seconds that the method's last look takes: where they are not there, it is left out.
    """

    resumable = True

    def __init__(
        self,
        name: str,
        run: ConvexRun,
        begin: Callable[[SolverCallback], Steps],
        *,
        step: float = 0.0,
        first_turn: float = FIRST_TURN,
        pause: float = 0.0,
        first_steps: int = 0,
        closing: float = 0.0,
        **place: Any,
    ) -> None:
        super().__init__(name, run, **place)
        self._begin, self._pause, self._closing, self._first_steps = begin, pause, closing, first_steps
        self.first_turn, self.step = first_turn, step
        self._steps: Steps | None = None
        self._books: ConvexRun | None = None

    def _advance(self, deadline: float) -> None:
        if self._steps is None:
            self._steps = self._begin(self._listen)
        pause, steps = (self._pause, self._first_steps) if self.tries == 1 else (0.0, 0)
        while True:
            before = self.clock()
            try:
                self._books = next(self._steps)
            except StopIteration as end:
                self.ended, self.gave_up = True, self.run.budget.left() > 0.0
                self._take(end.value, ours=False)
                return
            now = self.clock()
            self.step = now - before
            if self.run.budget.left() < self.step + self._closing:
                self.close()
                return
            # A step that would not fit waits for the next turn: it is somebody else's time.
            steps -= 1
            late = steps <= 0 and now + self.step > deadline
            if self.run.should_stop() or self.run.bounds.gap_rel <= pause or late:
                return

    def close(self) -> None:
        """Look at where the method is, for the last time."""
        if self._steps is None or self.ended:
            return
        self.ended = True
        self.said = "gap closed" if self.run.closed() else "stopped"
        if self._books is None or self.run.closed() or self.run.budget.left() < self._closing:
            self._steps.close()
            return
        self._books.stop_requested = True
        try:
            while True:
                next(self._steps)
        except StopIteration as end:
            self._take(end.value, ours=True)

    @property
    def multipliers(self) -> FloatArray | None:
        """Of its best bound, also while it waits."""
        if self.answer is None and self._books is not None:
            table: FloatArray | None = self._books.multipliers
            return table
        return super().multipliers


class AnewLink(ChainLink):
    """A solver of another library, which forgets its work when it is stopped.

    Parameters
    ----------
    solver : Solver
    program : ConvexProgram or ChainProgram
    least : float
        Seconds below which it is not worth beginning.
    """

    resumable = False

    def __init__(
        self, solver: Solver, program: ConvexProgram | ChainProgram, run: ConvexRun, *, least: float = 0.0, **place: Any
    ) -> None:
        super().__init__(solver.name, run, **place)
        self.solver, self.program, self.step = solver, program, least

    def _advance(self, deadline: float) -> None:
        engine = replace(self.solver, time_limit=max(deadline - self.clock(), 0.0))
        answer = engine.solve(self.program, callback=self._listen, start=self.run.best)
        self._take(answer, ours=False)
        self.ended = self.gave_up = answer.termination_status is not TerminationStatus.TIME_LIMIT

    def close(self) -> None:
        """Between two turns it holds nothing."""
