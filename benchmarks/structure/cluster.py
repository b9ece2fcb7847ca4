"""What many machines in one tree would give: the coordinator's throughput, and a simulation on recorded box times.

    python benchmarks/structure/cluster.py --data ../shared/data --case vehicle:0.9 --boxes 400

Some packets are searched once, with a checkpoint. Then what came back is taken over again, renumbered and written, as
from workers that answer at once: that tells packets and boxes a second that a coordinator can absorb. The simulation
deals the boxes of a tree, each of which opens two as long as there are any, to 1 to 1,000 workers for packets of some
seconds; boxes take the mean time that was recorded, a packet takes the coordinator what was measured, and 2 ms, which
are assumed and not measured, for Dask.
"""

import argparse
import heapq
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from grid import load, make

from mmbn_opt.interop.checkpoint import Checkpoint
from mmbn_opt.interop.tree_header import tree_header
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.tree_log import TreeLog
from mmbn_opt.programs.tree_relocation import Relocation
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut
from mmbn_opt.solving.settings import SolveSettings

MESSAGE_SEC = 0.002
"""What a packet takes the scheduler and the wire, there and back."""


class Recorder:
    """One worker in this process that keeps what it answers."""

    def __init__(self) -> None:
        self.common: Any = None
        self.task: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
        self.kept: list[tuple[float, Any]] = []

    def slots(self) -> int:
        """One at a time."""
        return 1

    def share(self, content: Any) -> None:
        """What all tasks get."""
        self.common = content

    def submit(self, task: Callable[..., Any], *given: Any) -> int:
        """Keep it until it is asked for."""
        self.task = task, given
        return 0

    def answers(self, seconds: float) -> Iterator[tuple[int, Any]]:
        """Work on it now."""
        assert self.task is not None
        begin = time.process_time()
        answer = self.task[0](self.common, *self.task[1])
        self.kept.append((time.process_time() - begin, answer))
        yield 0, answer

    def cancel(self) -> None:
        """Nothing is left to do."""


def main() -> None:
    """Measure, simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--case", default="heart:0.6")
    parser.add_argument("--boxes", type=int, default=400)
    parser.add_argument("--tree", type=int, default=500_000, help="boxes of the tree that is simulated")
    given = parser.parse_args()
    name, p = given.case.split(":")
    problem = make(load(given.data, name), "sm", float(p), 2)
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    start = problem.encode(problem.trivial_start().model, ProgramKind.IMPLICIT_CONCAVE)
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(folder)
        checkpoint.bind(tree_header(problem, program, SolveSettings().used("branch_and_cut")))
        engine = BranchAndCut(options={"node_limit": given.boxes, "branching": "dual"})
        engine.solve_into(checkpoint, program, start=start, workers=recorder)
        packets, boxes, seconds = absorbed(recorder, checkpoint)
        checkpoint.close()
    nodes = sum(answer.tally["nodes"] for _, answer in recorder.kept)
    box = sum(taken for taken, _ in recorder.kept) / nodes
    each = seconds / packets
    print(f"{given.case}: {nodes:,.0f} boxes in {packets} packets, {1000 * box:.1f} ms a box in a worker")
    rates = f"{packets / seconds:,.0f} packets, {boxes / seconds:,.0f} boxes a second"
    print(f"absorbed: {rates} ({1e6 * seconds / boxes:.0f} us a box)")
    print(f"\n{given.tree:,} boxes:\n\n| workers | seconds | times as fast | coordinator busy |\n|---|---|---|---|")
    alone = 0.0
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
        took, busy = simulated(given.tree, workers, box, seconds / boxes)
        alone = alone or took
        print(f"| {workers:,} | {took:,.0f} | {alone / took:.1f} | {busy:.0%} |", flush=True)
    print(f"\na packet took the coordinator {1000 * each:.2f} ms here")


def absorbed(recorder: Recorder, checkpoint: Checkpoint) -> tuple[int, float, float]:
    """Packets, boxes and seconds of taking over the answers: renumbering and writing."""
    task = recorder.common
    log = TreeLog(checkpoint.write, task.n_points, task.others)
    begin, boxes, base = time.process_time(), 0.0, 1 << 40
    for _, answer in recorder.kept:
        first = base

        def relocated(points: int, others: int, first: int = first) -> Callable[..., bytes]:
            return Relocation(first, task.n_points, len(task.others), points, others).record

        log.adopt(answer.records, relocated)
        for box in answer.open_boxes:
            np.unpackbits(box.bits, count=task.program.n_columns)
        base += answer.made
        boxes += answer.tally["nodes"]
    return len(recorder.kept), boxes, time.process_time() - begin


def simulated(tree: int, workers: int, box_sec: float, absorb_sec: float) -> tuple[float, float]:
    """Seconds to the end, and the coordinator's share of them; each box opens two more as long as there are any."""
    waiting, made, now, busy = 1, 1, 0.0, 0.0
    out: list[tuple[float, int, int]] = []  # end, looked at, opened
    free = workers
    coordinator = 0.0
    while waiting or out:
        while free and waiting:
            mine = min(16, max(1, waiting // (2 * free)))
            seconds = 5.0 if waiting >= free else 0.5
            looked, left = 0, mine
            most = max(1, int(seconds / box_sec))
            while left and looked < most:
                step = min(left, most - looked)
                opened = min(2 * step, tree - made)
                looked, left, made = looked + step, left - step + opened, made + opened
            coordinator = max(coordinator, now) + MESSAGE_SEC
            busy += MESSAGE_SEC
            heapq.heappush(out, (coordinator + looked * box_sec, looked, left))
            waiting, free = waiting - mine, free - 1
        now, looked, left = heapq.heappop(out)
        coordinator = max(coordinator, now) + looked * absorb_sec
        busy += looked * absorb_sec
        now, waiting, free = coordinator, waiting + left, free + 1
    return now, busy / now


if __name__ == "__main__":
    main()
