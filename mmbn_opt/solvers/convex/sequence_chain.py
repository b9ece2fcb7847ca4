"""Solvers that share the time on programs over sequences: what ``auto`` runs on them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...programs.base import ProgramKind
from ...programs.chain_program import ChainProgram
from ..base import SolverCallback
from ._chain_links import AnewLink, ChainLink, ResumableLink
from .chain import ConvexChainSolver, seconds_left
from .run import ConvexRun

__all__ = ["SequenceChainSolver"]

WARM_GAP = 1e-2
"""Relative gap at which the first-order method lets the interior point begin."""
PASSES, LONGEST_WARM = 400, 20.0
"""Of the first-order method before that, at most, and their seconds."""
FEW_ENTRIES = 500
"""Parameters up to which constraint generation takes over where the interior point gives up."""
A_TRANSITION, A_SYMBOL = 3e-9, 2e-9
"""Seconds that a pass takes for each, about."""


@dataclass(frozen=True)
class SequenceChainSolver(ConvexChainSolver):
    """First-order method, then an interior point on a lattice of labellings; for a linear form constraint generation.

    The first-order method leads to a gap of a hundredth, for which it needs the fewest passes, or has the first
    seconds; the interior point goes on from there. Where that has no room, or gives up, the first-order method goes
    on, on small programs constraint generation.
    """

    name: ClassVar[str] = "sequence_chain"
    title: ClassVar[str] = "Chain of solvers for sequences"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.SEQUENCE})

    def _links(self, program: ChainProgram, run: ConvexRun) -> list[ChainLink]:
        from .constraint_generation import ConstraintGenerationSolver
        from .first_order import FirstOrderSolver
        from .lattice_interior_point import LatticeInteriorPointSolver

        common: dict[str, Any] = {
            "rel_gap": self.rel_gap,
            "abs_gap": self.abs_gap,
            "threads": self.threads,
            "seed": self.seed,
        }
        if program.is_linear:
            return [AnewLink(ConstraintGenerationSolver(**common), program, run)]

        def first_order(callback: SolverCallback) -> Any:
            return FirstOrderSolver(time_limit=seconds_left(run), **common).steps(program, callback, run.best)

        def interior_point(callback: SolverCallback) -> Any:
            first.reserve = True  # until the other has given up
            engine = LatticeInteriorPointSolver(time_limit=seconds_left(run), multipliers=first.multipliers, **common)
            return engine.steps(program, callback, run.best)

        first = ResumableLink(
            FirstOrderSolver.name,
            run,
            first_order,
            first_turn=float(np.clip(PASSES * _pass_seconds(program), 0.1, LONGEST_WARM)),
            pause=max(WARM_GAP, self.rel_gap),
        )
        links: list[ChainLink] = [first, ResumableLink(LatticeInteriorPointSolver.name, run, interior_point)]
        if program.chains.n_parameters <= FEW_ENTRIES and ConstraintGenerationSolver.is_available():
            links.append(AnewLink(ConstraintGenerationSolver(**common), program, run, eager=True, reserve=True))
        return links


def _pass_seconds(program: ChainProgram) -> float:
    """About what a forward-backward pass takes."""
    chains, k = program.chains, program.chains.n_labels
    looked_up = chains.n_positions * len(chains.index.width)
    return A_TRANSITION * chains.n_positions * k * k + A_SYMBOL * looked_up * k
