"""Exact structure learning from local scores beside published times: BNSL-2016, and score files of up to 1,041 nodes.

    python benchmarks/structure/bnsl2016.py run --out benchmarks/structure/results/bnsl2016.csv
    python benchmarks/structure/bnsl2016.py files --out benchmarks/structure/results/jkl.csv
    python benchmarks/structure/bnsl2016.py table --out benchmarks/structure/results/bnsl2016.csv
    python benchmarks/structure/bnsl2016.py draw --out benchmarks/structure/results/bnsl2016.csv

``run`` rebuilds the instances whose data are at hand (data_rows_score-ess-parents), holds the number of parent sets
against the published one and solves each, those that were solved soonest first; a row a case is appended, and what is
in the file already is not run again unless it is open and ``--limit`` is larger than it was; then its last row counts.
``--minutes`` ends it after so many processor minutes. ``files`` does the same
with the .jkl files. ``table`` counts what was solved in which time, ``draw`` makes a picture of it.

Seconds are processor seconds of one thread from the scores to the certificate; scoring is not counted, as published.
The published ones (BNSL-2016 of the algorithm selection library: Malone, Kangas, Jarvisalo, Koivisto, Myllymaki) were
measured in 2016 or before with a limit of 7,200 s and 30 GB, on machines that are older by about ten years.
"""

import argparse
import csv
import gzip
import math
import time
from pathlib import Path
from typing import Any

import mmbn_opt as mm
from mmbn_opt.interop import read_jkl

EXACT = ("alarm_100", "alarm_10000", "hailfinder_100", "mildew_100", "mildew_1000")
"""Data without constant columns: the parent sets are those of the published instances, 75 in all."""

REDUNDANT = ("insurance_100", "carpo_100", "water_100", "water_1000")
"""Data with constant columns, where the published instances keep sets that hold one: the same optimum, fewer sets."""

PUBLISHED = {
    "GOBNILP 1.6.2": "ilp-162_sec",
    "GOBNILP 1.4.1": "ilp-141_sec",
    "CPBayes": "cpbayes_sec",
    "A* (URLearning)": "astar-comp_sec",
}
LIMITS = (1, 10, 60, 600)

MOST_LISTED = 3_000_000
"""Parent sets that are listed and scored before most are left out; instances with more are named as not built."""

COLUMNS = (
    "instance", "nodes", "parent_sets", "published_sets", "solver", "status", "primal", "dual", "gap_percent",
    "boxes", "cpu_seconds", "seconds", "limit", "scoring_cpu_seconds", "certificate_ok", "remark",
)  # fmt: skip


def published(folder: Path) -> dict[str, dict[str, str]]:
    """Rows of the published table by instance."""
    with gzip.open(folder / "published-times.csv.gz", "rt", newline="") as stream:
        return {row["instance"]: row for row in csv.DictReader(stream)}


def solved_in(text: str) -> float:
    """Published seconds; inf where it was not solved."""
    try:
        return float(text)
    except ValueError:
        return math.inf


def instances(folder: Path, *, redundant: bool) -> list[dict[str, str]]:
    """Those that can be rebuilt, the soonest solved first."""
    known = (*EXACT, *(REDUNDANT if redundant else ()))
    rows = [row for name, row in published(folder).items() if name.rpartition("_")[0] in known]
    return sorted(rows, key=lambda row: (min(solved_in(row[key]) for key in PUBLISHED.values()), row["instance"]))


def formulation(folder: Path, instance: str) -> mm.DecomposableStructure:
    """Of an instance: states as observed, all nodes alike."""
    name, _, rest = instance.rpartition("_")
    score, *settings = rest.split("-")
    frame = "s" + mm.read_table(folder / "data" / f"{name}.dat.gz").astype(int).astype(str)
    data = mm.DiscreteDataset.from_frame(frame, target=frame.columns[-1])
    # BIC without a number has no limit; sets of more than 3 parents are never best with so few rows.
    most = int(settings[-1]) if settings else 3
    ess = float(settings[0]) if score == "bdeu" else 1.0
    return mm.DecomposableStructure(data, score=score, ess=ess, max_parents=most, max_columns=MOST_LISTED)


