"""Seconds to sum missing cells out of 10,000 rows x 196 features, half of the cells missing at random.

The test part of mnist at 14 x 14 pixels; naive Bayes, TAN-CMI and, on 1,000 of the rows, a 2-tree.

Usage: ``python benchmarks/cg/marginalization.py [data set]`` (default: mnist).
"""

import sys
import time

import numpy as np
from shared_data import load

import mmbn_opt as mm


def two_tree(train: mm.DiscreteDataset) -> mm.Structure:
    """TAN-CMI where each feature also gets its grandparent, if any, as a parent."""
    tree = mm.tan_cmi(train)
    c = tree.class_index
    one = [[p for p in parents if p != c] for parents in tree.parents[:-1]]
    grand = [[*ps, *one[ps[0]]] if ps else [] for ps in one]
    return mm.Structure(tree.names[:-1], tree.names[-1], (*(tuple(sorted([*ps, c])) for ps in grand), ()))


def main() -> None:
    train, test = load(sys.argv[1] if len(sys.argv) > 1 else "mnist")
    for share in (0.0, 0.1, 0.5, 0.9):
        every = np.where(np.random.default_rng(0).random(test.codes.shape) < share, -1, test.codes).astype(np.int32)
        for label, learn in (("NB", mm.naive_bayes), ("TAN-CMI", mm.tan_cmi), ("2-tree", two_tree)):
            network = mm.BayesianNetwork.fit(learn(train), train)
            codes = every[:1000] if label == "2-tree" else every
            network.log_joint(codes[:100])  # compile
            spent = []
            for _ in range(3):
                before = time.process_time()
                answer = network.log_joint(codes)
                spent.append(time.process_time() - before)
            rate = float((answer.argmax(axis=1) == test.target_codes[: len(codes)]).mean())
            print(
                f"{share:4.0%} missing, {label:8s}: {min(spent):6.2f} CPU s for {len(codes):,} rows x {codes.shape[1]} "
                f"features, accuracy {rate:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
