"""Rows classified a second: this package beside scikit-learn's CategoricalNB, pgmpy and pyAgrum, in one run.

All tools get the same rows, and all but CategoricalNB the very same network; CategoricalNB counts the training rows
itself. Each answers with the posterior of three classes, and the answers are compared before anything is timed. Figures
are rows a second of processor time, so that other work on the machine does not count; slow tools get fewer rows. What
turns the cells of a frame into codes is part of the time.

Usage: ``python benchmarks/prediction/run.py [--rows 1000000] [--out table.md]``.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

import mmbn_opt as mm

FEATURES, CLASSES, STATES = 5, 3, 4
NAMES = [f"x{j}" for j in range(FEATURES)]


def rows_of(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    X = (y[:, None] + rng.integers(0, 3, (n, FEATURES))) % STATES
    return X, y


def rate(answer: Callable[[], Any], n: int, repeat: int = 5) -> float:
    answer()  # compiles, fills caches
    best = float("inf")
    for _ in range(repeat):
        before = time.process_time()
        answer()
        best = min(best, time.process_time() - before)
    return n / best


def ours(model: Any, X: np.ndarray, kind: str) -> Callable[[], Any]:
    frame = pd.DataFrame(X, columns=NAMES)
    if kind == "text frame":
        frame = frame.astype(str)
    elif kind == "category frame":
        frame = frame.astype(str).astype("category")
    elif kind == "float frame, MDLP":
        frame = frame + np.random.default_rng(0).normal(size=frame.shape) * 0.1
    elif kind == "text frame, 10 % missing":
        frame = frame.astype(str).mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    return (lambda: model.predict_proba(frame)) if kind != "int array" else (lambda: model.predict_proba(X))


def train(kind: str, structure: str) -> Any:
    X, y = rows_of(5_000, 1)
    model = mm.NaiveBayesClassifier() if structure == "naive Bayes" else mm.TANClassifier()
    if kind == "int array":
        return model.fit(X, y)
    frame = pd.DataFrame(X, columns=NAMES)
    if kind.startswith("float"):
        return model.fit(frame + np.random.default_rng(1).normal(size=frame.shape) * 0.1, y)
    return model.fit(frame.astype(str), y)


def the_others(structure: str, n: int) -> dict[str, tuple[float, str]]:
    """Rate and remark of each other tool on the network of the same structure and tables."""
    X, y = rows_of(5_000, 1)
    frame = pd.DataFrame(X, columns=NAMES).astype(str)
    model = (mm.NaiveBayesClassifier() if structure == "naive Bayes" else mm.TANClassifier()).fit(frame, y)
    network = model.network_
    new, _ = rows_of(n, 2)
    found: dict[str, tuple[float, str]] = {}
    if structure == "naive Bayes":
        from sklearn.naive_bayes import CategoricalNB

        other = CategoricalNB(min_categories=STATES).fit(X, y)
        np.testing.assert_allclose(other.predict_proba(new[:50]), answers(network, new[:50]), atol=0.02)
        found["scikit-learn CategoricalNB"] = rate(lambda: other.predict_proba(new), n), f"{n:,} rows, int array"
    few = 2_000
    text = pd.DataFrame(new[:few], columns=NAMES).astype(str)
    theirs = network.to_pgmpy()
    probabilities = theirs.predict_probability(text.head(50)).to_numpy()
    np.testing.assert_allclose(probabilities, answers(network, new[:50]), atol=1e-6)
    found["pgmpy predict_probability"] = rate(lambda: theirs.predict_probability(text), few, 1), f"{few:,} rows"
    found["pyAgrum LazyPropagation"] = rate(agrum(network, text.head(few)), few, 1), f"{few:,} rows, one query a row"
    return found


def answers(network: Any, X: np.ndarray) -> np.ndarray:
    return network.predict_proba(pd.DataFrame(X, columns=NAMES).astype(str))


def agrum(network: Any, text: pd.DataFrame) -> Callable[[], Any]:
    import pyagrum

    bn = network.to_pyagrum()
    engine = pyagrum.LazyPropagation(bn)
    engine.addTarget("class")
    rows = text.to_dict("records")

    def answer() -> np.ndarray:
        out = np.empty((len(rows), CLASSES))
        for m, row in enumerate(rows):
            engine.setEvidence(row)
            out[m] = engine.posterior("class").toarray()
        return out

    np.testing.assert_allclose(answer()[:50], answers(network, text.head(50).astype(int).to_numpy()), atol=1e-6)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| structure | tool | input | rows a second | ours, int array, is |", "|---|---|---|---|---|"]
    new, _ = rows_of(options.rows, 2)
    kinds = ("int array", "category frame", "text frame", "float frame, MDLP", "text frame, 10 % missing")
    for structure in ("naive Bayes", "TAN"):
        rates = {kind: rate(ours(train(kind, structure), new, kind), options.rows) for kind in kinds}
        first = rates["int array"]
        lines += [
            f"| {structure} | mmbn_opt | {kind} | {value:,.0f} | {first / value:.2g} x |"
            for kind, value in rates.items()
        ]
        for tool, (value, remark) in the_others(structure, options.rows).items():
            lines.append(f"| {structure} | {tool} | {remark} | {value:,.0f} | {first / value:,.3g} x |")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
