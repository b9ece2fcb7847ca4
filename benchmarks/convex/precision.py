"""CPU seconds to certified gaps of 1e-2 to 1e-6: the proximal Newton method beside the chain and its other members.

    python benchmarks/convex/precision.py --out runs.csv [--tasks usps-hybrid,...|floors] [--solvers ...] [--seconds 30]

A line a run, with the seconds of this process until each gap was proved, those of the first-order start included.
Kernels are compiled before. One thread; what other processes do on the machine still shows.
"""

import argparse
import csv
import os
import sys
import time
from pathlib import Path

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
sys.path.insert(0, str(Path(__file__).parent))

LEVELS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
# name: (data set, gamma, normalization, structure)
TASKS = {
    "car-hybrid": ("car", 10.0, "hybrid", "nb"),
    "satimage-hybrid": ("satimage", 10.0, "hybrid", "nb"),
    "usps-hybrid": ("usps", 10.0, "hybrid", "nb"),
    "segment-hybrid-tan": ("segment", 10.0, "hybrid", "tan"),
    "letter-floor-lambda1": ("letter", 1.0, "floor", "nb"),
    "vehicle-floor-2-tree": ("vehicle", 1.0, "floor", "2-tree"),
    "segment-hybrid-2-tree": ("segment", 10.0, "hybrid", "2-tree"),
    "mnist14-hybrid": ("mnist14", 10.0, "hybrid", "nb"),
    "mnist14-hybrid-tan": ("mnist14", 10.0, "hybrid", "tan"),
}
# A floor alone: small margins are nearly vertices of a linear program, large ones of separable data have the optimum 0.
TASKS |= {
    f"{source}-floor-lambda{1 / gamma:g}": (source, gamma, "floor", "nb")
    for source in ("usps", "satimage", "digits", "letter15000", "vehicle")
    for gamma in (1.0, 10.0, 100.0)
}
SOLVERS = ("proximal_newton", "first_order", "interior_point", "convex")
FIELDS = ("task", "parameters", "samples", "classes", "solver", *(f"to_{x:g}" for x in LEVELS), "seconds", "gap",
          "primal", "dual", "load", "raw")  # fmt: skip


def graph_of(data, structure):
    """Naive Bayes, TAN-CMI, or TAN-CMI whose features hang from the parent of their parent too."""
    import mmbn_opt as mm

    if structure == "nb":
        return mm.naive_bayes(data)
    tree = mm.tan_cmi(data)
    if structure == "tan":
        return tree
    parents = [set(own) for own in tree.parents]
    above = [own - {tree.class_index} for own in parents]
    for own, upper in zip(parents, above, strict=True):
        for parent in upper:
            own |= above[parent]
    return mm.Structure(tree.feature_names, tree.class_name, tuple(tuple(sorted(own)) for own in parents))


def measure(task, name, seconds):
    from run import load

    import mmbn_opt as mm
    from mmbn_opt.exceptions import MmbnError
    from mmbn_opt.solvers import get_solver_class

    source, gamma, normalization, structure = TASKS[task]
    data = load(source)
    graph = graph_of(data, structure)
    relaxation = mm.MaxMarginRelaxation(data, graph, gamma=gamma, normalization=normalization)
    program = relaxation.build()
    start = relaxation.encode(relaxation.maximum_likelihood)
    record = {"task": task, "parameters": program.margins.n_parameters, "samples": program.margins.n_samples,
              "classes": program.margins.n_classes, "solver": name, "load": f"{os.getloadavg()[0]:.1f}"}  # fmt: skip
    begun = time.process_time()

    def listen(event):
        spent = time.process_time() - begun
        if event.primal_bound is not None and event.dual_bound is not None:
            for level in LEVELS:
                if event.primal_bound - event.dual_bound <= level * abs(event.primal_bound):
                    record.setdefault(f"to_{level:g}", f"{spent:.2f}")
        return spent > seconds

    try:
        answer = get_solver_class(name)(rel_gap=1e-6).solve(program, callback=listen, start=start)
    except MmbnError as error:
        return record | {"raw": str(error)}
    spent = time.process_time() - begun
    return record | {
        "seconds": f"{spent:.2f}", "gap": f"{answer.bounds.gap_rel:.2e}", "primal": repr(answer.bounds.primal_bound),
        "dual": repr(answer.bounds.dual_bound), "raw": answer.raw_status,
    }  # fmt: skip


def warm_up(names):
    import mmbn_opt as mm
    from mmbn_opt.solvers import get_solver_class

    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    program = mm.MaxMarginRelaxation(data, mm.naive_bayes(data)).build()
    for name in names:
        get_solver_class(name)(time_limit=60.0, rel_gap=1e-6).solve(program)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--seconds", type=float, default=60.0, help="Most CPU seconds of a run.")
    arguments = parser.parse_args()
    names = arguments.solvers.split(",")
    warm_up(names)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        floors = ",".join(task for task in TASKS if "-floor-lambda" in task)
        for task in arguments.tasks.replace("floors", floors).split(","):
            for name in names:
                record = measure(task, name, arguments.seconds)
                writer.writerow(record)
                stream.flush()
                print(*(record.get(field) for field in FIELDS), flush=True)


if __name__ == "__main__":
    main()
