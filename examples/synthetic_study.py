"""Margin, Markov network or conditional likelihood: the synthetic study of Guo, Wilkinson & Schuurmans 2005, section 7.

    python examples/synthetic_study.py --out DIR [--quick] [--repetitions 30]

Data come from a known network with skewed CPTs: each child is a fixed function of its parents with probability beta and
flipped otherwise (beta = 0.5 is noise). On training sets of 5 to 30 rows, with the right structure given, five ways to
set the parameters are compared by their exact error, the sum over all feature values of the probability of the classes
that are not predicted. One hyper-parameter of each method is chosen on one training set and then kept, as in the paper.

The paper draws its two networks without listing their edges. Here the first is renormalizable (Proposition 2) and the
second is not.
"""

import argparse
import itertools
import json
from pathlib import Path

import numpy as np

import mmbn_opt as mm
from mmbn_opt.data import DiscreteVariable
from mmbn_opt.solvers import ConjugateGradientSolver, InteriorPointSolver, QuadraticSolver

NODES = ["x1", "x2", "x3", "x4", "x5", "y"]
NETWORKS = {
    "renormalizable": [
        ("y", "x1"), ("y", "x2"), ("x1", "x2"), ("y", "x3"), ("x2", "x3"), ("y", "x4"), ("y", "x5"), ("x4", "x5"),
    ],
    "not renormalizable": [
        ("y", "x3"), ("x1", "x3"), ("x2", "x3"), ("y", "x5"), ("x4", "x5"), ("x1", "x5"),
    ],
}  # fmt: skip
BETAS = (0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)
SIZES = (5, 10, 20, 30)


def all_rows():
    """Every joint state of the five features and the class."""
    return np.array(list(itertools.product((0, 1), repeat=len(NODES))))


def skewed_joint(edges, beta, rng):
    """Probability of each of `all_rows` under a random network of skewness beta."""
    rows, p = all_rows(), np.full(2 ** len(NODES), 1.0)
    for v, name in enumerate(NODES):
        parents = [NODES.index(a) for a, b in edges if b == name]
        if not parents:
            p *= 0.5
            continue
        table = rng.permutation([0, 1] * 2 ** (len(parents) - 1))  # a function that is no constant
        says = table[rows[:, parents] @ (2 ** np.arange(len(parents)))]
        p *= np.where(rows[:, v] == says, beta, 1 - beta)
    return p


def draw(p, n, rng):
    """Training rows; at least one of each class, since with one class there is nothing to tell apart."""
    while True:
        rows = all_rows()[rng.choice(len(p), size=n, p=p)]
        if 0 < rows[:, -1].sum() < n:
            return rows


def as_data(rows):
    variables = [DiscreteVariable(name, ("0", "1")) for name in NODES]
    codes = rows.astype(np.int32)
    return mm.DiscreteDataset(codes[:, :-1], codes[:, -1], tuple(variables[:-1]), variables[-1], np.ones(len(rows)))


def error(model, p):
    """Exact error under the joint p."""
    joint = p.reshape(-1, 2)
    predicted = model.log_joint(all_rows()[::2, :-1].astype(np.int32)).argmax(axis=1)
    return float(1.0 - joint[np.arange(len(joint)), predicted].sum())


def maximum_likelihood(data, structure, smoothing):
    return mm.BayesianNetwork.fit(structure, data, smoothing)


def relaxation(normalization):
    def learn(data, structure, lam):
        problem = mm.MaxMarginRelaxation(
            data, structure, gamma=1 / lam, normalization=normalization, min_prob=1e-3, alpha=0.1
        )
        answer = InteriorPointSolver(rel_gap=1e-3, warm_seconds=0.0, time_limit=20.0).solve(problem.build())
        return problem.recover(answer.solution)

    return learn


def markov_network(data, structure, C):
    problem = mm.MaxMarginMarkovNetwork(data, structure, C=C)
    return problem.recover(QuadraticSolver().solve(problem.build()).solution)


def conditional_likelihood(data, structure, iterations):
    problem = mm.ConditionalLikelihood(data, structure)
    return problem.recover(ConjugateGradientSolver(max_iterations=iterations).solve(problem.build()).solution)


