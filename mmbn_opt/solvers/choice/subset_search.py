"""Exact search over subsets of nodes for choice programs with a linear objective."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._arguments import whole
from ..._arrays import FloatArray
from ...exceptions import InputError, SizeLimitError
from ...programs.base import ProgramKind
from ...programs.choice import ChoiceProgram
from ...results.status import Sense, TerminationStatus
from ...results.trace import TraceRecorder
from ..base import Availability, Solver, SolverCallback, SolverResult
from ..journal import Ended, Journal
from ._subset_parts import MAX_NODES, Part, split
from ._subset_states import Layers

__all__ = ["SubsetSearch"]

_OPTIONS = {"max_states": 20_000_000, "group_size": 18}


@dataclass(frozen=True)
class SubsetSearch(Solver):
    """Breadth-first branch and bound over the sets of nodes that stand first in an order.

    With a linear objective the rest of a structure depends only on which nodes were placed, not on their order
    (Silander & Myllymaki 2006). Sets are made one node larger at a time and dropped when a lower bound of the rest
    reaches the incumbent; the bound adds the exact costs of groups of nodes (pattern databases, Yuan & Malone 2013). A
    node whose best column of all is open is placed at once. Strongly connected parts of the candidates are solved one
    by one.

    Options: ``max_states`` (20,000,000 sets kept, 24 bytes each; the search ends with status NODE_LIMIT above),
    ``group_size`` (18; a group's table has ``2^group_size`` entries).

    References
    ----------
    Malone, Yuan, Hansen & Bridges (2011), breadth-first branch and bound; Yuan & Malone (2013), JAIR 48.
    """

    name: ClassVar[str] = "subset_search"
    title: ClassVar[str] = "branch and bound over subsets of nodes, for local scores"
    licence: ClassVar[str] = "BSD-3-Clause"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.LINEAR_CHOICE})
    ignores: ClassVar[Mapping[str, str]] = {
        "threads": "it works with one",
        "seed": "nothing is random",
        "feasibility_tol": "its vectors are exact",
        "verbose": "it has no log",
    }

    @classmethod
    def availability(cls) -> Availability:
        """Always available: numba is a core dependency."""
        from importlib.metadata import version

        return Availability(True, version("mmbn-opt"))

    def solve(
        self, program: Any, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a `ChoiceProgram` without a term; see `Solver.solve`.

        Raises
        ------
        InputError
            For another kind of program, a program with a term, or an unknown option.
        SizeLimitError
            When more than 63 nodes may be on cycles with one another.
        """
        if isinstance(program, ChoiceProgram) and program.side is not None:
            raise InputError(
                f"{self.name} cannot keep side constraints that tie the choices of several nodes to one another; "
                "branch_and_cut and scip_cuts keep them, and so do highs, scip and cbc on the row form."
            )
        if not isinstance(program, ChoiceProgram) or program.term is not None:
            raise InputError(
                f"{self.name!r} solves ChoiceProgram without a term, got {type(program).__name__}; "
                "build with ProgramKind.LINEAR_CHOICE."
            )
        if unknown := sorted(set(self.options) - set(_OPTIONS)):
            raise InputError(f"{self.name} has no option {', '.join(unknown)}; known: {', '.join(sorted(_OPTIONS))}.")
        return _Run(self, program, callback).result(start)


class _Run(Journal):
    """Journal of one call."""

    def __init__(self, solver: SubsetSearch, program: ChoiceProgram, callback: SolverCallback | None) -> None:
        super().__init__(solver, callback, scale=abs(program.offset) or 1.0)
        options = {**_OPTIONS, **solver.options}
        self.max_states, self.group_size = (whole(name, options[name], 1) for name in ("max_states", "group_size"))
        self.program = program
        self.states = 0

    def counts(self) -> tuple[int | None, int | None]:
        """Sets that were kept; no iterations."""
        return self.states, None

    def _offer(self, x: FloatArray, event: str) -> None:
        if self.program.is_feasible(x):
            self.keep(x, self.program.value(x), event=event)

    def _raise_bound(self, value: float) -> None:
        primal = self.bounds.primal_bound
        raised = self.raise_bound(value if primal is None else min(value, primal))
        if raised and self.tolerances.leave_nothing(self.bounds):
            raise Ended(TerminationStatus.OPTIMAL, "the gap is closed")

    def result(self, start: FloatArray | None) -> SolverResult:
        """Search to the end, or to what ends it."""
        if start is not None:
            self._offer(self.program.polish(np.asarray(start, dtype=np.float64)), "start")
        found = True
        with self.until_ended() as ends:
            self.check()
            found = self._search()
        if not found:
            # What was a bound of the parts before bounds nothing: there is no choice at all.
            self.recorder = TraceRecorder(Sense.MINIMIZE, clock=self.budget.elapsed)
            return self.ending(TerminationStatus.INFEASIBLE, "no order of the nodes has an open column for each")
        if ends:
            return self.ending(ends[0].status, ends[0].words)
        return self.ending(TerminationStatus.OPTIMAL, "all subsets placed or dropped")

    def _search(self) -> bool:
        """Solve part after part; False when one has no acyclic choice."""
        parts = split(self.program)
        if parts[-1].size > MAX_NODES:
            raise SizeLimitError(
                f"{parts[-1].size} nodes may be on cycles with one another; {self.solver.name} takes up to "
                f"{MAX_NODES}. Use branch_and_cut or highs, or restrict the candidates."
            )
        searches = [Layers(part, self._start_of(part), self.group_size) for part in parts]
        choice = np.zeros(self.program.n_nodes, dtype=np.intp)
        for search in searches:
            self.check()
            search.prepare()
            self._raise_bound(self._total(searches))
        for search in searches:
            for _ in self._steps(search):
                self._raise_bound(self._total(searches))
            if search.columns is None:
                return False
            choice[search.part.nodes] = search.part.column[search.columns]
        self._offer(self.program.vector(choice), "incumbent")
        self._raise_bound(self._total(searches))
        return True

    def _steps(self, search: Layers) -> Iterator[None]:
        before = self.states
        for _ in search.run(self.check, self.max_states - before):
            self.states = before + search.states
            yield
        self.states = before + search.states

    def _start_of(self, part: Part) -> NDArray[np.int64] | None:
        """The columns of a part that stand for the incumbent's."""
        if self.best is None:
            return None
        chosen = self.program.choice(self.best)[part.nodes]
        inside = self.program.parents[np.ix_(chosen, part.nodes)]
        return np.array([part.same_parents(v, row) for v, row in enumerate(inside)], dtype=np.int64)

    def _total(self, searches: list[Layers]) -> float:
        return self.program.offset + math.fsum(search.bound for search in searches)
