"""Choice of hyper-parameters by cross-validation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, whole
from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import stop_asked
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.folds import stratified_folds
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.parameters.softmax import SoftmaxParameters
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.nonlinear import NonlinearProgram
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.nonlinear.conjugate_gradient import ConjugateGradientSolver
from mmbn_opt.solvers.nonlinear.descent import DescentSolver
from mmbn_opt.solvers.registry import get_solver_class
from mmbn_opt.tuning.defaults import KAPPAS, LAMBDAS
from mmbn_opt.tuning.many_runs import ONE_PART_ABOVE, run_until_interrupted

__all__ = ["Tuning", "held_out_parts", "tune", "tune_on"]

_CONJUGATE_GRADIENT = ConjugateGradientSolver()


@dataclass(frozen=True, eq=False)
class Tuning:
    """What cross-validation chose.

    Parameters
    ----------
    formulation : SoftmaxParameters
        On all data, with the chosen settings: ``mmbn_opt.solve(tuning.formulation, tuning.solver)`` learns the model.
    solver : DescentSolver
        Its ``max_iterations`` is the chosen number.
    settings : dict
        The chosen values by name.
    iterations : int
    rate : float
        Mean classification rate on the held-out folds at that number of iterations.
    table : DataFrame
        One row a point of the grid: its values, ``iterations``, ``rate`` and the ``spread`` of the rate over the folds.
    interrupted : bool
        Whether points of the grid are missing because of Ctrl-C.
    """

    formulation: SoftmaxParameters
    solver: DescentSolver
    settings: Mapping[str, float]
    iterations: int
    rate: float
    table: pd.DataFrame = field(repr=False)
    interrupted: bool = False


def tune(
    formulation: SoftmaxParameters,
    grid: Mapping[str, Sequence[float]] | None = None,
    *,
    folds: int | None = None,
    solver: str | DescentSolver = _CONJUGATE_GRADIENT,
    max_iterations: int = 200,
    patience: int = 20,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Tuning:
    """Choose settings and the number of iterations of a parameter formulation by cross-validation.

    Every point of the grid is learned on all folds but one, with the classification rate on that fold taken after each
    iteration ("cross tuning", Greiner et al. 2005; Pernkopf et al. 2012, section 5). The curves are averaged over the
    folds; the point and the iteration with the highest mean win. Ties go to fewer iterations, then to the earlier
    point.

    Ctrl-C ends the choice: it is made among the points that were learned on all folds.

    The runs go through joblib: ``with joblib.parallel_config(backend="dask"): tune(...)`` takes them off the machine.

    Parameters
    ----------
    formulation : SoftmaxParameters
        `SmoothMargin` or `ConditionalLikelihood`; its `validation` is not used.
    grid : mapping from field name to values, or None
        None takes six values of lam and two of kappa for the smooth margin and nothing for the conditional likelihood.
    folds : int or None
        None is the papers' protocol: one held-out fifth above 1,000 rows, 5-fold cross-validation below.
    solver : str or DescentSolver
        Conjugate gradients by default.
    max_iterations, patience : int
        Of each run. A run that ends early keeps its last rate.
    seed : int
        Of the folds.
    n_jobs : int or None
        As in ``joblib.Parallel``; the answer does not depend on it.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came before the first point was complete.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> from mmbn_opt import SmoothMargin
    >>> data = mm.prepare(mm.load_dataset("iris"), "class").data
    >>> chosen = tune(SmoothMargin(data, mm.naive_bayes(data)), {"lam": [0.05, 0.5]}, max_iterations=30)
    >>> sorted(chosen.settings), len(chosen.table), chosen.rate > 0.9
    (['lam'], 2, True)
    """
    check_arguments(tune, locals())
    data = formulation.data
    points = _points(formulation, grid)
    engine = _engine(solver, max_iterations, patience)
    parts = [
        (data.subset(train), data.subset(held_out))
        for train, held_out in held_out_parts(data, folds, whole("seed", seed))
    ]
    return tune_on(formulation, points, parts, engine, n_jobs)


def tune_on(
    formulation: SoftmaxParameters,
    points: Sequence[Mapping[str, Any]],
    parts: Sequence[tuple[DiscreteDataset, DiscreteDataset]],
    solver: DescentSolver,
    n_jobs: int | None = None,
) -> Tuning:
    """The choice of `tune` among listed points, on given parts.

    Parameters
    ----------
    formulation : SoftmaxParameters
    points : sequence of mapping
        Settings by name.
    parts : sequence of (DiscreteDataset, DiscreteDataset)
        To learn from, and held out.
    solver : DescentSolver
    n_jobs : int or None
    """
    splits = [replace(formulation, data=train, validation=held_out) for train, held_out in parts]
    weights = np.array([held_out.total_weight for _, held_out in parts])
    work = [(replace(split, **point), solver) for point in points for split in splits]
    curves = run_until_interrupted(_rates, work, n_jobs)
    complete = points[: len(curves) // len(splits)]
    if not complete:
        raise KeyboardInterrupt
    rows, best = [], (-1.0, 0, 0)
    for number, point in enumerate(complete):
        own = curves[number * len(splits) : (number + 1) * len(splits)]
        length = max(map(len, own))
        padded = np.array([[*curve, *[curve[-1]] * (length - len(curve))] for curve in own])
        mean = np.round(np.average(padded, axis=0, weights=weights), 12)
        at = int(np.argmax(mean))
        rows.append({**point, "iterations": at, "rate": float(mean[at]), "spread": float(padded[:, at].std())})
        best = max(best, (float(mean[at]), -at, -number))
    rate, minus_iterations, minus_number = best
    settings = points[-minus_number]
    return Tuning(
        formulation=replace(formulation, validation=None, **settings),
        solver=replace(solver, max_iterations=-minus_iterations),
        settings=settings,
        iterations=-minus_iterations,
        rate=rate,
        table=pd.DataFrame(rows),
        interrupted=len(complete) < len(points),
    )


def held_out_parts(
    data: DiscreteDataset, folds: int | None = None, seed: int = 0
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Row numbers to learn from and row numbers held out, part by part, classes in proportion.

    Parameters
    ----------
    data : DiscreteDataset
    folds : int or None
        None is the papers' protocol: one held-out fifth above 1,000 rows, 5-fold cross-validation below.
    seed : int
        Of the draw, which does not depend on the order of the rows.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a"]] * 6, [0, 0, 0, 0, 1, 1])
    >>> [(len(train), len(held_out)) for train, held_out in held_out_parts(data, folds=2)]
    [(3, 3), (3, 3)]
    """
    n_folds, used = _plan(data.n_samples, folds)
    fold = stratified_folds(data, n_folds, seed)
    # A class with one row is learned from, never held out: without it there may be nothing to tell apart.
    alone = np.bincount(data.target_codes)[data.target_codes] < 2
    held = [(fold == k) & ~alone for k in used]
    parts = [(np.flatnonzero(~rows), np.flatnonzero(rows)) for rows in held if rows.any()]
    if not parts:
        raise InputError("Cross-validation needs a class with at least two rows; no class has them.")
    return parts


