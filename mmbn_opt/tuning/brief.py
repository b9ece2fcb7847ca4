"""What the gradient methods do by default: few candidates, a bounded number of iterations, on held-out weight."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmbn_opt.data.folds import weighed_parts
from mmbn_opt.formulations.parameters.softmax import SoftmaxParameters
from mmbn_opt.solvers.nonlinear.descent import DescentSolver
from mmbn_opt.tuning.defaults import ITERATIONS
from mmbn_opt.tuning.grid import Tuning, tune_on
from mmbn_opt.tuning.many_runs import ONE_PART_ABOVE

__all__ = ["brief_choice"]

FOLDS = 5
PATIENCE = 15
"""Iterations without a better rate after which a run ends."""


def brief_choice(
    formulation: SoftmaxParameters,
    lambdas: Sequence[float],
    solver: DescentSolver,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    seconds: float | None = None,
) -> Tuning | None:
    """Choose the number of iterations, up to the default one, and a value of lambda among a few.

    One held-out fifth above 1,000 rows; below, 5 folds and the first value of lambda alone: five runs a value cost many
    times the final one, and so few rows do not tell two values apart. The parts are drawn by weight, so that a row
    of weight 2 is that row twice, and data with other weights of the same proportions give the same choice.

    Parameters
    ----------
    formulation : SoftmaxParameters
    lambdas : sequence of float
        Empty where the formulation has none.
    solver : DescentSolver
    seed : int
        Of the parts.
    n_jobs : int or None
    seconds : float or None
        For all runs together.

    Returns
    -------
    Tuning or None
        None where nothing can be held out, since no class has two rows.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> from mmbn_opt.solvers import ConjugateGradientSolver
    >>> data = mm.prepare(mm.load_dataset("iris"), "class").data
    >>> chosen = brief_choice(mm.SmoothMargin(data, mm.naive_bayes(data)), (0.05, 0.5), ConjugateGradientSolver())
    >>> chosen.settings, chosen.iterations <= 100
    ({'lam': 0.05}, True)
    """
    parts = weighed_parts(formulation.merged, FOLDS, one_above=ONE_PART_ABOVE, seed=seed)
    if not parts:
        return None
    tried = lambdas if len(parts) == 1 else lambdas[:1]
    points: list[Mapping[str, Any]] = [{"lam": lam} for lam in tried] or [{}]
    engine = replace(solver, max_iterations=ITERATIONS, patience=PATIENCE)
    if seconds is not None:
        engine = replace(engine, time_limit=seconds / (len(parts) * len(points)))
    return tune_on(formulation, points, parts, engine, n_jobs)
