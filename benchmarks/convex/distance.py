"""How far maximum likelihood and CG-MM are from the global optimum of their hinge, and whether it matters on test rows.

    python benchmarks/convex/distance.py --out FILE [--sets usps,...] [--structures nb,tan] [--seconds 30]

USPS and MNIST are the sets of Pernkopf et al. 2012, Tables 1, 2 and 6, that have a public copy; the others have a test
part of their own. For each: the value of both models at their nearest feasible point in the relaxation, at the margin
that CG-MM was trained with, the proved relative distance to the optimum at most, and the accuracy of all three on the
test rows. MNIST is pooled to 14 x 14.
"""

import argparse
import csv
import json
import os
import sys
import time
from pathlib import Path

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
sys.path.insert(0, str(Path(__file__).parent))

SETS = ("usps", "mnist14", "letter", "satimage", "optdigits", "waveform-21", "segmentation")
FIELDS = ("set", "structure", "normalization", "model", "value", "bound", "within", "test_accuracy", "seconds")
LAM = 0.1


def tables(name):
    """Training and test part, numeric columns cut by MDLP on the former."""
    import pandas as pd
    from run import SHARED

    import mmbn_opt as mm

    source = "mnist" if name == "mnist14" else name
    entry = next(e for e in json.loads((SHARED / "data" / "manifest.json").read_text()) if e["name"] == source)
    frame = pd.read_csv(SHARED / "data" / entry["file"], dtype=str, keep_default_na=False)
    numeric = [c for c, kind in zip(frame.columns[:-1], entry["feature_kinds"], strict=True) if kind == "numeric"]
    label = frame.pop("class")
    frame = frame.copy()
    frame = frame.astype(dict.fromkeys(numeric, float))
    if name == "mnist14":
        pixels = frame.to_numpy(dtype=float).reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)
        frame = pd.DataFrame(pixels, columns=[f"p{j}" for j in range(196)])
    n = entry["train_rows"]
    prepared = mm.prepare(frame[:n].assign(**{"class": label[:n]}), "class")
    return prepared.data, prepared.apply(frame[n:].assign(**{"class": label[n:]}))


def measure(name, structure, normalization, seconds):
    import mmbn_opt as mm
    from mmbn_opt.scores.predictive import classification_rate
    from mmbn_opt.tuning.parameters import as_network

    train, test = tables(name)
    graph = mm.naive_bayes(train) if structure == "nb" else mm.tan_cmi(train)
    relaxation = mm.MaxMarginRelaxation(train, graph, gamma=1.0 / LAM, normalization=normalization)

    begun = time.process_time()
    ml = relaxation.maximum_likelihood
    rows = [("ML", ml, time.process_time() - begun)]
    begun = time.process_time()
    form = mm.SmoothMargin(train, graph, lam=LAM)
    trained = mm.solve(form, "conjugate_gradient", time_limit=seconds, options={"max_iterations": 50})
    rows.append(("CG-MM", trained.model, time.process_time() - begun))
    begun = time.process_time()
    optimum = mm.solve(relaxation, "convex", time_limit=seconds, rel_gap=1e-4)
    rows.append(("optimum", optimum.model, time.process_time() - begun))
    bound = optimum.bounds.dual_bound
    for model, network, spent in rows:
        value = relaxation.evaluate(network)
        within = (value - bound) / bound if bound > 0 else float("inf")
        rate = classification_rate(as_network(network), test)
        yield {
            "set": name, "structure": structure, "normalization": normalization, "model": model,
            "value": f"{value:.6g}", "bound": f"{bound:.6g}", "within": f"{within:.3g}", "test_accuracy": f"{rate:.4f}",
            "seconds": f"{spent:.1f}",
        }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--structures", default="nb")
    parser.add_argument("--normalization", default="hybrid", help="hybrid, or floor: the hinge alone")
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of each solve")
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        for name in arguments.sets.split(","):
            for structure in arguments.structures.split(","):
                for record in measure(name, structure, arguments.normalization, arguments.seconds):
                    writer.writerow(record)
                    stream.flush()
                    print(*record.values(), flush=True)


if __name__ == "__main__":
    main()
