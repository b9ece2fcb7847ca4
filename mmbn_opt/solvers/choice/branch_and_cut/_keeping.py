"""The tree file of a search, as its solver sees it: what is written, and how a search goes on from it."""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ....exceptions import InputError
from ....programs.choice import ChoiceProgram
from ....programs.tree_log import TreeLog, TreeStore
from ....programs.tree_progress import Incumbent, Progress
from ....programs.tree_records import ChildBoxes, Kind, PointAt, RowNames, text_of
from ....programs.tree_replay import Replay
from ....programs.tree_rows import Point
from ....results.status import TerminationStatus
from ...journal import Ended
from ._pool import RowPool, Slots
from ._recipes import Recipe

__all__ = ["Keeper"]


class Keeper:
    """What was written before, and what is written now.

    Parameters
    ----------
    store : TreeStore
    program : ChoiceProgram

    Attributes
    ----------
    replay : Replay
        Of what was written before.
    log : TreeLog
    """

    def __init__(self, store: TreeStore, program: ChoiceProgram) -> None:
        self._store, self._failed = store, False
        self.replay = Replay.of(program, store.records())
        self.log = TreeLog(self._write, len(self.replay.point_places), self.replay.others)
        self.log.where = array("q", self.replay.point_places)
        self._points: WeakValueDictionary[int, Point] = WeakValueDictionary()

    def _write(self, kind: Kind, payload: bytes) -> int:
        if self._failed:
            return -1
        try:
            return self._store.write(kind, payload)
        except OSError as error:
            self._failed = True
            words = f"the checkpoint could not be written: {error.strerror or error}; it holds what was written before"
            raise Ended(TerminationStatus.INTERRUPTED, words, abrupt=True) from error

    @property
    def folder(self) -> Path:
        """Where the tree file is, and what else takes room."""
        return self._store.path

    # -- writing ----------------------------------------------------------------------------------------------------

    def begin_again(self) -> None:
        """Points and rows are numbered from 0: the next record is a layout."""
        self.take(TreeLog(self._write))

    def take(self, log: TreeLog) -> None:
        """The log that counts from here on; points of another one may have had the same numbers."""
        if log is not self.log:
            self._points.clear()
        self.log = log

    def found(self, objective: float, choice: NDArray[np.intp], seconds: float) -> None:
        """A better choice, or one that is as good and counts from here on."""
        self._write(
            Kind.INCUMBENT, Incumbent(self.replay.seconds + seconds, objective, choice.astype(np.int64)).encode()
        )

    def stands(self, primal: float | None, dual: float | None, boxes: int, pivots: int, seconds: float) -> None:
        """Where the search stands."""
        primal, dual = (math.nan if value is None else value for value in (primal, dual))
        before = self.replay.progress or Progress(0.0, math.nan, math.nan, 0, 0)
        boxes, pivots = before.boxes + boxes, before.pivots + pivots
        record = Progress(before.seconds + seconds, primal, dual, boxes, pivots)
        self._write(Kind.PROGRESS, record.encode())
        self._store.look(record)

    def ended(self, status: TerminationStatus, seconds: float) -> None:
        """The search is over, for now."""
        self._store.end(text_of({"status": status.name, "seconds": self.replay.seconds + seconds}))

    # -- going on ---------------------------------------------------------------------------------------------------

    def has_root_of(self, pool: RowPool) -> bool:
        """Whether a root was left before its tree was begun, in the grouping that the pool has."""
        so_far = self.replay.so_far
        return not self.replay.begun and so_far is not None and np.array_equal(_groups(pool), so_far.groups)

    def root_so_far(self, pool: RowPool) -> Recipe | None:
        """Rows by which such a root was bounded; None where there is none."""
        so_far = self.replay.so_far
        if so_far is None or not self.has_root_of(pool):
            return None
        rows, others = so_far.evidence.rows, so_far.others
        # Those of the program are there in any case.
        more = [number for number in rows.others.tolist() if others[number]["kind"] != "program"]
        rows = RowNames(rows.points, rows.groups, np.array(more, dtype=np.int64))
        return _recipe(pool, rows, others, lambda number: self._point_at(so_far.point_places[number]))

    def check_layout(self, pool: RowPool) -> None:
        """The groups must be those that the multipliers were found with."""
        groups = _groups(pool)
        if pool.n_groups != self.replay.n_groups or not np.array_equal(groups, self.replay.groups):
            raise InputError(
                "The checkpoint was written by a version of mmbn_opt that groups the samples in another way; go on "
                "with that version, or give another folder."
            )

    def root_rows(self, pool: RowPool) -> Slots:
        """Rows that the tree began with."""
        assert self.replay.root is not None
        rows = self.replay.root["rows"]
        cuts = np.array([row for row in rows if isinstance(row, list)], dtype=np.int64).reshape(-1, 2)
        others = np.array([row for row in rows if not isinstance(row, list)], dtype=np.int64)
        return pool.make(self._recipe(pool, RowNames(cuts[:, 0], cuts[:, 1], others)))

    def second(self) -> TreeLog:
        """A log for another tree from the same root."""
        start = self.replay.at_root
        assert start is not None
        return TreeLog.behind(self._write, start.records)

    def rows_at(self, place: int, pool: RowPool) -> Recipe:
        """Rows from which the children of a box were bounded that was parted there."""
        return self._recipe(pool, ChildBoxes.rows_of(self._store.read(place)[1]))

    def _recipe(self, pool: RowPool, names: RowNames) -> Recipe:
        return _recipe(pool, names, self.log.others, self._point)

    def _point(self, number: int) -> Point:
        point = self._points.get(number)
        if point is None:
            point = self._points[number] = self._point_at(self.log.where[number], number)
        return point

    def _point_at(self, place: int, number: int = -1) -> Point:
        found = PointAt.decode(self._store.read(place)[1])
        return Point(found.columns, found.values, number)


def _recipe(
    pool: RowPool, names: RowNames, others: Sequence[Mapping[str, Any]], point_of: Callable[[int], Point]
) -> Recipe:
    """How to make rows that a tree file names."""
    numbers, which = np.unique(names.points, return_inverse=True)
    return Recipe(
        [point_of(number) for number in numbers.tolist()],
        [pool.name_of(others[number]) for number in names.others.tolist()],
        np.concatenate([which, -1 - np.arange(len(names.others))]).astype(np.int32),
        np.concatenate([names.groups, np.full(len(names.others), -1)]).astype(np.int32),
    )


def _groups(pool: RowPool) -> NDArray[Any]:
    return np.zeros(0) if pool.term is None else pool.term.groups
