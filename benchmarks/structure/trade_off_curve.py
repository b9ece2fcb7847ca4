"""Draws the picture of the documentation: the soft margin of a set against a limit on its edges, every point proved.

Usage: ``python benchmarks/structure/trade_off_curve.py --shared ../shared --out docs/images/trade-off.svg``, or with
``--data corral`` and without ``--shared`` for a set that the package ships.
"""

import argparse
from pathlib import Path

import matplotlib
import pandas as pd

import mmbn_opt as mm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="heart")
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.shared is None:
        frame = mm.load_dataset(options.data)
    else:
        frame = pd.read_csv(options.shared / "data" / f"{options.data}.csv.gz")
    problem = mm.SoftMarginStructure(mm.prepare(frame, "class", missing="drop").data, max_parents=2)
    curve = mm.trade_off(problem, mm.MaxEdges, range(1, options.points + 1))
    print(curve.to_frame()[["limit", "primal_bound", "gap_rel", "status"]].to_string(index=False))
    matplotlib.use("svg")
    with matplotlib.rc_context({"svg.hashsalt": "trade-off"}):  # the same curve is the same file
        figure = curve.plot().figure
        options.out.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(options.out, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
