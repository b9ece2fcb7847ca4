"""Accuracy against the number of features that are missing at prediction (Pernkopf et al. 2012, Figures 3 and 6).

Each row misses its own random features; all models see the same ones. Missing cells are summed out exactly; mean, most
frequent and 5-nearest-neighbour imputation stand beside it.

Usage: ``python benchmarks/cg/missing_features.py [data set ...] [--patterns 100] [--tree-patterns 10]
[--imputed-patterns 5] [--test-rows N] [--json FILE]``, then ``python benchmarks/cg/missing_figure.py FILE ...``.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from accuracy import STRUCTURES
from shared_data import accuracy, load
from sklearn.impute import KNNImputer, SimpleImputer

import mmbn_opt as mm
from mmbn_opt.formulations.parameters.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.nonlinear.conjugate_gradient import ConjugateGradientSolver

SHARES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
IMPUTERS = {
    "mean": lambda: SimpleImputer(strategy="mean"),
    "most frequent": lambda: SimpleImputer(strategy="most_frequent"),
    "5-NN": lambda: KNNImputer(n_neighbors=5),
}
_NEIGHBOURS = 2000
"""Training rows that the nearest neighbours come from."""


def learned(formulation) -> mm.BayesianNetwork:
    watched = formulation.with_validation(0.2, seed=0)
    program = watched.build(ProgramKind.NONLINEAR)
    return watched.recover(ConjugateGradientSolver(max_iterations=200).solve(program).solution)


def imputed(imputer, network, train, codes, labels) -> float:
    """Codes filled by scikit-learn, rounded to the nearest state."""
    gaps = np.where(codes < 0, np.nan, codes.astype(float))
    filled = np.rint(imputer.fit(train.codes.astype(float)).transform(gaps)).astype(np.int32)
    return accuracy(network, np.clip(filled, 0, np.array(train.cardinalities[:-1]) - 1), labels)


def curves(name: str, patterns: int, tree_patterns: int, imputed_patterns: int, test_rows: int | None) -> dict:
    """Mean and standard deviation of the accuracy over the patterns, by model and number of missing features."""
    train, test = load(name)
    rng = np.random.default_rng(0)
    if test_rows is not None and test_rows < test.n_samples:
        test = test.subset(np.sort(rng.choice(test.n_samples, test_rows, replace=False)))
    bayes = mm.naive_bayes(train)
    models = {
        "NB-ML": mm.BayesianNetwork.fit(bayes, train),
        "NB-CG-MM": learned(SmoothMargin(train, bayes, lam=0.05)),
        "NB-CG-CL": learned(ConditionalLikelihood(train, bayes)),
    }
    trees = {
        label: mm.BayesianNetwork.fit(STRUCTURES[key](train), train)
        for label, key in (("TAN-CMI-ML", "tan-cmi"), ("TAN-OMI-CR-ML", "omi-cr"), ("TAN-CR-ML", "tan-cr"))
    }
    few = train.subset(rng.choice(train.n_samples, min(_NEIGHBOURS, train.n_samples), replace=False))
    counts = sorted({round(share * train.n_features) for share in SHARES})
    rates: dict[str, list[list[float]]] = {label: [[] for _ in counts] for label in (*models, *trees, *IMPUTERS)}
    spent, served = 0.0, 0
    for pattern in range(max(patterns, tree_patterns)):
        ranks = np.random.default_rng(pattern).random(test.codes.shape).argsort(axis=1)
        chosen = (models if pattern < patterns else {}) | (trees if pattern < tree_patterns else {})
        for at, count in enumerate(counts):
            codes = np.where(ranks < count, -1, test.codes).astype(np.int32)
            before = time.process_time()
            for label, network in chosen.items():
                rates[label][at].append(accuracy(network, codes, test.target_codes))
            spent += time.process_time() - before
            served += len(chosen) * len(codes)
            for label, imputer in IMPUTERS.items() if pattern < imputed_patterns else ():
                source = few if label == "5-NN" else train
                rates[label][at].append(imputed(imputer(), models["NB-CG-MM"], source, codes, test.target_codes))
    print(f"\n{name}: {test.n_samples} test rows; exact marginalization: {served:,} rows in {spent:.1f} CPU s")
    print("missing".ljust(26) + "".join(f"{count:8d}" for count in counts))
    for label, rows in rates.items():
        title = f"NB-CG-MM, {label}" if label in IMPUTERS else label
        print(title.ljust(26) + "".join(f"{np.mean(row):8.4f}" for row in rows) + f"   {len(rows[0])} patterns")
    means = {label: np.mean(rows, axis=1).tolist() for label, rows in rates.items()}
    spreads = {label: np.std(rows, axis=1).tolist() for label, rows in rates.items()}
    return {"name": name, "n_features": train.n_features, "counts": counts, "mean": means, "spread": spreads}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["satimage"])
    parser.add_argument("--patterns", type=int, default=100)
    parser.add_argument("--tree-patterns", type=int, default=10, help="trees take ten times longer")
    parser.add_argument("--imputed-patterns", type=int, default=5)
    parser.add_argument("--test-rows", type=int, help="that many test rows, drawn at random")
    parser.add_argument("--json", type=Path, help="where the curves are written for the figure")
    asked = parser.parse_args()
    found = [
        curves(name, asked.patterns, asked.tree_patterns, asked.imputed_patterns, asked.test_rows)
        for name in asked.names
    ]
    if asked.json:
        asked.json.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
