"""Constraint generation for programs over sequences, as in the paper that posed them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._arguments import whole
from ..._arrays import FloatArray
from ...programs.base import ProgramKind
from ...programs.chain_program import ChainProgram
from ...results.status import TerminationStatus
from ..base import Availability, SolverCallback, SolverResult
from ._built_in import DenseConvexSolver
from ._labelling_rows import WorkingSet, solve_master
from .cvxpy_conic import ClarabelSolver
from .run import ConvexRun

__all__ = ["ConstraintGenerationSolver"]

NEW = 1e-9
"""Relative to what a labelling asks for: by less a violated row is none."""
DOUBLINGS = 60


@dataclass(frozen=True)
class ConstraintGenerationSolver(DenseConvexSolver):
    """Rows are added where they are violated, and the program over the rows so far is solved anew.

    In each round the loss-augmented Viterbi algorithm finds the labelling of each sequence that is violated most (Guo,
    Wilkinson & Schuurmans 2005, eq. 20, who took 10 to 50 rounds); the master is solved by an interior-point method,
    Clarabel through cvxpy, and by HiGHS where the program is linear. The multipliers of its rows are distributions over
    labellings, so that each round proves a bound of the whole program.

    Parameters
    ----------
    max_rounds : int

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.SequenceDataset.from_lists(["aab", "abb", "bba"] * 3, ["XXY", "XYY", "YXX"] * 3)
    >>> result = ConstraintGenerationSolver(rel_gap=1e-6).solve(mm.SequenceMaxMargin(data, gamma=1.0).build())
    >>> result.termination_status, result.iterations < 20
    (TerminationStatus.OPTIMAL, True)
    """

    max_rounds: int = 200

    name: ClassVar[str] = "constraint_generation"
    title: ClassVar[str] = "Constraint generation"
    own_settings: ClassVar[str] = "max_rounds"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.SEQUENCE})

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("max_rounds", self.max_rounds, 1)

    @classmethod
    def availability(cls) -> Availability:
        """As Clarabel, which solves the masters."""
        return ClarabelSolver.availability()

    def _solve(self, program: ChainProgram, callback: SolverCallback | None, start: FloatArray | None) -> SolverResult:
        run = ConvexRun(self, program, callback, start)
        assert run.best is not None
        rows = WorkingSet(program)
        w, gamma = run.best, program.best_gamma(run.best)
        status, raw, rounds = TerminationStatus.ITERATION_LIMIT, "round limit", 0
        with run.until_ended() as ends:
            while not run.should_stop() and rounds < self.max_rounds:
                rounds += 1
                run.heartbeat(rounds)
                if not (self._add_violated(program, rows, w, gamma) or self._add_first(program, rows, w, gamma)):
                    status, raw = TerminationStatus.SLOW_PROGRESS, "no row is violated any more"
                    break
                if run.should_stop():
                    break
                master = solve_master(rows, None if run.budget.limit is None else run.budget.left())
                if master.w is None or master.weights is None:
                    status, raw = TerminationStatus.NUMERICAL_ERROR, f"the master is {master.status}"
                    break
                w, gamma = program.project(master.w), master.gamma
                run.offer(w)
                run.offer_multipliers(rows.mixture(master.weights))
        run.iterations = rounds
        return run.concluded(ends, status, raw, stats={"rounds": rounds, "rows": len(rows)})

    def _add_first(self, program: ChainProgram, rows: WorkingSet, w: FloatArray, gamma: float) -> bool:
        """Where nothing is violated at the start: the rows that are when more is asked for.

        The start answers no master yet: its gamma may be the best for it alone, and a likelihood term may want another
        point.
        """
        for _ in range(DOUBLINGS):
            if len(rows):
                break
            gamma *= 2.0
            if self._add_violated(program, rows, w, gamma):
                return True
        return False

    def _add_violated(self, program: ChainProgram, rows: WorkingSet, w: FloatArray, gamma: float) -> bool:
        """Add the worst labelling of each sequence; whether one of them was new."""
        chains = program.chains
        worst = chains.best(w, gamma)
        excess = worst.values - chains.own_scores(w)
        least = NEW * max(1.0, float(np.abs(worst.values).max()))
        starts = chains.index.starts
        added = [rows.add(int(i), worst.paths[starts[i] : starts[i + 1]]) for i in np.flatnonzero(excess > least)]
        return any(added)
