"""The proximal method of multipliers with semismooth Newton rounds: six digits on programs of any size."""

from dataclasses import dataclass, field
from typing import ClassVar

from ..._arrays import FloatArray
from ...programs.base import ProgramKind
from ...programs.convex import ConvexProgram
from ...programs.markov import MarkovProgram
from ...results.status import TerminationStatus
from ..base import SolverCallback
from ._built_in import SteppedSolver, Steps
from ._proximal_state import ProximalState
from ._warm_start import warm_start
from .run import ConvexRun

__all__ = ["ProximalNewtonSolver"]

WARM_SECONDS = 3.0


@dataclass(frozen=True)
class ProximalNewtonSolver(SteppedSolver):
    """Second-order steps that cost a pass over the samples: only samples at a kink of the hinge have curvature.

    Each round adds proximal terms in parameters and multipliers, after which the multipliers are projections onto
    simplices; Newton's systems are solved by conjugate gradients on the samples whose multipliers are shared between
    classes, with exact line searches. The steps of a round grow while rounds are easy. Started from `warm_seconds` of
    `FirstOrderSolver` on convex programs. Takes the quadratic programs of Markov networks too.

    Parameters
    ----------
    warm_seconds : float
        Of the first-order method; 0 starts from the point and the multipliers that are given.
    warm_gap : float
        Relative gap at which the first-order method is left.
    max_rounds : int
    multipliers : float64 array (n_samples, n_classes) or None
        Where it begins on the other side, for example ``multipliers`` of the result of another method.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> from mmbn_opt import MaxMarginRelaxation
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    >>> program = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0).build()
    >>> result = ProximalNewtonSolver(rel_gap=1e-6).solve(program)
    >>> result.termination_status, result.bounds.gap_rel < 1e-6
    (TerminationStatus.OPTIMAL, True)
    """

    warm_seconds: float = WARM_SECONDS
    warm_gap: float = 1e-2
    max_rounds: int = 1000
    multipliers: FloatArray | None = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "proximal_newton"
    title: ClassVar[str] = "Proximal Newton method"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.CONVEX, ProgramKind.QUADRATIC})
    own_settings: ClassVar[str] = "warm_seconds, warm_gap, max_rounds, multipliers"

    def steps(
        self,
        program: ConvexProgram | MarkovProgram,
        callback: SolverCallback | None = None,
        start: FloatArray | None = None,
    ) -> Steps:
        """`solve`, one piece of work after the other: between two of them the method can wait."""
        run = ConvexRun(self, program, callback, start)
        status, raw = TerminationStatus.ITERATION_LIMIT, "round limit"
        known, warm = self.multipliers, 0.0
        begun: list[ProximalState] = []
        with run.until_ended() as ends:
            if isinstance(program, ConvexProgram) and self.warm_seconds > 0.0 and not run.should_stop():
                known, warm = warm_start(self, program, run, self.warm_seconds)
            assert run.best is not None
            if not run.should_stop():
                begun.append(ProximalState(program, run.best, known, run.bounds.gap_rel))
                run.offer_multipliers(begun[0].rivals)
            while begun and not run.should_stop() and begun[0].rounds < self.max_rounds:
                for _ in begun[0].round():
                    yield run
                    if run.should_stop() or run.budget.left() < run.closing:
                        break
                else:
                    self._report(run, begun[0])
                    if begun[0].is_stuck(run.bounds.gap_abs):
                        status, raw = TerminationStatus.SLOW_PROGRESS, "the gap no longer falls"
                        break
                    continue
                break
        counts: dict[str, int] = {}
        for state in begun:
            if not run.closed():
                self._report(run, state)
            counts = {
                "rounds": state.rounds,
                "newton_steps": state.newton_steps,
                "gradient_steps": state.gradient_steps,
            }
        return run.concluded(ends, status, raw, stats={"warm_sec": warm, **counts})

    def _report(self, run: ConvexRun, state: ProximalState) -> None:
        """Point and multipliers of the method, for the books."""
        run.heartbeat(state.newton_steps)
        run.offer(state.w)
        run.offer_multipliers(state.rivals)
