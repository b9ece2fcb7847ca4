"""OCR letters (Taskar, Guestrin & Koller 2003): letter accuracy and training time beside python-crfsuite, in one run.

6,877 words, 52,152 letters in ten folds, 128 binary pixels each. `--folds 1` trains on fold 1 and tests on the others;
`--folds all` does so with each fold and gives the average; `--nine` trains on nine folds and tests on the tenth.
Observations are the pixels, or groups of pixels learned on the training words: pairs of the largest conditional mutual
information given the letter, greedily matched, each pair one observation of four symbols.

Seconds are processor seconds of one thread, compilation left out.
Usage: ``python benchmarks/sequences/ocr.py --data FOLDER [--folds 1] [--nine] [--gap 0.01] [--methods NAMES]``.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import mmbn_opt as mm
from mmbn_opt.data.counts import contingency

OURS = ("max-margin", "pairs", "markov-network", "conditional-likelihood", "cg-mm", "ml")
THEIRS = ("crfsuite-lbfgs", "crfsuite-perceptron")


def words(folder: Path):
    """Pixels, letters and fold of each word."""
    frame = pd.read_csv(folder / "sequences" / "ocr-letters.csv.gz")
    pixels = np.array([[int(bit) for bit in f"{int(text, 16):0128b}"] for text in frame["pixels_hex"]])
    starts = np.flatnonzero(np.concatenate([[True], frame["word"].to_numpy()[1:] != frame["word"].to_numpy()[:-1]]))
    ends = np.concatenate([starts[1:], [len(frame)]])
    letters = frame["letter"].to_numpy()
    X = [pixels[a:b] for a, b in zip(starts, ends, strict=True)]
    y = [letters[a:b].tolist() for a, b in zip(starts, ends, strict=True)]
    return X, y, frame["fold"].to_numpy()[starts]


def learned_pairs(X, y):
    """Pixels two by two, so that the pairs tell most of each other beyond what the letter tells."""
    pixels, letters = np.concatenate(X), [c for word in y for c in word]
    table = mm.DiscreteDataset.from_arrays(np.where(pixels, "1", "0"), letters)
    n, k = pixels.shape[1], table.n_classes
    constant = {j for j in range(n) if table.features[j].cardinality < 2}
    gains = []
    for i in range(n):
        for j in range(i + 1, n):
            near = abs(i // 8 - j // 8) <= 2 and abs(i % 8 - j % 8) <= 2
            if near and i not in constant and j not in constant:
                joint = contingency(table, [i, j, n]).reshape(2, 2, k) + 0.1
                joint /= joint.sum()
                given = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
                gains.append((float((joint * np.log(joint * joint.sum(axis=(0, 1)) / given)).sum()), i, j))
    free, pairs = set(range(n)), []
    for _, i, j in sorted(gains, reverse=True):
        if i in free and j in free:
            pairs.append((i, j))
            free -= {i, j}
    return pairs, sorted(free)


def grouped(X, groups):
    """Words whose observations are pairs of pixels, and the pixels that are alone."""
    pairs, alone = groups
    i, j = (np.array(side) for side in zip(*pairs, strict=True))
    return [np.concatenate([2 * x[:, i] + x[:, j], x[:, alone]], axis=1) for x in X]


def ours(method, X, y, X_test, gap, limit):
    """Labels of the test words, seconds of training, and what is proved."""
    before = time.process_time()
    if method == "pairs":
        groups = learned_pairs(X, y)
        X, X_test = grouped(X, groups), grouped(X_test, groups)
    tagger = mm.SequenceClassifier(
        "max-margin" if method == "pairs" else method, rel_gap=gap, time_limit=limit, unseen="missing"
    )
    tagger.fit(X, y)
    seconds = time.process_time() - before
    result = tagger.result_
    proved = None if result is None or result.bounds.dual_bound is None else result.bounds.gap_rel
    return tagger.predict(X_test), seconds, proved


def crfsuite(algorithm, X, y, X_test, c2=1.0):
    """The same for python-crfsuite: pixels that are set as attributes, L2 = `c2` and 100 iterations."""
    import pycrfsuite

    def attributes(x):
        return [[f"p{j}" for j in np.flatnonzero(row)] + ["bias"] for row in x]

    trainer = pycrfsuite.Trainer(algorithm, verbose=False)
    for x, labels in zip(X, y, strict=True):
        trainer.append(attributes(x), labels)
    if algorithm == "lbfgs":
        trainer.set_params({"c1": 0.0, "c2": c2, "max_iterations": 100})
    before = time.process_time()
    trainer.train("ocr.crfsuite")
    seconds = time.process_time() - before
    tagger = pycrfsuite.Tagger()
    tagger.open("ocr.crfsuite")
    labels = [tagger.tag(attributes(x)) for x in X_test]
    tagger.close()
    Path("ocr.crfsuite").unlink()
    return labels, seconds, None


def measured(method, X, y, X_test, y_test, gap, limit):
    """Share of letters that are right, seconds, and the proved gap."""
    if method.startswith("crfsuite-"):
        algorithm = {"crfsuite-lbfgs": "lbfgs", "crfsuite-perceptron": "averaged-perceptron"}[method]
        found, seconds, proved = crfsuite(algorithm, X, y, X_test)
    else:
        found, seconds, proved = ours(method, X, y, X_test, gap, limit)
    pairs = zip(found, y_test, strict=True)
    right = np.mean([a == b for labels, given in pairs for a, b in zip(labels, given, strict=True)])
    return {"method": method, "accuracy": float(right), "seconds": seconds, "gap": proved}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folds", default="1")
    parser.add_argument("--nine", action="store_true", help="train on all folds but the one")
    parser.add_argument("--gap", type=float, default=1e-2)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of the clock for each training of ours")
    parser.add_argument("--methods", default=",".join((*OURS, *THEIRS)))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, fold = words(given.data)
    few = [i for i in range(len(X)) if fold[i] == 0][:40]
    for method in given.methods.split(","):  # compiles what is compiled
        measured(method, [X[i] for i in few], [y[i] for i in few], X[:5], y[:5], 0.5, 10.0)
    rows = []
    for one in range(10) if given.folds == "all" else map(int, given.folds.split(",")):
        trained = (fold != one) if given.nine else (fold == one)
        parts = [[values[i] for i in np.flatnonzero(mask)] for mask in (trained, ~trained) for values in (X, y)]
        for method in given.methods.split(","):
            rows.append({"fold": one, "words": int(trained.sum())} | measured(method, *parts, given.gap, given.limit))
            print(pd.DataFrame(rows[-1:]).to_string(index=False, header=len(rows) == 1), flush=True)
    table = pd.DataFrame(rows)
    summary = table.groupby("method", sort=False)[["accuracy", "seconds", "gap"]].agg(["mean", "sem"])
    print(summary.round(4).to_string())
    if given.out is not None:
        table.to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
