"""Convex solvers that share the time until the gap is proved: what ``auto`` runs on convex programs."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._arrays import FloatArray
from ..._threads import limited_threads
from ...programs.base import ProgramKind
from ...programs.chain_program import ChainProgram
from ...programs.convex import ConvexProgram
from ...results.status import TerminationStatus
from ..base import Availability, Solver, SolverCallback, SolverResult
from ._chain_links import AnewLink, ChainLink, ResumableLink
from ._shares import next_turn
from .run import ConvexRun

__all__ = ["ConvexChainSolver", "seconds_left"]

logger = logging.getLogger(__name__)

DENSE_PARAMETERS = 4000
"""Largest program for interior-point methods with a dense Newton system."""
CONE_NONZEROS = 2_000_000
"""Largest margin matrix that is handed to a cone solver."""
CONE_SECONDS, CONE_SECONDS_AN_ENTRY = 0.5, 2.5e-5
"""A cone solver has never ended sooner: a process of its own, the model, and ten iterations."""
WARM_GAP = 1e-3
"""Relative gap at which the first-order method lets the interior point begin."""
GOOD_GAP = 1e-2
"""Relative gap from which on the working set may begin."""
NEARLY_GOOD_GAP = 5e-2
UNDER_WAY = 10.0
"""Iterations after which an interior point goes on."""
AHEAD, FURTHER_AHEAD = 9.0, 90.0
"""Iterations of an interior point whose time the proximal Newton method has before one on all samples begins: in
general, and when its gap is already below `NEARLY_GOOD_GAP`."""
LONGEST_WARM = 1.0
"""Seconds of the first-order method's first turn, at most."""
QUICK = 0.5
"""Seconds of an iteration up to which the interior point goes first, with a floor alone, unless the first-order method
comes near at once."""
LOOK = 120
"""Passes of the first-order method that tell whether it comes near at once."""
BRIEF, WHOLE = 3.0, 40.0
"""Iterations of such an interior point whose time the first-order method has before it, and that it then has before the
proximal Newton method: more than it needs to six digits."""


@dataclass(frozen=True)
class ConvexChainSolver(Solver):
    """First-order method, then proximal Newton steps and an interior point in turns; for a linear form HiGHS first.

    The first-order method has the first seconds. Then the proximal Newton method goes on from its point. With a floor
    alone, and where dense matrices will do, an interior point works beside it: on the samples at a kink if the point is
    soon a good one, else on all; where an iteration takes less than half a second and the first-order method left a
    large gap, it goes first. Each has half of the time limit, unless another has closed the gap: the chain never ends
    worse than its best member would with half the time. Where one gives up, those that have waited take over, Clarabel
    too. Each goes on where it was. Without a limit turns grow with the time spent, and whoever makes no progress any
    more is left. The raw status lists what each of them said.
    """

    name: ClassVar[str] = "convex"
    title: ClassVar[str] = "Chain of convex solvers"
    licence: ClassVar[str] = "BSD-3-Clause"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.CONVEX})
    ignores: ClassVar[Mapping[str, str]] = {
        "feasibility_tol": "every point is projected onto the constraints",
        "verbose": "not passed on to the links",
        "options": "not passed on: the links' options differ",
    }

    @classmethod
    def availability(cls) -> Availability:
        """Always there: its first links are built in."""
        return Availability(True, "built in")

    def solve(
        self,
        program: ConvexProgram | ChainProgram,
        callback: SolverCallback | None = None,
        start: FloatArray | None = None,
    ) -> SolverResult:
        """Minimise a convex program; see `Solver.solve`."""
        run = ConvexRun(self, program, callback, start)
        links = self._links(program, run)
        quick = isinstance(program, ConvexProgram) and _is_quick(program)
        begun: dict[str, ChainLink] = {}
        # A second BLAS thread only makes the small Newton systems slower on a shared machine.
        with run.until_ended(), limited_threads(self.threads, "blas"):
            while not run.should_stop() and (turn := next_turn(links, self.time_limit, run.budget.left())) is not None:
                link, seconds = turn
                begun[link.name] = link
                link.advance(seconds)
                _hand_over(links, run, quick)
                if program.is_linear and link.answer is not None and link.answer.stats.get("separable"):
                    break  # no other method finds an optimum that is not there
                logger.debug("%s: gap %.2e after %.2f s of its own", link.name, run.bounds.gap_rel, link.spent)
            for link in begun.values():
                link.close()
        self._keep_proof(run, list(begun.values()))
        said = "; ".join(f"{link.name}: {link.said or 'waiting'}" for link in begun.values())
        stats: dict[str, Any] = {"links": len(begun), "link_seconds": {k: link.spent for k, link in begun.items()}}
        for link in begun.values():
            if link.answer is not None:
                stats |= {key: link.answer.stats[key] for key in ("H", "tau") if key in link.answer.stats}
        return run.result(
            _ending(list(begun.values()), self.time_limit is not None),
            said or "no time was left for a solver",
            stats=stats,
        )

    def _links(self, program: Any, run: ConvexRun) -> list[ChainLink]:
        """Solvers that take turns, with the common settings."""
        from .cvxpy_conic import ClarabelSolver
        from .first_order import FirstOrderSolver
        from .interior_point import InteriorPointSolver, expected_warm_seconds, iteration_seconds
        from .linear_form import LinearFormSolver
        from .proximal_newton import ProximalNewtonSolver
        from .working_set import WorkingSetSolver

        common: dict[str, Any] = {
            "rel_gap": self.rel_gap,
            "abs_gap": self.abs_gap,
            "threads": self.threads,
            "seed": self.seed,
        }

        parting: list[FloatArray] = []

        def first_order(callback: SolverCallback) -> Any:
            return FirstOrderSolver(time_limit=seconds_left(run), **common).steps(program, callback, run.best)

        def proximal_newton(callback: SolverCallback) -> Any:
            assert run.best is not None
            # From here on it does all that the first-order method could, unless that is far from its end and nothing
            # holds the point but a floor: on data that are nearly separable, hardly a sample has a kink to go by.
            first.reserve = curved or dense_too or run.bounds.gap_rel <= NEARLY_GOOD_GAP
            # The interior point needs what that has left: a point in the middle, not one that is nearly at a vertex.
            parting.append(run.best)
            engine = ProximalNewtonSolver(
                time_limit=seconds_left(run), warm_seconds=0.0, multipliers=first.multipliers, **common
            )
            return engine.steps(program, callback, run.best)

        def interior_point(callback: SolverCallback) -> Any:
            first.reserve = True
            engine = InteriorPointSolver(
                time_limit=seconds_left(run), warm_seconds=0.0, multipliers=first.multipliers, **common
            )
            return engine.steps(program, callback, parting[0] if parting else run.best)

        def working_set(callback: SolverCallback) -> Any:
            tables = [link.multipliers for link in links]
            known = max((t for t in tables if t is not None), key=program.dual_value, default=None)
            engine = WorkingSetSolver(time_limit=seconds_left(run), multipliers=known, **common)
            return engine.steps(program, callback, run.best)

        # With a likelihood term the rows are curved, and the proximal method is far ahead.
        dense_too = program.margins.n_parameters <= DENSE_PARAMETERS
        step, curved, quick = iteration_seconds(program), bool(program.linear.any()), _is_quick(program)
        first = ResumableLink(
            FirstOrderSolver.name,
            run,
            first_order,
            first_turn=BRIEF * step if quick else min(expected_warm_seconds(program), LONGEST_WARM),
            first_steps=LOOK if quick else 0,
            pause=max(WARM_GAP, self.rel_gap),
            closing=run.closing,
        )
        links: list[ChainLink] = [first]
        if program.is_linear:
            links.append(AnewLink(LinearFormSolver(**common), program, run, eager=True))
        else:
            waits = WHOLE * step if quick else 0.0
            links.append(ResumableLink(ProximalNewtonSolver.name, run, proximal_newton, behind=waits))
            if dense_too:
                waits = 0.0 if quick else AHEAD * step
                dense = ResumableLink(
                    InteriorPointSolver.name, run, interior_point, step=step, reserve=curved, behind=waits
                )
                links.append(dense)
                if program.gamma is not None and not curved:
                    links.append(ResumableLink(WorkingSetSolver.name, run, working_set, step=step, reserve=True))
        if program.size.nonzeros <= CONE_NONZEROS and ClarabelSolver.is_available():
            least = CONE_SECONDS + CONE_SECONDS_AN_ENTRY * program.size.nonzeros
            links.append(AnewLink(ClarabelSolver(**common), program, run, least=least, reserve=len(links) > 1))
        return links

    def _keep_proof(self, run: ConvexRun, links: list[ChainLink]) -> None:
        """The multipliers of the best bound, which came without them."""
        best = run.bounds.dual_bound
        for link in links:
            table = link.multipliers
            if table is not None and best is not None and run.program.dual_value(table) >= best - 1e-9 * abs(best):
                run.multipliers = table
                return


