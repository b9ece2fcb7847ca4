"""Best-first multiway branch and cut: a box is bounded, shrunk, and parted by one node's columns."""

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...choice_program import ChoiceProgram
from ...tree_proof import Children, TreeProof
from . import _simplex as simplex
from ._branching import branching_order, spread
from ._incumbent import Incumbent
from ._pool import RowPool, Slots
from ._tableau import Tableau, Workspace, initial_tableau

__all__ = ["Search", "SearchSettings", "Stopped"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


SMALL_COLUMNS = 250
"""Up to here the children of many nodes are evaluated at every box."""


class Stopped(Exception):
    """The search was asked to stop between two kernels."""


@dataclass(frozen=True)
class SearchSettings:
    """How the tree is searched.

    Parameters
    ----------
    rounds : int
        Most cut rounds at a popped box.
    strong : int or None
        Nodes whose children are all evaluated before one is branched on, at small depth; None: 16 up to 250 columns,
        4 above.
    strong_depth : int or None
        Depth up to which that is done; None: everywhere up to 250 columns, to depth 2 above.
    max_pivots : int
        Most pivots of a child's linear program.
    work_limit : float
        Table entries touched between two looks at the clock.
    memory_limit : int
        Bytes of stored tableaux; above, the least promising are forgotten.
    tail : float
        A cut round that closes less than this share of the gap is the last.
    seed : int
        Of the cost perturbation.
    """

    rounds: int = 2
    strong: int | None = None
    strong_depth: int | None = None
    max_pivots: int = 400
    work_limit: float = 5e7
    memory_limit: int = 700_000_000
    tail: float = 0.03
    seed: int = 0


@dataclass(eq=False)
class _Stored:
    """A tableau that open boxes start from."""

    tableau: Tableau | None
    slots: Slots
    depth: int
    open_boxes: int
    least: float


@dataclass
class Search:
    """State of one search.

    Parameters
    ----------
    program, pool, proof
    settings : SearchSettings
    incumbent : Incumbent
    check : callable
        Called between kernels; raises to stop the search.
    """

    program: ChoiceProgram
    pool: RowPool
    proof: TreeProof
    settings: SearchSettings
    incumbent: Incumbent
    check: Callable[[], None]
    nodes: int = 0
    children: int = 0
    pivots: int = 0
    forgotten: int = 0
    _heap: list[tuple[float, int, "_Stored"]] = field(default_factory=list)
    _stores: list["_Stored"] = field(default_factory=list)
    _bytes: int = 0

    def start(self, slots: Slots, gap: float) -> None:
        """Build the root tableau from the rows that bind at the root."""
        n_nodes = self.program.n_nodes
        perturbation = max(1e-3 * gap / n_nodes, 1e-9)
        self._workspace = Workspace()
        small = self.program.n_columns <= SMALL_COLUMNS
        strong, depth = self.settings.strong, self.settings.strong_depth
        self._strong = strong if strong is not None else (16 if small else 4)
        self._strong_depth = depth if depth is not None else (10**9 if small else 2)
        self._root_slots = slots
        self.pool.hold(slots)
        tableau = initial_tableau(self.pool, self.proof.allowed, slots, perturbation, self.settings.seed)
        while tableau.optimise(self.proof.allowed, math.inf, 50) == simplex.LIMIT:
            self.check()
        self._root = tableau.copy_for(self.proof.allowed, drop_idle=True)

    def run(self) -> Iterator[float]:
        """Search to the end; yields the open bound after every box."""
        self._expand(self._root, depth=0)
        self._settle_current()
        while self._heap:
            value, number, store = heapq.heappop(self._heap)
            yield value
            if value >= self.incumbent.cutoff():
                self.proof.drop(number)
                self._child_done(store)
                continue
            self.proof.enter(number)
            source = self._root if store.tableau is None else store.tableau
            self._expand(source, depth=store.depth + 1)
            self._settle_current()
            self._child_done(store)

    # -- one box ----------------------------------------------------------------------------------------------------

    def _expand(self, source: Tableau, depth: int) -> None:
        self._branched = False
        self.nodes += 1
        proof = self.proof
        if not proof.feasible or proof.value >= self.incumbent.cutoff():
            return
        tableau = source.copy_for(proof.allowed, extra_rows=4 * self.pool.n_groups + 16)
        mine: list[Slots] = []
        try:
            if self._bound(tableau, mine) and proof.feasible:
                final = tableau.copy_for(proof.allowed, drop_idle=True)
                final.status = tableau.status
                self._branch(final, depth)
        finally:
            self.pivots += tableau.pivots
            for slots in mine:
                self.pool.release(slots)

    def _settle_current(self) -> None:
        if not self._branched:
            self.proof.close()

    def _optimise(self, tableau: Tableau) -> bool:
        """Re-optimise and prove; False when the box is done."""
        cutoff = self.incumbent.cutoff()
        left = self.settings.max_pivots * 4
        while left > 0 and tableau.optimise(self.proof.allowed, cutoff, 100) == simplex.LIMIT:
            left -= 100
            self.check()
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
            if not proof.fix(incumbent.cutoff()):
                return False
            if tableau.status != simplex.OPTIMAL:
                return True
            before = proof.value
            x, losses = tableau.point()
            if round_ == 0:
                incumbent.consider(x)
            gap = incumbent.cutoff() - before
            slots = self._cuts(x, losses, 1e-3 * gap / max(1, self.pool.n_groups))
            if not len(slots):
                return True
            mine.append(slots)
            tableau.add_rows(self.pool, slots)
            if not self._optimise(tableau):
                return False
            if proof.value - before < self.settings.tail * gap:
                break
        return proof.fix(incumbent.cutoff())

    def _cuts(self, x: FloatArray, losses: FloatArray, tolerance: float) -> Slots:
        slots, _ = self.pool.cuts_at(x, x, losses, tolerance)
        clusters = self.pool.separator.separate(x, 1e-3)
        if not clusters:
            return slots
        return np.concatenate([slots, np.array([self.pool.cluster(members) for members in clusters], dtype=np.int64)])

    # -- branching --------------------------------------------------------------------------------------------------

    def _branch(self, tableau: Tableau, depth: int) -> None:
        proof, settings = self.proof, self.settings
        cutoff = self.incumbent.cutoff()
        gap = cutoff - proof.value
        order = branching_order(tableau, proof.offsets, proof.allowed, gap)
        if not order:
            self._close_single(tableau)
            return
        slots = tableau.slots()
        tries = self._strong if depth <= self._strong_depth else 1
        best: tuple[float, Children, FloatArray] | None = None
        for node in order[:tries]:
            children = proof.split(node)
            bounds = self._evaluate(tableau, children, slots)
            score = spread(bounds - proof.value, gap)
            if best is None or score < best[0]:
                best = (score, children, bounds)
            if score == 0.0:
                break
            if tries > 1 and not proof.exclude(children, bounds, cutoff):
                return
        assert best is not None
        _, children, bounds = best
        numbers = proof.commit(children, bounds, cutoff)
        self._branched = True
        kept = [(float(bound), number) for bound, number in zip(bounds, numbers, strict=True) if number >= 0]
        if not kept:
            return
        store = _Stored(tableau, slots, depth, len(kept), min(kept)[0])
        self.pool.hold(slots)
        self._stores.append(store)
        self._bytes += self._size(store)
        for bound, number in kept:
            heapq.heappush(self._heap, (bound, number, store))
        if self._bytes > settings.memory_limit:
            self._forget()

    def _close_single(self, tableau: Tableau) -> None:
        """One choice is left: its loss is its bound once the pieces at it are in."""
        x = self.proof.allowed.astype(np.float64)
        self.incumbent.offer(x)
        slots, _ = self.pool.cuts_at(x, x, np.full(self.pool.n_groups, -np.inf), 0.0)
        tight = (self.pool.rhs[slots] - self.pool.rows[slots] @ x > 0).astype(np.float64)
        self.proof.prove(slots, tight)
        self.pool.release(slots)

    def _evaluate(self, tableau: Tableau, children: Children, slots: Slots) -> FloatArray:
        count = len(children.columns)
        lam, values = np.zeros((count, len(slots))), np.zeros(count)
        cutoff = self.incumbent.cutoff()
        done = 0
        while done < count:
            done, pivots = self._workspace.solve_children(
                tableau,
                children.allowed,
                cutoff,
                self.settings.max_pivots,
                done,
                self.settings.work_limit,
                slots,
                lam,
                values,
            )
            self.pivots += pivots
            self.check()
        self.children += count
        return self.proof.evaluate(children, slots, lam)

    # -- memory -----------------------------------------------------------------------------------------------------

    def _size(self, store: _Stored) -> int:
        # Besides the table, its rows are kept twice (here and by the proof), about half of them shared with relatives.
        return (0 if store.tableau is None else store.tableau.nbytes) + len(store.slots) * self.program.n_columns * 8

    def _child_done(self, store: _Stored) -> None:
        store.open_boxes -= 1
        if store.open_boxes == 0:
            self._free(store)

    def _free(self, store: _Stored) -> None:
        if store.tableau is not None:
            self._bytes -= self._size(store)
            store.tableau = None
            self.pool.release(store.slots)
            store.slots = store.slots[:0]

    def _forget(self) -> None:
        """Forget the half of the stored tableaux whose boxes have the weakest claim to be looked at."""
        self._stores = [s for s in self._stores if s.tableau is not None]
        self._stores.sort(key=lambda s: s.least)
        half = len(self._stores) // 2
        for store in self._stores[half:]:
            self._free(store)
            self.forgotten += 1
        self._stores = self._stores[:half]
