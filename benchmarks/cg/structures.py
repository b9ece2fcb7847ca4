"""CPU seconds of each structure heuristic relative to TAN-CR (Pernkopf & Bilmes 2008, Table 4), and what it is worth.

Usage: ``python benchmarks/cg/structures.py [data set[:training rows] ...]`` (default: letter satimage usps).
With a number of rows the structures are learned on the first so many training rows.
"""

import sys
import time

from shared_data import load

import mmbn_opt as mm
from mmbn_opt.heuristics.orders import order_mi
from mmbn_opt.heuristics.tan_greedy import tan_cr
from mmbn_opt.scores.predictive import classification_rate

HEURISTICS = {
    "NB": mm.naive_bayes,
    "TAN-CMI": mm.tan_cmi,
    "TAN-RO-CR": lambda data: order_mi(data, "RO"),
    "TAN-OMISP-CR": lambda data: order_mi(data, "OMISP"),
    "TAN-OMI-CR": order_mi,
    "TAN-OMI-CL": lambda data: order_mi(data, score="cl"),
    "TAN-CR": tan_cr,
    "2-tree-OMI-CR, 5 folds": lambda data: order_mi(data, k=2),
}
SLOW = {"2-tree-OMI-CR, 5 folds": 10**8, "TAN-OMI-CL": 10**9}
"""Training rows x features^2 above which a heuristic would take a quarter of an hour."""
PAPER = "the paper's Table 4, TAN-CMI and TAN-OMI-CR: UCI 0.649 % 3.155 %, MNIST 0.21 % 2.23 % of TAN-CR"


def main() -> None:
    for request in sys.argv[1:] or ["letter", "satimage", "usps"]:
        name, _, rows_asked = request.partition(":")
        train, test = load(name)
        if rows_asked:
            train = train.subset(slice(0, int(rows_asked)))
        tan_cr(train.subset(slice(0, 200)))  # compile
        order_mi(train.subset(slice(0, 200)), score="cl")
        rows = []
        for label, learn in HEURISTICS.items():
            if label in SLOW and train.n_samples * train.n_features**2 > SLOW[label]:
                continue
            before = time.process_time()
            structure = learn(train)
            seconds = time.process_time() - before
            network = mm.BayesianNetwork.fit(structure, train)
            edges = len(structure.edges) - train.n_features
            print(f"  {label}: {seconds:.2f} s", file=sys.stderr)
            rows.append(
                (label, seconds, edges, classification_rate(network, train), classification_rate(network, test))
            )
        whole = next(seconds for label, seconds, *_ in rows if label == "TAN-CR")
        print(f"\n{request}: {train}")
        print(f"{'structure':24s}{'CPU s':>9s}{'of TAN-CR':>11s}{'edges':>7s}{'train':>8s}{'test':>8s}")
        for label, seconds, edges, on_train, on_test in rows:
            print(
                f"{label:24s}{seconds:9.2f}{seconds / whole:11.2%}{edges:7d}{on_train:8.4f}{on_test:8.4f}", flush=True
            )
        print(PAPER)


if __name__ == "__main__":
    main()
