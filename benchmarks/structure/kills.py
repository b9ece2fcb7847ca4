"""Kills and what they cost: workers of a cluster that are killed in turn, a process that is killed and called again.

    python benchmarks/structure/kills.py --data ../shared/data --cluster german:0.9 --workers 4 --every 20
    python benchmarks/structure/kills.py --data ../shared/data --process heart:0.6 --kills 50

With `--cluster` a search runs on a local Dask cluster of processes with one thread each, of which the next one gets
SIGKILL every so many seconds; its nanny starts another. With `--process` the search runs in one process that gets
SIGKILL at a random moment after it has written something new, and is called again, so many times; then it may end. In
both cases the tree file is verified from the raw table, and the optimum and the structure are held against a run that
nobody disturbs. A row a case is added to `--out`; seconds are of the wall, beside the load of the machine.
"""

import argparse
import csv
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from grid import load, make

import mmbn_opt as mm
from mmbn_opt.formulations.structure.base import StructureFormulation
from mmbn_opt.verification import verify

RESULTS = Path(__file__).parent / "results" / "kills.csv"


def problem_of(folder: Path, case: str) -> tuple[StructureFormulation, Path]:
    """A problem of the grid by set and p, and its table."""
    name, p = case.split(":")
    return make(load(folder, name), "sm", float(p), 2), folder / f"{name}.csv.gz"


def on_a_cluster(given: argparse.Namespace, problem: StructureFormulation, folder: Path) -> dict[str, Any]:
    """Search while workers are killed."""
    import dask
    from distributed import Client, LocalCluster

    ended, kills = threading.Event(), [0]
    dask.config.set({"distributed.deploy.lost-worker-timeout": given.lost_worker_timeout})
    with (
        LocalCluster(n_workers=given.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):

        def kill() -> None:
            turn = 0
            while not ended.wait(given.every):
                nannies = list(cluster.workers.values())
                pid = nannies[turn % len(nannies)].pid if nannies else None
                turn += 1
                if pid:
                    os.kill(pid, signal.SIGKILL)
                    kills[0] += 1

        killer = threading.Thread(target=kill)
        killer.start()
        begin = time.perf_counter()
        try:
            result = mm.solve(problem, "branch_and_cut", cluster=client, checkpoint=folder, time_limit=given.time_limit)
        finally:
            ended.set()
            killer.join()
    return {
        "how": f"{given.workers} workers, one killed every {given.every:g} s",
        "kills": kills[0],
        "seconds": round(time.perf_counter() - begin, 1),
        "packets": result.stats["packets"],
        "packets_here": result.stats["packets_here"],
        **told(result),
    }


def told(result: mm.Result) -> dict[str, Any]:
    """What a run says at its end."""
    return {
        "status": result.termination_status.name,
        "value": result.bounds.primal_bound,
        "bound": result.bounds.dual_bound,
        "edges": sorted(map(list, result.model.structure.edges)),
    }


def again_and_again(given: argparse.Namespace, problem: StructureFormulation, folder: Path) -> dict[str, Any]:
    """Search in a process that is killed and started again; each is forked from this one, which has read the table."""
    rng, tree = np.random.default_rng(given.kills), folder / "tree.mmbn"
    begin, done = time.perf_counter(), 0
    while True:
        before = tree.stat().st_size if tree.exists() else 0
        here, there = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=alone, args=(problem, folder, there))
        child.start()
        if done < given.kills:
            while child.is_alive() and (not tree.exists() or tree.stat().st_size <= before):
                time.sleep(0.005)
            time.sleep(float(rng.uniform(0.0, given.most)))
            child.kill()
        child.join()
        if child.exitcode == 0:
            break
        done += 1
    return {
        "how": "process killed and called again",
        "kills": done,
        "seconds": round(time.perf_counter() - begin, 1),
        **here.recv(),
    }


def alone(problem: StructureFormulation, folder: Path, there: Any) -> None:
    """One call."""
    there.send(told(mm.solve(problem, "branch_and_cut", checkpoint=folder)))


def main() -> None:
    """One line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cluster", default="", help="cases, each a set and its p")
    parser.add_argument("--process", default="", help="cases, each a set and its p")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--every", type=float, default=20.0, help="seconds from one kill to the next")
    parser.add_argument("--lost-worker-timeout", default="300s", help="of Dask's own clusters")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--most", type=float, default=0.3, help="seconds from new records to a kill at most")
    parser.add_argument("--time-limit", type=float, default=None)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    for option in ("cluster", "process"):
        for case in filter(None, getattr(given, option).split()):
            problem, table = problem_of(given.data, case)
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                found = (on_a_cluster if option == "cluster" else again_and_again)(given, problem, folder)
                proof = verify(folder / "tree.mmbn", table)
                left = sorted(path.name for path in folder.iterdir())
                size = (folder / "tree.mmbn").stat().st_size
            begin = time.perf_counter()
            whole = told(mm.solve(problem, "branch_and_cut", time_limit=given.time_limit))
            keep(
                given.out,
                {
                    "case": case,
                    **{key: found.get(key, "") for key in ("how", "kills", "seconds", "status", "value", "bound")},
                    "value_undisturbed": whole["value"],
                    "seconds_undisturbed": round(time.perf_counter() - begin, 1),
                    "same_structure": found["edges"] == whole["edges"],
                    "packets": found.get("packets", ""),
                    "packets_here": found.get("packets_here", ""),
                    "file_kb": round(size / 1000),
                    "verified": proof.holds,
                    "bound_vouched_for": proof.bound,
                    "files": " ".join(left),
                    "load": round(os.getloadavg()[0], 1),
                },
            )


def keep(path: Path, row: dict[str, Any]) -> None:
    """One more row of the table."""
    print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    fresh = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, row, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
