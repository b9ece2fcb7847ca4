"""Convex solvers against problem size: seconds, certified gap, peak memory, one process a run, resumable.

    python benchmarks/convex/run.py --out DIR [--tasks small,letter,...] [--solvers first_order,...] [--time-limit 60]
    python benchmarks/convex/run.py --out DIR --plot
    python benchmarks/convex/run.py --out DIR --path satimage-hybrid

Each finished run is a line of ``DIR/runs.jsonl``; a run that is there is not repeated. ``DIR/solvers.csv`` has them
side by side: how far each value is above the best bound that anybody proved, and its processor seconds over those of
the default. Figures depend on the machine: the load average at the start of each run is recorded.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("MMBN_SHARED", ROOT.parent / "shared"))

LEVELS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Gaps whose seconds are kept."""

# name: (data set, gamma, normalization, structure)
TASKS = {
    "corral-floor": ("corral", 10.0, "floor", "nb"),
    "corral-floor-tan": ("corral", 1.0, "floor", "tan"),
    "iris-hybrid": ("iris", 10.0, "hybrid", "nb"),
    "breast-floor-lambda1": ("breast", 1.0, "floor", "nb"),
    "australian-hybrid": ("australian", 10.0, "hybrid", "nb"),
    "vehicle-floor-lambda1": ("vehicle", 1.0, "floor", "nb"),
    "german-hybrid": ("german", 10.0, "hybrid", "nb"),
    "car-hybrid": ("car", 10.0, "hybrid", "nb"),
    "car-floor-lambda1": ("car", 1.0, "floor", "nb"),
    "nursery-floor-lambda1": ("nursery", 1.0, "floor", "nb"),
    "chess-floor-lambda1": ("chess", 1.0, "floor", "nb"),
    "digits-floor": ("digits", 50.0, "floor", "nb"),
    "optdigits-floor": ("optdigits", 50.0, "floor", "nb"),
    "satimage-hybrid": ("satimage", 10.0, "hybrid", "nb"),
    "satimage-floor-lambda1": ("satimage", 1.0, "floor", "nb"),
    "letter-floor": ("letter", 50.0, "floor", "nb"),
    "letter-hybrid": ("letter", 10.0, "hybrid", "nb"),
    "letter-floor-lambda1": ("letter", 1.0, "floor", "nb"),
    "usps-hybrid": ("usps", 10.0, "hybrid", "nb"),
    "segment-hybrid-tan": ("segment", 10.0, "hybrid", "tan"),
    "mnist14-hybrid": ("mnist14", 10.0, "hybrid", "nb"),
}
SOLVERS = {
    "convex": "convex.chain:ConvexChainSolver",
    "proximal_newton": "convex.proximal_newton:ProximalNewtonSolver",
    "first_order": "convex.first_order:FirstOrderSolver",
    "smoothing": "convex.first_order:FirstOrderSolver",
    "interior_point": "convex.interior_point:InteriorPointSolver",
    "clarabel": "convex.cvxpy_conic:ClarabelSolver",
    "ecos": "convex.cvxpy_conic:EcosSolver",
    "scs": "convex.cvxpy_conic:ScsSolver",
    "barrier": "convex.log_barrier:LogBarrierSolver",
    "ipopt": "convex.ipopt:IpoptSolver",
    "conjugate_gradient": "",
}


