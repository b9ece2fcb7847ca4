"""The books of a run on a convex program: points and multipliers in, checked bounds and one result out.

Every point is projected onto the feasible set and valued by the program; every set of multipliers gives a rigorous
bound by the program's own dual function. What a solver says of its objective is kept, and believed by nobody.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._arrays import FloatArray
from ..._budget import Budget
from ...exceptions import InputError
from ...programs.base import ProgramKind
from ...programs.chain_program import ChainProgram
from ...programs.convex import ConvexProgram, linear_in_disguise
from ...programs.convex_bounds import admissible_multipliers
from ...programs.convex_passes import ConvexPassProgram
from ...programs.likelihood import LikelihoodProgram
from ...programs.margin_program import MarginProgram
from ...programs.markov import MarkovProgram
from ...programs.sequence import SequenceMarkovProgram, SequenceProgram
from ...results.bounds import ObjectiveBounds
from ...results.proof import Proof
from ...results.status import TerminationStatus
from ..base import Solver, SolverCallback, SolverResult
from ..ending import EXACT_GAP
from ..journal import Ended, Journal

__all__ = ["ConvexRun", "repair_seconds"]

logger = logging.getLogger(__name__)

REPAIR_ROUNDS = 100
MAX_REPAIRED_PARAMETERS = 3000

_OVER_SEQUENCES = (SequenceProgram, SequenceMarkovProgram)
_WITHOUT_ROWS = (ConvexPassProgram, LikelihoodProgram, *_OVER_SEQUENCES)
"""Programs that have no rows of margins which could be written down."""
_KNOWN = (ConvexProgram, MarkovProgram, *_WITHOUT_ROWS)


def _several(kind: ProgramKind) -> str:
    return "programs of margins over sequences" if kind is ProgramKind.SEQUENCE else f"{kind}s"


class ConvexRun(Journal):
    """Journal of one run on a convex program.

    Parameters
    ----------
    solver : Solver
    program : MarginProgram, ChainProgram, ConvexPassProgram or LikelihoodProgram
    callback : callable or None
    start : float64 array (n,) or None
    """

    def __init__(
        self,
        solver: Solver,
        program: MarginProgram | ChainProgram | ConvexPassProgram | LikelihoodProgram,
        callback: SolverCallback | None,
        start: FloatArray | None,
    ) -> None:
        budget = Budget(solver.time_limit)
        if not isinstance(program, _KNOWN) or program.kind not in solver.accepts:
            accepted = " and ".join(sorted(map(_several, solver.accepts)))
            given = f"a {program.kind}" if isinstance(program, _KNOWN) else type(program).__name__
            raise InputError(f"{solver.title} solves {accepted}, got {given}.")
        if start is not None and np.shape(start) != (program.size.columns,):
            raise InputError(
                f"the start has shape {np.shape(start)}, but the program has {program.size.columns} parameters."
            )
        super().__init__(solver, callback, scale=program.scale, budget=budget)
        self.program: MarginProgram | ChainProgram | ConvexPassProgram | LikelihoodProgram = program
        self.published = None if isinstance(program, _WITHOUT_ROWS) else linear_in_disguise(program)
        self.repair = 0.0 if self.published is None else repair_seconds(self.published)
        # What is kept for the last look at the multipliers, where the limit allows a search too.
        self.closing = self.repair if budget.limit is None or 2.0 * self.repair <= budget.limit else 0.0
        self.iterations: int | None = None
        w = np.asarray(start, dtype=np.float64) if start is not None else program.first_point()
        self.offer(w, source="start" if start is not None else "first point", event="start")
        self.raise_bound(program.trivial_bound, source="multipliers zero")

    def counts(self) -> tuple[int | None, int | None]:
        """No nodes; the method's iterations."""
        return None, self.iterations

    def wanted(self) -> float:
        """The absolute gap that counts as closed at the best value so far."""
        return max(self.tolerances.absolute, self.tolerances.relative * abs(self.bounds.primal_bound or 0.0))

    def offer(self, w: FloatArray, *, source: str = "", event: str = "incumbent") -> float | None:
        """Project, value, and keep a point if it is the best; returns its value, None for a point that is no number."""
        if not np.isfinite(w).all():
            return None
        feasible = self.program.project(w)
        value = float(self.program.value(feasible))
        self.keep(feasible, value, source=source, event=event)
        return value

    def offer_multipliers(self, y: FloatArray) -> None:
        """Keep the bound of some multipliers."""
        candidates = [y]
        if self.published is not None and 0.0 < self.repair <= self.budget.left():
            candidates.append(balanced(self.published, y))
        for table in candidates:
            if self.raise_bound(self.program.dual_value(table)):
                self.multipliers = np.array(table)  # the method goes on with its own

    def heartbeat(self, iterations: int) -> None:
        """Tell the callback that the run goes on."""
        self.iterations = iterations
        self.tell()

    def concluded(
        self, ends: Sequence[Ended], otherwise: TerminationStatus, raw_status: str, *, stats: Mapping[str, Any]
    ) -> SolverResult:
        """The result of a method that ended by itself, for what `until_ended` caught, or since the gap is closed."""
        if ends:
            otherwise, raw_status = ends[0].status, ends[0].words
        return self.result(otherwise, "gap closed" if self.closed() else raw_status, stats=stats)

    def result(
        self, otherwise: TerminationStatus, raw_status: str, *, stats: Mapping[str, Any] | None = None
    ) -> SolverResult:
        """The result, with what is proved of it and what has to be said of the published problem."""
        status = self.termination(otherwise)
        if not self.bounds.is_consistent(1e-6):
            logger.error("the dual bound %r is above the value %r", self.bounds.dual_bound, self.bounds.primal_bound)
            status, raw_status = (
                TerminationStatus.NUMERICAL_ERROR,
                f"{raw_status}; bound and value contradict each other",
            )
        facts: dict[str, Any] = {}
        if not isinstance(self.program, LikelihoodProgram):  # there no margin is asked for
            facts["gamma"] = None if self.best is None else self.program.best_gamma(self.best)
        if (table := self.multipliers) is not None:
            self.proof = Proof(self.program.dual_value(table), {"multipliers": int(np.count_nonzero(table))})
        published: ConvexProgram | ConvexPassProgram | SequenceProgram | None = self.published
        if isinstance(self.program, (SequenceProgram, ConvexPassProgram)):
            published = self.program
        if published is not None and published.is_linear:
            facts |= _published_facts(published, self.best, self.bounds)
            if facts["separable"] and published.strength is not None:
                # The infimum is not attained: whatever scale this point has, it is no optimum.
                raw_status = f"{raw_status}; {facts['published_degeneracy']}"
                status = TerminationStatus.SLOW_PROGRESS if status is TerminationStatus.OPTIMAL else status
        return self.ending(status, raw_status, stats={**facts, **self.stats, **(stats or {})})


