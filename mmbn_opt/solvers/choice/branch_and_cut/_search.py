"""Best-first multiway branch and cut: a box is bounded, shrunk, and parted by one node's columns."""

import math
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...._arrays import FloatArray
from ....programs.choice import ChoiceProgram
from ....programs.lagrangian import find_hub
from ....programs.tree_children import Children
from ....programs.tree_proof import TreeProof
from ....programs.tree_replay import Origin
from ...journal import Ended
from . import _simplex as simplex
from ._beginning import Beginning
from ._branching import branching_order, spread
from ._effort import BOX_STEPS, Tally, child_steps, cut_steps, making_steps, pivot_steps
from ._families import Family
from ._frontier import Frontier, Waiting
from ._idle_rows import idle_rows
from ._incumbent import PRUNING_SHARE, Incumbent
from ._keeping import Keeper
from ._narrow import share_of_gap, take_in_all, take_in_missed
from ._pace import Pace
from ._pool import RowPool, Slots
from ._settings import Branching, SearchSettings
from ._tableau import Costs, Tableau, Workspace

__all__ = ["Search"]

SMALL_COLUMNS = 250
"""Up to here the children of many nodes are evaluated at every box."""

WIDE_COLUMNS = 1000
"""Above, programs of children take most of the time."""

HORIZON = 0.3
"""A child of a wide program whose bound has risen by this share of the gap waits unfinished, if no node is compared."""

MOST_TIES = 40
"""Boxes that are looked at for the canonical one of several optima, or a quarter of all boxes."""

BOX_BYTES = 1000
"""What an open box takes in memory beside a byte a column, its share of its family included."""

LEAST_BOXES = 64  # stay in memory whatever its limit

WAIT_SEC = 0.02
"""How long one who finds no box waits before he looks at the clock."""


