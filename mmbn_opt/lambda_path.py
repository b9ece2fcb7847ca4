"""Choice of the margin of the convex relaxation along a path of warm starts, the winner with a proof."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt.data import DiscreteDataset
from mmbn_opt.dispatch import solve
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.max_margin_relaxation import MaxMarginRelaxation
from mmbn_opt.log_linear import LogLinearClassifier
from mmbn_opt.result import Result
from mmbn_opt.selection import held_out_parts
from mmbn_opt.solvers.first_order import FirstOrderSolver

__all__ = ["DEFAULT_LAMBDAS", "LambdaPath", "choose_lambda", "lambda_path"]

FloatArray = NDArray[np.float64]

DEFAULT_LAMBDAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0)


@dataclass(frozen=True, eq=False)
class LambdaPath:
    """What the held-out rows say of each lambda, and the winner on all rows.

    Parameters
    ----------
    lam : float
        The chosen ``1 / gamma``.
    rate : float
        Its mean classification rate on held-out rows.
    formulation : MaxMarginRelaxation
        On all rows, at the chosen lambda.
    result : Result
        Of that formulation, with its certified gap.
    table : DataFrame
        One row a lambda: ``lam``, ``rate``, ``spread`` over the folds, the largest certified gap (``gap_rel``) and the
        seconds of its runs together.
    """

    lam: float
    rate: float
    formulation: MaxMarginRelaxation
    result: Result
    table: pd.DataFrame = field(repr=False)


def lambda_path(
    relaxation: MaxMarginRelaxation,
    lambdas: Sequence[float] = DEFAULT_LAMBDAS,
    *,
    folds: int | None = None,
    selection_gap: float = 1e-2,
    rel_gap: float = 1e-4,
    time_limit: float | None = None,
    solver: Any = "auto",
    seed: int = 0,
) -> LambdaPath:
    """Choose lambda on held-out rows, then learn from all rows and prove the gap of the winner only.

    Along the path each run begins at the point and the multipliers of the one before, from the largest lambda (the
    smallest margin) down, and stops at a certified gap of `selection_gap`: smaller ones select no better. Ties go to
    the larger lambda.

    Parameters
    ----------
    relaxation : MaxMarginRelaxation
        "floor" or "hybrid"; its gamma is not used. The published problem has no lambda to choose.
    lambdas : sequence of float
    folds : int or None
        None is the papers' protocol: one held-out fifth above 1,000 rows, 5-fold cross-validation below.
    selection_gap, rel_gap : float
        Of the runs along the path, and of the winner.
    time_limit : float or None
        Seconds for each run along the path and for the winner.
    solver : str or Solver
        Of the winner.
    seed : int
        Of the folds.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.prepare(mm.load_dataset("iris"), "class").data
    >>> chosen = lambda_path(mm.MaxMarginRelaxation(data, mm.naive_bayes(data)), [0.05, 0.5])
    >>> chosen.rate > 0.9, len(chosen.table), chosen.result.bounds.gap_rel < 1e-4
    (True, 2, True)
    """
    chosen, table = choose_lambda(
        relaxation, lambdas, folds=folds, selection_gap=selection_gap, time_limit=time_limit, seed=seed
    )
    return LambdaPath(
        lam=float(table["lam"].to_numpy()[table["rate"].to_numpy().argmax()]),
        rate=float(table["rate"].max()),
        formulation=chosen,
        result=solve(chosen, solver, rel_gap=rel_gap, time_limit=time_limit, seed=seed),
        table=table,
    )


def choose_lambda(
    relaxation: MaxMarginRelaxation,
    lambdas: Sequence[float] = DEFAULT_LAMBDAS,
    *,
    folds: int | None = None,
    selection_gap: float = 1e-2,
    time_limit: float | None = None,
    seed: int = 0,
) -> tuple[MaxMarginRelaxation, pd.DataFrame]:
    """The choice of `lambda_path` alone: the winner, not yet solved on all rows, and the table.

    Parameters
    ----------
    relaxation, lambdas, folds, selection_gap, time_limit, seed
        As in `lambda_path`; `time_limit` is that of each run.
    """
    if relaxation.normalization == "published" or relaxation.B is not None:
        raise InputError(
            'A path of lambda needs normalization="floor" or "hybrid" without B; B only rescales the published problem.'
        )
    ordered = sorted({float(lam) for lam in lambdas}, reverse=True)
    if not ordered:
        raise InputError("The path lists no values of lambda.")
    for lam in ordered:
        replace(relaxation, gamma=1.0 / lam if lam else -1.0)  # a wrong value is named before the first run
    splits = held_out_parts(relaxation.data, folds, seed)
    weights = np.array([relaxation.data.sample_weight[held].sum() for _, held in splits])
    rates = np.zeros((len(splits), len(ordered)))
    gaps, seconds = np.zeros_like(rates), np.zeros_like(rates)
    for k, (train, held) in enumerate(splits):
        part = replace(relaxation, data=relaxation.data.subset(train))
        test = relaxation.data.subset(held)
        program = part.build()
        w: FloatArray | None = part.encode(part.maximum_likelihood)
        y: FloatArray | None = None
        for j, lam in enumerate(ordered):
            engine = FirstOrderSolver(rel_gap=selection_gap, time_limit=time_limit, multipliers=y)
            answer = engine.solve(program.at_gamma(1.0 / lam), start=w)
            w, y = answer.solution, answer.stats.get("multipliers")
            assert w is not None
            rates[k, j] = _rate(part.recover(w), test)
            gaps[k, j], seconds[k, j] = answer.bounds.gap_rel, answer.stats["solve_sec"]
    mean = np.round(np.average(rates, axis=0, weights=weights), 12)
    best = int(mean.argmax())
    table = pd.DataFrame(
        {
            "lam": ordered,
            "rate": mean,
            "spread": rates.std(axis=0),
            "gap_rel": gaps.max(axis=0),
            "seconds": seconds.sum(axis=0),
        }
    )
    return replace(relaxation, gamma=1.0 / ordered[best]), table


def _rate(model: LogLinearClassifier, data: DiscreteDataset) -> float:
    right = model.log_joint(data.codes).argmax(axis=1) == data.target_codes
    return float(data.sample_weight @ right / data.total_weight)
