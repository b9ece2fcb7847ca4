"""CPU seconds of conditional likelihood to certified gaps of 1e-2 to 1e-6: the interior point beside the descents.

    python benchmarks/convex/likelihood.py --out runs.csv [--tasks letter,...] [--solvers interior_point,...]
        [--seconds 60]

A line a run: seconds of this process until each gap was proved, what it ended with. The bound of a descent is that of
its best network, over probabilities of at least 1e-100 or its least; the interior point's is over those of 1e-100.
Kernels are compiled before; one thread. letter15000: the first 15,000 rows; mnist14: pictures of 14 x 14.
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
# name: (data set, structure)
TASKS = {
    "car": ("car", "nb"),
    "vehicle": ("vehicle", "nb"),
    "vehicle-tan": ("vehicle", "tan"),
    "satimage": ("satimage", "nb"),
    "letter15000": ("letter15000", "nb"),
    "letter": ("letter", "nb"),
    "mnist14": ("mnist14", "nb"),
}
SOLVERS = ("interior_point", "lbfgs", "conjugate_gradient")
FIELDS = ("task", "parameters", "moving", "samples", "classes", "solver", *(f"to_{x:g}" for x in LEVELS), "seconds",
          "iterations", "gap", "primal", "dual", "load", "status", "raw")  # fmt: skip


def measure(task, name, seconds):
    from precision import graph_of
    from run import load

    import mmbn_opt as mm
    from mmbn_opt.programs import ProgramKind

    source, structure = TASKS[task]
    data = load(source)
    problem = mm.ConditionalLikelihood(data, graph_of(data, structure))
    program = problem.build(ProgramKind.LIKELIHOOD)
    record = {"task": task, "parameters": program.margins.n_parameters, "moving": int((~program.at_floor).sum()),
              "samples": program.margins.n_samples, "classes": program.margins.n_classes, "solver": name,
              "load": f"{os.getloadavg()[0]:.1f}"}  # fmt: skip
    begun = time.process_time()

    def listen(entry):
        spent = time.process_time() - begun
        primal, dual = entry.primal_bound, entry.dual_bound
        if primal is not None and dual is not None:
            for level in LEVELS:
                if dual - primal <= level * abs(primal):
                    record.setdefault(f"to_{level:g}", f"{spent:.2f}")
        return spent > seconds

    answer = mm.solve(problem, name, rel_gap=1e-6, callback=listen)
    spent = time.process_time() - begun
    return record | {
        "seconds": f"{spent:.2f}", "iterations": answer.stats.get("iterations"), "gap": f"{answer.bounds.gap_rel:.2e}",
        "primal": repr(answer.bounds.primal_bound), "dual": repr(answer.bounds.dual_bound),
        "status": str(answer.termination_status.name), "raw": answer.raw_status,
    }  # fmt: skip


def warm_up(names):
    import mmbn_opt as mm

    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    for name in names:
        mm.solve(mm.ConditionalLikelihood(data, mm.naive_bayes(data)), name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default="car,vehicle,vehicle-tan,satimage,letter15000,letter")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--seconds", type=float, default=60.0, help="Most CPU seconds of a run.")
    arguments = parser.parse_args()
    names = arguments.solvers.split(",")
    warm_up(names)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        for task in arguments.tasks.split(","):
            for name in names:
                record = measure(task, name, arguments.seconds)
                writer.writerow(record)
                stream.flush()
                print(*(record.get(field) for field in FIELDS), flush=True)


if __name__ == "__main__":
    main()
