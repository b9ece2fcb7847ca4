"""Branch and cut over choice programs: root by cutting planes, tree by compiled dual simplex, every bound re-proved."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from ...._arrays import FloatArray
from ...._threads import limited_threads
from ....exceptions import InputError
from ....programs.base import ProgramKind
from ....programs.choice import ChoiceProgram
from ....programs.lagrangian import find_hub
from ....programs.tree_proof import TreeProof
from ....results.proof import Proof
from ....results.status import TerminationStatus
from ...base import Availability, Solver, SolverCallback, SolverResult
from ...ending import Tolerances
from ...journal import Journal
from ._effort import cut_steps
from ._incumbent import Incumbent
from ._pool import RowPool, Slots
from ._race import Race
from ._root import RootPoint, root_rounds
from ._search import Search
from ._settings import Branching, SearchSettings
from .clusters import ClusterSeparator

__all__ = ["BranchAndCut"]

WIDE_ROOT_GAP = 0.05
"""As a share of the objective: from there on more groups are used."""

MANY_SAMPLES = 1800
"""Above, a pass over the samples costs more than a pivot, and few rounds of many cuts cost less than many of few."""

REPORT_SEC = 0.5
"""How often the bound of the open boxes is reported when nothing else happens."""


def few_groups(n_parts: int) -> int:
    """Groups of (merged) samples, each with a loss of its own: more make cuts tighter and every pivot dearer."""
    return 48 if n_parts < MANY_SAMPLES else min(max(96, n_parts // 64), 200)


def many_groups(n_parts: int) -> int:
    """Groups where the gap at the root is above `WIDE_ROOT_GAP`."""
    return min(max(96, n_parts // 32), 400)


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

    Options: ``groups`` (48; 96 to 400 where the gap at the root is wide or merged samples are many), ``root_rounds``
    (1000), ``node_limit``, and the fields of `SearchSettings`.

    References
    ----------
    Ben-Ameur & Neto (2007), in-out cutting planes; Cussens (2011) and Jaakkola et al. (2010), cluster rows.
    """

    name: ClassVar[str] = "branch_and_cut"
    title: ClassVar[str] = "compiled branch and cut on the structure columns"
    licence: ClassVar[str] = "BSD-3-Clause"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.IMPLICIT_CONCAVE, ProgramKind.LINEAR_CHOICE})
    at_limit: ClassVar[str] = "stops itself; the bound of every open box is proved anew"
    ignores: ClassVar[Mapping[str, str]] = {
        "feasibility_tol": "every incumbent is a whole structure and feasible as such",
        "verbose": "its log is the trace, which `solve` writes",
    }

    @classmethod
    def availability(cls) -> Availability:
        """Always available: HiGHS and numba are core dependencies."""
        from importlib.metadata import version

        return Availability(True, version("mmbn-opt"))

    def solve(
        self, program: Any, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise a `ChoiceProgram`; see `Solver.solve`."""
        if not isinstance(program, ChoiceProgram):
            raise InputError(
                f"{self.name!r} solves ChoiceProgram, got {type(program).__name__}; "
                "build with ProgramKind.IMPLICIT_CONCAVE."
            )
        # Linear algebra by one thread: more would round otherwise, and a machine's other core is not ours unasked.
        with limited_threads(1, "blas"):
            return _Run(self, program, callback).result(start)


class _Run(Journal):
    """Journal of one call, with the layout, the root and the tree of its search."""

    def __init__(self, solver: BranchAndCut, program: ChoiceProgram, callback: SolverCallback | None) -> None:
        super().__init__(solver, callback)
        options = dict(solver.options)
        groups = options.pop("groups", None)
        parts = 0 if program.term is None else program.term.n_parts
        self.program = program
        self.more_groups = many_groups(parts) if groups is None else 0
        if groups is None:
            groups = few_groups(parts)
        self.max_root_rounds = int(options.pop("root_rounds", 1000))
        self.node_limit = options.pop("node_limit", None)
        known = {f.name for f in fields(SearchSettings)}
        if unknown := sorted(set(options) - known):
            every = ", ".join(sorted(known | {"groups", "root_rounds", "node_limit"}))
            raise InputError(f"{solver.name} has no option {', '.join(unknown)}; known: {every}.")
        self.settings = SearchSettings(**{"seed": solver.seed, **options})
        self.race: Race | None = None
        self.root: RootPoint | None = None
        self.reported = -math.inf
        self.primal: float | None = None
        self._lay_out(int(groups))
        self.constant = self.tree.constant  # one for all layouts: sums of other groups differ in the last digits
        self._next_report = REPORT_SEC

    def _lay_out(self, groups: int) -> None:
        """Everything that depends on the number of groups."""
        term = self.program.term
        self.term = None if term is None else term.regrouped(groups, self.solver.threads)
        self.tree = TreeProof(self.program, self.term)
        self.tolerances = Tolerances.of(self.solver, abs(self.tree.constant) or 1.0)
        self.hub = find_hub(self.tree.offsets, self.program.parents)
        linked = self.hub is not None and self.program.A.shape[0] > 0
        hub = self.hub if linked else None
        separator = ClusterSeparator(self.tree.offsets, self.program.parents, hub, self.budget.left)
        self.pool = RowPool(self.program, self.term, separator, self.tree)
        # Without a term one rule branches, and equivalent structures, which are worth the same, are too many.
        settles = self.term is not None and self.solver.rel_gap == 0.0 and self.solver.abs_gap == 0.0
        self.incumbent = Incumbent(
            self.pool, self.tree.constant, self.tolerances, self._news, self.budget, settles
        )  # fmt: skip
        self.incumbent.effort.factor = self.settings.heuristic

    def counts(self) -> tuple[int | None, int | None]:
        """Boxes and pivots."""
        return (0, 0) if self.race is None else self.race.counts()[:2]

    def _news(self, x: FloatArray, loss: float) -> None:
        value = self.program.value(x)  # in the program's own grouping: sums of groups differ in the last digits
        self.primal = value if self.primal is None else min(self.primal, value)
        self._note("incumbent", x)

    def _note(self, event: str, x: FloatArray | None = None) -> None:
        self.enter(event, primal=self.primal, dual=self._dual())
        self.tell(x)

    def _dual(self) -> float | None:
        if not math.isfinite(self.reported):
            return None
        dual = self.reported + self.constant
        return dual if self.primal is None else min(dual, self.primal)

    def _report(self, bound: float) -> None:
        self.reported = max(self.reported, min(bound, self.incumbent.loss))
        self._note("bound")

    def result(self, start: FloatArray | None) -> SolverResult:
        """Search to the end, or to what ends it."""
        with self.until_ended() as ends:
            raw = self._run(start)
        if not ends:
            return self._finish(TerminationStatus.NODE_LIMIT if raw == "node limit" else TerminationStatus.OPTIMAL, raw)
        end = ends[0]
        if end.abrupt:
            # The interrupt may have struck while a box changed hands: only what was published before counts.
            return self._answer(end.status, end.words, self.incumbent.x)
        return self._finish(end.status, end.words)

    # The algorithm.

    def _run(self, start: FloatArray | None) -> str:
        if start is not None:
            self.incumbent.offer(start[: self.program.n_columns])
        if not self.tree.feasible:
            return "infeasible: forced edges form a cycle, or break a side constraint"
        if self.term is None and self.hub is not None:
            self._branch_at_root(np.zeros(0, dtype=np.int64), np.zeros(0))
            if self.tree.value >= self.incumbent.cutoff():
                self.tree.close()
                self.stats = {
                    "root_bound": self.tree.value + self.constant,
                    "root_rounds": 0,
                    "root_sec": self.budget.elapsed(),
                }
                return "closed by a maximum branching"
        self._solve_root()
        if self._wants_more_groups():
            known = self.incumbent.x
            self._lay_out(self.more_groups)
            self.incumbent.resume(known)
            self._solve_root()
        root = self.root
        if self.tree.bound == math.inf:
            self.tree.close()
            return "no choice keeps all side constraints"
        if root is None:
            self.check()
            return "the root program could not be solved"
        limit = self.incumbent.limit(self.tree.allowed)
        gap = limit - self.tree.value
        if gap <= 0 or not self.tree.fix(limit):
            self.tree.close()
            return "closed at the root"
        if math.isinf(gap):
            gap = max(1.0, abs(self.tree.value))
        self._binding, self._gap = root.slots[root.lam > 1e-9], gap
        rules: tuple[Branching, ...] = ("dual", "mixture")
        if self.settings.branching != "race":
            rules = (self.settings.branching,)
        elif self.term is None:
            rules = ("dual",)
        self._spare = self.pool.fork() if len(rules) > 1 else self.pool
        self.race = Race(self._enter, rules, self.budget.limit)
        for bound in self.race.run():
            if self.budget.elapsed() >= self._next_report:
                self._next_report = self.budget.elapsed() + REPORT_SEC
                self._report(min(bound, self.race.leader.proof.closed))
            self.check()
            if self.node_limit is not None and self.race.counts()[0] >= self.node_limit:
                return "node limit"
        return "tree exhausted"

    def _enter(self, rule: Branching) -> Search:
        """A search from the root."""
        pool, self._spare = self._spare, self.pool
        search = Search(self.program, pool, pool.proof, self.settings, self.incumbent, self.check, rule)
        search.start(self._binding, self._gap)
        return search

    def _wants_more_groups(self) -> bool:
        """A wide gap at the root takes a large tree, in which tighter cuts pay for dearer pivots."""
        if self.root is None or self.term is None or len(self.term.upper) >= self.more_groups:
            return False
        gap = self.incumbent.loss - self.tree.value
        return WIDE_ROOT_GAP * abs(self.incumbent.loss + self.constant) < gap < math.inf

    def _solve_root(self) -> None:
        self.root = None  # a point of an earlier layout numbers other rows
        tolerance = 1e-7
        rounds = root_rounds(self.pool, self.tree.allowed, self.incumbent.x, budget=self.budget, tolerance=tolerance)
        count, reported = 0, -math.inf
        for point in rounds:
            count += 1
            self.root = point
            self.incumbent.effort.search += self._round_steps(point.x)
            self.tree.prove(point.slots, point.lam)
            if count in (1, 4, 16) or point.done:
                self.incumbent.consider(point.x)
            gap = self.incumbent.loss - self.tree.value
            if self.tree.value - reported > 0.01 * gap or point.done:
                reported = self.tree.value
                self._report(self.tree.value)
            self.check()
            if count >= self.max_root_rounds or gap <= self.incumbent.loss - self.incumbent.cutoff():
                break
        if self.root is not None and self.hub is not None:
            self._branch_at_root(self.root.slots, self.root.lam)
        if self.root is None and self.stats:
            return  # no time was left for a round: what the earlier layout found stands
        bound = None if self.root is None else self.tree.value + self.constant
        self.stats = {"root_bound": bound, "root_rounds": count, "root_sec": self.budget.elapsed()}

    def _round_steps(self, x: FloatArray) -> float:
        """A round at the root, in steps: two passes, and pivots by the rows that there may be."""
        pivoting = 4.0 * len(x) * self.pool.n_groups**2
        return cut_steps(self.term, int(np.count_nonzero(x)), len(x), passes=2) + pivoting

    def _branch_at_root(self, slots: Slots, lam: FloatArray) -> None:
        """Bound the root by maximum branchings too, and take the structure that attains the minimum as a start."""
        assert self.hub is not None
        choice = self.tree.prove_by_branching(slots, lam, self.hub)
        if choice is not None:
            self.incumbent.offer(self.program.vector(choice))
            self._report(self.tree.value)

    def _finish(self, status: TerminationStatus, raw: str) -> SolverResult:
        incumbent = self.incumbent
        proof = self.tree if self.race is None else self.race.leader.proof
        emptied = status is TerminationStatus.OPTIMAL and math.isinf(proof.bound)
        if incumbent.x is None and (emptied or (not proof.feasible and self.race is None)):
            return self._answer(TerminationStatus.INFEASIBLE, raw, None)
        bound = min(proof.bound, incumbent.loss)
        # Bounds of single boxes that were stopped half-way can be below what was reported already.
        self.reported = max(self.reported, bound) if math.isfinite(bound) else self.reported
        proved = self.reported >= incumbent.cutoff()
        if status is TerminationStatus.OPTIMAL and not proved:
            status = TerminationStatus.NUMERICAL_ERROR
        elif proved and status in (TerminationStatus.TIME_LIMIT, TerminationStatus.NODE_LIMIT):
            status = TerminationStatus.OPTIMAL  # it was among ties that the limit struck
        return self._answer(status, raw, incumbent.x)

    def _answer(self, status: TerminationStatus, raw: str, x: FloatArray | None) -> SolverResult:
        dual = self._dual()
        search = None if self.race is None else self.race.leader
        self.best = x
        self.enter("bound", primal=self.primal, dual=dual)
        stats: dict[str, Any] = {
            "children": 0 if self.race is None else self.race.counts()[2],
            "branching": None if self.race is None else self.race.rule,
            "families_dropped": 0 if search is None else search.dropped,
            "families_remade": 0 if search is None else search.remade,
            "engine": self.solver.name,
            "groups": self.pool.n_groups,
            "ties_settled": self.incumbent.settles,
            "work": self.incumbent.effort.total,
            "heuristic_share": self.incumbent.effort.heuristic / max(1.0, self.incumbent.effort.total),
        }
        if dual is not None:
            self.proof = Proof(dual, dict((self.tree if search is None else search.proof).counts))
        return self.ending(status, raw, stats=stats)
