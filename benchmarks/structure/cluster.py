"""What many machines in one tree would give: the coordinator's throughput, and a simulation on recorded box times.

    python benchmarks/structure/cluster.py --data ../shared/data --case vehicle:0.9 --boxes 400

Some packets are searched once, with a checkpoint, and the seconds of each box are kept. Then what came back is taken
over again, renumbered and written, as from workers that answer at once: that tells packets and boxes a second that a
coordinator can absorb. The same answers are sent through a real local Dask cluster of one process: the processor
seconds of this process, where client and scheduler are, are what a packet takes besides. The simulation deals the boxes
of a tree to 1 to 1,000 workers for packets of some seconds; each box opens two others until `--width` are open, from
then on two or none by the toss of a coin, until all are made, and takes one of the times that were recorded.
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
from mmbn_opt.interop.with_dask import open_cluster
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.tree_log import TreeLog
from mmbn_opt.programs.tree_relocation import Relocation
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut
from mmbn_opt.solvers.choice.branch_and_cut._search import Search
from mmbn_opt.solving.settings import SolveSettings

MESSAGES = 200
"""Packets that are sent through Dask."""


class Recorder:
    """One worker in this process that keeps what it answers."""

    def __init__(self) -> None:
        self.common: Any = None
        self.tasks: dict[int, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
        self.kept: list[tuple[float, Any]] = []
        self.packets: list[Any] = []

    def slots(self) -> int:
        """One at a time."""
        return 1

    def share(self, content: Any) -> None:
        """What all tasks get."""
        self.common = content

    def submit(self, task: Callable[..., Any], *given: Any) -> int:
        """Keep it until it is asked for."""
        number = len(self.packets) + len(self.tasks)
        self.tasks[number] = task, given
        return number

    def answers(self, seconds: float) -> Iterator[tuple[int, Any]]:
        """Work on the first one now."""
        if not self.tasks:
            return
        number = min(self.tasks)
        task, given = self.tasks.pop(number)
        begin = time.process_time()
        answer = task(self.common, *given)
        self.kept.append((time.process_time() - begin, answer))
        self.packets.append(given[0])
        yield number, answer

    def cancel(self) -> None:
        """Nothing is left to do."""


def main() -> None:
    """Measure, simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--case", default="heart:0.6")
    parser.add_argument("--boxes", type=int, default=400)
    parser.add_argument("--tree", type=int, default=500_000, help="boxes of the tree that is simulated")
    parser.add_argument("--width", type=int, default=20_000, help="open boxes of that tree, about")
    given = parser.parse_args()
    name, p = given.case.split(":")
    problem = make(load(given.data, name), "sm", float(p), 2)
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    start = problem.encode(problem.trivial_start().model, ProgramKind.IMPLICIT_CONCAVE)
    recorder, times = Recorder(), box_times()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(folder)
        checkpoint.bind(tree_header(problem, program, SolveSettings().used("branch_and_cut")))
        engine = BranchAndCut(options={"node_limit": given.boxes, "branching": "dual"})
        engine.solve_into(checkpoint, program, start=start, workers=recorder)
        packets, boxes, seconds = absorbed(recorder, checkpoint)
        checkpoint.close()
    nodes = sum(answer.tally["nodes"] for _, answer in recorder.kept)
    # What a packet takes besides its boxes (rows of the root, its tableau) is shared out among them.
    boxes_sec = np.array(times) * sum(taken for taken, _ in recorder.kept) / sum(times)
    spread = ", ".join(f"{1000 * q:.1f}" for q in np.quantile(boxes_sec, [0.1, 0.5, 0.9, 1.0]))
    mean = 1000 * boxes_sec.mean()
    print(f"{given.case}: {nodes:,.0f} boxes in {packets} packets, {mean:.1f} ms a box in a worker on the average")
    print(f"a tenth, half, nine tenths and all of the boxes take up to {spread} ms")
    message = through_dask(recorder)
    print(f"a packet takes client and scheduler {1000 * message:.1f} ms of this process (of {MESSAGES})")
    rates = f"{packets / seconds:,.0f} packets, {boxes / seconds:,.0f} boxes a second"
    print(f"absorbed: {rates} ({1e6 * seconds / boxes:.0f} us a box)")
    print(f"\n{given.tree:,} boxes:\n\n| workers | seconds | times as fast | coordinator busy |\n|---|---|---|---|")
    alone = 0.0
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
        took, busy = simulated(given.tree, given.width, workers, boxes_sec, seconds / boxes, message)
        alone = alone or took
        print(f"| {workers:,} | {took:,.0f} | {alone / took:.1f} | {busy:.0%} |", flush=True)
    print(f"\na packet took the coordinator {1000 * seconds / packets:.2f} ms here")


