"""The published relaxation as the linear program that it is, solved by HiGHS."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..._arrays import FloatArray
from ...programs.base import ProgramKind
from ...programs.convex import ConvexProgram
from ..base import Availability, Solver, SolverCallback, SolverEvent, SolverResult
from ..mixed_integer.highs import HighsSolver
from .run import ConvexRun

__all__ = ["LinearFormSolver"]


@dataclass(frozen=True)
class LinearFormSolver(Solver):
    """HiGHS on ``min sum n_m h_m s.t. Delta u + h >= 1``, then back by ``w = gamma u - shift``.

    Takes convex programs without floor and likelihood term. With the linear optimum H* the optimum is ``gamma H*``, or
    ``1.5 (B H*)^(2/3)`` where B is given; a lower bound on H* gives one on it.

    Parameters
    ----------
    options : mapping
        HiGHS's own options.
    """

    name: ClassVar[str] = "highs_lp"
    title: ClassVar[str] = "HiGHS on the linear form"
    licence: ClassVar[str] = "MIT"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.CONVEX})
    ignores: ClassVar[Mapping[str, str]] = {
        "rel_gap": "the linear program is solved to its optimum",
        "abs_gap": "as rel_gap",
        "start": "kept as an incumbent",
    }

    @classmethod
    def availability(cls) -> Availability:
        """As HiGHS."""
        return HighsSolver.availability()

    def solve(
        self, program: ConvexProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a convex program that is linear in disguise; see `Solver.solve`."""
        run = ConvexRun(self, program, callback, start)
        linear = program.linear_form()
        n = program.margins.n_parameters

        def on_event(event: SolverEvent) -> bool:
            run.heartbeat(event.iterations or 0)
            return run.stop_requested

        engine = HighsSolver(
            time_limit=None if self.time_limit is None else run.budget.left(),
            feasibility_tol=min(self.feasibility_tol, 1e-7),
            threads=self.threads,
            seed=self.seed,
            verbose=self.verbose,
            options=self.options,
        )
        answer = engine.solve(linear, callback=on_event)
        hinge, dual = answer.bounds.primal_bound, answer.bounds.dual_bound
        if answer.solution is not None:
            run.offer(program.from_linear_form(answer.solution[:n]))
        if dual is not None and dual > 0:
            gamma, strength = program.gamma, program.strength
            if strength is not None:
                lower = 1.5 * (strength * dual) ** (2 / 3)
            else:
                assert gamma is not None
                lower = gamma * dual
            run.raise_bound(min(lower, run.bounds.primal_bound or lower))
        stats = {"H": hinge, "H_bound": dual, "raw_objective": answer.stats.get("raw_objective")}
        status = answer.termination_status
        run.iterations = answer.iterations
        return run.result(status, answer.raw_status, stats=stats)
