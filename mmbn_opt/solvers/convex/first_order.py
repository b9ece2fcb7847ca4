"""First-order methods with a certified gap: what scales."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from ..._arguments import checked_number, choice_of
from ..._arrays import FloatArray
from ..._budget import leaving_when
from ...programs.base import ProgramKind
from ...programs.chain_program import ChainProgram
from ...programs.convex import ConvexProgram
from ...programs.convex_passes import ConvexPassProgram
from ...results.status import TerminationStatus
from ..base import SolverCallback
from ._built_in import SteppedSolver, Steps
from ._primal_dual import PrimalDual
from ._smoothed_gradient import SmoothedGradient
from .run import ConvexRun

__all__ = ["FirstOrderSolver"]

SAMPLED, SAMPLED_GAP, SAMPLED_SHARE = 65_536, 1e-3, 0.2
"""Rows that a run over data in a file is rehearsed on, least gap there, and share of the time that may be spent."""


@dataclass(frozen=True)
class FirstOrderSolver(SteppedSolver):
    """Passes over the samples and exact row projections only; stops on the certified gap.

    ``method="primal_dual"``: a restarted primal-dual hybrid gradient method on the saddle point of parameters and
    multipliers, with steps that adapt. ``method="smoothing"``: accelerated projected gradient on the hinge smoothed by
    ``tau log(1 + sum_c exp(. / tau))``, which takes three to fifty times as many passes to a gap of 1e-3. It is the
    one method for programs over sequences, whatever `method` says: there a pass is a forward-backward pass. And it is
    the one for data in a file, of which no multipliers are held: it begins where it ends on a sample of the rows, with
    the steps that it has learned there. Bounds are those of all rows.

    Parameters
    ----------
    method : {"primal_dual", "smoothing"}
    tau : float
        First smoothing, as a share of gamma; used by "smoothing".
    max_iterations : int
    multipliers : float64 array (n_samples, n_classes) or None
        Where "primal_dual" begins on the other side, for example ``multipliers`` of the result of a similar program.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> from mmbn_opt import MaxMarginRelaxation
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    >>> program = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0).build()
    >>> result = FirstOrderSolver(rel_gap=1e-3).solve(program)
    >>> result.termination_status, result.bounds.gap_rel < 1e-3
    (TerminationStatus.OPTIMAL, True)
    """

    method: Literal["primal_dual", "smoothing"] = "primal_dual"
    tau: float = 0.02
    max_iterations: int = 1_000_000
    multipliers: FloatArray | None = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "first_order"
    title: ClassVar[str] = "First-order method"
    own_settings: ClassVar[str] = "method, tau, max_iterations, multipliers"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset(
        {ProgramKind.CONVEX, ProgramKind.CONVEX_PASSES, ProgramKind.SEQUENCE}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        choice_of("method", self.method, ("primal_dual", "smoothing"), expected='"primal_dual" or "smoothing"')
        checked_number("tau", self.tau, open_low=True, open_high=True, expected="a finite number > 0")

    def steps(
        self,
        program: ConvexProgram | ConvexPassProgram | ChainProgram,
        callback: SolverCallback | None = None,
        start: FloatArray | None = None,
    ) -> Steps:
        """`solve`, one iteration after the other: between two of them the method can wait."""
        run = ConvexRun(self, program, callback, start)
        state: PrimalDual | SmoothedGradient
        method = self.method if isinstance(program, ConvexProgram) else "smoothing"
        if isinstance(program, ConvexProgram) and method == "primal_dual":
            state = PrimalDual(program, run, self.multipliers)
        else:
            state = SmoothedGradient(program, run, self.tau)
        status, raw = TerminationStatus.ITERATION_LIMIT, "iteration limit"
        with run.until_ended() as ends:
            if isinstance(program, ConvexPassProgram):
                for _ in self._rehearsal(program, state, run):
                    yield run
            while not run.should_stop() and state.iterations < self.max_iterations:
                if run.budget.left() < run.closing:
                    status, raw = TerminationStatus.TIME_LIMIT, "time limit"
                    break
                self._step(state, run)
                run.iterations = state.iterations
                if state.iterations % state.check_every == 0:
                    state.check()
                    if state.exhausted:
                        status, raw = TerminationStatus.SLOW_PROGRESS, "neither side moves any more"
                        break
                yield run
        if not (ends and ends[0].abrupt and isinstance(program, ConvexPassProgram)):  # where looking takes passes
            state.last_look()
        run.iterations = state.iterations
        return run.concluded(ends, status, raw, stats={"method": method, **state.stats})

    @staticmethod
    def _step(state: PrimalDual | SmoothedGradient, run: ConvexRun) -> None:
        """One step; over data in a file the limit may strike between two blocks, and time is kept for what follows."""
        if not isinstance(run.program, ConvexPassProgram):
            state.step()
            return
        assert isinstance(state, SmoothedGradient)
        began, before = run.budget.elapsed(), state.passes
        with leaving_when(run.budget.over):
            state.step()
        if run.budget.limit is not None:
            # The value at the end, the bound from its multipliers, and both once more for the certificate.
            run.closing = 4.0 * (run.budget.elapsed() - began) / (state.passes - before)

    def _rehearsal(
        self, program: ConvexPassProgram, state: PrimalDual | SmoothedGradient, run: ConvexRun
    ) -> Iterator[None]:
        """Where the method ends on a sample is where it begins, with the smoothing and the steps that it had there."""
        assert isinstance(state, SmoothedGradient)
        sampled = program.sampled(SAMPLED)
        gap = max(self.rel_gap / 3.0, SAMPLED_GAP)
        limit = None if run.budget.limit is None else SAMPLED_SHARE * run.budget.left()
        books = ConvexRun(replace(self, rel_gap=gap, abs_gap=0.0, time_limit=limit), sampled, None, run.best)
        small = SmoothedGradient(sampled, books, self.tau)
        while not books.should_stop() and not run.should_stop() and small.iterations < self.max_iterations:
            small.step()
            if small.iterations % small.check_every == 0:
                small.check()
                if small.exhausted:
                    break
            yield
        state.begin_like(small)
        run.offer(state.w, source="a sample of the rows")
