"""A centred primal-dual interior-point method that finishes what the first-order method began."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from ..._arrays import FloatArray
from ..._budget import leaving_when
from ...programs.base import ProgramKind
from ...programs.convex import ConvexProgram
from ...programs.likelihood import LikelihoodProgram
from ...results.status import TerminationStatus
from ..base import SolverCallback
from ._built_in import SteppedSolver, Steps
from ._descent_start import descend
from ._interior_state import InteriorState
from ._likelihood_state import LikelihoodState
from ._patience import Patience
from ._warm_start import warm_start
from .log_barrier import refuse_dense
from .run import ConvexRun

__all__ = ["InteriorPointSolver", "expected_warm_seconds", "iteration_seconds"]

LONG = 1.0
"""Seconds of an iteration from which on none is begun that there is too little time for, where no chain sees to it."""


@dataclass(frozen=True)
class InteriorPointSolver(SteppedSolver):
    """Mehrotra's predictor-corrector method with slacks and multipliers eliminated.

    Variables w, gamma where it is free, one slack a sample, with multipliers that sum to the sample's weight at every
    iteration, so that each is a dual point; the row sums may be off by a residual that closes with the rest. The system
    is dense in w. Started from `warm_seconds` of `FirstOrderSolver`, all complementarity pairs centred.

    Conditional likelihoods are smooth: there the posteriors at w are the multipliers, pairs are those of rows and floor
    alone, and it is started from 30 steps of L-BFGS.
    Where more than `max_dense` parameters move, systems are solved by conjugate gradients.

    Parameters
    ----------
    warm_seconds : float or None
        Of the first-order method; 0 starts cold. None: about what ten iterations will take, 1 to 30 seconds.
    warm_gap : float
        Relative gap at which the first-order method is left.
    prune : float
        Leave classes of a sample out of the system whose curvature is below this times what the barrier adds a
        sample; 0 keeps them all.
    max_iterations, max_parameters : int
    max_dense : int
        Of conditional likelihoods alone, which are not refused above it.
    multipliers : float64 array (n_samples, n_classes) or None
        Where it begins on the other side, for example ``multipliers`` of the result of another method.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> from mmbn_opt import MaxMarginRelaxation
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    >>> program = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0).build()
    >>> result = InteriorPointSolver().solve(program)
    >>> result.termination_status, result.bounds.gap_rel < 1e-6
    (TerminationStatus.OPTIMAL, True)
    """

    warm_seconds: float | None = None
    warm_gap: float = 1e-3
    prune: float = 1.0
    max_iterations: int = 200
    max_parameters: int = 4000
    max_dense: int = 10_000
    multipliers: FloatArray | None = field(default=None, repr=False, compare=False)

    dense: ClassVar[bool] = True
    name: ClassVar[str] = "interior_point"
    title: ClassVar[str] = "Primal-dual interior point"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.CONVEX, ProgramKind.LIKELIHOOD})
    own_settings: ClassVar[str] = (
        "warm_seconds, warm_gap, prune, max_iterations, max_parameters, max_dense, multipliers"
    )

    def steps(
        self,
        program: ConvexProgram | LikelihoodProgram,
        callback: SolverCallback | None = None,
        start: FloatArray | None = None,
    ) -> Steps:
        """`solve`, one iteration after the other: between two of them the method can wait."""
        run = ConvexRun(self, program, callback, start)
        if isinstance(program, ConvexProgram):
            refuse_dense(program, self.max_parameters, self.name)
        status, raw, iterations = TerminationStatus.ITERATION_LIMIT, "iteration limit", 0
        warm = 0.0
        with run.until_ended(LinAlgError) as ends:
            if self.multipliers is not None:
                run.offer_multipliers(self.multipliers)
            state: InteriorState | LikelihoodState
            if isinstance(program, ConvexProgram):
                warm, known = self._warm(program, run)
                assert run.best is not None
                state = InteriorState(program, run.best, run.bounds.gap_abs, self.prune, known)
            else:
                if self.warm_seconds != 0.0 and not run.should_stop():
                    descend(program, run)
                    warm = run.budget.elapsed()
                assert run.best is not None
                state = LikelihoodState(program, run.best, run.wanted, self.prune, self.max_dense)
            patience = Patience(program.scale)
            seconds = 0.0
            if isinstance(state, LikelihoodState) and state.dense:
                seconds = iteration_seconds(program)
            while not run.should_stop() and iterations < self.max_iterations:
                if isinstance(state, LikelihoodState) and run.budget.left() < seconds > LONG:
                    status, raw = TerminationStatus.TIME_LIMIT, "no time for an iteration"
                    break
                began = run.budget.elapsed()
                with leaving_when(run.budget.over):
                    state.iterate()
                seconds = run.budget.elapsed() - began
                iterations += 1
                run.heartbeat(iterations)
                run.offer(state.w)
                run.offer_multipliers(state.y)
                # Far from the end the books do not move while the method works its way back to their point.
                if patience.is_over(run.bounds.gap_abs, state.merit()) or state.step_lengths < 1e-7:
                    status, raw = TerminationStatus.SLOW_PROGRESS, "the gap no longer falls"
                    break
                yield run
        return run.concluded(ends, status, raw, stats={"warm_sec": warm})

    def _warm(self, program: ConvexProgram, run: ConvexRun) -> tuple[float, FloatArray | None]:
        """Seconds spent on the first-order method and its multipliers; its point and bound go into the books."""
        seconds = expected_warm_seconds(program) if self.warm_seconds is None else self.warm_seconds
        if seconds <= 0 or run.should_stop():
            return 0.0, self.multipliers
        known, spent = warm_start(self, program, run, seconds)
        return spent, known


def iteration_seconds(program: ConvexProgram | LikelihoodProgram) -> float:
    """About one iteration: 3e10 operations a second in the factorization, 1e9 additions in the assembly."""
    margins = program.margins
    factorization = float(np.count_nonzero(~program.at_floor)) ** 3 / 9e10
    return factorization + margins.n_samples * (margins.n_classes * margins.n_factors) ** 2 / 4 / 1e9


def expected_warm_seconds(program: ConvexProgram) -> float:
    """About ten iterations."""
    return float(np.clip(10 * iteration_seconds(program), 1.0, 30.0))
