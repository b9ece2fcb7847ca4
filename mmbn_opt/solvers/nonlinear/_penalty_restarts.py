"""Runs of the exterior penalty method, one after the other: from the start, then from redrawn copies of the best."""

import numpy as np

from ..._arrays import FloatArray
from ...programs.nonlinear import NonlinearProgram
from ...results.status import TerminationStatus
from ..base import SolverCallback, SolverResult
from ._penalty_sequence import OuterRecord, PenaltySequence, PenaltySettings
from .run import NonlinearRun

__all__ = ["PenaltyRuns", "redraw"]

SHARE = 0.1
"""Share of the coordinates that a restart draws anew."""

WIDEST = 1e3
"""Coordinates with a wider range than this are left alone: a uniform draw from it says nothing."""


class PenaltyRuns:
    """One journal for all runs: a restart can only better the answer."""

    def __init__(self, solver: PenaltySettings, program: NonlinearProgram, callback: SolverCallback | None) -> None:
        self.solver = solver
        self.program = program
        self.journal = NonlinearRun(solver, program, callback)
        self.sequences: list[PenaltySequence] = []

    def solve(self, start: FloatArray | None) -> SolverResult:
        """All runs, and the result."""
        with self.journal.until_ended() as ends:
            status, words = self._first(start)
            if status is not TerminationStatus.ITERATION_LIMIT:
                words += self._restart()
        if ends:
            status, words = ends[0].status, ends[0].words
        records = tuple(record for sequence in self.sequences for record in sequence.records)
        return self.journal.finish(status, words, {"outer": records, "targets_met": self._targets_met(records)})

    def _first(self, start: FloatArray | None) -> tuple[TerminationStatus, str]:
        x = self.journal.begin(start)
        self.sequences.append(PenaltySequence(self.solver, self.journal))
        return self.sequences[0].run(x)

    def _restart(self) -> str:
        """Redraw, run, keep what is better; returns words for the status."""
        rng = np.random.default_rng(self.solver.seed)
        lower, upper = self.program.lower, self.program.upper
        best = self.journal.point
        if lower is None or upper is None or self.program.monitor is not None or best is None:
            return ""
        if not (upper - lower <= WIDEST).any():
            return ""
        runs, better = 0, 0
        for runs in range(1, self.solver.restarts + 1):
            before = best
            x = self.journal.begin_leg(redraw(best.x, lower, upper, rng))
            spent = sum(sequence.iterations() for sequence in self.sequences)
            sequence = PenaltySequence(self.solver, self.journal, runs, spent)
            self.sequences.append(sequence)
            sequence.run(x)
            assert self.journal.point is not None
            best = self.journal.point
            better += best is not before
        return f"; {better} of {runs} restarts found something better" if runs else ""

    def _targets_met(self, records: tuple[OuterRecord, ...]) -> float | None:
        """Largest factor of the schedule at which the answer satisfies all constraints."""
        best, sequence = self.journal.point, self.sequences[0] if self.sequences else None
        if best is None or sequence is None or not sequence.met(best.constraints):
            return None
        values = sequence.targets.values
        factors = {record.target_factor for record in records}
        return max((f for f in factors if sequence.met(best.constraints - (f - 1.0) * values)), default=1.0)


def redraw(x: FloatArray, lower: FloatArray, upper: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A copy with a tenth of the coordinates, at least one, drawn uniformly from their range.

    Examples
    --------
    >>> import numpy as np
    >>> moved = redraw(np.zeros(100), np.full(100, 1.0), np.full(100, 2.0), np.random.default_rng(0))
    >>> int((moved >= 1.0).sum()) > 0, int((moved == 0.0).sum()) > 70
    (True, True)
    """
    width = upper - lower
    narrow = np.flatnonzero(width <= WIDEST)
    chosen = narrow[rng.random(len(narrow)) < SHARE]
    if not len(chosen):
        chosen = narrow[[rng.integers(len(narrow))]]
    moved = np.array(x)
    moved[chosen] = lower[chosen] + rng.random(len(chosen)) * width[chosen]
    return moved
