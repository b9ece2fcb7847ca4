"""A folder of Parquet files read column by column: seconds of the processor, and the most memory that was used.

Beside it what `prepare` takes for the same rows in memory, reading included. Each is a process of its own.

Usage: ``python benchmarks/rows/reading.py [--rows 10000000] [--out CSV]``.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
from synthetic import apart, frame, keep

A_FILE = 1_000_000


def run(how: str, folder: str) -> dict[str, Any]:
    """One way of reading the folder."""
    import mmbn_opt as mm

    before = time.process_time()
    if how == "from_parquet":
        data = mm.DiscreteDataset.from_parquet(folder, target="y")
    else:
        data = mm.prepare(pd.read_parquet(folder), target="y").data.aggregate()
    return {
        "how": how,
        "samples": int(data.total_weight),
        "merged": data.n_samples,
        "cpu_sec": round(time.process_time() - before, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(run(*given.one)))
        return
    with tempfile.TemporaryDirectory() as folder:
        for k, first in enumerate(range(0, given.rows, A_FILE)):
            frame(min(A_FILE, given.rows - first), seed=k).to_parquet(Path(folder) / f"part-{k:04}.parquet")
        found = [apart(__file__, how, folder) for how in ("from_parquet", "in memory")]
    keep(found, given.out)


if __name__ == "__main__":
    main()
