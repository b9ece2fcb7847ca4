"""A packet of open boxes, searched for a while by a process that knows nothing of the rest of the tree."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...._arrays import BoolArray, FloatArray
from ...._budget import Budget
from ...._threads import limited_threads
from ....programs.choice import ChoiceProgram
from ....programs.lagrangian import find_hub
from ....programs.tree_ledger import TreeLedger
from ....programs.tree_log import Record, TreeLog
from ....programs.tree_proof import TreeProof
from ....programs.tree_records import Kind, RowNames
from ....programs.tree_relocation import NEW_BOXES
from ....programs.tree_replay import Origin
from ....programs.tree_rows import Point
from ...ending import Tolerances
from ._incumbent import Incumbent
from ._pool import RowPool, Slots
from ._search import Search
from ._settings import Branching, SearchSettings
from .clusters import ClusterSeparator

__all__ = ["Answer", "OpenBox", "Packet", "Task", "search_packet"]

MOST_BOXES = 4000
"""Open boxes with which a packet is handed back at once."""


@dataclass(frozen=True, eq=False)
class OpenBox:
    """A box that nobody looks at."""

    number: int
    value: float
    depth: int
    bits: NDArray[np.uint8]


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
    root : RowNames
        Rows that bind at the root.
    points, others
        What these names mean; points by number.
    n_points : int
        New points are numbered from there on.
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
    root: RowNames
    points: Mapping[int, tuple[NDArray[np.uint32], FloatArray]]
    others: list[Mapping[str, Any]]
    n_points: int
    written: bool

    def root_rows(self, pool: RowPool) -> Slots:
        """The rows of the root, made anew."""
        cuts = pool.named_cuts(self.root, lambda number: Point(*self.points[number], number))
        others = [pool.other_row(number, self.others[number]) for number in self.root.others.tolist()]
        return np.concatenate([cuts, np.array(others, dtype=np.int64)])


@dataclass(frozen=True, eq=False)
class Packet:
    """Boxes to be searched for so many seconds, and the best choice known."""

    boxes: list[OpenBox]
    seconds: float
    choice: NDArray[np.intp] | None


@dataclass(frozen=True, eq=False)
class Answer:
    """What became of a packet: all that is not open is closed, at `closed` or above.

    Boxes, points and rows that are new are numbered from `NEW_BOXES`, ``Task.n_points`` and ``len(Task.others)`` on.
    """

    open_boxes: list[OpenBox]
    closed: float
    made: int
    choice: NDArray[np.intp] | None
    settles: bool
    records: list[Record] = field(repr=False)
    tally: dict[str, float]
    counts: dict[str, int]


def search_packet(task: Task, packet: Packet, check: Callable[[], None] = lambda: None) -> Answer:
    """Search best first, by one thread, until nothing is left or the time is up; `check` may end it by raising."""
    with limited_threads(1, "blas"):
        return _searched(task, packet, check)


def _searched(task: Task, packet: Packet, check: Callable[[], None]) -> Answer:
    program, budget = task.program, Budget(packet.seconds)
    term = None if program.term is None else program.term.regrouped(task.n_groups, 1)
    proof = TreeProof(program, term)
    hub = find_hub(proof.offsets, program.parents)
    linked = hub is not None and program.A.shape[0] > 0
    pool = RowPool(program, term, ClusterSeparator(proof.offsets, program.parents, hub if linked else None), proof)
    better: list[NDArray[np.intp]] = []
    incumbent = Incumbent(
        pool, task.constant, task.tolerances, lambda x, loss: better.append(program.choice(x)), Budget(), task.settles
    )
    if packet.choice is not None:
        incumbent.resume(program.vector(packet.choice))
    records: list[Record] = []

    def keep(kind: Kind, payload: bytes) -> int:
        if task.written:
            records.append((kind, payload))
        return -1

    log = TreeLog(keep, task.n_points, task.others)
    ledger = TreeLedger()
    ledger.taken.clear()
    for box in packet.boxes:
        allowed = np.unpackbits(box.bits, count=program.n_columns).astype(bool)
        ledger.put_back(box.number, box.value, allowed)
    ledger.number_from(NEW_BOXES)
    proof.begin_at(task.value, task.allowed.copy(), log)
    proof.go_on(ledger, log)
    if not task.written:
        ledger.log = None
    search = Search(program, pool, proof, task.settings, incumbent, check, task.rule, helps=True)
    rows = task.root_rows(pool)
    search.start(rows, task.gap)
    frontier = search.frontier
    frontier.resume(ledger, {box.number: Origin(-1, box.depth) for box in packet.boxes}, rows)
    while (waiting := frontier.pop()) is not None:
        search.look_at(waiting)
        if budget.over() or len(frontier) > MOST_BOXES:
            break
    depths = frontier.depths()
    left = [OpenBox(number, value, depths[number], bits) for number, value, bits in ledger.boxes()]
    tally = search.tally
    return Answer(
        left, ledger.closed, ledger.next_number - NEW_BOXES, better[-1] if better else None, incumbent.settles, records,
        {"nodes": tally.nodes, "children": tally.children, "pivots": tally.pivots, "work": tally.work},
        dict(ledger.counts),
    )  # fmt: skip
