"""The whole path on 581,012 rows of mixed columns: a CSV file becomes a structure with a bound, beside other learners.

Each learner reads the same file in a process of its own, learns from it and is asked for the classes of held-out rows:
this library (``mmbn-opt structure``: cut points, exact structure search with a limit, calibration, certificate, files),
scikit-learn's ``HistGradientBoostingClassifier`` and pyAgrum's ``BNClassifier`` (its own discretization, tree-augmented
naive Bayes by Chow and Liu). Seconds are wall-clock and those of the processor, memory is the largest resident set.

The table is a synthetic twin of covertype, since the real one has to be fetched: ``--real`` takes it from scikit-
learn's ``fetch_covtype``, which downloads it. Twin: 7 classes with the real shares; 10 numeric columns, most of them
of a class's normal distribution, rounded to whole numbers in ranges like the real ones (elevation, aspect, slope,
distances, hillshades), of which some follow from others; 44 columns of 0 and 1, 4 of which (the wilderness areas) and
40 of which (the soils) have a single 1 a row, drawn given the class and the elevation. The twin has nothing to say of
how well these learners do on the real forest: it says what they cost on a table of its size and kinds.

Usage: ``python benchmarks/rows/covertype.py [--rows 581012] [--limit 300] [--processor] [--real] [--out CSV]``.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from synthetic import apart, keep

ROWS = 581_012
SHARES = (0.3646, 0.4876, 0.0615, 0.0047, 0.0163, 0.0299, 0.0354)
ELEVATION = (3129, 2921, 2394, 2224, 2787, 2419, 3362)
LEARNERS = ("mmbn_opt", "hist_gradient_boosting", "pyagrum_tan")


def twin(rows: int, seed: int = 0) -> pd.DataFrame:
    """Numeric columns and columns of 0 and 1 like those of covertype, and the class in column "y"."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(SHARES), rows, p=np.array(SHARES) / sum(SHARES))
    elevation = rng.normal(np.array(ELEVATION)[y], 130)
    aspect = rng.uniform(0, 360, rows)
    slope = np.abs(rng.normal(np.array([13, 13, 21, 18, 16, 19, 14])[y], 7))
    facing = np.cos(np.radians(aspect - 45)) * slope
    water = np.abs(rng.normal(np.array([270, 280, 210, 107, 212, 159, 356])[y], 190))
    roads = np.abs(rng.normal(np.array([2614, 2430, 944, 914, 1349, 1037, 2738])[y], 900)) + 0.2 * (elevation - 2000)
    numbers = {
        "elevation": elevation,
        "aspect": aspect,
        "slope": slope,
        "to_water": water,
        "above_water": 0.15 * water + rng.normal(0, 40, rows),
        "to_roads": roads,
        "shade_9": 212 + 1.2 * facing + rng.normal(0, 12, rows),
        "shade_noon": 224 - 0.4 * slope + rng.normal(0, 12, rows),
        "shade_3": 142 - 1.2 * facing + rng.normal(0, 18, rows),
        "to_fires": np.abs(0.5 * roads + rng.normal(np.array([2009, 2168, 911, 859, 1577, 1055, 2070])[y], 900)),
    }
    table = {name: np.rint(column).astype(np.int32) for name, column in numbers.items()}
    height = np.clip((elevation - 1850) // 250, 0, 7).astype(np.int64)
    for name, count in (("area", 4), ("soil", 40)):
        edges = rng.dirichlet(np.full(count, 0.3), (len(SHARES), 8)).cumsum(axis=2)
        drawn = (rng.random(rows)[:, None] > edges[y, height]).sum(axis=1).clip(max=count - 1)
        table |= {f"{name}_{k}": (drawn == k).astype(np.int8) for k in range(count)}
    return pd.DataFrame(table).assign(y=y + 1)


def real() -> pd.DataFrame:
    """What scikit-learn fetches."""
    from sklearn.datasets import fetch_covtype

    frame: pd.DataFrame = fetch_covtype(as_frame=True).frame
    whole = frame.astype(np.int32)
    return whole.rename(columns={"Cover_Type": "y"})


def by_structure(learn: str, test: str, limit: float) -> tuple[Callable[[pd.DataFrame], Any], dict[str, Any]]:
    """The command line, and the model that it wrote."""
    from mmbn_opt import BayesianNetwork
    from mmbn_opt.cli import main

    out = str(Path(learn).with_name("result"))
    sys.argv = [
        "mmbn-opt", "structure", "-d", learn, "-t", "y", "-o", out, "-k", "2", "-p", "0.9", "--test", test,
        "--time-limit", str(limit),
    ]  # fmt: skip
    sys.stdout = sys.stderr  # the last line of stdout is the answer
    try:
        main()
    except SystemExit as ended:
        if ended.code not in (0, 1):
            raise
    sys.stdout = sys.__stdout__
    told = json.loads(Path(out, "result.json").read_text())
    model = BayesianNetwork.load(Path(out, "model.json"))
    return lambda frame: model.predict(frame.drop(columns="y")), {
        "gap_percent": round(100 * told["gap_rel"], 3),
        "certificate": told["certificate"]["ok"],
        "status": told["termination_status"],
        "merged": told["data"]["samples_merged"],
    }


def by_boosting(learn: str, _test: str, _limit: float) -> tuple[Callable[[pd.DataFrame], Any], dict[str, Any]]:
    """As it comes."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    frame = pd.read_csv(learn)
    model = HistGradientBoostingClassifier(random_state=0).fit(frame.drop(columns="y"), frame["y"])
    return lambda rows: model.predict(rows.drop(columns="y")), {}


def by_agrum(learn: str, _test: str, _limit: float) -> tuple[Callable[[pd.DataFrame], Any], dict[str, Any]]:
    """Tree-augmented naive Bayes of its own discretization, quantiles."""
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    frame = pd.read_csv(learn)
    kinds = DiscreteTypeProcessor(defaultDiscretizationMethod="quantile", defaultNumberOfBins=8)
    model = BNClassifier(learningMethod="TAN", prior="Smoothing", type_processor=kinds)
    model.fit(frame.drop(columns="y"), frame["y"].astype(str))
    return lambda rows: np.asarray(model.predict(rows.drop(columns="y"))).astype(np.int64), {}


def run(learner: str, folder: str, limit: float) -> dict[str, Any]:
    """One learner, from the file to the accuracy on rows that it has not seen."""
    learn, test = str(Path(folder, "learn.csv")), str(Path(folder, "test.csv"))
    work = {"mmbn_opt": by_structure, "hist_gradient_boosting": by_boosting, "pyagrum_tan": by_agrum}[learner]
    before, began = time.process_time(), time.perf_counter()
    classes_of, found = work(learn, test, limit)
    found = {
        "learner": learner,
        "cpu_sec": round(time.process_time() - before, 1),
        "sec": round(time.perf_counter() - began, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        **found,
    }
    rows = pd.read_csv(test)
    before = time.process_time()
    right = np.asarray(classes_of(rows)).astype(np.int64) == rows["y"].to_numpy()
    found["held_out_accuracy"] = round(float(right.mean()), 4)
    found["held_out_rows"] = len(rows)
    found["predict_cpu_sec"] = round(time.process_time() - before, 1)
    found["load"] = round(os.getloadavg()[1], 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--processor", action="store_true", help="the limit is one of processor time")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        if given.processor:
            time.monotonic = time.process_time  # the library's clock of limits
        print(json.dumps(run(given.one, given.folder, given.limit)))
        return
    found = []
    with tempfile.TemporaryDirectory() as folder:
        table = real() if given.real else twin(given.rows)
        held_out = np.random.default_rng(1).random(len(table)) < 0.2
        table[~held_out].to_csv(Path(folder, "learn.csv"), index=False)
        table[held_out].to_csv(Path(folder, "test.csv"), index=False)
        del table
        for learner in given.learners.split(","):
            flags = ["--processor"] if given.processor else []
            found.append(apart(__file__, learner, "--folder", folder, "--limit", str(given.limit), *flags))
            keep(found, given.out)


if __name__ == "__main__":
    main()
