"""Decomposable scores: local scores of all parent sets, and MDL over the sets of Peharz & Pernkopf (2012).

    python benchmarks/structure/decomposable.py scores --data ../shared/data
    python benchmarks/structure/decomposable.py mdl --data ../shared/data --out benchmarks/structure/results/mdl.csv
    python benchmarks/structure/decomposable.py table --out benchmarks/structure/results/mdl.csv

``scores`` counts every family of a full candidate set once by the compiled pass and once family by family, in one run.
``mdl`` solves each set with the restricted candidates of the paper ("margin") and with all sets of up to two parents
("all") and appends a row a case; what is in the file already is not run again. Seconds cover merging the rows, local
scores, heuristics, search and certificate, after a first small problem has loaded the libraries. ``table`` prints the
file as a Markdown table.
"""

import argparse
import csv
import os
import statistics
import time
from pathlib import Path
from typing import Any

from grid import load

import mmbn_opt as mm
from mmbn_opt.scores.local import dominated_columns, local_scores
from mmbn_opt.scores.predictive import family_score

SETS = (
    "australian", "breast", "chess", "cleve", "corral", "crx", "diabetes", "flare", "german", "glass", "glass2",
    "heart", "hepatitis", "iris", "letter", "lymphography", "mofn-3-7-10", "pima", "satimage", "segment",
    "soybean-large", "vehicle", "vote", "waveform-21", "abalone", "adult", "car", "mushroom", "nursery",
    "spambase",
)  # fmt: skip
"""All but shuttle-small, which is not at hand."""

COLUMNS = (
    "set", "parent_sets", "nodes_of_graph", "samples_merged", "listed", "columns", "solver", "status", "raw_status",
    "primal", "dual", "gap_percent", "boxes", "seconds", "cpu_seconds", "certificate_ok",
)  # fmt: skip


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    return sum(os.times()[:4])


def mdl(data: mm.DiscreteDataset, name: str, parent_sets: Any, limit: float) -> dict[str, Any]:
    """One case."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    problem = mm.DecomposableStructure(data, score="mdl", max_parents=2, parent_sets=parent_sets)
    result = mm.solve(problem, time_limit=limit)
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    bounds = result.bounds
    return {
        "set": name,
        "parent_sets": parent_sets,
        "nodes_of_graph": data.n_features + 1,
        "samples_merged": problem.merged.n_samples,
        "listed": problem._all_candidates().n_columns,
        "columns": problem.candidates.n_columns,
        "solver": result.solver_name,
        "status": str(result.termination_status),
        "raw_status": result.raw_status,
        "primal": bounds.primal_bound,
        "dual": bounds.dual_bound,
        "gap_percent": 100 * bounds.gap_rel,
        "boxes": result.stats.get("nodes"),
        "seconds": round(wall, 3),
        "cpu_seconds": round(cpu, 3),
        "certificate_ok": result.certificate.ok,
    }


def run_mdl(folder: Path, out: Path, sets: list[str], limit: float) -> None:
    """Append what is missing."""
    out.parent.mkdir(parents=True, exist_ok=True)
    done: set[tuple[str, str]] = set()
    if out.exists():
        with out.open(newline="") as stream:
            done = {(row["set"], row["parent_sets"]) for row in csv.DictReader(stream)}
    for parent_sets in ("margin", "all"):
        mdl(load(folder, "corral"), "corral", parent_sets, limit)  # loads and compiles
    with out.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        if stream.tell() == 0:
            writer.writeheader()
        for parent_sets in ("margin", "all"):
            for name in sets:
                if (name, parent_sets) in done:
                    continue
                row = mdl(load(folder, name), name, parent_sets, limit)
                writer.writerow(row)
                stream.flush()
                print(*(row[k] for k in ("set", "parent_sets", "solver", "status", "gap_percent", "cpu_seconds")))


def run_scores(folder: Path, sets: list[str]) -> None:
    """Compiled pass against one call a family."""
    for name in ["corral", *sets]:
        data = load(folder, name).aggregate()
        problem = mm.DecomposableStructure(data, score="mdl")
        candidates = problem._all_candidates()
        for score in ("mdl", "bdeu"):
            before = time.process_time()
            fast = local_scores(data, candidates, score)
            kept = int((~dominated_columns(candidates, fast)).sum())
            compiled = time.process_time() - before
            before = time.process_time()
            slow = [family_score(data, node, parents, score) for node, parents in candidates.columns]
            one_by_one = time.process_time() - before
            off = max(abs(a - b) for a, b in zip(fast, slow, strict=True))
            print(
                f"{name}, {score}: {candidates.n_columns:,} families of {data.n_samples:,} rows: {compiled:.3f} s CPU, "
                f"one by one {one_by_one:.3f} s ({one_by_one / compiled:.0f}x), largest difference {off:.1e}, "
                f"{kept:,} not dominated"
            )


def print_table(out: Path) -> None:
    """The CSV as Markdown, and the medians."""
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    print("| set | nodes | rows | candidates | sets listed, kept | solver | gap | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        gap = "proved" if row["status"] == "OPTIMAL" else f"{float(row['gap_percent']):.2f} %"
        listed, kept = (f"{int(row[k]):,}" for k in ("listed", "columns"))
        print(
            f"| {row['set']} | {row['nodes_of_graph']} | {int(row['samples_merged']):,} | {row['parent_sets']} | "
            f"{listed}, {kept} | {row['solver']} | {gap} | {float(row['cpu_seconds']):.2f} |"
        )
    for parent_sets in ("margin", "all"):
        part = [row for row in rows if row["parent_sets"] == parent_sets]
        proved = sum(row["status"] == "OPTIMAL" for row in part)
        for clock in ("cpu_seconds", "seconds"):
            values = [float(row[clock]) for row in part]
            print(f"{parent_sets}: {proved} of {len(part)} proved, median {clock} {statistics.median(values):.3f}")


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["scores", "mdl", "table"])
    parser.add_argument("--data", type=Path, help="folder with manifest.json")
    parser.add_argument("--out", type=Path, default=Path("results/mdl.csv"))
    parser.add_argument("--sets", help="comma-separated names; all 30 for mdl, three for scores")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a case")
    given = parser.parse_args()
    if given.what == "table":
        print_table(given.out)
        return
    if given.data is None:
        parser.error("--data is needed")
    if given.what == "scores":
        run_scores(given.data, given.sets.split(",") if given.sets else ["mushroom", "satimage", "spambase"])
    else:
        run_mdl(given.data, given.out, given.sets.split(",") if given.sets else list(SETS), given.limit)


if __name__ == "__main__":
    main()
