"""Machines that search one tree: packets of open boxes go out, what is proved of them and new boxes come back."""

import heapq
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ...._budget import Budget, now
from ....programs.tree_relocation import Relocation
from ....results.status import TerminationStatus
from ...ending import Tolerances
from ...journal import Ended
from ...workers import Workers, WorkersLost
from ._bundles import OpenBox
from ._packets import Answer, Packet, Task, search_packet
from ._pool import Slots
from ._recipes import Start, renumbered
from ._search import Search

__all__ = ["Coordinator"]

logger = logging.getLogger(__name__)

LONG_SEC, SHORT_SEC = 5.0, 0.5
"""How long a packet is searched: long where there are boxes for all, short where some wait for boxes."""

PACKET_BOXES, MOST_PACKET_BOXES = 16, 1000
"""Boxes of a packet at first, and at most: as many as are looked at in its time, so that the best come first."""

AHEAD = 1.5
"""Packets that are out at most, as a multiple of those that can be worked on."""

MOST_STARTS = 32_768
"""Boxes of which is kept what they start from; all others start from the rows of the root."""

ANSWER_SEC = 0.3
"""How long an answer may take to come."""

LOOK_SEC = 0.05
"""How often the clock is looked at while no answer comes."""

ALONE_SEC = 3.0
"""How long nobody has to be there until packets are taken back, and searched here."""


