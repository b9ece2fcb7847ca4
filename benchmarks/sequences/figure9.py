"""Figure 9 of Guo, Wilkinson & Schuurmans 2005: chains of five labels with four children each, beta = 0.85.

Each child, a label's successor among them, is a deterministic function of its parent with probability beta. Told are
the errors of M2BN (`SequenceMaxMargin`), M3N (`SequenceMarkovNetwork`), MCL (`SequenceConditionalLikelihood`) and of
counting on 1,000 other sequences, the mean of 20 repetitions with its standard error. As in the paper the weight of
each method is chosen on one split of its own and then kept.
Usage: ``python benchmarks/sequences/figure9.py [--repetitions 20] [--sizes 10,20,50] [--out FILE]``.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import mmbn_opt as mm

LENGTH, CHILDREN, BETA = 5, 4, 0.85
GRIDS = {
    "M2BN": [mm.SequenceClassifier(gamma=gamma, rel_gap=1e-3) for gamma in (0.5, 1.0, 2.0, 5.0)],
    "M3N": [mm.SequenceClassifier("markov-network", C=C, rel_gap=1e-3) for C in (0.01, 0.1, 1.0)],
    "MCL": [mm.SequenceClassifier("conditional-likelihood", l2=l2) for l2 in (0.01, 0.1, 1.0)],
    "counts": [mm.SequenceClassifier("ml")],
}


def drawn(n, rng, skew):
    """Sequences of the generative model: a first label, its successors, and four observations of each."""
    flips_step, flips_seen = skew
    y = np.empty((n, LENGTH), dtype=np.int64)
    y[:, 0] = rng.random(n) < 0.5
    for t in range(1, LENGTH):
        y[:, t] = y[:, t - 1] ^ flips_step ^ (rng.random(n) > BETA)
    x = y[:, :, None] ^ flips_seen ^ (rng.random((n, LENGTH, CHILDREN)) > BETA)
    return list(x), [row.tolist() for row in y]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--sizes", default="10,20,50")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for size in map(int, given.sizes.split(",")):
        rng = np.random.default_rng(size)
        skew = rng.integers(0, 2), rng.integers(0, 2, CHILDREN)
        X, y = drawn(size, rng, skew)
        X_choice, y_choice = drawn(1000, rng, skew)
        chosen = {name: max(grid, key=lambda m: m.fit(X, y).score(X_choice, y_choice)) for name, grid in GRIDS.items()}
        for _ in range(given.repetitions):
            X, y = drawn(size, rng, skew)
            X_test, y_test = drawn(1000, rng, skew)
            rows += [
                {"size": size, "method": name, "error": 1 - m.fit(X, y).score(X_test, y_test)}
                for name, m in chosen.items()
            ]
    table = pd.DataFrame(rows)
    summary = table.groupby(["size", "method"], sort=False)["error"].agg(["mean", "sem"])
    print(summary.round(4).to_string())
    if given.out is not None:
        summary.round(5).to_csv(given.out)


if __name__ == "__main__":
    main()
