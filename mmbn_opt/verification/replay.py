"""The records of a tree file one after another: boxes are made, bounded, shrunk and parted again."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.exceptions import FormatError
from mmbn_opt.verification.bounds import Bounds
from mmbn_opt.verification.boxes import Boxes
from mmbn_opt.verification.branching import branching_bound
from mmbn_opt.verification.tree_file import Evidence, Kind

__all__ = ["Replay"]

WINDOW = 1024
"""Records read ahead, so that many cuts are formed at once."""


@dataclass(eq=False)
class _Box:
    """A box: its columns, whether it has choices, what is proved, what rounding took, what the file claims.

    `last` is what the last evidence proves of the choices with each column.
    """

    packed: NDArray[np.uint8]
    size: int
    alive: bool
    value: float = -math.inf
    rounding: float = 0.0
    claimed: float = -math.inf
    last: NDArray[np.float64] | None = None

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """The columns, which take a bit each while the box is open."""
        return np.unpackbits(self.packed, count=self.size).astype(bool)


class Replay:
    """What a file proves.

    Attributes
    ----------
    proved, claimed : float
        The least loss of all that is closed, by the layout whose tree proves most, and what the file says of it.
    rounding : float
        The most that rounding took from a bound of that tree.
    incumbent : list of int
    records : int
    """

    def __init__(self, boxes: Boxes, bounds: Bounds, n_samples: int) -> None:
        self._boxes, self._bounds, self._n_samples = boxes, bounds, n_samples
        self.records = 0
        self.incumbent: list[int] = []
        self.proved, self.claimed, self.rounding = -math.inf, -math.inf, 0.0
        self._start(np.zeros(n_samples, dtype=np.intp))

    def run(self, records: Iterable[tuple[int, Any]]) -> None:
        """Go through all records; what is open at the end counts at its value."""
        window: list[tuple[int, Any]] = []
        for kind, said in records:
            self.records += 1
            if kind == Kind.LAYOUT or len(window) == WINDOW:
                self._go_through(window)
                window = []
            if kind == Kind.LAYOUT:
                self._end()
                self._start(said)
            elif kind == Kind.POINT:
                self._bounds.points[said[0]] = said[1:]
            elif kind == Kind.ROW:
                self._bounds.others[said["number"]] = self._boxes.row(said)
            elif kind == Kind.INCUMBENT:
                self.incumbent = said
            elif said is not None:
                window.append((kind, said))
        self._go_through(window)
        self._end()

    def _end(self) -> None:
        """The tree of a layout ends: what it proved stays, and what is open counts at its value."""
        for box in self._open.values():
            self._close(box)
        self.claimed = max(self.claimed, self._least_claimed)
        if self._least > self.proved:
            self.proved, self.rounding = self._least, self._most_rounding

    def _start(self, group: NDArray[np.integer[Any]]) -> None:
        if len(group) != self._n_samples:
            raise FormatError(f"The tree file groups {len(group)} samples, and the data have {self._n_samples}.")
        self._bounds.start(group.astype(np.intp))
        self._least, self._least_claimed, self._most_rounding = math.inf, math.inf, 0.0
        allowed = np.ones((1, len(self._boxes.owner)), dtype=bool)
        alive = bool(self._boxes.settle(allowed)[0])
        root = _Box(np.packbits(allowed), allowed.size, alive)
        self._raise(root, -math.inf, Evidence([], np.zeros((1, 0))))
        self._open: dict[int, _Box] = {0: root}

    def _go_through(self, window: list[tuple[int, Any]]) -> None:
        self._bounds.form({row for _, said in window if isinstance(said[-1], Evidence) for row in said[-1].rows})
        for kind, (number, *said) in window:
            box = self._open[number]
            if kind in (Kind.BOUND, Kind.BRANCHING):
                self._raise(box, *said)
            elif kind == Kind.EMPTY:
                box.alive = box.alive and not self._bounds.prove(said[0], box.allowed[None], empty=True)[0][0] > 0.0
            elif kind == Kind.FIX:
                self._fix(box, *said)
            elif kind in (Kind.EXCLUDE, Kind.SPLIT):
                self._part(box, None if kind == Kind.EXCLUDE else number, *said)
            else:
                box.claimed = max(box.claimed, *said)
                self._close(self._open.pop(number))

    def _raise(self, box: _Box, claimed: float, *said: Any) -> None:
        """Evidence for a box, behind the hub of branchings where it is for these."""
        *hub, evidence = said
        box.claimed = max(box.claimed, claimed)
        if not box.alive:
            return
        (bound,), (column,), (rounding,) = self._bounds.prove(evidence, box.allowed[None])
        value = branching_bound(float(bound), column, box.allowed, self._boxes, *hub) if hub else float(bound)
        box.last = box.last if hub else column
        box.value, box.rounding = max((value, float(rounding)), (box.value, box.rounding))

    def _close(self, box: _Box) -> None:
        """Let a box count at its value if there is anything in it."""
        self._least_claimed = min(self._least_claimed, box.claimed)
        if box.alive:
            self._least = min(self._least, box.value)
            self._most_rounding = max(self._most_rounding, box.rounding)

    def _fix(self, box: _Box, claimed: float, columns: NDArray[np.integer[Any]]) -> None:
        """Columns go, at what the last evidence proves of the choices with them."""
        own = columns[box.allowed[columns]]
        if len(own):
            value = box.value if box.last is None else max(box.value, float(box.last[own].min()))
            self._close(replace(box, value=value, claimed=claimed))
        self._shrink(box, columns)

    def _shrink(self, box: _Box, columns: NDArray[np.integer[Any]]) -> None:
        boxes = box.allowed[None]
        boxes[0, columns] = False
        box.alive = box.alive and bool(self._boxes.settle(boxes)[0])
        box.packed = np.packbits(boxes)

    def _part(self, box: _Box, number: int | None, node: int, first: int, *said: Any) -> None:
        """Boxes of columns of a node; with a number they take the box's place, and a column left out counts as it."""
        columns, fates, claimed, evidence = said
        own, every = self._boxes.owner == node, np.arange(box.size)
        boxes = box.allowed & np.where(own, every == columns[:, None], True)
        alive = self._boxes.settle(boxes) & box.alive
        pairs = zip(np.packbits(boxes, axis=1), alive.tolist(), strict=True)
        children = [replace(box, packed=bits, alive=some, last=None) for bits, some in pairs]
        bounds, _, roundings = self._bounds.prove(evidence, boxes[fates > 0])
        for child, *found in zip(np.array(children)[fates > 0], bounds.tolist(), roundings.tolist(), strict=True):
            child.value, child.rounding = max(found, [box.value, box.rounding])
        for child, fate, value in zip(children, fates.tolist(), claimed.tolist(), strict=True):
            child.claimed = max(box.claimed, value) if fate else math.inf
            if number is None or fate != 1:
                self._close(child)
            elif first in self._open:
                raise FormatError(f"The tree file has two boxes of the number {first}.")
            else:
                self._open[first] = child
                first += 1
        if number is None:
            self._shrink(box, columns[own[columns]])
        elif (self._open.pop(number).allowed & own & ~np.isin(every, columns)).any():
            self._close(box)
