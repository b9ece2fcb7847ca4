"""Iterated local search over parent sets: descend node by node, turn trees and kick a few nodes, descend again."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._budget import now, stop_asked
from mmbn_opt.heuristics.objectives import Loss
from mmbn_opt.networks.candidates import CandidateParents
from mmbn_opt.networks.structure import find_cycle
from mmbn_opt.programs.side import SideConstraints

__all__ = ["LocalSearch"]

Choice = NDArray[np.intp]

_WORK_LIMIT = 4e9
"""Elementary steps that a search with all its kicks may take: a few seconds, whatever the size."""


@dataclass
class LocalSearch:
    """Search for a structure with small loss.

    Runs end by count (so that equal inputs give equal answers) or at `deadline`, whichever is first.

    Parameters
    ----------
    candidates : CandidateParents
    loss : Loss
    seed : int
    max_kicks : int
    deadline : float or None
        On the clock of `mmbn_opt._budget.now`.
    side : SideConstraints or None
        What every choice has to keep; the first one must.
    """

    candidates: CandidateParents
    loss: Loss
    seed: int = 0
    max_kicks: int = 200
    deadline: float | None = None
    side: SideConstraints | None = None

    def __post_init__(self) -> None:
        columns = self.candidates.columns
        self._has_parent = np.zeros((len(columns), self.candidates.n_nodes), dtype=bool)
        for k, (_, parents) in enumerate(columns):
            self._has_parent[k, list(parents)] = True
        self._held_up = False  # whether the constraints kept a node from a column in the last descent
        self._kicks = int(np.clip(_WORK_LIMIT / max(1.0, 4 * self.loss.work), 1, self.max_kicks))

    def run(self, start: Choice) -> Iterator[tuple[Choice, float]]:
        """Yield each better choice with its loss, the descended start first."""
        rng = np.random.default_rng(self.seed)
        best, best_loss = self._improve(start, range(self.candidates.n_nodes))
        yield best.copy(), best_loss
        for _ in range(self._kicks):
            if self._late():
                return
            trial = best
            if rng.random() < 0.5:  # other roots first: what is a neighbour depends on them
                for _ in range(int(rng.integers(1, 3))):
                    trial = self.hang(trial, int(rng.integers(self.candidates.n_nodes)))
            trial = self._kick(trial, rng)
            trial, loss = self._improve(trial, [int(v) for v in rng.permutation(self.candidates.n_nodes)])
            if loss < best_loss - 1e-9 * max(1.0, abs(best_loss)):
                best, best_loss = trial, loss
                yield best.copy(), best_loss

    def scatter(self, choice: Choice, kicks: int) -> Choice:
        """A choice that has little to do with the one given."""
        rng = np.random.default_rng(self.seed)
        for _ in range(kicks):
            choice = self._kick(self.hang(choice, int(rng.integers(self.candidates.n_nodes))), rng)
        return choice

    def _kick(self, choice: Choice, rng: np.random.Generator) -> Choice:
        """Change two to five nodes at random, or give the class new parents and free those of theirs."""
        trial = choice.copy()
        c = self.candidates.class_index
        first, last = self.candidates.offsets[c], self.candidates.offsets[c + 1]
        if last - first > 1 and rng.random() < 1 / 3:
            column = int(rng.integers(first, last))
            for node in np.flatnonzero(self._has_parent[column]):
                empty = self.candidates.column_of.get((int(node), ()))
                if empty is None or (self.side is not None and empty not in self._allowed(trial, int(node))):
                    return trial
                trial[node] = empty
            if column in self._allowed(trial, c):
                trial[c] = column
            return trial
        n_nodes = self.candidates.n_nodes
        for node in rng.choice(n_nodes, size=min(n_nodes, int(rng.integers(2, 6))), replace=False):
            trial[node] = rng.choice(self._allowed(trial, int(node)))
        return trial

    def hang(self, choice: Choice, node: int) -> Choice:
        """Hang the tree of features that holds `node` from `node`; the same choice where there is no such thing.

        Every edge on the way to the tree's root is turned. Margins hardly change, but other replacements of a single
        parent set come within reach.
        """
        c, column_of = self.candidates.class_index, self.candidates.column_of
        path = [node]
        while True:
            parents = np.flatnonzero(self._has_parent[choice[path[-1]]])
            parents = parents[parents != c]
            if len(parents) > 1 or path[-1] == c:
                return choice
            if not len(parents):
                break
            path.append(int(parents[0]))
        trial = choice.copy()
        for place, child in enumerate(path):
            above = path[place - 1 : place] if place else []
            # The new root takes the old root's set, so that the class stays a parent where it was one.
            takes_class = self._has_parent[choice[child if place else path[-1]], c]
            column = column_of.get((child, tuple(sorted([*above, c] if takes_class else above))))
            if column is None:
                return choice
            trial[child] = column
        if not self.candidates.class_parents_block_features and find_cycle(self.candidates.parents_of_choice(trial)):
            return choice  # a parent of the class may have parents of its own, which the class is above
        return trial if self.side is None or self.side.keeps(trial) else choice

    def _late(self) -> bool:
        return stop_asked() or (self.deadline is not None and now() >= self.deadline)

    def _descend(self, start: Choice, nodes: "range | list[int]") -> tuple[Choice, float]:
        """Replace one node's parent set after another until no replacement helps."""
        choice = start.copy()
        loss = self.loss.reset(choice)
        idle, self._held_up = 0, False
        roomy = self._roomy(choice)
        while idle < self.candidates.n_nodes:
            for node in nodes:
                if idle >= self.candidates.n_nodes or self._late():
                    return choice, loss
                cutoff = loss - 1e-9 * max(1.0, abs(loss))
                allowed = self._allowed(choice, node, roomy)
                column, lower = self.loss.best_replacement(int(choice[node]), allowed, cutoff)
                if column < 0:
                    idle += 1
                    continue
                self.loss.replace(int(choice[node]), column)
                choice[node], loss, idle = column, lower, 0
                roomy = self._roomy(choice)
            loss = self.loss.reset(choice)  # fresh sums and a fresh order of the samples
        return choice, loss

    def _improve(self, choice: Choice, nodes: "range | list[int]") -> tuple[Choice, float]:
        """Descend; under constraints until no exchange of two helps: one node gives up a parent, another takes more.

        Where a limit is reached no node can gain before another gives way, and single replacements are stuck early.
        """
        every = range(self.candidates.n_nodes)
        choice, loss = self._descend(choice, nodes)
        found = self._held_up
        while found and not self._late():
            found = False
            for giver, column in self._smaller(choice):
                trial = choice.copy()
                trial[giver] = column
                cutoff = loss - 1e-9 * max(1.0, abs(loss))
                self.loss.reset(trial)
                best = -1, -1
                for node in every:
                    if node != giver and not self._late():
                        taken, lower = self.loss.best_replacement(int(trial[node]), self._allowed(trial, node), cutoff)
                        if taken >= 0:
                            best, cutoff = (node, taken), lower
                if best[0] >= 0:
                    trial[best[0]] = best[1]
                    choice, loss = self._descend(trial, every)
                    found = True
                    break
        return choice, loss

    def _smaller(self, choice: Choice) -> Iterator[tuple[int, int]]:
        """Columns with one parent less than what a node has, where the constraints leave it that choice."""
        for node in range(self.candidates.n_nodes):
            own = self._has_parent[choice[node]]
            allowed = self._allowed(choice, node)
            sets = self._has_parent[allowed]
            part = ~(sets & ~own).any(axis=1) & (sets.sum(axis=1) == own.sum() - 1)
            yield from ((node, int(column)) for column in allowed[part])

    def _roomy(self, choice: Choice) -> bool:
        """Whether the constraints need not be looked at before the choice is another one."""
        return self.side is None or self.side.roomy(choice)

    def _allowed(self, choice: Choice, node: int, roomy: bool = False) -> Choice:
        """Columns of `node` that keep the graph acyclic (no parent may descend from the node) and the constraints."""
        from mmbn_opt.heuristics._local_search_kernels import acyclic_columns

        first, last = self.candidates.offsets[node], self.candidates.offsets[node + 1]
        allowed: Choice = acyclic_columns(self._has_parent, choice, node, first, last)
        if self.side is not None and not roomy:
            fits = self.side.replacements(choice, node)
            if not fits.all():
                self._held_up = True
                allowed = allowed[fits[allowed - first]]
        return allowed
