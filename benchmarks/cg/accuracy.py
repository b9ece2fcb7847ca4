"""Test accuracy of ML, CG-MM and CG-CL on the shared splits, settings chosen on a held-out fifth of the training rows.

Usage: ``python benchmarks/cg/accuracy.py [data set:structure ...]`` (default: letter:nb satimage:nb usps:nb mnist:nb).
"""

import sys
import time

from shared_data import load

import mmbn_opt as mm
from mmbn_opt.formulations.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.smooth_margin import SmoothMargin
from mmbn_opt.heuristics.orders import order_mi
from mmbn_opt.program import ProgramKind
from mmbn_opt.scores import classification_rate
from mmbn_opt.solvers.conjugate_gradient import ConjugateGradientSolver

STRUCTURES = {"nb": mm.naive_bayes, "tan-cmi": mm.tan_cmi, "omi": order_mi}
LAMBDAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
PAPER = {  # Pernkopf et al. 2012, Tables 1 and 2: ML, CG-MM, CG-CL
    ("mnist", "nb"): "83.73 91.82 91.70",
    ("mnist", "tan-cmi"): "91.28 94.70 93.80",
    ("mnist", "omi"): "92.01 94.94 93.39",
    ("usps", "nb"): "87.10 95.23 93.67 (8,000 of 11,000 images drawn at random)",
    ("usps", "tan-cmi"): "91.90 95.23 94.87 (8,000 of 11,000 images drawn at random)",
}


def early_stopped(formulation, test):
    """(validation score, test accuracy, iteration, seconds) of the validated run."""
    before = time.perf_counter()
    watched = formulation.with_validation(0.2, seed=0)
    result = ConjugateGradientSolver(max_iterations=300).solve(watched.build(ProgramKind.NONLINEAR))
    seconds = time.perf_counter() - before
    rate = classification_rate(watched.recover(result.solution), test)
    return result.stats["best_monitor"], rate, result.stats["best_iteration"], seconds


def main() -> None:
    for request in sys.argv[1:] or ["letter:nb", "satimage:nb", "usps:nb", "mnist:nb"]:
        name, _, structure_name = request.partition(":")
        train, test = load(name)
        structure = STRUCTURES[structure_name](train)
        likelihood = classification_rate(mm.BayesianNetwork.fit(structure, train), test)
        margins = {lam: early_stopped(SmoothMargin(train, structure, lam=lam), test) for lam in LAMBDAS}
        lam = max(margins, key=lambda value: margins[value][0])
        conditional = early_stopped(ConditionalLikelihood(train, structure), test)
        seconds = sum(run[3] for run in margins.values())
        print(
            f"{name} {structure_name}: ML {likelihood:.4f}  CG-MM {margins[lam][1]:.4f} (lam {lam}, iteration "
            f"{margins[lam][2]}, {margins[lam][3]:.1f} s; {len(LAMBDAS)} values of lam {seconds:.1f} s)  CG-CL "
            f"{conditional[1]:.4f} (iteration {conditional[2]}, {conditional[3]:.1f} s)",
            flush=True,
        )
        if (name, structure_name) in PAPER:
            print(f"  the paper's figures: {PAPER[name, structure_name]}", flush=True)


if __name__ == "__main__":
    main()
