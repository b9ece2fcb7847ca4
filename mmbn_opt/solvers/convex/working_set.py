"""An interior point on the samples at a kink alone: the last digits of programs that are nearly linear ones."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from ..._arrays import FloatArray
from ...exceptions import InputError
from ...programs.convex import ConvexProgram
from ...results.status import TerminationStatus
from ..base import SolverCallback
from ._built_in import SteppedSolver, Steps
from ._patience import Patience
from ._working_state import WorkingState
from .log_barrier import refuse_dense
from .run import ConvexRun

__all__ = ["WorkingSetSolver"]

SHARES = (0.15, 0.35, 0.6, 0.85)
"""Of the way between two points or two tables of multipliers, where the value or the bound is looked at."""
NO_LONGER = 1e-7
"""A step so short is none."""


@dataclass(frozen=True)
class WorkingSetSolver(SteppedSolver):
    """Interior point on a growing set of samples, from a point and multipliers that are nearly optimal.

    With a floor alone, the optimum is nearly a vertex: most samples have no loss, or are linear, and stay so. These are
    left out of the Newton systems as long as they do. Points and multipliers are valued for the whole program, and the
    best ones of both are kept, each improved on the way to the newest.

    Parameters
    ----------
    max_iterations, max_parameters : int
    multipliers : float64 array (n_samples, n_classes) or None
        Of another method's result.
    """

    max_iterations: int = 200
    max_parameters: int = 4000
    multipliers: FloatArray | None = field(default=None, repr=False, compare=False)

    dense: ClassVar[bool] = True
    name: ClassVar[str] = "working_set"
    title: ClassVar[str] = "Interior point on a working set"
    own_settings: ClassVar[str] = "max_iterations, max_parameters, multipliers"

    def steps(
        self, program: ConvexProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> Steps:
        """`solve`, one iteration after the other: between two of them the method can wait."""
        run = ConvexRun(self, program, callback, start)
        refuse_dense(program, self.max_parameters, self.name)
        if program.gamma is None:
            raise InputError(f'{self.name} needs a fixed gamma; give gamma= in place of B=, or solver="convex".')
        status, raw = TerminationStatus.ITERATION_LIMIT, "iteration limit"
        size = 0
        with run.until_ended(LinAlgError) as ends:
            known = self.multipliers
            if known is None:
                known = np.zeros((program.margins.n_samples, program.margins.n_classes))
            run.offer_multipliers(known)
            assert run.best is not None
            begun = WorkingState(program, run.best, run.bounds.gap_abs, known)
            patience = Patience(program.scale)
            for iteration in range(1, self.max_iterations + 1):
                if run.should_stop():
                    break
                begun.iterate()
                run.heartbeat(iteration)
                if begun.is_near:
                    self._look(run, program, begun)
                size = begun.size
                over = patience.is_over(begun.state.spread())
                if begun.is_done or over or begun.state.step_lengths < NO_LONGER:
                    status, raw = TerminationStatus.SLOW_PROGRESS, "the gap no longer falls"
                    break
                yield run
        return run.concluded(ends, status, raw, stats={"working_set": size})

    def _look(self, run: ConvexRun, program: ConvexProgram, begun: WorkingState) -> None:
        """Value the newest point and multipliers, and those on the way to them from the best."""
        old, proved = run.best, run.multipliers
        assert old is not None
        if run.offer(begun.state.w) is not None and run.best is old:
            new = program.project(begun.state.w)
            for share in SHARES:
                run.offer((1.0 - share) * old + share * new)
        table = begun.multipliers
        run.offer_multipliers(table)
        if proved is not None and not run.closed():
            for share in SHARES:
                run.offer_multipliers((1.0 - share) * proved + share * table)
