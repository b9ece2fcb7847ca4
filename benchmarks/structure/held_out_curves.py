"""Best soft margin against the number of features and of edges, and what the networks along the curve get right.

Each set is split once (70 % to learn from, by classes). Along the curves each point is proved or has its gap, and the
held-out accuracy of its network stands beside three models that use as many features: logistic regression on what
the weakest L1 penalty leaves that leaves so few (fitted again, with scikit-learn's default L2 penalty), an explainable
boosting machine on its own most important ones, and of six optimal sparse trees that which fits best among those that
ask for so few. All see the same codes.

Usage: ``python benchmarks/structure/held_out_curves.py --shared ../shared --out DIR [names] [--point-seconds 8]``
writes ``held_out_curves.csv`` and ``.svg``. Rivals that are not installed (extra ``rivals``) are left out.
"""

import argparse
import json
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

import mmbn_opt as mm

SETS = ("heart", "german", "vehicle", "breast")
FEATURES = (1, 2, 3, 4, 6, 8)
EDGES = (2, 4, 6, 8, 12, 16)
NAMES = {"l1_logistic": "L1-logistic", "boosting": "explainable boosting", "sparse_tree": "optimal sparse tree"}


def read(shared, name):
    """Columns as text where they are categories, and the manifest's kinds."""
    entry = next(e for e in json.loads((shared / "data" / "manifest.json").read_text()) if e["name"] == name)
    frame = pd.read_csv(shared / "data" / entry["file"], na_values=["?"]).dropna()
    kinds = dict(zip([c for c in frame.columns if c != "class"], entry["feature_kinds"], strict=True))
    return frame, kinds


def used(structure):
    return len(structure.markov_blanket(structure.class_name))


def along(name, kind, limit, values, problem, test, seconds):
    curve = mm.trade_off(problem, limit, values, time_limit=seconds * len(values))
    for point in curve.points:
        model = point.model
        right = float((model.predict(test.drop(columns="class")) == test["class"].to_numpy()).mean())
        yield {
            "set": name,
            "method": f"network, limit on {kind}",
            "limit": int(point.limit),
            "features": used(model.structure),
            "edges": len(model.structure.edges),
            "accuracy": right,
            "margin": point.bounds.primal_bound,
            "bound": point.bounds.dual_bound,
            "gap": point.bounds.gap_rel,
            "status": str(point.status),
            "seconds": point.seconds,
        }


class Indicators:
    """Indicators of the codes that the networks see, and which feature each belongs to."""

    def __init__(self, codes):
        self.encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore", dtype=np.int32).fit(codes)
        self.owner = np.repeat(np.arange(codes.shape[1]), [len(c) for c in self.encoder.categories_])

    def __call__(self, codes):
        return self.encoder.transform(codes)


def rivals(name, learned, held, most, seconds):
    """Held-out accuracy of each rival that uses at most so many features."""
    (codes, y), (test, truth) = learned, held
    indicators = Indicators(codes)
    for method, find in (("l1_logistic", l1_logistic), ("boosting", boosting), ("sparse_tree", sparse_tree)):
        begin = time.perf_counter()
        for limit in most:
            found = find(indicators, codes, y, test, limit, seconds)
            if found is not None:
                guess, features = found
                yield {
                    "set": name,
                    "method": method,
                    "limit": limit,
                    "features": features,
                    "accuracy": float((guess == truth).mean()),
                    "seconds": time.perf_counter() - begin,
                }


def l1_logistic(indicators, codes, y, test, most, seconds):
    best = None
    for strength in np.geomspace(1e-3, 30.0, 25):
        model = LogisticRegression(C=strength, solver="saga", l1_ratio=1.0, max_iter=300, tol=1e-3, random_state=0)
        model.fit(indicators(codes), y)
        features = len(set(indicators.owner[np.abs(model.coef_).max(axis=0) > 1e-6]))
        if features > most:
            break
        chosen = sorted(set(indicators.owner[np.abs(model.coef_).max(axis=0) > 1e-6]))
        best = chosen or best
    if best is None:
        return None
    kept = np.isin(indicators.owner, best)
    again = LogisticRegression(max_iter=2000).fit(indicators(codes)[:, kept], y)
    return again.predict(indicators(test)[:, kept]), len(best)


_importance = {}


def boosting(indicators, codes, y, test, most, seconds):
    if find_spec("interpret") is None:
        return None
    from interpret.glassbox import ExplainableBoostingClassifier

    def fit(columns):
        kinds = ["nominal"] * len(columns)
        machine = ExplainableBoostingClassifier(feature_types=kinds, interactions=0, n_jobs=1, random_state=0)
        return machine.fit(codes[:, columns].astype(str), y)

    every = list(range(codes.shape[1]))
    key = codes.tobytes()
    if key not in _importance:
        _importance[key] = np.argsort(-np.asarray(fit(every).term_importances()))
    chosen = sorted(int(k) for k in _importance[key][:most])
    return fit(chosen).predict(test[:, chosen].astype(str)), len(chosen)


