"""Sequential unconstrained minimisation: a penalty on violations that grows until there are none."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ..._arrays import FloatArray
from ..._threads import limited_threads
from ...exceptions import InputError
from ...programs.base import ProgramKind
from ...programs.nonlinear import NonlinearProgram
from ..base import Availability, Solver, SolverCallback, SolverResult
from ._penalty_restarts import PenaltyRuns
from ._penalty_sequence import OuterRecord, PenaltySettings
from .run import checked_program

__all__ = ["ExteriorPenaltySolver", "OuterRecord"]


@dataclass(frozen=True)
class ExteriorPenaltySolver(PenaltySettings):
    """Exterior penalty method for ``min f(x)  s.t.  c(x) >= 0`` inside a box.

    Minimise ``F(x) = f(x) + M sum_i max(0, s_i - c_i(x))^2`` for growing M, each time from the last minimiser. Where
    the violation is small but not yet within `feasibility_tol`, shifts ``s_i <- max(0, s_i - c_i)`` finish what a
    penalty alone would only reach with infinite M (Powell 1969; ``2 M s`` are the multipliers).

    When the program has targets that may be raised, they are multiplied by their growth each time all constraints hold.
    Unguarded that sequence diverges; so the best point is kept at every iterate. Raised targets that are not met within
    `patience` outer iterations are tried once more from the best point with the square root of the growth, and again,
    until that is below 1.5; then the run ends. So do `patience` outer iterations without a better validation score.

    Parameters
    ----------
    inner : {"lbfgs", "golden-section"}
        Method for F: limited-memory BFGS, or gradient descent with golden-section search (Algorithm 2 of the paper).
    penalty, penalty_growth : float
        First M and its factor beta.
    nearly : float
        Sum of squared violations below which shifts take over from the growth of M.
    shifts : bool
        Without them only M grows, as printed.
    gradient_tol : float
        At which an inner run has converged.
    max_outer, max_inner : int
        Outer iterations, and inner iterations in each.
    max_iterations : int or None
        Inner iterations altogether: a way to stop early.
    patience : int
    rel_progress : float
        While constraints are violated or targets are still raised, an inner run ends when 20 iterations together lower
        F by less than this share: a precise minimum for a penalty that is about to change is work for nothing. 0 runs
        each to `gradient_tol`.
    restarts : int
        Further runs, each from the best point so far with a tenth of its coordinates drawn anew from the box; what they
        find replaces the answer only if it is better. There are none without a box, with validation data, or after an
        iteration limit.
    options : mapping
        Any of the above by name.

    Notes
    -----
    ``stats["outer"]`` holds one `OuterRecord` an outer iteration, and ``stats["targets_met"]`` the largest factor of
    the schedule at which all constraints hold at the answer (None when they do not even hold at 1).

    References
    ----------
    Guo, Liu, Guo, Li, Geng 2018, Algorithms 1-2 and section 4.1.2. Fiacco, McCormick 1990.

    Examples
    --------
    The point of ``x >= 1`` nearest to 0:

    >>> import numpy as np
    >>> from mmbn_opt.programs import NonlinearProgram
    >>> program = NonlinearProgram(lambda x: (float(x @ x), 2 * x), x0=np.zeros(1),
    ...                            constraints=lambda x: x - 1, jacobian=lambda x: np.eye(1), n_constraints=1)
    >>> result = ExteriorPenaltySolver().solve(program)
    >>> result.termination_status, result.solution.round(5).tolist()
    (TerminationStatus.LOCALLY_OPTIMAL, [1.0])
    """

    name: ClassVar[str] = "exterior_penalty"
    ignores: ClassVar[Mapping[str, str]] = {
        "rel_gap": "no bound is known, so there is no gap to stop at",
        "abs_gap": "as rel_gap",
        "verbose": "there is no log beside the trace",
    }
    title: ClassVar[str] = "Exterior penalty method"
    licence: ClassVar[str] = "BSD-3-Clause"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.NONLINEAR})

    @classmethod
    def availability(cls) -> Availability:
        """Always available: scipy is a core dependency, and its optimizers load when one is called."""
        from importlib.metadata import version

        return Availability(True, version("scipy"))

    def solve(
        self, program: NonlinearProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise `program`; see `Solver.solve`."""
        settings = self._with_options()
        runs = PenaltyRuns(settings, checked_program(program, self), callback)
        # The matrices of L-BFGS are tiny: more threads than asked for only wait for each other.
        with limited_threads(self.threads, "blas"):
            return runs.solve(start)

    def _with_options(self) -> "ExteriorPenaltySolver":
        known = set(self.__dataclass_fields__) - set(Solver.__dataclass_fields__)
        unknown = sorted(set(self.options) - known)
        if unknown:
            raise InputError(f"{self.name!r} has no options {unknown}; it takes {sorted(known)}.")
        return replace(self, options={}, **self.options) if self.options else self
