"""What constraints that do not bind cost the engine, and what a trade-off curve costs beside one solve.

Each set is solved to proof without constraints and with a limit on edges and on parameters that is one below all that
the candidates allow, so that it could be broken but never is near: boxes, and the median of processor seconds over
alternating runs (the first of which is not counted). Then the best structure at each of several limits on the edges, in
processor seconds of one solve.

Usage: ``python benchmarks/structure/side_constraints.py --shared ../shared [names] [--runs 5] [--out F] [--curve S]``.
"""

import argparse
import csv
import os
import statistics
import time
from pathlib import Path

import pandas as pd

import mmbn_opt as mm

SETS = {"heart": 0.75, "glass": 0.75, "hepatitis": 0.9, "diabetes": 0.9, "glass2": 0.9, "corral": 0.9}
"""Sets and the posterior that the margin asks for: proved in seconds."""


def measured(problem, **settings):
    begin = time.process_time()
    result = mm.solve(problem, "branch_and_cut", **settings)
    return time.process_time() - begin, result


def loose(problem):
    """Limits that no structure near the optimum comes near to, though some structure breaks them."""
    card, candidates = problem.data.cardinalities, problem.candidates
    edges = sum(max(len(s) for s in options) for options in candidates.sets)
    size = problem.model_nodes.require_states(mm.MaxParameters(0))
    entries = 0
    for node, options in enumerate(candidates.sets):
        largest = 0
        for parents in options:
            rows = 1
            for p in parents:
                rows *= size[p]
            largest = max(largest, rows * (card[node] - 1))
        entries += largest
    return problem.with_constraints(mm.MaxEdges(edges - 1), mm.MaxParameters(entries - 1))


def boxes(result) -> int:
    """Boxes of the tree; 0 where the root closed the gap."""
    return int(result.stats.get("nodes", 0))


def keep(out: Path, name: str, runs) -> None:
    """A line for each run, with the load of the machine at the end of all of them."""
    with out.open("a", newline="") as stream:
        writer = csv.writer(stream)
        if stream.tell() == 0:
            writer.writerow(["set", "run", "limits", "boxes", "cpu_seconds", "value", "status", "load"])
        for number, pair in enumerate(runs):
            for limits, (seconds, result) in zip(("none", "loose"), pair, strict=True):
                value, status = result.bounds.primal_bound, result.termination_status.name
                told = [boxes(result), round(seconds, 3), round(value, 6), status, round(os.getloadavg()[0], 2)]
                writer.writerow([name, number, limits, *told])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(SETS))
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a CSV file to which a line a run is appended")
    parser.add_argument("--curve", default="", help="a set whose curve of edges is timed too")
    parser.add_argument("--points", type=int, default=20)
    options = parser.parse_args()
    print("set        columns  boxes without/with   seconds without/with   ratio")
    for name in options.names or SETS:
        frame = pd.read_csv(options.shared / "data" / f"{name}.csv.gz")
        data = mm.prepare(frame, "class", missing="drop").data
        problem = mm.SoftMarginStructure(data, max_parents=2, gamma=mm.log_odds(SETS.get(name, 0.9)))
        limited = loose(problem)
        runs = [(measured(problem), measured(limited)) for _ in range(options.runs + 1)][1:]  # the first one compiles
        if options.out is not None:
            keep(options.out, name, runs)
        without, within = ([run[k][0] for run in runs] for k in (0, 1))
        free, kept = runs[-1][0][1], runs[-1][1][1]
        assert abs(free.bounds.primal_bound - kept.bounds.primal_bound) < 1e-6
        ratio = statistics.median(within) / statistics.median(without)
        print(
            f"{name:10} {problem.candidates.n_columns:7,}  {boxes(free):7,} {boxes(kept):7,}      "
            f"{statistics.median(without):8.2f} {statistics.median(within):8.2f}      {ratio:.2f}",
            flush=True,
        )
    if options.curve:
        frame = pd.read_csv(options.shared / "data" / f"{options.curve}.csv.gz")
        problem = mm.SoftMarginStructure(mm.prepare(frame, "class", missing="drop").data, max_parents=2)
        one, _ = measured(problem)
        begin = time.process_time()
        curve = mm.trade_off(problem, mm.MaxEdges, range(1, options.points + 1), solver="branch_and_cut")
        took = time.process_time() - begin
        proved = sum(point.status is mm.TerminationStatus.OPTIMAL for point in curve.points)
        print(
            f"{options.curve}: {proved} of {len(curve.points)} points proved in {took:.1f} s, {took / one:.1f} times "
            f"the {one:.1f} s of one solve"
        )


if __name__ == "__main__":
    main()
