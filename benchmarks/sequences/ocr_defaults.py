"""Settings for OCR letters chosen on training words alone: inner parts of one fold, beside the usual settings.

For each setting the mean share of right letters over the inner parts of the fold (learn on the others, count on the
part, each training with ten seconds of the clock); then the setting that does best there and the usual one, learned on
the whole fold, on the words of the other nine, which played no part in the choice. CRFsuite's penalty is chosen in the
same way.
Usage: ``python benchmarks/sequences/ocr_defaults.py --data FOLDER [--fold 0] [--parts 3] [--methods NAMES]
[--out FILE]``.
"""

import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from ocr import crfsuite, words

import mmbn_opt as mm

GAMMAS, ALPHAS, PENALTIES = (2.0, 5.0, 10.0), (0.03, 0.1, 0.3), (0.03, 0.1, 0.3, 1.0, 3.0)
METHODS = {
    "max-margin": [{"gamma": gamma, "alpha": alpha} for gamma, alpha in product(GAMMAS, ALPHAS)],
    "conditional-likelihood": [{"l2": l2} for l2 in PENALTIES],
    "crfsuite-lbfgs": [{"c2": c2} for c2 in PENALTIES],
}
USUAL = {
    "max-margin": {"gamma": 5.0, "alpha": 0.1}, "conditional-likelihood": {"l2": 1.0}, "crfsuite-lbfgs": {"c2": 1.0},
}  # fmt: skip


def rate(method, settings, train, test):
    """Share of the letters of `test` that are right after learning from `train`."""
    (X, y), (X_test, y_test) = train, test
    if method == "crfsuite-lbfgs":
        labels = crfsuite("lbfgs", X, y, X_test, c2=settings["c2"])[0]
    else:
        tagger = mm.SequenceClassifier(method, unseen="missing", time_limit=10.0, **settings)
        labels = tagger.fit(X, y).predict(X_test)
    pairs = zip(labels, y_test, strict=True)
    return float(np.mean([a == b for found, told in pairs for a, b in zip(found, told, strict=True)]))


def some(X, y, places):
    return [X[i] for i in places], [y[i] for i in places]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--fold", type=int, default=0)
    parser.add_argument("--parts", type=int, default=3)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, fold = words(given.data)
    own, others = np.flatnonzero(fold == given.fold), np.flatnonzero(fold != given.fold)
    parts = np.array_split(np.random.default_rng(given.fold).permutation(own), given.parts)
    rows = []
    for method in given.methods.split(","):
        for settings in METHODS[method]:
            rates = [rate(method, settings, some(X, y, np.setdiff1d(own, part)), some(X, y, part)) for part in parts]
            rows.append({"method": method, "settings": str(settings), "inner": float(np.mean(rates)), "of": settings})
        best = max((row for row in rows if row["method"] == method), key=lambda row: row["inner"])
        for row in rows:
            if row["method"] == method and (row is best or row["of"] == USUAL[method]):
                row["other folds"] = rate(method, row["of"], some(X, y, own), some(X, y, others))
                row["is"] = "best" if row is best and row["of"] != USUAL[method] else "usual"
                if row is best and row["of"] == USUAL[method]:
                    row["is"] = "usual and best"
        told = pd.DataFrame([row for row in rows if row["method"] == method]).drop(columns="of")
        print(told.round(4).to_string(index=False), flush=True)
    if given.out is not None:
        pd.DataFrame(rows).drop(columns="of").round(5).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
