"""Test accuracy of ML, CG-MM and CG-CL, settings chosen on a held-out fifth of the training rows.

Usage: ``python benchmarks/cg/accuracy.py [data set:structure ...] [--random-splits N] [--lambdas .02 .05 ...]``
(default: letter:nb satimage:nb usps:nb mnist:nb on the usual split; structures: nb, tan-cmi, omi-cr, tan-cr).
"""

import argparse
import time

import numpy as np
from shared_data import load

import mmbn_opt as mm
from mmbn_opt.formulations.parameters.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin
from mmbn_opt.heuristics.orders import order_mi
from mmbn_opt.heuristics.tan_greedy import tan_cr
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.scores.predictive import classification_rate
from mmbn_opt.solvers.nonlinear.conjugate_gradient import ConjugateGradientSolver

STRUCTURES = {"nb": mm.naive_bayes, "tan-cmi": mm.tan_cmi, "omi-cr": order_mi, "tan-cr": tan_cr}
PAPER = {  # Pernkopf et al. 2012, Tables 1 and 2: ML, CG-MM, CG-CL in %; USPS: 8,000 of 11,000 images to learn from
    ("mnist", "nb"): "83.73 91.82 91.70",
    ("mnist", "tan-cmi"): "91.28 94.70 93.80",
    ("mnist", "omi-cr"): "92.01 94.94 93.39",
    ("mnist", "tan-cr"): "92.58 95.12 93.94",
    ("usps", "nb"): "87.10 95.23 93.67",
    ("usps", "tan-cmi"): "91.90 95.23 94.87",
    ("usps", "omi-cr"): "92.40 95.70 94.90",
    ("usps", "tan-cr"): "92.57 96.30 95.83",
}


def early_stopped(formulation, test):
    """(validation score, test accuracy, iteration) of the validated run."""
    watched = formulation.with_validation(0.2, seed=0)
    result = ConjugateGradientSolver(max_iterations=300).solve(watched.build(ProgramKind.NONLINEAR))
    rate = classification_rate(watched.recover(result.solution), test)
    return result.stats["best_monitor"], rate, result.stats["best_iteration"]


def three_rates(name: str, structure_name: str, draw: int | None, lambdas) -> tuple[float, float, float]:
    """Test accuracy of ML, CG-MM and CG-CL, told as they come."""
    train, test = load(name, draw)
    before = time.process_time()
    structure = STRUCTURES[structure_name](train)
    learned = time.process_time() - before
    likelihood = classification_rate(mm.BayesianNetwork.fit(structure, train), test)
    before = time.process_time()
    margins = {lam: early_stopped(SmoothMargin(train, structure, lam=lam), test) for lam in lambdas}
    spent = time.process_time() - before
    lam = max(margins, key=lambda value: margins[value][0])
    conditional = early_stopped(ConditionalLikelihood(train, structure), test)
    print(
        f"{name} {structure_name}{'' if draw is None else f', draw {draw}'} ({len(structure.edges) - train.n_features} "
        f"edges, {learned:.1f} CPU s): ML {likelihood:.4f}  CG-MM {margins[lam][1]:.4f} (lambda {lam}, iteration "
        f"{margins[lam][2]}; {len(lambdas)} values of lambda {spent:.1f} CPU s)  CG-CL {conditional[1]:.4f} (iteration "
        f"{conditional[2]})",
        flush=True,
    )
    return likelihood, margins[lam][1], conditional[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("requests", nargs="*", default=["letter:nb", "satimage:nb", "usps:nb", "mnist:nb"])
    parser.add_argument("--random-splits", type=int, default=0, help="draws of the same sizes from all rows")
    parser.add_argument("--lambdas", type=float, nargs="+", default=[0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
    asked = parser.parse_args()
    for request in asked.requests:
        name, _, structure_name = request.partition(":")
        draws = range(asked.random_splits) if asked.random_splits else [None]
        rates = [three_rates(name, structure_name, draw, asked.lambdas) for draw in draws]
        if len(rates) > 1:
            mean, spread = np.mean(rates, axis=0), np.std(rates, axis=0, ddof=1)
            cells = [
                f"{label} {m:.4f} +- {s:.4f}"
                for label, m, s in zip(("ML", "CG-MM", "CG-CL"), mean, spread, strict=True)
            ]
            print(f"{request}, {len(rates)} random splits: {'  '.join(cells)}", flush=True)
        if (name, structure_name) in PAPER:
            print(f"  the paper's ML, CG-MM, CG-CL: {PAPER[name, structure_name]} %", flush=True)


if __name__ == "__main__":
    main()
