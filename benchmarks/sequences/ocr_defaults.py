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

from mmbn_opt.reproduction.methods import Context
from mmbn_opt.reproduction.methods.registry import build
from mmbn_opt.reproduction.sources import Source

GAMMAS, ALPHAS, PENALTIES = (2.0, 5.0, 10.0), (0.03, 0.1, 0.3), (0.03, 0.1, 0.3, 1.0, 3.0)
METHODS = {
    "max-margin": [{"gamma": gamma, "alpha": alpha} for gamma, alpha in product(GAMMAS, ALPHAS)],
    "conditional-likelihood": [{"l2": l2} for l2 in PENALTIES],
    "crfsuite-lbfgs": [{"c2": c2} for c2 in PENALTIES],
}
USUAL = {
    "max-margin": {"gamma": 5.0, "alpha": 0.1}, "conditional-likelihood": {"l2": 1.0}, "crfsuite-lbfgs": {"c2": 1.0},
}  # fmt: skip


def rate(method, settings, table, train, test):
    """Share of the letters of the words `test` that are right after learning from the words `train`."""
    X, rows = table.features(with_sequences=True), [np.isin(table.sequences, part) for part in (train, test)]
    kind = {"kind": "crfsuite"} if method == "crfsuite-lbfgs" else {"kind": "sequences", "method": method}
    model = build(kind.pop("kind"), Context(dict(table.kinds), "drop", 10.0, 0), kind | settings)
    model.fit(X[rows[0]], table.y[rows[0]])
    return float((np.asarray(model.predict(X[rows[1]])) == table.y[rows[1]].to_numpy()).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--fold", type=int, default=0)
    parser.add_argument("--parts", type=int, default=3)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    table = Source(given.data).find("ocr-letters")
    own, others = (np.unique(table.sequences[mask]) for mask in (table.folds == given.fold, table.folds != given.fold))
    parts = np.array_split(np.random.default_rng(given.fold).permutation(own), given.parts)
    rows = []
    for method in given.methods.split(","):
        for settings in METHODS[method]:
            rates = [rate(method, settings, table, np.setdiff1d(own, part), part) for part in parts]
            rows.append({"method": method, "settings": str(settings), "inner": float(np.mean(rates)), "of": settings})
        best = max((row for row in rows if row["method"] == method), key=lambda row: row["inner"])
        for row in rows:
            if row["method"] == method and (row is best or row["of"] == USUAL[method]):
                row["other folds"] = rate(method, row["of"], table, own, others)
                row["is"] = "best" if row is best and row["of"] != USUAL[method] else "usual"
                if row is best and row["of"] == USUAL[method]:
                    row["is"] = "usual and best"
        told = pd.DataFrame([row for row in rows if row["method"] == method]).drop(columns="of")
        print(told.round(4).to_string(index=False), flush=True)
    if given.out is not None:
        pd.DataFrame(rows).drop(columns="of").round(5).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
