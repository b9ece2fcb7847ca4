"""Branch and cut over choice programs: root by cutting planes, tree by compiled dual simplex, every bound re-proved."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from ...._arrays import FloatArray
from ...._threads import limited_threads
from ....exceptions import InputError
from ....programs.base import ProgramKind
from ....programs.choice import ChoiceProgram
from ....programs.tree_log import TreeStore
from ...base import Availability, Solver, SolverCallback, SolverResult
from ...workers import Workers
from ._run import Run
from ._settings import SearchSettings

__all__ = ["BranchAndCut"]


@dataclass(frozen=True)
class BranchAndCut(Solver):
    """Exact search over `ChoiceProgram`.

    Root: in-out cutting planes over grouped cuts of the concave term and cluster rows, in HiGHS. Tree: best-first
    multiway branching on a node's columns; each child's linear program is solved by a revised dual simplex on top of
    its parent's tableau. Every bound, of every box closed or open, comes from `mmbn_opt.programs.tree_proof`, which is
    handed multipliers and the points of the cuts, and nothing else.

    Which rule chooses the node to branch on is decided by a race of two trees (`_race`), and how often the heuristic is
    called by a share of the work (`_effort`); both count steps and never look at the clock, so that equal runs that end
    by proof give equal answers. Where several structures attain the optimum of a concave term and ``rel_gap`` and
    ``abs_gap`` are 0, the answer is the canonical one: of two, that which takes the column of smaller number at the
    first node at which they differ, whatever branched, began or helped. What is left of such ties is searched for in
    as many boxes as a quarter of those before, 40 at least; ``stats["ties_settled"]`` says whether that was enough.

    With ``threads > 1`` so many processors search one tree: processes that it starts (`_process_crew`), or threads
    where the program is large or cannot be sent (`_crew`). Which boxes they look at then hangs on their timing; the
    optimum does not, nor the canonical structure.

    Options: the fields of `SearchSettings`, among them ``node_limit``, ``memory_limit`` and ``groups``. An unknown one,
    or a value out of its range, is an InputError when the solver is made.

    References
    ----------
    Ben-Ameur & Neto (2007), in-out cutting planes; Cussens (2011) and Jaakkola et al. (2010), cluster rows.
    """

    name: ClassVar[str] = "branch_and_cut"
    title: ClassVar[str] = "compiled branch and cut on the structure columns"
    licence: ClassVar[str] = "BSD-3-Clause"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.IMPLICIT_CONCAVE, ProgramKind.LINEAR_CHOICE})
    at_limit: ClassVar[str] = "stops itself; the bound of every open box is proved anew"
    settles_ties: ClassVar[bool] = True
    ignores: ClassVar[Mapping[str, str]] = {
        "feasibility_tol": "every incumbent is a whole structure and feasible as such",
        "verbose": "its log is the trace, which `solve` writes",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        SearchSettings.of(self)

    @classmethod
    def availability(cls) -> Availability:
        """Always available: HiGHS and numba are core dependencies."""
        from importlib.metadata import version

        return Availability(True, version("mmbn-opt"))

    def beside_good_starts(self) -> Self:
        """With a tenth of the heuristic's usual share of the work, unless options say otherwise."""
        return replace(self, options={"heuristic": 0.1, **self.options})

    def solve(
        self, program: Any, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a `ChoiceProgram`; see `Solver.solve`."""
        return self.solve_into(None, program, callback, start)

    def solve_into(
        self,
        store: TreeStore | None,
        program: Any,
        callback: SolverCallback | None = None,
        start: FloatArray | None = None,
        workers: Workers | None = None,
    ) -> SolverResult:
        """The same, with the tree written to a store as it grows, or gone on with where the store has one.

        With `workers` these search it, once it is decided which of two trees goes on.
        """
        if not isinstance(program, ChoiceProgram):
            raise InputError(
                f"{self.name!r} solves ChoiceProgram, got {type(program).__name__}; "
                "build with ProgramKind.IMPLICIT_CONCAVE."
            )
        # Linear algebra by one thread: more would round otherwise, and a machine's other core is not ours unasked.
        with limited_threads(1, "blas"):
            return Run(self, program, callback, store, workers).result(start)
