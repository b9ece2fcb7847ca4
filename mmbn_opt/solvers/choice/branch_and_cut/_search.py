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
from ._branching import branching_order, mixture_order, spread
from ._effort import BOX_STEPS, Tally, child_steps, cut_steps, making_steps, pivot_steps
from ._families import Family
from ._frontier import Frontier, Waiting
from ._idle_rows import idle_rows
from ._incumbent import PRUNING_SHARE, Incumbent
from ._keeping import Keeper
from ._pool import RowPool, Slots
from ._settings import Branching, SearchSettings
from ._tableau import Costs, Tableau, Workspace, initial_tableau, tableau_of

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
    _ages: dict[int, int] = field(default_factory=dict)
    _spent: float = 0.0
    _begun: bool = False

    def start(self, slots: Slots, gap: float) -> None:
        """Build the root tableau from the rows that bind at the root."""
        perturbation = max(1e-3 * gap / self.program.n_nodes, 1e-9)
        self._workspace = Workspace()
        self._hub = find_hub(self.proof.offsets, self.program.parents)
        small = self.program.n_columns <= SMALL_COLUMNS
        strong, depth = self.settings.strong, self.settings.strong_depth
        self._strong = strong if strong is not None else (16 if small else 4)
        self._strong_depth = depth if depth is not None else (10**9 if small else 2)
        self.root_value, self.root_allowed = self.proof.value, self.proof.allowed.copy()
        self.root_rows = slots
        self.pool.hold(slots)
        self._costs = Costs.perturbed(self.program, self.proof.allowed, perturbation, self.settings.seed)
        row_limit = max(self.settings.memory_limit // (8 * self.program.n_columns), 2 * len(slots))
        box_limit = self.settings.memory_limit // (2 * (BOX_BYTES + self.program.n_columns))
        self.frontier = Frontier(self.pool, row_limit, self.keeper, max(box_limit, LEAST_BOXES))
        tableau = initial_tableau(self.pool, self.proof.allowed, slots, self._costs)
        while tableau.optimise(self.proof.allowed, math.inf, 50) == simplex.LIMIT:
            self.check()
        self._root = tableau.copy_for(self.proof.allowed, drop_idle=True)

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
            self._expand(self._from_root(), depth=0)
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
        rows = self.frontier.rows_of(family, self.pool)
        self._expand(self._tableau_for(family, place, rows), depth=family.depth + 1)
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

    @property
    def _room(self) -> int:
        return 4 * self.pool.n_groups + 16

    def _tableau_for(self, family: Family, place: int, rows: Slots) -> Tableau:
        """Where the current box, number `place` of its family, was left; `rows` are the family's."""
        if family.bases is None:
            self._ages = dict.fromkeys(rows.tolist(), 0)
            return self._from_root(rows)
        self._ages = dict(zip(rows.tolist(), family.ages.tolist(), strict=True))
        basis = family.bases[place]
        found = tableau_of(self.pool, self.proof.allowed, rows, basis, self._costs, extra_rows=self._room)
        if found is None:
            return self._from_root()
        self._worked(making_steps(found.height, found.width))
        return found

    def _worked(self, steps: float) -> None:
        self._spent += steps
        self.tally.add(work=steps)
        self.incumbent.effort.searched(steps)

    def _from_root(self, rows: Slots | None = None) -> Tableau:
        """The root's tableau in the current box, with further rows."""
        if rows is None:
            return self._root.copy_for(self.proof.allowed, extra_rows=self._room)
        tableau = self._root.copy_for(self.proof.allowed, extra_rows=self._room + len(rows))
        tableau.add_rows(self.pool, np.setdiff1d(rows, tableau.slots()))
        self._worked(making_steps(tableau.height, tableau.width))
        return tableau

    def _expand(self, tableau: Tableau, depth: int) -> None:
        """Bound the current box, whose `tableau` is the box's own to change, and part it or close it."""
        self._done = False
        self.tally.add(nodes=1)
        self._worked(BOX_STEPS)
        proof = self.proof
        if not proof.feasible or proof.value >= self._limit:
            return proof.close()
        mine: list[Slots] = []
        try:
            if self._bound(tableau, mine) and proof.feasible:
                final = tableau.copy_for(proof.allowed, drop_idle=True)
                final.status = tableau.status
                self._branch(final, depth, idle_rows(tableau, final, self._ages, self.pool.n_groups))
            if not self._done:
                proof.close()  # while its rows are there
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
        cutoff = self._limit
        left, before = self.settings.max_pivots * 4, tableau.pivots
        while left > 0 and tableau.optimise(self.proof.allowed, cutoff, 100) == simplex.LIMIT:
            left -= 100
            self.check()
        self._worked(pivot_steps(tableau, tableau.pivots - before))
        slots = tableau.slots()
        self.proof.prove(slots, tableau.multipliers(slots, cutoff))
        return self.proof.value < cutoff

    def _bound(self, tableau: Tableau, mine: list[Slots]) -> bool:
        """Cut rounds; False when the box can be closed."""
        proof, incumbent = self.proof, self.incumbent
        if not self._optimise(tableau):
            return False
        for round_ in range(self.settings.rounds):
            self.check()
            if not proof.fix(self._limit):
                return False
            if tableau.status != simplex.OPTIMAL:
                return True
            before, spent = proof.value, self._spent
            x, losses = tableau.point()
            if round_ == 0 and not self.helps:
                incumbent.consider(x)
            gap = self._gap()
            slots = self._cuts(x, losses, 1e-3 * gap / max(1, self.pool.n_groups))
            if not len(slots):
                return True
            mine.append(slots)
            tableau.add_rows(self.pool, slots)
            if not self._optimise(tableau):
                return False
            boxes = (self._spent - spent) * self.tally.nodes / self.tally.work
            if proof.value - before < self.settings.tail * gap * boxes:
                break
        return proof.fix(self._limit)

    def _gap(self) -> float:
        """What the current box's bound lacks; among ties what no bound can tell."""
        limit = self._limit
        return max(limit - self.proof.value, PRUNING_SHARE * max(1.0, abs(limit)))

    def _cuts(self, x: FloatArray, losses: FloatArray, tolerance: float) -> Slots:
        slots = self.pool.cuts_above(x, losses, tolerance)
        self._worked(cut_steps(self.pool.term, int(np.count_nonzero(x)), len(x)))
        return np.concatenate([slots, self.pool.structure_rows(x, 1e-3)])

    def _branch(self, tableau: Tableau, depth: int, idle: dict[int, int]) -> None:
        proof = self.proof
        cutoff, gap = self._limit, self._gap()
        order, tries = self._candidates(tableau, depth, gap)
        if not order:
            self._close_single(tableau)
            return
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
        narrow = np.int16 if tableau.first_slack + len(slots) < 2**15 else np.int32
        rows = np.concatenate([slots, np.array(list(idle), dtype=np.int64)])
        ages = np.array([0] * len(slots) + list(idle.values()), dtype=np.int8)
        least = float(bounds[kept].min())
        family = Family(rows, ages, bases[kept].astype(narrow), depth, len(kept), least, proof.written_at)
        self.frontier.push(family, bounds[kept], [numbers[child] for child in kept])

    def _candidates(self, tableau: Tableau, depth: int, gap: float) -> tuple[list[int], int]:
        """Nodes to branch on, the most promising first, and how many are worth a look at their children."""
        term = self.pool.term
        if self.rule == "mixture" and term is not None and tableau.status == simplex.OPTIMAL:
            x, _ = tableau.point()
            self._worked(cut_steps(term, 2 * int(np.count_nonzero(x)), 0))
            order = [v for v in mixture_order(self.program, term, x, self._hub) if self._undecided(v)]
            if order:
                return order, 1
        order = branching_order(tableau, self.program, self.proof.allowed, gap)
        return order, self._strong if depth <= self._strong_depth else 1

    def _undecided(self, node: int) -> bool:
        own = slice(self.program.offsets[node], self.program.offsets[node + 1])
        return int(np.count_nonzero(self.proof.allowed[own])) > 1

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