def box_times() -> list[float]:
    """Processor seconds of each box that is looked at from here on."""
    times: list[float] = []
    look_at = Search.look_at

    def timed(search: Search, waiting: Any) -> None:
        begin = time.process_time()
        look_at(search, waiting)
        times.append(time.process_time() - begin)

    Search.look_at = timed  # type: ignore[method-assign]
    return times


def answer_of(answers: list[Any], packet: Any, number: int) -> Any:
    """What a worker that answers at once says."""
    return answers[number]


def through_dask(recorder: Recorder) -> float:
    """Processor seconds that a packet, there and back, takes this process: client and scheduler."""
    from distributed import Client, LocalCluster

    answers = [answer for _, answer in recorder.kept]
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        workers = open_cluster(client)
        workers.share(answers)
        begin = 0.0
        for count in (2, MESSAGES):  # the first ones bring what all have in common
            begin = time.process_time()
            for number in range(count):
                workers.submit(answer_of, recorder.packets[number % len(answers)], number % len(answers))
            left = count
            while left:
                left -= len(list(workers.answers(1.0)))
        spent = time.process_time() - begin
        workers.cancel()
    return spent / MESSAGES


def absorbed(recorder: Recorder, checkpoint: Checkpoint) -> tuple[int, float, float]:
    """Packets, boxes and seconds of taking over the answers: renumbering and writing."""
    task = recorder.common
    log = TreeLog(checkpoint.write, task.n_points, task.others)
    begin, boxes, base = time.process_time(), 0.0, 1 << 40
    for _, answer in recorder.kept:
        numbers = log.numbers_for(answer.records)
        log.adopt(answer.records, Relocation(base, task.n_points, len(task.others), *numbers).record)
        for box in answer.open_boxes:
            np.unpackbits(box.bits, count=task.program.n_columns)
        base += answer.made
        boxes += answer.tally["nodes"]
    return len(recorder.kept), boxes, time.process_time() - begin


def simulated(
    tree: int, width: int, workers: int, recorded: np.ndarray, absorb_sec: float, message_sec: float
) -> tuple[float, float]:
    """Seconds to the end, and the coordinator's share of them."""
    rng = np.random.default_rng(0)
    times, coins = rng.choice(recorded, size=tree).tolist(), rng.integers(0, 2, size=tree).tolist()
    waiting, made, opened_now, now, busy = 1, 1, 1, 0.0, 0.0
    out: list[tuple[float, int, int]] = []  # end, looked at, opened
    free, done = workers, 0
    coordinator = 0.0
    while waiting or out:
        while free and waiting:
            mine = min(16, max(1, waiting // (2 * free)))
            seconds = 5.0 if waiting >= free else 0.5
            looked, left, spent = 0, mine, 0.0
            while left and (not looked or spent < seconds):
                spent += times[done]
                opened = min(2 if opened_now < width else 2 * coins[done], tree - made)
                opened_now += opened - 1
                done, looked, left, made = done + 1, looked + 1, left - 1 + opened, made + opened
            coordinator = max(coordinator, now) + message_sec
            busy += message_sec
            heapq.heappush(out, (coordinator + spent, looked, left))
            waiting, free = waiting - mine, free - 1
        now, looked, left = heapq.heappop(out)
        coordinator = max(coordinator, now) + looked * absorb_sec
        busy += looked * absorb_sec
        now, waiting, free = coordinator, waiting + left, free + 1
    return now, busy / now


if __name__ == "__main__":
    main()
