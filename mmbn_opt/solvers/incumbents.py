"""The best solution of a run, judged by us: a warm start cannot be lost and a solver's word is not taken."""

from dataclasses import dataclass

import numpy as np

from .._arrays import FloatArray
from ..programs.base import ColumnProgram
from ..results.status import SolutionStatus

__all__ = ["Incumbent", "IncumbentPool"]

NEARLY_FACTOR = 100.0
"""A vector that violates a constraint by at most this many tolerances is nearly feasible."""

UNLIMITED = 1e20
"""Values from here on are some solver's infinity, met in the rays of unbounded programs."""


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A vector with the objective and the violation that we computed for it."""

    solution: FloatArray
    value: float
    violation: float
    source: str


class IncumbentPool:
    """Keeps ``best = min(every start, every callback incumbent, the solver's answer)`` of a minimum.

    Each candidate is rounded on its integer columns and checked again, since rounding an integer column can push a
    row with continuous columns over the tolerance; then the unrounded vector is judged instead.

    Parameters
    ----------
    program : ColumnProgram
    tolerance : float
        Largest violation of a row, a column bound or integrality that counts as feasible.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from mmbn_opt.programs import MixedIntegerProgram
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0]), A=sp.csr_array(np.array([[1.0, 1.0]])),
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([1.0]),
    ...     col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.ones(2, dtype=bool))
    >>> pool = IncumbentPool(program, tolerance=1e-6)
    >>> pool.offer(np.array([1.0, 1.0]), "liar"), pool.offer(np.array([0.0, 1.0 - 1e-9]), "solver")
    (False, True)
    >>> pool.best.value, pool.best.source, str(pool.status)
    (-2.0, 'solver', 'FEASIBLE')
    """

    def __init__(self, program: ColumnProgram, tolerance: float) -> None:
        self._program = program
        self._tolerance = tolerance
        self._best: Incumbent | None = None
        self._nearest: Incumbent | None = None

    @property
    def best(self) -> Incumbent | None:
        """The best feasible vector so far."""
        return self._best

    @property
    def value(self) -> float | None:
        """Objective of the best feasible vector."""
        return None if self._best is None else self._best.value

    @property
    def result(self) -> Incumbent | None:
        """What to return: the best feasible vector, or else the least infeasible of the nearly feasible ones."""
        return self._best if self._best is not None else self._nearest

    @property
    def status(self) -> SolutionStatus:
        """What `result` holds."""
        if self._best is not None:
            return SolutionStatus.FEASIBLE
        return SolutionStatus.NO_SOLUTION if self._nearest is None else SolutionStatus.NEARLY_FEASIBLE

    def offer(self, solution: FloatArray, source: str) -> bool:
        """Judge a vector; True when it is feasible and better than all before."""
        vector = np.array(solution, dtype=np.float64)
        if vector.shape != self._program.c.shape or not (np.abs(vector) < UNLIMITED).all():
            return False
        # Adding zero turns -0.0, which rounding leaves, into 0.0.
        polished = self._program.polish(vector) + 0.0
        candidates = [polished] if np.array_equal(polished, vector) else [polished, vector]
        for candidate in candidates:
            violation = self._program.violation(candidate)
            if violation <= self._tolerance:
                return self._take(Incumbent(candidate, self._program.value(candidate), violation, source))
            if violation <= NEARLY_FACTOR * self._tolerance and (
                self._nearest is None or violation < self._nearest.violation
            ):
                self._nearest = Incumbent(candidate, self._program.value(candidate), violation, source)
        return False

    def _take(self, incumbent: Incumbent) -> bool:
        if self._best is not None and not incumbent.value < self._best.value:
            return False
        incumbent.solution.flags.writeable = False
        self._best = incumbent
        return True
