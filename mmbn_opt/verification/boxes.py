"""What no choice of a box can have that is acyclic and keeps the limits; whether trees hang from their smallest one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.exceptions import FormatError
from mmbn_opt.verification.problem import Problem
from mmbn_opt.verification.side import Row, Side

__all__ = ["Boxes"]


class Boxes:
    """Sets of allowed columns; `owner` is the node of each, `offsets` the first of each node, `parents` a row each."""

    def __init__(self, problem: Problem) -> None:
        self._c = problem.c
        self.owner = np.array([node for node, _ in problem.columns])
        self.offsets = np.searchsorted(self.owner, np.arange(self._c + 1))
        self.parents = np.zeros((len(self.owner), self._c + 1), dtype=bool)
        for k, (_, parents) in enumerate(problem.columns):
            self.parents[k, list(parents)] = True
        self._roots = _root_columns(problem)
        self._side = Side(problem.limits, problem.side_said, self.owner, self.offsets, self.parents)

    def row(self, said: dict[str, Any]) -> Row:
        """``row @ x >= rhs`` of a row that every choice keeps: derived here, and compared with what is said."""
        if said["kind"] == "side":
            return self._side.row(*said["row"])
        if said["kind"] == "cluster" and said["nodes"]:
            members = np.isin(np.arange(self._c + 1), said["nodes"])
            row = (members[self.owner] & ~(self.parents & members).any(axis=1)).astype(np.float64)
            # The tree of the smallest member hangs from that one if from any of them, or its root has no class.
            row[[root for root in self._roots[np.flatnonzero(members)[1:]].tolist() if root >= 0]] = 0.0
            return row, 1.0, 1.0
        given = np.zeros(len(self.owner))
        given[said.get("columns", [])] = said.get("coefficients", 0.0)
        for j in range(self._c):
            # A parent of the class has no parents itself where all its other sets hold the class.
            own, bare = self.owner == j, ~self.parents.any(axis=1)
            row = (own & bare).astype(np.float64) - ((self.owner == self._c) & self.parents[:, j])
            if (given == -row).all() and said["upper"] == 0 and self.parents[own & ~bare, self._c].all():
                return row, 0.0, 1.0
        raise FormatError(f"The tree file has a row of the kind {said['kind']!r} that acyclicity does not imply.")

    def keeps(self, choice: list[int]) -> bool:
        """Whether a choice keeps the side constraints."""
        boxes = np.zeros((1, len(self.owner)), dtype=bool)
        boxes[0, choice] = True
        gone, dead = self._side.narrow(boxes, self._above(boxes))
        return not (dead.any() or (gone & boxes).any())

    def is_acyclic(self, choice: list[int]) -> bool:
        """Whether a choice has one column a node and no cycle."""
        edges, left = self.parents[choice], np.ones(self._c + 1, dtype=bool)
        if self.owner[choice].tolist() != list(range(self._c + 1)):
            return False
        for _ in range(self._c + 1):
            left &= (edges & left).any(axis=1)
        return not left.any()

    def _above(self, boxes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """``[box, node, j]``: j is above the node in every choice of the box."""
        common = np.logical_and.reduceat(~boxes[:, :, None] | self.parents, self.offsets, axis=1)
        for middle in np.flatnonzero(common.any(axis=(0, 1)) & common.any(axis=(0, 2))):
            common |= common[:, :, middle, None] & common[:, None, middle, :]
        return common

    def settle(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Take away, in place, what no choice of a box needs (n_boxes, n_columns); which boxes have something left.

        A column of node i goes that has a parent which descends from i in every choice of the box, or with which every
        choice breaks a side constraint. And where trees are
        worth the same from whichever node they hang, so do choices in which a smaller node descends from the root of
        its tree: the same tree is looked at where it hangs from its smallest node.
        """
        alive = np.ones(len(allowed), dtype=bool)
        left = np.arange(len(allowed))
        while len(left):
            boxes = allowed[left]
            counts = np.add.reduceat(boxes, self.offsets, axis=1, dtype=np.int64)
            common = self._above(boxes)
            below = common.swapaxes(1, 2)  # below[box, node, what descends from it]
            gone, dead = self._side.narrow(boxes, common)
            gone |= (below[:, self.owner] & self.parents).any(axis=2)
            for top in np.flatnonzero(self._roots >= 0):
                root = self._roots[top]
                gone[:, root] |= below[:, top, :top].any(axis=1)
                for b in np.flatnonzero(boxes[:, root] & (counts[:, top] == 1)):
                    under = below[b, top] | (np.arange(self._c + 1) == top)
                    gone[b] |= (self.parents & under).any(axis=1) & (self.owner < top)
            gone &= boxes
            allowed[left] = boxes & ~gone
            alive[left] = (counts > 0).all(axis=1) & ~dead
            left = left[gone.any(axis=1) & alive[left]]
        return alive


def _root_columns(problem: Problem) -> NDArray[np.intp]:
    """Of each feature the column {class}, if trees may hang from any node; -1 for all if not.

    They may if margins are the same for both directions of an edge between two features with the class (for a prior
    that is spread over joint states), features have no other sets than {}, {class} and {class, feature}, and whoever is
    in a tree may have each neighbour as its parent and be the root, which no side constraint minds.
    """
    roots = np.full(problem.c + 1, -1, dtype=np.intp)
    columns = {pair: k for k, pair in enumerate(problem.columns)}
    pairs = [(node, set(parents) - {problem.c}) for node, parents in problem.columns if node != problem.c and parents]
    fits = problem.by_margin and problem.dirichlet and problem.limits.turns
    fits = fits and all(len(others) < 2 for _, others in pairs)
    fits = fits and all(problem.c in parents for node, parents in problem.columns if node != problem.c and parents)
    for node, others in pairs:
        for other in others:
            if not fits or (node, (problem.c,)) not in columns or (other, (node, problem.c)) not in columns:
                return np.full(problem.c + 1, -1, dtype=np.intp)
            roots[node] = columns[node, (problem.c,)]
    return roots
