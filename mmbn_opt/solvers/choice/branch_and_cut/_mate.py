"""A process that searches a share of a tree, and tells the process that owns it what became of the boxes."""

import os
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...._budget import now
from ....programs.tree_relocation import NEW_BOXES
from ....results.status import TerminationStatus
from ...hosting.link import EngineFailure
from ...hosting.wire import read_message
from ...hosting.worker import begin
from ...journal import Ended
from ._bundles import OpenBox
from ._families import Parted
from ._packets import Bench, Findings, Task
from ._recipes import Start

__all__ = ["Boxes", "CannotRead", "End", "GiveBack", "Known", "MateJob", "Practice", "Report", "main"]

REPORT_SEC = 0.5
"""How often it is told what became of the boxes."""

REPORT_SHARE = 0.05
"""... or less often, where telling takes more than this share of the time."""


@dataclass(frozen=True)
class MateJob:
    """What a process is called with; the task follows.

    Parameters
    ----------
    modules : tuple of str
        That the task will need.
    """

    modules: tuple[str, ...]
    threads: int = 1
    verbose: bool = False


@dataclass(frozen=True, eq=False)
class Practice:
    """A task much like the one that will come."""

    task: Task


@dataclass(frozen=True, eq=False)
class Boxes:
    """To be searched from here on."""

    boxes: list[OpenBox]


@dataclass(frozen=True, eq=False)
class Known:
    """The best choice known."""

    choice: NDArray[np.intp]


@dataclass(frozen=True)
class GiveBack:
    """Boxes that another one is to search, as far as they are still open."""

    numbers: frozenset[int]


@dataclass(frozen=True)
class CannotRead:
    """An order that could not be made sense of, such as a task of classes that do not exist in this process."""

    text: str


@dataclass(frozen=True)
class End:
    """Tell once more, and search nothing any more."""


Order = Task | Boxes | Known | GiveBack | End


@dataclass(frozen=True, eq=False)
class Report(Findings):
    """What happened since the last one; `closed` is of all that was ever closed here.

    Parameters
    ----------
    new : list of OpenBox
    gone : list of int
        Boxes that are open no more.
    returned : list
        Numbers of boxes that are not here any more, and what they start from.
    is_last : bool
    """

    new: list[OpenBox]
    gone: list[int]
    returned: list[tuple[int, Start | None]]
    is_last: bool


class Mate:
    """What the process does.

    Parameters
    ----------
    task : Task
    orders : SimpleQueue of Order
    ending : Event
        Set as soon as an `End` has come: a box is then left where it stands.
    send : callable
    """

    def __init__(
        self, task: Task, orders: "queue.SimpleQueue[Order]", ending: threading.Event, send: Callable[[object], None]
    ) -> None:
        self._orders, self._ending, self._send = orders, ending, send
        self._bench = Bench(task, self._check)
        self._told: dict[int, NDArray[np.uint8]] = {}  # columns of boxes as they are known there
        self._told_tally = self._bench.search.tally.figures()
        self._told_counts = dict(self._bench.ledger.counts)
        self._whole = 0  # records up to the last box that was done
        self._left: dict[int, int] = {}  # depth of a box that was left where it stood
        self._next_report, self._changed = 0.0, False

    def _check(self) -> None:
        if self._ending.is_set():
            raise Ended(TerminationStatus.INTERRUPTED, "")

    def work(self) -> None:
        """Until told to end."""
        frontier = self._bench.search.frontier
        while True:
            while len(frontier) == 0 or not self._orders.empty():
                if len(frontier) == 0 and self._changed:
                    self._report()
                if not self._obey(self._orders.get()):
                    return
            waiting = frontier.pop()
            assert waiting is not None
            value, number, _, family = waiting
            bits = self._bench.ledger.bits(number)
            try:
                self._bench.search.look_at(waiting)
            except Ended:
                self._bench.ledger.put_down(number, value, bits)
                self._left[number] = family.depth + 1
                continue
            self._whole, self._changed = len(self._bench.records), True
            if now() >= self._next_report:
                self._report()

    def _obey(self, order: Order) -> bool:
        """Whether to go on."""
        match order:
            case Boxes(boxes):
                self._bench.take_in(boxes)
                self._told.update((box.number, box.bits) for box in boxes)
            case Known(choice):
                self._bench.know(choice)
            case GiveBack(numbers):
                self._report(self._bench.search.frontier.give_back(numbers))
            case End():
                self._report(is_last=True)
                return False
        return True

    def _report(self, returned: Sequence[Parted] = (), *, is_last: bool = False) -> None:
        begin = now()
        bench, back = self._bench, [(box.number, box.start) for box in returned]
        ledger, tally = bench.ledger, bench.search.tally
        depths = bench.search.frontier.depths() | self._left | {box.number: box.depth for box in returned}
        new = [  # or changed, where one was left for later
            OpenBox(number, value, depths[number], bits)
            for number, value, bits in ledger.boxes()
            if self._told.get(number) is not bits
        ]
        for number, _ in back:
            ledger.forget(number)
        here = {number: bits for number, _, bits in ledger.boxes()}
        gone = list(self._told.keys() - here.keys() - {number for number, _ in back})
        counted, counts = tally.figures(), dict(ledger.counts)
        records, bench.records[:] = bench.records[: self._whole], bench.records[self._whole :]
        report = Report(
            ledger.closed, bench.better[-1] if bench.better else None, bench.settles, records,
            {what: count - self._told_tally[what] for what, count in counted.items()},
            {what: count - self._told_counts.get(what, 0) for what, count in counts.items()},
            new, gone, back, is_last,
        )  # fmt: skip
        bench.better.clear()
        self._told, self._told_tally, self._told_counts = here, counted, counts
        self._whole, self._changed = 0, False
        self._send(report)
        self._next_report = now() + max(REPORT_SEC, (now() - begin) / REPORT_SHARE)


def practise(task: Task) -> None:
    """Look at the root once, and keep nothing of it: afterwards all is loaded that boxes take."""
    bench = Bench(task, lambda: None)
    bench.take_in([OpenBox(NEW_BOXES - 1, task.value, 0, np.packbits(task.allowed))])
    root = bench.search.frontier.pop()
    assert root is not None
    bench.search.look_at(root)


def _listen(
    stream: BinaryIO, orders: "queue.SimpleQueue[Any]", ending: threading.Event, send: Callable[[object], None]
) -> None:
    try:
        while True:
            order = read_message(stream)
            orders.put(order)
            if isinstance(order, End):
                ending.set()
    except (EOFError, OSError):
        pass
    except BaseException as error:
        send(CannotRead(f"{type(error).__name__}: {error}"))
    os._exit(1)


def main() -> None:
    """Read a job, then orders, and send what happens."""
    incoming, send = begin()
    job: MateJob = read_message(incoming)
    for module in job.modules:
        with suppress(Exception):  # the task says what is wrong
            import_module(module)
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    ending = threading.Event()
    threading.Thread(target=_listen, args=(incoming, orders, ending, send), daemon=True).start()
    try:
        while isinstance(order := orders.get(), Practice):
            with suppress(Exception):  # what matters will be told of the task
                practise(order.task)
        if isinstance(order, Task):
            Mate(order, orders, ending, send).work()
    except BaseException as error:
        send(EngineFailure.of(error))
    # Destructors of libraries have nothing to add and can hang.
    os._exit(0)
