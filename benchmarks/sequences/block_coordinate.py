"""Block-coordinate Frank-Wolfe steps on label sequences, beside the smoothed method that is built in.

Lacoste-Julien, Jaggi, Schmidt & Pletscher (2013): a step takes the worst labelling of one sequence, by Viterbi's
algorithm, and moves the distribution over that sequence's labellings towards it, as far as the bound rises most. For
the quadratic program of `SequenceMarkovNetwork` that length is known; for `SequenceMaxMargin`, whose bound is
``gamma S - h(v)``, it is a Newton step along the line, halved until the bound has risen. Only marginals are kept.

Processor seconds of one thread and passes over the data until the proved gap is below 10, 1 and 0.1 %; nothing where
that takes longer than the limit. Words of handwriting (fold 1 of ten, 128 pixels), 50 chains and 20 protein-like
sequences in windows of seven, as in Guo et al. (2005); on these constraint generation too.
Usage: ``python benchmarks/sequences/block_coordinate.py --data FOLDER [--limit 60] [--cases NAMES] [--out FILE]``.
"""

import argparse
import time
import warnings
from pathlib import Path

import numba
import numpy as np
import pandas as pd

import mmbn_opt as mm
from mmbn_opt.programs.chain_kernels import best_path
from mmbn_opt.programs.margin_kernels import support_rows
from mmbn_opt.reproduction.sources import Source
from mmbn_opt.solvers.convex.constraint_generation import ConstraintGenerationSolver
from mmbn_opt.solvers.convex.first_order import FirstOrderSolver

GAPS = (0.1, 0.01, 0.001)
FEW_ENTRIES = 500
"""Parameters up to which constraint generation is run."""


@numba.njit
def towards(index, low, high, path, unary, pairs, d):
    """What the labelling `path` looks up more often than the distribution does, into `d`."""
    k = index.n_labels
    for t in range(low, high):
        for c in range(k):
            more = (1.0 if path[t] == c else 0.0) - unary[t, c]
            if more != 0.0:
                if t == low:
                    d[c] += more
                for f in range(index.entry.shape[1]):
                    if index.entry[t, f] >= 0:
                        d[index.entry[t, f] + c * index.width[f]] += more
    for b in range(k):
        for c in range(k):
            d[k + b * k + c] -= pairs[b, c]
    for t in range(low + 1, high):
        d[k + path[t - 1] * k + path[t]] += 1.0


@numba.njit
def newton_length(gain, v, d, w, row_ptr, log_floor):
    """Step along ``v - s d`` at which the model of second order is highest."""
    curvature = 0.0
    for r in range(len(row_ptr) - 1):
        total, moved = 0.0, 0.0
        for j in range(row_ptr[r], row_ptr[r + 1]):
            if w[j] > log_floor + 1e-9:
                curvature += d[j] ** 2 / v[j]
                total += v[j]
                moved += d[j]
        if total > 0.0:
            curvature -= moved**2 / total
    return 1.0 if curvature <= gain else gain / curvature


@numba.njit
def block_pass(index, order, gamma, C, v, missed, w, unary, pairs, row_ptr, log_floor):
    """A step for each sequence of `order`; returns what is missed. With `C` the program is the quadratic one."""
    k, n = index.n_labels, len(v)
    scores = np.zeros((len(index.labels), k))
    path = np.zeros(len(index.labels), dtype=np.int64)
    back = np.empty((np.diff(index.starts).max(), k), dtype=np.int32)
    d, moved, point = np.empty(n), np.empty(n), np.empty(n)
    for i in order:
        low, high = index.starts[i], index.starts[i + 1]
        for t in range(low, high):
            for c in range(k):
                scores[t, c] = 0.0 if c == index.labels[t] else gamma
                for f in range(index.entry.shape[1]):
                    if index.entry[t, f] >= 0:
                        scores[t, c] += w[index.entry[t, f] + c * index.width[f]]
        best_path(scores, w, low, high, k, back, path)
        d[:] = 0.0
        towards(index, low, high, path, unary, pairs[i], d)
        wrong = 0.0
        for t in range(low, high):
            wrong += (1.0 if path[t] != index.labels[t] else 0.0) - (1.0 - unary[t, index.labels[t]])
        gain = gamma * wrong + d @ w
        if gain <= 1e-12:
            continue
        if C > 0.0:
            share = min(1.0, gain / (C * (d @ d)))
            v -= share * d
            w -= share * C * d
        else:
            share = newton_length(gain, v, d, w, row_ptr, log_floor)
            here = -support_rows(v, row_ptr, log_floor, point)
            for _ in range(30):
                moved[:] = v - share * d
                there = gamma * share * wrong - support_rows(moved, row_ptr, log_floor, point)
                if there >= here + 0.1 * share * gain:
                    break
                share *= 0.5
            v[:] = moved
            w[:] = point
        missed += share * wrong
        for t in range(low, high):
            for c in range(k):
                unary[t, c] += share * ((1.0 if path[t] == c else 0.0) - unary[t, c])
        pairs[i] *= 1.0 - share
        for t in range(low + 1, high):
            pairs[i, path[t - 1], path[t]] += share
    return missed


