"""A packet of open boxes, searched for a while by a process that knows nothing of the rest of the tree."""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray
from ...._budget import Budget
from ...._threads import limited_threads
from ....programs.choice import ChoiceProgram
from ....programs.lagrangian import find_hub
from ....programs.tree_ledger import TreeLedger
from ....programs.tree_log import Record, TreeLog
from ....programs.tree_proof import TreeProof
from ....programs.tree_records import Kind
from ....programs.tree_relocation import NEW_BOXES, OWNERS_POINTS
from ...ending import Tolerances
from ._bundles import Bundle, OpenBox
from ._families import Parted
from ._incumbent import Incumbent
from ._pool import RowPool, Slots
from ._recipes import Recipe, renumbered
from ._search import Search
from ._settings import Branching, SearchSettings
from .clusters import ClusterSeparator

__all__ = ["Answer", "Bench", "Findings", "Packet", "Task", "packed_size", "search_packet"]

MOST_BOXES = 20_000
"""Open boxes with which a packet is handed back at once."""


@dataclass(frozen=True, eq=False)
class Task:
    """What all packets of a search have in common.

    Parameters
    ----------
    version : str
        Of mmbn_opt.
    program : ChoiceProgram
        Without its heuristic.
    n_groups, gap, rule, settings, tolerances, constant, settles
        As the search has them.
    value, allowed
        Of the root.
    root : Recipe
        Rows that bind at the root.
    n_points : int
        New points are numbered from there on.
    others : list of mappings
        The other rows that have a number, by what they are made from.
    written : bool
        Whether what is proved is to be written down.
    """

    version: str
    program: ChoiceProgram
    n_groups: int
    gap: float
    rule: Branching
    settings: SearchSettings
    tolerances: Tolerances
    constant: float
    settles: bool
    value: float
    allowed: BoolArray
    root: Recipe
    n_points: int
    others: list[Mapping[str, Any]]
    written: bool

    @classmethod
    def of(cls, search: Search, binding: Slots, gap: float, tolerances: Tolerances, constant: float) -> "Task":
        """Of the tree of a search, with the rows that bind at its root and the gap there."""
        proof, log = search.proof, search.proof.log
        if log is None:
            proof.store.forget_names()  # those of another task
        naming = log or TreeLog(lambda kind, payload: -1)
        naming.name(proof.store, binding)
        program = replace(search.program, primal_heuristic=None)
        return cls(
            version("mmbn-opt"), program, search.pool.n_groups, gap, search.rule, search.settings, tolerances, constant,
            search.incumbent.settles, search.root_value, search.root_allowed, search.pool.recipe(binding),
            naming.n_points, list(naming.others), log is not None,
        )  # fmt: skip

    def number_there(self, number: int) -> int:
        """What a point is numbered by who works on the task, from the number that it has in the tree file."""
        if number < self.n_points:
            return number
        return OWNERS_POINTS + number if self.written else -1


_BOXES = {"boxes", "open_boxes"}


class InOnePiece:
    """What is sent as one text of bytes, its boxes as a bundle."""

    def __reduce__(self) -> tuple[Any, ...]:
        parts = {what: Bundle(part) if what in _BOXES else part for what, part in vars(self).items()}
        return _in_one_piece, (type(self), pickle.dumps(parts, protocol=5))


def _in_one_piece(kind: type[Any], content: bytes) -> Any:
    parts = pickle.loads(content)
    return kind(**{what: part.boxes() if isinstance(part, Bundle) else part for what, part in parts.items()})


@dataclass(frozen=True, eq=False)
class Packet(InOnePiece):
    """Boxes to be searched for so many seconds, and the best choice known."""

    boxes: list[OpenBox]
    seconds: float
    choice: NDArray[np.intp] | None


@dataclass(frozen=True, eq=False)
class Findings:
    """What was done elsewhere, but for the boxes that are open now.

    Parameters
    ----------
    closed : float
        Least value of what was closed.
    choice : int array or None
        A better one.
    settles : bool
        Whether ties are still to be settled.
    records : list of Record
        Boxes, points and rows that are new are numbered from `NEW_BOXES`, ``Task.n_points`` and ``len(Task.others)``
        on.
    tally, counts : dict
    """

    closed: float
    choice: NDArray[np.intp] | None
    settles: bool
    records: list[Record] = field(repr=False)
    tally: dict[str, int | float]
    counts: dict[str, int]

    def count_in(self, search: Search) -> None:
        """All of it but the records counts in the tree of a search."""
        ledger, incumbent = search.proof.ledger, search.incumbent
        ledger.close_at(self.closed)
        for what, count in self.counts.items():
            ledger.count(what, count)
        search.tally.add(**self.tally)
        incumbent.settles &= self.settles
        if self.choice is not None:
            incumbent.offer(search.program.vector(self.choice))