def sparse_tree(indicators, codes, y, test, most, seconds):
    if find_spec("pystreed") is None:
        return None
    from pystreed import STreeDClassifier

    best, most_right = None, -1.0
    for depth, cost in ((1, 0.0), (2, 0.01), (2, 0.0), (3, 0.01), (3, 0.005), (3, 0.0)):
        tree = STreeDClassifier(
            optimization_task="cost-complex-accuracy", max_depth=depth, cost_complexity=cost, time_limit=seconds
        )
        tree.fit(indicators(codes), y)
        features = len({indicators.owner[k] for k in asked(tree.get_tree())})
        right = float((np.asarray(tree.predict(indicators(codes))) == y).mean())
        if features <= most and right > most_right:
            best, most_right = (np.asarray(tree.predict(indicators(test))), features), right
    return best


def asked(node):
    """Indicators that a tree asks for."""
    if node.is_leaf_node():
        return set()
    return {node.feature} | asked(node.left_child) | asked(node.right_child)


def rows_of(shared, name, seconds):
    frame, kinds = read(shared, name)
    train, test = train_test_split(frame, test_size=0.3, random_state=0, stratify=frame["class"])
    preparation = mm.prepare(train, "class", kinds=kinds)
    data = preparation.data
    problem = mm.SoftMarginStructure(data, max_parents=2, gamma=mm.log_odds(0.9))
    held = preparation.apply(test)
    n_features = data.n_features
    for kind, limit, values in (("features", mm.MaxFeatures, FEATURES), ("edges", mm.MaxEdges, EDGES)):
        values = [value for value in values if kind == "edges" or value <= n_features]
        yield from along(name, kind, limit, values, problem, test, seconds)
    learned, told = (data.codes, data.target_codes), (held.codes, held.target_codes)
    yield from rivals(name, learned, told, [value for value in FEATURES if value <= n_features], seconds)


def draw(table, path):
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    sets = list(dict.fromkeys(table["set"]))
    with matplotlib.rc_context({"svg.hashsalt": "held-out", "font.size": 8}):
        figure, axes = plt.subplots(3, len(sets), figsize=(3.0 * len(sets), 7.4), squeeze=False)
        for column, name in enumerate(sets):
            part = table[table["set"] == name]
            for row, kind in ((0, "features"), (1, "edges")):
                ours = part[part.method == f"network, limit on {kind}"]
                ax = axes[row][column]
                ax.fill_between(ours.limit, ours.margin, ours.bound, step="post", color="#c33", alpha=0.2, linewidth=0)
                ax.step(ours.limit, ours.margin, where="post", color="#27c", linewidth=1.2)
                proved = ours.status == "OPTIMAL"
                ax.plot(ours.limit[proved], ours.margin[proved], "o", color="#27c", markersize=4, label="proved")
                ax.plot(
                    ours.limit[~proved], ours.margin[~proved], "o", markerfacecolor="none", color="#27c", markersize=4,
                    label="best found, gap shaded",
                )  # fmt: skip
                ax.set_xlabel(f"at most n {kind}")
            ax = axes[2][column]
            ours = part[part.method == "network, limit on features"]
            ax.plot(ours.limit, ours.accuracy, "o-", color="#27c", markersize=4, linewidth=1.4, label="network")
            for (method, words), (style, colour) in zip(
                NAMES.items(), (("s--", "#777"), ("^:", "#e80"), ("v-.", "#2a2")), strict=True
            ):
                other = part[part.method == method]
                ax.plot(other.limit, other.accuracy, style, color=colour, markersize=4, linewidth=1.0, label=words)
            ax.set_xlabel("at most n features")
            axes[0][column].set_title(name)
        axes[0][0].set_ylabel("soft margin, nats")
        axes[1][0].set_ylabel("soft margin, nats")
        axes[2][0].set_ylabel("held-out accuracy")
        axes[0][0].legend(frameon=False, loc="lower right")
        axes[2][-1].legend(frameon=False, loc="best")
        figure.tight_layout()
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*SETS])
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--point-seconds", type=float, default=8.0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # saga on a path of penalties
        for name in options.names:
            rows += rows_of(options.shared, name, options.point_seconds)
            print(f"{name} done", flush=True)
            table = pd.DataFrame(rows)
            table.round(6).to_csv(options.out / "held_out_curves.csv", index=False)
    draw(table, options.out / "held_out_curves.svg")
    wide = table[table.method.isin(["network, limit on features", *NAMES])]
    print(wide.pivot_table(index=["set", "limit"], columns="method", values="accuracy").round(3).to_string())


if __name__ == "__main__":
    main()
