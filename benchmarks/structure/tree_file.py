"""What it costs to write a search tree down: processor seconds and bytes a box, and what going on takes.

    python benchmarks/structure/tree_file.py --data ../shared/data --boxes 1500 --cases "heart:0.6 vehicle:0.9"

Each case is searched for so many boxes from one start structure, by one thread, with and without a checkpoint in turn
(`--repeat` times, medians are shown); then the file is opened again, and the search goes on for 50 boxes.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from grid import load, make

from mmbn_opt.interop.checkpoint import TREE, Checkpoint
from mmbn_opt.interop.tree_header import tree_header
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut
from mmbn_opt.solving.settings import SolveSettings


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cases", default="heart:0.6 german:0.9 vehicle:0.9 satimage:0.9")
    parser.add_argument("--boxes", type=int, default=1500)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print("set, p            boxes  CPU s without  with  boxes a CPU s without  with  bytes a box  on again, CPU s")
    for case in given.cases.split():
        name, p = case.split(":")
        print(f"{case:16}", one(given, make(load(given.data, name), "sm", float(p), 2)), flush=True)


def one(given, problem) -> str:
    """A line of the table."""
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    models = [start.model for start in problem.starts(seed=0)]
    best = models[int(np.argmax([problem.evaluate(model) for model in models]))]
    start = problem.encode(best, ProgramKind.IMPLICIT_CONCAVE)
    header = tree_header(problem, program, SolveSettings().used("branch_and_cut"))
    BranchAndCut(options={"node_limit": 2}).solve(program, start=start)  # compiles
    engine = BranchAndCut(options={"node_limit": given.boxes})
    plain, written, size, boxes = [], [], 0, 0
    for _ in range(given.repeat):
        begin = time.process_time()
        boxes = engine.solve(program, start=start).nodes
        plain.append(time.process_time() - begin)
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = Checkpoint(folder)
            checkpoint.bind(header)
            begin = time.process_time()
            assert engine.solve_into(checkpoint, program, start=start).nodes == boxes
            written.append(time.process_time() - begin)
            checkpoint.close()
            size = (Path(folder) / TREE).stat().st_size
            begin = time.process_time()
            checkpoint = Checkpoint(folder)
            checkpoint.bind(header)
            BranchAndCut(options={"node_limit": 50}).solve_into(checkpoint, program, start=start)
            again = time.process_time() - begin
            checkpoint.close()
    a, b = statistics.median(plain), statistics.median(written)
    return f"{boxes:7} {a:14.2f} {b:5.2f} {boxes / a:22.0f} {boxes / b:5.0f} {size / boxes:12.0f} {again:16.2f}"


if __name__ == "__main__":
    main()
