"""The first part of a call of branch and cut: layout, root, and what is told of both."""

import math

import numpy as np

from ...._arrays import FloatArray
from ....programs.choice import ChoiceProgram
from ....programs.lagrangian import find_hub
from ....programs.tree_log import TreeStore
from ....programs.tree_proof import TreeProof
from ....programs.tree_replay import Replay
from ...base import Solver, SolverCallback
from ...ending import Tolerances
from ...journal import Journal
from ._effort import round_steps
from ._incumbent import Incumbent
from ._keeping import Keeper
from ._pool import RowPool, Slots
from ._rehearsal import Rehearsal
from ._root import RootPoint, root_rounds
from ._settings import FEW_GROUPS, WIDE_ROOT_GAP, SearchSettings, many_groups
from .clusters import ClusterSeparator

__all__ = ["RootRun"]

LONG_SEC = 0.05
"""A run that takes so long is likely to have a tree that is worth helping with."""

MOST_TURNING = 2e-4
"""Share of what the objective can be at most, up to which trees are hung one way though another may be worth more."""

SAVE_SEC, SAVE_SHARE = 1.0, 0.1
"""How long the root is solved between two times that it is written: in seconds, and as a share of what it took."""


class RootRun(Journal):
    """Journal of one call, with the layout and the root of its search."""

    def __init__(
        self, solver: Solver, program: ChoiceProgram, callback: SolverCallback | None, store: TreeStore | None
    ) -> None:
        super().__init__(solver, callback)
        self.keeper = None if store is None else Keeper(store, program)
        # What stands in a tree file holds without a word about trees that are worth a little more hung otherwise.
        if program.turning_cost > (0.0 if store is not None else MOST_TURNING * program.most):
            program = program.hung_anyhow()
        self.settings = settings = SearchSettings.of(solver)
        parts = 0 if program.term is None else program.term.n_parts
        self.program = program
        self.more_groups = many_groups(parts) if settings.groups is None else 0
        self.root: RootPoint | None = None
        self._best: tuple[Slots, FloatArray, bool] | None = None
        self._saved_at = 0.0
        self.reported = -math.inf
        self.primal: float | None = None
        self._lay_out(FEW_GROUPS if settings.groups is None else settings.groups)
        self.constant = self.tree.constant  # one for all layouts: sums of other groups differ in the last digits

    def _lay_out(self, groups: int, known: FloatArray | None = None) -> None:
        """Everything that depends on the number of groups; `known` is the best point so far."""
        term = self.program.term
        self.term = None if term is None else term.regrouped(groups, self.solver.threads)
        self.tree = TreeProof(self.program, self.term)
        self._best = None
        self.tolerances = Tolerances.of(self.solver, abs(self.tree.constant) or 1.0)
        self.hub = find_hub(self.tree.offsets, self.program.parents)
        linked = self.hub is not None and self.program.A.shape[0] > 0
        hub = self.hub if linked else None
        separator = ClusterSeparator(
            self.tree.offsets, self.program.parents, hub, self.budget.left, self.program.hanging
        )
        self.pool = RowPool(self.program, self.term, separator, self.tree)
        # Without a term one rule branches, and equivalent structures, which are worth the same, are too many.
        settles = self.term is not None and self.solver.rel_gap == 0.0 and self.solver.abs_gap == 0.0
        self.incumbent = Incumbent(
            self.pool, self.tree.constant, self.tolerances, self._news, self.budget, settles
        )  # fmt: skip
        self.incumbent.effort.factor = self.settings.heuristic
        self.incumbent.resume(known)

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
        self.reported = max(self.reported, min(bound - self.program.turning_cost, self.incumbent.loss))
        self._note("bound")

    def _begin_writing(self) -> None:
        """What is proved of the root from here on goes into the tree file, what was proved of it before anew."""
        if self.keeper is None:
            return
        self.keeper.begin_again()
        self.tree.write_to(self.keeper.log)
        self._prove_again()

    def _prove_again(self) -> None:
        """What the best evidence of the root proves, and the newest."""
        if self._best is not None:
            slots, lam, by_branching = self._best
            if by_branching and self.hub is not None:
                self.tree.prove_by_branching(slots, lam, self.hub)
            else:
                self.tree.prove(slots, lam)
        if self.root is not None:
            self.tree.prove(self.root.slots, self.root.lam)

    def _take_up_root(self) -> bool:
        """Go on where the root was left, in the grouping that it had; whether there is anything to go on from."""
        if self.keeper is None:
            return False
        replay = self.keeper.replay
        self._take_up_incumbent(replay)
        if replay.so_far is None:
            return False
        groups = len(np.unique(replay.so_far.groups))
        if self.pool.n_groups < groups == self.more_groups:
            self._lay_out(groups, known=self.incumbent.x)
        return self.keeper.has_root_of(self.pool)

    def _take_up_incumbent(self, replay: Replay) -> None:
        """The best choice that was known before counts here too."""
        if replay.incumbent is not None:
            self.incumbent.offer(self.program.vector(replay.incumbent.choice.astype(np.intp)))

    def _save_root(self) -> None:
        """Write now and then what the root is bounded by, so that it can be gone on with.

        Of what was written before only what is new is.
        """
        elapsed = self.budget.elapsed()
        if self.keeper is None or elapsed - self._saved_at < max(SAVE_SEC, SAVE_SHARE * elapsed):
            return
        if self.tree.log is None:
            self._begin_writing()
        self.tree.value_counts()
        self._saved_at = self.budget.elapsed()

    def _write_root_bound(self) -> None:
        """What was proved of the root in these groups is written, where there will be no tree from it."""
        if self.keeper is None or self.root is None:
            return
        if self.tree.log is None:
            self._begin_writing()
        else:
            self._prove_again()
        self.tree.value_counts()

    def _remember(self, before: float, slots: Slots, lam: FloatArray, *, by_branching: bool = False) -> None:
        """Keep the evidence of the root's bound, if it is more than before: rounds that follow may prove less."""
        if self.tree.value > before:
            self.pool.hold(slots)
            if self._best is not None:
                self.pool.release(self._best[0])
            self._best = slots, lam, by_branching

    def _wants_more_groups(self) -> bool:
        """A wide gap at the root takes a large tree, in which tighter cuts pay for dearer pivots."""
        if self.root is None or self.term is None or len(self.term.upper) >= self.more_groups:
            return False
        gap = self.incumbent.loss - self.tree.value
        return WIDE_ROOT_GAP * abs(self.incumbent.loss + self.constant) < gap < math.inf

    def _solve_root(self, rehearsal: Rehearsal | None) -> None:
        self.root = None  # a point of an earlier layout numbers other rows
        points, rows = ((), ()) if rehearsal is None else (rehearsal.points, rehearsal.rows)
        left = None if self.keeper is None else self.keeper.root_so_far(self.pool)
        if left is not None:
            rows = ()
        rounds = root_rounds(
            self.pool, self.tree.allowed, self.incumbent.x, budget=self.budget, points=points, rows=rows, left=left
        )
        count, reported = 0, -math.inf
        for point in rounds:
            count += 1
            self.root = point
            self.incumbent.effort.searched(round_steps(self.term, point.x, self.pool.n_groups))
            before = self.tree.value
            self.tree.prove(point.slots, point.lam)
            self._remember(before, point.slots, point.lam)
            self._save_root()
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
            if self.budget.elapsed() >= LONG_SEC:
                self.takes_long()
            if count >= self.settings.root_rounds or gap <= self.incumbent.loss - self.incumbent.cutoff():
                break
        if self.root is not None and self.hub is not None:
            self._branch_at_root(self.root.slots, self.root.lam)
        if self.root is None and self.stats:
            return  # no time was left for a round: what the earlier layout found stands
        bound = None if self.root is None else self.tree.value + self.constant - self.program.turning_cost
        self.stats = {"root_bound": bound, "root_rounds": count, "root_sec": self.budget.elapsed()}

    def takes_long(self) -> None:
        """Told after every round, once the run is likely to have a tree."""

    def _branch_at_root(self, slots: Slots, lam: FloatArray) -> None:
        """Bound the root by maximum branchings too, and take the structure that attains the minimum as a start."""
        assert self.hub is not None
        before = self.tree.value
        choice = self.tree.prove_by_branching(slots, lam, self.hub)
        self._remember(before, slots, lam, by_branching=True)
        if choice is not None:
            self.incumbent.offer(self.program.vector(choice))
            self._report(self.tree.value)
