"""Draw the curves of ``missing_features.py``: structures, parameters and imputation, a row of panels a data set.

Usage: ``python benchmarks/cg/missing_figure.py curves.json [...] --out docs/formulations/missing-features.svg``.
"""

import argparse
import json
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
from matplotlib import pyplot as plt

PANELS = (
    ("structures, ML", ("TAN-CMI-ML", "TAN-OMI-CR-ML", "TAN-CR-ML")),
    ("naive Bayes", ("NB-ML", "NB-CG-MM", "NB-CG-CL")),
    ("NB-CG-MM, cells filled", ("NB-CG-MM", "mean", "most frequent", "5-NN")),
)
# Colours of Okabe & Ito 2008, told apart by the colour-blind, with a dash and a mark each.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
STYLES = (("-", "o"), ("--", "s"), ("-.", "^"), (":", "D"))


def draw(found: list[dict], out: Path) -> None:
    """Write the figure as SVG."""
    mpl.rcParams.update({"svg.hashsalt": "missing-features", "font.size": 9, "font.family": "DejaVu Sans"})
    figure, rows = plt.subplots(
        len(found), len(PANELS), figsize=(10.5, 3.3 * len(found)), squeeze=False, layout="constrained"
    )
    for axes, data in zip(rows, found, strict=True):
        for axis, (title, labels) in zip(axes, PANELS, strict=True):
            for label, colour, (dash, mark) in zip(labels, COLOURS, STYLES, strict=False):
                mean, spread = np.array(data["mean"][label]), np.array(data["spread"][label])
                shown = "summed out" if label == "NB-CG-MM" and "mean" in labels else label
                axis.plot(data["counts"], mean, dash, marker=mark, markersize=3.5, color=colour, label=shown)
                axis.fill_between(data["counts"], mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0)
            axis.set(title=f"{data['name']}: {title}", xlabel=f"missing of {data['n_features']} features")
            axis.grid(visible=True, color="#ddd", linewidth=0.6)
            axis.legend(fontsize=8, loc="lower left")
        axes[0].set_ylabel("test accuracy")
    figure.savefig(out, format="svg", facecolor="white", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curves", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("missing-features.svg"))
    asked = parser.parse_args()
    draw([data for path in asked.curves for data in json.loads(path.read_text(encoding="utf-8"))], asked.out)


if __name__ == "__main__":
    main()