def by_blocks(formulation, limit):
    """Seconds, passes and gap after each pass of the block-coordinate method."""
    program = formulation.program
    chains, index, k = program.chains, program.chains.index, program.chains.n_labels
    C = float(getattr(program, "C", 0.0))
    log_floor = float(getattr(program, "log_floor", 0.0))
    unary = np.eye(k)[index.labels]
    pairs = np.zeros((chains.n_sequences, k, k))
    for i in range(chains.n_sequences):
        own = index.labels[index.starts[i] : index.starts[i + 1]]
        np.add.at(pairs[i], (own[:-1], own[1:]), 1.0)
    v, missed = np.array(program.linear), 0.0
    w = C * v if C else np.empty_like(v)
    if not C:
        support_rows(v, program.row_ptr, log_floor, w)
    gamma = float(program.gamma)
    block_pass(index, np.arange(0), gamma, C, v, missed, w, unary, pairs, program.row_ptr, log_floor)  # compiles
    rng, spent, passes, best, bound = np.random.default_rng(0), 0.0, 0, np.inf, -np.inf
    told = []
    while spent < limit:
        before = time.process_time()
        order = rng.permutation(chains.n_sequences)
        missed = block_pass(index, order, gamma, C, v, missed, w, unary, pairs, program.row_ptr, log_floor)
        best, bound = min(best, program.value(w)), max(bound, program.bound_of(missed, v))
        spent += time.process_time() - before
        passes += 1
        told.append((spent, passes, (best - bound) / abs(best)))
        if told[-1][2] < GAPS[-1]:
            break
    return told


def built_in(formulation, limit):
    """The same for accelerated steps on the smoothed losses."""
    steps = FirstOrderSolver(rel_gap=GAPS[-1], time_limit=20.0 * limit).steps(formulation.program)
    told, before = [], time.process_time()
    for number, run in enumerate(steps, start=1):
        told.append((time.process_time() - before, number, run.bounds.gap_rel))
        if told[-1][0] > limit:
            break
    if told and run.bounds.gap_rel != told[-1][2]:
        told.append((time.process_time() - before, told[-1][1], run.bounds.gap_rel))
    return told


def by_rows(formulation, limit):
    """The same for constraint generation, each gap by a solve of its own; passes are not counted."""
    told = []
    for gap in GAPS:
        before = time.process_time()
        result = ConstraintGenerationSolver(rel_gap=gap, time_limit=2.0 * limit).solve(formulation.program)
        told.append((time.process_time() - before, None, result.bounds.gap_rel))
        if told[-1][2] > gap:
            break
    return told


METHODS = {"smoothing": built_in, "blocks": by_blocks, "constraint generation": by_rows}


def data_of(case, folder):
    """The sequences of a case."""
    table = Source(folder).find("ocr-letters" if case == "words" else case)
    few = np.arange(50 if case == "chains" else 20)
    numbers = np.unique(table.sequences[table.folds == 1]) if case == "words" else few
    parts = [np.flatnonzero(table.sequences == i) for i in numbers]
    X, y = table.X.to_numpy(), table.y.to_numpy()
    window = (3, 3) if case == "protein-like" else (0, 0)
    return mm.SequenceDataset.from_lists([X[p] for p in parts], [y[p].tolist() for p in parts], window=window)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for each method")
    parser.add_argument("--cases", default="chains,protein-like,words")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for case in given.cases.split(","):
        data = data_of(case, given.data)
        for formulation in (mm.SequenceMaxMargin(data), mm.SequenceMarkovNetwork(data, C=0.1)):
            for name, method in METHODS.items():
                if name == "constraint generation" and formulation.n_parameters > FEW_ENTRIES:
                    continue
                method(formulation, 0.5)  # compiles what is compiled
                told = method(formulation, given.limit)
                for gap in GAPS:
                    reached = next((entry for entry in told if entry[2] < gap), (None, None, None))
                    rows.append(
                        {
                            "data": case, "program": type(formulation).__name__, "method": name, "gap": gap,
                            "seconds": reached[0], "passes": reached[1], "last_gap": told[-1][2],
                        }
                    )  # fmt: skip
                print(pd.DataFrame(rows[-len(GAPS) :]).to_string(index=False), flush=True)
    if given.out is not None:
        pd.DataFrame(rows).round(5).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