def _published_facts(
    program: ConvexProgram | ConvexPassProgram | SequenceProgram, w: FloatArray | None, bounds: ObjectiveBounds
) -> dict[str, Any]:
    """What has to be said of an answer to the published problem."""
    separable = w is not None and program.separates(w)
    sentence = (
        "the data are separable: the infimum is 0 and not attained, so that no optimum is returned"
        if separable
        else "the optimum is that of a linear program up to scale and need not be unique; B only rescales it"
    )
    known = {True: True}.get(separable, False if (bounds.dual_bound or 0.0) > EXACT_GAP * program.scale else None)
    return {"published_degeneracy": sentence, "separable": known}


def repair_seconds(program: ConvexProgram) -> float:
    """About what `balanced` takes: a pseudo-inverse in all parameters; 0 where they are too many for one."""
    n = program.margins.n_parameters
    return 1e-9 * n**3 if n <= MAX_REPAIRED_PARAMETERS else 0.0


def balanced(program: ConvexProgram, y: FloatArray) -> FloatArray:
    """Multipliers near `y` with ``Delta' y`` near 0: without a floor any remainder costs the bound dearly.

    Alternating projections onto the null space and onto what is admissible.
    """
    margins = program.margins
    matrix, sample, rival = margins.matrix(program.max_nonzeros)
    inverse = np.linalg.pinv((matrix.T @ matrix).toarray(), rcond=1e-12, hermitian=True)
    table = admissible_multipliers(np.array(y), margins.labels, margins.weight)
    for _ in range(REPAIR_ROUNDS):
        flat = table[sample, rival]
        table[sample, rival] = flat - matrix @ (inverse @ (matrix.T @ flat))
        table = admissible_multipliers(table, margins.labels, margins.weight)
    return table
