"""Exact structure search over many rows: seconds to the first bound, gap at the end, and the most memory that was used.

Each case is a process of its own, on one thread; the table is drawn there and is not counted. With ``--processor``
the limit and the seconds are those of the processor, which others on the machine do not move.

Usage: ``python benchmarks/rows/structure.py [--rows 1000000] [--limit 60] [--processor] [--out CSV]``.
"""

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

from synthetic import apart, frame, keep


def run(rows: int, limit: float) -> dict[str, Any]:
    """One case: everything from a frame in memory on."""
    import mmbn_opt as mm

    table = frame(rows)
    seen: list[tuple[float, float, float | None, float | None]] = []
    warm = mm.DiscreteDataset.from_frame(table[:2000], target="y")
    mm.solve(mm.SoftMarginStructure(warm), "branch_and_cut", time_limit=5.0)  # compiles
    before, began = time.process_time(), time.perf_counter()
    data = mm.DiscreteDataset.from_frame(table, target="y")
    problem = mm.SoftMarginStructure(data, max_parents=2, gamma=mm.log_odds(0.9))
    prepared = time.process_time() - before

    def hear(record: Any) -> bool:
        used = time.process_time() - before
        seen.append((used, time.perf_counter() - began, record.primal_bound, record.dual_bound))
        return False

    result = mm.solve(problem, time_limit=limit, callback=hear)
    trivial = problem.trivial_bound()
    first = next((r for r in seen if r[3] is not None and r[3] < trivial), None)
    return {
        "rows": rows,
        "merged": problem.merged.n_samples,
        "prepared_cpu_sec": round(prepared, 1),
        "first_bound_cpu_sec": None if first is None else round(first[0], 1),
        "first_bound_sec": None if first is None else round(first[1], 1),
        "gap_percent": round(100 * result.bounds.gap_rel, 3),
        "cpu_sec": round(time.process_time() - before, 1),
        "sec": round(time.perf_counter() - began, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        "certificate": result.certificate.ok,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="100000,1000000")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        if given.processor:
            time.monotonic = time.process_time  # the library's clock of limits
        print(json.dumps(run(given.one, given.limit)))
        return
    found = []
    for rows in given.rows.split(","):
        flags = ["--processor"] if given.processor else []
        found.append(apart(__file__, rows, "--limit", str(given.limit), *flags))
    keep(found, given.out)


if __name__ == "__main__":
    main()
