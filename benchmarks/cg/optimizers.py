"""Evaluations and CPU seconds that each descent method needs to an equal objective, in one run.

Usage: ``python benchmarks/cg/optimizers.py [data set[:structure] ...]``
(default: vehicle segment satimage letter usps, naive Bayes, and satimage:tan-cmi).
"""

import contextlib
import sys
import time

import numpy as np
from shared_data import load

import mmbn_opt as mm
from mmbn_opt.formulations.parameters.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.nonlinear import NonlinearProgram
from mmbn_opt.solvers.nonlinear.conjugate_gradient import ConjugateGradientSolver
from mmbn_opt.solvers.nonlinear.scipy_minimize import LbfgsSolver, ScipyCgSolver

ITERATIONS = 100
SHARES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)  # of the way from the start to the best value of SciPy's CG
DEFAULT = ("vehicle", "segment", "satimage", "satimage:tan-cmi", "letter", "usps")
METHODS = {
    "scipy_cg": ScipyCgSolver(max_iterations=ITERATIONS),
    "conjugate_gradient": ConjugateGradientSolver(max_iterations=2 * ITERATIONS),
    "polak-ribiere": ConjugateGradientSolver(max_iterations=2 * ITERATIONS, update="polak-ribiere"),
    "lbfgs": LbfgsSolver(max_iterations=2 * ITERATIONS),
}


class Reached(Exception):
    """The last target is met."""


def run(solver, program, target: float = -np.inf) -> tuple[np.ndarray, np.ndarray, float]:
    """Best value so far and CPU seconds after each evaluation, and evaluations an iteration."""
    values, seconds = [], []
    before = time.process_time()

    def watched(x):
        value, gradient = program.value_and_gradient(x)
        values.append(value)
        seconds.append(time.process_time() - before)
        if value <= target:
            raise Reached
        return value, gradient

    iterations = [0]
    with contextlib.suppress(Reached):
        solver.solve(
            NonlinearProgram(watched, program.x0), callback=lambda event: iterations.append(event.iterations) or False
        )
    return np.minimum.accumulate(values), np.array(seconds), len(values) / max(1, iterations[-1])


def main() -> None:
    ratios: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {name: [] for name in METHODS}
    per_iteration: dict[str, list[float]] = {name: [] for name in METHODS}
    for request in sys.argv[1:] or DEFAULT:
        name, _, kind = request.partition(":")
        train, _ = load(name)
        structure = mm.tan_cmi(train) if kind == "tan-cmi" else mm.naive_bayes(train)
        for label, formulation in (
            ("CG-MM, lambda 1", SmoothMargin(train, structure)),
            ("CG-MM, lambda .1", SmoothMargin(train, structure, lam=0.1)),
            ("CG-CL", ConditionalLikelihood(train, structure)),
        ):
            program = formulation.build(ProgramKind.NONLINEAR)
            program.value_and_gradient(program.x0)  # compile
            yardstick, *_ = first = run(METHODS["scipy_cg"], program)
            targets = yardstick[0] + np.array(SHARES) * (yardstick[-1] - yardstick[0])
            print(f"\n{request}, {label}: from {yardstick[0]:.2f} to {yardstick[-1]:.2f}")
            print("evaluations (CPU seconds) to " + ", ".join(f"{share:.1%}" for share in SHARES))
            base = None
            for method, solver in METHODS.items():
                values, seconds, cost = first if method == "scipy_cg" else run(solver, program, targets[-1])
                met = values[:, None] <= targets
                at = np.where(met.any(axis=0), met.argmax(axis=0), -1)
                counts = np.where(at >= 0, at + 1.0, np.nan)
                spent = np.where(at >= 0, seconds[at], np.nan)
                base = (counts, spent) if base is None else base
                ratios[method].append((counts / base[0], spent / base[1]))
                per_iteration[method].append(cost)
                cells = "  ".join(f"{n:4.0f} ({s:6.3f})" for n, s in zip(counts, spent, strict=True))
                print(f"  {method:20s}{cells}   {cost:.2f} evaluations an iteration", flush=True)
    print(f"\n{'relative to scipy_cg':34s}" + "".join(f"{share:7.1%}" for share in SHARES))
    for method, rows in ratios.items():
        for what, table in (("evaluations", [row[0] for row in rows]), ("CPU seconds", [row[1] for row in rows])):
            numbers = np.array(table)
            never = int(np.isnan(numbers).sum())
            mean = np.exp(np.nanmean(np.log(numbers), axis=0))
            print(
                f"{method}, {what}".ljust(34)
                + "".join(f"{value:7.2f}" for value in mean)
                + f"   more in {int((numbers > 1).sum())} of {numbers.size}, worst {np.nanmax(numbers):.2f}, "
                f"never {never}"
            )
        print(f"{method}: at most {max(per_iteration[method]):.2f} evaluations an iteration")


if __name__ == "__main__":
    main()