def load(name):
    """Training part of a reference data set, numeric columns cut by MDLP on it."""
    import numpy as np
    import pandas as pd

    import mmbn_opt as mm

    if name == "digits":
        return digits()
    source = {"mnist14": "mnist", "letter15000": "letter"}.get(name, name)
    entry = next(e for e in json.loads((SHARED / "data" / "manifest.json").read_text()) if e["name"] == source)
    frame = pd.read_csv(SHARED / "data" / entry["file"], dtype=str, keep_default_na=False)
    frame = frame.mask(frame == "").dropna().iloc[: 15_000 if name == "letter15000" else entry["train_rows"]]
    numeric = [c for c, kind in zip(frame.columns[:-1], entry["feature_kinds"], strict=True) if kind == "numeric"]
    label = frame["class"].reset_index(drop=True)
    if name == "mnist14":
        pixels = frame[numeric].to_numpy(dtype=float).reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)
        frame, numeric = pd.DataFrame(pixels, columns=[f"p{j}" for j in range(196)]), [f"p{j}" for j in range(196)]
    else:
        frame = frame.drop(columns="class").reset_index(drop=True)
        frame = frame.astype(dict.fromkeys(numeric, float))
    if numeric:
        codes = np.asarray(mm.MDLPDiscretizer().fit(frame[numeric], label).transform(frame[numeric])).astype(int)
        frame[numeric] = pd.DataFrame(codes, columns=numeric)
    frame["class"] = label
    return mm.DiscreteDataset.from_frame(frame, "class")


def digits():
    """Two thirds of scikit-learn's digits, pixels cut by MDLP on them."""
    import pandas as pd
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    import mmbn_opt as mm

    raw = load_digits(as_frame=True)
    X, _, y, _ = train_test_split(
        raw.data, raw.target.astype(str), train_size=2 / 3, random_state=0, stratify=raw.target
    )
    X, y = X.reset_index(drop=True), y.reset_index(drop=True)
    frame = pd.DataFrame(mm.MDLPDiscretizer().fit(X, y).transform(X), columns=X.columns).astype(int).astype(str)
    return mm.DiscreteDataset.from_frame(frame.assign(**{"class": y}), "class")


def one(task, solver, time_limit, rel_gap):
    """Run in this process; prints one JSON line."""
    from dataclasses import replace
    from importlib import import_module

    import mmbn_opt as mm
    from mmbn_opt.formulations.parameters.relaxation import MaxMarginRelaxation

    name, gamma, normalization, structure = TASKS[task]
    data = load(name)
    graph = mm.naive_bayes(data) if structure == "nb" else mm.tan_cmi(data)
    relaxation = MaxMarginRelaxation(data, graph, gamma=gamma, normalization=normalization)
    if solver == "conjugate_gradient":
        conjugate_gradient(task, relaxation, time_limit)
        return
    module, attribute = SOLVERS[solver].split(":")
    engine = getattr(import_module(f"mmbn_opt.solvers.{module}"), attribute)(time_limit=time_limit, rel_gap=rel_gap)
    if solver == "smoothing":
        engine = replace(engine, method="smoothing")
    begun = time.perf_counter()
    program = relaxation.build()
    start = relaxation.encode(relaxation.maximum_likelihood)
    build = time.perf_counter() - begun
    type(engine)(time_limit=10.0).solve(tiny())  # kernels are compiled, libraries loaded
    load_average = os.getloadavg()[0]
    before = cpu_seconds()
    reached = {}

    def listen(event):
        if event.primal_bound is not None and event.dual_bound is not None:
            for level in LEVELS:
                if event.primal_bound - event.dual_bound <= level * abs(event.primal_bound):
                    reached.setdefault(f"{level:g}", round(cpu_seconds() - before, 3))
        return False

    try:
        answer = engine.solve(program, callback=listen, start=start)
    except mm.MmbnError as error:
        print(json.dumps({"task": task, "solver": solver, "status": "REFUSED", "raw": str(error)}))
        return
    spent = cpu_seconds() - before
    usage = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    facts = {
        "task": task, "solver": solver, "status": str(answer.termination_status), "raw": answer.raw_status,
        "samples": program.margins.n_samples, "parameters": program.margins.n_parameters,
        "classes": program.margins.n_classes, "primal": answer.bounds.primal_bound, "dual": answer.bounds.dual_bound,
        "gap": answer.bounds.gap_rel, "seconds": answer.seconds, "cpu_seconds": spent,
        "build_seconds": build, "seconds_to_gap": reached, "iterations": answer.iterations,
        "memory_gb": usage / 1e6, "load_average": load_average, "time_limit": time_limit, "rel_gap": rel_gap,
    }  # fmt: skip
    print(json.dumps(facts))


