"""A search of hours across restarts: each call goes on with the checkpoint for so long, and tells what it took.

    python benchmarks/structure/long_run.py --data ../shared/data --case vehicle:0.9 --folder run --seconds 3600
    python benchmarks/structure/long_run.py --case vehicle:0.9 --folder run --draw docs/images/long-run.svg

A stretch is a row of `--stretches`: seconds of the wall and of all processors, the most memory of this process and of
one that helped, boxes, bounds, and the load of the machine at its end. `--draw` draws the gap of the whole search, as
its tree file has it, against the hours that it took by the clock, pauses left out.
"""

import argparse
import csv
import os
import resource
import time
from pathlib import Path

import mmbn_opt as mm

RESULTS = Path(__file__).parent / "results" / "long_run.csv"


def main() -> None:
    """One stretch, or the picture of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--case", default="vehicle:0.9", help="set:p")
    parser.add_argument("--folder", type=Path, required=True, help="the checkpoint")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--stretches", type=Path, default=RESULTS)
    parser.add_argument("--draw", type=Path, metavar="SVG")
    given = parser.parse_args()
    if given.draw:
        draw(given)
    elif given.data is None:
        parser.error("--data is needed for a search")
    else:
        go_on(given)


def go_on(given: argparse.Namespace) -> None:
    """Search for a stretch."""
    name, p = given.case.split(":")
    table = mm.read_table(given.data / f"{name}.csv.gz")
    problem = mm.SoftMarginStructure(mm.prepare(table, "class", missing="drop").data, gamma=mm.log_odds(float(p)))
    begin = time.perf_counter()
    result = mm.solve(
        problem, "branch_and_cut", checkpoint=given.folder, time_limit=given.seconds, threads=given.threads
    )
    wall = time.perf_counter() - begin
    ours, theirs = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    row = {
        "case": given.case,
        "wall_sec": round(wall, 1),
        "cpu_sec": round(sum(use.ru_utime + use.ru_stime for use in (ours, theirs)), 1),
        "memory_mb": ours.ru_maxrss // 1024,
        "memory_of_a_helper_mb": theirs.ru_maxrss // 1024,
        "boxes": mm.load_run(given.folder).boxes,
        "primal_bound": result.bounds.primal_bound,
        "dual_bound": result.bounds.dual_bound,
        "gap_percent": 100 * result.bounds.gap_rel,
        "status": result.termination_status.name,
        "tree_mb": round(sum(file.stat().st_size for file in given.folder.iterdir()) / 1e6),
        "load": round(os.getloadavg()[0], 1),
    }
    is_new = not given.stretches.exists()
    with given.stretches.open("a", newline="") as file:
        writer = csv.DictWriter(file, row.keys(), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)
    print(row)


def draw(given: argparse.Namespace) -> None:
    """Gap against hours, and a mark where the search was proved."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    run = mm.load_run(given.folder)
    frame = run.trace.to_frame().dropna(subset=["primal_bound", "dual_bound"])
    gap = 100 * (frame["dual_bound"] - frame["primal_bound"]).abs() / frame["primal_bound"].abs()
    hours = frame["time_sec"].to_numpy() / 3600
    with matplotlib.rc_context({"svg.hashsalt": "long-run"}):
        figure, ax = plt.subplots(figsize=(7, 3.4))
        ax.step(hours, gap, where="post", color="tab:blue")
        if run.status == "OPTIMAL":
            ax.plot(run.seconds / 3600, 0.0, "o", color="tab:blue", label=f"proved, {run.boxes:,} boxes")
            ax.legend(loc="upper right")
        ax.set(
            ylim=(0.0, min(2.0, float(gap.max()))),
            xlim=(0.0, None),
            xlabel="hours of search",
            ylabel="gap, %",
            title=given.case.replace(":", ", p = "),
        )
        ax.grid(visible=True, alpha=0.3)
        figure.savefig(given.draw, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
