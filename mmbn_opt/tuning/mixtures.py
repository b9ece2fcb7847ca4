"""A calibration for classifiers of mixtures, chosen on rows that the models it is chosen with have not seen."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.folds import numeric_folds
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.scores.calibration import Calibration
from mmbn_opt.tuning.calibration import LEAST_ROWS, HeldOutScores, calibrate_on, some_rows
from mmbn_opt.tuning.many_runs import ONE_PART_ABOVE

__all__ = ["LearnMixture", "calibrate_mixture"]

FOLDS = 3
"""Fewer than for networks: a fit of mixtures takes longer than one of tables by orders of magnitude."""

ONE_PART = 5
"""Of many rows one in so many is held out."""

LearnMixture = Callable[[FloatArray, NDArray[np.intp], float | None], MixtureClassifier | None]
"""From standardised samples, class codes and seconds to a classifier; None when it was cut off."""


def calibrate_mixture(
    data: NumericDataset,
    learn: LearnMixture,
    *,
    own: MixtureClassifier | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    seconds: float | None = None,
) -> Calibration:
    """A temperature on the decision values, or a map with bends.

    Equal rows stay together, so that a row of weight 2 is that row twice.

    Parameters
    ----------
    data : NumericDataset
    learn : callable
        From samples as ``data.z`` has them, class codes and seconds.
    own : MixtureClassifier or None
        What is calibrated, over samples as they were before they were standardised: where the limit leaves no time for
        any part, the rows that it was learned from have to do.
    seed : int
        Of the parts.
    n_jobs : int or None
    seconds : float or None
        For all of it.
    """
    if data.n_samples < LEAST_ROWS:
        return Calibration(reason=f"{data.n_samples} rows, fewer than {LEAST_ROWS}")

    def scores_of(model: MixtureClassifier, samples: FloatArray, codes: NDArray[np.intp]) -> HeldOutScores:
        values = model.decision_values(samples)
        # A class of one row is always learned from, so that each model knows all classes.
        with np.errstate(divide="ignore"):
            log_proba = np.log(model.proba_of(values))
        return HeldOutScores(values, codes.astype(np.int64), np.ones(len(codes)), log_proba)

    def scored(train: NDArray[np.bool_], held_out: NDArray[np.bool_], share: float | None) -> HeldOutScores | None:
        model = learn(data.z[train], data.codes[train], share)
        return None if model is None else scores_of(model, data.z[held_out], data.codes[held_out])

    def seen() -> HeldOutScores:
        assert own is not None
        rows = some_rows(data.n_samples, len(data.classes), seed)
        return scores_of(own, data.z[rows] * own.scale + own.location, data.codes[rows])

    def parts() -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        return [(~held_out, held_out) for held_out in _parts(data, seed) if held_out.any()]

    return calibrate_on(
        parts, scored, n_jobs=n_jobs, seconds=seconds, may_bend=True, seen=None if own is None else seen
    )


def _parts(data: NumericDataset, seed: int) -> list[NDArray[np.bool_]]:
    """Which samples each part holds out."""
    content = np.column_stack([data.codes, data.z])
    _, first, copies = np.unique(content, axis=0, return_index=True, return_inverse=True)
    alone = NumericDataset.from_arrays(data.z[first], data.codes[first], missing="marginalize", tells=False)
    one = len(copies) > ONE_PART_ABOVE
    fold = numeric_folds(alone, ONE_PART if one else FOLDS, seed)[copies.ravel()]
    return [fold == k for k in range(1 if one else FOLDS)]
