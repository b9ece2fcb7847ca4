"""What a pass over the samples takes in exact structure search: nanoseconds of the processor a sample, one thread.

Value and cuts of all groups at a point that mixes three columns a node (the groups are those of branch and cut), and a
sweep of best replacements of the local search. ``--beside FOLDER`` times another checkout too, turn by turn.

Usage: ``python benchmarks/rows/passes.py [--data FOLDER] [--sets adult,letter,...] [--beside FOLDER] [--out CSV]``.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from synthetic import frame

SYNTHETIC = {"rows-20k": 20_000, "rows-100k": 100_000, "rows-1m": 1_000_000}


def seconds(work: Callable[[], Any], least: float = 0.05) -> float:
    """Least of repeated calls, of the processor."""
    best, began = float("inf"), time.process_time()
    while best == float("inf") or time.process_time() - began < least:
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return best


def tasks(name: str, folder: Path) -> tuple[int, dict[str, Callable[[], Any]]]:
    """Number of merged samples, and what is timed."""
    import mmbn_opt as mm
    from mmbn_opt.programs import ProgramKind

    if name in SYNTHETIC:
        data = mm.DiscreteDataset.from_frame(frame(SYNTHETIC[name]), target="y")
    else:
        data = mm.prepare(mm.read_table(folder / f"{name}.csv.gz"), target="class", missing="drop").data
    problem = mm.SoftMarginStructure(data, max_parents=2)
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    samples = problem.merged.n_samples
    term = program.term.regrouped(96)  # as branch and cut does; said here, so that other checkouts get as many
    rng = np.random.default_rng(0)
    x = np.zeros(program.n_columns)
    for first, last in zip(program.offsets[:-1], program.offsets[1:], strict=True):
        some = first + rng.permutation(last - first)[:3]
        x[some] = rng.dirichlet(np.ones(len(some)))
    choice = problem.choice_of(mm.tan_cmi(problem.merged))
    loss = problem._loss()
    total = loss.reset(choice)

    def sweep() -> None:
        for node, column in enumerate(choice):
            columns = np.arange(program.offsets[node], program.offsets[node + 1])
            loss.best_replacement(int(column), columns, total)

    return samples, {
        "value": lambda: term.values(x),
        "value and cuts": lambda: term.cuts(x),
        "exchanged": lambda: term.exchanged(x, program.offsets),
        "replacements": sweep,
        "reset": lambda: loss.reset(choice),
    }


def answer(name: str, folder: Path) -> None:
    """In a child: the time of every task, whenever a line is read."""
    samples, work = tasks(name, folder)
    for each in work.values():
        each()  # compiles
    for _ in sys.stdin:
        took = {task: seconds(each) / samples * 1e9 for task, each in work.items()}
        print(json.dumps({"samples": samples} | took), flush=True)


def in_turn(name: str, folder: Path, checkouts: list[Path], rounds: int = 7) -> list[dict[str, Any]]:
    """The least of some rounds for every checkout, each in a process that imports the package from there."""
    children, found = [], []
    for checkout in checkouts:
        command = [sys.executable, __file__, "--one", name, "--data", str(folder)]
        paths = os.pathsep.join([str(checkout), str(Path(__file__).parent)])
        children.append(
            subprocess.Popen(
                command,
                env=os.environ | {"PYTHONPATH": paths},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    for _ in range(rounds):
        for child, checkout in zip(children, checkouts, strict=True):
            assert child.stdin is not None
            assert child.stdout is not None
            print(file=child.stdin, flush=True)
            found.append({"set": name, "checkout": checkout.name, **json.loads(child.stdout.readline())})
    for child in children:
        child.communicate()
    return pd.DataFrame(found).groupby(["set", "checkout"], sort=False).min().reset_index().to_dict("records")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", default="adult,letter,nursery,rows-100k")
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        answer(given.one, given.data)
        return
    checkouts = [Path(__file__).resolve().parents[2]] + ([given.beside] if given.beside else [])
    rows = []
    for name in given.sets.split(","):
        rows += in_turn(name, given.data, checkouts)
        print(pd.DataFrame(rows[-len(checkouts) :]).round(1).to_string(index=False), flush=True)
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).round(1).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