@dataclass
class Search:
    """State of one searcher of a tree.

    Parameters
    ----------
    program, pool, proof
    settings : SearchSettings
    incumbent : Incumbent
    check : callable
        Called between kernels; raises to stop the search.
    rule : Branching
        By which nodes are chosen, whatever the settings say.
    keeper : Keeper or None
        Of the tree file.
    helps : bool
        Whether another searcher of the same tree calls the heuristic.

    Attributes
    ----------
    tally : Tally
        What all searchers of the tree have done.
    pace : Pace
        How fast its bound rises.
    """

    program: ChoiceProgram
    pool: RowPool
    proof: TreeProof
    settings: SearchSettings
    incumbent: Incumbent
    check: Callable[[], None]
    rule: Branching = "dual"
    keeper: Keeper | None = None
    helps: bool = False
    tally: Tally = field(default_factory=Tally)
    pace: Pace = field(default_factory=Pace)
    _family: Family | None = None
    _rounds: int = 0
    _ages: dict[int, int] = field(default_factory=dict)
    _spent: float = 0.0
    _begun: bool = False
    _reach: float = math.inf

    def start(self, slots: Slots, gap: float) -> None:
        """Build the root tableau from the rows that bind at the root."""
        perturbation = max(1e-3 * gap / self.program.n_nodes, 1e-9)
        self._workspace = Workspace()
        self._hub = find_hub(self.proof.offsets, self.program.parents)
        small = self.program.n_columns <= SMALL_COLUMNS
        strong, depth = self.settings.strong, self.settings.strong_depth
        self._strong = strong if strong is not None else (16 if small else 4)
        self._strong_depth = depth if depth is not None else (10**9 if small else 2)
        self._share = share_of_gap(self.settings.reach, self.program.n_columns)
        self.root_value, self.root_allowed = self.proof.value, self.proof.allowed.copy()
        self.root_rows = slots
        self.pool.hold(slots)
        costs = Costs.perturbed(self.program, self.proof.allowed, perturbation, self.settings.seed)
        row_limit = max(self.settings.memory_limit // (8 * self.program.n_columns), 2 * len(slots))
        box_limit = self.settings.memory_limit // (2 * (BOX_BYTES + self.program.n_columns))
        self.frontier = Frontier(self.pool, row_limit, self.keeper, max(box_limit, LEAST_BOXES))
        self._beginning = Beginning.at(self.pool, self.proof.allowed, slots, costs, self.check)

    def resume(self, origins: Mapping[int, Origin], slots: Slots) -> None:
        """Go on with the open boxes of the proof; `slots` are the rows of the root."""
        self.frontier.resume(self.proof.ledger, origins, slots)
        self._begun = True

    def beside(self, check: Callable[[], None]) -> "Search":
        """One more searcher of the same tree, for a thread of his own."""
        twin = copy(self)
        twin.pool = self.pool.beside()
        twin.proof, twin.check, twin.helps = twin.pool.proof, check, True
        twin._workspace, twin._ages = Workspace(), {}
        return twin

    def run(self) -> Iterator[None]:
        """Search to the end; yields before every box, and while others are at the last ones."""
        if not self._begun:
            self._expand(self._beginning.from_root(self.pool, self.proof.allowed), depth=0)
        frontier = self.frontier
        while True:
            waiting = frontier.pop()
            if waiting is not None:
                yield
                self.look_at(waiting)
            elif frontier.exhausted:
                return
            else:
                yield
                frontier.wait(WAIT_SEC)

    def look_at(self, waiting: Waiting) -> None:
        """Bound and part a box that waited, or close it at once."""
        value, number, place, family = waiting
        if value >= self.incumbent.cutoff() and not self._settles_ties():
            self.proof.drop(number)
            self.frontier.done(family)
            return
        self.proof.enter(number)
        self._family = family
        rows = self.frontier.rows_of(family, self.pool)
        self._reach = self._share and self._share * self._gap()  # 0 of what is not known yet is 0
        tableau, self._ages = self._beginning.of(self.pool, self.proof.allowed, family, place, rows, self._reach)
        self._worked(making_steps(tableau.height, tableau.width))
        self._expand(tableau, depth=family.depth + 1)
        self.frontier.done(family)
        self.pool.release(rows)

    # -- one box ----------------------------------------------------------------------------------------------------

    def _settles_ties(self) -> bool:
        """Whether to go on: the optimum is proved, and what is open can hold others that are worth the same."""
        if not self.incumbent.settles:
            return False
        self.tally.add(ties=1)
        if self.tally.ties > max(MOST_TIES, self.tally.nodes // 4):
            self.incumbent.settles = False
        return self.incumbent.settles

    @property
    def _limit(self) -> float:
        """Where the current box is closed."""
        return self.incumbent.limit(self.proof.allowed)

    def _worked(self, steps: float) -> None:
        self._spent += steps
        self.tally.add(work=steps)
        self.incumbent.effort.searched(steps)

    def _expand(self, tableau: Tableau, depth: int) -> None:
        """Bound the current box, whose `tableau` is the box's own to change, and part it or close it."""
        self._done = False
        had = None if self._family is None else self._family.rounds
        self._rounds = had or 0
        self.tally.add(nodes=int(had is None))
        self._worked(BOX_STEPS)
        proof, mine = self.proof, list[Slots]()
        try:
            if proof.feasible and proof.value < self._limit and self._bound(tableau, mine) and proof.feasible:
                final = tableau.copy_for(proof.allowed, drop_idle=True)
                final.status = tableau.status
                idle = idle_rows(tableau, self._ages, self.pool.n_groups)
                if self._can_wait(final):
                    return self._set_aside(final, depth, idle)
                self._branch(final, depth, idle)
            if not self._done:
                proof.close()  # while its rows are there
            self.tally.add(done=1)
        except Ended as end:
            if not end.abrupt:
                proof.value_counts()
            raise
        finally:
            self.tally.add(pivots=tableau.pivots)
            for slots in mine:
                self.pool.release(slots)

    def _optimise(self, tableau: Tableau) -> bool:
        """Re-optimise and prove; False when the box is done."""
        cutoff, proof = self._limit, self.proof
        began = tableau.basis(tableau.slots()) if tableau.narrow else None
        while True:
            left, before = self.settings.max_pivots * 4, tableau.pivots
            while left > 0 and tableau.optimise(proof.allowed, cutoff, 100) == simplex.LIMIT:
                left -= 100
                self.check()
            self._worked(pivot_steps(tableau, tableau.pivots - before))
            slots = tableau.slots()
            bound = proof.prove(slots, tableau.multipliers(slots, cutoff))
            if proof.value >= cutoff or began is None or not tableau.narrow:
                return proof.value < cutoff
            steps = take_in_missed(tableau, began, bound, proof, self.pool, self._beginning, self._reach)
            if steps == 0.0:
                return True
            self.tally.add(widened=1)
            self._worked(steps)

    def _bound(self, tableau: Tableau, mine: list[Slots]) -> bool:
        """Cut rounds; False when the box can be closed."""
        proof, incumbent = self.proof, self.incumbent
        if not self._optimise(tableau):
            return False
        for round_ in range(self._rounds, self.settings.rounds):
            self.check()
            if not proof.fix(self._limit):
                return False
            if tableau.status != simplex.OPTIMAL:
                break
            self._rounds = round_
            if self._can_wait(tableau):
                return True
            before, spent = proof.value, self._spent
            x, losses = tableau.point()
            if round_ == 0 and not self.helps:
                incumbent.consider(x)
            gap = self._gap()
            slots = self._cuts(x, losses, 1e-3 * gap / max(1, self.pool.n_groups))
            if not len(slots):
                break
            mine.append(slots)
            tableau.add_rows(self.pool, slots)
            if not self._optimise(tableau):
                return False
            boxes = (self._spent - spent) / self.tally.box_work
            if proof.value - before < self.settings.tail * gap * boxes:
                break
        self._rounds = self.settings.rounds
        return proof.fix(self._limit)

    def _can_wait(self, tableau: Tableau) -> bool:
        """Whether the current box has so large a lead on all others that the search may well end before it is due."""
        family, value, least = self._family, self.proof.value, self.frontier.least
        if family is None or family.rounds == self._rounds or not least < value:
            return False
        again = (making_steps(tableau.height, tableau.width) + BOX_STEPS / 3) / self.tally.box_work
        ahead, work, left = self.settings.ahead, self.tally.work, self._limit - least
        return self.pace.lets_wait(ahead, work, least, value - least, left, again)

    def _set_aside(self, tableau: Tableau, depth: int, idle: Mapping[int, int]) -> None:
        """Let the current box wait with what was proved of it, to be gone on with from here."""
        assert self._family is not None
        self.proof.set_aside()
        slots, value = tableau.slots(), self.proof.value
        bases = tableau.basis(slots)[None]
        family = Family.at(slots, idle, bases, depth - 1, value, self._family.place, self._rounds)
        self.frontier.push(family, np.array([value]), [self.proof.number])
        self.tally.add(set_aside=1)

    def _gap(self) -> float:
        """What the current box's bound lacks; among ties what no bound can tell."""
        limit = self._limit
        return max(limit - self.proof.value, PRUNING_SHARE * max(1.0, abs(limit)))

    def _cuts(self, x: FloatArray, losses: FloatArray, tolerance: float) -> Slots:
        slots = self.pool.cuts_above(x, losses, tolerance)
        self._worked(cut_steps(self.pool.term, int(np.count_nonzero(x)), len(x)))
        return np.concatenate([slots, self.pool.structure_rows(x, 1e-3)])

    def _branch(self, tableau: Tableau, depth: int, idle: Mapping[int, int]) -> None:
        proof = self.proof
        self._worked(take_in_all(tableau, proof, self.pool, self._beginning))
        cutoff, gap = self._limit, self._gap()
        term = self.pool.term if self.rule == "mixture" else None
        order, mixed, steps = branching_order(tableau, self.program, proof.allowed, gap, term, self._hub)
        self._worked(steps)
        if not order:
            self._close_single(tableau)
            return
        tries = self._strong if not mixed and depth <= self._strong_depth else 1
        waits = tries == 1 and self.program.n_columns > WIDE_COLUMNS
        slots = tableau.slots()
        best: tuple[float, Children, FloatArray, NDArray[np.int32]] | None = None
        for node in order[:tries]:
            children = proof.split(node)
            enough = proof.value + HORIZON * gap if waits else math.inf
            bounds, bases = self._evaluate(tableau, children, slots, enough)
            score = spread(bounds - proof.value, gap)
            if best is None or score < best[0]:
                best = (score, children, bounds, bases)
            if score == 0.0:
                break
            if tries > 1 and not proof.exclude(children, bounds, cutoff):
                return
        assert best is not None
        _, children, bounds, bases = best
        numbers, bounds = proof.commit(children, bounds, cutoff)
        self._done = True
        kept = np.flatnonzero(np.array(numbers) >= 0)
        if not len(kept):
            return
        family = Family.at(slots, idle, bases[kept], depth, float(bounds[kept].min()), proof.written_at)
        self.frontier.push(family, bounds[kept], [numbers[child] for child in kept])

    def _close_single(self, tableau: Tableau) -> None:
        """One choice is left: its loss is its bound once the pieces at it are in."""
        x = self.proof.allowed.astype(np.float64)
        slots, _ = self.pool.cuts_at(x, x, np.full(self.pool.n_groups, -np.inf), 0.0)
        tight = (self.pool.rhs[slots] - self.pool.rows[slots] @ x > 0).astype(np.float64)
        self.proof.prove(slots, tight)
        for choice in (np.flatnonzero(x), *self.proof.settle_turned(self.check)):
            self.incumbent.offer(self.program.vector(choice))
        self.proof.close()
        self._done = True
        self.pool.release(slots)

    def _evaluate(
        self, tableau: Tableau, children: Children, slots: Slots, enough: float
    ) -> tuple[FloatArray, NDArray[np.int32]]:
        """Bounds and bases of children, each as soon as its bound is `enough` to wait: the rest is done in its turn."""
        count = len(children.columns)
        bases = np.empty((count, tableau.height), dtype=np.int32)
        lam, values = np.zeros((count, len(slots))), np.zeros(count)
        cutoff, done = min(self._limit, enough), 0
        while done < count:
            done, pivots = self._workspace.solve_children(
                tableau, children.allowed, cutoff, self.settings.max_pivots, done, self.settings.work_limit, slots,
                lam, values, bases,
            )  # fmt: skip
            self.tally.add(pivots=pivots)
            self._worked(child_steps(tableau, pivots))
            self.check()
        self.tally.add(children=count)
        return self.proof.evaluate(children, slots, lam), bases
