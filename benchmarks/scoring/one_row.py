"""Rows one at a time: microseconds of the processor that a scorer takes for a dict, beside `predict_proba` of a frame.

pyAgrum's classifier is asked the same where it is installed. A fifth of the cells is missing in the last column.

Usage: ``python benchmarks/scoring/one_row.py [--rows 500] [--out one-row.csv]``.
"""

import argparse
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mmbn_opt as mm

SHAPES = {"20 numbers, 2 classes": (20, 2), "20 numbers, 3 classes": (20, 3), "16 numbers, 26 classes": (16, 26)}


def table(n_features: int, n_classes: int, rows: int = 3000) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers that depend on the class, half of them on their neighbour too."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, rows)
    x = rng.normal(size=(n_classes, n_features))[y] + rng.normal(size=(rows, n_features))
    x[:, 1::2] += x[:, ::2]
    return pd.DataFrame(np.round(x, 3)).add_prefix("x"), y


def microseconds(ask: Callable[[Any], Any], given: list[Any]) -> float:
    """Median of three runs over what is given, of the processor, for each."""
    taken = []
    ask(given[0])
    for _ in range(3):
        began = time.process_time()
        for each in given:
            ask(each)
        taken.append((time.process_time() - began) / len(given) * 1e6)
    return float(np.median(taken))


def with_holes(rows: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
    return [
        {name: None if (i + j) % 5 == 0 else cell for j, (name, cell) in enumerate(row.items())}
        for i, row in enumerate(rows)
    ]


def pyagrums(frame: pd.DataFrame, y: np.ndarray, one: list[pd.DataFrame]) -> float:
    """Of pyAgrum's TAN; NaN where it is not installed."""
    try:
        from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
        from pyagrum.skbn import BNClassifier
    except ImportError:
        return float("nan")
    kinds = DiscreteTypeProcessor(defaultDiscretizationMethod="quantile", defaultNumberOfBins=4)
    peer = BNClassifier(learningMethod="TAN", prior="Smoothing", priorWeight=1.0, type_processor=kinds)
    peer.fit(frame, pd.Series(y.astype(str), name="y"))
    return microseconds(peer.predict_proba, one[:20])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    logging.getLogger("mmbn_opt").setLevel(logging.ERROR)
    lines = []
    for shape, (n_features, n_classes) in SHAPES.items():
        frame, y = table(n_features, n_classes)
        for structure in ("nb", "tan-cmi"):
            classifier = mm.MaxMarginBayesClassifier(structure=structure, method="ml", calibration=2.0).fit(frame, y)
            model = classifier.calibrated_model_
            scorer = model.scorer()
            rows = frame.head(given.rows).to_dict(orient="records")
            one = [frame.iloc[k : k + 1] for k in range(min(50, given.rows))]
            lines.append(
                {
                    "table": shape,
                    "structure": structure,
                    "scorer": microseconds(scorer.predict_proba, rows),
                    "frame": microseconds(model.predict_proba, one),
                    "pyAgrum": pyagrums(frame, y, one) if structure == "tan-cmi" else float("nan"),
                    "a fifth missing": microseconds(scorer.predict_proba, with_holes(rows[:100])),
                }
            )
            print(pd.DataFrame(lines[-1:]).round(1).to_string(index=False, header=len(lines) == 1), flush=True)
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(lines).round(1).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
