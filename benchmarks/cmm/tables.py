"""Recognition rates of EM, SVM, TAN and CMM on the ten sets of Guo et al. 2018, beside its Tables 5, 6, 7 and 9.

Settings are chosen by cross-validation inside each training part ("cmm-stop" may choose the k-means start itself).
Each (set, split, method) is one line of the results file; what is there already is not run again, so a run can be
stopped and resumed.

Usage: ``python benchmarks/cmm/tables.py run [--sets iris,wine] [--methods em,cmm] [--grid medium] [--jobs 2]``, then
``python benchmarks/cmm/tables.py report [--grid medium]``.
"""

import argparse
import json
import os
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.svm import SVC

import mmbn_opt as mm
from mmbn_opt.estimators.cmm import CMMClassifier
from mmbn_opt.mixture import MixtureClassifier

ROOT = Path(__file__).resolve().parents[2]
SETS = ("wdbc", "sonar", "glass", "segmentation", "iris", "magic", "segment", "waveform-21", "waveform-40", "wine")
METHODS = ("em", "svm", "tan", "k-means", "cmm", "cmm-rest", "cmm-stop")
PAPER = {  # Tables 5, 6 and 9: EM, SVM, CMM on training rows; EM, SVM, CMM, TAN on test rows
    "wdbc": (95.02, 97.93, 95.90, 95.08, 98.20, 98.46, 95.43),
    "sonar": (93.27, 86.54, 98.08, 77.88, 80.77, 84.62, 75.39),
    "glass": (81.05, 58.51, 83.49, 36.82, 24.52, 52.60, 58.64),
    "segmentation": (93.33, 90.95, 96.19, 88.24, 87.43, 90.48, 81.03),
    "iris": (98.45, 96.52, 98.30, 96.00, 96.67, 97.33, 94.07),
    "magic": (84.09, 82.08, 78.65, 80.80, 70.21, 78.73, 82.92),
    "segment": (92.61, 93.27, 90.84, 91.21, 92.47, 90.13, 93.91),
    "waveform-21": (87.43, 87.47, 87.60, 86.36, 87.04, 86.52, 78.38),
    "waveform-40": (88.77, 87.84, 87.99, 86.08, 86.48, 86.44, 79.10),
    "wine": (99.69, 99.44, 99.75, 97.22, 95.55, 98.33, 93.26),
}
GRIDS = {  # components, tau, iterations of CMM
    "small": ((1, 3), (0.0025, 0.25), (10, 100)),
    "medium": ((1, 3), (0.0025, 0.25, 2.5), (10, 100)),
    "full": ((1, 2, 3, 4, 5), (0.000025, 0.00025, 0.0025, 0.025, 0.25, 2.5), (10, 30, 100, 300, None)),
}
INNER_FOLDS = 3


def load(name):
    """Features, labels and the length of the training part where there is a fixed one."""
    folder = Path(os.environ.get("MMBN_SHARED", ROOT.parent / "shared")) / "data"
    if not (folder / "manifest.json").is_file():
        raise SystemExit(f"The reference data are not at {folder}; set MMBN_SHARED to the folder above it.")
    entry = next(e for e in json.loads((folder / "manifest.json").read_text(encoding="utf-8")) if e["name"] == name)
    frame = pd.read_csv(folder / entry["file"])
    return frame.drop(columns="class").to_numpy(float), frame["class"].astype(str).to_numpy(), entry["train_rows"]


def splits(name):
    """(training rows, test rows) as in the paper; ten random halves stand for sonar's split, which is not known."""
    X, y, n_train = load(name)
    if name == "segmentation":
        return [(np.arange(n_train), np.arange(n_train, len(y)))]
    if name == "sonar":
        return list(StratifiedShuffleSplit(10, train_size=104, random_state=0).split(X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the smallest class of glass has nine samples
        return list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))


def best_em(X, y, grid):
    components, taus, _ = GRIDS[grid]
    folds = list(StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0).split(X, y))

    def rate(k, tau):
        try:
            return np.mean([MixtureClassifier.fit(X[a], y[a], k, tau=tau).score(X[b], y[b]) for a, b in folds])
        except mm.InputError:  # a class with fewer samples than components
            return -1.0

    k, tau = max(product(components, sorted(taus, reverse=True)), key=lambda pair: rate(*pair))
    return MixtureClassifier.fit(X, y, k, tau=tau), {"n_components": k, "tau": tau}


def best_svm(X, y, grid):
    powers = range(-1, 4) if grid == "full" else (0, 2)
    costs = [10.0**p for p in powers]
    choices = [
        {"svc__kernel": ["poly"], "svc__degree": [1, 2, 3], "svc__coef0": [1.0], "svc__C": costs},
        {"svc__kernel": ["rbf"], "svc__gamma": ["scale", 0.01, 0.1], "svc__C": costs},
    ]
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), choices, cv=INNER_FOLDS).fit(X, y)
    return search, search.best_params_


