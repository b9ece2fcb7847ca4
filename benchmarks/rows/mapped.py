"""A folder of Parquet files whose codes are kept in a file: seconds of the processor and the most memory of each task.

Reading and coding, naive Bayes, TAN, and the best structure by BIC. The memory is that of the process alone: pages of
mapped files that the system keeps as long as it has room are counted apart. With ``--workers 2`` a local Dask cluster
of as many workers of 3 GB counts; their seconds are in ``sec`` alone.

Usage: ``python benchmarks/rows/mapped.py [--rows 5000000] [--parents 2] [--skip bic] [--workers 2] [--in FOLDER]``.
"""

import argparse
import json
import resource
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
def cluster(workers: int) -> Iterator[Callable[[], float]]:
    """Let so many workers count; how much memory the largest has taken at most."""
    if not workers:
        yield lambda: 0.0
        return
    from distributed import Client, LocalCluster

    import mmbn_opt as mm

    size = {"n_workers": workers, "threads_per_worker": 1, "memory_limit": "3GB", "dashboard_address": None}
    with LocalCluster(**size) as local, Client(local) as client, mm.counting_on(client):
        yield lambda: max(client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss).values()) / 1e6


def run(folder: str, parents: int, skip: str, workers: int) -> dict[str, Any]:
    """All tasks, in a process of their own."""
    found: dict[str, Any] = {}
    with cluster(workers) as largest:
        tasks(found, folder, parents, skip)
        found["worker_peak_gb"] = round(largest(), 2)
    return found


def tasks(found: dict[str, Any], folder: str, parents: int, skip: str) -> None:
    """One after another."""
    import mmbn_opt as mm

    def timed(name: str, work: Callable[[], Any]) -> Any:
        if name in skip.split(","):
            return None
        before, began = time.process_time(), time.perf_counter()
        answer = work()
        found[f"{name}_cpu_sec"] = round(time.process_time() - before, 1)
        found[f"{name}_sec"] = round(time.perf_counter() - began, 1)
        found[f"{name}_own_gb"] = round(own_gb(), 2)
        return answer

    data = timed(
        "read",
        lambda: mm.DiscreteDataset.from_parquet(f"{folder}/parquet", target="y", codes_in=f"{folder}/codes"),
    )
    found["rows"] = data.n_samples
    timed("naive_bayes", lambda: mm.BayesianNetwork.fit(mm.naive_bayes(data), data))
    timed("tan", lambda: mm.BayesianNetwork.fit(mm.tan_cmi(data), data))
    bic = timed("bic", lambda: mm.solve(mm.DecomposableStructure(data, score="bic", max_parents=parents)))
    if bic is not None:
        found["bic_status"], found["bic_certificate"] = bic.termination_status.name, bic.certificate.ok
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
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(run(given.one[0], int(given.one[1]), given.one[2], int(given.one[3]))))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        (Path(folder) / "parquet").mkdir()
        for k, first in enumerate(range(0, given.rows, A_FILE)):
            part = frame(min(A_FILE, given.rows - first), seed=k)
            part.to_parquet(Path(folder) / "parquet" / f"part-{k:04}.parquet")
        found = [apart(__file__, folder, str(given.parents), given.skip, str(given.workers))]
    keep(found, given.out)


if __name__ == "__main__":
    main()
