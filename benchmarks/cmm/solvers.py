"""Margins and times of the solvers for CMM on a pair of classes of iris, wine and wdbc, and of one fit on `magic`.

All solvers start at the same point with their default settings. Times are of the processor (one thread), so that a busy
machine does not decide. "first at" is when a solver had a feasible point with at least IPOPT's final margin.

Usage: ``python benchmarks/cmm/solvers.py [seconds a run, default 20]``. The limit counts wall-clock seconds.
"""

import sys
import time

from tables import load

from mmbn_opt.formulations.mixture.constrained import ConstrainedMaximumMargin
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver
from mmbn_opt.solvers.nonlinear.ipopt import NonlinearIpoptSolver
from mmbn_opt.solvers.nonlinear.scipy_constrained import SlsqpSolver, TrustConstrSolver

PAIRS = {"iris": ("Iris-versicolor", "Iris-virginica"), "wine": ("1", "2"), "wdbc": None}
LBFGS, DESCENT, IPOPT = "exterior_penalty, lbfgs", "exterior_penalty, golden-section", "ipopt, functions"


def pair(name):
    X, y, _ = load(name)
    if PAIRS.get(name) is None:
        return X, y
    rows = (y == PAIRS[name][0]) | (y == PAIRS[name][1])
    return X[rows], y[rows]


class Watch:
    """Feasible margins as they are found, by seconds of the processor."""

    def __init__(self):
        self.began = time.process_time()
        self.found = []

    def __call__(self, event):
        if event.primal_bound is not None:
            self.found.append((time.process_time() - self.began, -event.primal_bound))
        return False

    def first_at(self, margin):
        return next((seconds for seconds, reached in self.found if reached >= margin), None)


def seconds_text(seconds):
    return "never" if seconds is None else f"{seconds:.2f} s"


def measure(name, limit):
    formulation = ConstrainedMaximumMargin(*pair(name), n_components=2)
    program = formulation.build()
    print(
        f"{name}: {program.n_constraints} samples, {len(program.x0)} parameters, "
        f"margin {-program.value(program.x0):.2f} and violation {program.violation(program.x0):.2f} at the start"
    )
    solvers = {
        IPOPT: NonlinearIpoptSolver(time_limit=limit),
        LBFGS: ExteriorPenaltySolver(time_limit=limit),
        "exterior_penalty, no restarts": ExteriorPenaltySolver(time_limit=limit, restarts=0),
        DESCENT: ExteriorPenaltySolver(inner="golden-section", time_limit=limit),
        "slsqp": SlsqpSolver(time_limit=limit),
        "trust_constr": TrustConstrSolver(time_limit=limit),
        "ipopt, pyomo": NonlinearIpoptSolver(time_limit=limit, through="pyomo"),
    }
    best, watches = {}, {}
    for label, solver in solvers.items():
        watches[label] = watch = Watch()
        result = solver.solve(program, callback=watch)
        seconds = time.process_time() - watch.began
        model = formulation.recover(result.solution)
        feasible = formulation.infeasibility(model) == 0.0
        best[label] = formulation.evaluate(model) if feasible else None
        print(
            f"  {label:33} margin {formulation.evaluate(model):9.2f}  violation {result.stats['violation']:8.2e}  "
            f"{seconds:6.2f} s  {result.stats['evaluations']:6} evaluations  {result.termination_status}",
            flush=True,
        )
    for rival in (IPOPT, DESCENT):
        if best[rival] is None:
            print(
                f"  {rival} found no feasible point; lbfgs had one at {seconds_text(watches[LBFGS].first_at(-1e300))}"
            )
            continue
        mine, theirs = (watches[label].first_at(best[rival]) for label in (LBFGS, rival))
        print(
            f"  margin {best[rival]:.2f} of {rival}: first at {seconds_text(theirs)}; lbfgs first at "
            f"{seconds_text(mine)}" + (f", {theirs / mine:.1f} times as fast" if mine and theirs else "")
        )


def measure_magic():
    X, y = pair("magic")
    formulation = ConstrainedMaximumMargin(X, y, n_components=4, tau=0.000025, xi_growth=1.0)
    before, wall = time.process_time(), time.perf_counter()
    result = ExteriorPenaltySolver(max_iterations=300).solve(formulation.build())
    seconds, wall = time.process_time() - before, time.perf_counter() - wall
    model = formulation.recover(result.solution)
    print(
        f"magic, {len(y):,} rows, K = 4: {seconds:.1f} s of the processor ({wall:.1f} s by the clock) for "
        f"{result.stats['iterations']} iterations, start included; margin {formulation.evaluate(model):.1f}, "
        f"{result.stats['violated']:,} samples miss xi, training rate {model.score(X, y):.4f} "
        f"(start {formulation.trivial_start().model.score(X, y):.4f})"
    )


def main() -> None:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    warm = ConstrainedMaximumMargin([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], 1)
    for solver in (ExteriorPenaltySolver(max_iterations=2), NonlinearIpoptSolver(max_iterations=2)):
        solver.solve(warm.build())
    for name in PAIRS:
        measure(name, limit)
    measure_magic()


if __name__ == "__main__":
    main()
