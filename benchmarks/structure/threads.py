"""What several threads in one tree give: boxes per second against as many processes, and time to proof against one.

    python benchmarks/structure/threads.py --data ../shared/data --speed "vehicle:0.9 satimage:0.9" --proof "german:0.9"

Speed: a process with `--threads` threads, and as many processes of one thread each side by side, search the same trees
for `--seconds` each, in turn (`--repeat` times, medians are shown); boxes are counted from the root on. Proof: the same
start structure, one thread and `--threads`, in turn. All times are of the wall; the load of the machine (waiting and
running processes of the last minute) stands in each line, and beyond the number of cores figures say little.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from grid import load, make

from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--speed", default="vehicle:0.9 satimage:0.9")
    parser.add_argument("--proof", default="heart:0.6 german:0.9")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--alone", nargs=2, metavar=("CASE", "THREADS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        print(json.dumps(boxes_a_second(given, given.alone[0], int(given.alone[1]))))
        return
    n = given.threads
    print(f"| set, p | boxes/s, {n} threads | boxes/s, {n} processes | share | load |")
    print("|---|---|---|---|---|")
    for case in given.speed.split():
        together, apart = [], []
        for _ in range(given.repeat):
            together.append(sum(side_by_side(case, [n])))
            apart.append(sum(side_by_side(case, [1] * n)))
        share = statistics.median(a / b for a, b in zip(together, apart, strict=True))
        a, b = statistics.median(together), statistics.median(apart)
        print(f"| {case} | {a:.1f} | {b:.1f} | {share:.2f} | {os.getloadavg()[0]:.1f} |", flush=True)
    print(f"\n| set, p | s, 1 thread | s, {n} threads | quotient | boxes | | load |")
    print("|---|---|---|---|---|---|---|")
    for case in given.proof.split():
        problem = Problem(given.data, case)
        runs = [[problem.proved(threads) for threads in (1, n)] for _ in range(given.repeat)]
        one, several = (statistics.median(run[which][0] for run in runs) for which in (0, 1))
        quotient = statistics.median(run[0][0] / run[1][0] for run in runs)
        boxes = [statistics.median(run[which][1] for run in runs) for which in (0, 1)]
        words = "same optimum" if len({round(run[k][2], 9) for run in runs for k in (0, 1)}) == 1 else "OTHER OPTIMUM"
        print(
            f"| {case} | {one:.1f} | {several:.1f} | {quotient:.2f} | {boxes[0]:,.0f}, {boxes[1]:,.0f} | {words} | "
            f"{os.getloadavg()[0]:.1f} |", flush=True,
        )  # fmt: skip


def side_by_side(case: str, threads: list[int]) -> list[float]:
    """Boxes per second of processes that run at once."""
    arguments = sys.argv[1:]
    started = [
        subprocess.Popen([sys.executable, __file__, *arguments, "--alone", case, str(n)], stdout=subprocess.PIPE)
        for n in threads
    ]
    return [float(json.loads(process.communicate()[0])) for process in started]


def boxes_a_second(given: argparse.Namespace, case: str, threads: int) -> float:
    """Of one process, from the root on."""
    problem = Problem(given.data, case)
    seen: list[tuple[float, int]] = []

    def hear(event: object) -> None:
        if event.nodes:  # type: ignore[attr-defined]
            seen.append((time.perf_counter(), event.nodes))  # type: ignore[attr-defined]

    limit = problem.root_seconds + given.seconds
    answer = BranchAndCut(time_limit=limit, threads=threads).solve(problem.program, hear, problem.start)
    seen.append((time.perf_counter(), int(answer.nodes or 0)))
    (begin, before), (end, after) = seen[0], seen[-1]
    return (after - before) / (end - begin)


class Problem:
    """A program with a start, compiled."""

    def __init__(self, folder: Path, case: str) -> None:
        name, p = case.split(":")
        formulation = make(load(folder, name), "sm", float(p), 2)
        self.program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
        model = formulation.trivial_start().model
        models = [model, *(start.model for start in formulation.starts(seed=0))]
        best = models[int(np.argmax([formulation.evaluate(each) for each in models]))]
        self.start = formulation.encode(best, ProgramKind.IMPLICIT_CONCAVE)
        BranchAndCut(options={"node_limit": 70}, time_limit=60.0).solve(self.program, start=self.start)
        found = BranchAndCut(options={"node_limit": 1}).solve(self.program, start=self.start)
        self.root_seconds = float(found.stats["root_sec"])

    def proved(self, threads: int) -> tuple[float, int, float]:
        """Seconds, boxes and optimum."""
        begin = time.perf_counter()
        answer = BranchAndCut(threads=threads).solve(self.program, start=self.start)
        assert answer.bounds.primal_bound is not None
        return time.perf_counter() - begin, int(answer.nodes or 0), answer.bounds.primal_bound


if __name__ == "__main__":
    main()