def _hand_over(links: Sequence[ChainLink], run: ConvexRun, quick: bool) -> None:
    """Once the point is good, the working set goes first, in place of an interior point on all samples.

    An interior point that is well under way on all samples is as far, and would have to begin anew; while the proximal
    method comes near, it waits for longer. One whose iterations are quick goes first unless the first-order method came
    near at once; how long they really take is seen when it has begun.
    """
    named = {link.name: link for link in links}
    last, dense = named.get("working_set"), named.get("interior_point")
    if last is None or dense is None:
        return
    if quick:
        proximal = named["proximal_newton"]
        if dense.tries:
            proximal.behind = max(proximal.behind, WHOLE * dense.step)
        elif run.bounds.gap_rel <= NEARLY_GOOD_GAP:
            proximal.behind, dense.behind = 0.0, FURTHER_AHEAD * dense.step
        return
    if not last.reserve or dense.spent > UNDER_WAY * dense.step:
        return
    gap = run.bounds.gap_rel
    dense.behind = (AHEAD if gap > NEARLY_GOOD_GAP else FURTHER_AHEAD) * dense.step
    if gap <= GOOD_GAP:
        last.reserve, dense.reserve = False, True
        named["proximal_newton"].behind = FURTHER_AHEAD * dense.step


def _is_quick(program: ConvexProgram) -> bool:
    """Whether the interior point goes first."""
    from .interior_point import iteration_seconds

    held_alone = not program.is_linear and not program.linear.any()
    return held_alone and program.margins.n_parameters <= DENSE_PARAMETERS and iteration_seconds(program) <= QUICK


def seconds_left(run: ConvexRun) -> float | None:
    """Time limit of a link that begins now."""
    return None if run.budget.limit is None else run.budget.left()


def _ending(links: Sequence[ChainLink], limited: bool) -> TerminationStatus:
    """What the last link says that ended by itself; the limit, where one of them would have gone on."""
    if limited and not all(link.gave_up for link in links):
        return TerminationStatus.TIME_LIMIT
    said = [link.status for link in links if link.gave_up and link.status is not None]
    return said[-1] if said else TerminationStatus.SLOW_PROGRESS
