"""A folder of Parquet files whose codes are kept in a file: seconds of the processor and the most memory of each task.

Reading and coding, naive Bayes, TAN, the best structure by BIC, twenty iterations of conjugate gradients for the smooth
margin, the convex relaxation to a gap of 1 % and the structure of the largest soft margin with a limit. The memory is
that of the process alone: pages of mapped files that the system keeps as long as it has room are counted apart. With
``--workers 2`` a local Dask cluster of as many workers of 3 GB makes the passes; ``cpu_sec`` holds the seconds of all
processes.

Usage: ``python benchmarks/rows/mapped.py [--rows 5000000] [--parents 2] [--skip bic] [--workers 2] [--limit 300]
[--in FOLDER] [--out CSV]``.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from synthetic import apart, frame, keep

A_FILE = 1_000_000


def own_gb() -> float:
    """Memory of this process that is not pages of files, now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) / 1e6


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Let so many workers make the passes; their client, or None."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    import mmbn_opt as mm

    size = {"n_workers": workers, "threads_per_worker": 1, "memory_limit": "3GB", "dashboard_address": None}
    with LocalCluster(**size) as local, Client(local) as client, mm.passes_on(client):
        yield client


def asked(client: Any, question: Callable[[], float]) -> list[float]:
    """What each worker answers."""
    return [] if client is None else list(client.run(question).values())


def run(folder: str, parents: int, skip: str, workers: int, limit: float) -> dict[str, Any]:
    """All tasks, in a process of their own."""
    found: dict[str, Any] = {}
    with cluster(workers) as client:
        tasks(found, folder, parents, skip, limit, client)
        peaks = asked(client, lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
        found["worker_peak_gb"] = round(max(peaks, default=0.0), 2)
    return found


def tasks(found: dict[str, Any], folder: str, parents: int, skip: str, limit: float, client: Any) -> None:
    """One after another."""
    import mmbn_opt as mm
    from mmbn_opt.solvers import ConjugateGradientSolver

    def timed(name: str, work: Callable[[], Any]) -> Any:
        if name in skip.split(","):
            return None
        before, began = time.process_time() + sum(asked(client, time.process_time)), time.perf_counter()
        answer = work()
        used = time.process_time() + sum(asked(client, time.process_time)) - before
        found[f"{name}_cpu_sec"] = round(used, 1)
        found[f"{name}_sec"] = round(time.perf_counter() - began, 1)
        found[f"{name}_own_gb"] = round(own_gb(), 2)
        if isinstance(answer, mm.Result):
            found[f"{name}_status"] = answer.termination_status.name
            found[f"{name}_gap_percent"] = round(100 * answer.bounds.gap_rel, 3)
            found[f"{name}_certificate"] = answer.certificate.ok
        print(name, {k: v for k, v in found.items() if k.startswith(name)}, file=sys.stderr, flush=True)
        return answer

    data = timed(
        "read",
        lambda: mm.DiscreteDataset.from_parquet(f"{folder}/parquet", target="y", codes_in=f"{folder}/codes"),
    )
    found["rows"] = data.n_samples
    timed("naive_bayes", lambda: mm.BayesianNetwork.fit(mm.naive_bayes(data), data))
    tree = mm.tan_cmi(data) if "tan" in skip else timed("tan", lambda: mm.tan_cmi(data))
    timed("bic", lambda: mm.solve(mm.DecomposableStructure(data, score="bic", max_parents=parents), time_limit=limit))
    twenty = ConjugateGradientSolver(max_iterations=20, time_limit=limit)
    timed("cg", lambda: mm.solve(mm.SmoothMargin(data, tree), twenty))
    relaxation = mm.MaxMarginRelaxation(data, tree, gamma=2.0)
    timed("relaxation", lambda: mm.solve(relaxation, rel_gap=1e-2, time_limit=limit))
    first: list[float] = []

    def hear(record: Any) -> None:
        if record.dual_bound is not None and record.dual_bound < trivial:
            first.append(record.time_sec)

    problem = mm.SoftMarginStructure(data, max_parents=parents, gamma=mm.log_odds(0.9))
    trivial = problem.trivial_bound()
    timed("soft_margin", lambda: mm.solve(problem, time_limit=limit, callback=hear))
    found["soft_margin_first_bound_sec"] = round(first[0], 1) if first else None
    status = Path("/proc/self/status").read_text().splitlines()
    found["peak_gb"] = round(next(int(s.split()[1]) for s in status if s.startswith("VmHWM:")) / 1e6, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--parents", type=int, default=2)
    parser.add_argument("--skip", default="")
    parser.add_argument("--in", dest="folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        folder, parents, skip, workers, limit = given.one
        print(json.dumps(run(folder, int(parents), skip, int(workers), float(limit))))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        (Path(folder) / "parquet").mkdir()
        for k, first in enumerate(range(0, given.rows, A_FILE)):
            part = frame(min(A_FILE, given.rows - first), part=k)
            part.to_parquet(Path(folder) / "parquet" / f"part-{k:04}.parquet")
        found = [apart(__file__, folder, str(given.parents), given.skip, str(given.workers), str(given.limit))]
    keep(found, given.out)


if __name__ == "__main__":
    main()
