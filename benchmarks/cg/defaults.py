"""CG-MM by its defaults, by the former ones (lambda .05, 100 iterations), and tuned by `tune`'s grid on training rows.

Usage: ``python benchmarks/cg/defaults.py [data set ...] [--draws N] [--out FILE]`` (default: vehicle segment satimage
letter usps). Naive Bayes on the usual split; sets without one are drawn N times, two thirds to learn from, and the mean
is told. Seconds are processor time of a whole `fit`, cutting and checks included; kernels are compiled before.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from shared_data import load_frames

import mmbn_opt as mm

SETS = ("vehicle", "segment", "satimage", "letter", "usps")
FORMER = {"lam": 0.05, "iterations": 100}


def fitted(frame, **settings):
    """A classifier, and the processor time of its fit."""
    features = frame.drop(columns="class")
    model = mm.MaxMarginBayesClassifier("nb", "cg-mm", kinds=dict.fromkeys(features.columns, "numeric"), **settings)
    before = time.process_time()
    model.fit(features, frame["class"])
    return model, time.process_time() - before


def tuned(frame):
    """The best of 6 values of lambda, 2 of kappa and up to 200 iterations by held-out training rows, and the time."""
    before = time.process_time()
    data = mm.prepare(frame, "class", kinds=dict.fromkeys(frame.columns.drop("class"), "numeric")).data
    choice = mm.tune(mm.SmoothMargin(data, mm.naive_bayes(data)))
    model, _ = fitted(frame, lam=choice.settings["lam"], kappa=choice.settings["kappa"], iterations=choice.iterations)
    return model, time.process_time() - before


WAYS = {"former": lambda frame: fitted(frame, **FORMER), "default": fitted, "tuned": tuned}


def measure(name: str, draws: int) -> list[dict[str, object]]:
    """One row a draw and way."""
    rows = []
    for draw in range(1, draws + 1) if load_frames(name, None)[2] else [None]:
        train, test, _ = load_frames(name, draw)
        for way, learn in WAYS.items():
            model, seconds = learn(train)
            rate = model.score(test.drop(columns="class"), test["class"])
            chosen = model.chosen_
            rows.append(
                {"set": name, "draw": draw or "", "train": len(train), "test": len(test), "way": way,
                 "accuracy": round(rate, 4), "seconds": round(seconds, 3), "lam": chosen["lam"],
                 "kappa": model.kappa, "iterations": chosen["max_iterations"]}
            )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None, help="CSV file")
    asked = parser.parse_args()
    for learn in WAYS.values():  # compile
        learn(mm.load_dataset("iris"))
    rows = []
    print(f"{'set':10s}{'train':>7s}{'test':>6s}  former: rate, s   default: rate, s, times   tuned: rate, s    behind")
    for name in asked.sets:
        own = measure(name, asked.draws)
        rows += own
        rate, spent = (
            {way: float(np.mean([r[key] for r in own if r["way"] == way])) for way in WAYS}
            for key in ("accuracy", "seconds")
        )
        print(
            f"{name:10s}{own[0]['train']:7d}{own[0]['test']:6d}  {rate['former']:.4f} {spent['former']:8.2f}   "
            f"{rate['default']:.4f} {spent['default']:8.2f} {spent['default'] / spent['former']:6.2f}     "
            f"{rate['tuned']:.4f} {spent['tuned']:8.2f} {rate['tuned'] - rate['default']:9.4f}",
            flush=True,
        )
    if asked.out is not None:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        with asked.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
