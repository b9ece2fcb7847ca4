"""An interior point on a growing lattice of labellings: six digits on label sequences."""

from dataclasses import dataclass, field
from typing import ClassVar

from scipy.linalg import LinAlgError

from ..._arguments import checked_number, whole
from ..._arrays import FloatArray
from ..._budget import leaving_when
from ...exceptions import InputError, SizeLimitError
from ...programs.base import ProgramKind
from ...programs.chain_program import ChainProgram
from ...programs.labellings import mixed_labellings
from ...programs.lattice import LabellingLattice, edges_near_best
from ...results.status import TerminationStatus
from ..base import SolverCallback
from ..journal import Ended
from ._built_in import SteppedSolver, Steps
from ._lattice_state import LatticeState
from ._patience import Patience
from .run import ConvexRun

__all__ = ["LatticeInteriorPointSolver"]

NO_LONGER = 1e-9
"""A step so short is none."""
MOST_WORK = 2e11
"""Multiplications an iteration, at most."""
SPEED = 5e9
"""Multiplications a second."""


@dataclass(frozen=True)
class LatticeInteriorPointSolver(SteppedSolver):
    """Mehrotra's method on the flow form of a program over sequences, restricted to labellings that nearly win.

    Some labels of each position and some steps between them span a lattice; distributions over its labellings are
    flows, and Newton's systems are dense in the detours of the lattice or in the parameters, whichever are fewer. Edges
    of labellings that are ahead of those of the lattice, or nearly so, join after each step. Points are valued by
    Viterbi's algorithm on all labellings, and flows on the lattice are distributions over all, so that point and bound
    are those of the whole program.

    Parameters
    ----------
    width : float
        The first lattice has the edges of labellings that are behind the best by this share of gamma.
    max_iterations : int
    max_dense : int
        Largest dense system.
    multipliers : float64 array or None
        Distributions over labellings that another method has found; see `mmbn_opt.programs.labellings`.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.SequenceDataset.from_lists(["aab", "abb", "bba"] * 3, ["XXY", "XYY", "YXX"] * 3)
    >>> result = LatticeInteriorPointSolver(rel_gap=1e-6).solve(mm.SequenceMaxMargin(data, gamma=1.0).build())
    >>> result.termination_status, result.iterations < 20
    (TerminationStatus.OPTIMAL, True)
    """

    width: float = 0.3
    max_iterations: int = 200
    max_dense: int = 8000
    multipliers: FloatArray | None = field(default=None, repr=False, compare=False)

    dense: ClassVar[bool] = True
    name: ClassVar[str] = "lattice_interior_point"
    title: ClassVar[str] = "Interior point on a lattice of labellings"
    own_settings: ClassVar[str] = "width, max_iterations, max_dense, multipliers"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.SEQUENCE})

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_number("width", self.width, 0.0, open_high=True)
        whole("max_iterations", self.max_iterations, 1)
        whole("max_dense", self.max_dense, 1)

    def steps(
        self, program: ChainProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> Steps:
        """`solve`, one iteration after the other: between two of them the method can wait."""
        run = ConvexRun(self, program, callback, start)
        if program.is_linear:
            raise InputError(
                f'{self.name} needs a floor or a likelihood term; "constraint_generation" solves the published form.'
            )
        status, raw, iterations = TerminationStatus.ITERATION_LIMIT, "iteration limit", 0
        best: tuple[LabellingLattice, FloatArray] | None = None
        with run.until_ended(LinAlgError) as ends:
            if self.multipliers is not None:
                run.offer_multipliers(self.multipliers)
            if not run.should_stop():
                assert run.best is not None
                gamma = program.best_gamma(run.best)
                keys = edges_near_best(program.chains, run.best, gamma, self.width * gamma)
                lattice = LabellingLattice(program.chains, keys)
                self._refuse_large(lattice, run)
                with leaving_when(run.budget.over):
                    state = LatticeState(program, run.best, run.bounds.gap_abs, lattice)
                patience = Patience(program.scale)
                while iterations < self.max_iterations and not run.should_stop():
                    with leaving_when(run.budget.over):
                        state.iterate()
                    iterations += 1
                    run.heartbeat(iterations)
                    if run.raise_bound(state.bound):
                        best = state.lattice, state.flow
                    run.offer(state.w)
                    if patience.is_over(state.merit) or state.step_lengths < NO_LONGER:
                        status, raw = TerminationStatus.SLOW_PROGRESS, "the gap no longer falls"
                        break
                    if run.should_stop():
                        break
                    with leaving_when(run.budget.over):
                        grown = state.grow()
                    if grown:
                        patience.begin_again()  # of another program
                    if _work(state.lattice) > MOST_WORK or _size(state.lattice) > self.max_dense:
                        status, raw = TerminationStatus.SLOW_PROGRESS, self._refusal(state.lattice)
                        break
                    yield run
        if best is not None:
            run.multipliers = _labellings(*best)
        return run.concluded(ends, status, raw, stats={"edges": 0 if best is None else len(best[0])})

    def _refuse_large(self, lattice: LabellingLattice, run: ConvexRun) -> None:
        if _work(lattice) > MOST_WORK or _size(lattice) > self.max_dense:
            raise SizeLimitError(self._refusal(lattice))
        if _work(lattice) / SPEED > run.budget.left():
            raise Ended(TerminationStatus.TIME_LIMIT, "no time for an iteration")

    def _refusal(self, lattice: LabellingLattice) -> str:
        return (
            f"{self.name} would solve dense systems of {_size(lattice):,} rows for distributions of "
            f"{lattice.n_detours:,} dimensions; its limit is max_dense={self.max_dense:,}, or fewer for many "
            'dimensions. Use "first_order", or raise the limit.'
        )


def _size(lattice: LabellingLattice) -> int:
    """Rows of the dense systems, at most."""
    return min(lattice.n_detours, lattice.chains.n_parameters)


def _work(lattice: LabellingLattice) -> float:
    """Multiplications of an iteration, about."""
    size = float(_size(lattice))
    return size**2 * (lattice.n_detours if lattice.n_detours > size else size / 3.0)


def _labellings(lattice: LabellingLattice, flow: FloatArray) -> FloatArray:
    """A flow as multipliers that anyone can prove the bound from."""
    return mixed_labellings(lattice.chains.index.starts, *lattice.mixture(flow))