METHODS = {
    "M2BN (floor)": (relaxation("floor"), (0.1, 0.2, 0.4, 0.8)),
    "M2BN (hybrid)": (relaxation("hybrid"), (0.1, 0.2, 0.4, 0.8)),
    "M3N": (markov_network, (0.03, 0.1, 0.3, 1.0)),
    "MCL": (conditional_likelihood, (3, 10, 30, 200)),
    "maximum likelihood": (maximum_likelihood, (0.3, 1.0, 3.0, 10.0)),
}


def study(betas, sizes, repetitions, seed=0):
    """Mean error by network, size, method and beta; the best possible error (Bayes) with it."""
    table = []
    for (name, edges), n, beta in itertools.product(NETWORKS.items(), sizes, betas):
        rng = np.random.default_rng([seed, n, round(100 * beta), len(edges)])
        structure = mm.Structure.from_names(NODES[:-1], NODES[-1], edges)
        first = skewed_joint(edges, beta, rng)
        tuning = as_data(draw(first, n, rng))
        settings = {
            method: min(grid, key=lambda value: error(learn(tuning, structure, value), first))
            for method, (learn, grid) in METHODS.items()
        }
        errors, bayes = {method: [] for method in METHODS}, []
        for _ in range(repetitions):
            p = skewed_joint(edges, beta, rng)
            data = as_data(draw(p, n, rng))
            bayes.append(1.0 - p.reshape(-1, 2).max(axis=1).sum())
            for method, (learn, _) in METHODS.items():
                errors[method].append(error(learn(data, structure, settings[method]), p))
        row = {"network": name, "size": n, "beta": beta, "Bayes": float(np.mean(bayes))}
        for method, values in errors.items():
            row[method] = float(np.mean(values))
            row[f"{method} +-"] = float(np.std(values) / np.sqrt(repetitions))
        table.append(row)
        print(f"{name}, {n} rows, beta {beta:g}: " + ", ".join(f"{m} {row[m]:.3f}" for m in METHODS), flush=True)
    return table


def plot(table, path, colour="#808080"):
    """A panel a network and size: error against beta."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    sizes = sorted({row["size"] for row in table})
    names = list(NETWORKS)
    palette = ["#0072b2", "#56b4e9", "#d55e00", "#009e73", "#999999"]
    style = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), colour)
    with plt.rc_context(style | {"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "synthetic"}):
        figure, axes = plt.subplots(
            len(names), len(sizes), figsize=(2.6 * len(sizes), 5.2), sharex=True, sharey=True, squeeze=False,
            layout="constrained",
        )  # fmt: skip
        for r, name in enumerate(names):
            for c, n in enumerate(sizes):
                axis = axes[r, c]
                rows = [row for row in table if row["network"] == name and row["size"] == n]
                x = [row["beta"] for row in rows]
                for method, hue in zip(METHODS, palette, strict=True):
                    spread = [row[f"{method} +-"] for row in rows]
                    axis.errorbar(x, [row[method] for row in rows], spread, color=hue, label=method, lw=1.4)
                axis.plot(x, [row["Bayes"] for row in rows], color=colour, ls=":", lw=1, label="best possible")
                axis.patch.set_alpha(0)
                axis.set_title(f"{n} rows" if r == 0 else "", fontsize=9)
                axis.set_xlabel("beta" if r == len(names) - 1 else "")
                axis.set_ylabel(f"{name}\naverage error" if c == 0 else "")
        axes[0, 0].invert_xaxis()
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
        figure.patch.set_alpha(0)
        figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
        plt.close(figure)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("synthetic_study"))
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="two betas, two sizes, three repetitions")
    arguments = parser.parse_args(argv)
    betas, sizes, repetitions = BETAS, SIZES, arguments.repetitions
    if arguments.quick:
        betas, sizes, repetitions = (0.9, 0.7), (5, 20), 3
    table = study(betas, sizes, repetitions)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "errors.json").write_text(json.dumps(table, indent=1))
    plot(table, arguments.out / "errors.svg")


if __name__ == "__main__":
    main()
