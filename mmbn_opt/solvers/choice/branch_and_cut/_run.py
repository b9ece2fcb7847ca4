"""One call of branch and cut: root, tree, and how it ends."""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from typing import Any

import numpy as np

from ...._arrays import FloatArray
from ...._budget import leaving_when
from ....programs.choice import ChoiceProgram
from ....programs.tree_log import TreeStore
from ....results.proof import Proof
from ....results.status import TerminationStatus
from ...base import Solver, SolverCallback, SolverResult
from ...journal import Ended
from ...workers import Workers
from ._coordinator import Coordinator
from ._crew import Crew
from ._effort import making_steps
from ._keeping import Keeper
from ._pace import Pace
from ._packets import Task, packed_size
from ._pool import RowPool
from ._process_crew import ProcessCrew
from ._race import Race
from ._rehearsal import MANY_PARTS, rehearse
from ._rooting import LONG_SEC, RootRun
from ._search import Search
from ._settings import LARGE_BYTES, WIDE_ROOT_GAP, Branching

__all__ = ["Run"]

REPORT_SEC = 0.5
"""How often the bound of the open boxes is reported when nothing else happens."""


class Run(RootRun):
    """A whole call: root, tree, and how it ends."""

    def __init__(
        self, solver: Solver, program: ChoiceProgram, callback: SolverCallback | None, store: TreeStore | None,
        workers: Workers | None = None,
    ) -> None:  # fmt: skip
        super().__init__(solver, program, callback, store)
        self._workers = workers
        self._finished_by = None if workers is None else self._by_workers
        self.race: Race | None = None
        self._threads = Crew(solver.threads - 1, self.budget.over)
        self._crew: Crew | ProcessCrew = self._threads
        self._hired = False
        self._coordinator: Coordinator | None = None
        self._next_report = REPORT_SEC

    def counts(self) -> tuple[int | None, int | None]:
        """Boxes and pivots."""
        return (0, 0) if self.race is None else self.race.counts()[:2]

    def result(self, start: FloatArray | None) -> SolverResult:
        """Search to the end, or to what ends it."""
        # Passes over few samples end soon, and what they were for is worth more than the time.
        long = self.program.term is not None and self.program.term.n_parts > MANY_PARTS
        with self.until_ended() as ends, leaving_when(lambda: long and self.budget.over()):
            try:
                raw = self._run(start)
            finally:
                self._crew.close()
        if not ends:
            return self._finish(TerminationStatus.NODE_LIMIT if raw == "node limit" else TerminationStatus.OPTIMAL, raw)
        end = ends[0]
        if end.abrupt:
            # The interrupt may have struck while a box changed hands: only what was published before counts.
            if self.race is None:
                self._write_root_bound()
            return self._answer(end.status, end.words, self.incumbent.x)
        return self._finish(end.status, end.words)

    # The algorithm.

    def _run(self, start: FloatArray | None) -> str:
        if start is not None:
            self.incumbent.offer(start[: self.program.n_columns])
        if not self.tree.feasible:
            return "infeasible: forced edges form a cycle, or break a side constraint"
        if self.keeper is not None and math.isfinite(self.keeper.replay.bound):
            self._report(self.keeper.replay.bound)
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
        left = self._take_up_root()
        rehearsal = None if left else rehearse(self.pool, self.incumbent.x, budget=self.budget, check=self.check)
        if rehearsal is not None and rehearsal.gap > WIDE_ROOT_GAP and self.more_groups > self.pool.n_groups:
            self._lay_out(self.more_groups, known=self.incumbent.x)
            rehearsal = rehearse(self.pool, self.incumbent.x, budget=self.budget, check=self.check)
        self._solve_root(rehearsal)
        if self._wants_more_groups():
            self.check()
            self._write_root_bound()
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

    def takes_long(self) -> None:
        """Processes that help with the tree take a while to start: that is done meanwhile."""
        self._hire()
        if not self._crew.call():
            self._crew = self._threads

    def _hire(self) -> None:
        """Decide who helps with the tree, once."""
        if self._hired:
            return
        self._hired = True
        threads, settings = self.solver.threads, self.settings
        if threads == 1 or self._workers is not None or settings.helpers == "threads":
            return
        size = packed_size(replace(self.program, primal_heuristic=None))
        if size is None or (settings.helpers == "auto" and size > LARGE_BYTES):
            return
        self.settings = replace(settings, memory_limit=settings.memory_limit // threads)
        modules = () if self.term is None else (type(self.term).__module__,)
        self._crew = ProcessCrew(threads - 1, self.budget.over, self._task, modules)

    def _task(self, search: Search) -> Task:
        return Task.of(search, self._binding, self._gap, self.tolerances, self.tree.constant)

    def _go_on(self, keeper: Keeper) -> str:
        """Take the tree up where it was left."""
        self._hire()
        replay = keeper.replay
        assert replay.n_groups is not None
        assert replay.root is not None
        if replay.n_groups != self.pool.n_groups:
            self._lay_out(replay.n_groups, known=self.incumbent.x)
        keeper.check_layout(self.pool)
        self._take_up_incumbent(replay)
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
        self._report(replay.bound)
        if not replay.ledger.n_open:
            return "tree exhausted before"
        search = self._searcher(self.pool, rules[0])
        search.resume(replay.origins, self._binding)
        replay.origins.clear()
        others = iter([search])
        self.race = Race(
            lambda rule: next(others, None) or self._searcher(self._spare, rule), rules, self.budget.limit,
            start.value, self._kept, self._helped, self._lap_helped, self._finished_by,
        )  # fmt: skip
        return self._search_tree()

    def _begin_tree(self, rules: tuple[Branching, ...]) -> str:
        """Search by one rule, or by the better one of two."""
        self.check()
        height, width = self.program.n_nodes + len(self._binding), int(np.count_nonzero(self.tree.allowed))
        if self.budget.left() < 1e-9 * making_steps(height, width):
            raise Ended(TerminationStatus.TIME_LIMIT, "time limit: too little is left to begin a tree")
        self._hire()
        self._spare = self.pool.fork() if len(rules) > 1 else self.pool
        for pool in {id(pool): pool for pool in (self.pool, self._spare)}.values():
            self._write_root(pool, rules[0] if len(rules) == 1 else None)
        pools = iter((self.pool, self._spare))
        self.race = Race(
            lambda rule: self._searcher(next(pools), rule), rules, self.budget.limit, self.tree.value, self._kept,
            self._helped, self._lap_helped, self._finished_by,
        )  # fmt: skip
        return self._search_tree()

    def _search_tree(self) -> str:
        """To the end, or to a limit."""
        assert self.race is not None
        self._crew.practise(self.race.searches[0])
        with closing(self.race.run()) as boxes:  # so that nobody searches on when it is left
            for _ in boxes:
                self.incumbent.tell()
                if self.budget.elapsed() >= LONG_SEC:
                    self.takes_long()
                if self.budget.elapsed() >= self._next_report:
                    self._next_report = self.budget.elapsed() + REPORT_SEC
                    # Of two trees the second is in a file only once it is the one that goes on.
                    search = self.race.leader if self.keeper is None else self.race.searches[0]
                    self._report(search.proof.bound)
                self.check()
                if self.settings.node_limit is not None and self.race.counts()[0] >= self.settings.node_limit:
                    return "node limit"
        return "tree exhausted"

    def _by_workers(self, search: Search, boxes: Iterator[None]) -> Iterator[None]:
        """Let others search on."""
        assert self._workers is not None
        for _ in boxes:  # the root is parted here
            break
        else:
            return
        self._coordinator = Coordinator(
            search, self._binding, self._gap, self._workers, self.tolerances, self.tree.constant, self.budget,
            self._hear_of_workers,
        )  # fmt: skip
        yield from self._coordinator.run()

    def _hear_of_workers(self, what: str) -> None:
        self.enter(what)
        self.tell(note=what)

    def check(self) -> None:
        """Raise `Ended` when the caller wants to stop or the time is up, and what a helper failed with."""
        self._threads.check()
        self._crew.check()
        super().check()

    def _helped(self, search: Search) -> AbstractContextManager[None]:
        """A block in which all search a tree."""
        self.takes_long()
        return self._crew.helping(search, self.check)

    def _lap_helped(self, search: Search) -> AbstractContextManager[None]:
        """The same by threads, which are there at once."""
        return self._threads.helping(search, self.check)

    def _searcher(self, pool: RowPool, rule: Branching) -> Search:
        """A search from the root."""
        pool.by_one_thread()
        pool.know(self._binding)
        search = Search(
            self.program, pool, pool.proof, self.settings, self.incumbent, self.check, rule, self.keeper,
            pace=Pace(self.budget.limit),
        )  # fmt: skip
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

    def _finish(self, status: TerminationStatus, raw: str) -> SolverResult:
        self.incumbent.tell()
        if self.race is not None:
            self.race.settle()
        else:
            self._write_root_bound()  # it ended at the root, which is all that there is to prove
        incumbent = self.incumbent
        proof = self.tree if self.race is None else self.race.leader.proof
        emptied = status is TerminationStatus.OPTIMAL and math.isinf(proof.bound)
        if incumbent.x is None and (emptied or (not proof.feasible and self.race is None)):
            return self._answer(TerminationStatus.INFEASIBLE, raw, None)
        bound = min(proof.bound - self.program.turning_cost, incumbent.loss)
        # Bounds of single boxes that were stopped half-way can be below what was reported already.
        self.reported = max(self.reported, bound) if math.isfinite(bound) else self.reported
        proved = self.reported >= incumbent.cutoff() - self.program.turning_cost
        if status is TerminationStatus.OPTIMAL and not proved:
            status = TerminationStatus.NUMERICAL_ERROR
        elif proved and status in (TerminationStatus.TIME_LIMIT, TerminationStatus.NODE_LIMIT):
            status = TerminationStatus.OPTIMAL  # it was among ties that the limit struck
        return self._answer(status, raw, incumbent.x)

    def _answer(self, status: TerminationStatus, raw: str, x: FloatArray | None) -> SolverResult:
        dual = self._dual()
        search = None if self.race is None else self.race.leader
        if self._coordinator is not None and self._coordinator.alone:
            raw = f"{raw}; no worker of the cluster was there at the end"
        self.best = x
        self.enter("bound", primal=self.primal, dual=dual)
        stats: dict[str, Any] = {
            "children": 0 if self.race is None else self.race.counts()[2],
            "branching": None if self.race is None else self.race.rule,
            "families_dropped": 0 if search is None else search.frontier.dropped,
            "families_remade": 0 if search is None else search.frontier.remade,
            "packets": 0 if self._coordinator is None else self._coordinator.packets,
            "packets_here": 0 if self._coordinator is None else self._coordinator.packets_here,
            "boxes_by_processes": self._crew.boxes if isinstance(self._crew, ProcessCrew) else 0,
            "boxes_put_away": 0 if search is None else search.frontier.deep,
            "boxes_set_aside": 0 if search is None else search.tally.set_aside,
            "programs_widened": 0 if search is None else search.tally.widened,
            "engine": self.solver.name,
            "groups": self.pool.n_groups,
            "ties_settled": self.incumbent.settles,
            "turning_cost": self.program.turning_cost if self.program.root_columns is not None else None,
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
