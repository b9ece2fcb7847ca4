"""Log loss, calibration error and accuracy of every classifier here beside scikit-learn's, five-fold, on 15 data sets.

Usage: ``python benchmarks/calibration/log_loss.py [data set ...] [--folds N] [--time-limit S] [--out FILE.csv]``, and
``--table`` for what the file says. A row a data set, fold and classifier, written when it is done: a run that was
stopped goes on where it was. ``raw_log_loss`` and ``raw_error`` are of the same fitted model without its calibration.
Columns are categorical or numeric as the data's manifest says; a missing cell is a state to networks, and the median or
a category of its own to the others, which get categories one by one (one-hot) and numbers standardised.
Searches, relaxations and mixtures get a time limit, in which a calibration must find its time too; seconds are
processor time of fit and prediction.
"""

import argparse
import csv
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import mmbn_opt as mm
from mmbn_opt.scores import Reliability

ROOT = Path(__file__).resolve().parents[2]
SETS = (
    "wine", "glass", "heart", "cleve", "vote", "breast", "soybean-large", "australian", "diabetes", "vehicle", "german",
    "car", "segment", "chess", "adult",
)  # fmt: skip
MARGIN = ("cg-mm nb", "cg-mm tan", "cg-cl nb", "relaxation nb", "structure", "cmm")
"""Default classifiers that are trained for their decisions, by their labels here."""
FIELDS = (
    "set", "fold", "classifier", "accuracy", "log_loss", "calibration_error", "raw_log_loss", "raw_error",
    "temperature", "seconds",
)  # fmt: skip


def load(shared: Path, name: str) -> tuple[pd.DataFrame, pd.Series, dict[str, str]]:
    """Features, labels and the kinds of the columns."""
    entries = json.loads((shared / "data" / "manifest.json").read_text(encoding="utf-8"))
    entry = next(e for e in entries if e["name"] == name)
    frame = pd.read_csv(
        shared / "data" / entry["file"], dtype=str, keep_default_na=False, na_values=["?", "", "NA", "NaN"]
    )
    X = frame.drop(columns="class")
    kinds = dict(zip(X.columns, entry["feature_kinds"], strict=True))
    numeric = [c for c, kind in kinds.items() if kind == "numeric"]
    return X.assign(**{c: pd.to_numeric(X[c]) for c in numeric}), frame["class"], kinds


def as_numbers(kinds: dict[str, str], encode: Any) -> Any:
    """Numbers standardised, categories encoded."""
    numeric = [c for c, kind in kinds.items() if kind == "numeric"]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (
            make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), encode),
            [c for c in kinds if c not in numeric],
        ),
    )


def classifiers(kinds: dict[str, str], limit: float) -> dict[str, Callable[[], BaseEstimator]]:
    """Makers by label."""
    numeric = sum(kind == "numeric" for kind in kinds.values())
    ours: dict[str, Any] = {"kinds": kinds, "missing": "state", "unseen": "missing"}
    dense = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    boosting = HistGradientBoostingClassifier(
        categorical_features=list(range(numeric, len(kinds))) or None, random_state=0
    )
    return {
        "naive bayes": lambda: mm.NaiveBayesClassifier(**ours),
        "tan": lambda: mm.TANClassifier(**ours),
        "cg-mm nb": lambda: mm.MaxMarginBayesClassifier("nb", "cg-mm", **ours),
        "cg-mm tan": lambda: mm.MaxMarginBayesClassifier("tan-cmi", "cg-mm", **ours),
        "cg-cl nb": lambda: mm.MaxMarginBayesClassifier("nb", "cg-cl", **ours),
        "relaxation nb": lambda: mm.MaxMarginBayesClassifier("nb", "relaxation", time_limit=limit, **ours),
        "structure": lambda: mm.MaxMarginStructureClassifier(time_limit=limit, **ours),
        "cmm": lambda: make_pipeline(as_numbers(kinds, dense), mm.CMMClassifier(time_limit=limit)),
        "logistic regression": lambda: make_pipeline(as_numbers(kinds, dense), LogisticRegression(max_iter=2000)),
        "histogram boosting": lambda: make_pipeline(as_numbers(kinds, ordinal), boosting),
        "CalibratedClassifierCV cg-mm nb": lambda: CalibratedClassifierCV(
            mm.MaxMarginBayesClassifier("nb", "cg-mm", calibration=None, **ours)
        ),
    }