class Coordinator:
    """Owns the tree, and looks at boxes itself only while nobody else is there.

    Parameters
    ----------
    search : Search
        Whose tree it is; its rows at the root and its rule are those of all.
    binding : int array
        Rows that bind at the root.
    gap : float
        At the root.
    workers : Workers
    tolerances : Tolerances
    constant : float
        Objective minus loss.
    budget : Budget
    say : callable
        Told in a word or two when workers are gone, and when some are there again.

    Attributes
    ----------
    packets, packets_here : int
        That were given out, and that were searched here.
    alone : bool
        Whether nobody is there.
    """

    def __init__(
        self, search: Search, binding: Slots, gap: float, workers: Workers, tolerances: Tolerances, constant: float,
        budget: Budget, say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._search, self._workers, self._budget, self._say = search, workers, budget, say
        self._ledger, self._incumbent = search.proof.ledger, search.incumbent
        self._heap: list[tuple[float, int, int]] = []
        self._out: dict[object, list[OpenBox]] = {}
        self.packets = self.packets_here = 0
        self.alone = False
        self._starts: dict[int, Start] = {}
        self._seen = now()
        self._packet_boxes = PACKET_BOXES
        self._task = Task.of(search, binding, gap, tolerances, constant)

    def run(self) -> Iterator[None]:
        """Search to the end; yields often."""
        frontier = self._search.frontier
        depths = frontier.depths()
        self._heap = [(value, number, depths.get(number, 1)) for number, value in self._ledger.values()]
        heapq.heapify(self._heap)
        for box in frontier.best(MOST_STARTS):
            self._remember(box.number, box.start)
        workers = self._workers
        try:
            workers.share(self._task)
            while self._heap or self._out:
                slots = workers.slots()
                self._give_out(slots)
                yield
                if self._is_alone(slots):
                    self._search_here()
                for ticket, answer in workers.answers(0.0 if self.alone else LOOK_SEC):
                    self._take(self._out.pop(ticket), answer)
                self._incumbent.tell()
        except WorkersLost as lost:
            raise Ended(TerminationStatus.INTERRUPTED, str(lost)) from lost
        finally:
            workers.cancel()

    def _is_alone(self, slots: int) -> bool:
        """Whether nobody has been there for a while; what was given out is then taken back, and all is told once."""
        if slots:
            self._seen = now()
            if self.alone:
                self.alone = False
                logger.warning("workers are there again, and get packets")
                self._say("workers")
        elif not self.alone and now() - self._seen >= ALONE_SEC:
            self.alone = True
            logger.warning(
                "no worker is there for %.0f s: this process searches on by itself, and gives out packets again when "
                "some are there (Dask's own clusters close one that does not come back within "
                "distributed.deploy.lost-worker-timeout)",
                ALONE_SEC,
            )
            self._say("no workers")
            self._workers.cancel()
            for boxes in self._out.values():
                for box in boxes:
                    self._open(box)
                    del self._ledger.taken[box.number]
            self._out.clear()
            self._workers.share(self._task)
        return self.alone

    def _search_here(self) -> None:
        """One packet, by this process."""
        boxes = self._best(self._packet_boxes)
        if boxes:
            packet = Packet(boxes, min(LONG_SEC, self._budget.left()), self._incumbent.choice)
            self._take(boxes, search_packet(self._task, packet, self._search.check))
            self.packets_here += 1

    def _give_out(self, slots: int) -> None:
        """Packets for all who have none: the best boxes are dealt out one by one, so that packets are alike."""
        wanted = int(AHEAD * slots + 0.5) - len(self._out)
        if wanted <= 0:
            return
        boxes = self._best(min(wanted * self._packet_boxes, max(wanted, len(self._heap) // 2)))
        seconds = LONG_SEC if len(self._heap) >= wanted else SHORT_SEC
        seconds = min(seconds, max(self._budget.left() - ANSWER_SEC, ANSWER_SEC))  # what is told too late is lost
        choice = self._incumbent.choice
        for first in range(min(wanted, len(boxes))):
            packet = boxes[first::wanted]
            self._out[self._workers.submit(search_packet, Packet(packet, seconds, choice))] = packet
            self.packets += 1

    def _best(self, count: int) -> list[OpenBox]:
        """The best boxes, taken; those that can hold nothing better are closed instead."""
        boxes: list[OpenBox] = []
        cutoff = self._incumbent.cutoff()
        while self._heap and len(boxes) < count:
            value, number, depth = heapq.heappop(self._heap)
            if value >= cutoff and not self._incumbent.settles:
                self._ledger.drop(number)
                self._starts.pop(number, None)
                continue
            _, allowed = self._ledger.take(number, self._search.program.n_columns)
            boxes.append(OpenBox(number, value, depth, np.packbits(allowed), self._starts.pop(number, None)))
        return boxes

    def _remember(self, number: int, start: Start | None) -> None:
        """What a box starts from, as long as there is room for it; those that have waited longest make room."""
        if start is not None:
            self._starts[number] = start
            if len(self._starts) > MOST_STARTS:
                del self._starts[next(iter(self._starts))]

    def _open(self, box: OpenBox) -> None:
        """A box is open, here and in the ledger."""
        self._ledger.mirror(box.number, box.value, box.bits)
        heapq.heappush(self._heap, (box.value, box.number, box.depth))
        self._remember(box.number, box.start)

    def _take(self, boxes: list[OpenBox], answer: Answer) -> None:
        """What became of a packet counts from here on, all of it."""
        ledger, task = self._ledger, self._task
        with ledger.lock:
            first = ledger.next_number
            shift = Relocation(first, task.n_points)
            if ledger.log is not None:
                numbers = ledger.log.numbers_for(answer.records)
                shift = Relocation(first, task.n_points, len(task.others), *numbers)
                ledger.log.adopt(answer.records, shift.record)
            for box in boxes:
                del ledger.taken[box.number]
            given = {box.number: box.start for box in boxes}
            starts = renumbered((box.start for box in answer.open_boxes), shift.point)
            for box, start in zip(answer.open_boxes, starts, strict=True):
                self._open(replace(box, number=shift.box(box.number), start=given.get(box.number, start)))
            ledger.number_from(max(ledger.next_number, first + answer.made))
        answer.count_in(self._search)
        if answer.seconds > 0.0:
            sized = int(LONG_SEC * answer.tally["nodes"] / answer.seconds)
            self._packet_boxes = min(max(PACKET_BOXES, sized), MOST_PACKET_BOXES)
