"""The figure of the docs page on the relaxation: the published optimum against B, by a solver that knows no formula.

    python benchmarks/convex/figures.py --out docs/formulations

Points are Clarabel's optima of the published program with its exponential cones; lines are ``1.5 (B H*)^(2/3)`` with H*
from the linear program. "vote" is separable: H* = 0, and each point is where the solver happened to stop. One file
serves light and dark pages: the background is transparent, the grey readable on both.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

import mmbn_opt as mm
from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver
from mmbn_opt.solvers.convex.linear_form import LinearFormSolver

mpl.use("Agg")
import matplotlib.pyplot as plt

GREY = "#808080"
STRENGTHS = np.logspace(-3, 3, 7)
SETS = (("vote", "#e69f00", "o"), ("corral", "#009e73", "s"), ("iris", "#56b4e9", "^"))


def optima(name):
    """H* and Clarabel's objective at each B."""
    data = mm.prepare(mm.load_dataset(name), "class", missing="drop").data
    found = []
    for strength in STRENGTHS:
        program = mm.MaxMarginRelaxation(
            data, mm.naive_bayes(data), B=float(strength), normalization="published"
        ).build()
        found.append(ClarabelSolver().solve(program).stats["raw_objective"])
    return LinearFormSolver().solve(program).stats["H"], np.array(found)


def draw(path):
    style = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), GREY)
    with plt.rc_context(style | {"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "published"}):
        figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
        fine = np.logspace(-3.2, 3.2, 50)
        for name, colour, marker in SETS:
            h, found = optima(name)
            if h > 0:
                off = float(np.abs(found / (1.5 * (STRENGTHS * h) ** (2 / 3)) - 1).max())
                print(f"{name}: H* = {h:.4f}, largest relative difference {off:.1e}")
                axis.plot(fine, 1.5 * (fine * h) ** (2 / 3), color=colour, lw=1.5)
            axis.plot(
                STRENGTHS,
                found,
                marker,
                color=colour,
                ms=7,
                label=f"{name}, H* = {h:.4g}" if h > 0 else f"{name}, H* = 0: separable",
            )
        axis.plot([], [], color=GREY, label=r"$\frac{3}{2}\,(B\,H^*)^{2/3}$")
        axis.set(xscale="log", yscale="log", xlabel="B", ylabel="optimum of the published program")
        axis.grid(color=GREY, alpha=0.25, lw=0.6)
        axis.spines[["top", "right"]].set_visible(False)
        axis.patch.set_alpha(0)
        axis.legend(frameon=False)
        figure.savefig(path, transparent=True, metadata={"Date": None})
        plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    draw(parser.parse_args().out / "published-optimum.svg")


if __name__ == "__main__":
    main()
