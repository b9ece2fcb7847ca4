"""Accuracy against the number of features that are missing at prediction (Pernkopf et al. 2012, Figures 3 and 6).

Missing cells are summed out exactly; mean-like imputations stand beside it. Each row misses its own random features.
Usage: ``python benchmarks/cg/missing_features.py [data set] [patterns] [test rows]`` (default: satimage 10 all).
"""

import sys
import time

import numpy as np
from shared_data import accuracy, load
from sklearn.impute import KNNImputer, SimpleImputer

import mmbn_opt as mm
from mmbn_opt.formulations.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.smooth_margin import SmoothMargin
from mmbn_opt.heuristics.orders import order_mi
from mmbn_opt.program import ProgramKind
from mmbn_opt.solvers.conjugate_gradient import ConjugateGradientSolver


def learned(formulation) -> mm.BayesianNetwork:
    watched = formulation.with_validation(0.2, seed=0)
    program = watched.build(ProgramKind.NONLINEAR)
    return watched.recover(ConjugateGradientSolver(max_iterations=200).solve(program).solution)


def imputed(imputer, network, train, codes, labels) -> float:
    """Codes filled by scikit-learn, rounded to the nearest state."""
    gaps = np.where(codes < 0, np.nan, codes.astype(float))
    filled = np.rint(imputer.fit(train.codes.astype(float)).transform(gaps)).astype(np.int32)
    return accuracy(network, np.clip(filled, 0, np.array(train.cardinalities[:-1]) - 1), labels)


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "satimage"
    n_patterns = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    train, test = load(name)
    if len(sys.argv) > 3:
        test = test.subset(slice(0, int(sys.argv[3])))
    bayes = mm.naive_bayes(train)
    models = {
        "NB-ML": mm.BayesianNetwork.fit(bayes, train),
        "NB-CG-MM": learned(SmoothMargin(train, bayes, lam=0.05)),
        "NB-CG-CL": learned(ConditionalLikelihood(train, bayes)),
        "TAN-CMI-ML": mm.BayesianNetwork.fit(mm.tan_cmi(train), train),
        "TAN-OMI-CR-ML": mm.BayesianNetwork.fit(order_mi(train), train),
    }
    few = train.subset(np.random.default_rng(0).choice(train.n_samples, min(2000, train.n_samples), replace=False))
    imputers = {
        "NB-CG-MM, mean": SimpleImputer(strategy="mean"),
        "NB-CG-MM, most frequent": SimpleImputer(strategy="most_frequent"),
        "NB-CG-MM, 5-NN": KNNImputer(n_neighbors=5),
    }
    n = train.n_features
    counts = sorted({round(share * n) for share in (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)})
    print("missing".ljust(26) + "".join(f"{count:8d}" for count in counts))
    table: dict[str, list[list[float]]] = {label: [[] for _ in counts] for label in (*models, *imputers)}
    spent = 0.0
    for pattern in range(n_patterns):
        ranks = np.random.default_rng(pattern).random(test.codes.shape).argsort(axis=1)
        for at, count in enumerate(counts):
            codes = np.where(ranks < count, -1, test.codes).astype(np.int32)
            before = time.perf_counter()
            for label, network in models.items():
                table[label][at].append(accuracy(network, codes, test.target_codes))
            spent += time.perf_counter() - before
            if pattern == 0:  # imputation is slow: once
                for label, imputer in imputers.items():
                    table[label][at].append(imputed(imputer, models["NB-CG-MM"], few, codes, test.target_codes))
    for label, rows in table.items():
        print(label.ljust(26) + "".join(f"{np.mean(row):8.4f}" for row in rows), flush=True)
    rows_in_all = n_patterns * len(counts) * len(models) * test.n_samples
    print(f"exact marginalization: {rows_in_all:,} rows in {spent:.1f} s")


if __name__ == "__main__":
    main()