def own_log_proba(model: Any, X: pd.DataFrame) -> np.ndarray | None:
    """Log-probabilities without the calibration; None for scikit-learn's classifiers."""
    if isinstance(model, Pipeline):
        if not isinstance(model[-1], mm.CMMClassifier):
            return None
        with np.errstate(divide="ignore"):
            return np.log(model[-1].model_.predict_proba(model[:-1].transform(X)))
    return model.network_.predict_log_proba(X, unseen="missing") if hasattr(model, "network_") else None


def measure(model: Any, train: tuple[Any, Any], test: tuple[Any, Any]) -> dict[str, Any]:
    """Fit and hold against the rows that were held out."""
    before = time.process_time()
    model.fit(*train)
    with np.errstate(divide="ignore"):
        log_proba = np.log(model.predict_proba(test[0]))
    spent = time.process_time() - before
    labels = test[1].to_numpy()
    known = {label: k for k, label in enumerate(model.classes_)}
    codes = np.array([known.get(label, -1) for label in labels])
    found, own = Reliability.of(log_proba, codes), own_log_proba(model, test[0])
    row = {
        "accuracy": float((model.predict(test[0]) == labels).mean()),
        "log_loss": found.log_loss,
        "calibration_error": found.calibration_error,
        "seconds": spent,
    }
    if own is not None:
        raw = Reliability.of(own, codes)
        assert (own.argmax(axis=1) == log_proba.argmax(axis=1)).mean() > 0.999  # ties of probabilities, not of logs
        last = model[-1] if isinstance(model, Pipeline) else model
        temperature = last.calibration_.temperature
        row |= {"raw_log_loss": raw.log_loss, "raw_error": raw.calibration_error, "temperature": temperature}
    return {key: float(f"{value:.6g}") for key, value in row.items()}


def show(path: Path) -> None:
    """Mean log loss of each set and classifier; the ratio to logistic regression's; medians."""
    rows = pd.read_csv(path)
    loss = rows.pivot_table(index="set", columns="classifier", values="log_loss")
    ratio = loss.div(loss["logistic regression"], axis=0)
    summary = pd.DataFrame(
        {
            "log loss": loss.median(),
            "raw": rows.pivot_table(index="set", columns="classifier", values="raw_log_loss").median(),
            "ratio": ratio.median(),
            "calibration error": rows.pivot_table(
                index="set", columns="classifier", values="calibration_error"
            ).median(),
            "raw error": rows.pivot_table(index="set", columns="classifier", values="raw_error").median(),
            "accuracy": rows.pivot_table(index="set", columns="classifier", values="accuracy").mean(),
            "s": rows.groupby("classifier")["seconds"].mean(),
        }
    )
    print(
        loss.round(3).to_string(),
        "\n\nmedians over the sets (accuracy, seconds: means)\n",
        summary.round(3).to_string(),
    )
    margin = [name for name in MARGIN if name in loss]
    print(f"\nmedian log loss of the margin-trained defaults: {loss[margin].stack().median():.4f}")
    print(f"median log loss of logistic regression: {loss['logistic regression'].median():.4f}")
    print(f"median ratio over sets and margin-trained defaults: {ratio[margin].stack().median():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=4.0)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    if asked.table:
        return show(asked.out)
    done = set()
    if asked.out.is_file():
        with asked.out.open(newline="", encoding="utf-8") as file:
            done = {(row["set"], int(row["fold"]), row["classifier"]) for row in csv.DictReader(file)}
    warnings.simplefilter("ignore")
    with asked.out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for name in asked.sets:
            X, y, kinds = load(asked.shared, name)
            splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
            for fold, (train, test) in zip(range(asked.folds), splits, strict=False):
                for label, make in classifiers(kinds, asked.time_limit).items():
                    if (name, fold, label) in done:
                        continue
                    row = measure(make(), (X.iloc[train], y.iloc[train]), (X.iloc[test], y.iloc[test]))
                    writer.writerow({"set": name, "fold": fold, "classifier": label, **row})
                    file.flush()
                    print(f"{name:14s} {fold} {label:32s} {row['log_loss']:8.4f} {row['seconds']:7.2f} s", flush=True)
    show(asked.out)
    return None


if __name__ == "__main__":
    main()
