"""Processes that help to search a tree: each has a share of its boxes, and the ledger here knows all of them.

What is small is searched in boxes of a millisecond, most of which threads would spend waiting for each other. A process
keeps its boxes, with the rows and bases that they start from, as long as it has some; boxes change hands only where
one has none left, or where the bounds of one are far behind another's. Since the ledger knows every box, one whose
process is lost is searched by another.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, ClassVar, cast

import numpy as np

from ...._budget import now
from ....exceptions import SolverError
from ....programs.tree_log import TreeLog
from ....programs.tree_records import OPEN, ChildBoxes, Kind
from ....programs.tree_relocation import NEW_BOXES, Relocation
from ...hosting.child import ChildHost
from ...hosting.link import EngineFailure, HostDied
from ._bundles import OpenBox
from ._families import Parted
from ._mate import Boxes, CannotRead, End, GiveBack, Known, MateJob, Practice, Report
from ._packets import Task
from ._recipes import Start, renumbered
from ._search import Search

__all__ = ["ProcessCrew"]

logger = logging.getLogger(__name__)

BLOCK = 1 << 40
"""Numbers that a process may give to boxes."""

LOOK_SEC = 0.005
"""How often it is looked whether somebody has told something."""

LEVEL_SEC = 3.0
"""How often bounds are compared."""

LAG = 0.1
"""Share of the gap by which one's bound may be behind another's."""

PILE = 64
"""Boxes that change hands at once: few, of the best, since each takes along what it takes to make the rows that it
starts from, and leaves its basis behind; what they become stays where it is."""

LAST_WORDS_SEC = 0.5
"""How long processes may take to tell what they did last; who has a box that takes longer loses that."""


class _Host(ChildHost):
    worker: ClassVar[str] = "mmbn_opt.solvers.choice.branch_and_cut._mate"

    def tell(self, order: object) -> None:
        """Send an order."""
        self._outbox.put(order)


@dataclass(eq=False)
class _Mate:
    """A process as it is seen here.

    Attributes
    ----------
    boxes : dict
        Value and depth of each box that it has, by number.
    asked : bool
        Whether it was asked to give some back, and has not answered.
    knows : object
        The choice that it was told last.
    """

    host: _Host
    first: int
    boxes: dict[int, tuple[float, int]] = field(default_factory=dict)
    asked: bool = False
    knows: object = None
    _points: list[np.ndarray[Any, Any]] = field(default_factory=list)
    _others: list[np.ndarray[Any, Any]] = field(default_factory=list)
    _move: Relocation | None = None
    _parted: list[int] = field(default_factory=list)
    _places: list[int] = field(default_factory=list)

    @property
    def least(self) -> float:
        """Least value of its boxes."""
        return min((value for value, _ in self.boxes.values()), default=np.inf)

    def number(self, theirs: int) -> int:
        """Of a box, here."""
        return theirs if theirs < NEW_BOXES else theirs - NEW_BOXES + self.first

    def theirs(self, number: int) -> int:
        """Of a box, there."""
        return number if not self.first <= number < self.first + BLOCK else number - self.first + NEW_BOXES

    def adopt(self, log: TreeLog, report: Report, task: Task) -> None:
        """Write what it proved."""
        points, others = log.numbers_for(report.records)
        self._points.append(points)
        self._others.append(others)
        self._move = Relocation(
            self.first, task.n_points, len(task.others), np.concatenate(self._points), np.concatenate(self._others)
        )
        for (kind, payload), place in zip(report.records, log.adopt(report.records, self._move.record), strict=True):
            if kind is Kind.SPLIT:
                parted = ChildBoxes.decode(payload, multipliers=False)
                if (parted.fates == OPEN).any():
                    self._parted.append(self.number(parted.first))
                    self._places.append(place)

    def point(self, number: int) -> int:
        """Of a point of its own, here; where nothing is written none has one but the root's."""
        return number if self._move is None else self._move.point(number)

    def place(self, number: int) -> int:
        """Where the parent of a box was parted in the tree file; -1 where that is not known."""
        if not self.first <= number < self.first + BLOCK or not self._parted:
            return -1
        return self._places[bisect_right(self._parted, number) - 1]