class Tan:
    """TAN on ten bins of equal width, as the paper has it."""

    def fit(self, X, y):
        self.bins = KBinsDiscretizer(10, encode="ordinal", strategy="uniform").fit(X)
        codes = self.bins.transform(X).astype(int)
        data = mm.DiscreteDataset.from_arrays(codes, y)
        self.states = [np.array(v.states) for v in data.features]
        self.network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
        return self

    def score(self, X, y):
        codes = self.bins.transform(X).astype(int)
        # A bin without training rows stands for the nearest one that has some.
        nearest = [s[np.abs(codes[:, j, None] - s).argmin(axis=1)] for j, s in enumerate(self.states)]
        return float(np.mean(self.network.predict(np.column_stack(nearest)) == y))


def best_cmm(X, y, grid, **kwargs):
    components, taus, iterations = GRIDS[grid]
    components = [k for k in components if k <= np.unique(y, return_counts=True)[1].min()]
    given = {"n_components": components, "tau": taus, "iterations": iterations, "cv": INNER_FOLDS} | kwargs
    model = CMMClassifier(**given).fit(X, y)
    chosen = {"n_components": model.n_components_, "tau": model.tau_, "iterations": model.iterations_}
    return model, chosen | {"infeasible_parts": sum(not part.feasible for part in model.parts_)}


def run_one(name, split, method, grid):
    X, y, _ = load(name)
    train, test = splits(name)[split]
    before = time.perf_counter()
    fit = {
        "em": lambda: best_em(X[train], y[train], grid),
        "svm": lambda: best_svm(X[train], y[train], grid),
        "tan": lambda: (Tan().fit(X[train], y[train]), {}),
        "k-means": lambda: best_cmm(X[train], y[train], grid, iterations=0),
        "cmm": lambda: best_cmm(X[train], y[train], grid),
        "cmm-stop": lambda: best_cmm(X[train], y[train], grid, iterations=(0, *GRIDS[grid][2])),
        "cmm-rest": lambda: best_cmm(X[train], y[train], grid, strategy="one-vs-rest"),
    }[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, chosen = fit()
    return {
        "set": name, "split": split, "method": method, "grid": grid, "settings": chosen,
        "train": float(model.score(X[train], y[train])), "test": float(model.score(X[test], y[test])),
        "seconds": time.perf_counter() - before,
    }  # fmt: skip


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def run(arguments):
    done = {(r["set"], r["split"], r["method"], r["grid"]) for r in read(arguments.out)}
    tasks = [
        (name, split, method, arguments.grid)
        for name in arguments.sets.split(",")
        for method in arguments.methods.split(",")
        for split in range(len(splits(name)))
        if (name, split, method, arguments.grid) not in done
    ]
    results = Parallel(n_jobs=arguments.jobs, return_as="generator_unordered")(delayed(run_one)(*t) for t in tasks)
    with arguments.out.open("a", encoding="utf-8") as stream:
        for result in results:
            stream.write(json.dumps(result, default=float) + "\n")
            stream.flush()
            print(f"{result['set']} {result['method']} {result['split']}: {result['test']:.4f}", flush=True)


def report(arguments):
    frame = pd.DataFrame(r for r in read(arguments.out) if r["grid"] == arguments.grid)
    if frame.empty:
        raise SystemExit(f"There are no results with grid {arguments.grid!r} in {arguments.out}; run first.")
    means = frame.groupby(["set", "method"])[["train", "test", "seconds"]].mean()
    counts = frame.groupby(["set", "method"]).size()
    present = [name for name in SETS if name in set(frame["set"])]
    for column in ("train", "test"):
        table = (100 * means[column]).unstack("method").reindex(present)
        table = table[[m for m in METHODS if m in table]]
        paper = pd.DataFrame.from_dict(PAPER, orient="index").loc[present]
        chosen = {"train": [0, 1, 2], "test": [3, 4, 5, 6]}[column]
        paper = paper[chosen].set_axis(["paper EM", "paper SVM", "paper CMM", "paper TAN"][: len(chosen)], axis=1)
        table = table.join(paper)
        table.loc["average"] = table.mean()
        print(f"\nRecognition rate, {column} (%)\n{table.round(2).to_string()}")
    ratio = (100 * means["test"] / means["train"]).unstack("method").reindex(present)
    print(f"\nGeneralization, test / train (%)\n{ratio.round(2).to_string()}")
    print(f"\nSplits done\n{counts.unstack('method').reindex(present).to_string()}")
    test = means["test"].unstack("method").reindex(present)
    for rival in ("k-means", "em"):
        if {"cmm", rival} <= set(test):
            worse = test.index[test["cmm"] < test[rival]].tolist()
            print(f"\nCMM is worse than {rival} on the test rows of: {', '.join(worse) or 'none'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["run", "report"])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--grid", choices=list(GRIDS), default="small")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("cmm-results.jsonl"))
    arguments = parser.parse_args()
    {"run": run, "report": report}[arguments.command](arguments)


if __name__ == "__main__":
    main()
