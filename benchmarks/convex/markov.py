"""Maximum-margin Markov networks beside liblinear's machine of Crammer and Singer: the same program, CPU seconds.

    python benchmarks/convex/markov.py --out runs.csv [--tasks letter,...] [--solvers proximal_newton,liblinear,...]

A line a run: objective (of liblinear's weights too, by our function), certified gap where there is one, seconds of this
process. Kernels are compiled before; one thread. letter: the first 15,000 rows; mnist14: 60,000 pictures of 14 x 14.
"""

import argparse
import csv
import os
import sys
import time
import warnings
from pathlib import Path

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
sys.path.insert(0, str(Path(__file__).parent))

TASKS = {"digits": "digits", "satimage": "satimage", "letter": "letter", "usps": "usps", "mnist14": "mnist14"}
FIELDS = ("task", "C", "parameters", "samples", "classes", "solver", "seconds", "objective", "bound", "gap", "status")


def liblinear(program, C, tolerance):
    """Weights of `LinearSVC` on indicators of the entries that a sample looks up."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.svm import LinearSVC

    margins = program.margins
    rows = np.ascontiguousarray(margins.factor_rows, dtype=np.int64)
    shape = (len(rows), len(margins.gather))
    rows, places = rows.astype(np.int32), np.repeat(np.arange(len(rows), dtype=np.int32), rows.shape[1])
    table = sp.csr_array((np.ones(rows.size), (places, rows.ravel())), shape=shape)
    machine = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, tol=tolerance, max_iter=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.process_time()
        machine.fit(table, margins.labels, sample_weight=margins.weight)
        seconds = time.process_time() - begun
    w = np.empty(margins.n_parameters)
    w[margins.gather] = machine.coef_.T
    return w, seconds, f"tol {tolerance:g}, {machine.n_iter_} rounds"


def measure(task, C, name, seconds):
    from run import load

    import mmbn_opt as mm
    from mmbn_opt.solvers import get_solver_class

    data = load(TASKS[task])
    formulation = mm.MaxMarginMarkovNetwork(data, mm.naive_bayes(data), C=C)
    program = formulation.build()
    record = {"task": task, "C": C, "parameters": program.margins.n_parameters, "samples": program.margins.n_samples,
              "classes": program.margins.n_classes, "solver": name}  # fmt: skip
    if name.startswith("liblinear"):
        w, spent, status = liblinear(program, C, float(name.partition("-")[2]) if "-" in name else 1e-4)
        return record | {"seconds": f"{spent:.2f}", "objective": program.value(w), "status": status}
    engine = get_solver_class(name)(time_limit=seconds, rel_gap=1e-6)
    begun = time.process_time()
    answer = engine.solve(program, start=program.first_point())
    return record | {
        "seconds": f"{time.process_time() - begun:.2f}", "objective": answer.bounds.primal_bound,
        "bound": answer.bounds.dual_bound, "gap": f"{answer.bounds.gap_rel:.2e}",
        "status": str(answer.termination_status),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default="digits,satimage,letter,usps,mnist14")
    parser.add_argument("--solvers", default="proximal_newton,liblinear-1e-2,liblinear-1e-4")
    parser.add_argument("--C", default="0.01,1", help="weights of the slacks")
    parser.add_argument("--seconds", type=float, default=120.0)
    chosen = parser.parse_args()
    from mmbn_opt.solvers import get_solver_class

    for name in chosen.solvers.split(","):  # kernels are compiled
        if not name.startswith("liblinear"):
            measure("digits", 0.01, get_solver_class(name).name, 20.0)
    with chosen.out.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        writer.writeheader()
        for task in chosen.tasks.split(","):
            for C in (float(c) for c in chosen.C.split(",")):
                for name in chosen.solvers.split(","):
                    record = measure(task, C, name, chosen.seconds)
                    writer.writerow(record)
                    stream.flush()
                    print(*(f"{key}={value}" for key, value in record.items()), flush=True)


if __name__ == "__main__":
    main()
