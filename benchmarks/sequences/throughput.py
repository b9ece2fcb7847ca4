"""Positions a second of Viterbi's algorithm and of forward-backward at 5, 26 and 50 labels, beside hmmlearn.

Random tables, one observation of 20 symbols, sequences of length 10 (words) and 1,000 (texts). Processor seconds of one
thread, the best of two, compilation left out; raw codes in, labels or posteriors out, for both.
Usage: ``python benchmarks/sequences/throughput.py [--positions 20000] [--out FILE]``.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from hmmlearn.hmm import CategoricalHMM

from mmbn_opt.programs.chain_operator import ChainOperator, block_starts, chain_index

SYMBOLS = 20


def seconds(what):
    best = np.inf
    for _ in range(2):
        before = time.process_time()
        what()
        best = min(best, time.process_time() - before)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=20_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = []
    for k in (5, 26, 50):
        start, step, emit = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(SYMBOLS), k)
        w = np.log(np.concatenate([start, step.ravel(), emit.ravel()]))
        theirs = CategoricalHMM(n_components=k, n_features=SYMBOLS)
        theirs.startprob_, theirs.transmat_, theirs.emissionprob_ = start, step, emit
        for length in (10, 1000):
            n = given.positions // length
            codes = rng.integers(0, SYMBOLS, (n * length, 1))
            starts, lengths = np.arange(0, n * length + 1, length), [length] * n

            def chains(codes=codes, starts=starts, k=k):
                return ChainOperator(chain_index(codes, None, starts, k, (SYMBOLS,)), block_starts(k, (SYMBOLS,)))

            def viterbi(w=w, chains=chains):
                return chains().best(w)

            def posterior(w=w, chains=chains):
                return chains().soft(w)

            # The same answers first: a fast wrong one is worth nothing.
            assert np.abs(posterior().marginals - theirs.predict_proba(codes, lengths)).max() < 1e-8
            assert (viterbi().paths == theirs.decode(codes, lengths)[1]).mean() > 0.999
            for name, mine, other in (
                ("Viterbi", viterbi, lambda c=codes, n=lengths, t=theirs: t.decode(c, n)),
                ("forward-backward", posterior, lambda c=codes, n=lengths, t=theirs: t.predict_proba(c, n)),
            ):
                ours, hmmlearn = len(codes) / seconds(mine), len(codes) / seconds(other)
                rows.append(
                    {
                        "pass": name, "labels": k, "length": length, "mmbn_opt": round(ours),
                        "hmmlearn": round(hmmlearn), "times": round(ours / hmmlearn, 1),
                    }
                )  # fmt: skip
                print(pd.DataFrame(rows[-1:]).to_string(index=False, header=len(rows) == 1), flush=True)
    table = pd.DataFrame(rows)
    if given.out is not None:
        table.to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
