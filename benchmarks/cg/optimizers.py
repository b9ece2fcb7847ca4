"""Evaluations and seconds that each descent method needs to an equal objective, in one run.

Usage: ``python benchmarks/cg/optimizers.py [data set ...]`` (default: satimage letter).
"""

import sys
import time

import numpy as np
from shared_data import load

import mmbn_opt as mm
from mmbn_opt.formulations.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.smooth_margin import SmoothMargin
from mmbn_opt.program import NonlinearProgram, ProgramKind
from mmbn_opt.solvers.conjugate_gradient import ConjugateGradientSolver
from mmbn_opt.solvers.scipy_minimize import LbfgsSolver, ScipyCgSolver

ITERATIONS = 150
SHARES = (0.8, 0.9, 0.95, 0.99)  # of the way from the start to the best value that SciPy's CG reached


def run(solver, program) -> tuple[np.ndarray, np.ndarray, dict]:
    """Best value so far and seconds after each evaluation."""
    values, seconds = [], []
    before = time.perf_counter()

    def watched(x):
        value, gradient = program.value_and_gradient(x)
        values.append(value)
        seconds.append(time.perf_counter() - before)
        return value, gradient

    result = solver.solve(NonlinearProgram(watched, program.x0))
    return np.minimum.accumulate(values), np.array(seconds), dict(result.stats)


def main() -> None:
    methods = [s(max_iterations=ITERATIONS) for s in (ConjugateGradientSolver, LbfgsSolver, ScipyCgSolver)]
    for name in sys.argv[1:] or ["satimage", "letter"]:
        train, _ = load(name)
        structure = mm.naive_bayes(train)
        for formulation in (
            SmoothMargin(train, structure),
            SmoothMargin(train, structure, lam=0.3),
            ConditionalLikelihood(train, structure),
        ):
            program = formulation.build(ProgramKind.NONLINEAR)
            program.value_and_gradient(program.x0)
            runs = [run(solver, program) for solver in methods]
            start, reached = runs[2][0][0], runs[2][0][-1]
            targets = [start + share * (reached - start) for share in (*SHARES, 1.0)]
            print(
                f"\n{name}, {formulation.title}, lam {getattr(formulation, 'lam', '-')}: "
                f"from {start:.2f} to {reached:.2f}"
            )
            print("evaluations (seconds) to " + ", ".join(f"{share:.0%}" for share in (*SHARES, 1.0)))
            for solver, (values, seconds, stats) in zip(methods, runs, strict=True):
                cells = []
                for target in targets:
                    hit = np.flatnonzero(values <= target)
                    cells.append(f"{hit[0] + 1:4d} ({seconds[hit[0]]:5.2f})" if len(hit) else "   never   ")
                per_iteration = stats["evaluations"] / max(1, stats["iterations"])
                print(f"  {solver.name:20s} {'  '.join(cells)}   {per_iteration:.2f} evaluations an iteration")


if __name__ == "__main__":
    main()