def cpu_seconds():
    """Of this process and of those that it has waited for: cone solvers and IPOPT have one of their own."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def tiny():
    """A program that takes no time."""
    import mmbn_opt as mm

    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    return mm.MaxMarginRelaxation(data, mm.naive_bayes(data)).build()


def conjugate_gradient(task, relaxation, time_limit):
    """CG-MM at the same lambda, stopped by a held-out fifth; how far its model is above the optimum of the relaxation.

    Its seconds are those until the iterate of the best validation rate.
    """
    import mmbn_opt as mm

    form = mm.SmoothMargin(relaxation.data, relaxation.structure, lam=1 / relaxation.gamma).with_validation(0.2)
    mm.solve(form, "conjugate_gradient", options={"max_iterations": 1})  # kernels are compiled
    load_average, before = os.getloadavg()[0], cpu_seconds()
    result = mm.solve(form, "conjugate_gradient", time_limit=time_limit, options={"max_iterations": 300})
    spent = cpu_seconds() - before
    best, iterations = result.stats["best_iteration"], result.stats["iterations"]
    distance = mm.distance_to_optimum(result.model, relaxation, time_limit=time_limit)
    facts = {
        "task": task, "solver": "conjugate_gradient", "status": str(result.termination_status),
        "samples": relaxation.program.margins.n_samples, "parameters": relaxation.program.margins.n_parameters,
        "classes": relaxation.data.n_classes, "primal": distance.value, "dual": None, "gap": distance.bounds.gap_rel,
        "seconds": result.seconds.solve, "cpu_seconds": spent * (best + 1) / (iterations + 1),
        "memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, "load_average": load_average,
        "iterations": best, "time_limit": time_limit,
    }  # fmt: skip
    print(json.dumps(facts))


def path(task, out, selection_gap):
    """Eight values of lambda on a held-out fifth, the winner to 1e-4 on all rows; a line of ``DIR/paths.jsonl``."""
    import mmbn_opt as mm

    name, _, normalization, structure = TASKS[task]
    data = load(name)
    graph = mm.naive_bayes(data) if structure == "nb" else mm.tan_cmi(data)
    begun, cpu = time.perf_counter(), time.process_time()
    relaxation = mm.MaxMarginRelaxation(data, graph, normalization=normalization)
    chosen = mm.lambda_path(relaxation, selection_gap=selection_gap, rel_gap=1e-4)
    facts = {
        "task": task, "lam": chosen.lam, "rate": chosen.rate, "gap": chosen.result.bounds.gap_rel,
        "path_seconds": float(chosen.table["seconds"].sum()), "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - cpu, "table": chosen.table.to_dict("records"),
        "load_average": os.getloadavg()[0],
    }  # fmt: skip
    with (out / "paths.jsonl").open("a") as stream:
        stream.write(json.dumps(facts) + "\n")
    print(json.dumps({key: value for key, value in facts.items() if key != "table"}))


FIELDS = ("task", "parameters", "samples", "classes", "solver", "status", *(f"to_{x:g}" for x in LEVELS),
          "cpu_seconds", "times_the_default", "value", "above_the_best_bound", "own_gap", "memory_gb", "load",
          "time_limit")  # fmt: skip


def side_by_side(out):
    """``DIR/solvers.csv``: a line a run, beside the default on the same task."""
    runs = done(out / "runs.jsonl")
    with (out / "solvers.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        for (task, solver), r in runs.items():
            row = {"task": task, "solver": solver, "status": r["status"]}
            if r["status"] != "REFUSED":
                bounds = [x["dual"] for (at, _), x in runs.items() if at == task and x.get("dual") is not None]
                default = runs.get((task, "convex"), {}).get("cpu_seconds")
                reached = r.get("seconds_to_gap", {})
                row |= {f"to_{x:g}": reached.get(f"{x:g}") for x in LEVELS}
                row |= {key: r[key] for key in ("parameters", "samples", "classes", "time_limit")}
                row |= {"cpu_seconds": f"{r['cpu_seconds']:.3g}", "memory_gb": f"{r['memory_gb']:.2f}",
                        "load": f"{r['load_average']:.1f}"}  # fmt: skip
                if default:
                    row["times_the_default"] = f"{r['cpu_seconds'] / default:.2g}"
                if r["primal"] is not None:
                    row["value"] = f"{r['primal']:.10g}"
                    if bounds:
                        row["above_the_best_bound"] = f"{(r['primal'] - max(bounds)) / max(abs(max(bounds)), 1e-9):.1e}"
                if r["dual"] is not None:
                    row["own_gap"] = f"{r['gap']:.1e}"
            writer.writerow(row)


def done(path):
    if not path.exists():
        return {}
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["task"], r["solver"]): r for r in records}


PROVED = 1e-3
"""Gap at which a run counts as done in the plot."""


def plot(out):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    records = [r for r in done(out / "runs.jsonl").values() if r["status"] != "REFUSED"]
    figure, axis = plt.subplots(figsize=(7, 4.5), constrained_layout=True)
    for solver in SOLVERS:
        points = sorted(
            (r["samples"] * r["parameters"], max(r["cpu_seconds"], 0.01), r["gap"])
            for r in records
            if r["solver"] == solver
        )
        if points:
            hue = axis.plot([], [], "o", label=solver)[0].get_color()
            for x, y, gap in points:
                axis.plot(x, y, "o", color=hue, ms=7, mfc=hue if gap <= PROVED else "none")
    axis.set(
        xscale="log", yscale="log", xlabel="merged samples x parameters", ylabel="CPU seconds",
        title=f"filled: a gap of {PROVED:g} proved; hollow: failed, or stopped by the limit",
    )  # fmt: skip
    axis.legend(frameon=False)
    draft = out / f"seconds.{os.getpid()}.svg"
    figure.savefig(draft)
    draft.replace(out / "seconds.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--solvers", default="first_order,interior_point,clarabel,barrier")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--rel-gap", type=float, default=1e-3)
    parser.add_argument("--plot", action="store_true")
    parser.add_argument("--path", metavar="TASK", help="Measure a path of lambda on the data of a task.")
    parser.add_argument("--path-gap", type=float, default=1e-2, help="gap of each value along the path")
    parser.add_argument("--one", nargs=2, metavar=("TASK", "SOLVER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(*arguments.one, arguments.time_limit, arguments.rel_gap)
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.path:
        path(arguments.path, arguments.out, arguments.path_gap)
        return
    runs = arguments.out / "runs.jsonl"
    if not arguments.plot:
        for task in arguments.tasks.split(","):
            for solver in arguments.solvers.split(","):
                if (task, solver) in done(runs):
                    continue
                command = [
                    sys.executable, __file__, "--out", str(arguments.out), "--one", task, solver,
                    "--time-limit", str(arguments.time_limit), "--rel-gap", str(arguments.rel_gap),
                ]  # fmt: skip
                environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
                answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
                lines = answer.stdout.splitlines()
                if answer.returncode or not lines:
                    record = {"task": task, "solver": solver, "status": "REFUSED", "raw": answer.stderr[-500:]}
                else:
                    record = json.loads(lines[-1])
                with runs.open("a") as stream:
                    stream.write(json.dumps(record) + "\n")
                print(task, solver, record["status"], record.get("seconds"), record.get("gap"), flush=True)
    side_by_side(arguments.out)
    plot(arguments.out)


if __name__ == "__main__":
    main()
