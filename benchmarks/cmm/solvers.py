"""Margins and seconds of the solvers for CMM on one pair of classes, and the time of a fit on `magic`.

Usage: ``python benchmarks/cmm/solvers.py [seconds a run, default 20]``.
"""

import sys
import time

from tables import load

from mmbn_opt.formulations.constrained_maximum_margin import ConstrainedMaximumMargin
from mmbn_opt.solvers.exterior_penalty import ExteriorPenaltySolver
from mmbn_opt.solvers.ipopt_nonlinear import IpoptSolver
from mmbn_opt.solvers.scipy_constrained import SlsqpSolver, TrustConstrSolver

PAIRS = {"iris": ("Iris-versicolor", "Iris-virginica"), "wine": ("1", "2"), "wdbc": None}


def pair(name):
    X, y, _ = load(name)
    if PAIRS.get(name) is None:
        return X, y
    rows = (y == PAIRS[name][0]) | (y == PAIRS[name][1])
    return X[rows], y[rows]


def main() -> None:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    solvers = {
        "exterior_penalty, lbfgs": ExteriorPenaltySolver(time_limit=limit),
        "exterior_penalty, golden-section": ExteriorPenaltySolver(inner="golden-section", time_limit=limit),
        "slsqp": SlsqpSolver(time_limit=limit),
        "trust_constr": TrustConstrSolver(time_limit=limit),
        "ipopt": IpoptSolver(time_limit=limit),
    }
    for name in PAIRS:
        formulation = ConstrainedMaximumMargin(*pair(name), n_components=2)
        program = formulation.build()
        print(
            f"{name}: {program.n_constraints} samples, {len(program.x0)} parameters, "
            f"margin {-program.value(program.x0):.2f} and violation {program.violation(program.x0):.2f} at the start"
        )
        for label, solver in solvers.items():
            result = solver.solve(program)
            model = formulation.recover(result.solution)
            print(
                f"  {label:33} margin {formulation.evaluate(model):9.2f}  violation {result.stats['violation']:9.2e}  "
                f"{result.stats['solve_sec']:6.2f} s  {result.stats['evaluations']:6} evaluations  "
                f"{result.termination_status}",
                flush=True,
            )
    X, y = pair("magic")
    formulation = ConstrainedMaximumMargin(X, y, n_components=4, tau=0.000025, xi_growth=1.0)
    before = time.perf_counter()
    result = ExteriorPenaltySolver(max_iterations=300).solve(formulation.build())
    seconds = time.perf_counter() - before
    model = formulation.recover(result.solution)
    print(
        f"magic, {len(y):,} rows, K = 4: {seconds:.1f} s for {result.stats['iterations']} iterations, start included; "
        f"margin {formulation.evaluate(model):.1f}, {result.stats['violated']:,} samples miss xi, "
        f"training rate {model.score(X, y):.4f} (start {formulation.trivial_start().model.score(X, y):.4f})"
    )


if __name__ == "__main__":
    main()