@dataclass(frozen=True, eq=False)
class Answer(Findings, InOnePiece):
    """What became of a packet: all that is not open is closed, at `closed` or above.

    Parameters
    ----------
    open_boxes : list of OpenBox
    made : int
        Numbers that were given to new boxes.
    seconds : float
    """

    open_boxes: list[OpenBox]
    made: int
    seconds: float


class Bench:
    """A searcher of boxes that were made elsewhere.

    Parameters
    ----------
    task : Task
    check : callable
        Called between kernels; may end the search of a box by raising.

    Attributes
    ----------
    search : Search
    ledger : TreeLedger
        Of the boxes that are here; new ones are numbered from `NEW_BOXES` on.
    rows : int array
        Rows of the root.
    better : list of int arrays
        Better choices than those told, as they were found.
    records : list of Record
        What was proved.
    """

    def __init__(self, task: Task, check: Callable[[], None]) -> None:
        program = task.program
        term = None if program.term is None else program.term.regrouped(task.n_groups, 1)
        proof = TreeProof(program, term)
        hub = find_hub(proof.offsets, program.parents)
        linked = hub is not None and program.A.shape[0] > 0
        separator = ClusterSeparator(proof.offsets, program.parents, hub if linked else None, hanging=program.hanging)
        pool = RowPool(program, term, separator, proof)
        self.better: list[NDArray[np.intp]] = []
        self.records: list[Record] = []
        self._incumbent = Incumbent(
            pool, task.constant, task.tolerances, lambda x, loss: self.better.append(program.choice(x)), Budget(),
            task.settles,
        )  # fmt: skip

        def keep(kind: Kind, payload: bytes) -> int:
            if task.written:
                self.records.append((kind, payload))
            return -1

        log = TreeLog(keep, task.n_points, task.others)
        self.ledger = TreeLedger()
        self.ledger.taken.clear()
        self.ledger.number_from(NEW_BOXES)
        proof.begin_at(task.value, task.allowed.copy(), log)
        proof.go_on(self.ledger, log)
        if not task.written:
            self.ledger.log = None
        self.search = Search(program, pool, proof, task.settings, self._incumbent, check, task.rule, helps=True)
        self._task = task
        self.rows = pool.make(task.root)
        self.search.start(self.rows, task.gap)

    def know(self, choice: NDArray[np.intp] | None) -> None:
        """A choice that was found elsewhere."""
        if choice is not None:
            known = len(self.better)
            self._incumbent.offer(self.search.program.vector(choice))
            del self.better[known:]

    def take_in(self, boxes: list[OpenBox]) -> None:
        """Boxes are open here."""
        for box in boxes:
            self.ledger.mirror(box.number, box.value, box.bits)
        starts = renumbered((box.start for box in boxes), self._task.number_there)
        parted = (Parted(box.number, box.value, -1, box.depth, own) for box, own in zip(boxes, starts, strict=True))
        self.search.frontier.take_in(parted, self.rows)

    @property
    def settles(self) -> bool:
        """Whether ties are still to be settled."""
        return self._incumbent.settles


def packed_size(content: Any) -> int | None:
    """Bytes that it takes to send something to another process; None where that cannot be done."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        head = pickle.dumps(content, protocol=5, buffer_callback=buffers.append)
    except (pickle.PicklingError, AttributeError, TypeError):  # functions of a notebook, open files
        return None
    if b"__main__" in head:  # classes of a notebook or a script exist in no other process
        return None
    return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def search_packet(task: Task, packet: Packet, check: Callable[[], None] = lambda: None) -> Answer:
    """Search best first, by one thread, until nothing is left or the time is up; `check` may end it by raising."""
    with limited_threads(1, "blas"):
        return _searched(task, packet, check)


def _searched(task: Task, packet: Packet, check: Callable[[], None]) -> Answer:
    budget = Budget(packet.seconds)
    bench = Bench(task, check)
    bench.know(packet.choice)
    bench.take_in(packet.boxes)
    search, ledger, frontier = bench.search, bench.ledger, bench.search.frontier
    while (waiting := frontier.pop()) is not None:
        search.look_at(waiting)
        if budget.over() or len(frontier) > MOST_BOXES:
            break
    known = {box.number: box for box in frontier.best(len(frontier))}
    left = [  # who sent a box has what it starts from
        OpenBox(number, value, known[number].depth, bits, known[number].start if number >= NEW_BOXES else None)
        for number, value, bits in ledger.boxes()
    ]
    return Answer(
        ledger.closed, bench.better[-1] if bench.better else None, bench.settles, bench.records,
        search.tally.figures(), dict(ledger.counts), left, ledger.next_number - NEW_BOXES, budget.elapsed(),
    )  # fmt: skip
