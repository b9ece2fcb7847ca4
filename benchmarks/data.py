"""Counting, discretizing and building at the size of `letter`: 20,000 rows, 16 features, 26 classes, synthetic.

Each figure stands beside the plain way of doing the same, measured in the same run.
Usage: ``python benchmarks/data.py``.
"""

import time
from itertools import combinations

import numpy as np
import pandas as pd

import mmbn_opt as mm
from mmbn_opt.data.counts import contingency
from mmbn_opt.programs.base import ProgramKind


def timed(what, repeat: int = 3) -> float:
    best = float("inf")
    for _ in range(repeat):
        before = time.perf_counter()
        what()
        best = min(best, time.perf_counter() - before)
    return best


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 26, 20_000)
    codes = (y[:, None] * rng.integers(1, 5, 16) + rng.integers(0, 9, (20_000, 16))) % 16
    data = mm.DiscreteDataset.from_arrays(codes, y)
    frame = pd.DataFrame(codes).assign(y=y)
    pairs = list(combinations(range(16), 2))

    def all_pairs() -> None:
        for i, j in pairs:
            contingency(data, [i, j, 16])

    def one_pair_by_groupby() -> None:
        frame.groupby([0, 1, "y"]).size()

    ours, theirs = timed(all_pairs), timed(one_pair_by_groupby) * len(pairs)
    print(f"all {len(pairs)} pair tables with the class: {ours:.3f} s, pandas {theirs:.3f} s ({theirs / ours:.0f}x)")

    X = rng.normal(size=(20_000, 16)) + y[:, None] * 0.1
    mm.MDLPDiscretizer().fit(X[:50], y[:50])  # compile
    print(f"MDLP of 20,000 x 16 real columns, 26 classes: {timed(lambda: mm.MDLPDiscretizer().fit(X, y)):.3f} s")

    small = data.subset(slice(0, 2_000))
    form = mm.SoftMarginStructure(small, gamma=mm.log_odds(0.9), max_nonzeros=60_000_000)
    before = time.perf_counter()
    size = form.build(ProgramKind.MIXED_INTEGER).size
    print(
        f"soft-margin program of 2,000 of these rows, {size.nonzeros:,} non-zeros: {time.perf_counter() - before:.2f} s"
    )


if __name__ == "__main__":
    main()
