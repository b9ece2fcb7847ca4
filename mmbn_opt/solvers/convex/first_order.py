"""First-order methods with a certified gap: what scales."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..._arguments import checked_number, choice_of
from ..._arrays import FloatArray
from ...programs.base import ProgramKind
from ...programs.chain_program import ChainProgram
from ...programs.convex import ConvexProgram
from ...results.status import TerminationStatus
from ..base import SolverCallback, SolverResult
from ._built_in import BuiltInConvexSolver, Steps, to_the_end
from ._primal_dual import PrimalDual
from ._smoothed_gradient import SmoothedGradient
from .run import ConvexRun

__all__ = ["FirstOrderSolver"]


@dataclass(frozen=True)
class FirstOrderSolver(BuiltInConvexSolver):
    """Passes over the samples and exact row projections only; stops on the certified gap.

    ``method="primal_dual"``: a restarted primal-dual hybrid gradient method on the saddle point of parameters and
    multipliers, with steps that adapt. ``method="smoothing"``: accelerated projected gradient on the hinge smoothed by
    ``tau log(1 + sum_c exp(. / tau))``, which takes three to fifty times as many passes to a gap of 1e-3. It is the
    one method for programs over sequences, whatever `method` says: there a pass is a forward-backward pass.

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
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.CONVEX, ProgramKind.SEQUENCE})

    def __post_init__(self) -> None:
        super().__post_init__()
        choice_of("method", self.method, ("primal_dual", "smoothing"), expected='"primal_dual" or "smoothing"')
        checked_number("tau", self.tau, open_low=True, open_high=True, expected="a finite number > 0")

    def solve(
        self,
        program: ConvexProgram | ChainProgram,
        callback: SolverCallback | None = None,
        start: FloatArray | None = None,
    ) -> SolverResult:
        """Minimise a convex program, or one over sequences; see `Solver.solve`."""
        return to_the_end(self.steps(program, callback, start))

    def steps(
        self,
        program: ConvexProgram | ChainProgram,
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
            while not run.should_stop() and state.iterations < self.max_iterations:
                if run.budget.left() < run.closing:
                    status, raw = TerminationStatus.TIME_LIMIT, "time limit"
                    break
                state.step()
                run.iterations = state.iterations
                if state.iterations % state.check_every == 0:
                    state.check()
                    if state.exhausted:
                        status, raw = TerminationStatus.SLOW_PROGRESS, "neither side moves any more"
                        break
                yield run
        state.last_look()
        if ends:
            status, raw = ends[0].status, ends[0].words
        if run.closed():
            raw = "gap closed"
        run.iterations = state.iterations
        return run.result(status, raw, stats={"method": method, **state.stats})
