"""Choice of the margin of the convex relaxation along a path of warm starts, the winner with a proof."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments
from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import interruptible, noting_signals, stop_asked, until_interrupted
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.parameters.relaxation import MaxMarginRelaxation
from mmbn_opt.networks.log_linear import LogLinearClassifier
from mmbn_opt.results.result import Result
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solvers.convex.first_order import FirstOrderSolver
from mmbn_opt.solvers.convex.proximal_newton import WARM_SECONDS, ProximalNewtonSolver
from mmbn_opt.solving.dispatch import solve
from mmbn_opt.solving.settings import SolveSettings
from mmbn_opt.tuning.defaults import LAMBDAS, RELAXATION_GAP
from mmbn_opt.tuning.grid import held_out_parts

__all__ = ["LambdaPath", "choose_lambda", "lambda_path"]

CLOSE_GAP = 1e-3
"""From here on the proximal Newton method is done sooner than the first-order method."""


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
    interrupted : bool
        Whether values of lambda are missing because of Ctrl-C; the winner's run has then ended at its start.
    """

    lam: float
    rate: float
    formulation: MaxMarginRelaxation
    result: Result
    table: pd.DataFrame = field(repr=False)
    interrupted: bool = False


def lambda_path(
    relaxation: MaxMarginRelaxation,
    lambdas: Sequence[float] = LAMBDAS["relaxation"],
    *,
    folds: int | None = None,
    selection_gap: float = 1e-2,
    rel_gap: float | None = None,
    time_limit: float | None = None,
    solver: str | Solver = "auto",
    seed: int | None = None,
) -> LambdaPath:
    """Choose lambda on held-out rows, then learn from all rows and prove the gap of the winner only.

    Along the path each run begins at the point and the multipliers of the one before, from the largest lambda (the
    smallest margin) down, and stops at a certified gap of `selection_gap`: smaller ones select no better. Ties go to
    the larger lambda. Ctrl-C ends the path: the choice is made among the values that were learned on all folds.

    Parameters
    ----------
    relaxation : MaxMarginRelaxation
        "floor" or "hybrid"; its gamma is not used. The published problem has no lambda to choose.
    lambdas : sequence of float
    folds : int or None
        None is the papers' protocol: one held-out fifth above 1,000 rows, 5-fold cross-validation below.
    selection_gap : float
        Of the runs along the path, by the first-order method; by the proximal Newton method from 1e-3 down.
    rel_gap : float or None
        Of the winner; None is what a configured solver says, and else 1e-4.
    time_limit : float or None
        Seconds for each run along the path and for the winner.
    solver : str or Solver
        Of the winner.
    seed : int or None
        Of the folds (None: 0) and of the winner's run.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.prepare(mm.load_dataset("iris"), "class").data
    >>> chosen = lambda_path(mm.MaxMarginRelaxation(data, mm.naive_bayes(data)), [0.05, 0.5])
    >>> chosen.rate > 0.9, len(chosen.table), chosen.result.bounds.gap_rel < 1e-4
    (True, 2, True)
    """
    check_arguments(lambda_path, locals())
    if relaxation.constraints:
        raise InputError(
            "lambda_path goes along a path by methods that take no constraints on entries; leave constraints out, or "
            "solve the relaxation at each gamma by itself."
        )
    settings = SolveSettings(time_limit=time_limit, rel_gap=rel_gap, seed=seed)
    settings = settings.otherwise(solver, rel_gap=RELAXATION_GAP)
    with noting_signals():
        chosen, table = choose_lambda(
            relaxation, lambdas, folds=folds, selection_gap=selection_gap, time_limit=time_limit, seed=seed or 0
        )
        return LambdaPath(
            lam=float(table["lam"].to_numpy()[table["rate"].to_numpy().argmax()]),
            rate=float(table["rate"].max()),
            formulation=chosen,
            result=solve(chosen, solver, **settings.given()),
            table=table,
            interrupted=len(table) < len({float(lam) for lam in lambdas}),
        )


def choose_lambda(
    relaxation: MaxMarginRelaxation,
    lambdas: Sequence[float] = LAMBDAS["relaxation"],
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

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came before the first value of lambda was complete.
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
    walks = [_Walk(relaxation, train, held) for train, held in splits]
    steps: list[list[tuple[float, float, float]]] = []
    with noting_signals():
        for lam in ordered:
            step = []
            for walk in walks:
                done = walk.step(lam, selection_gap, time_limit)
                if done is None:
                    break
                step.append(done)
            if len(step) < len(walks):
                break
            steps.append(step)
    if not steps:
        raise KeyboardInterrupt
    ordered = ordered[: len(steps)]
    rates, gaps, seconds = np.transpose(np.array(steps), (2, 1, 0))
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


class _Walk:
    """The path on one fold: where it is, so that the next lambda begins there."""

    def __init__(self, relaxation: MaxMarginRelaxation, train: NDArray[np.intp], held: NDArray[np.intp]) -> None:
        self._part = replace(relaxation, data=relaxation.data.subset(train))
        self._test = relaxation.data.subset(held)
        self._program = self._part.held_program
        self._w: FloatArray = self._part.encode(self._part.maximum_likelihood)
        self._y: FloatArray | None = None

    def step(self, lam: float, gap: float, time_limit: float | None) -> tuple[float, float, float] | None:
        """Rate, certified gap and seconds at `lam`; None when Ctrl-C cut it off."""
        engine: Solver = FirstOrderSolver(rel_gap=gap, time_limit=time_limit, multipliers=self._y)
        if gap <= CLOSE_GAP:  # the first value is warmed up by the first-order method
            warm = WARM_SECONDS if self._y is None else 0.0
            engine = ProximalNewtonSolver(
                rel_gap=gap, time_limit=time_limit, multipliers=self._y, warm_seconds=warm
            )  # fmt: skip
        with until_interrupted() as cut, interruptible():
            answer = engine.solve(self._program.at_gamma(1.0 / lam), callback=lambda event: stop_asked(), start=self._w)
        if cut or answer.termination_status is TerminationStatus.INTERRUPTED:
            return None
        assert answer.solution is not None
        self._w, self._y = answer.solution, answer.multipliers
        return _rate(self._part.recover(self._w), self._test), answer.bounds.gap_rel, answer.seconds


def _rate(model: LogLinearClassifier, data: DiscreteDataset) -> float:
    right = model.log_joint(data.codes).argmax(axis=1) == data.target_codes
    return float(data.sample_weight @ right / data.total_weight)
