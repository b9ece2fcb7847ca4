"""The default chain with a time limit against each of its members alone with half of it.

    python benchmarks/convex/chain.py --out runs.csv [--tasks segment-tan,...] [--limits 1,3,10]
    python benchmarks/convex/chain.py --out runs.csv --cpu
    python benchmarks/convex/chain.py --out runs.csv --table

A line a run; a run that is there is not repeated. ``--table`` prints a line a problem and limit, and how often the
chain ended with a gap more than a tenth above the best member's (gaps below what was asked for count as equal).
Compiled kernels are warmed first. Figures depend on the machine, whose load average is in each line; ``--cpu`` counts
the seconds of this process instead of the wall clock's, and leaves out the solvers that work in processes of their own
and the published problem, which needs one of them.
"""

import argparse
import csv
import os
import time
from pathlib import Path

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

SETS = {
    "german-nb": ("german", None, "nb"),
    "car-tan": ("car", None, "tan"),
    "vehicle-tan": ("vehicle", None, "tan"),
    "segment-nb": ("segment", None, "nb"),
    "segment-tan": ("segment", None, "tan"),
    "satimage-nb": ("satimage", None, "nb"),
    "satimage-tan": ("satimage", 2000, "tan"),
    "letter-nb": ("letter", 2000, "nb"),
    "letter-tan": ("letter", 2000, "tan"),
    "soybean-tan": ("soybean-large", None, "tan"),
}
NORMALIZATIONS = ("hybrid", "floor", "published")
GAMMA = 10.0
FIELDS = ("task", "normalization", "samples", "classes", "parameters", "solver", "limit", "gap", "seconds", "status",
          "load", "raw")  # fmt: skip


def program_of(task, normalization):
    """Relaxation of a task and its program."""
    import sys

    import mmbn_opt as mm

    sys.path.insert(0, str(Path(__file__).parent))
    from run import load

    name, rows, structure = SETS[task]
    data = load(name)
    if rows is not None:
        data = data.subset(range(min(rows, data.n_samples)))
    graph = mm.naive_bayes(data) if structure == "nb" else mm.tan_cmi(data)
    relaxation = mm.MaxMarginRelaxation(data, graph, gamma=GAMMA, normalization=normalization)
    return relaxation, relaxation.build()


def members(program):
    """Solvers that the chain may hand the program to, each alone."""
    from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver
    from mmbn_opt.solvers.convex.first_order import FirstOrderSolver
    from mmbn_opt.solvers.convex.interior_point import InteriorPointSolver
    from mmbn_opt.solvers.convex.linear_form import LinearFormSolver

    first = LinearFormSolver if program.is_linear else InteriorPointSolver
    return [first, ClarabelSolver, FirstOrderSolver]


def warm_up():
    """Compile the kernels and import the libraries."""
    import mmbn_opt as mm
    from mmbn_opt.solvers.convex.chain import ConvexChainSolver

    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    for normalization in NORMALIZATIONS:
        program = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), normalization=normalization).build()
        for kind in (ConvexChainSolver, *members(program)):
            kind(time_limit=20.0).solve(program)


def measure(arguments):
    from mmbn_opt.exceptions import MmbnError
    from mmbn_opt.solvers.convex.chain import ConvexChainSolver

    known = {key(record) for record in read(arguments.out)}
    warm_up()
    hosted = ()
    if arguments.cpu:
        from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver

        time.monotonic = time.perf_counter = time.process_time
        ClarabelSolver.is_available = classmethod(lambda cls: False)
        hosted = (ClarabelSolver,)
    for task in arguments.tasks.split(","):
        for normalization in NORMALIZATIONS[: 2 if arguments.cpu else 3]:
            relaxation, program = program_of(task, normalization)
            start = relaxation.encode(relaxation.maximum_likelihood)
            common = {"task": task, "normalization": normalization, "samples": program.margins.n_samples,
                      "classes": program.margins.n_classes, "parameters": program.margins.n_parameters}  # fmt: skip
            for limit in map(float, arguments.limits.split(",")):
                for kind in (ConvexChainSolver, *members(program)):
                    if kind in hosted:
                        continue
                    given = limit if kind is ConvexChainSolver else limit / 2
                    record = {**common, "solver": kind.name, "limit": f"{limit:g}", "load": f"{os.getloadavg()[0]:.1f}"}
                    if key(record) in known or (arguments.chain_only and kind is not ConvexChainSolver):
                        continue
                    begun = time.perf_counter()
                    try:
                        answer = kind(time_limit=given, rel_gap=arguments.rel_gap).solve(program, start=start)
                        record |= {"gap": f"{answer.bounds.gap_rel:.3g}", "status": str(answer.termination_status),
                                   "raw": answer.raw_status}  # fmt: skip
                    except MmbnError as error:
                        record |= {"gap": "inf", "status": "REFUSED", "raw": str(error)[:200]}
                    record["seconds"] = f"{time.perf_counter() - begun:.2f}"
                    append(arguments.out, record)
                    print(*(record.get(name) for name in FIELDS), flush=True)


def key(record):
    return tuple(record[name] for name in ("task", "normalization", "solver", "limit"))


def read(path):
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def append(path, record):
    fresh = not path.exists()
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(record)


def table(path, rel_gap):
    """A line a problem and limit: the chain's gap, each member's at half the limit, and the verdict."""
    records = read(path)
    cases = {}
    for record in records:
        cases.setdefault((record["task"], record["normalization"], record["limit"]), {})[record["solver"]] = record
    worse = 0
    print("| problem | limit | chain | seconds | best member at half | its gap | worse |")
    print("|---|---|---|---|---|---|---|")
    for (task, normalization, limit), answers in cases.items():
        if "convex" not in answers or len(answers) < 2:
            continue
        chain = answers.pop("convex")
        best = min(answers.values(), key=lambda record: float(record["gap"]))
        behind = float(chain["gap"]) > max(1.1 * float(best["gap"]), rel_gap)
        worse += behind
        print(f"| {task} {normalization} | {limit} | {chain['gap']} | {chain['seconds']} | {best['solver']} "
              f"| {best['gap']} | {'WORSE' if behind else ''} |")  # fmt: skip
    print(f"\n{worse} of {len(cases)} worse than the best member with half the time")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default=",".join(SETS))
    parser.add_argument("--limits", default="1,3,10")
    parser.add_argument("--rel-gap", type=float, default=1e-4)
    parser.add_argument("--chain-only", action="store_true", help="Measure the chain, not its members.")
    parser.add_argument("--cpu", action="store_true", help="Seconds of the processor, built-in methods only.")
    parser.add_argument("--table", action="store_true", help="Only print the table.")
    arguments = parser.parse_args()
    if not arguments.table:
        measure(arguments)
    table(arguments.out, arguments.rel_gap)


if __name__ == "__main__":
    main()