def as_scores(problem: mm.DecomposableStructure) -> mm.LocalScoreStructure:
    """The instance as others get it: local scores, and no network with tables, which some sets make large."""
    scores: dict[str, list[tuple[float, tuple[str, ...]]]] = {name: [] for name in problem.node_names}
    for (node, parents), value in zip(problem.candidates.columns, problem.column_scores, strict=True):
        scores[problem.node_names[node]].append((float(value), tuple(problem.node_names[p] for p in parents)))
    made = mm.LocalScoreStructure(scores)
    made.candidates  # noqa: B018 - made once, and not counted
    return made


def solved(problem: Any, solver: str, limit: float) -> dict[str, Any]:
    """One run, stopped after `limit` processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    with mm.start(problem, solver, time_limit=20 * limit) as run:
        while not run.done():
            time.sleep(0.05)
            if time.process_time() - cpu > limit:
                run.stop()
                break
        result = run.result()
    bounds = result.bounds
    status = "LIMIT" if result.termination_status.name in ("INTERRUPTED", "TIME_LIMIT") else ""
    return {
        "nodes": problem.candidates.n_nodes,
        "parent_sets": problem.candidates.n_columns,
        "solver": result.solver_name,
        "status": status or result.termination_status.name,
        "primal": bounds.primal_bound,
        "dual": bounds.dual_bound,
        "gap_percent": round(100 * bounds.gap_rel, 5),
        "boxes": result.stats.get("nodes"),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "seconds": round(time.perf_counter() - wall, 2),
        "limit": limit,
        "certificate_ok": result.certificate.ok,
    }


def warm_up() -> None:
    """Load and compile what the runs use."""
    scores = {str(i): [(-2.0, ()), *((-1.0 - 0.1 * j, (str(j),)) for j in range(4) if j != i)] for i in range(4)}
    available = mm.solvers().set_index("name")["available"]
    for solver in ("subset_search", "branch_and_cut", "scip_cuts"):
        if available[solver]:
            mm.solve(mm.LocalScoreStructure(scores), solver)


def append(out: Path, rows: Any, minutes: float, limit: float) -> None:
    """Write one row after another while there is time."""
    out.parent.mkdir(parents=True, exist_ok=True)
    known = ours(out) if out.exists() else {}
    done = {name for name, row in known.items() if row["status"] != "LIMIT" or float(row["limit"]) >= limit}
    warm_up()
    began, left = time.process_time(), []
    with out.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        if stream.tell() == 0:
            writer.writeheader()
        for name, make in rows:
            if name in done:
                continue
            if time.process_time() - began > 60 * minutes:
                left.append(name)
                continue
            row = {"instance": name, **make()}
            writer.writerow(row)
            stream.flush()
            print(*(row.get(k) for k in ("instance", "parent_sets", "solver", "status", "gap_percent", "cpu_seconds")))
    if left:
        print(f"not run: {', '.join(left)}")


def one_instance(folder: Path, row: dict[str, str], solver: str, limit: float) -> dict[str, Any]:
    """Build, count and solve."""
    cpu = time.process_time()
    try:
        problem = formulation(folder, row["instance"])
        n_sets = problem.candidates.n_columns
        scores_alone = as_scores(problem)
    except mm.SizeLimitError as error:
        return {"published_sets": row["parent_sets"], "status": "NOT BUILT", "remark": str(error)[:120]}
    scoring = round(time.process_time() - cpu, 2)
    equal = n_sets == int(row["parent_sets"])
    remark = "" if equal else "another number of parent sets"
    told = {"published_sets": row["parent_sets"], "scoring_cpu_seconds": scoring, "remark": remark}
    return {**told, **solved(scores_alone, solver, limit)}


def one_file(path: Path, solver: str, limit: float) -> dict[str, Any]:
    """Read and solve."""
    cpu = time.process_time()
    problem = mm.LocalScoreStructure(read_jkl(path))
    problem.candidates  # noqa: B018 - made once, and not counted
    return {"scoring_cpu_seconds": round(time.process_time() - cpu, 2), **solved(problem, solver, limit)}


def ours(out: Path) -> dict[str, dict[str, str]]:
    """What was measured, of each instance the last row."""
    with out.open(newline="") as stream:
        return {row["instance"]: row for row in csv.DictReader(stream)}


def seconds_by_solver(folder: Path, out: Path, *, built: bool) -> tuple[dict[str, list[float]], int]:
    """Seconds of each solver on the instances that were run here, or on those that could be built."""
    theirs = published(folder)
    run = {name: r for name, r in ours(out).items() if name in theirs and not (built and r["status"] == "NOT BUILT")}
    found = {"mmbn_opt": [float(r["cpu_seconds"]) if r["status"] == "OPTIMAL" else math.inf for r in run.values()]}
    for label, key in PUBLISHED.items():
        found[label] = [solved_in(theirs[name][key]) for name in run]
    return found, len(run)


def table(folder: Path, out: Path) -> None:
    """How many were solved within which time: of all that were run, and of those that could be built."""
    for built in (False, True):
        _table(folder, out, built=built)


def _table(folder: Path, out: Path, *, built: bool) -> None:
    found, total = seconds_by_solver(folder, out, built=built)
    print(
        f"| {total} {'built' if built else 'instances'}, solved within | "
        + " | ".join(f"{limit} s" for limit in LIMITS)
        + " |"
    )
    print("|---|" + "---|" * len(LIMITS))
    for label, seconds in found.items():
        counts = [str(sum(s <= limit for s in seconds)) for limit in LIMITS]
        if label == "mmbn_opt":
            open_limits = [float(r["limit"]) for r in ours(out).values() if r["status"] == "LIMIT"]
            for place, limit in enumerate(LIMITS):
                if left := sum(ran < limit for ran in open_limits):
                    counts[place] += f", {left} not run so long"
        print(f"| {label} | " + " | ".join(counts) + " |")


def draw(folder: Path, out: Path) -> None:
    """Solved against time, a step for each instance."""
    import matplotlib.pyplot as plt

    found, total = seconds_by_solver(folder, out, built=False)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for (label, seconds), dashes in zip(found.items(), ("-", "--", "-.", ":", (0, (1, 3))), strict=True):
        ranked = sorted(s for s in seconds if math.isfinite(s))
        axes.step([0.01, *(max(s, 0.01) for s in ranked)], range(len(ranked) + 1), where="post", ls=dashes, label=label)
    axes.set(xscale="log", xlabel="Processor seconds; the published ones on machines of 2016 or before")
    axes.set(ylabel=f"Instances solved, of {total}", xlim=(0.01, 7200))
    axes.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(out.with_suffix(".svg"))
    print(out.with_suffix(".svg"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "files", "table", "draw"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/bnsl"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds a case")
    parser.add_argument("--minutes", type=float, default=math.inf, help="processor minutes for all of it")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--redundant", action="store_true", help="the instances with constant columns too")
    parser.add_argument("--only", default="", help="names between commas; all that begin with one of them")
    given = parser.parse_args()
    prefixes = tuple(given.only.split(",")) if given.only else ("",)
    if given.what == "run":
        rows = [row for row in instances(given.data, redundant=given.redundant) if row["instance"].startswith(prefixes)]
        cases = [
            (row["instance"], lambda row=row: one_instance(given.data, row, given.solver, given.limit)) for row in rows
        ]
        append(given.out, cases, given.minutes, given.limit)
    elif given.what == "files":
        paths = sorted((given.data / "scores").glob("*.jkl.gz"), key=lambda path: path.stat().st_size)
        files = [
            (path.name.removesuffix(".jkl.gz"), lambda path=path: one_file(path, given.solver, given.limit))
            for path in paths
            if path.name.startswith(prefixes)
        ]
        append(given.out, files, given.minutes, given.limit)
    elif given.what == "table":
        table(given.data, given.out)
    else:
        draw(given.data, given.out)


if __name__ == "__main__":
    main()