def _points(formulation: SoftmaxParameters, grid: Mapping[str, Sequence[float]] | None) -> list[dict[str, Any]]:
    """Points of the grid, the last name varying fastest."""
    settings = {f.name for f in fields(formulation)} - {"data", "structure", "validation"}
    if grid is None:
        usual: Mapping[str, Sequence[float]] = {"lam": LAMBDAS["cg-mm"], "kappa": KAPPAS}
        grid = {name: values for name, values in usual.items() if name in settings}
    for name, values in grid.items():
        if name not in settings:
            raise InputError(f"{type(formulation).__name__} has no setting {name!r} to tune.")
        if not len(values):
            raise InputError(f"The grid lists no values for {name!r}.")
    points: list[dict[str, Any]] = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    for point in points:
        replace(formulation, **point)  # a wrong value is named here, not in a worker
    return points


def _engine(solver: str | DescentSolver, max_iterations: int, patience: int) -> DescentSolver:
    engine = get_solver_class(solver)() if isinstance(solver, str) else solver
    if not isinstance(engine, DescentSolver):
        raise InputError(f"tune needs a descent method (conjugate_gradient, lbfgs, scipy_cg), got {engine.name!r}.")
    return replace(engine, max_iterations=max_iterations, patience=patience)


def _plan(n_samples: int, folds: int | None) -> tuple[int, list[int]]:
    """Number of folds and which of them are held out in turn."""
    if folds is None:
        n_folds = min(5, n_samples)
        return n_folds, [0] if n_samples > ONE_PART_ABOVE else list(range(n_folds))
    expected = f"a whole number from 2 to the number of rows ({n_samples})"
    n_folds = whole("folds", folds, 2, n_samples, expected=expected)
    return n_folds, list(range(n_folds))


def _rates(formulation: SoftmaxParameters, solver: DescentSolver) -> list[float] | None:
    """Classification rate on the held-out rows after 0, 1, 2, ... iterations of one run; None when it was cut off."""
    program = formulation.build(ProgramKind.NONLINEAR)
    monitor = program.monitor
    assert monitor is not None
    rates: list[float] = []

    def watched(x: FloatArray) -> float:
        rates.append(monitor(x))
        return rates[-1]

    watched_program = NonlinearProgram(program.value_and_gradient, program.x0, monitor=watched)
    answer = solver.solve(watched_program, callback=lambda event: stop_asked())
    return None if answer.termination_status is TerminationStatus.INTERRUPTED else rates