class ProcessCrew:
    """Those who help, each a process.

    Parameters
    ----------
    size : int
        How many there are beside the one that searches here.
    over : callable
        Whether the time is up.
    task : callable
        Makes the task of a search.
    modules : tuple of str
        That it takes.

    Attributes
    ----------
    error : BaseException or None
        What the first one that failed did so with.
    boxes : int
        That were looked at by them.
    """

    def __init__(
        self, size: int, over: Callable[[], bool], task: Callable[[Search], Task], modules: tuple[str, ...] = ()
    ) -> None:
        self._size, self._over, self._task_of, self._modules = size, over, task, modules
        self._hosts: list[_Host] = []
        self._mates: list[_Mate] = []
        self.error: BaseException | None = None
        self.boxes = 0
        self._next_level = 0.0

    def call(self) -> bool:
        """Start the processes, which takes them a while; False where that cannot be done."""
        try:
            while len(self._hosts) < self._size:
                self._hosts.append(_Host(MateJob(self._modules)))
        except (OSError, SolverError) as error:  # too many processes, an embedded interpreter
            logger.warning("no process could be started to help with the search (%s); threads help instead", error)
            self.close()
            return False
        return True

    def practise(self, search: Search) -> None:
        """Those who are there get ready for a search that is much like this one."""
        if self._hosts:
            practice = Practice(self._task_of(search))
            for host in self._hosts:
                host.tell(practice)

    def close(self) -> None:
        """Let them go."""
        for host in self._hosts:
            host.close()
        self._hosts = []

    def check(self) -> None:
        """Raise what a helper failed with."""
        if self.error is not None:
            raise self.error

    @contextmanager
    def helping(self, search: Search, check: Callable[[], None]) -> Iterator[None]:
        """A block in which all that were called look at boxes of a search; at its end what they did last is heard."""
        self._search, self._task, self._rows = search, self._task_of(search), search.root_rows
        self._ledger, self._frontier = search.proof.ledger, search.frontier
        self._mates = [_Mate(host, self._ledger.reserve(BLOCK)) for host in self._hosts]
        for mate in self._mates:
            mate.host.tell(self._task)
        self._next_level = now() + LEVEL_SEC
        enough = Event()
        thread = Thread(target=self._share_out, args=(enough,), name="tree 1", daemon=True)
        try:
            thread.start()
            yield
            self.check()
        finally:
            enough.set()
            thread.join()
            self._hear_last_words()
            self.close()

    def _share_out(self, enough: Event) -> None:
        try:
            while not enough.is_set() and not self._over():
                if not self._hear():
                    self._balance()
                    enough.wait(LOOK_SEC)
        except BaseException as error:  # of whatever kind, it ends the whole search
            self.error = self.error or error
        finally:
            self._frontier.wake()

    def _hear(self) -> bool:
        """What was told; whether that was anything."""
        heard = False
        for mate in list(self._mates):
            while (message := mate.host.peek(0.0)) is not None:
                mate.host.pop()
                heard = True
                said = cast(object, message)
                if isinstance(said, Report):
                    self._take(mate, said)
                elif isinstance(said, HostDied | CannotRead) or (
                    isinstance(said, EngineFailure) and said.kind == "MemoryError"
                ):
                    self._lose(mate, said.text)
                    break
                elif isinstance(said, EngineFailure):
                    raise SolverError(f"a process that helped to search failed: {said.kind}: {said.text}")
        return heard

    def _take(self, mate: _Mate, report: Report) -> None:
        """What a process tells counts from here on."""
        ledger = self._ledger
        with ledger.lock:
            if ledger.log is not None:
                mate.adopt(ledger.log, report, self._task)
            for number in map(mate.number, report.gone):
                ledger.forget(number)
                del mate.boxes[number]
            for box in report.new:
                number = mate.number(box.number)
                ledger.mirror(number, box.value, box.bits)
                mate.boxes[number] = (box.value, box.depth)
            report.count_in(self._search)  # before anybody can ask for the bound
        self.boxes += int(report.tally["nodes"])
        if report.returned or mate.asked:
            mate.asked = False
            starts = renumbered((start for _, start in report.returned), mate.point)
            self._take_back(mate, zip((mate.number(number) for number, _ in report.returned), starts, strict=True))
        self._count_away()

    def _take_back(self, mate: _Mate, boxes: Iterable[tuple[int, Start | None]]) -> None:
        """Boxes of a process are here again, with what they start from, if that is known."""
        back = []
        for number, start in boxes:
            value, depth = mate.boxes.pop(number)
            back.append(Parted(number, value, mate.place(number), depth, start))
        self._frontier.take_in(back, self._rows)

    def _lose(self, mate: _Mate, words: str) -> None:
        logger.warning("a process that helped to search a tree is gone (%s); the others search its boxes", words)
        self._mates.remove(mate)
        self._take_back(mate, [(number, None) for number in mate.boxes])
        self._count_away()

    def _count_away(self) -> None:
        self._frontier.are_away(sum(len(mate.boxes) for mate in self._mates))

    def _balance(self) -> None:
        """Boxes for those who have none, the best choice for all."""
        if not self._mates:
            return
        choice = self._search.incumbent.choice
        for mate in self._mates:
            if choice is not None and mate.knows is not choice:
                mate.knows = choice
                mate.host.tell(Known(choice))
            if len(mate.boxes) > 2 * self._frontier.most and not mate.asked:
                self._ask(mate, worst=True)
        idle = [mate for mate in self._mates if not mate.boxes]
        if idle and len(self._frontier) > 1:
            self._give(idle)
        elif idle or self._frontier.hungry:
            self._ask_richest()
        elif now() >= self._next_level:
            self._next_level = now() + LEVEL_SEC
            self._level()

    def _give(self, mates: list[_Mate]) -> None:
        """Shares of the boxes that wait here."""
        for mate, pile in zip(mates, self._frontier.deal(len(mates), PILE), strict=True):
            if not pile:
                continue
            for box in pile:
                mate.boxes[box.number] = (box.value, box.depth)
            boxes = [
                OpenBox(mate.theirs(box.number), box.value, box.depth, self._ledger.bits(box.number), box.start)
                for box in pile
            ]
            mate.host.tell(Boxes(boxes))

    def _ask_richest(self) -> None:
        """Some of the boxes of the one who has most."""
        richest = max(self._mates, key=lambda mate: len(mate.boxes), default=None)
        if richest is not None and len(richest.boxes) > 1 and not any(mate.asked for mate in self._mates):
            self._ask(richest)

    def _ask(self, mate: _Mate, *, worst: bool = False) -> None:
        """Every other one of its best boxes, or the half of largest bounds, which waits on the disk here."""
        ranked = sorted(mate.boxes, key=lambda number: mate.boxes[number][0])
        wanted = ranked[len(ranked) // 2 :] if worst else ranked[1 : 2 * PILE : 2]
        mate.asked = True
        mate.host.tell(GiveBack(frozenset(map(mate.theirs, wanted))))

    def _level(self) -> None:
        """Let who is ahead take a share of the boxes of who is behind."""
        cutoff = self._search.incumbent.cutoff()
        leasts = [mate.least for mate in self._mates]
        here, there = self._frontier.least, min(leasts, default=np.inf)
        behind = min(here, there)
        if not np.isfinite(cutoff) or max(here, *leasts) - behind <= LAG * (cutoff - behind):
            return
        if here <= there:
            self._give([max(self._mates, key=lambda mate: mate.least)])
        elif not any(mate.asked for mate in self._mates):
            self._ask(self._mates[leasts.index(there)])

    def _hear_last_words(self) -> None:
        """What they did since they told something last."""
        waited = [mate for mate in self._mates if mate.boxes]
        for mate in waited:
            mate.host.tell(End())
        end = now() + LAST_WORDS_SEC
        for mate in waited:
            while (message := mate.host.peek(max(0.0, end - now()))) is not None:
                mate.host.pop()
                said = cast(object, message)
                if not isinstance(said, Report):
                    break
                self._take(mate, said)
                if said.is_last:
                    break
