"""One call of branch and cut: layout, root, tree, and how it ends."""

import math
from functools import partial
from typing import Any

import numpy as np

from ...._arrays import FloatArray
from ...._budget import leaving_when
from ....programs.choice import ChoiceProgram
from ....programs.lagrangian import find_hub
from ....programs.tree_log import TreeStore
from ....programs.tree_proof import TreeProof
from ....results.proof import Proof
from ....results.status import TerminationStatus
from ...base import Solver, SolverCallback, SolverResult
from ...ending import Tolerances
from ...journal import Journal
from ._effort import round_steps
from ._incumbent import Incumbent
from ._keeping import Keeper
from ._pool import RowPool, Slots
from ._race import Race
from ._rehearsal import MANY_PARTS, Rehearsal, rehearse
from ._root import RootPoint, root_rounds
from ._search import Search
from ._settings import WIDE_ROOT_GAP, Branching, SearchSettings, few_groups, many_groups
from .clusters import ClusterSeparator

__all__ = ["Run"]

REPORT_SEC = 0.5
"""How often the bound of the open boxes is reported when nothing else happens."""


class Run(Journal):
    """Journal of one call, with the layout, the root and the tree of its search."""

    def __init__(
        self, solver: Solver, program: ChoiceProgram, callback: SolverCallback | None, store: TreeStore | None
    ) -> None:
        super().__init__(solver, callback)
        self.keeper = None if store is None else Keeper(store, program)
        options = dict(solver.options)
        groups = options.pop("groups", None)
        parts = 0 if program.term is None else program.term.n_parts
        self.program = program
        self.more_groups = many_groups(parts) if groups is None else 0
        if groups is None:
            groups = few_groups(parts)
        self.max_root_rounds = int(options.pop("root_rounds", 1000))
        self.node_limit = options.pop("node_limit", None)
        self.settings = SearchSettings.of(solver, options, others=("groups", "root_rounds", "node_limit"))
        self.race: Race | None = None
        self.root: RootPoint | None = None
        self._written_root: RootPoint | None = None
        self.reported = -math.inf
        self.primal: float | None = None
        self._lay_out(int(groups))
        self.constant = self.tree.constant  # one for all layouts: sums of other groups differ in the last digits
        self._next_report = REPORT_SEC

    def _lay_out(self, groups: int, known: FloatArray | None = None) -> None:
        """Everything that depends on the number of groups; `known` is the best point so far."""
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
        self.incumbent.resume(known)

    def counts(self) -> tuple[int | None, int | None]:
        """Boxes and pivots."""
        return (0, 0) if self.race is None else self.race.counts()[:2]

    def _news(self, x: FloatArray, loss: float) -> None:
        value = self.program.value(x)  # in the program's own grouping: sums of groups differ in the last digits
        self.primal = value if self.primal is None else min(self.primal, value)
        if self.keeper is not None:
            self.keeper.found(value, self.program.choice(x), self.budget.elapsed())
        self._note("incumbent", x)

    def _note(self, event: str, x: FloatArray | None = None) -> None:
        self.enter(event, primal=self.primal, dual=self._dual())
        self._write_down()
        self.tell(x)

    def _write_down(self) -> None:
        """Where the run stands, into the tree file."""
        if self.keeper is not None:
            boxes, pivots = self.counts()
            self.keeper.stands(self.primal, self._dual(), boxes or 0, pivots or 0, self.budget.elapsed())

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
        # Passes over few samples end soon, and what they were for is worth more than the time.
        long = self.program.term is not None and self.program.term.n_parts > MANY_PARTS
        with self.until_ended() as ends, leaving_when(lambda: long and self.budget.over()):
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
        if self.keeper is not None and self.keeper.replay.begun:
            return self._go_on(self.keeper)
        if self.term is None and self.hub is not None:
            self._begin_writing()
            self._branch_at_root(np.zeros(0, dtype=np.int64), np.zeros(0))
            if self.tree.value >= self.incumbent.cutoff():
                self.tree.close()
                self.stats = {
                    "root_bound": self.tree.value + self.constant,
                    "root_rounds": 0,
                    "root_sec": self.budget.elapsed(),
                }
                return "closed by a maximum branching"
        rehearsal = rehearse(self.pool, self.incumbent.x, budget=self.budget, check=self.check)
        if rehearsal is not None and rehearsal.gap > WIDE_ROOT_GAP and self.more_groups > self.pool.n_groups:
            self._lay_out(self.more_groups, known=self.incumbent.x)
            rehearsal = rehearse(self.pool, self.incumbent.x, budget=self.budget, check=self.check)
        self._solve_root(rehearsal)
        if self._wants_more_groups():
            self._lay_out(self.more_groups, known=self.incumbent.x)
            self._solve_root(rehearsal)
        root = self.root
        if self.tree.bound == math.inf:
            self.tree.close()
            return "no choice keeps all side constraints"
        if root is None:
            self.check()
            return "the root program could not be solved"
        self._begin_writing()
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
        return self._begin_tree(rules)

    def _begin_writing(self) -> None:
        """What is proved of the root from here on goes into the tree file, what was proved of it before anew."""
        if self.keeper is None:
            return
        before, root = self.tree.value, self.root
        self._written_root = root
        self.keeper.begin_again()
        self.tree.write_to(self.keeper.log)
        if root is not None:
            self.tree.prove(root.slots, root.lam)
            if self.hub is not None and before > self.tree.value:
                self.tree.prove_by_branching(root.slots, root.lam, self.hub)

    def _go_on(self, keeper: Keeper) -> str:
        """Take the tree up where it was left."""
        replay = keeper.replay
        assert replay.n_groups is not None
        assert replay.root is not None
        if replay.n_groups != self.pool.n_groups:
            self._lay_out(replay.n_groups, known=self.incumbent.x)
        keeper.check_layout(self.pool)
        if replay.incumbent is not None:
            self.incumbent.offer(self.program.vector(replay.incumbent.choice.astype(np.intp)))
        self._binding, self._gap = keeper.root_rows(self.pool), replay.root["gap"] or 1.0
        rule: Branching | None = replay.root["branching"]
        rules: tuple[Branching, ...] = ("dual", "mixture") if rule is None else (rule,)
        start = replay.at_root
        assert start is not None
        if rule is None:  # a second tree may still be the better one
            self._spare = self.pool.fork()
            self._spare.proof.begin_at(start.value, start.allowed, keeper.second())
            self._write_root(self._spare, None)
        self.tree.go_on(replay.ledger, keeper.log)
        self._report(self.tree.bound)
        if not replay.ledger.n_open:
            return "tree exhausted before"
        search = self._searcher(self.pool, rules[0])
        search.resume(replay.origins, self._binding)
        others = iter([search])
        self.race = Race(
            lambda rule: next(others, None) or self._searcher(self._spare, rule), rules, self.budget.limit, start.value,
            self._kept,
        )  # fmt: skip
        return self._search_tree()

    def _begin_tree(self, rules: tuple[Branching, ...]) -> str:
        """Search by one rule, or by the better one of two."""
        self._spare = self.pool.fork() if len(rules) > 1 else self.pool
        for pool in {id(pool): pool for pool in (self.pool, self._spare)}.values():
            self._write_root(pool, rules[0] if len(rules) == 1 else None)
        pools = iter((self.pool, self._spare))
        self.race = Race(
            lambda rule: self._searcher(next(pools), rule), rules, self.budget.limit, self.tree.value, self._kept
        )
        return self._search_tree()

    def _search_tree(self) -> str:
        """To the end, or to a limit."""
        assert self.race is not None
        for bound in self.race.run():
            if self.budget.elapsed() >= self._next_report:
                self._next_report = self.budget.elapsed() + REPORT_SEC
                self._report(min(bound, self.race.leader.proof.closed))
            self.check()
            if self.node_limit is not None and self.race.counts()[0] >= self.node_limit:
                return "node limit"
        return "tree exhausted"

    def _searcher(self, pool: RowPool, rule: Branching) -> Search:
        """A search from the root."""
        recall = None if self.keeper is None else partial(self.keeper.rows_at, pool=pool)
        search = Search(self.program, pool, pool.proof, self.settings, self.incumbent, self.check, rule, recall)
        search.start(self._binding, self._gap)
        return search

    def _write_root(self, pool: RowPool, rule: Branching | None) -> None:
        """What the tree of a pool begins with, and the rule of branching, once it is decided."""
        if pool.proof.log is not None:
            pool.proof.log.root(self._gap, rule, pool.proof.store, self._binding)

    def _kept(self, search: Search) -> None:
        """Of two trees one goes on: what was held back of it is written."""
        log = search.proof.log
        if self.keeper is not None and log is not None:
            log.keep()
            self._write_root(search.pool, search.rule)
            self.keeper.take(log)

    def _wants_more_groups(self) -> bool:
        """A wide gap at the root takes a large tree, in which tighter cuts pay for dearer pivots."""
        if self.root is None or self.term is None or len(self.term.upper) >= self.more_groups:
            return False
        gap = self.incumbent.loss - self.tree.value
        return WIDE_ROOT_GAP * abs(self.incumbent.loss + self.constant) < gap < math.inf

    def _solve_root(self, rehearsal: Rehearsal | None) -> None:
        self.root = None  # a point of an earlier layout numbers other rows
        points, rows = ((), ()) if rehearsal is None else (rehearsal.points, rehearsal.rows)
        rounds = root_rounds(
            self.pool, self.tree.allowed, self.incumbent.x, budget=self.budget, points=points, rows=rows
        )
        count, reported = 0, -math.inf
        for point in rounds:
            count += 1
            self.root = point
            self.incumbent.effort.search += round_steps(self.term, point.x, self.pool.n_groups)
            self.tree.prove(point.slots, point.lam)
            if count == 1:
                reported = self.tree.value
                self._report(reported)  # before the heuristic, which may take long on many samples
            if rehearsal is not None and self.hub is not None and count in (1, 4, 16):
                self._branch_at_root(point.slots, point.lam)
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

    def _branch_at_root(self, slots: Slots, lam: FloatArray) -> None:
        """Bound the root by maximum branchings too, and take the structure that attains the minimum as a start."""
        assert self.hub is not None
        choice = self.tree.prove_by_branching(slots, lam, self.hub)
        if choice is not None:
            self.incumbent.offer(self.program.vector(choice))
            self._report(self.tree.value)

    def _finish(self, status: TerminationStatus, raw: str) -> SolverResult:
        if self.race is not None:
            self.race.settle()
        elif self.keeper is not None and self.root is not self._written_root:
            self._begin_writing()  # it ended at the root, which is all that there is to prove
            self.tree.value_counts()
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
            "families_dropped": 0 if search is None else search.frontier.dropped,
            "families_remade": 0 if search is None else search.frontier.remade,
            "engine": self.solver.name,
            "groups": self.pool.n_groups,
            "ties_settled": self.incumbent.settles,
            "work": self.incumbent.effort.total,
            "heuristic_share": self.incumbent.effort.heuristic / max(1.0, self.incumbent.effort.total),
        }
        if dual is not None:
            self.proof = Proof(dual, dict((self.tree if search is None else search.proof).counts))
        if self.keeper is not None:
            self._write_down()
        result = self.ending(status, raw, stats=stats)
        if self.keeper is not None:
            self.keeper.ended(result.termination_status, self.budget.elapsed())
        return result
